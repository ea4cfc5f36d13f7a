//! Crawls that share hosts, and hosts that share an address: no turn is lost, and none is asked for in vain
//! again and again.

use std::collections::VecDeque;
use std::net::IpAddr;

use proptest::prelude::*;

use super::*;

const HOSTS: [&str; 9] = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];

fn address(number: usize) -> IpAddr {
    [192, 0, 2, u8::try_from(number).unwrap()].into()
}

#[test]
fn a_rival_refused_by_the_calendar_leaves_no_trace_among_the_ready() {
    let calendar = HostCalendar::default();
    let keeps = FrontierParams {
        keeps_baseline: true,
        ..params()
    };
    let mut one = Crawl::sharing(keeps, calendar.clone());
    let mut two = Crawl::sharing(params(), calendar);
    one.seed(&["s/1"], 1.0);
    let lease = one.lease();
    one.page(lease, &[("a/1", 3.0, None), ("b/1", 7.0, None)]);
    one.wait(1_000);
    two.now = one.now;
    two.seed(&["a/2"], 0.0);
    let others = two.lease();
    // The baseline's is a/1, and the other crawl holds its host.
    let rivals = one.frontier.rivals(one.now).unwrap();
    assert!(one.frontier.lease_rival(rivals, one.now).is_none());
    two.page(others, &[]);
    let lease = one.lease();
    assert_eq!(one.name(&lease), "b/1");
    assert!(matches!(one.frontier.next(one.now), Next::NotBefore(_)));
    one.wait(1_000);
    // It has become ready, and rests again for the other crawl has asked it meanwhile.
    two.now = one.now;
    two.seed(&["a/3"], 0.0);
    assert_eq!(one.frontier.counts(one.now).hosts_ready, 1);
    let others = two.lease();
    two.page(others, &[]);
    one.page(lease, &[]);
    assert!(matches!(one.frontier.next(one.now), Next::NotBefore(_)));
    assert_eq!(one.drain(), ["a/1"]);
}

/// One thing that happens. Numbers choose among what there is.
#[derive(Clone, Debug)]
enum Step {
    Next(usize),
    Rival(usize),
    /// A page is booked, with links to these hosts.
    Page(usize, Vec<(usize, i8)>),
    GiveBack(usize),
    Unasked(usize),
    Drop(usize),
    /// Somebody who is no crawl leases a host.
    Take(usize),
    Untake(usize),
    Wait(i64),
    Refuse(usize, usize),
    Params(usize, u64, u32),
}

fn step() -> impl Strategy<Value = Step> {
    let links = prop::collection::vec((0..HOSTS.len(), -3..4_i8), 0..4);
    prop_oneof![
        8 => (0..3_usize).prop_map(Step::Next),
        3 => (0..3_usize).prop_map(Step::Rival),
        6 => (0..9_usize, links).prop_map(|(n, links)| Step::Page(n, links)),
        1 => (0..9_usize).prop_map(Step::GiveBack),
        1 => (0..9_usize).prop_map(Step::Drop),
        2 => (0..HOSTS.len()).prop_map(Step::Take),
        2 => (0..9_usize).prop_map(Step::Untake),
        4 => (0..700_i64).prop_map(Step::Wait),
        1 => (0..3_usize, 0..HOSTS.len()).prop_map(|(n, h)| Step::Refuse(n, h)),
        1 => (0..3_usize, 0..1_500_u64, 1..4_u32).prop_map(|(n, ms, per)| Step::Params(n, ms, per)),
    ]
}

struct Town {
    calendar: HostCalendar,
    crawls: Vec<Crawl>,
    out: Vec<(usize, Lease)>,
    taken: Vec<HostLease>,
    pages: usize,
    /// A lease was given back unasked: its address may be free before it was said to be.
    is_freed_early: bool,
}

impl Town {
    fn new(addresses: usize) -> Self {
        let calendar = HostCalendar::default();
        for (number, name) in HOSTS.iter().enumerate() {
            calendar.note_address(&host(name), address(number % addresses));
        }
        let crawl = |number: usize| {
            let params = FrontierParams {
                keeps_baseline: number < 2,
                per_address: 2,
                ..params()
            };
            let mut crawl = Crawl::sharing(params, calendar.clone());
            for name in HOSTS {
                for path in 0..2 {
                    crawl.seed(&[&format!("{name}/{path}")], 0.0);
                }
            }
            crawl
        };
        Self {
            crawls: (0..3).map(crawl).collect(),
            calendar,
            out: Vec::new(),
            taken: Vec::new(),
            pages: 0,
            is_freed_early: false,
        }
    }

    fn now(&self) -> Timestamp {
        self.crawls[0].now
    }

    fn wait(&mut self, ms: i64) {
        for crawl in &mut self.crawls {
            crawl.wait(ms);
        }
    }

    fn out(&mut self, number: usize) -> Option<(usize, Lease)> {
        let at = number.checked_rem(self.out.len())?;
        Some(self.out.swap_remove(at))
    }

    /// What the crawl may lease; if nothing, it has missed nothing.
    fn next(&mut self, number: usize) -> Next {
        let now = self.now();
        let crawl = &mut self.crawls[number];
        let next = crawl.frontier.next(now);
        let waiting = crawl.frontier.head(usize::MAX, now);
        let spacing = crawl.params.spacing();
        let ready = waiting
            .iter()
            .find(|link| self.calendar.held(&link.host, now, spacing).is_none());
        match &next {
            Next::Lease(_) => {}
            Next::NotBefore(until) => {
                assert!(*until > now);
                assert!(ready.is_none() || self.is_freed_early, "{ready:?} missed");
            }
            Next::AllLeased => {
                assert!(ready.is_none() || self.is_freed_early, "{ready:?} missed");
                assert!(!self.out.is_empty() || !self.taken.is_empty());
            }
            Next::Empty => assert!(waiting.is_empty()),
        }
        next
    }

    fn page(&mut self, (number, lease): (usize, Lease), links: &[(usize, i8)]) {
        let names: Vec<(String, f32)> = (links.iter())
            .map(|(host, priority)| {
                self.pages += 1;
                let name = format!("{}/n{}", HOSTS[*host], self.pages);
                (name, f32::from(*priority))
            })
            .collect();
        let out: Vec<Out<'_>> = (names.iter())
            .map(|(name, priority)| (name.as_str(), *priority, None))
            .collect();
        if self.crawls[number].known_id(lease.id) {
            self.crawls[number].page(lease, &out);
        }
    }

    fn step(&mut self, step: &Step) {
        let now = self.now();
        match step {
            Step::Next(number) => {
                if let Next::Lease(lease) = self.next(*number) {
                    self.out.push((*number, lease));
                }
            }
            Step::Rival(number) => {
                let frontier = &mut self.crawls[*number].frontier;
                if let Some(rivals) = frontier.rivals(now)
                    && let Some(lease) = frontier.lease_rival(rivals, now)
                {
                    self.out.push((*number, lease));
                }
            }
            Step::Page(number, links) => {
                if let Some(out) = self.out(*number) {
                    self.page(out, links);
                }
            }
            Step::GiveBack(number) => {
                if let Some((number, lease)) = self.out(*number) {
                    self.crawls[number].frontier.give_back(lease, now, now);
                }
            }
            Step::Unasked(number) => {
                if let Some((number, lease)) = self.out(*number) {
                    self.is_freed_early = true;
                    self.crawls[number].frontier.put_back_unasked(lease);
                }
            }
            Step::Drop(number) => {
                if let Some((number, lease)) = self.out(*number) {
                    let Lease { id, host, .. } = lease;
                    drop(host);
                    let url = self.crawls[number].urls[&id].clone();
                    self.crawls[number].strike_off(&url);
                }
            }
            Step::Take(number) => {
                let host = host(HOSTS[*number]);
                let taken = self.calendar.try_lease(&host, now, Duration::ZERO);
                self.taken.extend(taken);
            }
            Step::Untake(number) => {
                if let Some(at) = number.checked_rem(self.taken.len()) {
                    self.taken.swap_remove(at).release(now, now);
                }
            }
            Step::Wait(ms) => self.wait(*ms),
            Step::Refuse(number, host) => {
                for path in 0..2 {
                    let url = url(&format!("{}/{path}", HOSTS[*host]));
                    self.crawls[*number].strike_off(&url);
                }
            }
            Step::Params(number, delay_ms, per_address) => {
                let crawl = &mut self.crawls[*number];
                crawl.params.delay = Duration::from_millis(*delay_ms);
                crawl.params.per_address = *per_address;
                crawl.frontier.set_params(crawl.params);
            }
        }
    }

    /// Everything comes back, and each crawl gets all that waits.
    fn finish(&mut self) {
        self.taken.clear();
        while let Some(out) = self.out(0) {
            self.page(out, &[]);
        }
        for _round in 0..10_000 {
            let mut until = None;
            for number in 0..self.crawls.len() {
                match self.next(number) {
                    Next::Lease(lease) => {
                        self.page((number, lease), &[]);
                        until = Some(self.now());
                    }
                    Next::NotBefore(at) => until = Some(until.map_or(at, |until| at.min(until))),
                    Next::AllLeased => panic!("no lease is out"),
                    Next::Empty => {}
                }
            }
            let Some(until) = until else { return };
            self.wait(until.0 - self.now().0);
        }
        panic!("links wait for ever");
    }
}

impl Crawl {
    fn known_id(&self, id: UrlId) -> bool {
        let known = self.frontier.lookup(id, self.now);
        known.is_some_and(|known| known.state == LinkState::Leased)
    }

    fn strike_off(&mut self, url: &CanonicalUrl) {
        let at = self.now;
        self.book(Event::Refused(RefusedBooking {
            url: url.clone(),
            references: Vec::new(),
            refusal: Refusal::Robots,
            at,
        }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_crawl_misses_a_host_that_it_may_ask(
        addresses in 1..4_usize,
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let mut town = Town::new(addresses);
        for step in &steps {
            town.step(step);
        }
        town.finish();
    }

    #[test]
    fn none_waits_for_ever_where_some_ask_nothing_after_all(
        addresses in 1..4_usize,
        steps in prop::collection::vec(
            prop_oneof![6 => step(), 1 => (0..9_usize).prop_map(Step::Unasked)],
            1..150,
        ),
    ) {
        let mut town = Town::new(addresses);
        for step in &steps {
            town.step(step);
        }
        town.finish();
    }
}

/// Two crawls get all links of 2,000 hosts behind one address, `in_flight` requests of each at once, each
/// of which takes so long. Gives the tries at the calendar for each request.
fn tries_a_request(request_ms: i64, in_flight: usize) -> f64 {
    const HOSTS: usize = 2_000;
    let calendar = HostCalendar::default();
    let names: Vec<String> = (0..HOSTS).map(|n| format!("h{n}/1")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut crawls = [params(), params()].map(|params| Crawl::sharing(params, calendar.clone()));
    for crawl in &mut crawls {
        crawl.seed(&names, 0.0);
    }
    for n in 0..HOSTS {
        calendar.note_address(&host(&format!("h{n}")), address(1));
    }
    let mut out: VecDeque<(usize, Lease, Timestamp)> = VecDeque::new();
    let (mut now, mut requests) = (crawls[0].now, 0_u32);
    loop {
        let mut until = None;
        for (number, crawl) in crawls.iter_mut().enumerate() {
            crawl.now = now;
            let mut mine = out.iter().filter(|(at, ..)| *at == number).count();
            while mine < in_flight {
                match crawl.frontier.next(now) {
                    Next::Lease(lease) => {
                        out.push_back((number, lease, Timestamp(now.0 + request_ms)));
                        (mine, requests) = (mine + 1, requests + 1);
                    }
                    Next::NotBefore(at) => {
                        until = Some(until.map_or(at, |until: Timestamp| until.min(at)));
                        break;
                    }
                    Next::AllLeased | Next::Empty => break,
                }
            }
        }
        let ends = out.front().map(|(_, _, ends)| *ends);
        let Some(next) = [until, ends].into_iter().flatten().min() else {
            break;
        };
        now = next.max(now);
        if ends == Some(next)
            && let Some((number, lease, _)) = out.pop_front()
        {
            crawls[number].now = now;
            crawls[number].page(lease, &[]);
        }
    }
    assert_eq!(requests as usize, 2 * HOSTS);
    calendar.tries() as f64 / f64::from(requests)
}

#[test]
fn a_request_costs_few_tries_however_many_hosts_share_its_address() {
    for (request_ms, in_flight) in [(10, 4), (600, 4), (5_000, 8)] {
        let tries = tries_a_request(request_ms, in_flight);
        assert!(tries < 6.0, "{request_ms} ms: {tries} tries a request");
    }
}
