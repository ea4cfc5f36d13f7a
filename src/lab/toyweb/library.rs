//! The generated web behind a proxy.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::ToyWeb;
use crate::archive::{Answer, Library};
use crate::url::CanonicalUrl;

/// A [`ToyWeb`] as a library that the archive proxy can serve.
#[derive(Clone)]
pub struct ToyLibrary(pub Arc<ToyWeb>);

impl Library for ToyLibrary {
    async fn answer(&self, url: &CanonicalUrl) -> Answer {
        let answer = self.0.answer(url);
        Answer {
            status: answer.status,
            headers: answer.headers,
            body: Bytes::from(answer.body),
            delay: Duration::from_millis(answer.delay_ms),
        }
    }
}
