//! How the engine and its apprentice meet: what is prepared at a lease is learned at its booking, and
//! a new epoch reorders the frontier.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::checkpoint::Checkpoints;
use super::engine::Engine;
use super::epochs::Epochs;
use super::labels::LOST;
use super::learners::LearnersAt;
use super::page_reader::PageReader;
use super::parts::Pace;
use super::retraining::{Reporting, Training};
use super::sweep::{SLICE_OF_REPLAY, Sweep};
use crate::apprentice::{Choice, Prepared, SavedApprentice};
use crate::booking::{
    EpochCause, EpochEvent, Event, FailureBooking, LeaseFacts, PageBooking, Pick, RedirectBooking,
    Reference, Seq,
};
use crate::clock::{Clock, Timestamp};
use crate::features::PageSketch;
use crate::fetch::Source;
use crate::frontier::{Combine, Lease, Next, Steering, StoreFailure};
use crate::url::UrlId;

/// Links that are scored again, one after another, before one is leased.
const LOOKED_AT_MAX: usize = 16;
/// A score that has fallen by less is as good as unchanged.
const FALLEN: f32 = 0.05;

/// With fewer redirects none is looked for that can be forgotten.
const REDIRECTS_MIN: usize = 256;

/// What the engine keeps for its scorer.
pub(super) struct Learning {
    /// By the number of the lease; with the number of the scorer that prepared it.
    prepared: BTreeMap<u64, (u64, Prepared)>,
    /// How often the scorer has been replaced.
    pub(super) scorers: u64,
    pub(super) reader: PageReader,
    /// The events that booked pages.
    pub(super) pages: Vec<Seq>,
    /// Targets of redirects, with the references that they took over.
    pub(super) redirects: Vec<(UrlId, Vec<Reference>)>,
    pub(super) sweep: Option<Sweep>,
    /// While the log is folded: there was an epoch. One sweep at the end is for all of them.
    pub(super) owes_sweep: bool,
    pub(super) epochs: Epochs,
    pub(super) training: Option<Training>,
    /// An ordered epoch whose sweep goes on.
    pub(super) reporting: Option<Reporting>,
    /// While the log is folded: the last ordered epoch. Unless a checkpoint is of a later one nothing is learned
    /// from there on, for all is learned again afterwards as that epoch wants it.
    pub(super) ordered: Option<(Seq, EpochEvent)>,
    /// What the crawl was given to begin with, and whether the scorer in place did.
    pub(super) start: Option<Arc<SavedApprentice>>,
    pub(super) from_start: bool,
    /// The learners' figures at the beginning of each epoch.
    pub(super) validated: Vec<LearnersAt>,
    pub(super) checkpoints: Box<Checkpoints>,
}

impl Learning {
    pub(super) fn new(
        reader: PageReader,
        start: Option<Arc<SavedApprentice>>,
        checkpoints: Checkpoints,
    ) -> Self {
        Self {
            from_start: start.is_some(),
            start,
            prepared: BTreeMap::new(),
            scorers: 0,
            reader,
            pages: Vec::new(),
            redirects: Vec::new(),
            sweep: None,
            owes_sweep: false,
            epochs: Epochs::default(),
            validated: Vec::new(),
            checkpoints: Box::new(checkpoints),
            training: None,
            reporting: None,
            ordered: None,
        }
    }
}

impl Learning {
    /// Whether event `seq` is learned from when its turn comes in the log: a checkpoint holds what came before
    /// it, and of what an ordered epoch comes after nothing is.
    fn is_learned_in_turn(&self, seq: Seq) -> bool {
        let restored = self.checkpoints.restored().unwrap_or(Seq(0));
        let ordered = self.ordered.as_ref();
        seq > restored && ordered.is_none_or(|(ordered, _)| *ordered <= restored)
    }
}

impl<S: Source, C: Clock> Engine<S, C> {
    /// The next lease, its features and predictions frozen.
    ///
    /// A score is as old as its epoch, and what is known around its link changes with each booking: a link
    /// that would be worth less by now goes back, and the next one is looked at.
    pub(super) fn next_lease(&mut self, now: Timestamp) -> Result<Next, StoreFailure> {
        if !self.scorer.needs_sketches() {
            return Ok(self.frontier.next(now));
        }
        let mut choice = Choice::default();
        // What is steered by chance anyway has no propensities that would be true.
        if self.scorer.explores()
            && self.spec.steering == Steering::BestFirst
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
        let mut prepared = self.prepared_now(&lease.references)?;
        prepared.choice = choice;
        if let Some(frozen) = &mut prepared.frozen {
            frozen.pick = choice.pick;
            frozen.propensity = choice.propensity;
        }
        let best = prepared.scores.iter().copied().reduce(f32::max);
        let is_whole = prepared.scores.len() == lease.references.len();
        let is_best = self.spec.combine == Combine::Best && !lease.is_seed;
        let scorer = self.learning.scorers;
        (self.learning.prepared).insert(lease.number, (scorer, prepared));
        Ok(best.filter(|_| is_best && is_whole))
    }

    fn prepared_now(&mut self, references: &[Reference]) -> Result<Prepared, StoreFailure> {
        let reader = &mut self.learning.reader;
        let mut prepared = reader.prepared(self.scorer.as_mut(), references)?;
        if let Some(frozen) = &mut prepared.frozen {
            frozen.epoch = self.learning.epochs.number();
        }
        Ok(prepared)
    }

    /// What was frozen at the lease of a page that is to be booked, as the present scorer sees it: it may
    /// have been put in place since. Under one that learned nothing, nothing was.
    pub(super) fn take_prepared(
        &mut self,
        lease: u64,
        facts: &LeaseFacts,
    ) -> Result<Prepared, StoreFailure> {
        if !self.scorer.needs_sketches() {
            self.learning.prepared.remove(&lease);
            return Ok(Prepared::default());
        }
        match self.learning.prepared.remove(&lease) {
            Some((scorer, prepared)) if scorer == self.learning.scorers => Ok(prepared),
            Some((
                _,
                Prepared {
                    frozen: Some(frozen),
                    ..
                },
            )) => {
                let pairs = self.learning.reader.pairs(&facts.references)?;
                let mut prepared = self.scorer.thaw(&pairs, &frozen);
                prepared.frozen = Some(frozen);
                Ok(prepared)
            }
            _ => self.prepared_now(&facts.references),
        }
    }

    /// The lease has ended without an outcome that counts.
    pub(super) fn forget_prepared(&mut self, lease: u64) {
        self.learning.prepared.remove(&lease);
    }

    /// A lease has ended with a failure, for good, and that is booked: a page is lost, and where that is a
    /// lesson it is learned.
    pub(super) fn lose(
        &mut self,
        prepared: &Prepared,
        is_lesson: bool,
    ) -> Result<(), StoreFailure> {
        if !self.scorer.needs_sketches() {
            return Ok(());
        }
        if !is_lesson {
            self.scorer.lose(prepared);
            return Ok(());
        }
        self.scorer.learn(prepared, LOST);
        self.scorer.saw_none();
        self.learning.epochs.count_lost(prepared);
        self.publish_and_sweep()
    }

    /// A page was booked as event `seq`; what the critic says of it is learned.
    pub(super) fn learn(
        &mut self,
        prepared: &Prepared,
        seq: Seq,
        log_odds: f32,
        sketch: Option<Arc<PageSketch>>,
    ) -> Result<(), StoreFailure> {
        self.learning.pages.push(seq);
        if !self.scorer.needs_sketches() {
            return Ok(());
        }
        // It was read before the scorer was there that needs it.
        let sketch = match sketch {
            Some(sketch) => Some(sketch),
            None => self.learning.reader.sketch(seq)?,
        };
        self.scorer.learn(prepared, log_odds);
        self.learning.epochs.count(prepared, log_odds);
        if let Some(sketch) = sketch {
            self.scorer.saw(&sketch);
            self.learning.reader.keep(seq, &sketch);
        }
        self.publish_and_sweep()
    }

    fn publish_and_sweep(&mut self) -> Result<(), StoreFailure> {
        // A sweep is ended before the next epoch, so that no score is of an epoch that nobody can name.
        if self.learning.sweep.is_none() && self.scorer.publish_if_due() {
            self.book_epoch(EpochCause::Automatic, 0);
            self.note_learners();
            self.note_checkpoint(self.learning.epochs.last_at(), false);
            self.begin_sweep();
        }
        // A replay counts its slices in bookings, for its loop turns as the threads please.
        if self.pace == Pace::Replay {
            self.sweep(SLICE_OF_REPLAY, None)?;
        }
        Ok(())
    }

    fn note_learners(&mut self) {
        self.learning.validated.push(LearnersAt {
            pages: self.learning.pages.len() as u64,
            learners: self.scorer.learners(),
        });
    }

    pub(super) fn note_redirect(&mut self, redirect: &RedirectBooking) {
        if redirect.refusal.is_none() {
            self.forget_redirects();
            let references = redirect.lease.references.clone();
            let target = redirect.target.id();
            self.learning.redirects.push((target, references));
        }
    }

    /// Sweeps forget the redirects whose target waits no longer. An order that learns nothing has none, but
    /// another one may be put in its place that needs the others.
    fn forget_redirects(&mut self) {
        let Learning {
            redirects, sweep, ..
        } = &mut self.learning;
        let length = redirects.len();
        // At each doubling, so that looking costs little however many of them wait.
        let is_due = length >= REDIRECTS_MIN && length.is_power_of_two();
        if is_due && sweep.is_none() && !self.scorer.needs_sketches() {
            redirects.retain(|(target, _)| self.frontier.is_open(*target));
        }
    }

    /// Learns from an event of the log, when the crawl is opened.
    pub(super) fn fold_learning(&mut self, seq: Seq, event: &Event) -> Result<(), StoreFailure> {
        match event {
            Event::Page(page) => {
                self.learning.pages.push(seq);
                if self.learning.is_learned_in_turn(seq) {
                    self.fold_page(seq, page)?;
                }
            }
            Event::Failure(failure) if self.learning.is_learned_in_turn(seq) => {
                self.fold_failure(failure)?;
            }
            Event::Redirect(redirect) => self.note_redirect(redirect),
            Event::Epoch(epoch) => self.fold_epoch(seq, epoch),
            _ => {}
        }
        Ok(())
    }

    fn fold_page(&mut self, seq: Seq, page: &PageBooking) -> Result<(), StoreFailure> {
        if !self.scorer.needs_sketches() {
            return Ok(());
        }
        let scorer = self.scorer.as_mut();
        let label = self.spec.labels.of_page(&page.judgement);
        let reader = &mut self.learning.reader;
        let prepared = reader.fold(scorer, seq, page, Some(label), false)?;
        self.learning.epochs.count(&prepared, label);
        // Where instances are frozen, epochs are booked.
        if page.frozen.is_none() && self.scorer.publish_if_due() {
            self.learning.owes_sweep = true;
        }
        Ok(())
    }

    fn fold_failure(&mut self, failure: &FailureBooking) -> Result<(), StoreFailure> {
        if !self.scorer.needs_sketches() {
            return Ok(());
        }
        let scorer = self.scorer.as_mut();
        let reader = &mut self.learning.reader;
        if let Some(prepared) = reader.fold_failure(scorer, failure, true, false)? {
            self.learning.epochs.count_lost(&prepared);
        }
        Ok(())
    }

    fn fold_epoch(&mut self, seq: Seq, epoch: &EpochEvent) {
        self.learning.epochs.fold(seq, epoch.clone());
        self.learning.owes_sweep = true;
        if epoch.cause != EpochCause::Automatic {
            self.learning.ordered = Some((seq, epoch.clone()));
            self.set_order_of(epoch);
        }
        if self.learning.checkpoints.restored() == Some(seq) {
            self.put_restored(epoch);
        } else if epoch.cause == EpochCause::Automatic && self.learning.is_learned_in_turn(seq) {
            self.scorer.publish();
            self.note_learners();
            self.note_checkpoint(seq, false);
        }
    }
}
