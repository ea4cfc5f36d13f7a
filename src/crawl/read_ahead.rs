//! The log, read and decoded on a thread of its own while its events are taken in. That thread also does what
//! does not need the others, and lets go of the events that are taken in: what one thread has allocated costs
//! another more to free.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use super::copies::Copies;
use super::opening::Opening;
use super::progress::{Progress, Tally};
use crate::booking::{Event, Kept, Seq};
use crate::clock::Timestamp;
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

/// What of a crawl's memory hangs on nothing but the events.
#[derive(Default)]
pub(super) struct Aside {
    pub(super) copies: Copies,
    pub(super) progress: Progress,
    pub(super) kept_last: Option<Kept>,
    pub(super) created_at: Timestamp,
}

impl Aside {
    /// Takes in the next event of the log.
    pub(super) fn take_in(&mut self, seq: Seq, event: &Event) {
        if let (Event::State(state), true) = (event, self.created_at.0 == 0) {
            self.created_at = state.at;
        }
        self.kept_last = event.kept().copied().or(self.kept_last);
        if let Event::Page(page) = event {
            self.copies.add(seq, page);
        }
        self.progress.add(&Tally::of(event));
    }
}

/// What is done with an event as soon as it is read.
type AtOnce<'a> = dyn FnMut(Seq, &Event) + Send + 'a;

/// Visits the events from the first one to `last`, in order, until `visit` answers false. `aside` is called with
/// each of them before that, maybe on another thread. `crawl` is the name for a word on progress; `opening` is told
/// as well, and may end it.
///
/// # Errors
/// As [`FrontierStore::scan`]; the events before the one that cannot be read have been visited.
pub(super) fn scan_ahead(
    store: &dyn FrontierStore,
    (crawl, last, opening): (&str, Seq, &Opening),
    aside: &mut AtOnce<'_>,
    visit: &mut dyn FnMut(Seq, &Event) -> bool,
) -> Result<(), StoreFailure> {
    opening.begin(last);
    if last.0 <= SHORT {
        return store.scan(Seq(1), last, &mut |seq, event| {
            aside(seq, &event);
            visit(seq, &event)
        });
    }
    let (sender, batches) = sync_channel(BATCHES_MAX);
    let (done, spent) = channel();
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new()
            .name("log-reader".to_owned())
            .spawn_scoped(scope, move || read(store, last, aside, (&sender, &spent)))
            .map_err(|error| StoreFailure(format!("no thread to read the log: {error}")))?;
        take_in(batches, &done, (crawl, last, opening), visit);
        reader.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

fn read(
    store: &dyn FrontierStore,
    last: Seq,
    aside: &mut AtOnce<'_>,
    (sender, spent): (&SyncSender<Batch>, &Receiver<Batch>),
) -> Result<(), StoreFailure> {
    let mut batch = Batch::with_capacity(BATCH);
    let read = store.scan(Seq(1), last, &mut |seq, event| {
        aside(seq, &event);
        batch.push((seq, event));
        if batch.len() < BATCH {
            return true;
        }
        // One that comes back is emptied and filled again.
        let mut next = spent.try_recv().unwrap_or_default();
        next.clear();
        sender.send(std::mem::replace(&mut batch, next)).is_ok()
    });
    // Nobody takes it if the visitor has had enough.
    let _taken = sender.send(batch);
    read
}

/// Ends when all is read, or the visitor has had enough; then the reader learns of it as well.
fn take_in(
    batches: Receiver<Batch>,
    done: &Sender<Batch>,
    (crawl, last, opening): (&str, Seq, &Opening),
    visit: &mut dyn FnMut(Seq, &Event) -> bool,
) {
    for batch in batches {
        for (seq, event) in &batch {
            if seq.0.is_multiple_of(TOLD_EVERY) {
                tracing::info!(crawl, events = seq.0, of = last.0, "opening");
            }
            if !visit(*seq, event) {
                return;
            }
            opening.read(*seq);
        }
        if opening.is_stopped() {
            return;
        }
        // The reader may have ended: then it is freed here.
        let _freed = done.send(batch);
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
        let (mut seen, mut set_aside) = (Vec::new(), Vec::new());
        let mut aside = |seq: Seq, _: &Event| set_aside.push(seq.0);
        let opening = Opening::default();
        scan_ahead(
            &log(events),
            ("test", Seq(last), &opening),
            &mut aside,
            &mut |seq, event| {
                assert_eq!(*event, Event::SpecChange(seq.0.to_le_bytes().to_vec()));
                seen.push(seq.0);
                seq.0 < until
            },
        )
        .unwrap();
        assert_eq!(set_aside[..seen.len()], seen);
        if last > SHORT && until > last {
            assert_eq!(opening.events(), (last, last));
        }
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
    fn an_opening_that_is_stopped_ends_the_reading() {
        let opening = Opening::default();
        let mut seen = 0;
        let log = log(9_000);
        scan_ahead(
            &log,
            ("test", Seq(9_000), &opening),
            &mut |_, _| {},
            &mut |seq, _| {
                seen = seq.0;
                if seq.0 == 2_000 {
                    opening.stop();
                }
                true
            },
        )
        .unwrap();
        assert!((2_000..2_000 + BATCH as u64).contains(&seen), "{seen}");
        assert_eq!(opening.events(), (seen, 9_000));
    }

    #[test]
    fn a_visitor_that_has_had_enough_ends_the_reading() {
        for until in [1, BATCH as u64, 3_000] {
            assert_eq!(visited(9_000, 9_000, until).len() as u64, until);
        }
    }
}
