//! One host: its queue of links and where it stands itself.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::links::{Links, OrderKey};
use super::new_scores::Side;
use crate::clock::Timestamp;
use crate::url::HostKey;

/// Entries that say nothing any more are swept out when they are more than a third, and more than this.
const STALE_MIN: usize = 8;

/// Where a host stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing to lease here.
    Idle,
    /// Among the ready hosts, under the key of its best link.
    Ready(OrderKey),
    /// Among the waiting hosts, until this moment.
    Waiting(Timestamp),
    /// Out on a lease, ours or another crawl's: the calendar tells us when it has ended.
    Away,
}

/// A host of this crawl.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) key: HostKey,
    /// The number of its registrable domain.
    pub(super) domain: u32,
    /// The host of the same domain that was met before this one.
    pub(super) before_in_domain: u32,
    /// Has an entry for every waiting link under its present key, and may have stale ones; the best
    /// one is never stale between two calls.
    queue: BinaryHeap<Entry>,
    pub(super) place: Place,
    /// Links that wait here.
    pub(super) waiting: u32,
    /// Links of this host that are out on a lease.
    pub(super) leased: u32,
    /// Pages and final failures.
    pub(super) fetched: u32,
    /// The cap is reached (what is leased counts): nothing is leased here.
    pub(super) is_capped: bool,
    pub(super) is_given_up: bool,
}

/// A link in the queue. Lazily deleted: a link whose key has changed has a second entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    key: OrderKey,
    slot: u32,
}

impl Entry {
    pub(super) fn of(slot: u32, key: OrderKey) -> Self {
        Self { key, slot }
    }

    pub(super) fn slot(self) -> u32 {
        self.slot
    }

    /// Whether it says the truth of a waiting link, as an entry of the baseline's order.
    pub(super) fn waits_for_baseline(self, links: &Links) -> bool {
        let link = links.get(self.slot);
        !link.is_leased && link.baseline_key() == self.key
    }
}

impl Host {
    pub(super) fn new(key: HostKey, domain: u32, before_in_domain: u32) -> Self {
        Self {
            key,
            domain,
            before_in_domain,
            queue: BinaryHeap::new(),
            place: Place::Idle,
            waiting: 0,
            leased: 0,
            fetched: 0,
            is_capped: false,
            is_given_up: false,
        }
    }

    /// Queues the link in `slot` under its present key. If it stood here under another one, that entry
    /// is stale now; if that was a better one, call [`drop_stale`](Self::drop_stale).
    pub(super) fn push(&mut self, slot: u32, links: &Links, side: Side) {
        push(&mut self.queue, self.waiting, slot, links, side);
    }

    /// Takes another queue of all that waits here, under the keys of the new side.
    pub(super) fn exchange(&mut self, queue: BinaryHeap<Entry>, links: &Links) {
        self.queue = queue;
        self.drop_stale(links, Side::New);
    }

    /// Takes a queue of all that waits here, each link once, in no order.
    pub(super) fn set_queue(&mut self, entries: Vec<Entry>) {
        // From a vector a heap is made in linear time.
        self.queue = entries.into();
    }

    /// Makes the best entry a true one, after a link has been taken out.
    pub(super) fn drop_stale(&mut self, links: &Links, side: Side) {
        while let Some(entry) = self.queue.peek() {
            if links.waits_as(entry.slot, entry.key, side) {
                break;
            }
            self.queue.pop();
        }
    }

    /// The key of the best waiting link.
    pub(super) fn best(&self) -> Option<OrderKey> {
        self.queue.peek().map(|entry| entry.key)
    }

    /// The waiting links, the best one first. What is not taken costs nothing.
    pub(super) fn best_links<'a>(
        &'a self,
        links: &'a Links,
        side: Side,
    ) -> impl Iterator<Item = (OrderKey, u32)> + 'a {
        // The heap is walked from its top: below an entry there are no better ones.
        let heap = self.queue.as_slice();
        let mut next: BinaryHeap<(Reverse<OrderKey>, usize)> = BinaryHeap::new();
        next.extend(heap.first().map(|entry| (Reverse(entry.key), 0)));
        let in_order = std::iter::from_fn(move || {
            let (_, at) = next.pop()?;
            for below in [2 * at + 1, 2 * at + 2] {
                next.extend(heap.get(below).map(|entry| (Reverse(entry.key), below)));
            }
            heap.get(at)
        });
        let mut last = None;
        in_order
            .filter(move |entry| links.waits_as(entry.slot, entry.key, side))
            .map(|entry| (entry.key, entry.slot))
            // One that was queued twice under one key comes once.
            .filter(move |(key, _)| last.replace(*key) != Some(*key))
    }

    /// Takes the best waiting link out.
    pub(super) fn pop(&mut self) -> Option<u32> {
        self.queue.pop().map(|entry| entry.slot)
    }

    /// The waiting links with their keys, in no order; one may come twice.
    pub(super) fn waiting_links<'a>(
        &'a self,
        links: &'a Links,
        side: Side,
    ) -> impl Iterator<Item = (OrderKey, u32)> + 'a {
        self.queue
            .iter()
            .filter(move |entry| links.waits_as(entry.slot, entry.key, side))
            .map(|entry| (entry.key, entry.slot))
    }
}

/// Queues the link in `slot` where `waiting` links wait.
pub(super) fn push(
    queue: &mut BinaryHeap<Entry>,
    waiting: u32,
    slot: u32,
    links: &Links,
    side: Side,
) {
    let waiting = waiting as usize;
    if queue.len() > waiting + waiting / 2 + STALE_MIN {
        queue.retain(|entry| links.waits_as(entry.slot, entry.key, side));
    }
    // By a quarter, not to twice the size: most hosts have few links, and many hosts are the rule.
    if queue.len() == queue.capacity() {
        queue.reserve_exact(queue.len() / 4 + 1);
    }
    queue.push(Entry {
        key: links.order_key(slot, side),
        slot,
    });
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
