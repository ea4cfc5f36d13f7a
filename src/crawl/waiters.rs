//! Answers that are given only when what they speak of is durable.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::handle::CrawlError;
use crate::apprentice::SavedApprentice;
use crate::booking::Seq;
use crate::critic::PageJudge;
use crate::proto::v1;

/// An answer that waits for the disk.
pub(super) enum Answer {
    /// The status at that time.
    Status(oneshot::Sender<Result<v1::Crawl, CrawlError>>),
    /// These counts.
    Seeds(
        oneshot::Sender<Result<v1::AddSeedsResponse, CrawlError>>,
        v1::AddSeedsResponse,
    ),
    /// These marks.
    Feedback(
        oneshot::Sender<Result<v1::FeedbackResponse, CrawlError>>,
        v1::FeedbackResponse,
    ),
    /// The epoch of this number.
    Epoch(oneshot::Sender<Result<v1::Epoch, CrawlError>>, u64),
    /// This apprentice.
    Apprentice(
        oneshot::Sender<Result<Box<SavedApprentice>, CrawlError>>,
        Box<SavedApprentice>,
    ),
    /// This judge.
    Critic(
        oneshot::Sender<Result<Arc<dyn PageJudge>, CrawlError>>,
        Arc<dyn PageJudge>,
    ),
}

/// Answers in the order of the events that they wait for.
#[derive(Default)]
pub(super) struct Waiters {
    waiting: Vec<(Seq, Answer)>,
}

impl Waiters {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn push(&mut self, seq: Seq, answer: Answer) {
        self.waiting.push((seq, answer));
    }

    /// Those whose event is durable.
    pub(super) fn take(&mut self, durable: Seq) -> Vec<Answer> {
        let ready = self
            .waiting
            .iter()
            .take_while(|(seq, _)| *seq <= durable)
            .count();
        self.waiting
            .drain(..ready)
            .map(|(_, answer)| answer)
            .collect()
    }
}
