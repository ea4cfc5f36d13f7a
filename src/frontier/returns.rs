//! The letter box through which a frontier learns which hosts were given back.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

use crate::clock::Timestamp;

/// What was given back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Returned {
    /// A host.
    Host {
        /// The frontier's own number of it.
        host: u32,
        /// Not before this moment.
        next_at: Timestamp,
        /// The end of the last request.
        last_end: Timestamp,
    },
    /// One of the hosts behind this address.
    Address(IpAddr),
}

/// Who wants to know of a return: a frontier, and its own number of the host.
#[derive(Clone, Debug)]
pub(super) struct Asker {
    returns: Weak<Returns>,
    host: u32,
}

impl Asker {
    pub(super) fn new(returns: &Arc<Returns>, host: u32) -> Self {
        Self {
            returns: Arc::downgrade(returns),
            host,
        }
    }

    /// Whether both are the same frontier.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        self.returns.ptr_eq(&other.returns)
    }

    /// Its host was given back.
    pub(super) fn tell_host(&self, next_at: Timestamp, last_end: Timestamp) {
        self.tell(Returned::Host {
            host: self.host,
            next_at,
            last_end,
        });
    }

    /// A host behind this address was given back.
    pub(super) fn tell_address(&self, address: IpAddr) {
        self.tell(Returned::Address(address));
    }

    fn tell(&self, returned: Returned) {
        if let Some(returns) = self.returns.upgrade() {
            returns.push(returned);
        }
    }
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
    fn push(&self, returned: Returned) {
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
