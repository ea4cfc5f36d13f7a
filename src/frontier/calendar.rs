//! When may a host be asked again?

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::host_lease::HostLease;
use super::returns::{Asker, Returns};
use super::server::Server;
use super::spacing::Spacing;
use super::waits_file::Wait;
use crate::clock::{Clock, Timestamp};
use crate::store::LineFile;
use crate::url::HostKey;

/// After so many new hosts the calendar looks for hosts to forget.
const INSERTS_BETWEEN_SWEEPS: u32 = 10_000;

/// A host that nobody leases, whose next time is past and whose last request ended this long ago is
/// forgotten. It has to be longer than any crawl's delay.
const FORGET_AFTER: Duration = Duration::from_hours(24);

/// A moment before all others.
pub(super) const NEVER: Timestamp = Timestamp(i64::MIN);

/// The calendar of hosts, shared by the crawls of a daemon (a cheap clone is the same calendar).
///
/// Invariant: for each host there is at most one [`HostLease`] in existence.
#[derive(Clone, Debug, Default)]
pub struct HostCalendar {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    hosts: Mutex<Hosts>,
    /// Where waits are kept, if they are.
    pub(super) file: Mutex<Option<LineFile>>,
}

/// Why a host cannot be leased now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Not before this moment.
    Until(Timestamp),
    /// Out on a lease of some crawl; ask again when a lease has ended.
    Leased,
}

#[derive(Debug, Default)]
struct Hosts {
    known: HashMap<HostKey, Times>,
    servers: HashMap<IpAddr, Server>,
    inserts: u32,
    /// The latest moment that anybody has asked at.
    latest: Timestamp,
    /// How often somebody has tried to lease a host.
    #[cfg(test)]
    tries: u64,
}

#[derive(Debug)]
struct Times {
    next_at: Timestamp,
    last_end: Timestamp,
    is_leased: bool,
    /// Where its last answer came from.
    address: Option<IpAddr>,
    /// Who wants to know that the lease has ended.
    askers: Vec<Asker>,
}

/// Who refuses a lease.
#[derive(Clone, Copy, Debug)]
pub(super) enum Refused {
    /// The host itself.
    Host(Held),
    /// The address where it stands.
    Address(IpAddr, Held),
}

impl HostCalendar {
    /// Leases `host`, if its time has come. `spacing` is the asking crawl's own, its delay counted from
    /// the end of the last request of whichever crawl.
    ///
    /// # Errors
    /// [`Held`] says when to ask again.
    pub fn try_lease(
        &self,
        host: &HostKey,
        now: Timestamp,
        spacing: impl Into<Spacing>,
    ) -> Result<HostLease, Held> {
        let lease = self.lease(host, now, spacing.into(), None);
        lease.map_err(|refused| match refused {
            Refused::Host(held) | Refused::Address(_, held) => held,
        })
    }

    /// As [`try_lease`](Self::try_lease). If the host is out on a lease afterwards, whoever's,
    /// `returns` is told of its end, once, under the number `asked_as`; if too many of its address are,
    /// it is told of the next end there, once for the address.
    pub(super) fn try_lease_for(
        &self,
        host: &HostKey,
        now: Timestamp,
        spacing: Spacing,
        (returns, asked_as): (&Arc<Returns>, u32),
    ) -> Result<HostLease, Refused> {
        let asker = Asker::new(returns, asked_as);
        self.lease(host, now, spacing, Some(asker))
    }

    fn lease(
        &self,
        host: &HostKey,
        now: Timestamp,
        spacing: Spacing,
        asker: Option<Asker>,
    ) -> Result<HostLease, Refused> {
        let mut hosts = self.lock();
        hosts.latest = hosts.latest.max(now);
        #[cfg(test)]
        {
            hosts.tries += 1;
        }
        let (held, address) = hosts.with_times(host, |times| {
            (times.held(now, spacing.delay), times.address)
        });
        if let Some(Held::Until(until)) = held {
            return Err(Refused::Host(Held::Until(until)));
        }
        if held.is_none()
            && let Some(address) = address
            && let Some(server) = hosts.servers.get_mut(&address)
            && let Some(held) = server.held(now, spacing)
        {
            if let (Held::Leased, Some(asker)) = (held, asker) {
                server.ask(asker);
            }
            return Err(Refused::Address(address, held));
        }
        hosts.with_times(host, |times| times.askers.extend(asker));
        if let Some(held) = held {
            return Err(Refused::Host(held));
        }
        Ok(self.lease_of(hosts, host, address, now))
    }

    fn lease_of(
        &self,
        mut hosts: MutexGuard<'_, Hosts>,
        host: &HostKey,
        address: Option<IpAddr>,
        at: Timestamp,
    ) -> HostLease {
        hosts.take(host, address, at);
        HostLease {
            calendar: self.clone(),
            host: host.clone(),
            address,
            leased_at: at,
            released: false,
        }
    }

    /// Leases `host` for somebody who cannot come again later, and completes when it may be asked;
    /// `None` if that would take longer than `patience`. Parameters as in
    /// [`try_lease`](Self::try_lease).
    ///
    /// A host that is free but not rested yet is leased at once and the rest is waited for with the
    /// lease in hand: whoever only comes when the time has come does not overtake.
    pub async fn lease_within(
        &self,
        host: &HostKey,
        clock: &impl Clock,
        spacing: impl Into<Spacing>,
        patience: Duration,
    ) -> Option<HostLease> {
        let spacing = spacing.into();
        let deadline = clock.now().after(patience);
        let returns = Arc::new(Returns::default());
        loop {
            match self.lease_ahead(host, clock.now(), spacing, deadline, &returns) {
                Ok((mut lease, ready_at)) => {
                    clock.sleep_until(ready_at).await;
                    lease.leased_at = clock.now();
                    return Some(lease);
                }
                Err(Held::Until(_)) => return None,
                Err(Held::Leased) => {}
            }
            tokio::select! {
                biased;
                () = returns.arrived() => returns.take(&mut Vec::new()),
                () = clock.sleep_until(deadline) => return None,
            }
        }
    }

    /// Leases a host whose time comes until `deadline`, and says when. If it is out on a lease,
    /// `returns` is told of the end.
    fn lease_ahead(
        &self,
        host: &HostKey,
        now: Timestamp,
        spacing: Spacing,
        deadline: Timestamp,
        returns: &Arc<Returns>,
    ) -> Result<(HostLease, Timestamp), Held> {
        let asker = Asker::new(returns, 0);
        let mut hosts = self.lock();
        hosts.latest = hosts.latest.max(now);
        let (held, address) = hosts.with_times(host, |times| {
            let held = times.held(now, spacing.delay);
            if held == Some(Held::Leased) {
                times.askers.push(asker.clone());
            }
            (held, times.address)
        });
        let server = address.and_then(|address| hosts.servers.get_mut(&address));
        let held_there = server.and_then(|server| {
            let held = server.held(now, spacing);
            if held == Some(Held::Leased) {
                server.ask(asker);
            }
            held
        });
        let mut ready_at = now;
        for held in [held, held_there].into_iter().flatten() {
            match held {
                Held::Until(until) if until <= deadline => ready_at = ready_at.max(until),
                held => return Err(held),
            }
        }
        Ok((self.lease_of(hosts, host, address, ready_at), ready_at))
    }

    /// What [`try_lease`](Self::try_lease) would answer: `None` if it would lease.
    pub fn held(
        &self,
        host: &HostKey,
        now: Timestamp,
        spacing: impl Into<Spacing>,
    ) -> Option<Held> {
        let spacing = spacing.into();
        let hosts = self.lock();
        let times = hosts.known.get(host)?;
        let server = || hosts.servers.get(&times.address?)?.held(now, spacing);
        times.held(now, spacing.delay).or_else(server)
    }

    /// The last answer of `host` came from `address`, or its next one will: from now on it shares that
    /// with the other hosts there ([`Spacing::per_address`]).
    pub fn note_address(&self, host: &HostKey, address: IpAddr) {
        let mut hosts = self.lock();
        hosts.with_times(host, |times| times.address = Some(address));
        hosts.server(address);
    }

    /// Whether it is known where `host` stands.
    pub fn knows_address(&self, host: &HostKey) -> bool {
        let hosts = self.lock();
        let times = hosts.known.get(host);
        times.is_some_and(|times| times.address.is_some())
    }

    /// Sets the host's next time to `next_at` if that is later than what stands there.
    pub fn hold_until(&self, host: &HostKey, next_at: Timestamp) {
        self.note_request(host, NEVER, next_at);
    }

    /// A request that the log tells of: it ended at `ended_at`, the host may be asked again at
    /// `next_at`. Politeness thus survives a restart; what stands here and is later stays.
    pub fn note_request(&self, host: &HostKey, ended_at: Timestamp, next_at: Timestamp) {
        self.lock()
            .with_times(host, |times| times.note(ended_at, next_at));
    }

    /// The hosts that may not be asked before a moment after `now`.
    pub(super) fn waits_after(&self, now: Timestamp) -> Vec<Wait> {
        let hosts = self.lock();
        let waiting = hosts.known.iter().filter(|(_, times)| times.next_at > now);
        let waits = waiting.map(|(host, times)| Wait {
            host: host.clone(),
            ended_at: times.last_end,
            next_at: times.next_at,
        });
        waits.collect()
    }

    /// Hosts that it has a time for.
    pub fn hosts(&self) -> usize {
        self.lock().known.len()
    }

    /// How often somebody has tried to lease a host.
    #[cfg(test)]
    pub(super) fn tries(&self) -> u64 {
        self.lock().tries
    }

    /// A leased host turns out to stand at `address`: counts it there, if there is room.
    pub(super) fn arrive(
        &self,
        host: &HostKey,
        address: IpAddr,
        now: Timestamp,
        spacing: Spacing,
    ) -> Result<(), Held> {
        let mut hosts = self.lock();
        hosts.with_times(host, |times| times.address = Some(address));
        let server = hosts.server(address);
        if let Some(held) = server.held(now, spacing) {
            return Err(held);
        }
        server.take(now);
        Ok(())
    }

    /// The latest moment that anybody has asked at.
    pub(super) fn latest(&self) -> Timestamp {
        self.lock().latest
    }

    pub(super) fn give_back(&self, lease: &HostLease, ended_at: Timestamp, next_at: Timestamp) {
        let host = &lease.host;
        self.keep_if_long(host, ended_at, next_at);
        let mut hosts = self.lock();
        let waited_there = hosts.leave(lease, ended_at);
        let (askers, next_at, last_end) = hosts.with_times(host, |times| {
            debug_assert!(times.is_leased, "{host} was given back without a lease");
            times.is_leased = false;
            times.note(ended_at, next_at);
            let askers = std::mem::take(&mut times.askers);
            (askers, times.next_at, times.last_end)
        });
        drop(hosts);
        // Outside the lock: a woken crawl asks the calendar at once.
        for asker in askers {
            asker.tell_host(next_at, last_end);
        }
        for (asker, address) in waited_there {
            asker.tell_address(address);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Hosts> {
        // Every change under the lock is whole at each point where it could panic.
        self.shared
            .hosts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hosts {
    /// Looks at or changes what is known of a host, new or not.
    fn with_times<T>(&mut self, host: &HostKey, look: impl FnOnce(&mut Times) -> T) -> T {
        if let Some(times) = self.known.get_mut(host) {
            return look(times);
        }
        self.inserts += 1;
        if self.inserts >= INSERTS_BETWEEN_SWEEPS {
            self.inserts = 0;
            self.forget_old();
        }
        look(self.known.entry(host.clone()).or_insert(Times {
            next_at: NEVER,
            last_end: NEVER,
            is_leased: false,
            address: None,
            askers: Vec::new(),
        }))
    }

    /// What is known of an address, new or not.
    fn server(&mut self, address: IpAddr) -> &mut Server {
        self.servers.entry(address).or_insert_with(Server::new)
    }

    /// The host is out on a lease from `at` on.
    fn take(&mut self, host: &HostKey, address: Option<IpAddr>, at: Timestamp) {
        self.with_times(host, |times| times.is_leased = true);
        if let Some(address) = address {
            self.server(address).take(at);
        }
    }

    /// A host has come back; if `ended_at` is never, unasked. Gives those who waited for that where it
    /// stands.
    fn leave(&mut self, lease: &HostLease, ended_at: Timestamp) -> Vec<(Asker, IpAddr)> {
        let Some(address) = lease.address else {
            return Vec::new();
        };
        let server = self.servers.get_mut(&address);
        let askers = server.map(|server| server.leave(lease.leased_at, ended_at));
        let askers = askers.into_iter().flatten();
        askers.map(|asker| (asker, address)).collect()
    }

    fn forget_old(&mut self) {
        let latest = self.latest;
        self.servers
            .retain(|_, server| server.is_busy() || server.last_end.after(FORGET_AFTER) > latest);
        self.known
            .retain(|_, times| times.is_leased || times.ready_at(FORGET_AFTER) > latest);
    }
}

impl Times {
    fn ready_at(&self, delay: Duration) -> Timestamp {
        self.next_at.max(self.last_end.after(delay))
    }

    fn held(&self, now: Timestamp, delay: Duration) -> Option<Held> {
        if self.is_leased {
            return Some(Held::Leased);
        }
        let ready_at = self.ready_at(delay);
        (ready_at > now).then_some(Held::Until(ready_at))
    }

    fn note(&mut self, ended_at: Timestamp, next_at: Timestamp) {
        self.last_end = self.last_end.max(ended_at);
        self.next_at = self.next_at.max(next_at);
    }
}
