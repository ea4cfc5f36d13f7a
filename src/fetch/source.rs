//! The contract of whatever answers requests.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::{FetchError, FetchLimits, GuardRules, Recorder};
use crate::url::{CanonicalUrl, HostKey};

/// One request: a GET.
#[derive(Clone, Debug)]
pub struct Request {
    /// What is asked for, byte for byte.
    pub url: CanonicalUrl,
    /// The User-Agent header.
    pub user_agent: String,
    /// The bounds of this fetch.
    pub limits: FetchLimits,
    /// What may be connected to beside public addresses.
    pub guard: Arc<GuardRules>,
    /// Which kinds of document are worth their bytes.
    pub kinds: Kinds,
    /// Where the exchange that brought a page is put down, if somebody keeps it. A source that sees no
    /// wire puts nothing down.
    pub recorder: Option<Recorder>,
}

impl Request {
    /// A request for a page under the default limits, to public addresses only.
    pub fn page(url: CanonicalUrl, user_agent: &str) -> Self {
        Self {
            url,
            user_agent: user_agent.to_owned(),
            limits: FetchLimits::default(),
            guard: Arc::new(GuardRules::public_only()),
            kinds: Kinds::Pages,
            recorder: None,
        }
    }
}

/// Which kinds of document are taken in; the body of any other is not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kinds {
    /// What can be read as a page: HTML, XHTML, plain text, XML that may be XHTML, or none of them stated but nothing else
    /// either, so that its first bytes tell. An answer of another kind is [`FetchError::ContentType`].
    #[default]
    Pages,
    /// Everything: robots.txt, sitemaps.
    Any,
}

impl Kinds {
    /// Whether a document with this Content-Type header is taken in.
    pub fn admits(self, content_type: Option<&str>) -> bool {
        // XML may be XHTML; its root tells.
        let pages = [
            "text/html",
            "application/xhtml+xml",
            "text/plain",
            "text/xml",
            "application/xml",
        ];
        self == Self::Any
            || says_nothing(content_type)
            || pages
                .iter()
                .any(|kind| essence(content_type).eq_ignore_ascii_case(kind))
    }
}

/// Whether a Content-Type header leaves open what the document is.
pub(super) fn says_nothing(content_type: Option<&str>) -> bool {
    let essence = essence(content_type);
    let generic = [
        "",
        "application/octet-stream",
        "application/unknown",
        "unknown/unknown",
        "*/*",
    ];
    generic
        .iter()
        .any(|kind| essence.eq_ignore_ascii_case(kind))
}

fn essence(content_type: Option<&str>) -> &str {
    content_type
        .and_then(|header| header.split([';', ',']).next())
        .map_or("", str::trim)
}

/// What came of a request.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A 2xx answer with its body.
    Response(Response),
    /// A 3xx answer with a target; one hop, never followed by the source.
    Redirect(Redirect),
    /// Everything else.
    Failure(FetchError),
}

/// A 2xx answer.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status, 200..=299.
    pub status: u16,
    /// The Content-Type header as sent.
    pub content_type: Option<String>,
    /// All `X-Robots-Tag` headers, a line each.
    pub robots_tag: Option<String>,
    /// The body, decompressed, cut at the limit.
    pub body: Bytes,
    /// The body was cut at [`FetchLimits::body_bytes_max`], or the server broke off before its end.
    pub truncated: bool,
    /// From the request to the first byte of the answer: what the politeness delay grows with.
    pub answer_time: Duration,
}

/// A 3xx answer.
#[derive(Clone, Debug)]
pub struct Redirect {
    /// The status.
    pub status: u16,
    /// The Location header, resolved.
    pub target: CanonicalUrl,
    /// As in [`Response`].
    pub answer_time: Duration,
}

/// Something that answers requests: the network, a replayed archive, a script in a test.
///
/// Keeps every limit of the request, never follows a redirect, never panics, and names the same
/// cause by the same error. Dropping the future abandons the request.
pub trait Source: Send + Sync + 'static {
    /// Fetches one URL.
    fn fetch(&self, request: Request) -> impl Future<Output = Outcome> + Send;

    /// Where the answer to `request` would come from, as far as that can be known before: nothing is
    /// sent to that place.
    fn locate(&self, request: &Request) -> impl Future<Output = Option<IpAddr>> + Send {
        let _ = request;
        std::future::ready(None)
    }

    /// Where the last answer of `host` came from, if that is an address of its own.
    fn address_of(&self, host: &HostKey) -> Option<IpAddr> {
        let _ = host;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_html_plain_text_or_unstated() {
        for taken in [
            None,
            Some(""),
            Some("text/html"),
            Some("TEXT/HTML; charset=x"),
            Some("text/plain;"),
            Some("application/octet-stream"),
            Some("*/*"),
            Some("text/xml"),
            Some("application/xml; charset=utf-8"),
        ] {
            assert!(Kinds::Pages.admits(taken), "{taken:?}");
        }
        for refused in [
            Some("image/png"),
            Some("application/pdf"),
            Some("text/css"),
            Some("application/rss+xml"),
            Some("application/atom+xml"),
            Some("texthtml"),
        ] {
            assert!(!Kinds::Pages.admits(refused), "{refused:?}");
            assert!(Kinds::Any.admits(refused), "{refused:?}");
        }
    }
}
