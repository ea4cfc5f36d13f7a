//! What did the server say? HTTP, robots, limits, guard, the replay source.

mod error;
mod limits;
mod source;

pub use error::{FetchError, GiveUp, Policy};
pub use limits::FetchLimits;
pub use source::{Outcome, Redirect, Request, Response, Source};
