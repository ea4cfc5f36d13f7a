//! Sources and stores that misbehave on purpose.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;

use crate::booking::{Event, Reference, Seq};
use crate::clock::{Clock, SimulatedClock, Timestamp};
use crate::crawl::EngineParts;
use crate::fetch::{Outcome, Request, ScriptedSource, Source};
use crate::frontier::{FrontierStore, MemoryStore, StoreFailure};
use crate::page::Page;
use crate::url::CanonicalUrl;

/// A source that notes each request at once and answers only as many as it is let.
#[derive(Clone)]
pub(super) struct Gate {
    inner: ScriptedSource,
    let_through: Arc<Semaphore>,
    asked: Arc<AtomicU64>,
}

impl Gate {
    pub(super) fn new(inner: ScriptedSource, let_through: usize) -> Self {
        Self {
            inner,
            let_through: Arc::new(Semaphore::new(let_through)),
            asked: Arc::default(),
        }
    }

    pub(super) fn let_through(&self, more: usize) {
        self.let_through.add_permits(more);
    }

    /// Requests so far, also those that wait at the gate.
    pub(super) fn asked(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }

    /// Completes when that many requests have come.
    pub(super) async fn until_asked(&self, requests: u64) {
        while self.asked() < requests {
            tokio::task::yield_now().await;
        }
    }
}

impl Source for Gate {
    async fn fetch(&self, request: Request) -> Outcome {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.let_through.acquire().await.unwrap().forget();
        self.inner.fetch(request).await
    }
}

/// A source that notes when it was asked for what.
#[derive(Clone)]
pub(super) struct Timed {
    pub(super) inner: ScriptedSource,
    pub(super) clock: SimulatedClock,
    pub(super) asked: Arc<Mutex<Vec<(CanonicalUrl, Timestamp)>>>,
}

impl Source for Timed {
    async fn fetch(&self, request: Request) -> Outcome {
        let asked = (request.url.clone(), self.clock.now());
        self.asked.lock().unwrap().push(asked);
        self.inner.fetch(request).await
    }
}

/// A clock that stands still, whoever waits for it.
#[derive(Clone)]
pub(super) struct StandingClock(pub(super) Timestamp);

impl Clock for StandingClock {
    fn now(&self) -> Timestamp {
        self.0
    }

    async fn sleep_until(&self, until: Timestamp) {
        if until > self.0 {
            std::future::pending::<()>().await;
        }
    }
}

/// The parts with another clock.
pub(super) fn on_clock<S, C>(parts: EngineParts<S, SimulatedClock>, clock: C) -> EngineParts<S, C> {
    EngineParts {
        clock,
        source: parts.source,
        judge: parts.judge,
        store: parts.store,
        calendar: parts.calendar,
        robots: parts.robots,
        pace: parts.pace,
        world: parts.world,
        parsers: parts.parsers,
        guard_note: parts.guard_note,
        needs_contact: parts.needs_contact,
        scorer: parts.scorer,
        start: parts.start,
        learned: parts.learned,
        opening: parts.opening,
    }
}

/// A clock that moves on by so many milliseconds each time that somebody looks at it.
#[derive(Clone)]
pub(super) struct TickingClock {
    pub(super) now: Arc<AtomicI64>,
    pub(super) step: i64,
}

impl Clock for TickingClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.fetch_add(self.step, Ordering::SeqCst))
    }

    async fn sleep_until(&self, until: Timestamp) {
        self.now.fetch_max(until.0, Ordering::SeqCst);
    }
}

/// A clock that has had enough of being asked to wait for what is past.
#[derive(Clone)]
pub(super) struct ImpatientClock {
    pub(super) inner: SimulatedClock,
    pub(super) in_vain: Arc<AtomicU64>,
}

impl Clock for ImpatientClock {
    fn now(&self) -> Timestamp {
        self.inner.now()
    }

    async fn sleep_until(&self, until: Timestamp) {
        if until <= self.now() {
            let times = self.in_vain.fetch_add(1, Ordering::SeqCst);
            assert!(times < 1_000, "woken for nothing a thousand times");
        }
        self.inner.sleep_until(until).await;
    }
}

/// A log whose flushes fail: some of them, or all after an event.
pub(super) struct FailingStore<S = MemoryStore> {
    pub(super) inner: Arc<S>,
    /// The flushes that fail, counted from 1.
    pub(super) fails: std::ops::Range<u64>,
    pub(super) flushes: AtomicU64,
    /// No flush ends before the log has this many events.
    pub(super) waits_for: AtomicU64,
    /// Nothing that comes after this event is made durable.
    stop: Seq,
}

impl<S> FailingStore<S> {
    pub(super) fn new(inner: Arc<S>, fails: std::ops::Range<u64>) -> Self {
        Self {
            inner,
            fails,
            flushes: AtomicU64::new(0),
            waits_for: AtomicU64::new(0),
            stop: Seq(u64::MAX),
        }
    }

    /// Every flush fails once there is an event after `stop`.
    pub(super) fn stopping_after(inner: Arc<S>, stop: Seq) -> Self {
        Self {
            stop,
            ..Self::new(inner, 0..0)
        }
    }
}

impl<S: FrontierStore> FrontierStore for FailingStore<S> {
    fn append(&self, event: Event) -> Seq {
        self.inner.append(event)
    }

    fn flush(&self) -> Result<Seq, StoreFailure> {
        let flush = self.flushes.fetch_add(1, Ordering::SeqCst) + 1;
        if self.fails.contains(&flush) {
            return Err(StoreFailure("the disk is full".into()));
        }
        while self.last().0 < self.waits_for.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        self.flush_to(Seq(u64::MAX))
    }

    fn flush_to(&self, last: Seq) -> Result<Seq, StoreFailure> {
        self.inner.flush_to(last.min(self.stop))?;
        if self.inner.last().min(last) > self.stop {
            return Err(StoreFailure("it has stopped".into()));
        }
        Ok(self.inner.durable())
    }

    fn durable(&self) -> Seq {
        self.inner.durable()
    }

    fn last(&self) -> Seq {
        self.inner.last()
    }

    fn event(&self, seq: Seq) -> Result<Option<Event>, StoreFailure> {
        self.inner.event(seq)
    }

    fn link_url(&self, at: Reference) -> Result<CanonicalUrl, StoreFailure> {
        self.inner.link_url(at)
    }

    fn page(&self, seq: Seq) -> Result<Page, StoreFailure> {
        self.inner.page(seq)
    }

    fn scan(
        &self,
        from: Seq,
        to: Seq,
        visit: &mut dyn FnMut(Seq, Event) -> bool,
    ) -> Result<(), StoreFailure> {
        self.inner.scan(from, to, visit)
    }
}
