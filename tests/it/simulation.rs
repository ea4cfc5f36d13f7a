//! Whole crawls from a seed: a random web of capricious hosts, a clock that nobody waits for and that is
//! set wrong at times, a disk that fails, a crawler of one or two crawls that dies at random moments and is
//! started again. Afterwards the log, the memory and what the hosts saw have to agree.
//!
//! `SIMULATION_SEEDS` is how many seeds are tried, `SIMULATION_FROM` the first.

mod check;
mod clock;
mod crawl;
mod learned;
mod life;
mod log;
mod site;
mod web;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use apprentice::booking::Seq;
use apprentice::clock::{Chance, Clock, Timestamp, chance};
use apprentice::crawl::Pace;
use apprentice::frontier::FrontierStore;
use rand::RngExt;

use clock::WallClock;
use crawl::Crawl;
use life::{End, Living, World};
use log::{Fate, Log};
use site::Site;
use web::Web;

/// Seeds tried in every test run; less than a minute.
const SEEDS: u64 = 200;
/// A seed takes a second or two; one that takes so long has come to a stop.
const PATIENCE: Duration = Duration::from_mins(3);
const HOUR_MS: i64 = 3_600_000;

#[test]
fn whatever_happens_log_memory_and_hosts_agree() {
    let number = |name: &str, usual: u64| {
        let given = std::env::var(name).ok();
        given.map_or(usual, |text| text.parse().unwrap())
    };
    let from = number("SIMULATION_FROM", 0);
    let seeds = number("SIMULATION_SEEDS", SEEDS);
    let mut happened = Happened::default();
    for seed in from..from + seeds {
        let (wrongs, more) = watched(seed);
        for (what, times) in more {
            *happened.entry(what).or_default() += times;
        }
        assert!(
            wrongs.is_empty(),
            "seed {seed}: {}\nSIMULATION_FROM={seed} SIMULATION_SEEDS=1 cargo test --test it simulation",
            wrongs.join("\n")
        );
    }
    println!("{seeds} seeds: {happened:?}");
    let never = happened.iter().find(|(_, times)| **times == 0);
    assert!(seeds < SEEDS || never.is_none(), "never: {never:?}");
}

/// How often what was to happen did.
type Happened = BTreeMap<&'static str, usize>;

/// What went wrong under a seed, also if it was a panic or had no end.
fn watched(seed: u64) -> (Vec<String>, Happened) {
    let (sender, ended) = channel();
    let run = move || {
        let outcome = Simulation::new(seed).run();
        // Nobody listens any more if it took too long.
        let _ = sender.send(outcome);
    };
    let simulation = thread::Builder::new().name(format!("seed {seed}"));
    let simulation = simulation.spawn(run).unwrap();
    let wrong = match ended.recv_timeout(PATIENCE) {
        Ok(outcome) => return outcome,
        Err(RecvTimeoutError::Timeout) => format!("no end after {PATIENCE:?}"),
        Err(RecvTimeoutError::Disconnected) => {
            let panic = simulation.join().unwrap_err();
            let words = panic.downcast_ref::<String>().map(String::as_str);
            let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
            format!("it panicked: {}", words.unwrap_or("see above"))
        }
    };
    (vec![wrong], Happened::default())
}

/// A crawler with its lives.
struct Simulation {
    seed: u64,
    web: Arc<Web>,
    clock: WallClock,
    site: Site,
    crawls: Vec<Crawl>,
    wrongs: Vec<String>,
    happened: Happened,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let web = Arc::new(Web::generate(seed));
        // Late enough that the clock can be set back.
        let clock = WallClock::starting_at(Timestamp(10 * HOUR_MS));
        let delay_ms = [0, 300, 2_000][chance(seed, "delay").random_range(0..3)];
        // A live crawl flushes on threads of its own: it is tried more rarely, since its seed does
        // not tell all. Two crawls wait for each other, which a replay does not.
        let pace = if seed.is_multiple_of(4) {
            Pace::Live
        } else {
            Pace::Replay
        };
        let crawls = if seed.is_multiple_of(8) { 2 } else { 1 };
        let crawls: Vec<Crawl> = (0..crawls)
            .map(|number| Crawl::draw(seed, number, &web, delay_ms, pace))
            .collect();
        for crawl in &crawls {
            crawl.begin(&web, clock.now());
        }
        let limits = crawls[0].spec.limits.as_ref();
        let one_by_one = limits.is_some_and(|limits| limits.in_flight_max == 1);
        let site = Site::new(
            Arc::clone(&web),
            clock.clone(),
            Duration::from_millis(delay_ms),
            one_by_one && crawls.len() == 1,
        );
        Self {
            seed,
            web,
            clock,
            site,
            crawls,
            wrongs: Vec::new(),
            happened: Happened::default(),
        }
    }

    /// What went wrong, and what happened.
    fn run(mut self) -> (Vec<String>, Happened) {
        let hat = &mut chance(self.seed, "deaths");
        let mut changes = hat.random_range(0..3);
        let mut life = 0;
        loop {
            let ends = self.live(life, hat);
            life += 1;
            let is_whole = ends.iter().all(|end| matches!(end, End::Finished(_)));
            if is_whole && changes == 0 {
                break;
            }
            self.crawler_ended(is_whole, hat);
            if is_whole {
                changes -= 1;
                for crawl in &mut self.crawls {
                    crawl.change(self.clock.now(), hat);
                }
            }
        }
        let mut wrongs = self.wrongs;
        wrongs.extend(self.site.wrongs());
        for crawl in &self.crawls {
            let asked = self.site.of_crawl(crawl.number).asked();
            wrongs.extend(check::check(crawl, &asked));
            for (what, times) in check::happened(crawl) {
                *self.happened.entry(what).or_default() += times;
            }
        }
        (wrongs, self.happened)
    }

    /// One life of the crawler.
    fn live(&mut self, life: u32, hat: &mut Chance) -> Vec<End> {
        let fates = self.fates(life, hat);
        let mut living = Vec::new();
        let mut retrainings = Vec::new();
        let orders = &mut chance(self.seed, &format!("orders of life {life}"));
        for crawl in &mut self.crawls {
            retrainings.push(crawl.draw_retraining(orders));
        }
        for ((crawl, fate), retraining) in self.crawls.iter().zip(fates).zip(retrainings) {
            let flushes = format!("flushes of life {life}, crawl {}", crawl.number);
            let log = Log::new(
                crawl.store.after_crash(),
                chance(self.seed, &flushes),
                fate,
                self.site.of_crawl(crawl.number),
            );
            living.push(Living {
                crawl,
                log: Arc::new(log),
                retraining,
            });
        }
        let world = World {
            web: &self.web,
            site: &self.site,
            clock: &self.clock,
        };
        let (ends, wrongs) = life::live(&world, &living);
        let left: Vec<_> = living
            .iter()
            .map(|living| living.log.inner.after_crash())
            .collect();
        self.wrongs.extend(wrongs);
        for ((crawl, store), end) in self.crawls.iter_mut().zip(left).zip(&ends) {
            crawl.store = store;
            crawl.cuts.push(crawl.store.last());
            match end {
                End::Finished(progress) => crawl.progress = progress.as_ref().clone(),
                End::Broke(words) if !words.contains(log::DISK_FULL) => {
                    self.wrongs.push(format!("it broke: {words}"));
                }
                End::Broke(_) => *self.happened.entry("breaks").or_default() += 1,
                End::Died => *self.happened.entry("deaths").or_default() += 1,
            }
        }
        ends
    }

    /// Later lives go on to their end.
    fn fates(&self, life: u32, hat: &mut Chance) -> Vec<Fate> {
        let mut fates = vec![Fate::default(); self.crawls.len()];
        if life >= 4 {
            return fates;
        }
        let events_max = if self.web.is_large() { 120 } else { 30 };
        if hat.random_bool(0.6) {
            let victim = hat.random_range(0..fates.len());
            let last = self.crawls[victim].store.last();
            fates[victim].dies_after = Some(Seq(last.0 + hat.random_range(1..events_max)));
        }
        if hat.random_bool(0.2) {
            let victim = hat.random_range(0..fates.len());
            let first = hat.random_range(0..3);
            fates[victim].flushes_fail = first..first + hat.random_range(1..4);
        }
        fates
    }

    /// The crawler has died, or was shut down after all crawls had finished.
    fn crawler_ended(&mut self, is_whole: bool, hat: &mut Chance) {
        let logs: Vec<_> = self
            .crawls
            .iter()
            .map(|crawl| check::events_of(&crawl.store))
            .collect();
        self.site.crawler_ended(&logs);
        for (crawl, events) in self.crawls.iter_mut().zip(&logs) {
            let asked = self.site.of_crawl(crawl.number).asked();
            crawl.lost.count(&asked, events);
            if !is_whole {
                crawl.mend(self.clock.now());
                self.wrongs
                    .extend(learned::reopened(crawl, &self.web, &self.clock));
            }
        }
        if hat.random_bool(0.2) {
            *self.happened.entry("jumps of the clock").or_default() += 1;
            let forward = hat.random_bool(0.5);
            self.clock
                .set(if forward { 24 * HOUR_MS } else { -HOUR_MS });
            if forward {
                self.site.clock_was_set_forward();
            }
        }
    }
}
