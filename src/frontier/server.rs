//! An address, with all the hosts behind it.

use super::Held;
use super::calendar::NEVER;
use super::returns::Asker;
use super::spacing::Spacing;
use crate::clock::Timestamp;

/// What is known of an address.
#[derive(Debug)]
pub(super) struct Server {
    last_start: Timestamp,
    /// The one before, for a lease under which nothing is asked after all.
    start_before: Timestamp,
    pub(super) last_end: Timestamp,
    /// Its hosts that are out on a lease.
    leased: u32,
    /// Who wants to know that one of them has come back.
    askers: Vec<Asker>,
}

impl Server {
    /// Nothing was asked there.
    pub(super) fn new() -> Self {
        Self {
            last_start: NEVER,
            start_before: NEVER,
            last_end: NEVER,
            leased: 0,
            askers: Vec::new(),
        }
    }

    /// Whether one of its hosts is out on a lease, or somebody waits for one.
    pub(super) fn is_busy(&self) -> bool {
        self.leased > 0 || !self.askers.is_empty()
    }

    /// `asker` is told of the next return, once, for however many hosts it asks.
    pub(super) fn ask(&mut self, asker: Asker) {
        if !self.askers.iter().any(|known| known.is_of(&asker)) {
            self.askers.push(asker);
        }
    }

    /// One more request from `at` on.
    pub(super) fn take(&mut self, at: Timestamp) {
        self.leased += 1;
        self.start_before = self.last_start;
        self.last_start = self.last_start.max(at);
    }

    /// A host leased at `leased_at` has come back; if `ended_at` is never, unasked. Gives those who waited
    /// for that.
    pub(super) fn leave(&mut self, leased_at: Timestamp, ended_at: Timestamp) -> Vec<Asker> {
        self.leased = self.leased.saturating_sub(1);
        self.last_end = self.last_end.max(ended_at);
        if ended_at == NEVER && self.last_start == leased_at {
            self.last_start = self.start_before;
        }
        std::mem::take(&mut self.askers)
    }

    pub(super) fn held(&self, now: Timestamp, spacing: Spacing) -> Option<Held> {
        let per_address = spacing.per_address.max(1);
        if self.leased >= per_address {
            return Some(Held::Leased);
        }
        // Nothing has ended yet: the first come at once.
        if self.last_end == NEVER {
            return None;
        }
        let last = self.last_end.max(self.last_start);
        let ready_at = last.after(spacing.delay / per_address);
        (ready_at > now).then_some(Held::Until(ready_at))
    }
}
