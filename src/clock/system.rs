//! The machine's clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Clock, Timestamp};

/// The machine's wall clock, held so that it never runs backwards within the process.
#[derive(Clone, Debug, Default)]
pub struct SystemClock {
    latest: Arc<AtomicI64>,
}

impl SystemClock {
    /// A clock that shows the machine's time.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Clock for SystemClock {
    #[allow(
        clippy::disallowed_methods,
        reason = "this is the one place where the machine's time enters"
    )]
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        let ms = i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX);
        Timestamp(self.latest.fetch_max(ms, Ordering::Relaxed).max(ms))
    }

    async fn sleep_until(&self, until: Timestamp) {
        loop {
            let wait = until.since(self.now());
            if wait.is_zero() {
                return;
            }
            tokio::time::sleep(wait).await;
        }
    }
}
