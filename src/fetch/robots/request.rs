//! Getting the robots.txt of an origin, hop by hop.

use std::net::IpAddr;
use std::sync::Arc;

use super::{ROBOTS_BYTES_MAX, RobotsAnswer, RobotsRules};
use crate::fetch::{FetchError, Kinds, Outcome, Request, Source};
use crate::url::CanonicalUrl;

/// So many redirects are followed; a file behind more counts as missing (RFC 9309, 2.3.1.2).
pub const ROBOTS_REDIRECTS_MAX: usize = 5;

/// What came of one request on the way to a robots.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hop {
    /// The way ends here.
    Answer(RobotsAnswer),
    /// It goes on there, maybe at another host. The rules hold for the origin that was asked first
    /// all the same.
    Redirect(CanonicalUrl),
    /// The asking crawl's own guard forbids the address: nothing was asked, and nothing is known of
    /// the host.
    Forbidden(IpAddr),
}

/// Asks `source` for `url`, a robots.txt or what one redirects to, with user agent, limits and guard
/// of `template`. One request: a redirect is the caller's to follow, who knows when the next host may
/// be asked.
///
/// A redirect that leads nowhere or to an address that is not permitted is unreachable, for a mistake
/// must not become a permission.
pub async fn robots_hop(source: &impl Source, url: CanonicalUrl, template: &Request) -> Hop {
    match source.fetch(request(url.clone(), template)).await {
        Outcome::Redirect(redirect) => Hop::Redirect(redirect.target),
        Outcome::Response(response) => Hop::Answer(RobotsAnswer::Rules(Arc::new(
            RobotsRules::parse(&response.body),
        ))),
        Outcome::Failure(FetchError::Address(address)) => Hop::Forbidden(address),
        Outcome::Failure(failure) => {
            tracing::debug!(%url, %failure, "no robots.txt");
            Hop::Answer(after_failure(&failure))
        }
    }
}

fn request(url: CanonicalUrl, template: &Request) -> Request {
    let mut request = template.clone();
    request.url = url;
    request.kinds = Kinds::Any;
    request.recorder = None;
    // One byte past the bound tells the reader that the last line was cut.
    request.limits.body_bytes_max = ROBOTS_BYTES_MAX + 1;
    request
}

/// What a failure to get the file means (RFC 9309, 2.3.1.3 and 2.3.1.4; 429 asks for patience and
/// permits nothing).
fn after_failure(failure: &FetchError) -> RobotsAnswer {
    match failure {
        FetchError::Status {
            code: 400..=428 | 430..=499,
            ..
        }
        | FetchError::NotInArchive => RobotsAnswer::AllowAll,
        failure => RobotsAnswer::Unreachable {
            retry_after: failure.retry_after(),
            cause: Some(failure.to_string().into()),
            failure: Some(Arc::new(failure.clone())),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fetch::robots::Origin;
    use crate::fetch::{Redirect, ScriptedSource};

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
    }

    async fn hop(source: &ScriptedSource) -> Hop {
        let template = Request::page(url("http://h.test/page"), "agent");
        let robots = Origin::of(&template.url).robots_url().unwrap();
        robots_hop(source, robots, &template).await
    }

    async fn ask(source: &ScriptedSource) -> RobotsAnswer {
        match hop(source).await {
            Hop::Answer(answer) => answer,
            hop => panic!("no answer: {hop:?}"),
        }
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
            let told = answer.failure().cloned();
            assert_eq!(told, (expected == "unreachable").then_some(failure));
            let allowed = answer.allows(&url("http://h.test/"));
            assert_eq!(allowed, expected == "allow-all");
        }
    }

    #[tokio::test]
    async fn an_address_that_the_guard_forbids_is_no_answer_of_the_host() {
        let source = ScriptedSource::new();
        let outcome = Outcome::Failure(FetchError::Address([10, 0, 0, 1].into()));
        source.answer(url("http://h.test/robots.txt"), outcome);
        assert_eq!(hop(&source).await, Hop::Forbidden([10, 0, 0, 1].into()));
    }

    #[tokio::test]
    async fn a_retry_after_of_a_429_or_503_is_told_up_to_a_day() {
        let hour = Duration::from_hours(1);
        for (code, stated, told) in [
            (429, Some(hour), Some(hour)),
            (503, Some(hour), Some(hour)),
            (503, Some(48 * hour), Some(24 * hour)),
            (503, None, None),
            (500, Some(hour), None),
            (404, Some(hour), None),
        ] {
            let source = ScriptedSource::new();
            let failure = FetchError::Status {
                code,
                retry_after: stated,
            };
            source.answer(url("http://h.test/robots.txt"), Outcome::Failure(failure));
            assert_eq!(ask(&source).await.retry_after(), told, "{code} {stated:?}");
        }
    }

    #[tokio::test]
    async fn a_redirect_is_told_and_not_followed() {
        let source = ScriptedSource::new();
        let elsewhere = url("http://o.test/1");
        let redirect = Redirect {
            status: 301,
            target: elsewhere.clone(),
            answer_time: Duration::ZERO,
        };
        source.answer(url("http://h.test/robots.txt"), Outcome::Redirect(redirect));
        assert_eq!(hop(&source).await, Hop::Redirect(elsewhere));
        assert_eq!(source.requests().len(), 1);
    }
}
