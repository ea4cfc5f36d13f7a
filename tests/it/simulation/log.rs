//! A log that makes itself durable at random moments, whose disk fails at times, and that tells of the
//! moment to crash.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use apprentice::booking::{Event, Reference, Seq};
use apprentice::clock::Chance;
use apprentice::frontier::{FrontierStore, MemoryStore, StoreFailure};
use apprentice::page::Page;
use apprentice::url::CanonicalUrl;
use rand::RngExt;
use tokio::sync::Notify;

use super::site::Site;

/// What a flush that fails says.
pub(super) const DISK_FULL: &str = "the disk is full";

/// What befalls a log in one life of its crawler.
#[derive(Clone, Default)]
pub(super) struct Fate {
    /// The number of the event after which the crawler dies.
    pub(super) dies_after: Option<Seq>,
    /// The flushes that fail, counted from 0.
    pub(super) flushes_fail: Range<u64>,
}

pub(super) struct Log {
    pub(super) inner: MemoryStore,
    chance: Mutex<Chance>,
    fate: Fate,
    site: Site,
    flushes: AtomicU64,
    died: Notify,
}

impl Log {
    /// The log of the crawl whose `site` it is.
    pub(super) fn new(inner: MemoryStore, chance: Chance, fate: Fate, site: Site) -> Self {
        Self {
            inner,
            chance: Mutex::new(chance),
            fate,
            site,
            flushes: AtomicU64::new(0),
            died: Notify::new(),
        }
    }

    /// Completes when the crawler is to die.
    pub(super) async fn dies(&self) {
        self.died.notified().await;
    }

    /// One that fails may have written some of it.
    fn fail_if_it_is_to(&self, last: Seq) -> Result<(), StoreFailure> {
        let flush = self.flushes.fetch_add(1, Ordering::SeqCst);
        if !self.fate.flushes_fail.contains(&flush) {
            return Ok(());
        }
        let (durable, last) = (self.inner.durable().0, self.inner.last().0.min(last.0));
        let mut chance = self.chance.lock().unwrap_or_else(PoisonError::into_inner);
        let written = chance.random_range(durable..=last.max(durable));
        self.inner.flush_to(Seq(written))?;
        self.site.crawl_breaks();
        Err(StoreFailure(DISK_FULL.to_owned()))
    }
}

impl FrontierStore for Log {
    fn append(&self, event: Event) -> Seq {
        let seq = self.inner.append(event);
        let mut chance = self.chance.lock().unwrap_or_else(PoisonError::into_inner);
        // What is durable is a prefix that holds at least what was flushed; it may be more.
        if chance.random_bool(0.1) {
            self.inner.flush().unwrap();
        }
        if Some(seq) == self.fate.dies_after {
            self.died.notify_one();
        }
        seq
    }

    fn flush(&self) -> Result<Seq, StoreFailure> {
        self.fail_if_it_is_to(Seq(u64::MAX))?;
        self.inner.flush()
    }

    fn flush_to(&self, last: Seq) -> Result<Seq, StoreFailure> {
        self.fail_if_it_is_to(last)?;
        self.inner.flush_to(last)
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
