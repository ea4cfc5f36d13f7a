//! The records of the links that wait or are leased, and the rules for their references and order.

use super::new_scores::{NewScores, Side};
use crate::booking::{Reference, Seq};
use crate::url::UrlId;

/// A [`Reference`] in 64 bits, in the same order: 36 bits of event, 28 of link.
///
/// 68 billion events; 268 million links an event, more than fit into one record of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PackedReference(u64);

const LINK_BITS: u32 = 28;

impl PackedReference {
    /// Stands in no log: events start at 1.
    const NONE: Self = Self(0);

    pub(super) fn of(reference: Reference) -> Self {
        debug_assert!(reference.seq.0 < 1 << (64 - LINK_BITS) && reference.link < 1 << LINK_BITS);
        Self(reference.seq.0 << LINK_BITS | u64::from(reference.link))
    }

    /// The higher half first.
    #[expect(clippy::cast_possible_truncation, reason = "each takes its half")]
    fn halves(self) -> [u32; 2] {
        [(self.0 >> 32) as u32, self.0 as u32]
    }

    pub(super) fn unpack(self) -> Reference {
        Reference {
            seq: Seq(self.0 >> LINK_BITS),
            link: u32::try_from(self.0 & ((1 << LINK_BITS) - 1)).unwrap_or(u32::MAX),
        }
    }
}

/// The place of a link in the order: the smaller, the better. Higher priority first, then earlier
/// discovery, so that no two links are equal.
///
/// The first reference in two halves keeps it at 12 bytes, and an entry of a queue at 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OrderKey {
    worse: u32,
    first: [u32; 2],
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
    pub(super) id: UrlId,
    first: PackedReference,
    more: Option<Box<More>>,
    pub(super) host: u32,
    pub(super) priority: f32,
    /// What the baseline goes by: the greatest log odds of a page that it stands on.
    pub(super) baseline: f32,
    /// References offered, also those that were not kept.
    pub(super) parents: u32,
    requests: u16,
    pub(super) depth: u16,
    pub(super) hops: u16,
    pub(super) is_seed: bool,
    pub(super) is_leased: bool,
}

/// The references after the first, in the order in which they were offered.
#[derive(Debug)]
struct More {
    best_priority: f32,
    /// Which one gives the best priority: 0 is the first reference, 1 is `others[0]`.
    best_at: usize,
    others: Vec<PackedReference>,
}

impl Link {
    pub(super) fn new(id: UrlId, host: u32, first: Reference, priority: f32) -> Self {
        Self {
            id,
            first: PackedReference::of(first),
            more: None,
            host,
            priority,
            baseline: priority,
            parents: 1,
            requests: 0,
            depth: 0,
            hops: 0,
            is_seed: false,
            is_leased: false,
        }
    }

    /// Its place in the order that the baseline would have.
    pub(super) fn baseline_key(&self) -> OrderKey {
        OrderKey {
            worse: worse_of(self.baseline),
            first: self.first.halves(),
        }
    }

    /// Requests made for it so far.
    pub(super) fn requests(&self) -> u32 {
        u32::from(self.requests)
    }

    pub(super) fn set_requests(&mut self, requests: u32) {
        self.requests = u16::try_from(requests).unwrap_or(u16::MAX);
    }

    /// Counts another reference, and keeps it by the rule: the first, the best, then the earliest,
    /// `references_max` in all (DESIGN.md 4.4). Call it before `priority` is changed. False if that
    /// reference is kept already.
    pub(super) fn offer(
        &mut self,
        reference: Reference,
        priority: f32,
        references_max: usize,
    ) -> bool {
        let reference = PackedReference::of(reference);
        if self.first == reference
            || (self.more.as_ref()).is_some_and(|more| more.others.contains(&reference))
        {
            return false;
        }
        self.parents = self.parents.saturating_add(1);
        if references_max < 2 {
            return true;
        }
        let best_priority = self.priority;
        let more = self.more.get_or_insert_with(|| {
            Box::new(More {
                best_priority,
                best_at: 0,
                others: Vec::new(),
            })
        });
        let is_best = priority > more.best_priority;
        if more.others.len() + 1 >= references_max {
            if !is_best {
                return true;
            }
            // The last one goes. If that is the old best, it is now the latest of the ordinary ones.
            more.others.pop();
        }
        more.others.push(reference);
        if is_best {
            more.best_priority = priority;
            more.best_at = more.others.len();
        }
        true
    }

    /// The event by which it became known.
    pub(super) fn first_seen(&self) -> Seq {
        self.first.unpack().seq
    }

    /// Whether the link was first found there.
    pub(super) fn is_first(&self, reference: Reference) -> bool {
        self.first == PackedReference::of(reference)
    }

    /// The references kept: the first, the best, then the others as they came.
    pub(super) fn references(&self) -> Vec<Reference> {
        let mut references = vec![self.first.unpack()];
        if let Some(more) = &self.more {
            let best = more.best_at.checked_sub(1);
            references.extend(best.map(|at| more.others[at].unpack()));
            let rest = (more.others.iter().enumerate()).filter(|(at, _)| Some(*at) != best);
            references.extend(rest.map(|(_, reference)| reference.unpack()));
        }
        references
    }
}

/// All records. A slot is used again when its link is gone.
#[derive(Debug, Default)]
pub(super) struct Links {
    records: Vec<Link>,
    free: Vec<u32>,
    pub(super) new_scores: NewScores,
}

impl Links {
    /// Stores a record and gives its slot.
    pub(super) fn insert(&mut self, link: Link) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.records[slot as usize] = link;
            return slot;
        }
        // 2^32 records would need 200 GB.
        let slot = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
        self.records.push(link);
        slot
    }

    pub(super) fn get(&self, slot: u32) -> &Link {
        &self.records[slot as usize]
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Link {
        &mut self.records[slot as usize]
    }

    /// Takes a record out.
    pub(super) fn remove(&mut self, slot: u32) -> Link {
        let gone = Link {
            first: PackedReference::NONE,
            ..Link::new(UrlId(0), 0, NOWHERE, 0.0)
        };
        self.free.push(slot);
        self.new_scores.take(slot);
        std::mem::replace(&mut self.records[slot as usize], gone)
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
        let link = self.records.get(slot as usize)?;
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
            first: self.get(slot).first.halves(),
        }
    }

    /// The new score, if there is one, is what the link is worth from now on.
    pub(super) fn settle_score(&mut self, slot: u32) {
        if let Some(score) = self.new_scores.take(slot) {
            self.get_mut(slot).priority = score;
        }
    }

    /// The slots in use.
    pub(super) fn slots(&self) -> Vec<u32> {
        let all = (0..).zip(&self.records);
        let used = all.filter(|(_, link)| link.first != PackedReference::NONE);
        used.map(|(slot, _)| slot).collect()
    }

    /// Whether the link in `slot` waits with just this key at a host of that side.
    pub(super) fn waits_as(&self, slot: u32, key: OrderKey, side: Side) -> bool {
        !self.get(slot).is_leased && self.order_key(slot, side) == key
    }
}

const NOWHERE: Reference = Reference {
    seq: Seq(0),
    link: 0,
};
