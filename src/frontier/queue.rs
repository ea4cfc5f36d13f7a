//! The queues of links, one a host.

use std::time::Duration;

use super::{HostCalendar, HostLease};
use crate::booking::{Event, Reference, Refusal, Seq};
use crate::clock::Timestamp;
use crate::url::{CanonicalUrl, HostKey, UrlId};

/// How the priorities that several pages give one link become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Combine {
    /// the first page's, frozen
    First,
    /// the best page's
    #[default]
    Best,
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

/// The links of one crawl.
#[derive(Debug)]
pub struct Frontier {
    _calendar: HostCalendar,
}

/// What to do now.
#[derive(Debug)]
pub enum Next {
    /// Fetch this.
    Lease(Lease),
    /// Links wait, but no host before this moment.
    NotBefore(Timestamp),
    /// Every host with a waiting link is out on a lease (of this crawl or another): ask again when
    /// one has ended.
    AllLeased,
    /// Nothing waits (held links of capped hosts do not count as waiting here).
    Empty,
}

/// A link on its way: the right to fetch it, once.
#[derive(Debug)]
pub struct Lease {
    /// Rises by one with each lease of this frontier.
    pub number: u64,
    /// Fingerprint of the URL; the text is in the store, at the first reference.
    pub id: UrlId,
    /// Where it was found; the first one first. Its URL is that of the first.
    pub references: Vec<Reference>,
    /// Links between a seed and it.
    pub depth: u16,
    /// Somebody gave it as a seed.
    pub is_seed: bool,
    /// The priority that it was leased with.
    pub priority: f32,
    /// Requests made for it before.
    pub requests: u32,
    /// Redirects that led to it.
    pub hops: u16,
    /// The host.
    pub host: HostLease,
    /// When.
    pub leased_at: Timestamp,
}

/// Sizes, for the status line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrontierCounts {
    /// Links that wait and may be leased.
    pub waiting: u64,
    /// Links held because their host has reached its cap.
    pub held: u64,
    /// Links out on a lease.
    pub leased: u64,
    /// URLs fetched (pages, final failures, redirects).
    pub fetched: u64,
    /// URLs refused.
    pub refused: u64,
    /// Hosts known.
    pub hosts: u64,
    /// Hosts with a waiting link whose time has come.
    pub hosts_ready: u64,
}

/// Why a link is not on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyWaiting {
    /// Its turn has not come: better links stand before it.
    Ready,
    /// Its host may not be asked before this moment.
    HostUntil(Timestamp),
    /// Its host is out on a lease.
    HostLeased,
    /// Its host has reached the cap.
    HostCapped,
}

/// A waiting link, as shown.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingLink {
    /// Fingerprint of the URL.
    pub id: UrlId,
    /// Its host.
    pub host: HostKey,
    /// Its priority.
    pub priority: f32,
    /// Where it was found; the first one first.
    pub references: Vec<Reference>,
    /// How often a booked page links to it (beyond the references kept, too).
    pub parents: u32,
    /// Links between a seed and it.
    pub depth: u16,
    /// Why it waits.
    pub why: WhyWaiting,
}

/// All that the frontier knows of one URL.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownLink {
    /// What became of it.
    pub state: LinkState,
    /// Where it waits, if it does.
    pub waiting: Option<WaitingLink>,
}

/// What became of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It waits.
    Waiting,
    /// It is being fetched.
    Leased,
    /// Fetched: the event that booked the outcome (Page, Failure or Redirect).
    Fetched(Seq),
    /// Not taken in or struck off, and the event that says so.
    Refused(Refusal, Seq),
}

impl Frontier {
    /// An empty frontier.
    pub fn new(params: FrontierParams, calendar: HostCalendar) -> Self {
        let _ = params;
        Self {
            _calendar: calendar,
        }
    }

    /// Sets other parameters, from the next call on.
    pub fn set_params(&mut self, params: FrontierParams) {
        let _ = params;
    }

    /// Takes in what event `seq` changes. Must be called for every event, in order.
    pub fn admit(&mut self, seq: Seq, event: &Event) {
        let _ = (seq, event);
    }

    /// The best link whose host may be asked at `now`.
    pub fn next(&mut self, now: Timestamp) -> Next {
        let _ = now;
        Next::Empty
    }

    /// Puts a leased link back as it was (robots.txt has to come first, the crawl stops): the host is
    /// released with `next_at`.
    pub fn give_back(&mut self, lease: Lease, ended_at: Timestamp, next_at: Timestamp) {
        let _ = (lease, ended_at, next_at);
    }

    /// The best `k` waiting links, best first, as they would come if no host had to wait.
    pub fn head(&self, k: usize, now: Timestamp) -> Vec<WaitingLink> {
        let _ = (k, now);
        Vec::new()
    }

    /// What is known of a URL; `None` if nothing.
    pub fn lookup(&self, id: UrlId, now: Timestamp) -> Option<KnownLink> {
        let _ = (id, now);
        None
    }

    /// The URL's text where only its id is at hand is in the store; whether it is known at all is here.
    pub fn knows(&self, url: &CanonicalUrl) -> bool {
        self.lookup(url.id(), Timestamp(0)).is_some()
    }

    /// Fetches (pages and final failures) of a host so far.
    pub fn fetched_of(&self, host: &HostKey) -> u64 {
        let _ = host;
        0
    }

    /// Sizes.
    pub fn counts(&self, now: Timestamp) -> FrontierCounts {
        let _ = now;
        FrontierCounts::default()
    }
}
