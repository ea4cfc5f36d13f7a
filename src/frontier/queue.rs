//! The links of one crawl, and the answer to "which next?".

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::baseline_queue::BaselineQueue;
use super::calendar::Refused;
use super::domains::Caps;
use super::hosts::Hosts;
use super::known::{Known, KnownUrls};
use super::lease::{Lease, Next};
use super::links::{Links, OrderKey, checked_priority};
use super::params::FrontierParams;
use super::returns::{Returned, Returns};
use super::steering::Steered;
use super::waits_file::owed;
use super::{HostCalendar, HostLease};
use crate::clock::Timestamp;
use crate::url::{CanonicalUrl, FingerprintState, UrlId};

/// A log that is ahead of the clock by less is not worth a word.
const AHEAD_TOLD: Duration = Duration::from_secs(1);

/// The links of one crawl.
///
/// A fold of its events ([`admit`](Self::admit)) and nothing else: a leased link is still kept and
/// changed like a waiting one, so that a frontier folded from the log equals the running one after
/// all its leases were given back ([`image`](Self::image)).
#[derive(Debug)]
pub struct Frontier {
    pub(super) params: FrontierParams,
    pub(super) calendar: HostCalendar,
    pub(super) known: KnownUrls,
    pub(super) links: Links,
    pub(super) hosts: Hosts,
    /// Few crawls keep one.
    pub(super) baseline: Box<BaselineQueue>,
    /// `None` takes the best.
    pub(super) steered: Option<Steered>,
    returns: Arc<Returns>,
    leases: u64,
    /// While a log is folded.
    fold: Option<Box<Folding>>,
    /// Empty between two calls; kept for their memory. Apart, for a frontier moves about.
    scratch: Box<Scratch>,
}

/// A log is folded.
#[derive(Debug)]
struct Folding {
    now: Timestamp,
    /// By how much the latest request that it tells of lies after `now`.
    ahead: Duration,
}

#[derive(Debug, Default)]
pub(super) struct Scratch {
    returned: Vec<Returned>,
    pub(super) targets: HashSet<UrlId, FingerprintState>,
    pub(super) host_numbers: Vec<Option<u32>>,
    pub(super) host_hashes: Vec<Option<u64>>,
    pub(super) slots: Vec<u32>,
}

impl Frontier {
    /// An empty frontier.
    pub fn new(params: FrontierParams, calendar: HostCalendar) -> Self {
        let mut frontier = Self {
            params,
            calendar,
            known: KnownUrls::default(),
            links: Links::default(),
            hosts: Hosts::default(),
            baseline: Box::default(),
            steered: None,
            returns: Arc::default(),
            leases: 0,
            fold: None,
            scratch: Box::default(),
        };
        frontier.set_params(params);
        frontier
    }

    /// Sets other parameters, from the next call on. Costs a look at every host.
    ///
    /// `references_max` and `combine` shape what the following events leave behind: whoever folds a
    /// log has to set the parameters at the same events again.
    pub fn set_params(&mut self, params: FrontierParams) {
        self.params = params;
        self.baseline.keep(params.keeps_baseline, &self.links);
        let caps = Caps {
            host: params.pages_per_host_max.unwrap_or(u64::MAX),
            domain: params.pages_per_domain_max.unwrap_or(u64::MAX),
        };
        self.hosts.set_caps(caps, &self.links);
    }

    /// A whole log is about to be [admitted](Self::admit): what only a lease or a look at the frontier needs
    /// is left until [`end_fold`](Self::end_fold), which makes it of a million links in the time that a
    /// hundred thousand of them would take one by one. Nothing but `admit` and `set_params` in between.
    ///
    /// A request that the log has after `now` was stamped by a clock that was ahead: its host waits for as
    /// long as was meant, from `now` on.
    pub fn begin_fold(&mut self, now: Timestamp) {
        self.fold = Some(Box::new(Folding {
            now,
            ahead: Duration::ZERO,
        }));
        self.hosts.begin_fold();
        self.baseline.begin_fold();
    }

    /// The log is admitted. The frontier is the same as without [`begin_fold`](Self::begin_fold), but for
    /// waits that begin in the future.
    pub fn end_fold(&mut self) {
        let ahead = self.fold.take().map_or(Duration::ZERO, |fold| fold.ahead);
        if ahead >= AHEAD_TOLD {
            let seconds = ahead.as_secs();
            tracing::warn!(
                seconds,
                "the log tells of requests in the future: the clock has been put back; their hosts wait from now on"
            );
        }
        self.hosts.end_fold(&mut self.links);
        self.baseline.end_fold(&self.links);
    }

    /// When a request ended and its host may be asked again; of a log, by today's clock.
    pub(super) fn times_of(
        &mut self,
        ended_at: Timestamp,
        next_at: Timestamp,
    ) -> (Timestamp, Timestamp) {
        let Some(fold) = &mut self.fold else {
            return (ended_at, next_at);
        };
        fold.ahead = fold.ahead.max(ended_at.since(fold.now));
        owed(ended_at, next_at, fold.now)
    }

    /// The best link whose host may be asked at `now`, or the one that the [steering](Self::steer) wants.
    pub fn next(&mut self, now: Timestamp) -> Next {
        self.take_returned(now);
        self.hosts.wake(now, &self.links);
        let mut tries = 0;
        while let Some(best) = self.hosts.best_ready() {
            // Each goes somewhere else by its try, so that this comes to an end.
            debug_assert!(tries < self.hosts.len(), "a host was tried twice");
            tries += 1;
            let slot = self.steered_slot();
            let number = slot.map_or(best, |slot| self.links.get(slot).host);
            match self.lease_host(number, now) {
                Ok(host) => {
                    if let Some(lease) = self.lease(number, slot, host, now) {
                        return Next::Lease(lease);
                    }
                }
                Err(refused) => self.hosts.refused(number, refused, &self.links),
            }
        }
        match self.hosts.first_waiting() {
            Some(until) => Next::NotBefore(until),
            None if self.hosts.counts().waiting > 0 => Next::AllLeased,
            None => Next::Empty,
        }
    }

    pub(super) fn lease_host(&self, number: u32, now: Timestamp) -> Result<HostLease, Refused> {
        let key = &self.hosts.get(number).key;
        let asker = (&self.returns, number);
        self.calendar
            .try_lease_for(key, now, self.params.spacing(), asker)
    }

    pub(super) fn take_returned(&mut self, now: Timestamp) {
        self.returns.take(&mut self.scratch.returned);
        for back in self.scratch.returned.drain(..) {
            match back {
                Returned::Host {
                    host,
                    next_at,
                    last_end,
                } => {
                    let at = next_at.max(last_end.after(self.params.delay));
                    self.hosts.returned(host, (at, now), &self.links);
                }
                Returned::Address(address) => self.hosts.open_address(address),
            }
        }
    }

    /// Leases the link in `slot`, or the host's best one.
    fn lease(
        &mut self,
        number: u32,
        slot: Option<u32>,
        host: HostLease,
        now: Timestamp,
    ) -> Option<Lease> {
        let slot = match slot {
            Some(slot) => {
                self.hosts.lease_slot(number, slot, &mut self.links);
                slot
            }
            None => self.hosts.lease_best(number, &mut self.links)?,
        };
        Some(self.lease_of(slot, host, now))
    }

    pub(super) fn lease_of(&mut self, slot: u32, host: HostLease, now: Timestamp) -> Lease {
        let priority = self.priority_of(slot);
        let link = self.links.get(slot);
        self.leases += 1;
        Lease {
            number: self.leases,
            id: self.id_of(slot),
            references: self.links.references(slot),
            depth: link.depth,
            is_seed: link.is_seed(),
            priority,
            requests: link.requests(),
            hops: link.hops(),
            host,
            leased_at: now,
        }
    }

    /// Puts a leased link back as it was (robots.txt has to come first, the crawl stops): the host is
    /// released with `next_at`.
    pub fn give_back(&mut self, lease: Lease, ended_at: Timestamp, next_at: Timestamp) {
        // An event may have struck the link off in the meantime.
        if let Some(Known::Open(slot)) = self.known.get(lease.id) {
            self.return_link(slot);
        }
        lease.host.release(ended_at, next_at);
    }

    /// Puts a leased link back whose host was not asked, as if there had been no lease.
    pub fn put_back_unasked(&mut self, lease: Lease) {
        if let Some(Known::Open(slot)) = self.known.get(lease.id) {
            self.return_link(slot);
        }
        lease.host.release_unasked();
    }

    /// A leased link turns out to be worth only `priority`. If another one is better now it goes back, with
    /// that priority, and its host as if nothing had been asked; else the lease stands, with that priority.
    /// A link that was taken though it was not the best stands as well.
    ///
    /// # Errors
    /// The lease, if nothing that is ready is better.
    pub fn put_back_if_worse(&mut self, mut lease: Lease, priority: f32) -> Result<(), Lease> {
        let Some(Known::Open(slot)) = self.known.get(lease.id) else {
            return Err(lease);
        };
        lease.priority = checked_priority(priority);
        let link = self.links.get_mut(slot);
        link.priority = lease.priority;
        let host = link.host;
        if self.is_switching() {
            self.links.new_scores.replace(slot, lease.priority);
        }
        if self.steered.is_some() {
            return Err(lease);
        }
        let key = self.key_of(slot);
        // Its own host is away with this lease, so a better link of that host does not show yet.
        let best = self.hosts.best_ready_key();
        let best_here = self.hosts.best_of(host, &self.links);
        if [best, best_here].iter().flatten().any(|other| *other < key) {
            self.return_link(slot);
            lease.host.release_unasked();
            return Ok(());
        }
        Err(lease)
    }

    /// The URL of an open link.
    pub(super) fn id_of(&self, slot: u32) -> UrlId {
        let id = self.known.open_id(self.links.get(slot).mark(), slot);
        debug_assert!(id.is_some(), "link {slot} is not known");
        // There is no open link that is not known.
        id.unwrap_or(UrlId(0))
    }

    /// What a link is worth at this moment.
    pub(super) fn priority_of(&self, slot: u32) -> f32 {
        let side = self.hosts.side(self.links.get(slot).host);
        self.links.priority(slot, side)
    }

    /// Its place in the order.
    pub(super) fn key_of(&self, slot: u32) -> OrderKey {
        let side = self.hosts.side(self.links.get(slot).host);
        self.links.order_key(slot, side)
    }

    /// If the link is leased, it waits again.
    pub(super) fn return_link(&mut self, slot: u32) {
        let link = self.links.get_mut(slot);
        if link.is_leased() {
            link.set_leased(false);
            let host = link.host;
            self.hosts.link_came_back(host, &self.links);
            self.hosts.link_waits(slot, &mut self.links);
            self.baseline.push(slot, &self.links);
        }
    }

    /// Completes when a host has been given back that this frontier had leased or was refused because
    /// it was out on a lease, of whichever crawl; then [`next`](Self::next) may have something.
    ///
    /// Nothing is missed, whenever it is called: it completes at once while a return stands that no
    /// call of `next` has seen yet.
    pub fn host_returned(&self) -> impl Future<Output = ()> + Send + use<> {
        let returns = Arc::clone(&self.returns);
        async move { returns.arrived().await }
    }

    /// Whether the URL is known at all, whatever became of it.
    pub fn knows(&self, url: &CanonicalUrl) -> bool {
        self.known.get(url.id()).is_some()
    }

    pub(super) fn scratch(&mut self) -> &mut Scratch {
        &mut self.scratch
    }
}
