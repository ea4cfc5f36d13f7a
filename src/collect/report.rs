//! What a collection tells.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::clock::Timestamp;

/// How far a collection is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// URLs of which is known what came of them, also from earlier starts.
    pub settled: usize,
    /// URLs that are still to be asked for, targets of redirects among them.
    pub open: usize,
    /// Pages written by this start.
    pub pages: u64,
    /// Requests for pages by this start: retries and redirects count, robots.txt does not.
    pub requests: u64,
    /// Requests under way.
    pub in_flight: usize,
    /// When the next host may be asked; `None` if none waits.
    pub next_at: Option<Timestamp>,
}

/// What came of a collection. Counts of URLs are of distinct ones that were wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// URLs that were wanted.
    pub urls: usize,
    /// URLs whose page is in the archive, at the end of its redirects.
    pub had: usize,
    /// URLs that failed for good, by cause: not asked for again unless that is wished.
    pub failed: BTreeMap<String, usize>,
    /// URLs that failed for now, by cause: the next start asks again.
    pub deferred: BTreeMap<String, usize>,
    /// URLs that were not come to, since the collection was stopped.
    pub open: usize,
    /// Pages written by this start.
    pub pages: u64,
    /// Redirects written by this start.
    pub redirects: u64,
    /// Requests for pages by this start.
    pub requests: u64,
    /// The collection was stopped before its end.
    pub stopped: bool,
}
