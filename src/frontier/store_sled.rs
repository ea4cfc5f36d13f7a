//! The log of a crawl on disk: events in sled, evidence in segment files, the newest in memory.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{FrontierStore, StoreFailure, store_read};
use crate::booking::{self, Event, Reference, Seq};
use crate::page::Page;
use crate::store::{Entry, OpenError, Store, StoreError, StoreOptions};
use crate::url::CanonicalUrl;

/// A [`FrontierStore`] in a folder.
///
/// What was appended and not yet flushed waits in a buffer that readers see as well. Its size is the
/// caller's to bound: flush when [`pending`](Self::pending) says so. Dropping the store drops the
/// buffer, as a crash would.
#[derive(Debug)]
pub struct SledStore {
    store: Store,
    pending: RwLock<Pending>,
    /// One flush at a time; appending goes on meanwhile.
    flushing: Mutex<()>,
}

/// Events behind the last durable one, in order.
#[derive(Debug, Default)]
struct Pending {
    /// The number of the front one (of the next one, if there is none).
    first: u64,
    events: VecDeque<Arc<PendingEvent>>,
    bytes: usize,
}

#[derive(Debug)]
struct PendingEvent {
    /// Without its evidence.
    event: Event,
    evidence: Vec<u8>,
}

impl PendingEvent {
    /// Bytes in memory, about: what grows with the page.
    fn bytes(&self) -> usize {
        let links = match &self.event {
            Event::Page(page) => size_of_val(page.links.as_slice()),
            Event::SpecChange(spec) => spec.len(),
            _ => 0,
        };
        size_of::<Self>() + links + self.evidence.len()
    }
}

impl Pending {
    fn get(&self, seq: Seq) -> Option<&Arc<PendingEvent>> {
        let place = seq.0.checked_sub(self.first)?;
        self.events.get(usize::try_from(place).ok()?)
    }
}

impl SledStore {
    /// Opens the log in `folder`, or makes a new one if the folder is missing or empty.
    ///
    /// # Errors
    /// [`OpenError`] names the cause, the path and the next step.
    pub fn open(folder: &Path, options: &StoreOptions) -> Result<Self, OpenError> {
        let store = Store::open(folder, options)?;
        let pending = Pending {
            first: store.last().saturating_add(1),
            ..Pending::default()
        };
        Ok(Self {
            store,
            pending: RwLock::new(pending),
            flushing: Mutex::new(()),
        })
    }

    /// Events that a crash would lose now, and the memory that they take (bytes, about).
    pub fn pending(&self) -> (usize, usize) {
        let pending = self.read_pending();
        (pending.events.len(), pending.bytes)
    }

    /// The evidence of a page, for a reader of a single link (see `booking::evidence`); empty for an
    /// event of another kind, `None` past the end.
    ///
    /// # Errors
    /// [`StoreFailure`] if it is damaged or unreadable; it names the file and the byte.
    pub fn evidence(&self, seq: Seq) -> Result<Option<Vec<u8>>, StoreFailure> {
        // First here, then on disk: flush lets an event go from here only when it is there.
        if let Some(waiting) = self.read_pending().get(seq) {
            return Ok(Some(waiting.evidence.clone()));
        }
        Ok(self.store.payload(seq.0)?)
    }

    /// Sets the bytes that must remain free on the disk after a flush.
    pub fn set_free_bytes_min(&self, bytes: u64) {
        self.store.set_free_bytes_min(bytes);
    }

    fn read_pending(&self) -> RwLockReadGuard<'_, Pending> {
        self.pending.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_pending(&self) -> RwLockWriteGuard<'_, Pending> {
        self.pending.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn decode(&self, seq: Seq, bytes: &[u8]) -> Result<Event, StoreFailure> {
        booking::decode(bytes).map_err(|error| {
            let folder = self.store.folder().display();
            StoreFailure(format!("event {} in {folder}: {error}", seq.0))
        })
    }

    /// The durable part of a scan; false if the visitor had enough.
    fn scan_durable(
        &self,
        from: u64,
        to: u64,
        visit: &mut dyn FnMut(Seq, Event) -> bool,
    ) -> Result<bool, StoreFailure> {
        let mut outcome = Ok(true);
        self.store.scan(from..=to, &mut |key, record| {
            let seq = Seq(key);
            outcome = self.decode(seq, record).map(|event| visit(seq, event));
            matches!(outcome, Ok(true))
        })?;
        outcome
    }
}

impl FrontierStore for SledStore {
    fn append(&self, mut event: Event) -> Seq {
        let evidence = store_read::take_evidence(&mut event);
        let waiting = Arc::new(PendingEvent { event, evidence });
        let mut pending = self.write_pending();
        pending.bytes += waiting.bytes();
        pending.events.push_back(waiting);
        Seq(pending.first + pending.events.len() as u64 - 1)
    }

    fn flush(&self) -> Result<Seq, StoreFailure> {
        self.flush_to(Seq(u64::MAX))
    }

    fn flush_to(&self, last: Seq) -> Result<Seq, StoreFailure> {
        let _one_at_a_time = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, waiting): (u64, Vec<Arc<PendingEvent>>) = {
            let pending = self.read_pending();
            let wanted = (last.0.saturating_add(1)).saturating_sub(pending.first);
            let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
            let waiting = pending.events.iter().take(wanted).cloned().collect();
            (pending.first, waiting)
        };
        let records: Vec<Vec<u8>> = waiting
            .iter()
            .map(|waiting| booking::encode(&waiting.event))
            .collect();
        let group: Vec<Entry<'_>> = (first..)
            .zip(waiting.iter().zip(&records))
            .map(|(key, (waiting, record))| Entry {
                key,
                record,
                payload: &waiting.evidence,
            })
            .collect();
        self.store.commit(&group)?;
        let mut pending = self.write_pending();
        pending.events.drain(..waiting.len());
        pending.first += waiting.len() as u64;
        let gone: usize = waiting.iter().map(|waiting| waiting.bytes()).sum();
        pending.bytes -= gone;
        Ok(self.durable())
    }

    fn durable(&self) -> Seq {
        Seq(self.store.last())
    }

    fn last(&self) -> Seq {
        let pending = self.read_pending();
        Seq(pending.first + pending.events.len() as u64 - 1)
    }

    fn event(&self, seq: Seq) -> Result<Option<Event>, StoreFailure> {
        if let Some(waiting) = self.read_pending().get(seq) {
            return Ok(Some(waiting.event.clone()));
        }
        let record = self.store.record(seq.0)?;
        record.map(|bytes| self.decode(seq, &bytes)).transpose()
    }

    fn link_url(&self, at: Reference) -> Result<CanonicalUrl, StoreFailure> {
        store_read::link_url(at, self.evidence(at.seq)?, || self.event(at.seq))
    }

    fn page(&self, seq: Seq) -> Result<Page, StoreFailure> {
        store_read::page(seq, self.evidence(seq)?)
    }

    fn scan(
        &self,
        from: Seq,
        to: Seq,
        visit: &mut dyn FnMut(Seq, Event) -> bool,
    ) -> Result<(), StoreFailure> {
        let from = from.0.max(1);
        let durable = self.durable().0.min(to.0);
        if from <= durable && !self.scan_durable(from, durable, visit)? {
            return Ok(());
        }
        store_read::scan_each(self, Seq(from.max(durable.saturating_add(1))), to, visit)
    }
}

impl From<StoreError> for StoreFailure {
    fn from(error: StoreError) -> Self {
        Self(error.to_string())
    }
}
