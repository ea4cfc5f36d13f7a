//! The records of the links that wait or are leased, and the rules for their references and order.

use super::new_scores::{Line, NewScores, Side};
use super::parents::{Chain, OTHERS_MAX, Parents};
use super::slab::{Slab, Sparse};
use super::url_table::mark_of;
use crate::booking::{Reference, Seq};
use crate::url::UrlId;

/// A [`Reference`] in 64 bits, in the same order: 36 bits of event, 28 of link; the higher half first.
///
/// 68 billion events; 268 million links an event, more than fit into one record of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PackedReference([u32; 2]);

const LINK_BITS: u32 = 28;

impl PackedReference {
    /// Stands in no log: events start at 1.
    pub(super) const NONE: Self = Self([0, 0]);

    pub(super) fn of(reference: Reference) -> Self {
        debug_assert!(reference.seq.0 < 1 << (64 - LINK_BITS) && reference.link < 1 << LINK_BITS);
        Self(halves(
            reference.seq.0 << LINK_BITS | u64::from(reference.link),
        ))
    }

    pub(super) fn unpack(self) -> Reference {
        let whole = whole(self.0);
        Reference {
            seq: Seq(whole >> LINK_BITS),
            link: u32::try_from(whole & ((1 << LINK_BITS) - 1)).unwrap_or(u32::MAX),
        }
    }
}

/// The higher half first. So kept, a number needs no place that can be divided by eight.
#[expect(clippy::cast_possible_truncation, reason = "each takes its half")]
fn halves(number: u64) -> [u32; 2] {
    [(number >> 32) as u32, number as u32]
}

fn whole([higher, lower]: [u32; 2]) -> u64 {
    u64::from(higher) << 32 | u64::from(lower)
}

/// The place of a link in the order: the smaller, the better. Higher priority first, then earlier
/// discovery, so that no two links are equal.
///
/// It has 12 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OrderKey {
    worse: u32,
    first: PackedReference,
}

/// A number that falls as `priority` rises; NaN is the lowest priority of all.
pub(super) fn worse_of(priority: f32) -> u32 {
    if priority.is_nan() {
        return u32::MAX;
    }
    let bits = (priority + 0.0).to_bits(); // -0.0 becomes 0.0
    let rising = if bits >> 31 == 1 {
        !bits
    } else {
        bits | 1 << 31
    };
    !rising
}

/// A priority that came from outside, without NaN: an image with one would not equal itself.
pub(super) fn checked_priority(priority: f32) -> f32 {
    debug_assert!(!priority.is_nan(), "a priority is a number");
    if priority.is_nan() {
        f32::NEG_INFINITY
    } else {
        priority
    }
}

/// A link that waits or is leased: 32 bytes, and most links have one reference only. What is kept elsewhere:
/// the fingerprint in the table of known URLs, of which a mark leads there
/// ([`KnownUrls::open_id`](super::known::KnownUrls::open_id)), and what the baseline goes by
/// ([`BaselineQueue`](super::baseline_queue::BaselineQueue)).
#[derive(Debug)]
pub(super) struct Link {
    mark: u32,
    first: PackedReference,
    /// Of a link with one reference, the priority that this gave, as its event has it; else its chain.
    more: u32,
    pub(super) host: u32,
    pub(super) priority: f32,
    /// Its place in the heap of its host, if it waits.
    place: u32,
    pub(super) depth: u16,
    small: u16,
}

/// A number of some bits in [`Link::small`].
#[derive(Clone, Copy)]
struct Field {
    at: u32,
    max: u16,
}

const IS_SEED: Field = Field { at: 0, max: 1 };
const IS_LEASED: Field = Field { at: 1, max: 1 };
/// Whether there is a chain.
const HAS_CHAIN: Field = Field { at: 2, max: 1 };
/// A spec allows a hundred.
const HOPS: Field = Field { at: 3, max: 127 };
/// Retries are spent long before they cannot be counted, or have no end.
const REQUESTS: Field = Field { at: 10, max: 63 };

impl Link {
    pub(super) fn new(id: UrlId, host: u32, first: Reference, priority: f32) -> Self {
        Self {
            mark: mark_of(id),
            first: PackedReference::of(first),
            more: priority.to_bits(),
            host,
            priority,
            place: 0,
            depth: 0,
            small: 0,
        }
    }

    fn small(&self, field: Field) -> u16 {
        self.small >> field.at & field.max
    }

    /// Of a number that is too large as much as fits.
    fn set_small(&mut self, field: Field, number: u16) {
        let others = self.small & !(field.max << field.at);
        self.small = others | number.min(field.max) << field.at;
    }

    /// By which its fingerprint is found.
    pub(super) fn mark(&self) -> u32 {
        self.mark
    }

    /// Requests made for it so far.
    pub(super) fn requests(&self) -> u32 {
        u32::from(self.small(REQUESTS))
    }

    pub(super) fn set_requests(&mut self, requests: u32) {
        self.set_small(REQUESTS, u16::try_from(requests).unwrap_or(u16::MAX));
    }

    /// Redirects that led to it.
    pub(super) fn hops(&self) -> u16 {
        self.small(HOPS)
    }

    pub(super) fn set_hops(&mut self, hops: u16) {
        self.set_small(HOPS, hops);
    }

    /// Whether somebody gave it by name.
    pub(super) fn is_seed(&self) -> bool {
        self.small(IS_SEED) == 1
    }

    pub(super) fn set_seed(&mut self, is_seed: bool) {
        self.set_small(IS_SEED, is_seed.into());
    }

    pub(super) fn is_leased(&self) -> bool {
        self.small(IS_LEASED) == 1
    }

    pub(super) fn set_leased(&mut self, is_leased: bool) {
        self.set_small(IS_LEASED, is_leased.into());
    }

    /// The event by which it became known.
    pub(super) fn first_seen(&self) -> Seq {
        self.first.unpack().seq
    }

    /// Whether the link was first found there.
    pub(super) fn is_first(&self, reference: Reference) -> bool {
        self.first == PackedReference::of(reference)
    }

    /// Its place among links that are worth `priority`.
    pub(super) fn key_at(&self, priority: f32) -> OrderKey {
        OrderKey {
            worse: worse_of(priority),
            first: self.first,
        }
    }

    /// The references after the first, if any came.
    fn chain(&self) -> Option<Chain> {
        (self.small(HAS_CHAIN) == 1).then(|| Chain::from_bits(self.more))
    }

    fn set_chain(&mut self, chain: Chain) {
        self.more = chain.to_bits();
        self.set_small(HAS_CHAIN, 1);
    }
}

#[cfg(test)]
thread_local! {
    /// How often the place of a link in the order was looked at.
    pub(super) static KEYS_READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// All records. A slot is used again when its link is gone.
#[derive(Debug, Default)]
pub(super) struct Links {
    records: Slab<Link>,
    free: Vec<u32>,
    parents: Parents,
    pub(super) new_scores: NewScores,
    /// By slot, while hosts change over: one more than the place in the second heap or, once the host has
    /// changed over, in its own. 0 if it is in neither, or if the record has it.
    new_places: Box<Sparse<u32>>,
}

impl Links {
    /// Stores a record and gives its slot.
    pub(super) fn insert(&mut self, link: Link) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.records[slot] = link;
            return slot;
        }
        self.records.push(link)
    }

    pub(super) fn get(&self, slot: u32) -> &Link {
        &self.records[slot]
    }

    /// Reads where the references of a link begin. What it gives means nothing.
    pub(super) fn touch(&self, slot: u32) -> u32 {
        let chain = self.records[slot].chain();
        chain.map_or(0, |chain| u32::from(self.parents.head(chain).parents))
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Link {
        &mut self.records[slot]
    }

    /// Counts another reference, and keeps it by the rule: the first, the best, then the earliest,
    /// `references_max` in all (DESIGN.md 4.4), but no more than 16. `priority` is what its event has. False
    /// if that reference is kept already.
    pub(super) fn offer(
        &mut self,
        slot: u32,
        reference: Reference,
        priority: f32,
        references_max: usize,
    ) -> bool {
        let link = &mut self.records[slot];
        let first = link.first;
        let reference = PackedReference::of(reference);
        if first == reference {
            return false;
        }
        let chain = match link.chain() {
            Some(chain)
                if self
                    .parents
                    .iter(chain, first)
                    .any(|kept| kept == reference) =>
            {
                return false;
            }
            Some(chain) => chain,
            None => {
                let chain = self.parents.begin(f32::from_bits(link.more));
                link.set_chain(chain);
                chain
            }
        };
        let mut head = self.parents.head(chain);
        head.parents = head.parents.saturating_add(1);
        let others_max = references_max.saturating_sub(1).min(OTHERS_MAX);
        let is_best = others_max > 0 && priority > head.best_offered;
        if is_best {
            head.best_offered = priority;
        }
        self.parents.set_head(chain, head);
        let added = (reference, is_best);
        if head.count() < others_max {
            self.parents.push(chain, first, added);
        } else if is_best {
            // The last one goes. If that is the old best, it is now the latest of the ordinary ones.
            self.parents.replace_last(chain, first, added);
        }
        true
    }

    /// References offered, as far as they were counted.
    pub(super) fn parents(&self, slot: u32) -> u32 {
        let chain = self.get(slot).chain();
        chain.map_or(1, |chain| u32::from(self.parents.head(chain).parents))
    }

    /// The greatest priority that a reference gave, as its event has it: which references are kept must not
    /// hang on when links were scored again.
    pub(super) fn best_offered(&self, slot: u32) -> f32 {
        let link = self.get(slot);
        let first = || f32::from_bits(link.more);
        link.chain()
            .map_or_else(first, |chain| self.parents.head(chain).best_offered)
    }

    /// The references kept: the first, the best, then the others as they came.
    pub(super) fn references(&self, slot: u32) -> Vec<Reference> {
        let link = self.get(slot);
        let mut references = vec![link.first.unpack()];
        let Some(chain) = link.chain() else {
            return references;
        };
        let others = self.parents.iter(chain, link.first);
        references.extend(others.map(PackedReference::unpack));
        let best = self.parents.head(chain).best();
        if let Some(upto_best) = best.and_then(|best| references.get_mut(1..=best + 1)) {
            upto_best.rotate_right(1);
        }
        references
    }

    /// Takes a record out.
    pub(super) fn remove(&mut self, slot: u32) {
        let gone = Link {
            first: PackedReference::NONE,
            ..Link::new(UrlId(0), 0, NOWHERE, 0.0)
        };
        self.free.push(slot);
        self.new_scores.take(slot);
        let link = std::mem::replace(&mut self.records[slot], gone);
        if let Some(chain) = link.chain() {
            self.parents.free(chain);
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.records.len() - self.free.len()
    }

    /// Slots, in use or not.
    pub(super) fn slots_end(&self) -> u32 {
        u32::try_from(self.records.len()).unwrap_or(u32::MAX)
    }

    /// The record in `slot`, if it is in use.
    pub(super) fn used(&self, slot: u32) -> Option<&Link> {
        let link = self.records.get(slot)?;
        (link.first != PackedReference::NONE).then_some(link)
    }

    /// What the link is worth to a host of that side.
    pub(super) fn priority(&self, slot: u32, side: Side) -> f32 {
        let new = match side {
            Side::Old => None,
            Side::New => self.new_scores.get(slot),
        };
        new.unwrap_or_else(|| self.get(slot).priority)
    }

    /// Its place in the order of a host of that side.
    pub(super) fn order_key(&self, slot: u32, side: Side) -> OrderKey {
        #[cfg(test)]
        KEYS_READ.set(KEYS_READ.get() + 1);
        self.get(slot).key_at(self.priority(slot, side))
    }

    /// The new score, if there is one, is what the link is worth from now on.
    fn settle_score(&mut self, slot: u32) {
        if let Some(score) = self.new_scores.take(slot) {
            self.get_mut(slot).priority = score;
        }
    }

    /// Where it stands in the heap of that line.
    pub(super) fn place(&self, slot: u32, line: Line) -> u32 {
        let own = || self.get(slot).place;
        let new = || self.new_place(slot);
        match line {
            Line::Own(Side::Old) => own(),
            Line::Own(Side::New) => new().unwrap_or_else(own),
            Line::Second => new().unwrap_or(u32::MAX),
        }
    }

    /// It stands there in the heap of that line.
    pub(super) fn set_place(&mut self, slot: u32, line: Line, place: u32) {
        let is_second = match line {
            Line::Own(Side::Old) => false,
            // What came only after its host had changed over stands in no second heap.
            Line::Own(Side::New) => self.new_place(slot).is_some(),
            Line::Second => true,
        };
        if !is_second {
            self.get_mut(slot).place = place;
            return;
        }
        *self.new_places.get_mut(slot) = place + 1;
    }

    /// It stands in the heap of that line no longer.
    pub(super) fn clear_place(&mut self, slot: u32, line: Line) {
        if line.side() == Side::New && self.new_place(slot).is_some() {
            *self.new_places.get_mut(slot) = 0;
        }
    }

    /// Its place in the second heap, or in what became of that.
    pub(super) fn new_place(&self, slot: u32) -> Option<u32> {
        self.new_places.get(slot).checked_sub(1)
    }

    /// Its host has changed over: from now on there is one heap, and the record has its place there.
    fn settle_place(&mut self, slot: u32) {
        if let Some(place) = self.new_place(slot) {
            self.get_mut(slot).place = place;
            *self.new_places.get_mut(slot) = 0;
        }
    }

    /// All hosts have changed over, and the links before this one are settled: the record has all that
    /// counts of it.
    pub(super) fn settle(&mut self, slot: u32) {
        self.settle_score(slot);
        self.settle_place(slot);
        self.new_scores.is_done_with(slot);
        self.new_places.is_done_with(slot);
    }

    /// All hosts have changed over.
    pub(super) fn end_new_places(&mut self) {
        debug_assert!(self.new_places.written().all(|place| *place == 0));
        *self.new_places = Sparse::default();
    }

    /// The records in use, by slot.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Link)> {
        let all = (0..).zip(self.records.iter());
        all.filter(|(_, link)| link.first != PackedReference::NONE)
    }

    /// The slots in use.
    pub(super) fn slots(&self) -> Vec<u32> {
        self.iter().map(|(slot, _)| slot).collect()
    }
}

const NOWHERE: Reference = Reference {
    seq: Seq(0),
    link: 0,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_do_not_touch_each_other_and_stop_at_their_ends() {
        let mut link = Link::new(UrlId(1), 0, NOWHERE, 0.0);
        link.set_hops(100);
        link.set_requests(7);
        link.set_leased(true);
        let all = |link: &Link| {
            (
                link.hops(),
                link.requests(),
                link.is_leased(),
                link.is_seed(),
            )
        };
        assert_eq!(all(&link), (100, 7, true, false));
        link.set_hops(u16::MAX);
        link.set_requests(u32::MAX);
        assert_eq!(all(&link), (127, 63, true, false));
        link.set_leased(false);
        link.set_seed(true);
        link.set_hops(0);
        assert_eq!(all(&link), (0, 63, false, true));
    }

    #[test]
    fn a_record_has_32_bytes() {
        assert_eq!(size_of::<Link>(), 32);
        assert_eq!(size_of::<OrderKey>(), 12);
    }
}
