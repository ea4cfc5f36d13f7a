//! New priorities under a new epoch: gathered beside the old ones, then put in force host by host.
//!
//! Until the scores are complete every host goes by the old ones. Then the hosts change over, in the
//! order in which they were first met: one that has goes by new scores alone, one that has not by old ones
//! alone, so that each order has a name. Hosts are compared with each other by the best link of each, of
//! whichever epoch: both scores are log odds of relevance, and the change takes some seconds at a million
//! links.

use super::known::Known;
use super::links::{Link, checked_priority};
use super::new_scores::Side;
use super::params::Combine;
use super::queue::Frontier;
use super::switching::{Step, Switching};
use crate::booking::{Reference, Seq};
use crate::url::UrlId;

/// What the steps of a change cost, against each other: queueing a link, exchanging the queues of a host,
/// taking a new score for the only one.
const GATHER: usize = 4;
const SWITCH: usize = 8;
const SETTLE: usize = 1;

impl Frontier {
    /// Whether the link is open, so that a score of it matters.
    pub fn is_open(&self, id: UrlId) -> bool {
        matches!(self.known.get(id), Some(Known::Open(_)))
    }

    /// Begins to gather new scores; those that are gathered already are forgotten.
    ///
    /// While hosts [change over](Self::is_switching) it does nothing: bring that to its end first.
    pub fn begin_rescoring(&mut self) {
        if !self.is_switching() {
            self.links.new_scores.begin();
        }
    }

    /// The new score that the link at `reference` gives its target; one that is not open is passed over, and
    /// all are while hosts [change over](Self::is_switching).
    ///
    /// Where the first page alone counts ([`Combine::First`](super::Combine)), only that page's does.
    pub fn rescore(&mut self, id: UrlId, reference: Reference, score: f32) {
        let Some(Known::Open(slot)) = self.known.get(id) else {
            return;
        };
        let combine = self.params.combine;
        if self.is_switching() {
            return;
        }
        if combine == Combine::First && !self.links.get(slot).is_first(reference) {
            return;
        }
        let score = checked_priority(score);
        (self.links.new_scores).add(slot, reference.seq, score, combine);
    }

    /// Whether hosts are changing over to the new scores.
    pub fn is_switching(&self) -> bool {
        self.hosts.switching().is_some()
    }

    /// The share of the hosts that go by the new scores; `None` if no change is on its way.
    pub fn switched(&self) -> Option<f64> {
        let switching = self.hosts.switching()?;
        Some(switching.share(self.hosts.len()))
    }

    /// Puts the new scores in force, by `steps` steps of some 50 ns; true if all is done. A link without a
    /// new score keeps the priority that it had.
    pub fn switch(&mut self, steps: usize) -> bool {
        if !self.is_switching() {
            self.hosts.set_switching(Some(Switching::default()));
        }
        let mut left = steps;
        loop {
            let step = match self.hosts.next_step(&self.links) {
                Step::Gather(slot) => {
                    self.hosts.gather(slot, &mut self.links);
                    GATHER
                }
                Step::Switch(number, queue) => {
                    self.hosts.exchange(number, queue, &self.links);
                    SWITCH
                }
                Step::Settle(slot) => {
                    self.links.settle(slot);
                    SETTLE
                }
                Step::End => {
                    self.hosts.set_switching(None);
                    self.links.new_scores.end();
                    self.links.end_new_places();
                    return true;
                }
            };
            let Some(rest) = left.checked_sub(step) else {
                return false;
            };
            left = rest;
        }
    }

    /// Of the best `k` links, those that go by their old scores: the earliest event that one was found by.
    pub fn oldest_of_best(&self, k: usize) -> Option<Seq> {
        let best = self.best_slots(k).into_iter();
        let links = best.map(|slot| self.links.get(slot));
        let old = links.filter(|link| self.hosts.side(link.host) == Side::Old);
        old.map(Link::first_seen).min()
    }

    /// The priorities of the waiting links, those that are held included, in no order: of every `step`-th
    /// place in memory.
    pub fn priorities(&self, step: usize) -> impl Iterator<Item = f32> + '_ {
        let slots = (0..self.links.slots_end()).step_by(step.max(1));
        slots
            .filter(|slot| (self.links.used(*slot)).is_some_and(|link| !link.is_leased()))
            .map(|slot| self.priority_of(slot))
    }

    /// How many places in memory waiting links have or had.
    pub fn places(&self) -> usize {
        self.links.slots_end() as usize
    }
}
