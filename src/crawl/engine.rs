//! The engine of one crawl: the loop that leases, books and flushes.
//!
//! Life of the engine: [`Engine::open`] folds the log; [`Engine::run`] leases while the crawl is
//! running, books every outcome as it comes, makes groups of bookings durable, answers its
//! [`Handle`], and ends when it is shut down or when something broke. What is not
//! durable when it ends was never booked.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::checkpoint::Checkpoints;
use super::copies::Copies;
use super::error::EngineError;
use super::handle::{Command, Handle, LastReport};
use super::judging::Judging;
use super::learners::Learned;
use super::learning::Learning;
use super::lease_task::{Finished, Workbench};
use super::log_spec::{first_spec, spec_from};
use super::opening::Opening;
use super::parts::{EngineParts, Pace, RobotsPolicy, World};
use super::progress::{Progress, Tally};
use super::read_ahead::{Aside, scan_ahead};
use super::readmit::Search;
use super::spec::{Spec, SpecError};
use super::starts::first_scorer;
use super::teaching::Teaching;
use super::waiters::Waiters;
use crate::apprentice::LinkScorer;
use crate::archive::Keeper;
use crate::booking::{CrawlState, Event, EvictedEvent, Kept, Seq, StateEvent};
use crate::clock::{Clock, Timestamp, chance};
use crate::features::TermWeights;
use crate::fetch::robots::Origin;
use crate::fetch::{GuardRules, Source};
use crate::frontier::{Frontier, FrontierStore, HostCalendar, Next, StoreFailure};
use crate::measure::Rate;
use crate::proto::v1;

/// A group of bookings is made durable after this long, or this many (DESIGN.md 4.6).
pub(super) const FLUSH_AFTER: Duration = Duration::from_millis(500);
pub(super) const FLUSH_EVENTS: usize = 1000;
/// With this many events, or bytes of evidence, waiting for the disk nothing more is leased: the disk
/// sets the pace. Not of a
/// replay, where it would leave its trace.
pub(super) const UNFLUSHED_EVENTS_MAX: usize = 4 * FLUSH_EVENTS;
pub(super) const UNFLUSHED_BYTES_MAX: usize = 256 << 20;
/// Links that one event evicts: records of the store are to be small.
const EVICTED_AT_ONCE: usize = 4096;
/// A group is made durable with this many bytes, whatever its time.
pub(super) const FLUSH_BYTES: usize = 32 << 20;

/// One crawl at work.
pub struct Engine<S, C> {
    /// Its judge is the one that has learned all marks.
    pub(super) bench: Workbench<S, C>,
    pub(super) teaching: Teaching,
    pub(super) store: Arc<dyn FrontierStore>,
    pub(super) calendar: HostCalendar,
    pub(super) robots: RobotsPolicy,
    pub(super) pace: Pace,
    pub(super) world: Option<World>,
    pub(super) guard_note: String,
    needs_contact: bool,

    pub(super) raw_spec: v1::CrawlSpec,
    pub(super) spec: Spec,
    pub(super) guard: Arc<GuardRules>,
    pub(super) frontier: Frontier,
    pub(super) scorer: Box<dyn LinkScorer>,
    pub(super) learning: Learning,
    /// Keeps pages as WARC, if the crawl asks for it.
    pub(super) keeper: Option<Keeper>,
    /// Where the page that was kept last ends.
    pub(super) kept_last: Option<Kept>,
    /// Origins of seeds whose sitemaps were looked for since the crawl was opened.
    pub(super) sitemaps_asked: HashSet<Origin>,
    /// What was booked, to know copies by.
    pub(super) copies: Copies,
    /// Fetches that count, booked (not only the durable ones): the budget is held against it.
    pub(super) booked: u64,
    pub(super) state: (CrawlState, String),
    /// The durable figures, and what will be added to them.
    pub(super) progress: Progress,
    pub(super) undurable: VecDeque<(Seq, Tally, usize)>,
    /// Bytes of evidence that wait for the disk; the part of each event stands beside it.
    pub(super) undurable_bytes: usize,
    /// The last event that the figures cover.
    pub(super) folded: Seq,
    pub(super) created_at: Timestamp,

    pub(super) tasks: JoinSet<Finished>,
    /// In a replay: outcomes that arrived before their turn, and the numbers of the leases that are out.
    pub(super) early: BTreeMap<u64, Finished>,
    pub(super) out: BTreeSet<u64>,
    pub(super) judging: Judging,
    commands: mpsc::Receiver<Command>,
    pub(super) flushing: Option<JoinHandle<Result<Seq, StoreFailure>>>,
    pub(super) flush_due: Option<Timestamp>,
    pub(super) waiters: Waiters,
    pub(super) rate: Rate,
    /// For links that a new scope takes; the crawl is not finished as long as it goes on.
    pub(super) search: Option<Search>,
    /// What the frontier answered when it last gave no lease.
    pub(super) held: Option<Next>,
    pub(super) closing: watch::Sender<bool>,
    pub(super) last_report: LastReport,
    /// Why the robots.txt last asked for could not be had; cleared by the next page.
    pub(super) trouble: Option<String>,
}

impl<S: Source, C: Clock> Engine<S, C> {
    /// Opens a crawl: memory becomes the fold of the log, which must begin with a `SpecChange`.
    ///
    /// # Errors
    /// [`EngineError`] if the log cannot be read or holds no usable spec.
    pub fn open(mut parts: EngineParts<S, C>) -> Result<(Self, Handle), EngineError> {
        let (raw_spec, spec) = first_spec(parts.store.as_ref())?;
        let is_own = parts.scorer.is_some();
        let scorer = match parts.scorer.take() {
            Some(scorer) => scorer,
            None => first_scorer(&spec, parts.start.as_deref()),
        };
        let weights = scorer
            .needs_sketches()
            .then(|| Arc::new(TermWeights::new(parts.judge.term_weights())));
        let (sender, commands) = mpsc::channel(64);
        let last_report = LastReport::default();
        let handle = Handle::new(
            &spec.name,
            sender,
            Arc::clone(&parts.store),
            parts.judge.clone(),
            Arc::clone(&last_report),
        );
        let reader = parts.reader(weights.as_ref());
        // A scorer of the caller's own is none that could be made again.
        let checkpoints = Checkpoints::in_file(parts.learned.take().filter(|_| !is_own));
        let mut engine = Self {
            teaching: Teaching::new(&parts.judge),
            judging: Judging::new(&parts.judge),
            bench: Workbench {
                source: parts.source,
                clock: parts.clock,
                judge: parts.judge,
                parsers: Arc::new(Semaphore::new(parts.parsers.max(1))),
                weights,
            },
            store: parts.store,
            calendar: parts.calendar.clone(),
            robots: parts.robots,
            pace: parts.pace,
            world: parts.world,
            guard_note: parts.guard_note,
            needs_contact: parts.needs_contact,
            frontier: empty_frontier(&spec, parts.calendar),
            scorer,
            learning: Learning::new(reader, parts.start, checkpoints),
            keeper: None,
            kept_last: None,
            sitemaps_asked: HashSet::new(),
            copies: Copies::default(),
            raw_spec,
            guard: guard_of(&spec)?,
            spec,
            booked: 0,
            state: (CrawlState::Running, String::new()),
            progress: Progress::default(),
            undurable: VecDeque::new(),
            undurable_bytes: 0,
            folded: Seq(0),
            created_at: Timestamp(0),
            tasks: JoinSet::new(),
            early: BTreeMap::new(),
            out: BTreeSet::new(),
            commands,
            flushing: None,
            flush_due: None,
            waiters: Waiters::default(),
            rate: Rate::default(),
            search: None,
            held: None,
            closing: watch::Sender::new(false),
            last_report,
            trouble: None,
        };
        engine.remember(&parts.opening)?;
        Ok((engine, handle))
    }

    /// Becomes the fold of the log.
    fn remember(&mut self, opening: &Opening) -> Result<(), EngineError> {
        self.restore_learned();
        self.fold_log(opening)?;
        if opening.is_stopped() {
            return Err(EngineError::Abandoned);
        }
        self.sweep_at_opening()?;
        Ok(())
    }

    fn fold_log(&mut self, opening: &Opening) -> Result<(), EngineError> {
        let store = Arc::clone(&self.store);
        let last = store.last();
        let mut spec = None;
        let mut broken = None;
        let mut feedback = Vec::new();
        let name = self.spec.name.clone();
        let mut aside = Aside::default();
        self.frontier.begin_fold(self.bench.clock.now());
        let mut take_aside = |seq, event: &Event| aside.take_in(seq, event);
        scan_ahead(
            store.as_ref(),
            (&name, last, opening),
            &mut take_aside,
            &mut |seq, event| {
                if let Event::SpecChange(bytes) = event {
                    spec = Some(bytes.clone());
                }
                self.frontier.admit(seq, event);
                self.scorer.observe(event);
                broken = self.fold_learning(seq, event).err();
                if let Event::Feedback(event) = event {
                    feedback.push(event.clone());
                }
                broken.is_none()
            },
        )?;
        self.copies = aside.copies;
        self.progress = aside.progress;
        self.kept_last = aside.kept_last;
        self.created_at = aside.created_at;
        self.frontier.end_fold();
        if let Some(error) = broken {
            return Err(error.into());
        }
        self.bench.judge = self.teaching.fold(&feedback, store.as_ref())?;
        if let Some(bytes) = spec {
            let (raw, spec) = spec_from(&bytes)?;
            self.set_spec(raw, spec)?;
        }
        // The spec says with which order the crawl began.
        if let Some((_, epoch)) = self.learning.ordered.clone() {
            self.set_order_of(&epoch);
        }
        self.fold_ordered(opening)?;
        if std::mem::take(&mut self.learning.owes_sweep) {
            self.begin_sweep();
        }
        self.folded = last;
        self.booked = self.progress.fetched();
        self.state = self.progress.state.clone();
        Ok(())
    }

    /// Runs until it is shut down (or, in a replay, until the crawl is finished).
    ///
    /// Reads single links from the store, so it belongs on a thread of its own, not on one that a
    /// runtime shares among tasks.
    ///
    /// # Errors
    /// [`EngineError`]: what broke. What was durable by then stays; the rest was not booked.
    pub async fn run(self) -> Result<Progress, EngineError> {
        self.run_and_tell().await.map(|(progress, _)| progress)
    }

    /// As [`run`](Self::run); gives as well what was learned.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_and_tell(mut self) -> Result<(Progress, Learned), EngineError> {
        let ended = self.work().await;
        self.tasks.shutdown().await;
        let ended = match ended {
            Ok(()) => self.flush_all().await,
            failed => failed,
        };
        self.end_checkpoints().await;
        match &ended {
            Ok(()) | Err(EngineError::Abandoned) => {}
            Err(error) => self.record_failure(error).await,
        }
        let learned = self.learned();
        ended.map(|()| (self.progress, learned))
    }

    pub(super) async fn work(&mut self) -> Result<(), EngineError> {
        loop {
            self.lease_what_may_be()?;
            self.finish_if_done();
            self.ask_judge_if_due();
            let done = self.in_flight() == 0;
            let finished = self.pace == Pace::Replay && self.state.0 != CrawlState::Running;
            if done && (self.is_closing() || finished) {
                return Ok(());
            }
            if self.pace == Pace::Live {
                self.sweep_slice()?;
            }
            self.start_flush_if_due();
            self.write_checkpoint_if_due();
            if !self.book_next_in_turn()? {
                self.take_one().await?;
            }
        }
    }

    /// Waits for whatever comes first and takes it.
    pub(super) async fn take_one(&mut self) -> Result<(), EngineError> {
        let wake = self.wake_at();
        let sweeps = self.pace == Pace::Live && self.is_sweeping();
        let closing = self.is_closing();
        let clock = self.bench.clock.clone();
        let timer = async {
            match wake {
                Some(at) => clock.sleep_until(at).await,
                None => pending().await,
            }
        };
        let flush = end_of(self.flushing.as_mut());
        let judged = end_of(self.judging.out.as_mut());
        let training = self.learning.training.as_mut();
        let trained = end_of(training.map(|training| &mut training.job));
        let found = async {
            match self.search.as_mut() {
                Some(search) => search.recv().await,
                None => pending().await,
            }
        };
        let others = self.frontier.host_returned();
        // Another crawl may give a host back before the time that the frontier could name.
        let others_wait = self.pace == Pace::Live
            && matches!(self.held, Some(Next::AllLeased | Next::NotBefore(_)));
        tokio::select! {
            biased;
            flushed = flush => {
                self.flushing = None;
                self.take_flushed(flushed.map_err(EngineError::from_join)??);
                Ok(())
            }
            // Before the outcomes: where those come faster than they are booked, it would never be its turn.
            trained = trained => {
                self.take_trained(trained);
                Ok(())
            }
            Some(finished) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                self.take_finished(finished.map_err(EngineError::from_join)?)?;
                // For the same reason, callers are answered in between, and links readmitted.
                if let Ok(command) = self.commands.try_recv() {
                    self.obey(command);
                }
                let found = self.search.as_mut().and_then(|search| search.try_recv().ok());
                if let (Some(found), false) = (found, closing) {
                    self.take_found(Some(found));
                }
                Ok(())
            }
            judged = judged => {
                self.take_judged(judged.map_err(EngineError::from_join)?)?;
                Ok(())
            }
            Some(command) = self.commands.recv() => {
                self.obey(command);
                Ok(())
            }
            found = found, if !closing => {
                self.take_found(found);
                Ok(())
            }
            () = others, if others_wait => Ok(()),
            // A sweep goes on while nothing else is to be done.
            () = tokio::task::yield_now(), if sweeps => Ok(()),
            () = timer => Ok(()),
        }
    }

    fn wake_at(&self) -> Option<Timestamp> {
        if self.pace == Pace::Replay && !self.tasks.is_empty() {
            return None;
        }
        let host = match self.held {
            Some(Next::NotBefore(at)) if self.may_lease() => Some(at),
            _ => None,
        };
        // A replay flushes full groups only: to wake for the others would be to wake forever.
        let flushes = self.pace == Pace::Live && self.flushing.is_none();
        let flush = self.flush_due.filter(|_| flushes);
        let judge = self.wake_for_judge();
        host.into_iter().chain(flush).chain(judge).min()
    }

    /// Books an event, and then what has to go because of it.
    pub(super) fn append(&mut self, event: Event) -> Seq {
        let stored = self.append_one(event);
        let surplus = self.frontier.surplus();
        for links in surplus.chunks(EVICTED_AT_ONCE) {
            let (links, at) = (links.to_vec(), self.bench.clock.now());
            self.append_one(Event::Evicted(EvictedEvent { links, at }));
        }
        stored
    }

    /// Books an event: into the log, the frontier and the figures-to-be.
    fn append_one(&mut self, event: Event) -> Seq {
        let tally = Tally::of(&event);
        let bytes = match &event {
            Event::Page(page) => page.evidence.len(),
            _ => 0,
        };
        self.booked += u64::from(event.counts().is_some());
        self.scorer.observe(&event);
        // The frontier folds the event as the store will give it back: without the evidence.
        let seq = self.store.last();
        let seq = Seq(seq.0 + 1);
        if let Event::Page(page) = &event {
            self.copies.add(seq, page);
        }
        self.frontier.admit(seq, &event);
        let stored = self.store.append(event);
        debug_assert_eq!(seq, stored, "the engine is the log's only writer");
        self.undurable.push_back((stored, tally, bytes));
        self.undurable_bytes = self.undurable_bytes.saturating_add(bytes);
        if self.flush_due.is_none() {
            self.flush_due = Some(self.bench.clock.now().after(FLUSH_AFTER));
        }
        stored
    }

    pub(super) fn enter(&mut self, state: CrawlState, reason: &str) -> Seq {
        self.state = (state, reason.to_owned());
        tracing::info!(
            crawl = self.spec.name,
            state = state.name(),
            reason,
            "state"
        );
        let at = self.bench.clock.now();
        self.append(Event::State(StateEvent {
            state,
            reason: reason.to_owned(),
            at,
        }))
    }

    /// Whether the crawl may not go on because nobody answers for it: it was made, say, on an
    /// archived web, and its daemon now stands before the network.
    pub(super) fn owes_contact(&self) -> bool {
        self.contact_owed_by(&self.spec)
    }

    pub(super) fn contact_owed_by(&self, spec: &Spec) -> bool {
        self.needs_contact && spec.tuning.contact.is_none()
    }

    pub(super) fn set_spec(&mut self, raw: v1::CrawlSpec, spec: Spec) -> Result<(), SpecError> {
        self.guard = guard_of(&spec)?;
        self.judging.set_judge(&spec.judged_by);
        self.frontier
            .set_params(spec.tuning.frontier_params(spec.order, spec.combine));
        self.spec = spec;
        self.raw_spec = raw;
        Ok(())
    }
}

fn empty_frontier(spec: &Spec, calendar: HostCalendar) -> Frontier {
    let params = spec.tuning.frontier_params(spec.order, spec.combine);
    let mut frontier = Frontier::new(params, calendar);
    frontier.steer(spec.steering, chance(spec.seed, "steering"));
    frontier
}

/// What a job gives; never, if there is none.
async fn end_of<J: Future + Unpin>(job: Option<&mut J>) -> J::Output {
    match job {
        Some(job) => job.await,
        None => pending().await,
    }
}

fn guard_of(spec: &Spec) -> Result<Arc<GuardRules>, SpecError> {
    GuardRules::parse(&spec.tuning.scope.allow_addresses)
        .map(Arc::new)
        .map_err(|error| SpecError::new("scope.allow_addresses", error.to_string()))
}
