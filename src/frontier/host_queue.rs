//! One host: its queue of links and where it stands itself.

use super::link_heap::LinkHeap;
use super::links::{Links, OrderKey};
use super::new_scores::{Line, Side};
use crate::clock::Timestamp;
use crate::url::HostKey;

/// Where a host stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing to lease here.
    Idle,
    /// Among the ready hosts, under the key of its best link.
    Ready(OrderKey),
    /// Among the waiting hosts, until this moment.
    Waiting(Timestamp),
    /// Behind the gate of this number, under the key of its best link: its address has no room.
    Behind(u32, OrderKey),
    /// Out on a lease, ours or another crawl's: the calendar tells us when it has ended.
    Away,
}

/// A [`Place`] in 20 bytes instead of 24: the moment in two halves.
#[derive(Clone, Copy, Debug)]
enum Kept {
    Idle,
    Ready(OrderKey),
    Waiting([u32; 2]),
    Behind(u32, OrderKey),
    Away,
}

impl From<Place> for Kept {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "two halves"
    )]
    fn from(place: Place) -> Self {
        match place {
            Place::Idle => Self::Idle,
            Place::Ready(key) => Self::Ready(key),
            Place::Waiting(Timestamp(until)) => Self::Waiting([(until >> 32) as u32, until as u32]),
            Place::Behind(gate, key) => Self::Behind(gate, key),
            Place::Away => Self::Away,
        }
    }
}

impl From<Kept> for Place {
    fn from(place: Kept) -> Self {
        match place {
            Kept::Idle => Self::Idle,
            Kept::Ready(key) => Self::Ready(key),
            Kept::Waiting([upper, lower]) => {
                let until = u64::from(upper) << 32 | u64::from(lower);
                Self::Waiting(Timestamp(until.cast_signed()))
            }
            Kept::Behind(gate, key) => Self::Behind(gate, key),
            Kept::Away => Self::Away,
        }
    }
}

/// A host of this crawl.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) key: HostKey,
    /// The number of its registrable domain.
    pub(super) domain: u32,
    /// The host of the same domain that was met before this one.
    pub(super) before_in_domain: u32,
    /// The waiting links.
    queue: LinkHeap,
    place: Kept,
    /// Links that wait here.
    pub(super) waiting: u32,
    /// Links of this host that are out on a lease.
    pub(super) leased: u16,
    /// Pages and final failures.
    pub(super) fetched: u32,
    /// The cap is reached (what is leased counts): nothing is leased here.
    pub(super) is_capped: bool,
    pub(super) is_given_up: bool,
}

impl Host {
    pub(super) fn new(key: HostKey, domain: u32, before_in_domain: u32) -> Self {
        Self {
            key,
            domain,
            before_in_domain,
            queue: LinkHeap::default(),
            place: Kept::Idle,
            waiting: 0,
            leased: 0,
            fetched: 0,
            is_capped: false,
            is_given_up: false,
        }
    }

    pub(super) fn place(&self) -> Place {
        self.place.into()
    }

    /// Only [`Places`](super::places::Places) may; while a log is folded nobody stands there.
    pub(super) fn set_place(&mut self, place: Place) {
        self.place = place.into();
    }

    /// Queues the link in `slot`.
    pub(super) fn push(&mut self, slot: u32, links: &mut Links, side: Side) {
        self.queue.insert(slot, links, Line::Own(side));
    }

    /// The queued link in `slot` has another key than before.
    pub(super) fn moved(&mut self, slot: u32, links: &mut Links, side: Side) {
        self.queue.moved(slot, links, Line::Own(side));
    }

    /// Takes the queued link in `slot` out.
    pub(super) fn strike_off(&mut self, slot: u32, links: &mut Links, side: Side) {
        self.queue.remove(slot, links, Line::Own(side));
    }

    /// Takes another queue of all that waits here.
    pub(super) fn set_queue(&mut self, queue: LinkHeap) {
        self.queue = queue;
    }

    /// The slot of the best waiting link.
    pub(super) fn best_slot(&self) -> Option<u32> {
        self.queue.best()
    }

    /// The key of the best waiting link.
    pub(super) fn best(&self, links: &Links, side: Side) -> Option<OrderKey> {
        Some(links.order_key(self.queue.best()?, side))
    }

    /// The waiting links, the best one first. What is not taken costs nothing.
    pub(super) fn best_links<'a>(
        &'a self,
        links: &'a Links,
        side: Side,
    ) -> impl Iterator<Item = (OrderKey, u32)> + 'a {
        self.queue.in_order(links, Line::Own(side))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_small_and_keeps_its_moment_to_the_bit() {
        assert_eq!(size_of::<Kept>(), 20);
        for until in [i64::MIN, -1, 0, 1 << 32, 1_700_000_000_000, i64::MAX] {
            let place = Place::Waiting(Timestamp(until));
            assert_eq!(Place::from(Kept::from(place)), place);
        }
    }
}
