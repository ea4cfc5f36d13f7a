//! What has to hold of a crawl's log and figures, and of the requests that its hosts saw.

use std::collections::{BTreeMap, BTreeSet};

use apprentice::booking::{EpochCause, Event, LeaseFacts, Refusal, Seq};
use apprentice::clock::Timestamp;
use apprentice::crawl::{Progress, Spec, Tally};
use apprentice::critic::relevance_of;
use apprentice::frontier::{
    Frontier, FrontierStore, HostCalendar, KnownLink, LinkState, MemoryStore, WhyWaiting,
};
use apprentice::proto::v1;
use apprentice::url::{CanonicalUrl, UrlId};
use prost::Message;

use super::crawl::Crawl;

type Asked = BTreeMap<CanonicalUrl, u32>;

pub(super) fn events_of(store: &MemoryStore) -> Vec<Event> {
    let mut events = Vec::new();
    let mut take = |_, event| {
        events.push(event);
        true
    };
    store.scan(Seq(1), store.last(), &mut take).unwrap();
    events
}

/// Requests of which a death took the booking.
#[derive(Default)]
pub(super) struct Lost {
    requests: BTreeMap<CanonicalUrl, u32>,
    wrongs: Vec<String>,
}

impl Lost {
    /// The crawler has died; `events` are left.
    pub(super) fn count(&mut self, asked: &Asked, events: &[Event]) {
        let booked = requests_booked(events);
        for (url, asked) in asked {
            let booked = booked.get(url).copied().unwrap_or(0);
            let before = self
                .requests
                .insert(url.clone(), asked.saturating_sub(booked));
            if asked - booked.min(*asked) < before.unwrap_or(0) {
                self.wrongs
                    .push(format!("{url}: booked more often than asked for"));
            }
        }
    }
}

fn lease_of(event: &Event) -> Option<&LeaseFacts> {
    match event {
        Event::Page(page) => Some(&page.lease),
        Event::Failure(failure) => Some(&failure.lease),
        Event::Redirect(redirect) => Some(&redirect.lease),
        _ => None,
    }
}

/// Requests that the log tells of; an address that is forbidden is noticed on the way.
fn requests_booked(events: &[Event]) -> Asked {
    let mut booked = Asked::new();
    for event in events {
        let url = match event {
            Event::Refused(refused) if refused.refusal == Refusal::Address => Some(&refused.url),
            event => lease_of(event).map(|lease| &lease.url),
        };
        if let Some(url) = url {
            *booked.entry(url.clone()).or_default() += 1;
        }
    }
    booked
}

fn frontier_of(spec: &v1::CrawlSpec, events: &[Event]) -> Frontier {
    let spec = Spec::check(spec).unwrap();
    let params = spec.tuning.frontier_params(spec.order, spec.combine);
    let mut frontier = Frontier::new(params, HostCalendar::default());
    for (seq, event) in (1..).zip(events) {
        frontier.admit(Seq(seq), event);
    }
    frontier
}

/// What a crawl knew of its links against the fold of its log.
pub(super) fn memory(
    crawl: &Crawl,
    store: &MemoryStore,
    known: Vec<(CanonicalUrl, Option<KnownLink>)>,
) -> Vec<String> {
    let fold = frontier_of(&crawl.spec, &events_of(store));
    let mut wrongs = Vec::new();
    for (url, link) in known {
        let folded = comparable(crawl, fold.lookup(url.id(), Timestamp(0)));
        let mut link = comparable(crawl, link);
        // A lease is not in the log.
        if let Some(leased) = link.as_mut()
            && leased.state == LinkState::Leased
            && let Some(waits) = folded.as_ref().filter(|link| link.waiting.is_some())
        {
            leased.clone_from(waits);
        }
        if link != folded {
            wrongs.push(format!("{url}: memory {link:?}, log {folded:?}"));
        }
    }
    wrongs
}

/// What the log says of a link: not why it waits, which is a question of the moment, nor its scores where
/// they change without a booking, nor which of its pages have the best ones.
fn comparable(crawl: &Crawl, mut link: Option<KnownLink>) -> Option<KnownLink> {
    if let Some(waiting) = link.as_mut().and_then(|link| link.waiting.as_mut()) {
        waiting.why = WhyWaiting::Ready;
        if crawl.learns {
            waiting.priority = 0.0;
            waiting.references.truncate(1);
        }
    }
    link
}

/// After the scope was set anew: no link stands refused by a scope that takes it.
pub(super) fn readmissions(spec: &v1::CrawlSpec, store: &MemoryStore) -> Vec<String> {
    let scope = Spec::check(spec).unwrap().tuning.scope;
    let events = events_of(store);
    let frontier = frontier_of(spec, &events);
    let mut wrongs = Vec::new();
    for (seq, event) in (1..).zip(&events) {
        let Event::Page(page) = event else { continue };
        for (fact, link) in page.links.iter().zip(store.page(Seq(seq)).unwrap().links) {
            let state = frontier.lookup(fact.target, Timestamp(0)).unwrap().state;
            if fact.refusal == Some(Refusal::Scope)
                && matches!(state, LinkState::Refused(Refusal::Scope, _))
                && scope.covers(&link.target)
                && !frontier.host_given_up(&link.target.host_key())
            {
                wrongs.push(format!("event {seq}: {} stays refused", link.target));
            }
        }
    }
    wrongs
}

/// All that has to hold at the end.
pub(super) fn check(crawl: &Crawl, asked: &Asked) -> Vec<String> {
    let events = events_of(&crawl.store);
    let mut wrongs = crawl.lost.wrongs.clone();
    wrongs.extend(figures(&crawl.spec, &events, &crawl.progress));
    wrongs.extend(each_booking(&events, &crawl.progress));
    wrongs.extend(requests(&events, asked, &crawl.lost));
    wrongs.extend(links(&crawl.spec, &crawl.store, &events));
    wrongs.extend(bound(crawl, &events));
    wrongs
}

fn figures(spec: &v1::CrawlSpec, events: &[Event], progress: &Progress) -> Vec<String> {
    let mut wrongs = Vec::new();
    let mut fold = Progress::default();
    for event in events {
        fold.add(&Tally::of(event));
    }
    if fold != *progress {
        wrongs.push(format!("figures {progress:?}, of the log {fold:?}"));
    }
    let booked = events.iter().filter_map(Event::counts).count() as u64;
    let (state, reason) = &progress.state;
    let spent = spec.budget > 0 && booked == spec.budget;
    if state.name() != "finished" || spent != reason.starts_with("budget") {
        wrongs.push(format!("it ended {}: {reason}", state.name()));
    }
    let evicted: usize = events.iter().map(|event| evicted_by(event).len()).sum();
    let counted = progress.refused_by_reason.get(Refusal::Evicted.name());
    if counted.copied().unwrap_or(0) != evicted as u64 {
        wrongs.push(format!("{evicted} links evicted, {counted:?} counted"));
    }
    wrongs
}

fn evicted_by(event: &Event) -> &[UrlId] {
    match event {
        Event::Evicted(evicted) => &evicted.links,
        _ => &[],
    }
}

/// How often it happened in a crawl that seldom does.
pub(super) fn happened(crawl: &Crawl) -> [(&'static str, usize); 4] {
    let events = events_of(&crawl.store);
    let count = |is: &dyn Fn(&Event) -> bool| events.iter().filter(|event| is(event)).count();
    let epoch = |event: &Event, is_ordered: bool| match event {
        Event::Epoch(epoch) => (epoch.cause == EpochCause::Retrained) == is_ordered,
        _ => false,
    };
    [
        ("evictions", count(&|event| !evicted_by(event).is_empty())),
        ("epochs", count(&|event| epoch(event, false))),
        ("retrainings", count(&|event| epoch(event, true))),
        (
            "readmissions",
            count(&|event| matches!(event, Event::Readmitted(_))),
        ),
    ]
}

/// With each booking the loss is the sum of all, and the budget that holds then is not passed.
fn each_booking(events: &[Event], progress: &Progress) -> Vec<String> {
    let mut wrongs = Vec::new();
    let mut points = progress.curve.points(0).into_iter();
    let (mut budget, mut booked, mut loss) = (0, 0, 0.0);
    for (seq, event) in (1..).zip(events) {
        if let Event::SpecChange(bytes) = event {
            budget = v1::CrawlSpec::decode(bytes.as_slice()).unwrap().budget;
        }
        let Some(log_odds) = event.counts() else {
            continue;
        };
        booked += 1;
        loss += 1.0 - log_odds.map_or(0.0, relevance_of);
        let point = points.next();
        if !point.is_some_and(|point| point.n == booked && (point.loss - loss).abs() < 1e-4) {
            wrongs.push(format!("event {seq}: loss {point:?}, sum {loss}"));
        }
        if budget > 0 && booked > budget {
            wrongs.push(format!("event {seq}: fetch {booked} of {budget}"));
        }
    }
    wrongs.extend(points.next().map(|more| format!("loss goes on: {more:?}")));
    wrongs
}

/// No more links wait than may, but for the leased ones and what a life's last event has brought.
fn bound(crawl: &Crawl, events: &[Event]) -> Vec<String> {
    let limits = crawl.spec.limits.unwrap_or_default();
    let Some(max) = limits.links_waiting_max else {
        return Vec::new();
    };
    let max = max + u64::from(limits.in_flight_max);
    let spec = Spec::check(&crawl.spec).unwrap();
    let params = spec.tuning.frontier_params(spec.order, spec.combine);
    let mut frontier = Frontier::new(params, HostCalendar::default());
    let mut wrongs = Vec::new();
    for (seq, event) in (1..).zip(events) {
        frontier.admit(Seq(seq), event);
        // What another life or another hand has written is put right by the crawl's next event.
        let is_cut = (crawl.cuts.iter()).any(|cut| (cut.0..=cut.0 + 4).contains(&seq));
        let next = usize::try_from(seq).ok().and_then(|next| events.get(next));
        if is_cut || matches!(next, Some(Event::Evicted(_))) {
            continue;
        }
        let counts = frontier.counts(Timestamp(0));
        let waiting = counts.waiting + counts.held;
        if waiting > max {
            wrongs.push(format!("event {seq}: {waiting} links wait, {max} may"));
        }
    }
    wrongs
}

fn requests(events: &[Event], asked: &Asked, lost: &Lost) -> Vec<String> {
    let mut wrongs = Vec::new();
    let mut ended = BTreeSet::new();
    for event in events {
        let waits_again = matches!(event, Event::Failure(failure) if !failure.is_final);
        if let Some(lease) = lease_of(event).filter(|_| !waits_again)
            && !ended.insert(&lease.url)
        {
            wrongs.push(format!("{}: booked twice", lease.url));
        }
    }
    let mut refused_for_good = BTreeSet::new();
    for event in events {
        // What a scope may allow again may be refused again by the next one.
        if let Event::Readmitted(readmitted) = event {
            let back: BTreeSet<_> = readmitted.links.iter().map(|link| link.target).collect();
            refused_for_good.retain(|url: &&CanonicalUrl| !back.contains(&url.id()));
        }
        if let Event::Refused(refused) = event
            && !matches!(refused.refusal, Refusal::Scope)
            && !refused_for_good.insert(&refused.url)
        {
            wrongs.push(format!("{}: struck off twice", refused.url));
        }
    }
    let booked = requests_booked(events);
    let urls: BTreeSet<_> = booked.keys().chain(asked.keys()).collect();
    for url in urls {
        let of = |counts: &Asked| counts.get(url).copied().unwrap_or(0);
        let (asked, known) = (of(asked), of(&booked) + of(&lost.requests));
        if asked != known {
            wrongs.push(format!("{url}: {asked} requests, {known} accounted for"));
        }
    }
    wrongs
}

/// Every link of every booked page, and every target of a redirect, is fetched, waiting or refused.
fn links(spec: &v1::CrawlSpec, store: &MemoryStore, events: &[Event]) -> Vec<String> {
    let mut wrongs = Vec::new();
    let frontier = frontier_of(spec, events);
    let counts = frontier.counts(Timestamp(i64::MAX));
    let spent =
        spec.budget > 0 && events.iter().filter_map(Event::counts).count() as u64 == spec.budget;
    if !spent && counts.waiting > 0 {
        wrongs.push(format!("{} links wait, but it ended", counts.waiting));
    }
    for (seq, event) in (1..).zip(events) {
        let targets: Vec<UrlId> = match event {
            Event::Page(page) => {
                let links = store.page(Seq(seq)).unwrap().links;
                if links.len() != page.links.len() {
                    wrongs.push(format!("event {seq}: its page has {} links", links.len()));
                }
                links.iter().map(|link| link.target.id()).collect()
            }
            Event::Redirect(redirect) => vec![redirect.target.id()],
            _ => continue,
        };
        for target in targets {
            let state = frontier.lookup(target, Timestamp(0)).map(|link| link.state);
            if let Some(LinkState::Refused(Refusal::Evicted, by)) = state
                && !evicted_by(&store.event(by).unwrap().unwrap()).contains(&target)
            {
                wrongs.push(format!("event {}: did not evict {target}", by.0));
            }
            if !matches!(
                state,
                Some(LinkState::Fetched(_) | LinkState::Refused(..) | LinkState::Waiting)
            ) {
                wrongs.push(format!("event {seq}: link {target} is {state:?}"));
            }
        }
    }
    wrongs
}
