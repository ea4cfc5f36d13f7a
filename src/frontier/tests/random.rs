//! Three crawls that share a calendar, driven at random, against the plain model.

use proptest::prelude::*;

use super::model::{Model, Url};
use super::*;

const HOSTS: [&str; 4] = ["a", "b", "c", "d"];
const PATHS: usize = 6;

/// One thing that happens to a crawl. Numbers choose among what there is.
#[derive(Clone, Debug)]
enum Step {
    Seed(Vec<usize>, i8),
    Lease,
    /// The baseline's best link is leased, where that is another one.
    Rival,
    /// The request of a lease ends; its host may be asked again after so many ms. It is booked later.
    Release(usize, i64),
    Page(usize, Vec<(usize, i8, bool)>),
    Fail(usize, bool),
    Redirect(usize, usize, bool),
    GiveBack(usize),
    Lose(usize),
    Refuse(usize, bool),
    Readmit(Vec<(usize, i8)>),
    Evict(Vec<usize>),
    HostFacts(usize, i64),
    Wait(i64),
    Spec(Option<u64>, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let links = prop::collection::vec((0..24_usize, -3..4_i8, prop::bool::weighted(0.2)), 0..8);
    prop_oneof![
        2 => (prop::collection::vec(0..24_usize, 1..4), -3..4_i8).prop_map(|(u, p)| Step::Seed(u, p)),
        12 => Just(Step::Lease),
        6 => Just(Step::Rival),
        4 => (0..9_usize, 0..3_000_i64).prop_map(|(n, ms)| Step::Release(n, ms)),
        6 => (0..9_usize, links).prop_map(|(n, links)| Step::Page(n, links)),
        3 => (0..9_usize, any::<bool>()).prop_map(|(n, is_final)| Step::Fail(n, is_final)),
        2 => (0..9_usize, 0..24_usize, prop::bool::weighted(0.2))
            .prop_map(|(n, to, refused)| Step::Redirect(n, to, refused)),
        1 => (0..9_usize).prop_map(Step::GiveBack),
        1 => (0..9_usize).prop_map(Step::Lose),
        1 => (0..24_usize, any::<bool>()).prop_map(|(u, lasting)| Step::Refuse(u, lasting)),
        1 => prop::collection::vec((0..24_usize, any::<i8>()), 0..9).prop_map(Step::Readmit),
        1 => prop::collection::vec(0..24_usize, 0..9).prop_map(Step::Evict),
        1 => (0..4_usize, 0..3_000_i64).prop_map(|(h, ms)| Step::HostFacts(h, ms)),
        6 => (0..1_500_i64).prop_map(Step::Wait),
        1 => (prop::option::of(0..6_u64), 0..2_000_u64).prop_map(|(cap, ms)| Step::Spec(cap, ms)),
    ]
}

fn fixed_params() -> impl Strategy<Value = FrontierParams> {
    let combine = prop::sample::select(&Combine::ALL);
    (combine, 1..6_usize, any::<bool>()).prop_map(|(combine, references_max, keeps_baseline)| {
        FrontierParams {
            combine,
            references_max,
            keeps_baseline,
            ..params()
        }
    })
}

fn short(number: usize) -> String {
    format!("{}/{}", HOSTS[number / PATHS], number % PATHS)
}

/// What the calendar has to know of a host.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    next_at: i64,
    last_end: Option<i64>,
    is_leased: bool,
}

impl Times {
    fn note(&mut self, ended_at: i64, next_at: i64) {
        self.last_end = self.last_end.max(Some(ended_at));
        self.next_at = self.next_at.max(next_at);
    }

    fn ready_at(&self, delay: Duration) -> i64 {
        let delay = i64::try_from(delay.as_millis()).unwrap();
        self.next_at.max(self.last_end.map_or(0, |end| end + delay))
    }
}

/// A lease that is out, or whose request has ended and whose page is not booked yet.
enum Out {
    Fetching(Lease),
    Judging(LeaseFacts),
}

/// One crawl beside its model.
struct Driven {
    crawl: Crawl,
    model: Model,
    out: Vec<Out>,
}

type Times4 = BTreeMap<HostKey, Times>;

impl Driven {
    fn new(params: FrontierParams, calendar: &HostCalendar) -> Self {
        let mut crawl = Crawl::sharing(params, calendar.clone());
        for number in 0..24 {
            let url = url(&short(number));
            crawl.urls.insert(url.id(), url);
        }
        Self {
            crawl,
            model: Model::new(params),
            out: Vec::new(),
        }
    }

    fn book(&mut self, event: Event) {
        let seq = self.crawl.book(event);
        self.model
            .admit(seq, &self.crawl.log[self.crawl.log.len() - 1]);
    }

    fn out_of_hosts(&self) -> BTreeMap<HostKey, u64> {
        let mut out = BTreeMap::new();
        for (_, open) in self.model.open().filter(|(_, open)| open.is_leased) {
            *out.entry(open.host.clone()).or_insert(0) += 1;
        }
        out
    }

    /// Leases, and says what the model thinks of the answer.
    fn lease(&mut self, times: &mut Times4) {
        let now = self.crawl.now;
        let delay = self.model.params.delay;
        let combine = self.model.params.combine;
        let out = self.out_of_hosts();
        let leasable = self.model.leasable(&out);
        let of = |host: &HostKey| times.get(host).copied().unwrap_or_default();
        let best = (leasable.iter())
            .filter(|(_, open)| {
                let times = of(&open.host);
                !times.is_leased && times.ready_at(delay) <= now.0
            })
            .min_by(|(_, one), (_, two)| one.order(two, combine));
        let best = best.map(|(id, _)| *id);
        let free_at = (leasable.iter())
            .map(|(_, open)| of(&open.host))
            .filter(|times| !times.is_leased)
            .map(|times| times.ready_at(delay))
            .min();
        let is_empty = leasable.is_empty();
        match self.crawl.frontier.next(now) {
            Next::Lease(lease) => {
                assert_eq!(Some(lease.id), best, "the best link of the ready hosts");
                self.take_lease(lease, times);
            }
            Next::NotBefore(until) => {
                assert!(best.is_none() && !is_empty && until > now);
                assert!(free_at.is_none_or(|free_at| until.0 <= free_at));
            }
            Next::AllLeased => assert!(!is_empty && free_at.is_none()),
            Next::Empty => assert!(is_empty),
        }
    }

    fn take_lease(&mut self, lease: Lease, times: &mut Times4) {
        let (now, delay) = (self.crawl.now.0, self.model.params.delay);
        let times = times.entry(lease.host.host().clone()).or_default();
        assert!(!times.is_leased && times.ready_at(delay) <= now);
        times.is_leased = true;
        match self.model.urls.get_mut(&lease.id) {
            Some(Url::Open(open)) if !open.is_leased => open.is_leased = true,
            other => panic!("leased {other:?}"),
        }
        self.out.push(Out::Fetching(lease));
    }

    /// Leases the baseline's best link, if that is not the best one by the order in force.
    fn lease_rival(&mut self, times: &mut Times4) {
        let now = self.crawl.now;
        let Some(rivals) = self.crawl.frontier.rivals(now) else {
            return;
        };
        assert!(self.model.params.keeps_baseline);
        let Some(lease) = self.crawl.frontier.lease_rival(rivals, now) else {
            return;
        };
        let delay = self.model.params.delay;
        let out = self.out_of_hosts();
        let is_free = |host: &HostKey| {
            let times = times.get(host).copied().unwrap_or_default();
            !times.is_leased && times.ready_at(delay) <= now.0
        };
        let leasable = self.model.leasable(&out).into_iter();
        let free = leasable.filter(|(_, open)| is_free(&open.host));
        let best = free.min_by(|(_, one), (_, two)| one.baseline_order(two));
        let best = best.map(|(id, _)| id);
        assert_eq!(Some(lease.id), best, "the baseline's best");
        self.take_lease(lease, times);
    }

    /// Ends the request of a lease.
    fn release(&mut self, lease: Lease, wait: i64, times: &mut Times4) -> LeaseFacts {
        let now = self.crawl.now;
        let host_next_at = Timestamp(now.0 + wait);
        let times = times.get_mut(lease.host.host()).unwrap();
        times.is_leased = false;
        times.note(now.0, host_next_at.0);
        LeaseFacts {
            url: self.crawl.urls[&lease.id].clone(),
            references: lease.references,
            depth: lease.depth,
            is_seed: lease.is_seed,
            priority: lease.priority,
            leased_at: lease.leased_at,
            finished_at: now,
            requests: lease.requests + 1,
            host_next_at: {
                lease.host.release(now, host_next_at);
                host_next_at
            },
        }
    }

    /// The facts of an outstanding lease that is booked now.
    fn take(&mut self, number: usize, times: &mut Times4) -> Option<LeaseFacts> {
        if self.out.is_empty() {
            return None;
        }
        let facts = match self.out.swap_remove(number % self.out.len()) {
            Out::Fetching(lease) => self.release(lease, 0, times),
            Out::Judging(facts) => facts,
        };
        let still_open = matches!(self.model.urls[&facts.url.id()], Url::Open(_));
        still_open.then_some(facts)
    }

    fn take_fetching(&mut self, number: usize) -> Option<Lease> {
        let fetching = (0..self.out.len()).filter(|at| matches!(self.out[*at], Out::Fetching(_)));
        let fetching: Vec<usize> = fetching.collect();
        let at = *fetching.get(number.checked_rem(fetching.len())?)?;
        match self.out.swap_remove(at) {
            Out::Fetching(lease) => Some(lease),
            Out::Judging(_) => None,
        }
    }

    fn step(&mut self, step: &Step, times: &mut Times4) {
        match step {
            Step::Lease => self.lease(times),
            Step::Rival => self.lease_rival(times),
            Step::Release(number, wait) => {
                if let Some(lease) = self.take_fetching(*number) {
                    let facts = self.release(lease, *wait, times);
                    self.out.push(Out::Judging(facts));
                }
            }
            Step::GiveBack(number) => {
                if let Some(lease) = self.take_fetching(*number) {
                    let times = times.get_mut(lease.host.host()).unwrap();
                    times.is_leased = false;
                    times.note(self.crawl.now.0, 0);
                    if let Some(Url::Open(open)) = self.model.urls.get_mut(&lease.id) {
                        open.is_leased = false;
                    }
                    let now = self.crawl.now;
                    self.crawl.frontier.give_back(lease, now, now);
                    times.note(now.0, now.0);
                }
            }
            Step::Lose(number) => self.lose(*number, times),
            Step::Wait(_) => {}
            Step::Spec(cap, delay_ms) => {
                self.model.params.pages_per_host_max = *cap;
                self.model.params.delay = Duration::from_millis(*delay_ms);
                self.crawl.params = self.model.params;
                self.crawl.frontier.set_params(self.model.params);
            }
            booked => self.book_step(booked, times),
        }
    }

    /// A fetch panics: its host comes back by itself; the crawl books a failure.
    fn lose(&mut self, number: usize, times: &mut Times4) {
        if let Some(lease) = self.take_fetching(number) {
            let times = times.get_mut(lease.host.host()).unwrap();
            times.is_leased = false;
            // Nobody knows when: no later than now.
            let ended_at = self.crawl.frontier.calendar.latest();
            times.note(ended_at.max(lease.leased_at).0, 0);
            let facts = LeaseFacts {
                url: self.crawl.urls[&lease.id].clone(),
                references: lease.references.clone(),
                depth: lease.depth,
                is_seed: lease.is_seed,
                priority: lease.priority,
                leased_at: lease.leased_at,
                finished_at: lease.leased_at,
                requests: lease.requests + 1,
                host_next_at: lease.leased_at,
            };
            drop(lease);
            self.out.push(Out::Judging(facts));
        }
    }

    fn book_step(&mut self, step: &Step, times: &mut Times4) {
        let now = self.crawl.now;
        let event = match step {
            Step::Seed(numbers, priority) => Some(Event::Seeds(SeedsEvent {
                urls: numbers.iter().map(|number| url(&short(*number))).collect(),
                priority: f32::from(*priority),
                at: now,
            })),
            Step::Page(number, out) => self
                .take(*number, times)
                .map(|facts| page_event(facts, out)),
            Step::Fail(number, is_final) => self.take(*number, times).map(|lease| {
                Event::Failure(FailureBooking {
                    lease,
                    cause: "timeout-total".to_owned(),
                    message: String::new(),
                    is_final: *is_final,
                    frozen: None,
                    is_lesson: false,
                    kept: None,
                })
            }),
            Step::Redirect(number, to, is_refused) => self.take(*number, times).map(|lease| {
                Event::Redirect(RedirectBooking {
                    lease,
                    status: 302,
                    target: url(&short(*to)),
                    hops: 1,
                    refusal: is_refused.then_some(Refusal::Redirects),
                    kept: None,
                })
            }),
            Step::Refuse(number, is_lasting) => Some(Event::Refused(RefusedBooking {
                url: url(&short(*number)),
                references: Vec::new(),
                refusal: if *is_lasting {
                    Refusal::Robots
                } else {
                    Refusal::Scope
                },
                at: now,
            })),
            Step::Readmit(links) => Some(readmitted(links, now)),
            Step::Evict(numbers) => {
                let ids = numbers.iter().map(|number| url(&short(*number)).id());
                let waits = |id: &UrlId| matches!(self.model.urls.get(id), Some(Url::Open(open)) if !open.is_leased);
                let links = ids.filter(waits).collect();
                Some(Event::Evicted(EvictedEvent { links, at: now }))
            }
            Step::HostFacts(number, wait) => {
                let key = host(HOSTS[*number]);
                let next_at = Timestamp(now.0 + wait);
                let times = times.entry(key.clone()).or_default();
                times.next_at = times.next_at.max(next_at.0);
                Some(Event::HostFacts(HostFacts {
                    host: key,
                    next_at,
                    robots: "rules".to_owned(),
                    crawl_delay_ms: None,
                    given_up: wait % 2 == 0,
                    at: now,
                }))
            }
            _ => None,
        };
        if let Some(event) = event {
            self.book(event);
        }
    }

    fn check(&self) {
        assert_eq!(self.crawl.frontier.image(), self.model.image());
        let out = self.out_of_hosts();
        let leased: u64 = out.values().sum();
        let mut leasable = self.model.leasable(&out);
        leasable.sort_by(|(_, one), (_, two)| one.order(two, self.model.params.combine));
        let head = self.crawl.frontier.head(usize::MAX, self.crawl.now);
        let ids = |(id, _): &(UrlId, _)| *id;
        let head: Vec<UrlId> = head.into_iter().map(|link| link.id).collect();
        assert_eq!(head, leasable.iter().map(ids).collect::<Vec<_>>());
        let some = self.crawl.frontier.head(3, self.crawl.now);
        assert!(some.iter().map(|link| link.id).eq(head.into_iter().take(3)));
        let leasable = leasable.len() as u64;
        let open = self.model.open().count() as u64;
        let is_fetched = |url: &&Url| matches!(url, Url::Fetched(_));
        let fetched = self.model.urls.values().filter(is_fetched).count() as u64;
        let counts = self.crawl.frontier.counts(self.crawl.now);
        assert_eq!(counts.leased, leased);
        assert_eq!(counts.waiting, leasable);
        assert_eq!(counts.held, open - leased - leasable);
        assert_eq!(counts.fetched, fetched);
        assert_eq!(
            counts.refused,
            self.model.urls.len() as u64 - open - fetched
        );
    }

    /// Everything that waits is fetched in the end, and the log tells the same.
    fn finish(&mut self, times: &mut Times4) {
        self.step(&Step::Spec(None, 100), times);
        while !self.out.is_empty() {
            self.step(&Step::Fail(0, false), times);
        }
        self.crawl.now.0 += 10_000;
        let open = self.model.open().count();
        assert_eq!(self.crawl.drain().len(), open);
        self.crawl.assert_equals_its_log();
    }
}

fn readmitted(links: &[(usize, i8)], at: Timestamp) -> Event {
    let link = |(place, (number, priority)): (u32, &(usize, i8))| {
        let target = url(&short(*number));
        ReadmittedLink {
            target: target.id(),
            reference: Reference {
                seq: Seq(1),
                link: place,
            },
            host: u32::try_from(number / PATHS).unwrap(),
            priority: f32::from(*priority),
            depth: 3,
        }
    };
    Event::Readmitted(ReadmittedEvent {
        links: (0..).zip(links).map(link).collect(),
        hosts: HOSTS.iter().map(|name| host(name)).collect(),
        at,
    })
}

fn page_event(facts: LeaseFacts, out: &[(usize, i8, bool)]) -> Event {
    let hosts = HOSTS.iter().map(|name| host(name)).collect();
    let link = |(number, priority, is_refused): &(usize, i8, bool)| LinkFact {
        target: url(&short(*number)).id(),
        host: u32::try_from(number / PATHS).unwrap(),
        priority: f32::from(*priority),
        refusal: is_refused.then_some(Refusal::Nofollow),
    };
    let links = out.iter().map(link).collect();
    let mut page = page_booking(facts, links, hosts);
    page.judgement.log_odds = (out.len() % 4) as f32;
    Event::Page(page)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn crawls_on_one_calendar_do_what_the_plain_model_says(
        params in prop::array::uniform3(fixed_params()),
        steps in prop::collection::vec((0..3_usize, step()), 1..150),
    ) {
        let calendar = HostCalendar::default();
        let mut times = Times4::new();
        let mut crawls = params.map(|params| Driven::new(params, &calendar));
        for (which, step) in &steps {
            if let Step::Wait(ms) = step {
                for driven in &mut crawls {
                    driven.crawl.now.0 += ms;
                }
            }
            let driven = &mut crawls[*which];
            driven.step(step, &mut times);
            driven.check();
        }
        // All leases end first, or the hosts of others would never be free.
        for driven in &mut crawls {
            driven.crawl.assert_equals_its_log();
            while !driven.out.is_empty() {
                driven.step(&Step::Fail(0, false), &mut times);
            }
        }
        let mut now = crawls[0].crawl.now;
        for driven in &mut crawls {
            driven.crawl.now = now;
            driven.finish(&mut times);
            now = driven.crawl.now;
        }
    }
}
