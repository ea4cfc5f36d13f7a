//! Hosts change over to new scores while links are found, leased and fetched, against a plain model.

use proptest::prelude::*;

use super::*;
use crate::frontier::new_scores::Side;

const HOSTS: [&str; 5] = ["a", "b", "c", "d", "e"];
const PATHS: usize = 5;
const URLS: usize = HOSTS.len() * PATHS;

#[derive(Clone, Debug)]
enum Step {
    Seed(usize, i8),
    Lease,
    Page(usize, Vec<(usize, i8)>),
    Retry(usize),
    GiveBack(usize),
    PutBack(usize, i8),
    Begin,
    Rescore(usize, i8),
    Switch(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let links = prop::collection::vec((0..URLS, -9..9_i8), 0..9);
    prop_oneof![
        2 => (0..URLS, -9..9_i8).prop_map(|(url, p)| Step::Seed(url, p)),
        6 => Just(Step::Lease),
        4 => (0..9_usize, links).prop_map(|(n, links)| Step::Page(n, links)),
        1 => (0..9_usize).prop_map(Step::Retry),
        2 => (0..9_usize).prop_map(Step::GiveBack),
        2 => (0..9_usize, -9..9_i8).prop_map(|(n, p)| Step::PutBack(n, p)),
        1 => Just(Step::Begin),
        8 => (0..URLS, -9..9_i8).prop_map(|(url, p)| Step::Rescore(url, p)),
        12 => (0..30_usize).prop_map(Step::Switch),
    ]
}

fn short(number: usize) -> String {
    format!("{}/{}", HOSTS[number / PATHS], number % PATHS)
}

/// An open link: what it is worth on both sides.
#[derive(Clone, Debug)]
struct Open {
    host: HostKey,
    first: Reference,
    old: f32,
    new: Option<f32>,
    is_leased: bool,
}

struct Driven {
    crawl: Crawl,
    open: BTreeMap<UrlId, Open>,
    gone: Vec<UrlId>,
    out: Vec<Lease>,
    is_switching: bool,
    /// Hosts that go by new scores, when last looked.
    switched: Vec<HostKey>,
}

impl Driven {
    fn new() -> Self {
        let params = FrontierParams {
            delay: Duration::ZERO,
            ..params()
        };
        Self {
            crawl: Crawl::new(params),
            open: BTreeMap::new(),
            gone: Vec::new(),
            out: Vec::new(),
            is_switching: false,
            switched: Vec::new(),
        }
    }

    fn offer(&mut self, short: &str, first: Reference, priority: f32) {
        let id = url(short).id();
        if self.gone.contains(&id) {
            return;
        }
        let switches = self.is_switching;
        if let Some(open) = self.open.get_mut(&id) {
            open.old = open.old.max(priority);
            open.new = (open.new).map(|new| if switches { new.max(priority) } else { new });
            return;
        }
        let open = Open {
            host: url(short).host_key(),
            first,
            old: priority,
            new: None,
            is_leased: false,
        };
        self.open.insert(id, open);
    }

    fn is_new(&self, host: &HostKey) -> bool {
        let hosts = &self.crawl.frontier.hosts;
        (0..)
            .zip(hosts.iter())
            .any(|(number, other)| other.key == *host && hosts.side(number) == Side::New)
    }

    fn worth(&self, open: &Open) -> f32 {
        match open.new {
            Some(new) if self.is_new(&open.host) => new,
            _ => open.old,
        }
    }

    /// The waiting links, best first.
    fn order(&self) -> Vec<UrlId> {
        let mut all: Vec<_> = (self.open.iter())
            .filter(|(_, open)| !open.is_leased)
            .map(|(id, open)| (self.worth(open), open.first, *id))
            .collect();
        all.sort_by(|one, two| two.0.total_cmp(&one.0).then(one.1.cmp(&two.1)));
        all.into_iter().map(|(_, _, id)| id).collect()
    }

    fn take(&mut self, number: usize) -> Option<Lease> {
        let at = number.checked_rem(self.out.len())?;
        Some(self.out.swap_remove(at))
    }

    fn waits(&mut self, id: UrlId) {
        self.open.get_mut(&id).unwrap().is_leased = false;
    }

    fn lease(&mut self) {
        let out: Vec<HostKey> = self
            .out
            .iter()
            .map(|lease| lease.host.host().clone())
            .collect();
        let mut order = self.order().into_iter();
        let best = order.find(|id| !out.contains(&self.open[id].host));
        match self.crawl.frontier.next(self.crawl.now) {
            Next::Lease(lease) => {
                assert_eq!(Some(lease.id), best, "the best link of the ready hosts");
                let worth = self.worth(&self.open[&lease.id]);
                assert!(lease.priority.total_cmp(&worth).is_eq());
                self.open.get_mut(&lease.id).unwrap().is_leased = true;
                self.out.push(lease);
            }
            _ => assert_eq!(best, None),
        }
    }

    fn page(&mut self, lease: Lease, links: &[(usize, i8)]) {
        self.open.remove(&lease.id);
        self.gone.push(lease.id);
        let own = lease.id;
        let names: Vec<String> = links.iter().map(|(number, _)| short(*number)).collect();
        let out = names.iter().zip(links);
        let out: Vec<Out<'_>> = out
            .map(|(name, (_, priority))| (name.as_str(), f32::from(*priority), None))
            .collect();
        let seq = self.crawl.page(lease, &out);
        let mut seen = vec![own];
        for (link, (name, priority, _)) in (0..).zip(out) {
            if !seen.contains(&url(name).id()) {
                seen.push(url(name).id());
                self.offer(name, at(seq.0, link), priority);
            }
        }
    }

    fn put_back(&mut self, lease: Lease, priority: f32) {
        let id = lease.id;
        let switches = self.is_switching;
        let open = self.open.get_mut(&id).unwrap();
        open.old = priority;
        open.new = open.new.map(|new| if switches { priority } else { new });
        match self.crawl.frontier.put_back_if_worse(lease, priority) {
            Ok(()) => self.waits(id),
            Err(lease) => self.out.push(lease),
        }
    }

    fn switch(&mut self, steps: usize) {
        self.is_switching = true;
        if self.crawl.frontier.switch(steps) {
            self.is_switching = false;
            for open in self.open.values_mut() {
                open.old = open.new.take().unwrap_or(open.old);
            }
        }
    }

    fn step(&mut self, step: &Step) {
        let now = self.crawl.now;
        match step {
            Step::Seed(number, priority) => {
                let (name, priority) = (short(*number), f32::from(*priority));
                let seq = self.crawl.seed(&[&name], priority);
                self.offer(&name, at(seq.0, 0), priority);
            }
            Step::Lease => self.lease(),
            Step::Page(number, links) => {
                if let Some(lease) = self.take(*number) {
                    self.page(lease, links);
                }
            }
            Step::Retry(number) => {
                if let Some(lease) = self.take(*number) {
                    self.waits(lease.id);
                    self.crawl.fail(lease, false);
                }
            }
            Step::GiveBack(number) => {
                if let Some(lease) = self.take(*number) {
                    self.waits(lease.id);
                    self.crawl.frontier.give_back(lease, now, now);
                }
            }
            Step::PutBack(number, priority) => {
                if let Some(lease) = self.take(*number) {
                    self.put_back(lease, f32::from(*priority));
                }
            }
            Step::Begin => {
                self.crawl.frontier.begin_rescoring();
                if !self.is_switching {
                    self.open.values_mut().for_each(|open| open.new = None);
                }
            }
            Step::Rescore(number, score) => {
                let (id, score) = (url(&short(*number)).id(), f32::from(*score));
                self.crawl.frontier.rescore(id, at(1, 0), score);
                if let (Some(open), false) = (self.open.get_mut(&id), self.is_switching) {
                    open.new = Some(open.new.map_or(score, |new| new.max(score)));
                }
            }
            Step::Switch(steps) => self.switch(*steps),
        }
    }

    fn check(&mut self) {
        let frontier = &self.crawl.frontier;
        let order = self.order();
        let ids = |links: Vec<WaitingLink>| links.into_iter().map(|link| link.id).collect();
        let head: Vec<UrlId> = ids(frontier.head(usize::MAX, self.crawl.now));
        assert_eq!(head, order);
        let some: Vec<UrlId> = ids(frontier.head(3, self.crawl.now));
        assert_eq!(some, order[..order.len().min(3)]);
        assert_eq!(frontier.is_switching(), self.is_switching);
        let counts = frontier.counts(self.crawl.now);
        assert_eq!(counts.waiting, order.len() as u64);
        // Who has changed over stays so until all have, and the first ones are first.
        let hosts: Vec<HostKey> = frontier.hosts.iter().map(|host| host.key.clone()).collect();
        let switched: Vec<HostKey> = hosts
            .iter()
            .filter(|host| self.is_new(host))
            .cloned()
            .collect();
        assert_eq!(switched, hosts[..switched.len()]);
        assert!(!self.is_switching || switched.len() >= self.switched.len());
        self.switched = if self.is_switching {
            switched
        } else {
            Vec::new()
        };
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn each_host_goes_by_one_epoch_whatever_happens_meanwhile(
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let mut driven = Driven::new();
        for number in (0..URLS).step_by(3) {
            driven.step(&Step::Seed(number, i8::try_from(number % 4).unwrap()));
        }
        for step in &steps {
            driven.step(step);
            driven.check();
        }
        driven.switch(usize::MAX);
        driven.check();
        for lease in std::mem::take(&mut driven.out) {
            driven.waits(lease.id);
            driven.crawl.frontier.give_back(lease, driven.crawl.now, driven.crawl.now);
        }
        let order = driven.order();
        let drained = driven.crawl.drain();
        let names: Vec<UrlId> = drained.iter().map(|name| url(name).id()).collect();
        prop_assert_eq!(names, order);
    }
}
