//! The letter box through which a frontier learns which hosts were given back.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::clock::Timestamp;

/// A host was given back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Returned {
    /// The frontier's own number of the host.
    pub(super) host: u32,
    /// Not before this moment.
    pub(super) next_at: Timestamp,
    /// The end of the last request.
    pub(super) last_end: Timestamp,
}

/// What came back since somebody looked.
///
/// A frontier with a thousand leases out would else have to ask the calendar for each of them again
/// at every [`next`](super::Frontier::next).
#[derive(Debug, Default)]
pub(super) struct Returns {
    came: Mutex<Vec<Returned>>,
    news: Notify,
}

impl Returns {
    pub(super) fn push(&self, returned: Returned) {
        let was_empty = {
            let mut came = self.lock();
            came.push(returned);
            came.len() == 1
        };
        // Whoever looks later sees that the box is not empty.
        if was_empty {
            self.news.notify_waiters();
        }
    }

    /// Moves what came to the end of `into`.
    pub(super) fn take(&self, into: &mut Vec<Returned>) {
        into.append(&mut self.lock());
    }

    /// Completes while something lies here that was not taken.
    pub(super) async fn arrived(&self) {
        loop {
            // Made before the look: a `notify_waiters` between the two is not missed.
            let news = self.news.notified();
            if !self.lock().is_empty() {
                return;
            }
            news.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Returned>> {
        self.came.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
