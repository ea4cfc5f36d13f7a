//! What did the server say? HTTP, robots, limits, guard, the replay source.
//!
//! A [`Source`] answers one [`Request`] with one [`Outcome`] and decides nothing else: it follows no
//! redirect, waits for no host and retries nothing. What is done about a failure stands in one table
//! ([`FetchError::policy`]).

mod decode;
mod error;
mod exchange;
mod fields;
mod guard;
mod http;
mod limits;
mod policy;
mod replay;
pub mod robots;
mod scripted;
pub mod sitemap;
mod source;

pub use error::FetchError;
pub use exchange::{Exchange, Recorder};
pub use fields::{Fields, RobotsTag, retry_after, robots_tag_directives};
pub use guard::{Cidr, CidrError, GuardRules, forbidden_port};
pub use http::{
    FixedResolver, HttpSettings, HttpSource, HttpSourceError, PinnedHost, PinnedHostError,
    ProxyMode, ProxyUrl, ProxyUrlError, Resolve, Resolving, SystemResolver,
};
pub use limits::FetchLimits;
pub use policy::{GiveUp, Policy, RETRY_AFTER_MAX};
pub use replay::{ReplaySource, Shelf, Shelved};
#[doc(hidden)]
pub use scripted::ScriptedSource;
pub use source::{Kinds, Outcome, Redirect, Request, Response, Source};

/// The name by which robots.txt and X-Robots-Tag address this crawler (RFC 9309, 2.2.1).
pub const PRODUCT_TOKEN: &str = "apprentice";
