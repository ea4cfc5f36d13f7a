//! What came of a list of URLs? Fetches them politely into a WARC, and goes on after any crash.
//!
//! [`Output`] is the WARC with what is known from it, and a file of notes beside it: what failed for
//! good, and which hosts asked to be left alone. A [`Collector`] asks for what neither knows yet: one
//! request at a time a host and one a delay, robots.txt first, redirects as requests of their own.
//! What failed for now is left to the next start.

mod agenda;
mod collector;
mod error;
mod ledger;
mod notes;
mod output;
mod params;
mod report;
mod selection;
mod taking;

pub use collector::Collector;
pub use error::CollectError;
pub use ledger::REDIRECTS_MAX;
pub use output::Output;
pub use params::CollectParams;
pub use report::{Progress, Report};
pub use selection::{Selection, Wanted};

#[cfg(test)]
mod tests;
