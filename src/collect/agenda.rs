//! What is still to be asked for: a queue a host, and when each host is to be looked at again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::clock::Timestamp;
use crate::fetch::robots::Origin;
use crate::url::{CanonicalUrl, HostKey};

/// A URL to be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) url: CanonicalUrl,
    /// Redirects that led here.
    pub(super) hops: usize,
    /// Requests that failed.
    pub(super) tries: u32,
}

/// Invariant: a host with jobs stands in `by_time` once, or is out, or waits for a lease to end.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    hosts: BTreeMap<HostKey, VecDeque<Job>>,
    by_time: BTreeSet<(Timestamp, HostKey)>,
    /// Hosts with a request under way.
    out: BTreeSet<HostKey>,
    /// Hosts that a request of another host's robots.txt has leased.
    blocked: BTreeSet<HostKey>,
    /// All URLs that were ever taken up.
    seen: BTreeSet<CanonicalUrl>,
    jobs: usize,
}

impl Agenda {
    /// Jobs that wait.
    pub(super) fn len(&self) -> usize {
        self.jobs
    }

    /// Takes a URL up, unless it was before. Its host is looked at from `now` on.
    pub(super) fn add(&mut self, url: CanonicalUrl, hops: usize, now: Timestamp) {
        if !self.seen.insert(url.clone()) {
            return;
        }
        let host = url.host_key();
        let queue = self.hosts.entry(host.clone()).or_default();
        let is_new = queue.is_empty();
        queue.push_back(Job {
            url,
            hops,
            tries: 0,
        });
        self.jobs += 1;
        if is_new && !self.out.contains(&host) {
            self.by_time.insert((now, host));
        }
    }

    /// The first host to be looked at, whose time is `now` or before; it is out from then on.
    pub(super) fn take_host(&mut self, now: Timestamp) -> Option<HostKey> {
        let (at, _) = self.by_time.first()?;
        if *at > now {
            return None;
        }
        let (_, host) = self.by_time.pop_first()?;
        self.out.insert(host.clone());
        Some(host)
    }

    /// When the next host is to be looked at.
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// The next URL of a host.
    pub(super) fn front(&self, host: &HostKey) -> Option<&Job> {
        self.hosts.get(host)?.front()
    }

    /// Takes the next job of a host out.
    pub(super) fn pop(&mut self, host: &HostKey) -> Option<Job> {
        let job = self.hosts.get_mut(host)?.pop_front()?;
        self.jobs -= 1;
        Some(job)
    }

    /// Puts a job back to the head of its host's queue.
    pub(super) fn put_back(&mut self, job: Job) {
        let host = job.url.host_key();
        self.hosts.entry(host).or_default().push_front(job);
        self.jobs += 1;
    }

    /// The host is no longer out, and is looked at again at `at` if it has anything left.
    pub(super) fn return_host(&mut self, host: HostKey, at: Timestamp) {
        self.out.remove(&host);
        if self.front(&host).is_some() {
            self.by_time.insert((at, host));
        } else {
            self.hosts.remove(&host);
        }
    }

    /// The host is looked at again when a request has ended.
    pub(super) fn block(&mut self, host: HostKey) {
        self.blocked.insert(host);
    }

    /// A request has ended: blocked hosts are looked at from `now` on.
    pub(super) fn unblock(&mut self, now: Timestamp) {
        for host in std::mem::take(&mut self.blocked) {
            self.return_host(host, now);
        }
    }

    /// Takes all jobs of a host out, or those of one origin.
    pub(super) fn drop_jobs(&mut self, host: &HostKey, origin: Option<&Origin>) -> Vec<Job> {
        let Some(queue) = self.hosts.get_mut(host) else {
            return Vec::new();
        };
        let (dropped, kept): (Vec<Job>, Vec<Job>) = queue
            .drain(..)
            .partition(|job| origin.is_none_or(|origin| Origin::of(&job.url) == *origin));
        *queue = kept.into();
        self.jobs -= dropped.len();
        dropped
    }
}
