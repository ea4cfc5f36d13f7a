//! A crawl is opened, at the start of the daemon, when it is made, and after it broke; and its engine ends.

use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

use super::folder::{CrawlFolder, LEARNED, LEARNED_EVERY, WARC};
use super::{Registry, RegistryError, Running, Slot, on_blocking_pool};
use crate::clock::Clock;
use crate::crawl::{
    Engine, EngineError, EngineParts, Handle, LearnedFile, Opening, Pace, RobotsPolicy, World,
};
use crate::fetch::Source;

impl<S: Source, C: Clock> Registry<S, C> {
    pub(super) async fn open_and_put(&self, name: &str, opening: Arc<Opening>) {
        if opening.is_stopped() {
            return;
        }
        let slot = self.start_or_note(name, opening).await;
        self.put(name, slot).await;
    }

    /// Takes in what was opened, or ends it if the daemon stops. Whether it was taken in.
    async fn put(&self, name: &str, slot: Slot) -> bool {
        let mut slots = self.slots.lock().await;
        let is_stopping = slots.stopping;
        if is_stopping {
            drop(slots);
            Self::end(slot).await;
        } else {
            slots.crawls.insert(name.to_owned(), slot);
        }
        self.opened.notify_waiters();
        !is_stopping
    }

    /// Makes the folder of a new crawl, whose slot says that it is being opened, and opens it.
    ///
    /// # Errors
    /// [`RegistryError`]; then nothing is left of it.
    pub(super) async fn open_new(
        &self,
        name: &str,
        opening: Arc<Opening>,
        make: impl FnOnce() -> Result<(), RegistryError> + Send + 'static,
    ) -> Result<Handle, RegistryError> {
        let made = on_blocking_pool(make).await;
        let is_made = made.is_ok();
        let error = match made {
            Ok(()) => match self.start_and_put(name, opening).await {
                Ok(handle) => return Ok(handle),
                Err(error) => error,
            },
            Err(error) => error,
        };
        if is_made {
            let folder = self.dir.crawls().join(name);
            // The error that matters is the first one.
            let _ = on_blocking_pool(move || CrawlFolder::delete(&folder)).await;
        }
        self.slots.lock().await.crawls.remove(name);
        self.opened.notify_waiters();
        Err(error)
    }

    async fn start_and_put(
        &self,
        name: &str,
        opening: Arc<Opening>,
    ) -> Result<Handle, RegistryError> {
        let running = match self.start(name, opening).await {
            Err(RegistryError::Engine(EngineError::Abandoned)) => {
                return Err(RegistryError::Stopping);
            }
            started => started?,
        };
        let handle = running.handle.clone();
        let is_in = self.put(name, Slot::Open(running)).await;
        if is_in {
            Ok(handle)
        } else {
            Err(RegistryError::Stopping)
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

    /// Opens a broken crawl anew, unless somebody else has opened, deleted or closed it meanwhile; waits for one
    /// that somebody else is opening.
    pub(super) async fn open_again(self: &Arc<Self>, name: &str) {
        let opening = Arc::<Opening>::default();
        let broken = {
            let mut slots = self.slots.lock().await;
            let slot = slots.crawls.get_mut(name).filter(|slot| slot.is_broken());
            slot.map(|slot| std::mem::replace(slot, Slot::Opening(Arc::clone(&opening))))
        };
        if let Some(broken) = broken {
            let (registry, name) = (Arc::clone(self), name.to_owned());
            // On to its end if the caller goes away: no slot may stay `opening`.
            self.openers.spawn(async move {
                if let Slot::Open(running) = broken {
                    // Its engine has broken: the thread ends by itself, and with it the store's lock.
                    let ended = on_blocking_pool(move || Ok(running.thread.join().is_ok())).await;
                    tracing::debug!(crawl = name, ?ended, "old engine is gone");
                }
                registry.open_and_put(&name, opening).await;
            });
        }
        self.until_opened(name).await;
    }

    pub(super) async fn until_opened(&self, name: &str) {
        loop {
            let mut opened = std::pin::pin!(self.opened.notified());
            // From here on no notice is missed.
            opened.as_mut().enable();
            if !matches!(
                self.slots.lock().await.crawls.get(name),
                Some(Slot::Opening(_))
            ) {
                return;
            }
            opened.await;
        }
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
