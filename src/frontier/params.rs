//! What a crawl's spec says to its frontier.

use std::time::Duration;

/// How the priorities that several pages give one link become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Combine {
    /// the first page's, frozen
    First,
    /// the best page's
    #[default]
    Best,
}

impl Combine {
    /// Its name, as a spec has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Best => "best",
        }
    }

    /// The priority of a link that had `old`, now that another page gives it `new`.
    pub(super) fn of(self, old: f32, new: f32) -> f32 {
        match self {
            Self::First => old,
            Self::Best => old.max(new),
        }
    }
}

/// What the crawl's spec says to its frontier; may be changed while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontierParams {
    /// See [`Combine`].
    pub combine: Combine,
    /// Fetches of one host at most (pages and final failures); what waits beyond is held, not lost.
    pub pages_per_host_max: Option<u64>,
    /// References kept for one link: the first, the best, then the earliest (DESIGN.md 4.4).
    pub references_max: usize,
    /// This crawl's own delay between two requests to a host.
    pub delay: Duration,
}
