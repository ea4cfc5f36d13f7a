//! New priorities under a new epoch: gathered beside the old ones, then put in force together.

use super::host_queue::Entry;
use super::known::Known;
use super::links::checked_priority;
use super::params::Combine;
use super::queue::Frontier;
use crate::booking::{Reference, Seq};
use crate::url::UrlId;

/// New scores, not yet in force.
#[derive(Debug, Default)]
pub struct Rescoring {
    /// By slot.
    scores: Vec<Option<Scored>>,
}

#[derive(Clone, Copy, Debug)]
struct Scored {
    whose: UrlId,
    score: f32,
    /// The pages whose scores these are, and the last of them.
    pages: u32,
    last: Seq,
}

impl Frontier {
    /// Whether the link is open, so that a score of it matters.
    pub fn is_open(&self, id: UrlId) -> bool {
        matches!(self.known.get(id), Some(Known::Open(_)))
    }

    /// The new score that the link at `reference` gives its target; one that is not open is passed over.
    ///
    /// Where the first page alone counts ([`Combine::First`](super::Combine)), only that page's does.
    pub fn rescore(&self, rescoring: &mut Rescoring, id: UrlId, reference: Reference, score: f32) {
        let Some(Known::Open(slot)) = self.known.get(id) else {
            return;
        };
        if self.params.combine == Combine::First && !self.links.get(slot).is_first(reference) {
            return;
        }
        let slot = slot as usize;
        if rescoring.scores.len() <= slot {
            rescoring.scores.resize(slot + 1, None);
        }
        let score = checked_priority(score);
        let combine = self.params.combine;
        let entry = &mut rescoring.scores[slot];
        match entry.as_mut().filter(|entry| entry.whose == id) {
            // Of the links of one page to it the first one counts.
            Some(entry) if combine.counts_each() && entry.last == reference.seq => {}
            Some(entry) => {
                entry.pages = entry.pages.saturating_add(1);
                entry.last = reference.seq;
                entry.score = combine.of(entry.score, score, entry.pages);
            }
            None => {
                *entry = Some(Scored {
                    whose: id,
                    score,
                    pages: 1,
                    last: reference.seq,
                });
            }
        }
    }

    /// The priority of each waiting link that may be fetched or is held, in no order.
    pub fn priorities(&self) -> impl Iterator<Item = f32> + '_ {
        let links = self
            .links
            .slots()
            .into_iter()
            .map(|slot| self.links.get(slot));
        links
            .filter(|link| !link.is_leased)
            .map(|link| link.priority)
    }

    /// Puts the new scores in force. A link without one keeps the priority that it had.
    pub fn put_in_force(&mut self, rescoring: &Rescoring) {
        let mut queues: Vec<Vec<Entry>> = vec![Vec::new(); self.hosts.len()];
        for slot in self.links.slots() {
            let link = self.links.get_mut(slot);
            if let Some(Some(scored)) = rescoring.scores.get(slot as usize)
                && scored.whose == link.id
            {
                link.priority = scored.score;
            }
            if !link.is_leased {
                queues[link.host as usize].push(Entry::of(slot, link.order_key()));
            }
        }
        for (number, queue) in (0..).zip(queues) {
            self.hosts.requeue(number, queue);
        }
    }
}
