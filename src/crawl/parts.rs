//! What an engine is made of, and how it is to go about its work.

use std::path::PathBuf;
use std::sync::Arc;

use super::judging::Judge;
use super::opening::Opening;
use super::page_reader::PageReader;
use crate::apprentice::{LinkScorer, SavedApprentice};
use crate::features::TermWeights;
use crate::fetch::robots::RobotsCache;
use crate::frontier::{FrontierStore, HostCalendar};
use crate::url::CanonicalUrl;

/// How an engine takes the outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As they arrive; runs until it is shut down.
    Live,
    /// In the order of the leases, so that the number of workers leaves no trace; returns when the
    /// crawl is finished. Sleeps only when nothing is in flight.
    Replay,
}

/// What is done about robots.txt.
#[derive(Clone)]
pub enum RobotsPolicy {
    /// It is asked for before a host's first page and obeyed.
    Obey(RobotsCache),
    /// The archived web of the lab has already been crawled once; it is asked nothing.
    Ignore,
}

/// A test whether a URL belongs to the world of the crawl; what does not is refused.
pub type World = Arc<dyn Fn(&CanonicalUrl) -> bool + Send + Sync>;

/// Where what was learned is written down now and then, so that a crawl that is opened again need not learn
/// its whole log once more.
#[derive(Clone, Debug)]
pub struct LearnedFile {
    /// The file.
    pub path: PathBuf,
    /// Judged pages from one time to the next, at least. In a large crawl it is a thirty-second of its pages.
    pub every: u64,
}

/// What an engine is made of.
pub struct EngineParts<S, C> {
    /// Where pages come from.
    pub source: Arc<S>,
    /// The time.
    pub clock: C,
    /// The critic, with its focus.
    pub judge: Judge,
    /// The log.
    pub store: Arc<dyn FrontierStore>,
    /// The hosts, shared with other crawls.
    pub calendar: HostCalendar,
    /// See [`RobotsPolicy`].
    pub robots: RobotsPolicy,
    /// See [`Pace`].
    pub pace: Pace,
    /// See [`World`]; `None` is the whole web.
    pub world: Option<World>,
    /// Pages parsed at once.
    pub parsers: usize,
    /// How addresses are guarded, for the status.
    pub guard_note: String,
    /// Whether pages come from the network, which is asked nothing without a contact.
    pub needs_contact: bool,
    /// A scorer of the caller's own; `None` is the one that the spec names.
    pub scorer: Option<Box<dyn LinkScorer>>,
    /// What the scorer that the spec names begins with, and each retraining that does not begin from scratch.
    pub start: Option<Arc<SavedApprentice>>,
    /// See [`LearnedFile`]; without one all is learned from the log.
    pub learned: Option<LearnedFile>,
    /// Is told how far the log is read.
    pub opening: Arc<Opening>,
}

impl<S, C> EngineParts<S, C> {
    /// Reads pages of the log as a scorer sees them that knows these weights.
    pub(super) fn reader(&self, weights: Option<&Arc<TermWeights>>) -> PageReader {
        PageReader::new(
            Arc::clone(&self.store),
            self.judge.clone(),
            weights.cloned().unwrap_or_default(),
        )
    }
}
