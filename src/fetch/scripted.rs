//! A source that answers from a script, for tests.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use super::{FetchError, Outcome, Request, Response, Source};
use crate::url::CanonicalUrl;

/// Answers each URL with its outcomes in order, the last one again and again; any other URL with
/// status 404. Remembers what it was asked. A clone shares script and memory.
#[derive(Clone, Debug, Default)]
pub struct ScriptedSource {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    script: BTreeMap<CanonicalUrl, VecDeque<Outcome>>,
    requests: Vec<Request>,
}

impl ScriptedSource {
    /// A source that knows no URL yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends one more outcome to those of `url`.
    pub fn answer(&self, url: CanonicalUrl, outcome: Outcome) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.script.entry(url).or_default().push_back(outcome);
    }

    /// Appends a 200 answer with an HTML body to the outcomes of `url`.
    pub fn page(&self, url: CanonicalUrl, html: &str) {
        let page = Response {
            status: 200,
            content_type: Some("text/html; charset=utf-8".to_owned()),
            robots_tag: None,
            body: Bytes::copy_from_slice(html.as_bytes()),
            truncated: false,
            answer_time: Duration::ZERO,
        };
        self.answer(url, Outcome::Response(page));
    }

    /// Every request so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.requests.clone()
    }
}

impl Source for ScriptedSource {
    async fn fetch(&self, request: Request) -> Outcome {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = match inner.script.get_mut(&request.url) {
            Some(outcomes) if outcomes.len() > 1 => outcomes.pop_front(),
            Some(outcomes) => outcomes.front().cloned(),
            None => None,
        };
        inner.requests.push(request);
        outcome.unwrap_or(Outcome::Failure(FetchError::Status {
            code: 404,
            retry_after: None,
        }))
    }
}
