//! What is sent out: the engine asks the frontier for leases and starts a task for each.

use std::sync::Arc;

use super::engine::{Engine, UNFLUSHED_BYTES_MAX, UNFLUSHED_EVENTS_MAX};
use super::error::EngineError;
use super::lease_task::Reading;
use super::parts::{Pace, RobotsPolicy};
use super::robots_task::RobotsWays;
use crate::booking::{CrawlState, Event, Refusal, RefusedBooking};
use crate::clock::{Clock, Timestamp};
use crate::fetch::robots::{Origin, RobotsAnswer, RobotsCache};
use crate::fetch::{Kinds, Recorder, Request, Source, forbidden_port};
use crate::frontier::{Lease, Next, StoreFailure};
use crate::url::CanonicalUrl;

impl<S: Source, C: Clock> Engine<S, C> {
    pub(super) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Leases that have not been booked: fetches under way, and pages that wait for their verdict.
    pub(super) fn in_flight(&self) -> usize {
        self.tasks.len() + self.early.len() + self.judging.unjudged()
    }

    fn disk_is_behind(&self) -> bool {
        self.undurable.len() >= UNFLUSHED_EVENTS_MAX || self.undurable_bytes >= UNFLUSHED_BYTES_MAX
    }

    pub(super) fn may_lease(&self) -> bool {
        let in_flight = self.in_flight();
        let budget = self.spec.tuning.budget;
        self.state.0 == CrawlState::Running
            && !self.owes_contact()
            && !self.is_closing()
            && self.judging.takes_more()
            && in_flight < self.learning.slowed(self.spec.tuning.in_flight_max)
            && (!self.disk_is_behind() || self.pace == Pace::Replay)
            && budget.is_none_or(|budget| self.booked + (in_flight as u64) < budget)
    }

    pub(super) fn lease_what_may_be(&mut self) -> Result<(), EngineError> {
        self.held = None;
        while self.may_lease() {
            let now = self.bench.clock.now();
            match self.next_lease(now)? {
                Next::Lease(lease) => self.send_out(lease, now)?,
                held => {
                    self.held = Some(held);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn send_out(&mut self, lease: Lease, now: Timestamp) -> Result<(), EngineError> {
        let Some(first) = lease.references.first() else {
            return Err(StoreFailure(format!("link {} has no reference", lease.id)).into());
        };
        let url = self.store.link_url(*first)?;
        // The scope may have become narrower since the link was taken in.
        if !lease.is_seed && !self.spec.tuning.scope.covers(&url) {
            self.refuse(lease, url, Refusal::Scope, now);
            return Ok(());
        }
        // What waits since before the prefix was worn out.
        if !lease.is_seed && self.is_worn_out(&url) {
            self.refuse(lease, url, Refusal::Prefix, now);
            return Ok(());
        }
        if url.to_url().is_ok_and(|url| forbidden_port(&url).is_some()) {
            self.refuse(lease, url, Refusal::Address, now);
            return Ok(());
        }
        if self.frontier.host_given_up(lease.host.host()) {
            self.refuse(lease, url, Refusal::HostGivenUp, now);
            return Ok(());
        }
        let request = Request {
            url: url.clone(),
            user_agent: self.spec.tuning.user_agent(),
            limits: self.spec.tuning.fetch,
            guard: Arc::clone(&self.guard),
            kinds: Kinds::Pages,
            recorder: self.keeper.as_ref().map(|_| Recorder::default()),
        };
        let RobotsPolicy::Obey(cache) = &self.robots else {
            self.spawn_fetch(lease, request);
            return Ok(());
        };
        let cache = cache.clone();
        match cache.lookup(&url, now) {
            None => {
                self.spawn_robots(lease, request, cache);
            }
            Some(answer @ RobotsAnswer::Unreachable { .. }) => {
                self.note_trouble(&url, &answer);
                let until = cache.standing(&url).map_or(now, |(until, _)| until);
                self.forget_prepared(lease.number);
                self.frontier.give_back(lease, now, until);
            }
            Some(answer) if answer.allows(&url) => {
                if self.owes_sitemaps(&lease, &url) && !answer.sitemaps().is_empty() {
                    let ways = self.robots_ways(cache);
                    let bench = self.bench.clone();
                    self.out.insert(lease.number);
                    self.tasks
                        .spawn(bench.sitemaps(lease, request, answer, ways));
                } else {
                    self.spawn_fetch(lease, request);
                }
            }
            Some(_) => self.refuse(lease, url, Refusal::Robots, now),
        }
        Ok(())
    }

    fn spawn_fetch(&mut self, lease: Lease, request: Request) {
        let bench = self.bench.clone();
        let reading = Reading {
            limits: self.spec.tuning.page,
            urls: self.spec.tuning.scope.urls,
        };
        let spacing = self.spec.tuning.spacing(self.spec.tuning.delay);
        self.out.insert(lease.number);
        self.tasks
            .spawn(bench.fetch(lease, request, reading, spacing));
    }

    /// robots.txt is a lease of its own kind, holding the host: the link goes back afterwards.
    fn spawn_robots(&mut self, lease: Lease, request: Request, cache: RobotsCache) {
        let bench = self.bench.clone();
        let sitemaps = self.owes_sitemaps(&lease, &request.url);
        let ways = self.robots_ways(cache);
        self.out.insert(lease.number);
        self.tasks
            .spawn(bench.robots(lease, request, ways, sitemaps));
    }

    fn robots_ways(&self, cache: RobotsCache) -> RobotsWays {
        RobotsWays {
            calendar: self.calendar.clone(),
            cache,
            delay: self.spec.tuning.delay,
            per_address: self.spec.tuning.per_address,
            closing: self.closing.subscribe(),
        }
    }

    /// Whether this lease is the one to look for the sitemaps of its origin: the first of a seed. Somebody
    /// else may have asked for the robots.txt.
    fn owes_sitemaps(&mut self, lease: &Lease, url: &CanonicalUrl) -> bool {
        self.spec.tuning.scope.sitemaps
            && lease.is_seed
            && self.sitemaps_asked.insert(Origin::of(url))
    }

    pub(super) fn refuse(
        &mut self,
        lease: Lease,
        url: CanonicalUrl,
        refusal: Refusal,
        now: Timestamp,
    ) {
        let references = lease.references.clone();
        self.forget_prepared(lease.number);
        // Nothing was sent: dropping the lease gives the host back at the time it had.
        drop(lease);
        self.append(Event::Refused(RefusedBooking {
            url,
            references,
            refusal,
            at: now,
        }));
    }

    pub(super) fn finish_if_done(&mut self) {
        if self.state.0 != CrawlState::Running || self.is_closing() || self.search.is_some() {
            return;
        }
        if self.in_flight() > 0 {
            return;
        }
        if let Some(budget) = self
            .spec
            .tuning
            .budget
            .filter(|budget| self.booked >= *budget)
        {
            self.enter(
                CrawlState::Finished,
                &format!("budget of {budget} fetches spent"),
            );
        } else if matches!(self.held, Some(Next::Empty)) {
            let held = self.frontier.counts(self.bench.clock.now()).held;
            let reason = match held {
                0 => "out of links".to_owned(),
                held => {
                    format!("out of links ({held} held by the caps of pages per host and domain)")
                }
            };
            self.enter(CrawlState::Finished, &reason);
        }
    }
}
