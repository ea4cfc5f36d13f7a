//! When may a host be asked again?

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::url::HostKey;

/// The calendar of hosts, shared by the crawls of a daemon (a cheap clone is the same calendar).
///
/// Invariant: for each host there is at most one [`HostLease`] in existence.
#[derive(Clone, Debug, Default)]
pub struct HostCalendar {
    _inner: Arc<()>,
}

/// Why a host cannot be leased now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Not before this moment.
    Until(Timestamp),
    /// Out on a lease of some crawl; ask again when a lease has ended.
    Leased,
}

/// The right to send one request to a host. Dropping it gives the host back at once, at the time
/// that the calendar had before; [`HostLease::release`] is the ordinary end.
#[derive(Debug)]
pub struct HostLease {
    _private: (),
}

impl HostCalendar {
    /// Leases `host`, if its time has come. `delay` is the asking crawl's own delay, counted from the
    /// end of the last request of whichever crawl.
    ///
    /// # Errors
    /// [`Held`] says when to ask again.
    pub fn try_lease(
        &self,
        host: &HostKey,
        now: Timestamp,
        delay: Duration,
    ) -> Result<HostLease, Held> {
        let _ = (host, now, delay);
        unreachable!("contract only")
    }

    /// Sets the host's next time to `next_at` if that is later than what stands there.
    pub fn hold_until(&self, host: &HostKey, next_at: Timestamp) {
        let _ = (host, next_at);
    }
}

impl HostLease {
    /// The host.
    pub fn host(&self) -> &HostKey {
        unreachable!("contract only")
    }

    /// Ends the lease: the request ended at `ended_at`, the host may be asked again at `next_at`.
    pub fn release(self, ended_at: Timestamp, next_at: Timestamp) {
        let _ = (ended_at, next_at);
    }
}
