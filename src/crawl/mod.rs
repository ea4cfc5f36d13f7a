//! What happens to one link? Engine, budget, state, spec; makes the bookings.
//!
//! One engine owns the frontier, the scorer and the curve of a crawl, and nobody else touches them:
//! fetches in flight hold a lease and nothing else, parsing and judging run on a blocking pool (a judge
//! that is elsewhere is asked in batches), and all outcomes come back to the engine. A crawl is spoken to through its [`Handle`].

mod book;
mod checkpoint;
mod commands;
mod copies;
mod engine;
mod epochs;
mod error;
mod explaining;
mod first_contact;
mod flushing;
mod handle;
mod judging;
mod keeping;
mod labels;
mod learners;
mod learning;
mod lease_task;
mod leasing;
mod log_spec;
mod opening;
mod order;
mod page_reader;
mod parts;
mod prefixes;
mod progress;
mod read_ahead;
mod readmit;
mod report;
mod retraining;
mod robots_task;
mod scope;
mod sitemap_task;
mod spec;
mod starts;
mod sweep;
mod taking;
mod teaching;
mod trainee;
mod update;
mod waiters;

pub use commands::SEED_PRIORITY;
pub use engine::Engine;
pub use error::EngineError;
pub use explaining::LinkReasons;
pub use first_contact::finds_room;
pub use handle::{CrawlError, Handle};
pub use judging::{ClassNames, Judge};
pub use keeping::found_on;
pub use labels::Labels;
pub use learners::{Learned, LearnersAt};
pub use opening::Opening;
pub use order::{CrawlOrder, order_name, parse_order};
pub use parts::{EngineParts, LearnedFile, Pace, RobotsPolicy, World};
pub use progress::{Progress, Tally};
pub use report::page_row;
pub use robots_task::{Asked, RobotsWays, ask_robots, delay_owed};
pub use scope::{LinkView, Scope};
pub use spec::{
    JudgedBy, LINKS_WAITING_MIN, Spec, SpecError, Tuning, check_contact, check_name, check_seeds,
    user_agent,
};

pub use starts::{StartError, StartFrom, StartSpec, learned_from};
pub use update::merged;

#[cfg(test)]
mod tests;
