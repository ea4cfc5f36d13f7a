//! Tests of the frontier, and the small crawl that they drive.

mod calendar;
mod evict;
mod fold;
mod model;
mod order;
mod random;
mod rescore;
mod sharing;
mod steering;
mod switching;

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::booking::{
    Event, EvictedEvent, FailureBooking, HostFacts, Judgement, LeaseFacts, LinkFact, PageBooking,
    ReadmittedEvent, ReadmittedLink, RedirectBooking, Reference, Refusal, RefusedBooking,
    SeedsEvent, Seq,
};
use crate::clock::Timestamp;
use crate::url::{CanonicalUrl, HostKey, UrlId};

pub(super) fn params() -> FrontierParams {
    FrontierParams {
        combine: Combine::Best,
        pages_per_host_max: None,
        pages_per_domain_max: None,
        references_max: 8,
        links_max: None,
        delay: Duration::from_secs(1),
        per_address: HOSTS_PER_ADDRESS,
        keeps_baseline: false,
    }
}

/// `a/1` is page 1 of host a.
pub(super) fn url(short: &str) -> CanonicalUrl {
    let (host, path) = short.split_once('/').unwrap();
    CanonicalUrl::parse(&format!("http://{host}.test/{path}")).unwrap()
}

pub(super) fn host(name: &str) -> HostKey {
    HostKey::from_stored(&format!("{name}.test"))
}

pub(super) fn at(seq: u64, link: u32) -> Reference {
    Reference {
        seq: Seq(seq),
        link,
    }
}

/// A link of a page: where to, priority, refusal.
pub(super) type Out<'a> = (&'a str, f32, Option<Refusal>);

/// A frontier, the log that made it and a clock that the test moves.
pub(super) struct Crawl {
    pub(super) frontier: Frontier,
    pub(super) params: FrontierParams,
    pub(super) log: Vec<Event>,
    pub(super) urls: BTreeMap<UrlId, CanonicalUrl>,
    pub(super) now: Timestamp,
}

impl Crawl {
    pub(super) fn new(params: FrontierParams) -> Self {
        Self::sharing(params, HostCalendar::default())
    }

    pub(super) fn sharing(params: FrontierParams, calendar: HostCalendar) -> Self {
        Self {
            frontier: Frontier::new(params, calendar),
            params,
            log: Vec::new(),
            urls: BTreeMap::new(),
            now: Timestamp(1_000_000),
        }
    }

    pub(super) fn book(&mut self, event: Event) -> Seq {
        self.log.push(event);
        let seq = Seq(self.log.len() as u64);
        self.frontier.admit(seq, &self.log[self.log.len() - 1]);
        seq
    }

    fn meet(&mut self, short: &str) -> CanonicalUrl {
        let url = url(short);
        self.urls.insert(url.id(), url.clone());
        url
    }

    pub(super) fn seed(&mut self, shorts: &[&str], priority: f32) -> Seq {
        let urls = shorts.iter().map(|short| self.meet(short)).collect();
        let at = self.now;
        self.book(Event::Seeds(SeedsEvent { urls, priority, at }))
    }

    /// The next lease; the test fails if there is none now.
    pub(super) fn lease(&mut self) -> Lease {
        match self.frontier.next(self.now) {
            Next::Lease(lease) => lease,
            other => panic!("no lease but {other:?}"),
        }
    }

    pub(super) fn wait(&mut self, ms: i64) {
        self.now.0 += ms;
    }

    pub(super) fn name(&self, lease: &Lease) -> String {
        let url = self.urls[&lease.id].as_str();
        url.trim_start_matches("http://").replacen(".test", "", 1)
    }

    /// Ends the lease now; the host may be asked again at once, as far as the log goes.
    pub(super) fn end(&mut self, lease: Lease) -> LeaseFacts {
        let facts = LeaseFacts {
            url: self.urls[&lease.id].clone(),
            references: lease.references,
            depth: lease.depth,
            is_seed: lease.is_seed,
            priority: lease.priority,
            leased_at: lease.leased_at,
            finished_at: self.now,
            requests: lease.requests + 1,
            host_next_at: self.now,
        };
        lease.host.release(self.now, self.now);
        facts
    }

    pub(super) fn page(&mut self, lease: Lease, out: &[Out<'_>]) -> Seq {
        let facts = self.end(lease);
        let mut hosts: Vec<HostKey> = Vec::new();
        let mut links = Vec::new();
        for (target, priority, refusal) in out {
            let target = self.meet(target);
            let host = target.host_key();
            let at = (hosts.iter().position(|known| *known == host)).unwrap_or_else(|| {
                hosts.push(host);
                hosts.len() - 1
            });
            links.push(LinkFact {
                target: target.id(),
                host: u32::try_from(at).unwrap(),
                priority: *priority,
                refusal: *refusal,
            });
        }
        self.book(Event::Page(page_booking(facts, links, hosts)))
    }

    pub(super) fn fail(&mut self, lease: Lease, is_final: bool) -> Seq {
        let lease = self.end(lease);
        self.book(Event::Failure(FailureBooking {
            lease,
            cause: "timeout-total".to_owned(),
            message: String::new(),
            is_final,
            frozen: None,
            is_lesson: false,
            kept: None,
        }))
    }

    pub(super) fn redirect(&mut self, lease: Lease, target: &str, refusal: Option<Refusal>) -> Seq {
        let hops = lease.hops + 1;
        let lease = self.end(lease);
        let target = self.meet(target);
        self.book(Event::Redirect(RedirectBooking {
            lease,
            status: 301,
            target,
            hops,
            refusal,
            kept: None,
        }))
    }

    pub(super) fn refuse(&mut self, short: &str, refusal: Refusal) -> Seq {
        let url = self.meet(short);
        let at = self.now;
        self.book(Event::Refused(RefusedBooking {
            url,
            references: Vec::new(),
            refusal,
            at,
        }))
    }

    pub(super) fn host_facts(&mut self, name: &str, next_at: Timestamp, given_up: bool) -> Seq {
        let at = self.now;
        self.book(Event::HostFacts(HostFacts {
            host: host(name),
            next_at,
            robots: "rules".to_owned(),
            crawl_delay_ms: None,
            given_up,
            at,
        }))
    }

    pub(super) fn known(&self, short: &str) -> Option<KnownLink> {
        self.frontier.lookup(url(short).id(), self.now)
    }

    pub(super) fn state(&self, short: &str) -> Option<LinkState> {
        self.known(short).map(|known| known.state)
    }

    pub(super) fn waiting(&self, short: &str) -> WaitingLink {
        self.known(short).unwrap().waiting.unwrap()
    }

    /// What a fold of the log gives, with a calendar of its own.
    pub(super) fn refolded(&self) -> Frontier {
        let mut frontier = Frontier::new(self.params, HostCalendar::default());
        for (seq, event) in (1..).zip(&self.log) {
            frontier.admit(Seq(seq), event);
        }
        frontier
    }

    /// It is what a fold of its log gives, whether queues are made with each event or at the end.
    pub(super) fn assert_equals_its_log(&self) {
        let mut one_by_one = self.refolded();
        assert_eq!(self.frontier.image(), one_by_one.image());
        let mut at_once = Frontier::new(self.params, HostCalendar::default());
        at_once.begin_fold(Timestamp(i64::MAX));
        for (seq, event) in (1..).zip(&self.log) {
            at_once.admit(Seq(seq), event);
        }
        at_once.end_fold();
        assert_eq!(at_once.image(), one_by_one.image());
        for now in [Timestamp(0), self.now] {
            assert_eq!(at_once.counts(now), one_by_one.counts(now));
            assert_eq!(at_once.head(1_000, now), one_by_one.head(1_000, now));
            assert_eq!(
                at_once.rivals(now).is_some(),
                one_by_one.rivals(now).is_some()
            );
        }
        assert_eq!(all_leases(at_once), all_leases(one_by_one));
    }

    /// Leases and books as pages without links until nothing waits; the names in order.
    pub(super) fn drain(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        loop {
            match self.frontier.next(self.now) {
                Next::Lease(lease) => {
                    names.push(self.name(&lease));
                    self.page(lease, &[]);
                }
                Next::NotBefore(until) => {
                    assert!(until > self.now);
                    self.now = until;
                }
                Next::AllLeased => panic!("no lease is out"),
                Next::Empty => return names,
            }
        }
    }
}

/// What is leased if each lease is lost at once, and when.
fn all_leases(mut frontier: Frontier) -> Vec<(Timestamp, UrlId)> {
    let (mut now, mut leases) = (Timestamp(0), Vec::new());
    loop {
        match frontier.next(now) {
            Next::Lease(lease) => leases.push((now, lease.id)),
            Next::NotBefore(until) => now = until,
            Next::AllLeased | Next::Empty => return leases,
        }
    }
}

pub(super) fn page_booking(
    lease: LeaseFacts,
    links: Vec<LinkFact>,
    hosts: Vec<HostKey>,
) -> PageBooking {
    PageBooking {
        lease,
        status: 200,
        content_type: "text/html".to_owned(),
        body_bytes: 0,
        body_digest: 0,
        truncated: false,
        title: String::new(),
        judgement: Judgement {
            log_odds: 0.0,
            calibrated_log_odds: 0.0,
            best: Vec::new(),
            near_focus: false,
            version: 1,
        },
        links,
        hosts,
        links_dropped: 0,
        frozen: None,
        evidence: Vec::new(),
        kept: None,
        likeness: crate::booking::Likeness::default(),
        withheld: None,
    }
}
