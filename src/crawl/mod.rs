//! What happens to one link? Engine, budget, state, spec; makes the bookings.
//!
//! One engine owns the frontier, the scorer and the curve of a crawl, and nobody else touches them:
//! fetches in flight hold a lease and nothing else, parsing and judging run on a blocking pool, and
//! all outcomes come back through one channel. A crawl is spoken to through its [`Handle`].

mod book;
mod commands;
mod engine;
mod flushing;
mod handle;
mod lease_task;
mod leasing;
mod progress;
mod readmit;
mod report;
mod robots_task;
mod scope;
mod spec;
mod taking;
mod teaching;
mod waiters;

pub use commands::SEED_PRIORITY;
pub use engine::{Engine, EngineError, EngineParts, Pace, RobotsPolicy, World};
pub use handle::{CrawlError, Handle};
pub use progress::{Progress, Tally};
pub use report::page_row;
pub use scope::{LinkView, Scope};
pub use spec::{CrawlOrder, Spec, SpecError, Tuning, check_name, check_seeds, merged};

#[cfg(test)]
mod tests;
