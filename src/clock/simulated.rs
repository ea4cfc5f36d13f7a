//! A clock that stands still until somebody waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::{Clock, Timestamp};

/// A clock for replays and tests: sleeping sets it forward instead of waiting.
///
/// With one sleeper at a time, as the engine has, this is discrete-event simulation.
#[derive(Clone, Debug)]
pub struct SimulatedClock {
    now_ms: Arc<AtomicI64>,
}

impl SimulatedClock {
    /// A clock that shows `start`.
    pub fn starting_at(start: Timestamp) -> Self {
        Self {
            now_ms: Arc::new(AtomicI64::new(start.0)),
        }
    }

    /// Sets the clock forward to `to`; an earlier moment leaves it as it is.
    pub fn advance_to(&self, to: Timestamp) {
        self.now_ms.fetch_max(to.0, Ordering::SeqCst);
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.now_ms.load(Ordering::SeqCst))
    }

    async fn sleep_until(&self, until: Timestamp) {
        self.advance_to(until);
    }
}
