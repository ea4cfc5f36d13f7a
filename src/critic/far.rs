//! The contract of a judge that is somewhere else: it answers later, or not at all.

use std::sync::Arc;
use std::time::Duration;

use crate::critic::judge::Verdict;
use crate::critic::remote::RemoteOptions;
use crate::proto::v1;

/// A judge that has to be waited for, and that can be gone.
///
/// Whoever calls it keeps the pages until there are verdicts on them: an error is never the last word
/// on a page. One call at a time.
#[tonic::async_trait]
pub trait FarJudge: Send + Sync + 'static {
    /// Asks whether it is there and understands the focus.
    ///
    /// # Errors
    /// [`JudgeAway`] says why not.
    async fn greet(&self) -> Result<(), JudgeAway>;

    /// Judges `pages`: one verdict a page, in order; their classes are in
    /// [`class_names`](Self::class_names) by then.
    ///
    /// # Errors
    /// [`JudgeAway`]; then nothing is known of any of them.
    async fn judge(&self, pages: &[&v1::JudgePage]) -> Result<Vec<Verdict>, JudgeAway>;

    /// What one call takes, as far as is known.
    fn batch_limits(&self) -> BatchLimits;

    /// The names of the classes, by [`ClassId`](crate::critic::ClassId). The list only grows.
    fn class_names(&self) -> Arc<[String]>;

    /// Its address, for people.
    fn place(&self) -> String;

    /// From the next call on it is spoken to like this. Gives whether that is news.
    fn move_to(&self, options: &RemoteOptions) -> bool;
}

/// What one call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Pages at most; at least 1.
    pub pages_max: usize,
    /// Bytes at most; a page that is longer goes alone.
    pub bytes_max: usize,
}

/// Why a judge gives no verdicts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JudgeAway {
    /// Nobody there, or it went away in the middle.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// It hangs.
    #[error("no answer within {:.1} s", .0.as_secs_f64())]
    Deadline(Duration),
    /// It answers with an error.
    #[error("it refuses ({code}): {words}")]
    Refused {
        /// The name of the gRPC status.
        code: String,
        /// Its own words.
        words: String,
    },
    /// It breaks the contract.
    #[error("its answer cannot be used: {0}")]
    BadAnswer(String),
    /// A file on our side stands in the way.
    #[error("{0}")]
    File(String),
}

impl JudgeAway {
    /// Whether the pages may be the cause, so that fewer of them may fare better.
    pub fn may_lie_with_the_pages(&self) -> bool {
        // Also of a judge that is gone: it may be a page that kills it.
        !matches!(self, Self::File(_))
    }
}
