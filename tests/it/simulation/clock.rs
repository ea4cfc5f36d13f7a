//! The clock on the crawler's wall: it can be set, between two lives.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use apprentice::clock::{Clock, SimulatedClock, Timestamp};

/// A clock that is wrong by some time; time itself goes on whatever it shows.
#[derive(Clone)]
pub(super) struct WallClock {
    time: SimulatedClock,
    ahead_ms: Arc<AtomicI64>,
}

impl WallClock {
    pub(super) fn starting_at(start: Timestamp) -> Self {
        Self {
            time: SimulatedClock::starting_at(start),
            ahead_ms: Arc::default(),
        }
    }

    /// Somebody sets it forward, or back.
    pub(super) fn set(&self, by_ms: i64) {
        self.ahead_ms.fetch_add(by_ms, Ordering::SeqCst);
    }

    /// The time that the hosts go by.
    pub(super) fn true_time(&self) -> Timestamp {
        self.time.now()
    }

    pub(super) fn pass(&self, time: Duration) {
        self.time.advance_to(self.time.now().after(time));
    }

    fn ahead_ms(&self) -> i64 {
        self.ahead_ms.load(Ordering::SeqCst)
    }
}

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.time.now().0 + self.ahead_ms())
    }

    async fn sleep_until(&self, until: Timestamp) {
        let until = until.0.saturating_sub(self.ahead_ms());
        self.time.advance_to(Timestamp(until));
    }
}
