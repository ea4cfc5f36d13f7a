//! How an engine breaks.

use super::spec::SpecError;
use crate::archive::ArchiveError;
use crate::frontier::StoreFailure;

/// Why an engine ended otherwise than by being shut down.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// The pages cannot be kept.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// A task panicked.
    #[error("a worker broke: {0}")]
    Panicked(String),
    /// The process goes down before the fetches in flight have ended. No failure of the crawl: it runs
    /// again after the next start.
    #[error("the fetches in flight were abandoned")]
    Abandoned,
    /// The log holds no spec, or one that this version cannot take.
    #[error("the crawl's own spec cannot be used: {0}")]
    Spec(String),
}

impl From<SpecError> for EngineError {
    fn from(error: SpecError) -> Self {
        Self::Spec(error.to_string())
    }
}

impl EngineError {
    /// The words of a task that did not come to its end.
    pub fn from_join(error: tokio::task::JoinError) -> Self {
        if error.is_panic() {
            Self::from_panic(error.into_panic().as_ref())
        } else {
            Self::Abandoned
        }
    }

    /// The words of a panic.
    pub fn from_panic(payload: &(dyn std::any::Any + Send)) -> Self {
        let words = payload
            .downcast_ref::<&str>()
            .map(|words| (*words).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned());
        Self::Panicked(words.unwrap_or_else(|| "panic without words".to_owned()))
    }
}
