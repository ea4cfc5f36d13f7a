//! A bounded frontier: when it is full, the least promising links go.

use super::known::Known;
use super::links::OrderKey;
use super::queue::Frontier;
use crate::booking::{EvictedEvent, Refusal, Seq};
use crate::url::UrlId;

/// Memory of a waiting link with all that belongs to it, in bytes, about (`cargo bench --bench frontier`
/// measures it).
pub const LINK_BYTES: u64 = 128;

/// When there are too many links, this share of the bound goes as well, so that not every page has to
/// look for the worst.
const SLACK: u64 = 64;

impl Frontier {
    /// The links that have to go, the worst one first; none if no bound is passed. Looks at every link.
    ///
    /// Book them as an [`EvictedEvent`]. A leased link never goes.
    pub fn surplus(&self) -> Vec<UrlId> {
        let counts = self.hosts.counts();
        let waiting = counts.waiting + counts.held;
        let Some(max) = self.params.links_max.filter(|max| waiting > *max) else {
            return Vec::new();
        };
        let surplus = usize::try_from(waiting - (max - max / SLACK)).unwrap_or(usize::MAX);
        let mut all: Vec<(OrderKey, u32)> = (self.links.slots().into_iter())
            .filter(|slot| !self.links.get(*slot).is_leased)
            .map(|slot| (self.key_of(slot), slot))
            .collect();
        if all.len() > surplus && surplus > 0 {
            let at = all.len() - surplus;
            all.select_nth_unstable(at);
            all.drain(..at);
        }
        all.sort_unstable_by(|one, other| other.cmp(one));
        all.iter()
            .map(|(_, slot)| self.links.get(*slot).id)
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
