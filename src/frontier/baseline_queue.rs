//! The baseline's order, kept beside the one in force: which link would it take?
//!
//! Only for a crawl that asks ([`FrontierParams::keeps_baseline`](super::FrontierParams)): 20 bytes a
//! waiting link, and what is out of date.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::links::{Links, OrderKey};
use super::queue::Frontier;
use super::slab::Slab;
use crate::clock::Timestamp;

/// Entries that are looked at for one whose host is ready.
const LOOKED_AT_MAX: usize = 32;
/// Entries that say nothing any more are swept out when they are more than half, and more than this.
const STALE_MIN: usize = 4096;

/// Waiting links by the log odds of their best page. Lazily deleted.
#[derive(Debug, Default)]
pub(super) struct BaselineQueue {
    heap: BinaryHeap<Entry>,
    /// By slot: the greatest log odds of a page that the link stands on.
    worth: Slab<f32>,
    is_kept: bool,
    /// While a log is folded: it is made at the end.
    is_folding: bool,
}

/// The baseline's best link, which is not the best by the order in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rivals {
    /// The slot of the baseline's.
    slot: u32,
}

/// A link in the queue. Lazily deleted: a link whose key has changed has a second entry.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: OrderKey,
    slot: u32,
}

impl Entry {
    fn of(slot: u32, worth: &Slab<f32>, links: &Links) -> Self {
        let key = links.get(slot).key_at(worth[slot]);
        Self { key, slot }
    }

    /// Whether it says the truth of a waiting link.
    fn waits(self, worth: &Slab<f32>, links: &Links) -> bool {
        let link = links.get(self.slot);
        !link.is_leased() && link.key_at(worth[self.slot]) == self.key
    }
}

impl BaselineQueue {
    /// The new link in `slot` stands on a page of these log odds.
    pub(super) fn insert(&mut self, slot: u32, log_odds: f32, links: &Links) {
        if !self.is_kept {
            return;
        }
        // A slot is an old one or the next.
        if slot as usize == self.worth.len() {
            self.worth.push(log_odds);
        } else {
            self.worth[slot] = log_odds;
        }
        self.push(slot, links);
    }

    /// The link in `slot` stands on a page of these log odds as well.
    pub(super) fn raise(&mut self, slot: u32, log_odds: f32, links: &Links) {
        if self.is_kept && log_odds > self.worth[slot] {
            self.worth[slot] = log_odds;
            if !links.get(slot).is_leased() {
                self.push(slot, links);
            }
        }
    }

    /// What the baseline holds of a link, if it is kept.
    pub(super) fn worth(&self, slot: u32) -> Option<f32> {
        self.worth.get(slot).copied()
    }

    /// The link in `slot` waits.
    pub(super) fn push(&mut self, slot: u32, links: &Links) {
        if !self.is_kept || self.is_folding {
            return;
        }
        let open = links.len();
        if self.heap.len() > 2 * open + STALE_MIN {
            self.heap.retain(|entry| entry.waits(&self.worth, links));
        }
        self.heap.push(Entry::of(slot, &self.worth, links));
    }

    /// Begins or ends keeping it. What the pages of the links known by then were worth has not been kept: the
    /// best that was predicted of a link stands for it, as its events have it.
    pub(super) fn keep(&mut self, is_kept: bool, links: &Links) {
        if is_kept == self.is_kept {
            return;
        }
        self.is_kept = is_kept;
        self.worth = Slab::default();
        if is_kept {
            for slot in 0..links.slots_end() {
                self.worth.push(links.best_offered(slot));
            }
        }
        self.make(links);
    }

    pub(super) fn begin_fold(&mut self) {
        self.is_folding = true;
    }

    pub(super) fn end_fold(&mut self, links: &Links) {
        if std::mem::take(&mut self.is_folding) {
            self.make(links);
        }
    }

    fn make(&mut self, links: &Links) {
        let is_made = self.is_kept && !self.is_folding;
        let slots = if is_made { links.slots() } else { Vec::new() };
        let entries = slots.into_iter();
        // From a vector a heap is made in linear time: a million links one after another were a pause.
        let entries: Vec<Entry> = entries
            .map(|slot| Entry::of(slot, &self.worth, links))
            .collect();
        self.heap = entries.into();
    }
}

impl Frontier {
    /// The baseline's best link whose host is ready, if it is another one than the best by the order in
    /// force. `None` also if none is found within a bounded search.
    pub fn rivals(&mut self, now: Timestamp) -> Option<Rivals> {
        self.take_returned(now);
        self.hosts.wake(now, &self.links);
        let best = self.hosts.best_ready_key()?;
        let mut busy = Vec::new();
        let mut found = None;
        while busy.len() < LOOKED_AT_MAX
            && let Some(entry) = self.baseline.heap.peek().copied()
        {
            if !entry.waits(&self.baseline.worth, &self.links) {
                self.baseline.heap.pop();
                continue;
            }
            if self.hosts.is_ready(self.links.get(entry.slot).host) {
                found = (self.key_of(entry.slot) != best).then_some(Rivals { slot: entry.slot });
                break;
            }
            busy.extend(self.baseline.heap.pop());
        }
        self.baseline.heap.extend(busy);
        found
    }

    /// Leases the baseline's link; `None` if its host may not be asked, for another crawl has asked it.
    pub fn lease_rival(&mut self, rivals: Rivals, now: Timestamp) -> Option<super::Lease> {
        let link = self.links.get(rivals.slot);
        let number = link.host;
        if link.is_leased() || !self.hosts.is_ready(number) {
            return None;
        }
        let host = match self.lease_host(number, now) {
            Ok(host) => host,
            Err(refused) => {
                self.hosts.refused(number, refused, &self.links);
                return None;
            }
        };
        self.hosts.lease_slot(number, rivals.slot, &mut self.links);
        Some(self.lease_of(rivals.slot, host, now))
    }
}

impl Ord for Entry {
    /// A `BinaryHeap` gives its greatest: the smallest key.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}
