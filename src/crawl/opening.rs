//! How far the opening of a crawl has come, for those who look on and may have it ended.

use std::sync::atomic::{AtomicU64, Ordering};

use super::trainee::Heed;
use crate::booking::Seq;

/// A crawl that is being opened: its log is read.
#[derive(Debug, Default)]
pub struct Opening {
    /// The last event that was read, and whether to go on.
    pub(super) heed: Heed,
    of: AtomicU64,
}

impl Opening {
    pub(super) fn begin(&self, last: Seq) {
        self.of.store(last.0, Ordering::Relaxed);
    }

    pub(super) fn read(&self, seq: Seq) {
        self.heed.done.store(seq.0, Ordering::Relaxed);
    }

    /// Has it ended soon, without a crawl.
    pub fn stop(&self) {
        self.heed.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it has been told to [end](Self::stop).
    pub fn is_stopped(&self) -> bool {
        self.heed.stop.load(Ordering::Relaxed)
    }

    /// Events read, and how many there are; 0 of 0 before it has begun.
    pub fn events(&self) -> (u64, u64) {
        let of = self.of.load(Ordering::Relaxed);
        (self.heed.done.load(Ordering::Relaxed).min(of), of)
    }
}
