//! What can be seen of a frontier: sizes, the head of the queue, one link, and the whole.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::Held;
use super::host_queue::Place;
use super::known::Known;
use super::links::{Link, OrderKey};
use super::queue::Frontier;
use crate::booking::{Reference, Refusal, Seq};
use crate::clock::Timestamp;
use crate::url::{HostKey, UrlId};

/// Sizes, for the status line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrontierCounts {
    /// Links that wait and may be leased.
    pub waiting: u64,
    /// Links held because their host has reached its cap.
    pub held: u64,
    /// Links out on a lease.
    pub leased: u64,
    /// URLs fetched (pages, final failures, redirects).
    pub fetched: u64,
    /// URLs refused.
    pub refused: u64,
    /// Hosts known.
    pub hosts: u64,
    /// Hosts with a waiting link whose time has come.
    pub hosts_ready: u64,
}

/// Why a link is not on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyWaiting {
    /// Its turn has not come: better links stand before it.
    Ready,
    /// Its host may not be asked before this moment.
    HostUntil(Timestamp),
    /// Its host is out on a lease.
    HostLeased,
    /// Its host has reached the cap.
    HostCapped,
}

/// A waiting link, as shown.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingLink {
    /// Fingerprint of the URL.
    pub id: UrlId,
    /// Its host.
    pub host: HostKey,
    /// Its priority.
    pub priority: f32,
    /// Where it was found; the first one first.
    pub references: Vec<Reference>,
    /// How often a booked page links to it (beyond the references kept, too).
    pub parents: u32,
    /// Links between a seed and it.
    pub depth: u16,
    /// Why it waits.
    pub why: WhyWaiting,
}

/// All that the frontier knows of one URL.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownLink {
    /// What became of it.
    pub state: LinkState,
    /// Where it waits, if it does.
    pub waiting: Option<WaitingLink>,
}

/// What became of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It waits.
    Waiting,
    /// It is being fetched.
    Leased,
    /// Fetched: the event that booked the outcome (Page, Failure or Redirect).
    Fetched(Seq),
    /// Not taken in or struck off, and the event that says so.
    Refused(Refusal, Seq),
}

/// The whole memory of a frontier as plain data, leases shown as waiting: what a fold of the same
/// events has to be equal to.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontierImage {
    /// Every URL known.
    pub urls: BTreeMap<UrlId, UrlImage>,
    /// Every host known.
    pub hosts: BTreeMap<HostKey, HostImage>,
}

/// A URL in a [`FrontierImage`].
#[derive(Clone, Debug, PartialEq)]
pub enum UrlImage {
    /// It waits, or is leased.
    Waiting(WaitingImage),
    /// See [`LinkState::Fetched`].
    Fetched(Seq),
    /// See [`LinkState::Refused`].
    Refused(Refusal, Seq),
}

/// A waiting link in a [`FrontierImage`].
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingImage {
    /// Its host.
    pub host: HostKey,
    /// Its priority.
    pub priority: f32,
    /// Where it was found: the first, the best, then the earliest.
    pub references: Vec<Reference>,
    /// References offered.
    pub parents: u32,
    /// Links between a seed and it.
    pub depth: u16,
    /// Requests made for it.
    pub requests: u32,
    /// Redirects that led to it.
    pub hops: u16,
    /// Somebody gave it as a seed.
    pub is_seed: bool,
}

/// A host in a [`FrontierImage`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostImage {
    /// Pages and final failures.
    pub fetched: u64,
    /// See [`Frontier::host_given_up`].
    pub is_given_up: bool,
}

impl Frontier {
    /// The best `k` waiting links, best first, as they would come if no host had to wait (held links
    /// would not come). Looks at every host, and at some `k` links, however long the queues are.
    pub fn head(&self, k: usize, now: Timestamp) -> Vec<WaitingLink> {
        let best = self.best_slots(k).into_iter();
        best.map(|slot| self.show(self.links.get(slot), slot, now))
            .collect()
    }

    /// The slots of these links.
    pub(super) fn best_slots(&self, k: usize) -> Vec<u32> {
        // A link among the best k stands at a host whose best link is among the best k hosts'.
        let mut hosts: Vec<_> = self.hosts_with_best().collect();
        keep_best(&mut hosts, k, |(key, _)| *key);
        let mut walks: Vec<_> = (hosts.into_iter())
            .map(|(_, number)| {
                let side = self.hosts.side(number);
                self.hosts.get(number).best_links(&self.links, side)
            })
            .collect();
        let heads = walks.iter_mut().enumerate();
        let mut heads: BinaryHeap<_> = heads
            .filter_map(|(walk, links)| Some((Reverse(links.next()?), walk)))
            .collect();
        let best = std::iter::from_fn(|| {
            let (Reverse((_, slot)), walk) = heads.pop()?;
            heads.extend(walks[walk].next().map(|next| (Reverse(next), walk)));
            Some(slot)
        });
        best.take(k).collect()
    }

    /// The hosts with a link that may be leased, now or later, each with the key of its best one, in no order
    /// that means anything. Where a host stands mostly names it.
    fn hosts_with_best(&self) -> impl Iterator<Item = (OrderKey, u32)> {
        let hosts = (0..).zip(self.hosts.iter());
        hosts
            .filter(|(_, host)| !host.is_capped)
            .filter_map(|(number, host)| {
                let best = match host.place() {
                    Place::Ready(key) | Place::Behind(_, key) => Some(key),
                    Place::Idle => None,
                    Place::Waiting(_) | Place::Away => self.hosts.best_of(number, &self.links),
                };
                Some((best?, number))
            })
    }

    /// What is known of a URL; `None` if nothing.
    pub fn lookup(&self, id: UrlId, now: Timestamp) -> Option<KnownLink> {
        let (state, waiting) = match self.known.get(id)? {
            Known::Fetched(seq) => (LinkState::Fetched(seq), None),
            Known::Refused { refusal, seq, .. } => (LinkState::Refused(refusal, seq), None),
            Known::Open(slot) => {
                let link = self.links.get(slot);
                if link.is_leased() {
                    (LinkState::Leased, None)
                } else {
                    (LinkState::Waiting, Some(self.show(link, slot, now)))
                }
            }
        };
        Some(KnownLink { state, waiting })
    }

    /// Sizes.
    pub fn counts(&self, now: Timestamp) -> FrontierCounts {
        let links = self.hosts.counts();
        FrontierCounts {
            waiting: links.waiting,
            held: links.held,
            leased: links.leased,
            fetched: self.known.fetched(),
            refused: self.known.refused(),
            hosts: self.hosts.len() as u64,
            hosts_ready: self.hosts.ready_at(now) as u64,
        }
    }

    /// Everything, for comparison: copies the whole frontier.
    pub fn image(&self) -> FrontierImage {
        let urls = (self.known.sorted().into_iter())
            .map(|(id, known)| {
                let image = match known {
                    Known::Open(slot) => UrlImage::Waiting(self.picture(slot)),
                    Known::Fetched(seq) => UrlImage::Fetched(seq),
                    Known::Refused { refusal, seq, .. } => UrlImage::Refused(refusal, seq),
                };
                (id, image)
            })
            .collect();
        let hosts = (self.hosts.iter())
            .map(|host| {
                let image = HostImage {
                    fetched: u64::from(host.fetched),
                    is_given_up: host.is_given_up,
                };
                (host.key.clone(), image)
            })
            .collect();
        FrontierImage { urls, hosts }
    }

    fn picture(&self, slot: u32) -> WaitingImage {
        let link = self.links.get(slot);
        WaitingImage {
            host: self.hosts.get(link.host).key.clone(),
            priority: self.priority_of(slot),
            references: self.links.references(slot),
            parents: self.links.parents(slot),
            depth: link.depth,
            requests: link.requests(),
            hops: link.hops(),
            is_seed: link.is_seed(),
        }
    }

    fn show(&self, link: &Link, slot: u32, now: Timestamp) -> WaitingLink {
        WaitingLink {
            id: self.id_of(slot),
            host: self.hosts.get(link.host).key.clone(),
            priority: self.priority_of(slot),
            references: self.links.references(slot),
            parents: self.links.parents(slot),
            depth: link.depth,
            why: self.why(link, now),
        }
    }

    fn why(&self, link: &Link, now: Timestamp) -> WhyWaiting {
        let host = self.hosts.get(link.host);
        if host.is_capped {
            return WhyWaiting::HostCapped;
        }
        match self.calendar.held(&host.key, now, self.params.spacing()) {
            Some(Held::Until(until)) => WhyWaiting::HostUntil(until),
            Some(Held::Leased) => WhyWaiting::HostLeased,
            None => WhyWaiting::Ready,
        }
    }
}

/// Leaves the `k` smallest by `key`, in order.
fn keep_best<T>(all: &mut Vec<T>, k: usize, key: impl Fn(&T) -> OrderKey) {
    if all.len() > k && k > 0 {
        all.select_nth_unstable_by_key(k - 1, &key);
    }
    all.truncate(k);
    all.sort_unstable_by_key(key);
}
