//! What did one outcome change? Plain data and its encoding.
//!
//! A crawl is one rising sequence of [`Event`]s. Memory (frontier, counters, curve) is the fold of
//! all events, and the running crawl folds with the same functions that an opening store does, so
//! "booked wholly or not at all" is a comparison of two values.
//!
//! An event is small: the facts that memory is made of. What only a reader of one page needs (URLs
//! of the links, leaves, words) is its *evidence*, an opaque byte string kept beside the event (see
//! [`evidence`]).

mod encode;
pub mod evidence;
mod learned;
mod withheld;

pub use encode::{DecodeError, decode, encode};
pub use learned::{EpochCause, EpochEvent, Frozen, FrozenPair, Pick, Recipe};
pub use withheld::Withheld;

use crate::clock::Timestamp;
use crate::url::{CanonicalUrl, HostKey, UrlId};

/// The number of an event; the first is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Seq(pub u64);

/// Where a link was found: the event that booked it and the place among that event's links.
///
/// An event of kind Page, Seeds or Redirect (then `link` is 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Reference {
    /// The event.
    pub seq: Seq,
    /// The place among its links.
    pub link: u32,
}

/// One entry of a crawl's log.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A page was fetched, parsed and judged.
    Page(PageBooking),
    /// A fetch failed, for good or to be tried again.
    Failure(FailureBooking),
    /// The server sent us elsewhere.
    Redirect(RedirectBooking),
    /// A waiting link will not be fetched (robots.txt, scope, host given up).
    Refused(RefusedBooking),
    /// What was learned of a host.
    HostFacts(HostFacts),
    /// URLs that somebody gave, not a page.
    Seeds(SeedsEvent),
    /// The crawl's spec, whole, in force from here on (encoded `apprentice.v1.CrawlSpec`).
    SpecChange(Vec<u8>),
    /// The crawl changed its state.
    State(StateEvent),
    /// Links that were refused are taken in after all, for the spec has changed.
    Readmitted(ReadmittedEvent),
    /// Waiting links had to go, for the frontier was full.
    Evicted(EvictedEvent),
    /// Somebody said what booked pages are about, and the critic has learned it.
    Feedback(FeedbackEvent),
    /// What was learned is in force from here on.
    Epoch(EpochEvent),
}

/// What is known of a lease when it ends.
#[derive(Clone, Debug, PartialEq)]
pub struct LeaseFacts {
    /// The URL that was leased.
    pub url: CanonicalUrl,
    /// Where it was found; the first one first.
    pub references: Vec<Reference>,
    /// Links between a seed and it; a seed has 0.
    pub depth: u16,
    /// Whether somebody gave it as a seed.
    pub is_seed: bool,
    /// The priority that it was leased with; higher is better.
    pub priority: f32,
    /// When it was leased.
    pub leased_at: Timestamp,
    /// When the outcome was there.
    pub finished_at: Timestamp,
    /// Requests made for this URL so far, this one included.
    pub requests: u32,
    /// When its host may be asked again.
    pub host_next_at: Timestamp,
}

/// A page, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct PageBooking {
    /// The lease that brought it.
    pub lease: LeaseFacts,
    /// The HTTP status.
    pub status: u16,
    /// The Content-Type header, or empty.
    pub content_type: String,
    /// Bytes of the body, decompressed.
    pub body_bytes: u64,
    /// XXH3-64 of the body.
    pub body_digest: u64,
    /// The body was cut at the limit.
    pub truncated: bool,
    /// The page's title.
    pub title: String,
    /// What the critic said.
    pub judgement: Judgement,
    /// Its links, in document order.
    pub links: Vec<LinkFact>,
    /// The hosts that `links` point at.
    pub hosts: Vec<HostKey>,
    /// Links beyond the limit of links a page.
    pub links_dropped: u32,
    /// What its scorer knew at the lease; `None` if the scorer learns nothing, or the record is an old one.
    pub frozen: Option<Box<Frozen>>,
    /// The page for those who need more (see [`evidence`]); stored beside the event.
    pub evidence: Vec<u8>,
    /// Where its exchange stands among the crawl's WARC files, if they are kept.
    pub kept: Option<Box<Kept>>,
    /// What it is a copy of.
    pub likeness: Likeness,
    /// Why it is not to be kept, if so.
    pub withheld: Option<Withheld>,
}

/// How a page is like pages that were booked before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Likeness {
    /// The `SimHash` of its text, if that is long enough.
    pub sketch: Option<u64>,
    /// The first page with the same bytes.
    pub copy_of: Option<Seq>,
    /// A page with nearly the same text; of a page that is no copy to the byte.
    pub near_copy_of: Option<Seq>,
}

/// Where the records of a page stand among the WARC files of its crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The number of the file; the first is 1.
    pub file: u32,
    /// Where the first of the records begins, in bytes.
    pub offset: u64,
    /// Where the last of them ends.
    pub end: u64,
}

/// A verdict as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Log odds of the focus.
    pub log_odds: f32,
    /// The same of the calibrated posteriors.
    pub calibrated_log_odds: f32,
    /// Best classes (index into the model's class names, ln posterior), best first.
    pub best: Vec<(u16, f32)>,
    /// The best class lies in the focus or under its parent.
    pub near_focus: bool,
    /// The version of the critic.
    pub version: u64,
}

/// One link of a booked page.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkFact {
    /// Fingerprint of its target.
    pub target: UrlId,
    /// Index into [`PageBooking::hosts`].
    pub host: u32,
    /// The priority that its page gives it.
    pub priority: f32,
    /// Why it was not taken in, if it was not.
    pub refusal: Option<Refusal>,
}

/// A failed fetch.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureBooking {
    /// The lease that ended.
    pub lease: LeaseFacts,
    /// The name of the cause, such as `timeout-total` (see `fetch::FetchError::name`), or `status-404`.
    pub cause: String,
    /// The cause in words, with its values.
    pub message: String,
    /// No further try: it counts as a lost page. Otherwise the link waits again.
    pub is_final: bool,
    /// Of a final one: what its scorer knew at the lease; `None` if the scorer learns nothing, or the record
    /// is an old one.
    pub frozen: Option<Box<Frozen>>,
    /// The apprentice has learned it as a page of relevance 0.
    pub is_lesson: bool,
    /// As in [`PageBooking::kept`].
    pub kept: Option<Box<Kept>>,
}

/// A redirect: the lease ends, the target enters the frontier with the same references.
#[derive(Clone, Debug, PartialEq)]
pub struct RedirectBooking {
    /// The lease that ended.
    pub lease: LeaseFacts,
    /// The HTTP status.
    pub status: u16,
    /// Where to.
    pub target: CanonicalUrl,
    /// How many redirects led to `target`, this one included.
    pub hops: u16,
    /// Why the target was not taken in, if it was not.
    pub refusal: Option<Refusal>,
    /// As in [`PageBooking::kept`].
    pub kept: Option<Box<Kept>>,
}

/// A waiting link was struck off.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedBooking {
    /// The URL.
    pub url: CanonicalUrl,
    /// Where it was found.
    pub references: Vec<Reference>,
    /// Why.
    pub refusal: Refusal,
    /// When.
    pub at: Timestamp,
}

/// Why a link is not fetched. Stored as its number: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Refusal {
    /// robots.txt disallows it
    Robots = 1,
    /// no allow pattern matches, or a deny pattern does
    Scope = 2,
    /// more links away from a seed than the spec allows
    Depth = 3,
    /// hard focus, and the page's best class lies elsewhere
    HardFocus = 4,
    /// `rel=nofollow` or `meta robots`
    Nofollow = 5,
    /// its address is one that the guard forbids
    Address = 6,
    /// its host was given up
    HostGivenUp = 7,
    /// too many redirects led to it
    Redirects = 8,
    /// outside the archive (closed world of the lab), or outside the crawl that it is to stay within
    World = 9,
    /// its URL looks like one of those that a server makes without end
    Trap = 10,
    /// its page is a copy of one that was booked before
    Copy = 11,
    /// its path prefix has brought too many copies
    Prefix = 12,
    /// the frontier was full, and the others were more promising
    Evicted = 13,
}

impl Refusal {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 13] = [
        Self::Robots,
        Self::Scope,
        Self::Depth,
        Self::HardFocus,
        Self::Nofollow,
        Self::Address,
        Self::HostGivenUp,
        Self::Redirects,
        Self::World,
        Self::Trap,
        Self::Copy,
        Self::Prefix,
        Self::Evicted,
    ];

    /// The refusal with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|refusal| *refusal as u32 == number)
    }

    /// Whether the crawl's own scope says so, the addresses that it allows included, so that another
    /// scope may take the link.
    pub fn is_of_scope(self) -> bool {
        matches!(
            self,
            Self::Scope
                | Self::Depth
                | Self::HardFocus
                | Self::Nofollow
                | Self::Address
                | Self::Trap
        )
    }

    /// Its name, as printed and exported.
    pub fn name(self) -> &'static str {
        match self {
            Self::Robots => "robots",
            Self::Scope => "scope",
            Self::Depth => "depth",
            Self::HardFocus => "hard-focus",
            Self::Nofollow => "nofollow",
            Self::Address => "address",
            Self::HostGivenUp => "host-given-up",
            Self::Redirects => "redirects",
            Self::World => "world",
            Self::Trap => "trap",
            Self::Copy => "copy",
            Self::Prefix => "prefix",
            Self::Evicted => "evicted",
        }
    }
}

/// What was learned of a host from its robots.txt.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFacts {
    /// The host.
    pub host: HostKey,
    /// When it may be asked again.
    pub next_at: Timestamp,
    /// What robots.txt gave: `rules`, `allow-all`, `unreachable` ...
    pub robots: String,
    /// Crawl-delay, if it names one.
    pub crawl_delay_ms: Option<u64>,
    /// The host is given up: its links are refused from here on.
    pub given_up: bool,
    /// When this was learned.
    pub at: Timestamp,
}

/// Seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct SeedsEvent {
    /// The URLs.
    pub urls: Vec<CanonicalUrl>,
    /// The priority that they enter with.
    pub priority: f32,
    /// When.
    pub at: Timestamp,
}

/// Links that were refused, and that a later spec takes.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadmittedEvent {
    /// The links.
    pub links: Vec<ReadmittedLink>,
    /// The hosts that `links` point at.
    pub hosts: Vec<HostKey>,
    /// When.
    pub at: Timestamp,
}

/// One link of a [`ReadmittedEvent`].
#[derive(Clone, Debug, PartialEq)]
pub struct ReadmittedLink {
    /// Fingerprint of its target.
    pub target: UrlId,
    /// Where it was found, and where its URL stands.
    pub reference: Reference,
    /// Index into [`ReadmittedEvent::hosts`].
    pub host: u32,
    /// The priority that its page gave it.
    pub priority: f32,
    /// Links between a seed and it.
    pub depth: u16,
}

/// Waiting links that had to go, for the frontier was full: the least promising ones. A page that is
/// booked later may bring one back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvictedEvent {
    /// Fingerprints of their URLs.
    pub links: Vec<UrlId>,
    /// When.
    pub at: Timestamp,
}

/// What somebody said of booked pages. The critic of a crawl is its model and, of the marks of all these
/// events, the last one of each page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedbackEvent {
    /// The marks; the last one of a page counts.
    pub marks: Vec<Mark>,
    /// The version of the critic that has learned them.
    pub version: u64,
    /// When.
    pub at: Timestamp,
}

/// What is said of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The event that booked it.
    pub page: Seq,
    /// The class (index into the model's class names) that its words are counted in; `None` takes an
    /// earlier mark back.
    pub class: Option<u16>,
}

/// The crawl's state from here on.
#[derive(Clone, Debug, PartialEq)]
pub struct StateEvent {
    /// Which.
    pub state: CrawlState,
    /// Why, in words.
    pub reason: String,
    /// When.
    pub at: Timestamp,
}

/// The states of a crawl. Stored as its number: never renumber.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CrawlState {
    /// fetches, or waits for hosts
    #[default]
    Running = 1,
    /// somebody paused it
    Paused = 2,
    /// somebody stopped it
    Stopped = 3,
    /// budget spent or out of links
    Finished = 4,
    /// something broke
    Failed = 5,
}

impl CrawlState {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Running,
        Self::Paused,
        Self::Stopped,
        Self::Finished,
        Self::Failed,
    ];

    /// The state with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|state| *state as u32 == number)
    }

    /// Its name, as printed and exported.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
            Self::Finished => "finished",
            Self::Failed => "failed",
        }
    }
}

impl Event {
    /// The relevance that this event adds to the curve, with its log odds where it was judged;
    /// `None` if it does not count (DESIGN.md 2, "What counts").
    pub fn counts(&self) -> Option<Option<f32>> {
        match self {
            Self::Page(page) => Some(Some(page.judgement.log_odds)),
            Self::Failure(failure) if failure.is_final => Some(None),
            _ => None,
        }
    }

    /// Where its exchange stands among the crawl's WARC files, if it has one and is kept.
    pub fn kept(&self) -> Option<&Kept> {
        match self {
            Self::Page(page) => page.kept.as_deref(),
            Self::Failure(failure) => failure.kept.as_deref(),
            Self::Redirect(redirect) => redirect.kept.as_deref(),
            _ => None,
        }
    }
}
