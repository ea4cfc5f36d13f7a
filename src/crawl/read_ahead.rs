//! The log, read and decoded on a thread of its own while its events are taken in: of the time that a
//! crawl of a million pages takes to open, reading is about half.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::booking::{Event, Seq};
use crate::frontier::{FrontierStore, StoreFailure};

/// Events that go from one thread to the other at once.
const BATCH: usize = 256;
/// Batches that wait to be taken in: with them a long log takes no more memory than a short one.
const BATCHES_MAX: usize = 4;
/// A log this short is read at once.
const SHORT: u64 = 1_000;
/// How often a word is said of how far it is.
const TOLD_EVERY: u64 = 100_000;

type Batch = Vec<(Seq, Event)>;

/// Visits the events from the first one to `last`, in order, until `visit` answers false. `crawl` is the name
/// for a word on progress.
///
/// # Errors
/// As [`FrontierStore::scan`]; the events before the one that cannot be read have been visited.
pub(super) fn scan_ahead(
    store: &dyn FrontierStore,
    crawl: &str,
    last: Seq,
    visit: &mut dyn FnMut(Seq, Event) -> bool,
) -> Result<(), StoreFailure> {
    if last.0 <= SHORT {
        return store.scan(Seq(1), last, visit);
    }
    let (sender, batches) = sync_channel(BATCHES_MAX);
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new()
            .name("log-reader".to_owned())
            .spawn_scoped(scope, move || read(store, last, &sender))
            .map_err(|error| StoreFailure(format!("no thread to read the log: {error}")))?;
        take_in(batches, crawl, last, visit);
        reader.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

fn read(
    store: &dyn FrontierStore,
    last: Seq,
    sender: &SyncSender<Batch>,
) -> Result<(), StoreFailure> {
    let mut batch = Batch::with_capacity(BATCH);
    let read = store.scan(Seq(1), last, &mut |seq, event| {
        batch.push((seq, event));
        if batch.len() < BATCH {
            return true;
        }
        let full = std::mem::replace(&mut batch, Batch::with_capacity(BATCH));
        sender.send(full).is_ok()
    });
    // Nobody takes it if the visitor has had enough.
    let _taken = sender.send(batch);
    read
}

/// Ends when all is read, or the visitor has had enough; then the reader learns of it as well.
fn take_in(
    batches: Receiver<Batch>,
    crawl: &str,
    last: Seq,
    visit: &mut dyn FnMut(Seq, Event) -> bool,
) {
    for (seq, event) in batches.into_iter().flatten() {
        if seq.0.is_multiple_of(TOLD_EVERY) {
            tracing::info!(crawl, events = seq.0, of = last.0, "opening");
        }
        if !visit(seq, event) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::MemoryStore;

    /// A log of so many events, each of which says its number.
    fn log(events: u64) -> MemoryStore {
        let store = MemoryStore::default();
        for number in 1..=events {
            store.append(Event::SpecChange(number.to_le_bytes().to_vec()));
        }
        store.flush().unwrap();
        store
    }

    fn visited(events: u64, last: u64, until: u64) -> Vec<u64> {
        let mut seen = Vec::new();
        scan_ahead(&log(events), "test", Seq(last), &mut |seq, event| {
            assert_eq!(event, Event::SpecChange(seq.0.to_le_bytes().to_vec()));
            seen.push(seq.0);
            seq.0 < until
        })
        .unwrap();
        seen
    }

    #[test]
    fn every_event_is_visited_once_and_in_order() {
        for events in [0, 1, SHORT, SHORT + 1, 5 * BATCH as u64, 5_003] {
            let all: Vec<u64> = (1..=events).collect();
            assert_eq!(visited(events, events, u64::MAX), all);
        }
        assert_eq!(visited(5_000, 4_000, u64::MAX).len(), 4_000);
    }

    #[test]
    fn a_visitor_that_has_had_enough_ends_the_reading() {
        for until in [1, BATCH as u64, 3_000] {
            assert_eq!(visited(9_000, 9_000, until).len() as u64, until);
        }
    }
}
