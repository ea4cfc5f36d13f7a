//! What did the server say? HTTP, robots, limits, guard, the replay source.
//!
//! A [`Source`] answers one [`Request`] with one [`Outcome`] and decides nothing else: it follows no
//! redirect, waits for no host and retries nothing. What is done about a failure stands in one table
//! ([`FetchError::policy`]).

mod error;
mod guard;
mod limits;
mod policy;
mod source;

pub use error::FetchError;
pub use guard::{Cidr, CidrError, GuardRules};
pub use limits::FetchLimits;
pub use policy::{GiveUp, Policy, RETRY_AFTER_MAX};
pub use source::{Kinds, Outcome, Redirect, Request, Response, Source};
