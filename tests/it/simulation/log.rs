//! A log that makes itself durable at random moments, and tells of the moment to crash.

use std::sync::{Mutex, PoisonError};

use apprentice::booking::{Event, Reference, Seq};
use apprentice::clock::Chance;
use apprentice::frontier::{FrontierStore, MemoryStore, StoreFailure};
use apprentice::page::Page;
use apprentice::url::CanonicalUrl;
use rand::RngExt;
use tokio::sync::Notify;

pub(super) struct Log {
    pub(super) inner: MemoryStore,
    chance: Mutex<Chance>,
    /// The number of the event after which the crawler dies.
    dies_after: Option<Seq>,
    died: Notify,
}

impl Log {
    pub(super) fn new(inner: MemoryStore, chance: Chance, dies_after: Option<Seq>) -> Self {
        Self {
            inner,
            chance: Mutex::new(chance),
            dies_after,
            died: Notify::new(),
        }
    }

    /// Completes when the crawler is to die.
    pub(super) async fn dies(&self) {
        self.died.notified().await;
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
        if Some(seq) == self.dies_after {
            self.died.notify_one();
        }
        seq
    }

    fn flush(&self) -> Result<Seq, StoreFailure> {
        self.inner.flush()
    }

    fn flush_to(&self, last: Seq) -> Result<Seq, StoreFailure> {
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
