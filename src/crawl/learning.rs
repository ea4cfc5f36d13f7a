//! How the engine and its apprentice meet: what is prepared at a lease is learned at its booking, and
//! a new epoch reorders the frontier.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use super::engine::Engine;
use super::learners::LearnersAt;
use super::lease_task::source_facts;
use super::parts::Pace;
use crate::apprentice::{Choice, Pick, Prepared, SourceView};
use crate::booking::{Event, RedirectBooking, Reference, Seq};
use crate::clock::{Clock, Timestamp};
use crate::features::PageSketch;
use crate::fetch::Source;
use crate::frontier::{Combine, Lease, Next, Rescoring, StoreFailure};
use crate::url::UrlId;

/// Bytes of hashed pages kept in memory; the others are read from the store again.
const SKETCH_BYTES_MAX: usize = 256 << 20;

/// Links that are scored again, one after another, before one is leased.
const LOOKED_AT_MAX: usize = 16;
/// A score that has fallen by less is as good as unchanged.
const FALLEN: f32 = 0.05;

/// Links scored again in one slice of a sweep: a few milliseconds.
pub(super) const SLICE: usize = 2_000;
/// The same in a replay, a booking; small crawls are in the new order after a few bookings.
const SLICE_OF_REPLAY: usize = 20_000;

/// A new epoch on its way through the frontier.
#[derive(Default)]
struct Sweep {
    rescoring: Rescoring,
    /// The place in `pages` of the one whose links are scored next.
    next: usize,
}

/// What the engine keeps for its scorer.
#[derive(Default)]
pub(super) struct Learning {
    /// By the number of the lease.
    prepared: BTreeMap<u64, Prepared>,
    sketches: Sketches,
    /// The events that booked pages.
    pages: Vec<Seq>,
    /// Targets of redirects, with the references that they took over.
    redirects: Vec<(UrlId, Vec<Reference>)>,
    sweep: Option<Sweep>,
    /// The learners' figures at the beginning of each epoch.
    pub(super) epochs: Vec<LearnersAt>,
}

/// Hashed pages; the ones that came in first go first.
struct Sketches {
    by_seq: HashMap<Seq, Arc<PageSketch>>,
    order: VecDeque<Seq>,
    bytes: usize,
    bytes_max: usize,
}

impl Default for Sketches {
    fn default() -> Self {
        Self {
            by_seq: HashMap::new(),
            order: VecDeque::new(),
            bytes: 0,
            bytes_max: SKETCH_BYTES_MAX,
        }
    }
}

impl Sketches {
    fn insert(&mut self, seq: Seq, sketch: Arc<PageSketch>) {
        self.bytes += sketch.bytes();
        match self.by_seq.insert(seq, sketch) {
            Some(same) => self.bytes -= same.bytes(),
            None => self.order.push_back(seq),
        }
        while self.bytes > self.bytes_max {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            if let Some(gone) = self.by_seq.remove(&oldest) {
                self.bytes -= gone.bytes();
            }
        }
    }
}

impl<S: Source, C: Clock> Engine<S, C> {
    /// The page of event `seq`, hashed; `None` if the event is no page.
    pub(super) fn sketch(&mut self, seq: Seq) -> Result<Option<Arc<PageSketch>>, StoreFailure> {
        if let Some(sketch) = self.learning.sketches.by_seq.get(&seq) {
            return Ok(Some(Arc::clone(sketch)));
        }
        let Some(Event::Page(booking)) = self.store.event(seq)? else {
            return Ok(None);
        };
        let page = self.store.page(seq)?;
        let names = self.bench.judge.class_names();
        let judgement = &booking.judgement;
        let class = judgement.best.first().map(|(class, _)| *class);
        let facts = source_facts(judgement.log_odds, class, &names, booking.lease.depth);
        let weights = self.bench.weights.clone().unwrap_or_default();
        let sketch = PageSketch::new(&booking.lease.url, &page, facts, &weights);
        let sketch = Arc::new(sketch);
        self.learning.sketches.insert(seq, Arc::clone(&sketch));
        Ok(Some(sketch))
    }

    fn pairs(
        &mut self,
        references: &[Reference],
    ) -> Result<Vec<(Arc<PageSketch>, u32)>, StoreFailure> {
        let mut pairs = Vec::with_capacity(references.len());
        for reference in references {
            if let Some(sketch) = self.sketch(reference.seq)? {
                pairs.push((sketch, reference.link));
            }
        }
        Ok(pairs)
    }

    /// The next lease, its features and predictions frozen.
    ///
    /// A score is as old as its epoch, and what is known around its link changes with each booking: a link
    /// that would be worth less by now goes back, and the next one is looked at.
    pub(super) fn next_lease(&mut self, now: Timestamp) -> Result<Next, StoreFailure> {
        if !self.scorer.needs_sketches() {
            return Ok(self.frontier.next(now));
        }
        let mut choice = Choice::default();
        if self.scorer.explores()
            && let Some(rivals) = self.frontier.rivals(now)
        {
            choice = self.scorer.choose();
            if choice.pick == Pick::Baseline
                && let Some(lease) = self.frontier.lease_rival(rivals, now)
            {
                self.prepare(&lease, choice)?;
                return Ok(Next::Lease(lease));
            }
        }
        let mut looked_at = 0;
        loop {
            let next = self.frontier.next(now);
            let Next::Lease(lease) = next else {
                return Ok(next);
            };
            let score = self.prepare(&lease, choice)?;
            looked_at += 1;
            let fell = score.filter(|score| *score < lease.priority - FALLEN);
            let (Some(score), true) = (fell, looked_at < LOOKED_AT_MAX) else {
                return Ok(Next::Lease(lease));
            };
            let number = lease.number;
            match self.frontier.put_back_if_worse(lease, score) {
                Ok(()) => self.learning.prepared.remove(&number),
                Err(lease) => return Ok(Next::Lease(lease)),
            };
        }
    }

    /// Freezes what is known of a leased link. Gives its score by now, if that is the best of its pages'.
    fn prepare(&mut self, lease: &Lease, choice: Choice) -> Result<Option<f32>, StoreFailure> {
        let pairs = self.pairs(&lease.references)?;
        let mut prepared = self.scorer.prepare(&pairs);
        prepared.choice = choice;
        let best = prepared.scores.iter().copied().reduce(f32::max);
        self.learning.prepared.insert(lease.number, prepared);
        let is_best = self.spec.combine == Combine::Best && !lease.is_seed;
        Ok(best.filter(|_| is_best && pairs.len() == lease.references.len()))
    }

    /// The lease has ended without an outcome that counts.
    pub(super) fn forget_prepared(&mut self, lease: u64) {
        self.learning.prepared.remove(&lease);
    }

    /// The lease has ended with a failure, for good: a page is lost.
    pub(super) fn lose(&mut self, lease: u64) {
        if let Some(prepared) = self.learning.prepared.remove(&lease) {
            self.scorer.lose(&prepared);
        }
    }

    /// A page was booked as event `seq`; what the critic says of it is learned.
    pub(super) fn learn(
        &mut self,
        lease: u64,
        seq: Seq,
        sketch: Option<Arc<PageSketch>>,
    ) -> Result<(), StoreFailure> {
        let Some(sketch) = sketch else {
            return Ok(());
        };
        let prepared = self.learning.prepared.remove(&lease).unwrap_or_default();
        self.take_in(&prepared, seq, &sketch);
        // A sweep is ended before the next epoch, so that no score is of an epoch that nobody can name.
        if self.learning.sweep.is_none() {
            self.publish_if_due();
        }
        // A replay counts its slices in bookings, for its loop turns as the threads please.
        if self.pace == Pace::Replay {
            self.sweep(SLICE_OF_REPLAY)?;
        }
        Ok(())
    }

    fn publish_if_due(&mut self) {
        if self.scorer.publish_if_due() {
            self.learning.epochs.push(LearnersAt {
                pages: self.learning.pages.len() as u64,
                learners: self.scorer.learners(),
            });
            self.learning.sweep = Some(Sweep::default());
        }
    }

    fn take_in(&mut self, prepared: &Prepared, seq: Seq, sketch: &Arc<PageSketch>) {
        self.scorer.learn(prepared, sketch.facts.log_odds);
        self.scorer.saw(sketch);
        self.learning.pages.push(seq);
        self.learning.sketches.insert(seq, Arc::clone(sketch));
    }

    pub(super) fn note_redirect(&mut self, redirect: &RedirectBooking) {
        if self.scorer.needs_sketches() && redirect.refusal.is_none() {
            let references = redirect.lease.references.clone();
            let target = redirect.target.id();
            self.learning.redirects.push((target, references));
        }
    }

    /// Learns from an event of the log, when the crawl is opened.
    ///
    /// Instances are made as of the booking, not as of the lease: with several fetches in flight the
    /// dynamic features may have been a few pages younger.
    pub(super) fn fold_learning(&mut self, seq: Seq, event: &Event) -> Result<(), StoreFailure> {
        if !self.scorer.needs_sketches() {
            return Ok(());
        }
        match event {
            Event::Page(page) => {
                let pairs = self.pairs(&page.lease.references)?;
                let prepared = self.scorer.prepare(&pairs);
                if let Some(sketch) = self.sketch(seq)? {
                    self.take_in(&prepared, seq, &sketch);
                }
                self.publish_if_due();
            }
            Event::Redirect(redirect) => self.note_redirect(redirect),
            _ => {}
        }
        Ok(())
    }

    /// Whether the frontier is being scored again.
    pub(super) fn is_sweeping(&self) -> bool {
        self.learning.sweep.is_some()
    }

    /// One slice of a sweep: about `links` links are scored under the new epoch. The last slice puts the
    /// new order in force.
    pub(super) fn sweep(&mut self, links: usize) -> Result<(), StoreFailure> {
        let Some(mut sweep) = self.learning.sweep.take() else {
            return Ok(());
        };
        let mut scored = 0;
        while scored < links {
            let Some(seq) = self.learning.pages.get(sweep.next).copied() else {
                self.sweep_redirects(&mut sweep)?;
                self.frontier.put_in_force(&sweep.rescoring);
                return Ok(());
            };
            sweep.next += 1;
            scored += self.sweep_page(&mut sweep, seq)?;
        }
        self.learning.sweep = Some(sweep);
        Ok(())
    }

    /// Scores the links of one page again. Gives how many there were to score.
    fn sweep_page(&mut self, sweep: &mut Sweep, seq: Seq) -> Result<usize, StoreFailure> {
        let Some(sketch) = self.sketch(seq)? else {
            return Ok(1);
        };
        let mut links = sketch.links.iter();
        if !links.any(|link| self.frontier.is_open(link.target)) {
            return Ok(1);
        }
        let scores = self.scorer.score(&SourceView {
            log_odds: sketch.facts.log_odds,
            links: sketch.links.len(),
            sketch: Some(&sketch),
        });
        for ((link, score), place) in sketch.links.iter().zip(scores).zip(0..) {
            if !link.is_self {
                let reference = Reference { seq, link: place };
                self.frontier
                    .rescore(&mut sweep.rescoring, link.target, reference, score);
            }
        }
        Ok(sketch.links.len())
    }

    /// The target of a redirect is worth what the links to the redirecting URL are worth.
    fn sweep_redirects(&mut self, sweep: &mut Sweep) -> Result<(), StoreFailure> {
        for (target, references) in std::mem::take(&mut self.learning.redirects) {
            if !self.frontier.is_open(target) {
                continue;
            }
            for reference in &references {
                let pairs = self.pairs(std::slice::from_ref(reference))?;
                for score in self.scorer.prepare(&pairs).scores {
                    self.frontier
                        .rescore(&mut sweep.rescoring, target, *reference, score);
                }
            }
            self.learning.redirects.push((target, references));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashed_pages_are_counted_once_and_kept_within_their_bound() {
        let sketch = Arc::new(PageSketch::default());
        let one = sketch.bytes();
        let mut sketches = Sketches {
            bytes_max: 3 * one,
            ..Sketches::default()
        };
        // Opening a crawl puts each page in twice: when it is read, and when it is learned from.
        for _ in 0..10 {
            sketches.insert(Seq(1), Arc::clone(&sketch));
        }
        assert_eq!((sketches.bytes, sketches.by_seq.len()), (one, 1));
        for seq in 2..=5 {
            sketches.insert(Seq(seq), Arc::clone(&sketch));
        }
        let mut kept: Vec<u64> = sketches.by_seq.keys().map(|seq| seq.0).collect();
        kept.sort_unstable();
        assert_eq!((sketches.bytes, kept), (3 * one, vec![3, 4, 5]));
    }
}
