//! Getting the robots.txt of an origin.

use std::sync::Arc;

use super::{Origin, ROBOTS_BYTES_MAX, RobotsAnswer, RobotsRules};
use crate::fetch::{FetchError, Kinds, Outcome, Request, Source};
use crate::url::CanonicalUrl;

/// So many redirects are followed (RFC 9309, 2.3.1.2).
const HOPS_MAX: usize = 5;

/// Asks `source` for the robots.txt of `origin`, with user agent, limits and guard of `template`.
///
/// Redirects are followed, also to other hosts, and the rules hold for `origin` all the same. A file
/// behind more than five of them counts as missing (2.3.1.2); one behind a redirect that leads nowhere
/// or to an address that is not permitted is unreachable, for a mistake must not become a permission.
pub async fn fetch_robots(
    source: &impl Source,
    origin: &Origin,
    template: &Request,
) -> RobotsAnswer {
    let Ok(mut url) = origin.robots_url() else {
        return RobotsAnswer::Unreachable;
    };
    for _ in 0..=HOPS_MAX {
        match source.fetch(request(url, template)).await {
            Outcome::Redirect(redirect) => url = redirect.target,
            Outcome::Response(response) => {
                return RobotsAnswer::Rules(Arc::new(RobotsRules::parse(&response.body)));
            }
            Outcome::Failure(failure) => {
                tracing::debug!(%origin, %failure, "no robots.txt");
                return after_failure(&failure);
            }
        }
    }
    RobotsAnswer::AllowAll
}

fn request(url: CanonicalUrl, template: &Request) -> Request {
    let mut request = template.clone();
    request.url = url;
    request.kinds = Kinds::Any;
    // One byte past the bound tells the reader that the last line was cut.
    request.limits.body_bytes_max = ROBOTS_BYTES_MAX + 1;
    request
}

/// What a failure to get the file means (RFC 9309, 2.3.1.3 and 2.3.1.4; 429 asks for patience and
/// permits nothing).
fn after_failure(failure: &FetchError) -> RobotsAnswer {
    match failure {
        FetchError::Status { code: 429, .. } => RobotsAnswer::Unreachable,
        FetchError::Status {
            code: 400..=499, ..
        }
        | FetchError::NotInArchive => RobotsAnswer::AllowAll,
        _ => RobotsAnswer::Unreachable,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fetch::{Redirect, ScriptedSource};

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
    }

    fn redirect(to: &str) -> Outcome {
        Outcome::Redirect(Redirect {
            status: 301,
            target: url(to),
            answer_time: Duration::ZERO,
        })
    }

    async fn ask(source: &ScriptedSource) -> RobotsAnswer {
        let template = Request::page(url("http://h.test/page"), "agent");
        fetch_robots(source, &Origin::of(&template.url), &template).await
    }

    #[tokio::test]
    async fn the_file_is_got_and_its_rules_hold() {
        let source = ScriptedSource::new();
        source.page(
            url("http://h.test/robots.txt"),
            "User-agent: *\nCrawl-delay: 4\nDisallow: /x",
        );
        let answer = ask(&source).await;
        assert_eq!(answer.name(), "rules");
        assert!(!answer.allows(&url("http://h.test/x")));
        assert!(answer.allows(&url("http://h.test/y")));
        assert_eq!(answer.crawl_delay(), Some(Duration::from_secs(4)));
        let asked = &source.requests()[0];
        assert_eq!(asked.user_agent, "agent");
        assert_eq!(asked.kinds, Kinds::Any);
        assert!(asked.limits.body_bytes_max > 500 << 10);
    }

    #[tokio::test]
    async fn a_failure_means_what_the_standard_says() {
        let status = |code| FetchError::Status {
            code,
            retry_after: None,
        };
        for (failure, expected) in [
            (status(404), "allow-all"),
            (status(401), "allow-all"),
            (status(403), "allow-all"),
            (FetchError::NotInArchive, "allow-all"),
            (status(429), "unreachable"),
            (status(500), "unreachable"),
            (status(503), "unreachable"),
            (status(304), "unreachable"),
            (FetchError::TimeoutTotal(Duration::ZERO), "unreachable"),
            (FetchError::Connect(String::new()), "unreachable"),
            (FetchError::Address([10, 0, 0, 1].into()), "unreachable"),
            (
                FetchError::BadRedirect {
                    code: 301,
                    detail: String::new(),
                },
                "unreachable",
            ),
        ] {
            let source = ScriptedSource::new();
            let outcome = Outcome::Failure(failure.clone());
            source.answer(url("http://h.test/robots.txt"), outcome);
            let answer = ask(&source).await;
            assert_eq!(answer.name(), expected, "{failure}");
            let allowed = answer.allows(&url("http://h.test/"));
            assert_eq!(allowed, expected == "allow-all");
        }
    }

    #[tokio::test]
    async fn five_redirects_are_followed_and_a_sixth_is_not() {
        for (hops, expected) in [(5, "rules"), (6, "allow-all")] {
            let source = ScriptedSource::new();
            for hop in 0..hops {
                let from = match hop {
                    0 => "http://h.test/robots.txt".to_owned(),
                    _ => format!("http://o.test/{hop}"),
                };
                source.answer(url(&from), redirect(&format!("http://o.test/{}", hop + 1)));
            }
            source.page(url(&format!("http://o.test/{hops}")), "User-agent: *");
            assert_eq!(ask(&source).await.name(), expected, "{hops}");
            assert_eq!(source.requests().len(), 6);
        }
    }

    #[tokio::test]
    async fn a_redirect_loop_ends() {
        let source = ScriptedSource::new();
        let itself = "http://h.test/robots.txt";
        source.answer(url(itself), redirect(itself));
        assert_eq!(ask(&source).await.name(), "allow-all");
    }
}
