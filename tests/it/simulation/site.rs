//! The web as a source that watches how it is asked: one request a host at a time, the delays kept,
//! robots.txt first and obeyed.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apprentice::booking::Event;
use apprentice::clock::{Clock, Timestamp};
use apprentice::fetch::{FetchError, Outcome, Request, Source};
use apprentice::url::CanonicalUrl;

use super::clock::WallClock;
use super::web::{Robots, Web, place, robots_of};

/// A watched web, as one of the crawls sees it. A clone is the same one.
#[derive(Clone)]
pub(super) struct Site {
    web: Arc<Web>,
    clock: WallClock,
    /// The number of the crawl that asks.
    crawl: usize,
    delay: Duration,
    /// Requests take time; only where one is in flight, or the order of the tasks would show.
    takes_time: bool,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    busy: BTreeSet<usize>,
    /// By the crawl that asked.
    asked: BTreeMap<usize, BTreeMap<CanonicalUrl, u32>>,
    done: Vec<Done>,
    /// Hosts whose robots.txt was answered in this life of the crawler, whether it was there, and the crawl
    /// that asked.
    robots: BTreeMap<usize, (bool, usize)>,
    /// Crawls that have broken in this life. What they have asked for may not have come to the others' ears.
    broken: BTreeSet<usize>,
    /// How often in a row a crawl could not have it.
    unreachable: BTreeMap<(usize, usize), u32>,
    /// No request is answered any more.
    is_silent: bool,
    wrongs: Vec<String>,
}

/// A request that has ended.
struct Done {
    crawl: usize,
    url: CanonicalUrl,
    /// By the crawler's clock.
    at: Timestamp,
    ended: Timestamp,
    not_before: Timestamp,
}

/// A request that is out; its crawl may give it up.
struct Out<'a>(&'a Site, usize);

impl Drop for Out<'_> {
    fn drop(&mut self) {
        self.0.lock().busy.remove(&self.1);
    }
}

impl Site {
    pub(super) fn new(web: Arc<Web>, clock: WallClock, delay: Duration, takes_time: bool) -> Self {
        Self {
            web,
            clock,
            crawl: 0,
            delay,
            takes_time,
            seen: Arc::default(),
        }
    }

    /// What was done wrong so far.
    pub(super) fn wrongs(&self) -> Vec<String> {
        self.lock().wrongs.clone()
    }

    /// The same, for another crawl.
    pub(super) fn of_crawl(&self, crawl: usize) -> Self {
        Self {
            crawl,
            ..self.clone()
        }
    }

    /// Requests of the crawl for each URL, robots.txt left out.
    pub(super) fn asked(&self) -> BTreeMap<CanonicalUrl, u32> {
        let mut asked = self.lock().asked.get(&self.crawl).cloned();
        let asked = asked.get_or_insert_default();
        asked.retain(|url, _| place(url).1.is_some());
        std::mem::take(asked)
    }

    /// The crawl cannot go on, but the others do.
    pub(super) fn crawl_breaks(&self) {
        self.lock().broken.insert(self.crawl);
    }

    /// From now on no request is answered, until the crawler has ended.
    pub(super) fn falls_silent(&self) {
        self.lock().is_silent = true;
    }

    /// The crawler has died or was shut down; of its requests it can only know those of its crawls' `logs`.
    pub(super) fn crawler_ended(&self, logs: &[Vec<Event>]) {
        let mut seen = self.lock();
        seen.is_silent = false;
        seen.busy.clear();
        seen.robots.clear();
        seen.broken.clear();
        seen.unreachable.clear();
        let tells = |done: &Done| logs[done.crawl].iter().any(|event| tells_of(event, done));
        seen.done.retain(tells);
        // The log keeps for how long a host is parked, but not of one that was given up.
        for done in &mut seen.done {
            let given_up =
                |event: &&Event| matches!(event, Event::HostFacts(facts) if facts.given_up);
            let mut gives_up = logs[done.crawl].iter().filter(given_up);
            if place(&done.url).1.is_none() && gives_up.any(|event| tells_of(event, done)) {
                done.not_before = done.ended.after(self.delay);
            }
        }
    }

    /// The crawler's clock was set forward: it cannot know that a host has not rested.
    pub(super) fn clock_was_set_forward(&self) {
        for done in &mut self.lock().done {
            done.not_before = done.ended;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begins(&self, url: &CanonicalUrl) -> u32 {
        let (host, page) = place(url);
        let now = self.clock.true_time();
        let mut seen = self.lock();
        if !seen.busy.insert(host) {
            seen.wrongs.push(format!("{url}: its host is being asked"));
        }
        // A lease that is dropped counts from the moment when it was taken, and of that a site knows nothing.
        let counts = |done: &Done| !seen.broken.contains(&done.crawl);
        let mut of_host = seen.done.iter().filter(|done| place(&done.url).0 == host);
        if let Some(early) = of_host.find(|done| done.not_before > now && counts(done)) {
            let words = format!(
                "{url}: asked at {} ms, {} had to be waited for after {} at {}",
                now.0, early.not_before.0, early.url, early.ended.0
            );
            seen.wrongs.push(words);
        }
        if page.is_some_and(|page| !self.permits(&seen, host, page)) {
            seen.wrongs
                .push(format!("{url}: robots.txt does not permit it"));
        }
        let of_all = seen.asked.values().filter_map(|asked| asked.get(url)).sum();
        let asked = seen.asked.entry(self.crawl).or_default();
        *asked.entry(url.clone()).or_default() += 1;
        of_all
    }

    fn permits(&self, seen: &Seen, host: usize, page: usize) -> bool {
        let robots = self.web.hosts.get(host).map(|host| &host.robots);
        let forbids = robots.is_some_and(Robots::forbids_p1);
        seen.robots
            .get(&host)
            .is_some_and(|(is_there, _)| *is_there)
            && !(forbids && page.to_string().starts_with('1'))
    }

    fn ends(&self, url: &CanonicalUrl, outcome: &Outcome) {
        let (host, page) = place(url);
        let now = self.clock.true_time();
        let mut seen = self.lock();
        let mut wait = self.delay;
        let robots = |host: usize| self.web.hosts.get(host).map(|host| &host.robots);
        if page.is_none() {
            let (asker, hop) = robots_of(url);
            let is_down = matches!(
                outcome,
                Outcome::Failure(FetchError::Status { code: 500.., .. })
            );
            if hop >= robots(asker).map_or(0, Robots::redirects) {
                seen.robots.insert(asker, (!is_down, self.crawl));
            }
            let row = seen.unreachable.entry((self.crawl, asker)).or_default();
            *row = if is_down { *row + 1 } else { 0 };
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
            && let Some((_, asked_by)) = seen.robots.get(&host)
            && (*asked_by == self.crawl || !seen.broken.contains(asked_by))
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
            crawl: self.crawl,
            url: url.clone(),
            at: self.clock.now(),
            ended: now,
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
        let _out = Out(self, place(&url).0);
        if self.lock().is_silent {
            pending::<()>().await;
        }
        // Long enough for a second request to overlap, if there were one.
        for _ in 0..url.id().0 % 4 {
            tokio::task::yield_now().await;
        }
        if self.takes_time {
            let took = Duration::from_millis(url.id().0 / 4 % 900);
            self.clock.pass(took);
        }
        let outcome = self.web.answer(&url, before);
        self.ends(&url, &outcome);
        outcome
    }
}
