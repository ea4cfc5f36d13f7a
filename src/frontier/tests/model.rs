//! The same rules, written plainly: every offer is kept, and everything is looked for by scanning.

use std::cmp::Ordering;

use super::*;

/// What the model keeps of a URL.
#[derive(Clone, Debug)]
pub(super) enum Url {
    Open(Open),
    Fetched(Seq),
    Refused(Refusal, Seq, bool),
}

#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) host: HostKey,
    /// Every reference ever offered, with the priority that it gave, in order.
    offers: Vec<(Reference, f32)>,
    /// The number of the offer that made it a seed.
    seed_since: Option<u32>,
    /// The greatest log odds of a page that it stands on, or what stands for them.
    worth: f32,
    depth: u16,
    requests: u32,
    hops: u16,
    pub(super) is_leased: bool,
}

/// What another scope may take back.
const SCOPE: [Refusal; 4] = [
    Refusal::Scope,
    Refusal::Depth,
    Refusal::HardFocus,
    Refusal::Nofollow,
];

#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) params: FrontierParams,
    pub(super) urls: BTreeMap<UrlId, Url>,
    hosts: BTreeMap<HostKey, HostImage>,
}

impl Open {
    fn new(host: HostKey, offer: (Reference, f32), worth: f32, depth: u16) -> Self {
        Self {
            host,
            offers: vec![offer],
            seed_since: None,
            worth,
            depth,
            requests: 0,
            hops: 0,
            is_leased: false,
        }
    }

    /// What the combination makes of all offers. Its formulas are tested where they stand: a mean that
    /// is rounded otherwise would be another order.
    fn priority(&self, combine: Combine) -> f32 {
        let mut priority = self.offers[0].1;
        for (count, (_, offer)) in (2..).zip(&self.offers[1..]) {
            let is_seed = self.seed_since.is_some_and(|since| since <= count);
            let combine = match combine {
                Combine::Mean | Combine::NoisyOr if is_seed => Combine::Best,
                combine => combine,
            };
            priority = combine.of(priority, *offer, count);
        }
        priority
    }

    /// `Less` if this one comes first.
    pub(super) fn order(&self, other: &Self, combine: Combine) -> Ordering {
        let by_priority = (other.priority(combine)).total_cmp(&self.priority(combine));
        by_priority.then(self.offers[0].0.cmp(&other.offers[0].0))
    }

    /// `Less` if the baseline takes this one first.
    pub(super) fn baseline_order(&self, other: &Self) -> Ordering {
        let by_worth = other.worth.total_cmp(&self.worth);
        by_worth.then(self.offers[0].0.cmp(&other.offers[0].0))
    }

    /// The first, the best (the earlier of equals), then the earliest, `max` in all.
    fn references(&self, max: usize) -> Vec<Reference> {
        let mut best = 0;
        for (at, offer) in self.offers.iter().enumerate() {
            if offer.1 > self.offers[best].1 {
                best = at;
            }
        }
        let mut order = vec![0];
        if best != 0 {
            order.push(best);
        }
        order.extend((1..self.offers.len()).filter(|at| *at != best));
        order.truncate(max);
        order.into_iter().map(|at| self.offers[at].0).collect()
    }
}

impl Model {
    pub(super) fn new(params: FrontierParams) -> Self {
        Self {
            params,
            urls: BTreeMap::new(),
            hosts: BTreeMap::new(),
        }
    }

    pub(super) fn admit(&mut self, seq: Seq, event: &Event) {
        match event {
            Event::Page(page) => {
                self.finish(seq, &page.lease, 1);
                let mut taken = Vec::new();
                for (index, link) in (0..).zip(&page.links) {
                    if link.target == page.lease.url.id() || taken.contains(&link.target) {
                        continue;
                    }
                    if let Some(refusal) = link.refusal {
                        let refused = Url::Refused(refusal, seq, false);
                        self.urls.entry(link.target).or_insert(refused);
                        continue;
                    }
                    taken.push(link.target);
                    let host = page.hosts[link.host as usize].clone();
                    let depth = page.lease.depth + 1;
                    let offer = (at(seq.0, index), link.priority);
                    let worth = page.judgement.log_odds;
                    self.offer(link.target, Open::new(host, offer, worth, depth));
                }
            }
            Event::Failure(failure) if failure.is_final => self.finish(seq, &failure.lease, 1),
            Event::Failure(failure) => {
                if let Some(Url::Open(open)) = self.urls.get_mut(&failure.lease.url.id()) {
                    open.requests = failure.lease.requests;
                    open.is_leased = false;
                }
            }
            Event::Redirect(redirect) => self.admit_redirect(seq, redirect),
            Event::Refused(refused) => {
                let id = refused.url.id();
                let lasting = [Refusal::Robots, Refusal::Address, Refusal::HostGivenUp];
                let is_lasting = lasting.contains(&refused.refusal);
                if !matches!(self.urls.get(&id), Some(Url::Fetched(_))) {
                    let refused = Url::Refused(refused.refusal, seq, is_lasting);
                    self.urls.insert(id, refused);
                }
            }
            Event::HostFacts(facts) => {
                let host = self.hosts.entry(facts.host.clone()).or_default();
                host.is_given_up = facts.given_up;
            }
            Event::Seeds(seeds) => {
                for (index, url) in (0..).zip(&seeds.urls) {
                    let offer = (at(seq.0, index), seeds.priority);
                    let mut open = Open::new(url.host_key(), offer, seeds.priority, 0);
                    open.seed_since = Some(1);
                    self.offer(url.id(), open);
                }
            }
            Event::Readmitted(event) => {
                for link in &event.links {
                    let refused = self.urls.get(&link.target);
                    if matches!(refused, Some(Url::Refused(refusal, _, false)) if SCOPE.contains(refusal))
                    {
                        let host = event.hosts[link.host as usize].clone();
                        let offer = (link.reference, link.priority);
                        let open = Open::new(host, offer, link.priority, link.depth);
                        self.offer(link.target, open);
                    }
                }
            }
            Event::Evicted(event) => self.evict(seq, &event.links),
            Event::SpecChange(_) | Event::State(_) | Event::Feedback(_) | Event::Epoch(_) => {}
        }
    }

    fn evict(&mut self, seq: Seq, links: &[UrlId]) {
        for id in links {
            if let Some(url @ Url::Open(_)) = self.urls.get_mut(id) {
                *url = Url::Refused(Refusal::Evicted, seq, false);
            }
        }
    }

    fn admit_redirect(&mut self, seq: Seq, redirect: &RedirectBooking) {
        let lease = &redirect.lease;
        let worth = match self.urls.get(&lease.url.id()) {
            Some(Url::Open(open)) => open.worth,
            _ => lease.priority,
        };
        self.finish(seq, lease, 0);
        let id = redirect.target.id();
        if let Some(refusal) = redirect.refusal {
            let refused = Url::Refused(refusal, seq, false);
            self.urls.entry(id).or_insert(refused);
            return;
        }
        let offer = (at(seq.0, 0), lease.priority);
        let mut open = Open::new(redirect.target.host_key(), offer, worth, lease.depth);
        open.hops = redirect.hops;
        open.seed_since = lease.is_seed.then_some(1);
        let inherited = lease.references.iter().map(|at| (*at, f32::NEG_INFINITY));
        open.offers.extend(inherited);
        self.offer(id, open);
    }

    fn finish(&mut self, seq: Seq, lease: &LeaseFacts, fetches: u64) {
        self.urls.insert(lease.url.id(), Url::Fetched(seq));
        self.hosts.entry(lease.url.host_key()).or_default().fetched += fetches;
    }

    fn offer(&mut self, id: UrlId, new: Open) {
        match self.urls.get_mut(&id) {
            None | Some(Url::Refused(_, _, false)) => {
                self.hosts.entry(new.host.clone()).or_default();
                self.urls.insert(id, Url::Open(new));
            }
            Some(Url::Open(open)) => {
                let next = u32::try_from(open.offers.len()).unwrap() + 1;
                open.seed_since = open.seed_since.or(new.seed_since.map(|_| next));
                open.worth = open.worth.max(new.worth);
                for offer in new.offers {
                    if open.offers.iter().all(|(at, _)| *at != offer.0) {
                        open.offers.push(offer);
                    }
                }
                open.depth = open.depth.min(new.depth);
                open.hops = open.hops.min(new.hops);
            }
            Some(Url::Fetched(_) | Url::Refused(..)) => {}
        }
    }

    pub(super) fn open(&self) -> impl Iterator<Item = (UrlId, &Open)> {
        self.urls.iter().filter_map(|(id, url)| match url {
            Url::Open(open) => Some((*id, open)),
            _ => None,
        })
    }

    /// The waiting links of hosts below the cap. `out` are the fetches of each host whose outcome is
    /// not booked.
    pub(super) fn leasable(&self, out: &BTreeMap<HostKey, u64>) -> Vec<(UrlId, &Open)> {
        let cap = self.params.pages_per_host_max.unwrap_or(u64::MAX);
        self.open()
            .filter(|(_, open)| !open.is_leased)
            .filter(|(_, open)| {
                let out = out.get(&open.host).copied().unwrap_or(0);
                self.hosts[&open.host].fetched + out < cap
            })
            .collect()
    }

    pub(super) fn image(&self) -> FrontierImage {
        let urls = (self.urls.iter())
            .map(|(id, url)| {
                let image = match url {
                    Url::Fetched(seq) => UrlImage::Fetched(*seq),
                    Url::Refused(refusal, seq, _) => UrlImage::Refused(*refusal, *seq),
                    Url::Open(open) => UrlImage::Waiting(WaitingImage {
                        host: open.host.clone(),
                        priority: open.priority(self.params.combine),
                        references: open.references(self.params.references_max),
                        parents: u32::try_from(open.offers.len()).unwrap(),
                        depth: open.depth,
                        requests: open.requests,
                        hops: open.hops,
                        is_seed: open.seed_since.is_some(),
                    }),
                };
                (*id, image)
            })
            .collect();
        FrontierImage {
            urls,
            hosts: self.hosts.clone(),
        }
    }
}
