//! The contract of whatever answers requests.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;

use super::{FetchError, FetchLimits};
use crate::url::CanonicalUrl;

/// One request: a GET.
#[derive(Clone, Debug)]
pub struct Request {
    /// What is asked for, byte for byte.
    pub url: CanonicalUrl,
    /// The User-Agent header.
    pub user_agent: String,
    /// The bounds of this fetch.
    pub limits: FetchLimits,
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
    /// All `X-Robots-Tag` headers, joined by commas.
    pub robots_tag: Option<String>,
    /// The body, decompressed, cut at the limit.
    pub body: Bytes,
    /// The body was cut at [`FetchLimits::body_bytes_max`].
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
}
