//! The order of the links of one host: a heap of their slots, in which each link knows its place.
//!
//! Keys are read from the records, so that an entry has 4 bytes; a link that is leased, struck off or worth
//! something else moves at once, and no entry is ever out of date. Each entry has four below it: a record
//! is as good as anywhere in memory, and the four are read together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::links::{Links, OrderKey};
use super::new_scores::Line;

const BELOW: usize = 4;
/// No room is given back until more than this could be.
const IDLE_MAX: usize = 16;

/// Slots, the one of the best link first.
#[derive(Debug, Default)]
pub(super) struct LinkHeap(Vec<u32>);

impl LinkHeap {
    /// The heap of these links, none of which stands in a heap of that line.
    pub(super) fn of(mut all: Vec<(OrderKey, u32)>, links: &mut Links, line: Line) -> Self {
        // What is in order is a heap.
        all.sort_unstable();
        let slots: Vec<u32> = all.into_iter().map(|(_, slot)| slot).collect();
        for (place, slot) in (0..).zip(&slots) {
            links.set_place(*slot, line, place);
        }
        Self(slots)
    }

    /// Makes room for so many links in all.
    pub(super) fn reserve(&mut self, links: usize) {
        self.0.reserve_exact(links.saturating_sub(self.0.len()));
    }

    pub(super) fn has_room(&self) -> bool {
        self.0.capacity() > 0
    }

    /// The slot of the best link.
    pub(super) fn best(&self) -> Option<u32> {
        self.0.first().copied()
    }

    /// Puts a link in that does not stand in a heap of that line.
    pub(super) fn insert(&mut self, slot: u32, links: &mut Links, line: Line) {
        // By an eighth, not to twice the size: most hosts have few links, and many hosts are the rule.
        if self.0.len() == self.0.capacity() {
            self.0.reserve_exact(self.0.len() / 8 + 1);
        }
        self.0.push(slot);
        self.rise(self.0.len() - 1, links, line);
    }

    /// The link, which stands here, has another key than before.
    pub(super) fn moved(&mut self, slot: u32, links: &mut Links, line: Line) {
        if let Some(at) = self.place_of(slot, links, line)
            && self.rise(at, links, line) == at
        {
            self.sink(at, links, line);
        }
    }

    /// Takes the link, which stands here, out.
    pub(super) fn remove(&mut self, slot: u32, links: &mut Links, line: Line) {
        let Some(at) = self.place_of(slot, links, line) else {
            return;
        };
        links.clear_place(slot, line);
        let Some(last) = self.0.pop() else { return };
        if last != slot {
            self.0[at] = last;
            if self.rise(at, links, line) == at {
                self.sink(at, links, line);
            }
        }
        let idle = self.0.capacity() - self.0.len();
        if idle > IDLE_MAX.max(self.0.len() / 2) {
            self.0.shrink_to(self.0.len() + self.0.len() / 8);
        }
    }

    /// The links with their keys, the best one first. What is not taken costs nothing.
    pub(super) fn in_order<'a>(
        &'a self,
        links: &'a Links,
        line: Line,
    ) -> impl Iterator<Item = (OrderKey, u32)> + 'a {
        // The heap is walked from its top: below an entry there are no better ones.
        let keyed = move |at: usize| {
            let slot = *self.0.get(at)?;
            Some((Reverse((links.order_key(slot, line.side()), slot)), at))
        };
        let mut next: BinaryHeap<_> = keyed(0).into_iter().collect();
        let mut below = 0..0;
        std::iter::from_fn(move || {
            next.extend(below.clone().map_while(keyed));
            let (Reverse(best), at) = next.pop()?;
            let first = at * BELOW + 1;
            below = first..first + BELOW;
            Some(best)
        })
    }

    fn place_of(&self, slot: u32, links: &Links, line: Line) -> Option<usize> {
        let at = links.place(slot, line) as usize;
        let is_here = self.0.get(at) == Some(&slot);
        debug_assert!(is_here, "link {slot} stands elsewhere than it says");
        is_here.then_some(at)
    }

    /// Moves what stands at `at` up as far as it is better; gives its place, which it is told.
    fn rise(&mut self, at: usize, links: &mut Links, line: Line) -> usize {
        let slot = self.0[at];
        let key = links.order_key(slot, line.side());
        let mut at = at;
        while at > 0 {
            let above = (at - 1) / BELOW;
            let other = self.0[above];
            if links.order_key(other, line.side()) <= key {
                break;
            }
            self.put(at, other, links, line);
            at = above;
        }
        self.put(at, slot, links, line);
        at
    }

    /// Moves what stands at `at` down as far as there are better ones below.
    fn sink(&mut self, at: usize, links: &mut Links, line: Line) {
        let slot = self.0[at];
        let key = links.order_key(slot, line.side());
        let mut at = at;
        loop {
            let first = (at * BELOW + 1).min(self.0.len());
            let below = &self.0[first..(first + BELOW).min(self.0.len())];
            let keys = (first..).zip(below);
            let keys = keys.map(|(at, slot)| (links.order_key(*slot, line.side()), at));
            let Some((best, place)) = keys.min().filter(|(best, _)| *best < key) else {
                break;
            };
            debug_assert!(best < key);
            self.put(at, self.0[place], links, line);
            at = place;
        }
        self.put(at, slot, links, line);
    }

    fn put(&mut self, at: usize, slot: u32, links: &mut Links, line: Line) {
        self.0[at] = slot;
        // As many as there are slots.
        links.set_place(slot, line, u32::try_from(at).unwrap_or(u32::MAX));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::booking::{Reference, Seq};
    use crate::frontier::links::Link;
    use crate::frontier::new_scores::Side;
    use crate::url::UrlId;

    const LINE: Line = Line::Own(Side::Old);

    fn links(count: u64) -> Links {
        let mut links = Links::default();
        for number in 1..=count {
            let first = Reference {
                seq: Seq(number),
                link: 0,
            };
            links.insert(Link::new(UrlId(number), 0, first, 0.0));
        }
        links
    }

    fn in_order(heap: &LinkHeap, links: &Links) -> Vec<u32> {
        heap.in_order(links, LINE).map(|(_, slot)| slot).collect()
    }

    proptest! {
        #[test]
        fn whatever_happens_each_link_stands_once_and_in_order(
            steps in prop::collection::vec((0..60_u32, -5..5_i8, 0..3_u8), 0..400),
        ) {
            let mut links = links(60);
            let mut heap = LinkHeap::default();
            let mut inside = std::collections::BTreeSet::new();
            for (slot, priority, step) in steps {
                match (inside.contains(&slot), step) {
                    (false, _) => {
                        links.get_mut(slot).priority = f32::from(priority);
                        heap.insert(slot, &mut links, LINE);
                        inside.insert(slot);
                    }
                    (true, 0) => {
                        heap.remove(slot, &mut links, LINE);
                        inside.remove(&slot);
                    }
                    (true, _) => {
                        links.get_mut(slot).priority = f32::from(priority);
                        heap.moved(slot, &mut links, LINE);
                    }
                }
                let key = |slot: &u32| links.order_key(*slot, Side::Old);
                let mut all: Vec<u32> = inside.iter().copied().collect();
                all.sort_by_key(key);
                prop_assert_eq!(in_order(&heap, &links), all);
                for (at, slot) in (0..).zip(&heap.0) {
                    prop_assert_eq!(links.place(*slot, LINE), at);
                }
            }
            let keyed = inside.iter().map(|slot| (links.order_key(*slot, Side::Old), *slot));
            let made = LinkHeap::of(keyed.collect(), &mut links, LINE);
            prop_assert_eq!(in_order(&made, &links), in_order(&heap, &links));
        }
    }

    #[test]
    fn a_heap_holds_little_more_room_than_it_needs() {
        let mut links = links(10_000);
        let mut heap = LinkHeap::default();
        for slot in 0..10_000 {
            heap.insert(slot, &mut links, LINE);
        }
        assert!(heap.0.capacity() <= 11_300, "{}", heap.0.capacity());
        for slot in 0..9_000 {
            heap.remove(slot, &mut links, LINE);
        }
        assert!(heap.0.capacity() <= 1_520, "{}", heap.0.capacity());
        assert_eq!(in_order(&heap, &links), (9_000..10_000).collect::<Vec<_>>());
    }
}
