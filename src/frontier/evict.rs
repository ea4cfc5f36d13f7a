//! A bounded frontier: when it is full, the least promising links go.

use super::known::Known;
use super::links::OrderKey;
use super::queue::Frontier;
use crate::booking::{EvictedEvent, Refusal, Seq};
use crate::url::UrlId;

/// Memory of a waiting link with all that may belong to it, in bytes, at most: 64 by itself
/// (`cargo bench --bench frontier`), 20 to 36 where the baseline's order is kept beside, 20 while new scores
/// are gathered.
pub const LINK_BYTES: u64 = 128;

/// When there are too many links, this share of the bound goes as well, so that a link taken in costs a
/// look at that many others, however many wait. A larger share would be a longer pause now and then.
const SLACK: u64 = 64;
/// Links that are looked at for an estimate of where the worst begin.
const SAMPLE: usize = 4096;

impl Frontier {
    /// The links that have to go, the worst one first; none if no bound is passed. Looks at every link then.
    ///
    /// Book them as an [`EvictedEvent`]. A leased link never goes.
    pub fn surplus(&self) -> Vec<UrlId> {
        let counts = self.hosts.counts();
        let waiting = counts.waiting + counts.held;
        let Some(max) = self.params.links_max.filter(|max| waiting > *max) else {
            return Vec::new();
        };
        let surplus = usize::try_from(waiting - (max - max / SLACK)).unwrap_or(usize::MAX);
        let waiting = usize::try_from(waiting).unwrap_or(usize::MAX);
        let mut all = self.no_better_than(self.estimate(surplus, waiting));
        if all.len() < surplus {
            all = self.no_better_than(None);
        }
        if all.len() > surplus && surplus > 0 {
            let at = all.len() - surplus;
            all.select_nth_unstable(at);
            all.drain(..at);
        }
        all.sort_unstable_by(|one, other| other.cmp(one));
        all.iter().map(|(_, slot)| self.id_of(*slot)).collect()
    }

    /// A key that more than `surplus` of the `waiting` links are likely no better than, but not many more;
    /// `None` if most have to be looked at anyway.
    fn estimate(&self, surplus: usize, waiting: usize) -> Option<OrderKey> {
        let step = self.places() / SAMPLE;
        if step < 2 {
            return None;
        }
        let places = (0..self.links.slots_end()).step_by(step);
        let waits = places.filter(|slot| {
            let link = self.links.used(*slot);
            link.is_some_and(|link| !link.is_leased())
        });
        let mut keys: Vec<OrderKey> = waits.map(|slot| self.key_of(slot)).collect();
        // A third more than are wanted, and some for bad luck.
        let worst = keys.len().saturating_mul(surplus) / waiting.max(1) * 4 / 3 + SAMPLE / 64;
        let at = keys.len().checked_sub(worst)?;
        (at < keys.len()).then(|| *keys.select_nth_unstable(at).1)
    }

    /// The waiting links that are no better than `best`.
    fn no_better_than(&self, best: Option<OrderKey>) -> Vec<(OrderKey, u32)> {
        let waiting = self.links.iter().filter(|(_, link)| !link.is_leased());
        let keys = waiting.map(|(slot, _)| (self.key_of(slot), slot));
        keys.filter(|(key, _)| best.is_none_or(|best| *key >= best))
            .collect()
    }

    pub(super) fn admit_evicted(&mut self, seq: Seq, event: &EvictedEvent) {
        for id in &event.links {
            if let Some(Known::Open(slot)) = self.known.get(*id) {
                self.remove(slot);
                let evicted = Known::Refused {
                    refusal: Refusal::Evicted,
                    seq,
                    is_lasting: false,
                };
                self.known.set(*id, evicted);
            }
        }
    }
}
