//! The log of a crawl in memory: for the lab, where a crawl is repeated rather than resumed, and for
//! tests, where it plays a crash.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{FrontierStore, StoreFailure, store_read};
use crate::booking::{Event, Reference, Seq};
use crate::page::Page;
use crate::url::CanonicalUrl;

/// A [`FrontierStore`] without a disk: `flush` only moves the mark that a crash would cut behind.
#[derive(Debug, Default)]
pub struct MemoryStore {
    log: RwLock<Log>,
}

#[derive(Clone, Debug, Default)]
struct Log {
    /// Each without its evidence, and the evidence.
    events: Vec<(Event, Vec<u8>)>,
    durable: usize,
}

impl Log {
    fn get(&self, seq: Seq) -> Option<&(Event, Vec<u8>)> {
        let place = seq.0.checked_sub(1)?;
        self.events.get(usize::try_from(place).ok()?)
    }
}

impl MemoryStore {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// The log that a crash at this moment would leave: what was flushed.
    #[must_use]
    pub fn after_crash(&self) -> Self {
        let mut log = self.read().clone();
        log.events.truncate(log.durable);
        Self {
            log: RwLock::new(log),
        }
    }

    /// The evidence of a page, for a reader of a single link (see `booking::evidence`); empty for an
    /// event of another kind, `None` past the end.
    pub fn evidence(&self, seq: Seq) -> Option<Vec<u8>> {
        self.read().get(seq).map(|(_, evidence)| evidence.clone())
    }

    fn read(&self) -> RwLockReadGuard<'_, Log> {
        self.log.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Log> {
        self.log.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FrontierStore for MemoryStore {
    fn append(&self, mut event: Event) -> Seq {
        let evidence = store_read::take_evidence(&mut event);
        let mut log = self.write();
        log.events.push((event, evidence));
        Seq(log.events.len() as u64)
    }

    fn flush(&self) -> Result<Seq, StoreFailure> {
        self.flush_to(Seq(u64::MAX))
    }

    fn flush_to(&self, last: Seq) -> Result<Seq, StoreFailure> {
        let mut log = self.write();
        let last = usize::try_from(last.0).unwrap_or(usize::MAX);
        log.durable = log.events.len().min(last).max(log.durable);
        Ok(Seq(log.durable as u64))
    }

    fn durable(&self) -> Seq {
        Seq(self.read().durable as u64)
    }

    fn last(&self) -> Seq {
        Seq(self.read().events.len() as u64)
    }

    fn event(&self, seq: Seq) -> Result<Option<Event>, StoreFailure> {
        Ok(self.read().get(seq).map(|(event, _)| event.clone()))
    }

    fn link_url(&self, at: Reference) -> Result<CanonicalUrl, StoreFailure> {
        store_read::link_url(at, self.evidence(at.seq), || self.event(at.seq))
    }

    fn page(&self, seq: Seq) -> Result<Page, StoreFailure> {
        store_read::page(seq, self.evidence(seq))
    }

    fn scan(
        &self,
        from: Seq,
        to: Seq,
        visit: &mut dyn FnMut(Seq, Event) -> bool,
    ) -> Result<(), StoreFailure> {
        // The lock is not held while the visitor works.
        store_read::scan_each(self, from, to, visit)
    }
}
