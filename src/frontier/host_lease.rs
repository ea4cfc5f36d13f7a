//! A host that is out on a lease.

use std::net::IpAddr;

use super::calendar::NEVER;
use super::{Held, HostCalendar, Spacing};
use crate::clock::Timestamp;
use crate::url::HostKey;

/// The right to send one request to a host. [`HostLease::release`] is its ordinary end. Dropping it
/// (a task that panicked) gives the host back at once; nobody knows then whether a request was sent, so
/// delays are counted from the last moment that the calendar knows of, and the next time stays what it was.
#[derive(Debug)]
pub struct HostLease {
    pub(super) calendar: HostCalendar,
    pub(super) host: HostKey,
    /// Where the host stood when it was leased, as far as was known.
    pub(super) address: Option<IpAddr>,
    pub(super) leased_at: Timestamp,
    pub(super) released: bool,
}

impl HostLease {
    /// The host.
    pub fn host(&self) -> &HostKey {
        &self.host
    }

    /// Whether it is known where the host stands, so that its lease counts there.
    pub fn has_address(&self) -> bool {
        self.address.is_some()
    }

    /// The host, which nobody knew of where it stands, stands at `address`: the lease counts there from
    /// now on, if there is room for one more.
    ///
    /// # Errors
    /// [`Held`] if there is none: then nothing may be asked under this lease.
    pub fn arrive(
        &mut self,
        address: IpAddr,
        now: Timestamp,
        spacing: impl Into<Spacing>,
    ) -> Result<(), Held> {
        if self.address.is_some() {
            return Ok(());
        }
        let spacing = spacing.into();
        self.calendar.arrive(&self.host, address, now, spacing)?;
        self.address = Some(address);
        Ok(())
    }

    /// Ends the lease of a host that was not asked: it may be asked again as if there had been none.
    pub fn release_unasked(mut self) {
        self.released = true;
        self.calendar.give_back(&self, NEVER, NEVER);
    }

    /// Ends the lease: the request ended at `ended_at`, the host may be asked again at `next_at` (or
    /// later, if somebody holds it longer).
    pub fn release(mut self, ended_at: Timestamp, next_at: Timestamp) {
        self.released = true;
        self.calendar.give_back(&self, ended_at, next_at);
    }
}

impl Drop for HostLease {
    fn drop(&mut self) {
        if !self.released {
            let latest = self.calendar.latest();
            self.calendar
                .give_back(self, latest.max(self.leased_at), NEVER);
        }
    }
}
