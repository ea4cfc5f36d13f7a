//! The records of the links that wait or are leased, and the rules for their references and order.

use super::new_scores::{Line, NewScores, Side};
use super::parents::{Chain, Parents};
use super::slab::Slab;
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

/// A link that waits or is leased. 48 bytes; most links have one reference only.
#[derive(Debug)]
pub(super) struct Link {
    id: [u32; 2],
    first: PackedReference,
    /// The references after the first, in the order in which they were offered.
    others: Chain,
    pub(super) host: u32,
    pub(super) priority: f32,
    /// The greatest priority that a reference gave, as its event has it: which references are kept must
    /// not hang on when links were scored again.
    best_offered: f32,
    /// What the baseline goes by: the greatest log odds of a page that it stands on.
    pub(super) baseline: f32,
    /// Its place in the heap of its host, if it waits.
    place: u32,
    /// References offered, also those that were not kept; of more than fit, as many as fit.
    parents: u16,
    pub(super) depth: u16,
    requests: u8,
    hops: u8,
    pub(super) is_seed: bool,
    pub(super) is_leased: bool,
}

impl Link {
    pub(super) fn new(id: UrlId, host: u32, first: Reference, priority: f32) -> Self {
        Self {
            id: halves(id.0),
            first: PackedReference::of(first),
            others: Chain::NONE,
            host,
            priority,
            best_offered: priority,
            baseline: priority,
            place: 0,
            parents: 1,
            depth: 0,
            requests: 0,
            hops: 0,
            is_seed: false,
            is_leased: false,
        }
    }

    pub(super) fn id(&self) -> UrlId {
        UrlId(whole(self.id))
    }

    /// Its place in the order that the baseline would have.
    pub(super) fn baseline_key(&self) -> OrderKey {
        OrderKey {
            worse: worse_of(self.baseline),
            first: self.first,
        }
    }

    /// References offered, as far as they were counted.
    pub(super) fn parents(&self) -> u32 {
        u32::from(self.parents)
    }

    /// Requests made for it so far: retries are spent long before they cannot be counted.
    pub(super) fn requests(&self) -> u32 {
        u32::from(self.requests)
    }

    pub(super) fn set_requests(&mut self, requests: u32) {
        self.requests = u8::try_from(requests).unwrap_or(u8::MAX);
    }

    /// Redirects that led to it; a spec allows fewer than can be counted.
    pub(super) fn hops(&self) -> u16 {
        u16::from(self.hops)
    }

    pub(super) fn set_hops(&mut self, hops: u16) {
        self.hops = u8::try_from(hops).unwrap_or(u8::MAX);
    }

    /// The event by which it became known.
    pub(super) fn first_seen(&self) -> Seq {
        self.first.unpack().seq
    }

    /// Whether the link was first found there.
    pub(super) fn is_first(&self, reference: Reference) -> bool {
        self.first == PackedReference::of(reference)
    }
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
    new_places: Vec<u32>,
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

    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Link {
        &mut self.records[slot]
    }

    /// Counts another reference, and keeps it by the rule: the first, the best, then the earliest,
    /// `references_max` in all (DESIGN.md 4.4). `priority` is what its event has. False if that
    /// reference is kept already.
    pub(super) fn offer(
        &mut self,
        slot: u32,
        reference: Reference,
        priority: f32,
        references_max: usize,
    ) -> bool {
        let link = &mut self.records[slot];
        let reference = PackedReference::of(reference);
        if link.first == reference || self.parents.iter(link.others).any(|kept| kept == reference) {
            return false;
        }
        link.parents = link.parents.saturating_add(1);
        if references_max < 2 {
            return true;
        }
        let is_best = priority > link.best_offered;
        if is_best {
            link.best_offered = priority;
        }
        let others_max = references_max.min(usize::from(u16::MAX)) - 1;
        if self.parents.count(link.others) < others_max {
            link.others = self.parents.push(link.others, reference, is_best);
        } else if is_best {
            // The last one goes. If that is the old best, it is now the latest of the ordinary ones.
            (self.parents).replace_last(link.others, reference, true);
        }
        true
    }

    /// The references kept: the first, the best, then the others as they came.
    pub(super) fn references(&self, slot: u32) -> Vec<Reference> {
        let link = self.get(slot);
        let best = self.parents.best(link.others);
        let others = || self.parents.iter(link.others).map(PackedReference::unpack);
        let mut references = vec![link.first.unpack()];
        references.extend(best.and_then(|at| others().nth(at)));
        let rest = others().enumerate().filter(|(at, _)| Some(*at) != best);
        references.extend(rest.map(|(_, reference)| reference));
        references
    }

    /// Takes a record out.
    pub(super) fn remove(&mut self, slot: u32) -> Link {
        let gone = Link {
            first: PackedReference::NONE,
            ..Link::new(UrlId(0), 0, NOWHERE, 0.0)
        };
        self.free.push(slot);
        self.new_scores.take(slot);
        let link = std::mem::replace(&mut self.records[slot], gone);
        self.parents.free(link.others);
        link
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
        OrderKey {
            worse: worse_of(self.priority(slot, side)),
            first: self.get(slot).first,
        }
    }

    /// The new score, if there is one, is what the link is worth from now on.
    pub(super) fn settle_score(&mut self, slot: u32) {
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
        let at = slot as usize;
        if self.new_places.len() <= at {
            self.new_places.resize(at + 1, 0);
        }
        self.new_places[at] = place + 1;
    }

    /// It stands in the heap of that line no longer.
    pub(super) fn clear_place(&mut self, slot: u32, line: Line) {
        if line.side() == Side::New
            && let Some(place) = self.new_places.get_mut(slot as usize)
        {
            *place = 0;
        }
    }

    /// Its place in the second heap, or in what became of that.
    pub(super) fn new_place(&self, slot: u32) -> Option<u32> {
        self.new_places.get(slot as usize)?.checked_sub(1)
    }

    /// Its host has changed over: from now on there is one heap, and the record has its place there.
    pub(super) fn settle_place(&mut self, slot: u32) {
        if let Some(place) = self.new_place(slot) {
            self.get_mut(slot).place = place;
            self.new_places[slot as usize] = 0;
        }
    }

    /// Makes room for the places in the second heaps, all at once. (Zeros are not written before they are
    /// needed, so that this is no pause.)
    pub(super) fn begin_new_places(&mut self) {
        self.new_places = vec![0; self.records.len()];
    }

    /// All hosts have changed over.
    pub(super) fn end_new_places(&mut self) {
        debug_assert!(self.new_places.iter().all(|place| *place == 0));
        self.new_places = Vec::new();
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
    fn a_record_has_48_bytes() {
        assert_eq!(size_of::<Link>(), 48);
        assert_eq!(size_of::<OrderKey>(), 12);
    }
}
