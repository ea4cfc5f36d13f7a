//! Which crawls are in this data directory? Create, open, list, delete; the shared host calendar.
//!
//! A crawl is a folder `crawls/NAME`. It is made whole or not at all, and each has an engine on a
//! thread of its own from the moment that the daemon opens it, whatever its state: a paused or
//! finished crawl answers questions like a running one. A crawl that cannot be opened is listed as
//! failed with its reason, and never keeps the others from running.

mod datadir;
mod error;
mod folder;
mod opening;
mod start;
mod within;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{Mutex, Notify, watch};
use tokio_util::task::TaskTracker;

pub use datadir::{DataDir, DataDirError};
pub use error::RegistryError;

use self::folder::CrawlFolder;
use crate::booking::CrawlState;
use crate::clock::{Clock, Timestamp};
use crate::crawl::{CrawlOrder, EngineError, Handle, Opening, Spec, check_name};
use crate::fetch::Source;
use crate::fetch::robots::RobotsCache;
use crate::frontier::HostCalendar;
use crate::proto::v1;
use crate::url::CanonicalUrl;

/// What all crawls of a daemon share.
pub struct Shared<S, C> {
    /// Where pages come from.
    pub source: Arc<S>,
    /// The time.
    pub clock: C,
    /// Whether pages come from the network, so that a contact is owed.
    pub needs_contact: bool,
    /// How addresses are guarded, in words.
    pub guard_note: String,
}

/// The crawls of one data directory.
pub struct Registry<S, C> {
    dir: DataDir,
    shared: Shared<S, C>,
    calendar: HostCalendar,
    robots: RobotsCache,
    slots: Mutex<Slots>,
    /// What opens crawls, beside whoever asked for it and outside of the lock of `slots`.
    openers: TaskTracker,
    /// Told when a crawl is no longer being opened.
    opened: Notify,
}

#[derive(Default)]
struct Slots {
    crawls: BTreeMap<String, Slot>,
    stopping: bool,
}

impl Slots {
    /// Whether a new crawl of this name can be taken in.
    fn takes(&self, name: &str) -> Result<(), RegistryError> {
        if self.stopping {
            return Err(RegistryError::Stopping);
        }
        if self.crawls.contains_key(name) {
            return Err(RegistryError::Exists(name.to_owned()));
        }
        Ok(())
    }
}

enum Slot {
    /// Its log is being read.
    Opening(Arc<Opening>),
    Open(Running),
    Broken(String),
}

impl Slot {
    fn is_broken(&self) -> bool {
        match self {
            Self::Open(running) => running.broken.get().is_some(),
            Self::Broken(_) => true,
            Self::Opening(_) => false,
        }
    }
}

/// So long the daemon waits for its crawls to open before it serves: small ones are there by then.
const OPENING_WAIT: Duration = Duration::from_secs(2);
/// An engine that has ended has said why after so long.
const LAST_WORDS_MAX: Duration = Duration::from_secs(2);

struct Running {
    handle: Handle,
    /// Set when the engine has broken.
    broken: Arc<OnceLock<String>>,
    /// Closed when the engine has ended, and `broken` is set if it has to be.
    ended: watch::Receiver<()>,
    thread: JoinHandle<()>,
}

impl<S: Source, C: Clock> Registry<S, C> {
    /// Opens all crawls of a data directory, one after another, small ones first; those that ran run again. What is not open after
    /// two seconds is opened while the others are served.
    ///
    /// # Errors
    /// [`RegistryError::Io`] if the folder of crawls cannot be read. A crawl that cannot be opened is
    /// no error here: it is listed as failed.
    pub async fn open(dir: DataDir, shared: Shared<S, C>) -> Result<Arc<Self>, RegistryError> {
        CrawlFolder::clean(&dir.crawls())?;
        let folders = folder::subfolders(&dir.crawls())?;
        let robots = kept((&dir, "robots.jsonl"), &shared, RobotsCache::open)?;
        let calendar = kept((&dir, "waits.jsonl"), &shared, HostCalendar::open)?;
        let registry = Self {
            dir,
            shared,
            calendar,
            robots,
            slots: Mutex::default(),
            openers: TaskTracker::new(),
            opened: Notify::new(),
        };
        let registry = Arc::new(registry);
        // Nobody waits for a large crawl but those who ask for it.
        let mut folders = folders;
        folders.sort_by_cached_key(|folder| folder::log_bytes(folder));
        let mut openings = Vec::new();
        {
            let mut slots = registry.slots.lock().await;
            for folder in folders {
                let name = folder.file_name().unwrap_or_default().to_string_lossy();
                let opening = Arc::new(Opening::default());
                let slot = Slot::Opening(Arc::clone(&opening));
                slots.crawls.insert(name.clone().into_owned(), slot);
                openings.push((name.into_owned(), opening));
            }
        }
        let opened = Arc::clone(&registry);
        let opener = registry.openers.spawn(async move {
            for (name, opening) in openings {
                opened.open_and_put(&name, opening).await;
            }
        });
        // What is not open by then is opened meanwhile; if the opener broke, that has been printed.
        let _in_time = tokio::time::timeout(OPENING_WAIT, opener).await;
        Ok(registry)
    }

    /// Why the robots.txt of this URL's origin could not be had, if that is what keeps it waiting.
    pub fn robots_trouble(&self, url: &CanonicalUrl) -> Option<String> {
        let answer = self.robots.lookup(url, self.shared.clock.now())?;
        answer.trouble().map(str::to_owned)
    }

    /// The data directory.
    pub fn dir(&self) -> &DataDir {
        &self.dir
    }

    /// Creates a crawl and starts it.
    ///
    /// # Errors
    /// [`RegistryError`]; then nothing was made.
    pub async fn create(
        self: &Arc<Self>,
        mut raw: v1::CrawlSpec,
    ) -> Result<v1::Crawl, RegistryError> {
        if raw.order.is_empty() {
            CrawlOrder::default().name().clone_into(&mut raw.order);
        }
        let spec = Spec::check(&raw)?;
        if self.shared.needs_contact && spec.tuning.contact.is_none() {
            return Err(RegistryError::NoContact);
        }
        // Asked again below: what comes now may take its time and is not done under the lock.
        self.slots.lock().await.takes(&spec.name)?;
        CrawlFolder::greet(&spec).await?;
        let fence = within::fence_of(self, &spec).await?;
        let start = start::start_of(self, &mut raw, &spec).await?;
        // A start may have named the features.
        let spec = Spec::check(&raw)?;
        let opening = Arc::<Opening>::default();
        {
            let mut slots = self.slots.lock().await;
            slots.takes(&spec.name)?;
            let slot = Slot::Opening(Arc::clone(&opening));
            slots.crawls.insert(spec.name.clone(), slot);
        }
        let registry = Arc::clone(self);
        // On to its end if the caller goes away: no slot may stay `opening`.
        let made = self.openers.spawn(async move {
            let (name, now) = (spec.name.clone(), registry.shared.clock.now());
            let folder = registry.dir.crawls().join(&name);
            let make = move || {
                CrawlFolder::create(&folder, &raw, &spec, fence.as_ref(), start.as_deref(), now)
            };
            registry.open_new(&name, opening, make).await
        });
        let handle = made.await.map_err(EngineError::from_join)??;
        Ok(handle.status().await?)
    }

    /// All crawls as they stand, by name.
    pub async fn list(&self) -> Vec<v1::Crawl> {
        let names: Vec<String> = self.slots.lock().await.crawls.keys().cloned().collect();
        let mut crawls = Vec::with_capacity(names.len());
        for name in names {
            // One deleted in between is not listed.
            if let Ok(crawl) = self.status(&name).await {
                crawls.push(crawl);
            }
        }
        crawls
    }

    /// How many crawls there are.
    pub async fn count(&self) -> usize {
        self.slots.lock().await.crawls.len()
    }

    /// One crawl as it stands; a broken one as failed, with its reason.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`], [`RegistryError::Stopping`].
    pub async fn status(&self, name: &str) -> Result<v1::Crawl, RegistryError> {
        let failed = |reason: String| v1::Crawl {
            name: name.to_owned(),
            state: v1::CrawlState::Failed as i32,
            idle: format!("failed: {reason}"),
            reason,
            now_ms: self.shared.clock.now().0,
            ..Default::default()
        };
        match self.get(name).await {
            Ok(handle) => match handle.status().await {
                Ok(crawl) => Ok(crawl),
                // Its engine has ended: it broke, or the crawl was deleted, or the daemon stops.
                Err(error) => {
                    self.engine_has_ended(name).await;
                    match self.get(name).await {
                        Ok(_) => Ok(failed(error.to_string())),
                        Err(RegistryError::Broken { reason, .. }) => Ok(self
                            .last_report(name)
                            .await
                            .unwrap_or_else(|| failed(reason))),
                        Err(error) => Err(error),
                    }
                }
            },
            Err(RegistryError::Broken { reason, .. }) => Ok(self
                .last_report(name)
                .await
                .unwrap_or_else(|| failed(reason))),
            Err(RegistryError::Opening { how_far, .. }) => Ok(v1::Crawl {
                name: name.to_owned(),
                state: v1::CrawlState::Opening as i32,
                idle: how_far,
                now_ms: self.shared.clock.now().0,
                ..Default::default()
            }),
            Err(error) => Err(error),
        }
    }

    /// Waits until an engine that answers no more has said why.
    async fn engine_has_ended(&self, name: &str) {
        let ended = match self.slots.lock().await.crawls.get(name) {
            Some(Slot::Open(running)) => Some(running.ended.clone()),
            _ => None,
        };
        if let Some(mut ended) = ended {
            // Nothing is ever sent: this is an error when the sender is gone. An engine that lives on,
            // whyever it did not answer, is not waited for.
            let _ = tokio::time::timeout(LAST_WORDS_MAX, ended.changed()).await;
        }
    }

    /// A crawl to speak to.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`], [`RegistryError::Opening`], [`RegistryError::Broken`],
    /// [`RegistryError::Stopping`].
    pub async fn get(&self, name: &str) -> Result<Handle, RegistryError> {
        let slots = self.slots.lock().await;
        if slots.stopping {
            return Err(RegistryError::Stopping);
        }
        match slots.crawls.get(name) {
            Some(Slot::Open(running)) => match running.broken.get() {
                None => Ok(running.handle.clone()),
                Some(reason) => Err(broken(name, reason)),
            },
            Some(Slot::Broken(reason)) => Err(broken(name, reason)),
            Some(Slot::Opening(opening)) => Err(RegistryError::Opening {
                name: name.to_owned(),
                how_far: how_far(opening),
            }),
            None => Err(RegistryError::NotFound {
                name: name.to_owned(),
                known: slots.crawls.keys().cloned().collect(),
            }),
        }
    }

    /// Sets a crawl running again; one that has failed is opened anew.
    ///
    /// # Errors
    /// [`RegistryError`]: not found, cannot be opened, or its budget is spent.
    pub async fn resume(self: &Arc<Self>, name: &str) -> Result<v1::Crawl, RegistryError> {
        if let Err(RegistryError::Broken { .. }) = self.get(name).await {
            self.open_again(name).await;
        }
        let handle = self.get(name).await?;
        Ok(handle.set_state(CrawlState::Running, "resumed").await?)
    }

    /// Removes a crawl with all its data.
    ///
    /// # Errors
    /// [`RegistryError::Running`] while it runs; not found; or its files cannot be removed.
    pub async fn delete(&self, name: &str) -> Result<(), RegistryError> {
        check_name(name)?;
        let status = self.status(name).await?;
        if status.state == v1::CrawlState::Running as i32 {
            return Err(RegistryError::Running(name.to_owned()));
        }
        if status.state == v1::CrawlState::Opening as i32 {
            return Err(RegistryError::Opening {
                name: name.to_owned(),
                how_far: status.idle,
            });
        }
        if let Ok(handle) = self.get(name).await {
            // Not under the lock: the fetches in flight are waited for, other crawls are not held up.
            handle.shutdown().await;
        }
        let mut slots = self.slots.lock().await;
        if slots.stopping {
            return Err(RegistryError::Stopping);
        }
        if let Some(Slot::Open(running)) = slots.crawls.remove(name) {
            running.handle.shutdown().await;
            on_blocking_pool(move || Ok(running.thread.join().is_ok())).await?;
        }
        let folder = self.dir.crawls().join(name);
        let gone = on_blocking_pool(move || CrawlFolder::delete(&folder)).await;
        if let Err(error) = &gone {
            // It is still there, and has to be seen to be.
            let slot = Slot::Broken(format!("it could not be deleted: {error}"));
            slots.crawls.insert(name.to_owned(), slot);
        }
        gone
    }

    /// Ends all engines: no new fetch, those in flight are waited for and booked.
    pub async fn shutdown(&self) {
        let crawls = {
            let mut slots = self.slots.lock().await;
            slots.stopping = true;
            std::mem::take(&mut slots.crawls)
        };
        for slot in crawls.values() {
            if let Slot::Opening(opening) = slot {
                opening.stop();
            }
        }
        self.opened.notify_waiters();
        futures_util::future::join_all(crawls.into_values().map(Self::end)).await;
        // They end what they have opened meanwhile.
        self.openers.close();
        self.openers.wait().await;
        self.calendar.keep_all(self.shared.clock.now());
    }

    /// How a crawl stood when its engine broke.
    async fn last_report(&self, name: &str) -> Option<v1::Crawl> {
        match self.slots.lock().await.crawls.get(name) {
            Some(Slot::Open(running)) => running.handle.last_report().cloned(),
            _ => None,
        }
    }
}

/// What the crawls share and a file of the data directory keeps, known before the first one is open. That of an
/// archive that is served through a proxy is not kept: the network must not be taken at its word.
fn kept<S, C: Clock, T: Default>(
    (dir, name): (&DataDir, &str),
    shared: &Shared<S, C>,
    open: impl FnOnce(&Path, Timestamp) -> io::Result<T>,
) -> Result<T, RegistryError> {
    if !shared.needs_contact {
        return Ok(T::default());
    }
    let path = dir.root().join(name);
    open(&path, shared.clock.now()).map_err(|error| RegistryError::Io { path, error })
}

/// In words.
fn how_far(opening: &Opening) -> String {
    match opening.events() {
        (_, 0) => "waits to be opened".to_owned(),
        (read, of) => format!("{read} of {of} events of its log are read"),
    }
}

fn broken(name: &str, reason: &str) -> RegistryError {
    RegistryError::Broken {
        name: name.to_owned(),
        reason: reason.to_owned(),
    }
}

async fn on_blocking_pool<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RegistryError> + Send + 'static,
) -> Result<T, RegistryError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(RegistryError::Engine(EngineError::from_join(error))),
    }
}

#[cfg(test)]
mod tests;
