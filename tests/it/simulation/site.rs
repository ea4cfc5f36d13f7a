//! The web as a source that watches how it is asked: one request a host at a time, the delays kept,
//! robots.txt first and obeyed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use apprentice::booking::Event;
use apprentice::clock::{Clock, SimulatedClock, Timestamp};
use apprentice::fetch::{FetchError, Outcome, Request, Source};
use apprentice::url::CanonicalUrl;

use super::web::{Robots, Web, place, robots_of};

/// A watched web. A clone is the same one.
#[derive(Clone)]
pub(super) struct Site {
    web: Arc<Web>,
    clock: SimulatedClock,
    delay: Duration,
    /// Requests take time; only where one is in flight, or the order of the tasks would show.
    takes_time: bool,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    busy: BTreeSet<usize>,
    asked: BTreeMap<CanonicalUrl, u32>,
    done: Vec<Done>,
    /// Hosts whose robots.txt was answered in this life of the crawler.
    robots: BTreeSet<usize>,
    /// How often in a row it could not be had.
    unreachable: BTreeMap<usize, u32>,
    wrongs: Vec<String>,
}

/// A request that has ended.
struct Done {
    url: CanonicalUrl,
    at: Timestamp,
    not_before: Timestamp,
}

impl Site {
    pub(super) fn new(
        web: Arc<Web>,
        clock: SimulatedClock,
        delay: Duration,
        takes_time: bool,
    ) -> Self {
        Self {
            web,
            clock,
            delay,
            takes_time,
            seen: Arc::default(),
        }
    }

    /// What was done wrong so far.
    pub(super) fn wrongs(&self) -> Vec<String> {
        self.lock().wrongs.clone()
    }

    /// Requests for each URL, robots.txt left out.
    pub(super) fn asked(&self) -> BTreeMap<CanonicalUrl, u32> {
        let mut asked = self.lock().asked.clone();
        asked.retain(|url, _| place(url).1.is_some());
        asked
    }

    /// The crawler has died or was shut down; of its requests it can only know those of `log`.
    pub(super) fn crawler_ended(&self, log: &[Event]) {
        let mut seen = self.lock();
        seen.busy.clear();
        seen.robots.clear();
        seen.unreachable.clear();
        seen.done
            .retain(|done| log.iter().any(|event| tells_of(event, done)));
        // The log keeps for how long a host is parked, but not of one that was given up.
        for done in &mut seen.done {
            let given_up =
                |event: &&Event| matches!(event, Event::HostFacts(facts) if facts.given_up);
            let mut gives_up = log.iter().filter(given_up);
            if place(&done.url).1.is_none() && gives_up.any(|event| tells_of(event, done)) {
                done.not_before = done.at.after(self.delay);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    fn begins(&self, url: &CanonicalUrl) -> u32 {
        let (host, page) = place(url);
        let now = self.clock.now();
        let mut seen = self.lock();
        if !seen.busy.insert(host) {
            seen.wrongs.push(format!("{url}: its host is being asked"));
        }
        let mut of_host = seen.done.iter().filter(|done| place(&done.url).0 == host);
        if let Some(early) = of_host.find(|done| done.not_before > now) {
            let words = format!(
                "{url}: asked at {} ms, {} had to be waited for after {} at {}",
                now.0, early.not_before.0, early.url, early.at.0
            );
            seen.wrongs.push(words);
        }
        if page.is_some_and(|page| !self.permits(&seen, host, page)) {
            seen.wrongs
                .push(format!("{url}: robots.txt does not permit it"));
        }
        let asked = seen.asked.entry(url.clone()).or_default();
        *asked += 1;
        *asked - 1
    }

    fn permits(&self, seen: &Seen, host: usize, page: usize) -> bool {
        let robots = self.web.hosts.get(host).map(|host| &host.robots);
        let forbids = robots.is_some_and(Robots::forbids_p1);
        seen.robots.contains(&host)
            && seen.unreachable.get(&host).is_none_or(|times| *times == 0)
            && !(forbids && page.to_string().starts_with('1'))
    }

    fn ends(&self, url: &CanonicalUrl, outcome: &Outcome) {
        let (host, page) = place(url);
        let now = self.clock.now();
        let mut seen = self.lock();
        seen.busy.remove(&host);
        let mut wait = self.delay;
        let robots = |host: usize| self.web.hosts.get(host).map(|host| &host.robots);
        if page.is_none() {
            let (asker, hop) = robots_of(url);
            if hop >= robots(asker).map_or(0, Robots::redirects) {
                seen.robots.insert(asker);
            }
            let row = seen.unreachable.entry(asker).or_default();
            *row = match outcome {
                Outcome::Failure(FetchError::Status { code: 500.., .. }) => *row + 1,
                _ => 0,
            };
            if *row > 0 {
                let stated = match outcome {
                    Outcome::Failure(error) => error.retry_after(),
                    _ => None,
                };
                let own = Duration::from_mins(10 << (*row - 1));
                wait = match stated {
                    Some(stated) if *row == 1 => stated,
                    stated => own.max(stated.unwrap_or_default()),
                };
            }
        }
        // Nobody knows of a Crawl-delay before the host's own robots.txt was read.
        if let Some(Robots::Rules { delay_secs, .. }) = robots(host)
            && seen.robots.contains(&host)
        {
            wait = wait.max(Duration::from_secs((*delay_secs).min(60)));
        }
        if let Outcome::Failure(error) = outcome {
            wait = wait.max(error.retry_after().unwrap_or_default());
            // Nothing was sent, so that the host has nothing to rest from.
            if error.name() == "address" {
                return;
            }
        }
        seen.done.push(Done {
            url: url.clone(),
            at: now,
            not_before: now.after(wait),
        });
    }
}

fn tells_of(event: &Event, done: &Done) -> bool {
    let lease = match event {
        Event::Page(page) => &page.lease,
        Event::Failure(failure) => &failure.lease,
        Event::Redirect(redirect) => &redirect.lease,
        Event::HostFacts(facts) => {
            let is_robots = place(&done.url).1.is_none();
            return is_robots && facts.host == done.url.host_key() && facts.at == done.at;
        }
        _ => return false,
    };
    lease.url == done.url && lease.finished_at == done.at
}

impl Source for Site {
    async fn fetch(&self, request: Request) -> Outcome {
        let url = request.url;
        let before = self.begins(&url);
        // Long enough for a second request to overlap, if there were one.
        for _ in 0..url.id().0 % 4 {
            tokio::task::yield_now().await;
        }
        if self.takes_time {
            let took = Duration::from_millis(url.id().0 / 4 % 900);
            self.clock.advance_to(self.clock.now().after(took));
        }
        let outcome = self.web.answer(&url, before);
        self.ends(&url, &outcome);
        outcome
    }
}
