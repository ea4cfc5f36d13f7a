//! A host that was never asked: where does it stand, and has its server room for one more?
//!
//! Hundreds of hosts may stand behind one address. Without asking where, the first request to each of
//! them would come at once.

use super::lease_task::{Done, Finished, Workbench};
use crate::clock::Clock;
use crate::fetch::{Request, Source};
use crate::frontier::{HostCalendar, HostLease, Lease, Spacing};
use crate::url::{CanonicalUrl, HostKey};

/// Finds out where the leased host stands, if that is not known, and counts the lease there. Whether the
/// host may be asked: if not, the lease has to go back unasked, and waits as all do that stand there.
pub async fn finds_room<S: Source, C: Clock>(
    source: &S,
    clock: &C,
    lease: &mut HostLease,
    request: &Request,
    spacing: Spacing,
) -> bool {
    if lease.has_address() {
        return true;
    }
    match source.locate(request).await {
        Some(address) => lease.arrive(address, clock.now(), spacing).is_ok(),
        // The request will say why, or nobody can know (a proxy).
        None => true,
    }
}

/// Tells the calendar where a host stands that was never asked, before it is leased.
pub(super) async fn note_where_it_stands<S: Source>(
    source: &S,
    calendar: &HostCalendar,
    host: &HostKey,
    request: &Request,
) {
    if !calendar.knows_address(host)
        && let Some(address) = source.locate(request).await
    {
        calendar.note_address(host, address);
    }
}

impl<S: Source, C: Clock> Workbench<S, C> {
    /// The end of a lease whose server has no room.
    pub(super) fn crowded(&self, lease: Lease, url: CanonicalUrl) -> Finished {
        Finished {
            lease,
            url,
            done: Done::Crowded,
            at: self.clock.now(),
        }
    }
}
