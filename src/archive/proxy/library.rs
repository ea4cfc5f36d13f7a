//! Whatever a proxy can serve: an archive, or a web that is made up as it is asked for.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::archive::Archive;
use crate::url::CanonicalUrl;

/// What a library says about a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status, 200..=999; what is below cannot be passed on and becomes 502.
    pub status: u16,
    /// The headers, without those of a connection. Content-Length is added. A header that HTTP does
    /// not allow is left out.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
    /// How long the answer is held back: a slow host.
    pub delay: Duration,
}

impl Answer {
    /// An answer of plain text.
    pub fn text(status: u16, text: impl Into<String>) -> Self {
        let content_type = "text/plain; charset=utf-8".to_owned();
        Self {
            status,
            headers: vec![("Content-Type".to_owned(), content_type)],
            body: Bytes::from(text.into()),
            delay: Duration::ZERO,
        }
    }
}

/// Something that has an answer for every URL.
pub trait Library: Send + Sync + 'static {
    /// The answer to a GET. Must not block; dropping the future abandons the request.
    fn answer(&self, url: &CanonicalUrl) -> impl Future<Output = Answer> + Send;
}

/// An archive as a library: what [`Archive::answer`] has, 404 for all else.
#[derive(Debug)]
pub struct ArchiveLibrary {
    archive: Arc<Archive>,
    delay: Duration,
}

impl ArchiveLibrary {
    /// Every answer, 404 too, is held back for `delay`.
    pub fn new(archive: Arc<Archive>, delay: Duration) -> Self {
        Self { archive, delay }
    }
}

impl Library for ArchiveLibrary {
    async fn answer(&self, url: &CanonicalUrl) -> Answer {
        let archive = Arc::clone(&self.archive);
        let wanted = url.clone();
        // Reading a file blocks.
        let found = tokio::task::spawn_blocking(move || archive.answer(&wanted)).await;
        let mut answer = match found {
            Ok(Ok(Some(response))) => Answer {
                status: response.status,
                headers: response.headers,
                body: response.body,
                delay: Duration::ZERO,
            },
            Ok(Ok(None)) => Answer::text(404, format!("not in the archive: {url}\n")),
            Ok(Err(error)) => {
                tracing::warn!("{url}: {error}");
                Answer::text(502, format!("{error}\n"))
            }
            Err(_) => Answer::text(503, "the archive is being closed\n"),
        };
        answer.delay = self.delay;
        answer
    }
}
