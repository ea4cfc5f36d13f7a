//! A crawl is opened, at the start of the daemon, when it is made, and after it broke; and its engine ends.

use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

use super::folder::{CrawlFolder, LEARNED, LEARNED_EVERY, WARC};
use super::{Registry, RegistryError, Running, Slot, on_blocking_pool};
use crate::clock::Clock;
use crate::crawl::{
    Engine, EngineError, EngineParts, LearnedFile, Opening, Pace, RobotsPolicy, World,
};
use crate::fetch::Source;

impl<S: Source, C: Clock> Registry<S, C> {
    pub(super) async fn open_at_start(&self, name: &str, opening: Arc<Opening>) {
        if opening.is_stopped() {
            return;
        }
        let slot = self.start_or_note(name, opening).await;
        let mut slots = self.slots.lock().await;
        if slots.stopping {
            drop(slots);
            Self::end(slot).await;
        } else {
            slots.crawls.insert(name.to_owned(), slot);
        }
    }

    /// Ends an engine: no new fetch, those in flight are waited for and booked.
    pub(super) async fn end(slot: Slot) {
        if let Slot::Open(running) = slot {
            running.handle.shutdown().await;
            // A thread that has broken has said so.
            let _ended = on_blocking_pool(move || Ok(running.thread.join().is_ok())).await;
        }
    }

    /// Opens a broken crawl anew; one that somebody else has opened, deleted or closed meanwhile is
    /// left as it is.
    pub(super) async fn open_again(&self, name: &str) -> Result<(), RegistryError> {
        let mut slots = self.slots.lock().await;
        if !slots.crawls.get(name).is_some_and(Slot::is_broken) {
            return Ok(());
        }
        if let Some(Slot::Open(running)) = slots.crawls.remove(name) {
            // Its engine has broken: the thread ends by itself, and with it the store's lock.
            let ended = on_blocking_pool(move || Ok(running.thread.join().is_ok())).await?;
            tracing::debug!(crawl = name, ended, "old engine is gone");
        }
        let slot = self.start_or_note(name, Arc::default()).await;
        slots.crawls.insert(name.to_owned(), slot);
        Ok(())
    }

    pub(super) async fn start_or_note(&self, name: &str, opening: Arc<Opening>) -> Slot {
        match self.start(name, opening).await {
            Ok(running) => Slot::Open(running),
            Err(RegistryError::Engine(EngineError::Abandoned)) => {
                Slot::Broken("the daemon stopped while it was opened".to_owned())
            }
            Err(error) => {
                tracing::error!(crawl = name, %error, "the crawl cannot be opened");
                Slot::Broken(error.to_string())
            }
        }
    }

    pub(super) async fn start(
        &self,
        name: &str,
        opening: Arc<Opening>,
    ) -> Result<Running, RegistryError> {
        let path = self.dir.crawls().join(name);
        let warc = path.join(WARC);
        let learned = path.join(LEARNED);
        let folder = on_blocking_pool(move || CrawlFolder::open(&path)).await?;
        let parts = EngineParts {
            source: Arc::clone(&self.shared.source),
            clock: self.shared.clock.clone(),
            judge: folder.judge,
            store: folder.store,
            calendar: self.calendar.clone(),
            robots: RobotsPolicy::Obey(self.robots.clone()),
            pace: Pace::Live,
            world: folder
                .fence
                .map(|fence| -> World { Arc::new(move |url| fence.contains(url)) }),
            parsers: std::thread::available_parallelism().map_or(1, usize::from),
            guard_note: self.shared.guard_note.clone(),
            needs_contact: self.shared.needs_contact,
            scorer: None,
            start: folder.start,
            learned: Some(LearnedFile {
                path: learned,
                every: LEARNED_EVERY,
            }),
            opening,
        };
        let (engine, handle) =
            on_blocking_pool(move || Ok(Engine::open_keeping(parts, &warc)?)).await?;
        let broken = Arc::new(OnceLock::new());
        let note = Arc::clone(&broken);
        let (runs, ended) = watch::channel(());
        let runtime = tokio::runtime::Handle::current();
        let thread = std::thread::Builder::new()
            .name(format!("crawl-{name}"))
            .spawn(move || {
                run_engine(&runtime, engine, &note);
                drop(runs);
            })
            .map_err(|error| RegistryError::Damaged(format!("no thread for the crawl: {error}")))?;
        Ok(Running {
            handle,
            broken,
            ended,
            thread,
        })
    }
}

/// Runs an engine to its end; whatever breaks it, also a panic, becomes the reason of its failure.
fn run_engine<S: Source, C: Clock>(
    runtime: &tokio::runtime::Handle,
    engine: Engine<S, C>,
    broken: &OnceLock<String>,
) {
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        runtime.block_on(engine.run())
    }));
    let reason = match ended {
        Ok(Ok(_) | Err(EngineError::Abandoned)) => return,
        Ok(Err(error)) => error.to_string(),
        Err(payload) => EngineError::from_panic(payload.as_ref()).to_string(),
    };
    tracing::error!(reason, "an engine has ended");
    // Set once: there is one engine to a slot.
    let _ = broken.set(reason);
}
