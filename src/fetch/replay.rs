//! An archive as a source: what the servers said once.

use std::time::Duration;

use bytes::Bytes;

use super::decode::decode_within;
use super::fields::{Fields, settle};
use super::{FetchError, Outcome, Request, Response, Source};
use crate::clock::Timestamp;
use crate::url::CanonicalUrl;

/// Something that holds recorded answers.
pub trait Shelf: Send + Sync + 'static {
    /// The answer that was recorded for `url`, if any. The same URL gives the same answer each time.
    fn get(&self, url: &CanonicalUrl) -> Option<Shelved>;
}

/// A recorded answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shelved {
    /// The status.
    pub status: u16,
    /// The header fields that matter. Without a Content-Encoding the body is taken as decoded.
    pub fields: Fields,
    /// The body.
    pub body: Bytes,
}

/// Recorded answers as a source: no socket, no time, the same answer each time.
///
/// What the shelf lacks is [`FetchError::NotInArchive`], but a missing robots.txt is status 404: a
/// site without one forbids nothing.
#[derive(Clone, Debug)]
pub struct ReplaySource<S> {
    shelf: S,
}

impl<S: Shelf> ReplaySource<S> {
    /// Answers from `shelf`.
    pub fn new(shelf: S) -> Self {
        Self { shelf }
    }

    /// The recorded answers.
    pub fn shelf(&self) -> &S {
        &self.shelf
    }
}

impl<S: Shelf> Source for ReplaySource<S> {
    async fn fetch(&self, request: Request) -> Outcome {
        let Some(shelved) = self.shelf.get(&request.url) else {
            return Outcome::Failure(absence(&request.url));
        };
        let Shelved {
            status,
            fields,
            body,
        } = shelved;
        // A date in an old Retry-After lies in the past of any crawl: it is no wait.
        let now = Timestamp(i64::MAX);
        if let Some(outcome) = settle(status, &fields, &request.url, Duration::ZERO, now) {
            return outcome;
        }
        if matches!(status, 204 | 205) {
            return success(status, fields, Bytes::new(), false);
        }
        if !request.kinds.admits(fields.content_type.as_deref()) {
            let kind = fields.content_type.unwrap_or_default();
            return Outcome::Failure(FetchError::ContentType(kind));
        }
        let encoding = fields.content_encoding.as_deref();
        match decode_within(body, encoding, &request.limits, false).await {
            Ok(decoded) => success(status, fields, decoded.body, decoded.truncated),
            Err(failure) => Outcome::Failure(failure),
        }
    }
}

fn success(status: u16, fields: Fields, body: Bytes, truncated: bool) -> Outcome {
    Outcome::Response(Response {
        status,
        content_type: fields.content_type,
        robots_tag: fields.robots_tag,
        body,
        truncated,
        answer_time: Duration::ZERO,
    })
}

fn absence(url: &CanonicalUrl) -> FetchError {
    match url.to_url() {
        Ok(url) if url.path() == "/robots.txt" && url.query().is_none() => FetchError::Status {
            code: 404,
            retry_after: None,
        },
        _ => FetchError::NotInArchive,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    struct Map(BTreeMap<&'static str, Shelved>);

    impl Shelf for Map {
        fn get(&self, url: &CanonicalUrl) -> Option<Shelved> {
            self.0.get(url.as_str()).cloned()
        }
    }

    fn source() -> ReplaySource<Map> {
        let answer = |status, fields: &[(&'static str, &'static str)], body| Shelved {
            status,
            fields: Fields::from_pairs(
                fields.iter().map(|(name, value)| (*name, value.as_bytes())),
            ),
            body: Bytes::from_static(body),
        };
        ReplaySource::new(Map(BTreeMap::from([
            (
                "http://h.test/",
                answer(200, &[("content-type", "text/html")], b"hello"),
            ),
            (
                "http://h.test/moved",
                answer(302, &[("location", "/")], b""),
            ),
            ("http://h.test/lost", answer(302, &[], b"")),
            ("http://h.test/empty", answer(204, &[], b"noise")),
            (
                "http://h.test/image",
                answer(200, &[("content-type", "image/png")], b"png"),
            ),
            (
                "http://h.test/lie",
                answer(200, &[("content-encoding", "gzip")], b"plain"),
            ),
            (
                "http://h.test/busy",
                answer(
                    503,
                    &[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")],
                    b"",
                ),
            ),
        ])))
    }

    async fn get(path: &str) -> Outcome {
        let url = CanonicalUrl::parse(&format!("http://h.test{path}")).unwrap();
        let mut request = Request::page(url, "test");
        request.limits.body_bytes_max = 4;
        source().fetch(request).await
    }

    async fn failure(path: &str) -> FetchError {
        match get(path).await {
            Outcome::Failure(failure) => failure,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_recorded_page_comes_back_within_the_limits_and_without_time() {
        let Outcome::Response(page) = get("/").await else {
            panic!("no response");
        };
        assert_eq!((page.status, &page.body[..]), (200, b"hell".as_slice()));
        assert!(page.truncated && page.answer_time.is_zero());
        let Outcome::Response(page) = get("/lie").await else {
            panic!("no response");
        };
        assert_eq!(&page.body[..], b"plai");
        let Outcome::Response(page) = get("/empty").await else {
            panic!("no response");
        };
        assert!(page.body.is_empty() && !page.truncated);
    }

    #[tokio::test]
    async fn redirects_and_failures_are_sorted_as_on_the_network() {
        let Outcome::Redirect(hop) = get("/moved").await else {
            panic!("no redirect");
        };
        assert_eq!(hop.target.as_str(), "http://h.test/");
        assert_eq!(failure("/lost").await.name(), "bad-redirect");
        assert_eq!(failure("/image").await.name(), "content-type");
        let retry_after = Some(Duration::ZERO);
        assert_eq!(
            failure("/busy").await,
            FetchError::Status {
                code: 503,
                retry_after
            }
        );
    }

    #[tokio::test]
    async fn what_the_archive_lacks_is_named_and_a_missing_robots_txt_is_404() {
        assert_eq!(failure("/nowhere").await, FetchError::NotInArchive);
        let missing = failure("/robots.txt").await;
        assert!(matches!(missing, FetchError::Status { code: 404, .. }));
    }
}
