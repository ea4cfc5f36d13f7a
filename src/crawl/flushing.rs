//! What is made durable, and when: groups of bookings, and the figures that follow them.

use std::sync::Arc;

use super::engine::{Engine, FLUSH_AFTER, FLUSH_BYTES, FLUSH_EVENTS};
use super::error::EngineError;
use super::parts::Pace;
use crate::archive::Keeper;
use crate::booking::{CrawlState, Seq};
use crate::clock::Clock;
use crate::fetch::Source;
use crate::frontier::StoreFailure;
use crate::proto::v1;

impl<S: Source, C: Clock> Engine<S, C> {
    pub(super) fn start_flush_if_due(&mut self) {
        if self.flushing.is_some() || self.undurable.is_empty() {
            return;
        }
        let now = self.bench.clock.now();
        let waited = self.flush_due.is_some_and(|due| now >= due);
        let someone_waits = !self.waiters.is_empty();
        let full = self.undurable.len() >= FLUSH_EVENTS || self.undurable_bytes >= FLUSH_BYTES;
        let live = self.pace == Pace::Live;
        if full || live && (waited || someone_waits || self.is_closing()) {
            self.flush_due = None;
            self.flushing = Some(tokio::task::spawn_blocking(self.flush_work()));
        }
    }

    /// What makes all bookings so far durable: first the pages that they name, then they.
    fn flush_work(&mut self) -> impl FnOnce() -> Result<Seq, StoreFailure> + Send + 'static {
        let store = Arc::clone(&self.store);
        let last = store.last();
        let files = self.keeper.as_mut().map(Keeper::unsynced);
        move || {
            let Some(files) = files else {
                return store.flush();
            };
            for file in files {
                file.sync_all().map_err(|error| {
                    StoreFailure(format!("cannot sync the WARC files: {error}"))
                })?;
            }
            store.flush_to(last)
        }
    }

    pub(super) fn take_flushed(&mut self, durable: Seq) {
        while let Some((seq, tally, bytes)) = self.undurable.front() {
            if *seq > durable {
                break;
            }
            let before = self.progress.fetched();
            self.progress.add(tally);
            if self.progress.fetched() > before {
                self.rate.record(self.progress.last_at.unwrap_or_default());
            }
            self.undurable_bytes = self.undurable_bytes.saturating_sub(*bytes);
            self.undurable.pop_front();
        }
        // A flush also covers what was appended while it ran; then nothing is due any more, and to
        // leave the time standing would be to wake forever.
        if self.undurable.is_empty() {
            self.flush_due = None;
        } else if self.flush_due.is_none() {
            self.flush_due = Some(self.bench.clock.now().after(FLUSH_AFTER));
        }
        self.folded = self.folded.max(durable);
        self.answer_waiters();
    }

    /// Flushes until nothing is left, at the end.
    pub(super) async fn flush_all(&mut self) -> Result<(), EngineError> {
        if let Some(flushing) = self.flushing.take() {
            let durable = flushing.await.map_err(EngineError::from_join)??;
            self.take_flushed(durable);
        }
        let durable = tokio::task::spawn_blocking(self.flush_work())
            .await
            .map_err(EngineError::from_join)??;
        self.take_flushed(durable);
        Ok(())
    }

    /// Tries to book why the crawl failed, so that a restart of the daemon still knows.
    pub(super) async fn record_failure(&mut self, error: &EngineError) {
        tracing::error!(crawl = self.spec.name, %error, "the crawl has failed");
        self.enter(CrawlState::Failed, &error.to_string());
        if let Err(error) = self.flush_all().await {
            tracing::error!(crawl = self.spec.name, %error, "the failure could not be recorded");
        }
        let reason = error.to_string();
        let report = v1::Crawl {
            state: v1::CrawlState::Failed as i32,
            idle: format!("failed: {reason}"),
            reason,
            ..self.report()
        };
        // Set once: an engine breaks once.
        let _ = self.last_report.set(report);
    }
}
