//! What time is it, and what comes out of the hat?
//!
//! Time and chance enter the crawler only here: the engine is given a [`Clock`] and a seeded
//! generator, so that a replay of an archive is the same crawl every time. Clippy forbids the
//! standard library's clocks everywhere else.

mod seed;
mod simulated;
mod system;

use std::future::Future;
use std::time::Duration;

pub use seed::{Chance, chance};
pub use simulated::SimulatedClock;
pub use system::SystemClock;

/// A moment: milliseconds since the Unix epoch.
///
/// Wall-clock time and not a process's own counter, because politeness has to survive a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This moment plus `wait`, saturating.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        let ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(ms))
    }

    /// The time from `earlier` to this moment; zero if `earlier` lies after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// A source of time. Never goes backwards; sleeping until the past returns at once.
pub trait Clock: Clone + Send + Sync + 'static {
    /// The present moment.
    fn now(&self) -> Timestamp;

    /// Completes once `now() >= until`.
    fn sleep_until(&self, until: Timestamp) -> impl Future<Output = ()> + Send;
}

#[cfg(test)]
mod tests;
