//! Whole crawls from a seed: a random web of capricious hosts, a clock that nobody waits for, a
//! crawler that dies at random moments and is started again. Afterwards the log, the memory and what
//! the hosts saw have to agree.
//!
//! `SIMULATION_SEEDS` is how many seeds are tried, `SIMULATION_FROM` the first.

mod check;
mod log;
mod site;
mod web;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use apprentice::booking::{CrawlState, Event, SeedsEvent, Seq, StateEvent};
use apprentice::clock::{Chance, Clock, SimulatedClock, Timestamp, chance};
use apprentice::crawl::{
    CrawlOrder, Engine, EngineParts, Handle, Judge, Pace, Progress, RobotsPolicy, SEED_PRIORITY,
};
use apprentice::critic::{ClassId, ClassScore, PageJudge, Verdict};
use apprentice::fetch::robots::RobotsCache;
use apprentice::frontier::{FrontierStore, HostCalendar, MemoryStore};
use apprentice::page::Page;
use apprentice::proto::v1;
use prost::Message;
use rand::RngExt;

use log::Log;
use site::Site;
use web::{Web, url};

/// Seeds tried in every test run; some seconds.
const SEEDS: u64 = 200;

#[test]
fn whatever_happens_log_memory_and_hosts_agree() {
    let number = |name: &str, usual: u64| {
        let given = std::env::var(name).ok();
        given.map_or(usual, |text| text.parse().unwrap())
    };
    let from = number("SIMULATION_FROM", 0);
    for seed in from..from + number("SIMULATION_SEEDS", SEEDS) {
        let wrongs = Simulation::new(seed).run();
        assert!(
            wrongs.is_empty(),
            "seed {seed}: {}\nSIMULATION_FROM={seed} SIMULATION_SEEDS=1 cargo test --test it simulation",
            wrongs.join("\n")
        );
    }
}

/// Judges by the words that the web is made of.
struct WordJudge;

static CLASSES: LazyLock<Vec<String>> = LazyLock::new(|| vec!["reef".into(), "sand".into()]);

impl PageJudge for WordJudge {
    fn judge_batch(&self, pages: &[&Page]) -> Vec<Verdict> {
        let verdict = |page: &&Page| {
            let says = |word: &str| page.vocabulary.iter().any(|known| known == word);
            let log_odds = 3.0 * (f32::from(says("reef")) - f32::from(says("sand")));
            Verdict {
                log_odds,
                calibrated_log_odds: log_odds,
                best: vec![ClassScore {
                    class: ClassId(u16::from(log_odds < 0.0)),
                    log_posterior: -0.05,
                }],
                near_focus: log_odds >= 0.0,
                version: 1,
            }
        };
        pages.iter().map(verdict).collect()
    }

    fn class_names(&self) -> &[String] {
        &CLASSES
    }
}

/// Waits for the end of a crawl.
async fn finished(handle: &Handle) -> v1::Crawl {
    loop {
        let status = handle.status().await.unwrap();
        if status.state == v1::CrawlState::Finished as i32 {
            return status;
        }
        tokio::task::yield_now().await;
    }
}

/// One crawl with its deaths.
struct Simulation {
    seed: u64,
    web: Arc<Web>,
    clock: SimulatedClock,
    site: Site,
    spec: v1::CrawlSpec,
    pace: Pace,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let web = Arc::new(Web::generate(seed));
        let hat = &mut chance(seed, "spec");
        let clock = SimulatedClock::starting_at(Timestamp(1_000));
        let in_flight = [1, 4][hat.random_range(0..2)];
        let delay_ms = [0, 300, 2_000][hat.random_range(0..3)];
        let order = CrawlOrder::ALL[hat.random_range(0..3)].name();
        let steering = ["", "", "+best-n-first:5", "+altered-greedy:0.5:0.3"];
        let steering = steering[chance(seed, "steering").random_range(0..4)];
        let mut or_none = |max: u64| {
            if hat.random_bool(0.5) {
                0
            } else {
                hat.random_range(1..max)
            }
        };
        let spec = v1::CrawlSpec {
            name: "simulated".into(),
            topics: vec!["reef".into()],
            critic: "given".into(),
            order: format!("{order}{steering}"),
            budget: or_none(40),
            scope: Some(v1::Scope {
                pages_per_host_max: or_none(6),
                depth_max: u32::try_from(or_none(5)).unwrap(),
                ..Default::default()
            }),
            limits: Some(v1::Limits {
                in_flight_max: in_flight,
                delay_ms_min: Some(delay_ms),
                redirects_max: 2,
                ..Default::default()
            }),
            ..Default::default()
        };
        let delay = Duration::from_millis(delay_ms);
        let site = Site::new(Arc::clone(&web), clock.clone(), delay, in_flight == 1);
        // A live crawl flushes on threads of its own: it is tried more rarely, since its seed does
        // not tell all.
        let pace = if seed.is_multiple_of(4) {
            Pace::Live
        } else {
            Pace::Replay
        };
        Self {
            seed,
            web,
            clock,
            site,
            spec,
            pace,
        }
    }

    /// What went wrong.
    fn run(&self) -> Vec<String> {
        let hat = &mut chance(self.seed, "deaths");
        let mut spec = self.spec.clone();
        let mut store = self.first_log();
        let mut lost = check::Lost::default();
        let mut life = 0;
        let mut changes = hat.random_range(0..3);
        let (store, progress) = loop {
            let dies = life < 4 && hat.random_bool(0.6);
            let dies = dies.then(|| Seq(store.last().0 + hat.random_range(1..30)));
            let flushes = chance(self.seed, &format!("flushes of life {life}"));
            let log = Arc::new(Log::new(store, flushes, dies));
            let ended = self.live(&log, &spec);
            store = log.inner.after_crash();
            if let Some((progress, wrongs)) = ended {
                lost.wrongs.extend(wrongs);
                if changes == 0 {
                    break (store, progress);
                }
                changes -= 1;
                self.site.crawler_ended(&check::events_of(&store));
                self.change(&mut spec, progress.fetched(), &store, hat);
                continue;
            }
            let events = check::events_of(&store);
            self.site.crawler_ended(&events);
            lost.count(&self.site.asked(), &events);
            life += 1;
        };
        let mut wrongs = self.site.wrongs();
        wrongs.extend(check::check(
            &spec,
            &store,
            &progress,
            &self.site.asked(),
            &lost,
        ));
        wrongs
    }

    fn first_log(&self) -> MemoryStore {
        let store = MemoryStore::new();
        let at = self.clock.now();
        store.append(Event::SpecChange(self.spec.encode_to_vec()));
        store.append(Event::State(StateEvent {
            state: CrawlState::Running,
            reason: "simulated".into(),
            at,
        }));
        let hosts = self.web.hosts.len();
        store.append(Event::Seeds(SeedsEvent {
            urls: (0..hosts.min(3)).map(|host| url(host, 0)).collect(),
            priority: SEED_PRIORITY,
            at,
        }));
        store.flush().unwrap();
        store
    }

    /// Somebody changes the spec of the finished crawl and sets it going again.
    fn change(
        &self,
        spec: &mut v1::CrawlSpec,
        fetched: u64,
        store: &MemoryStore,
        hat: &mut Chance,
    ) {
        if spec.budget > 0 {
            spec.budget = fetched + hat.random_range(1..20);
        }
        let scope = spec.scope.get_or_insert_default();
        scope.pages_per_host_max = [0, 2, 8][hat.random_range(0..3)];
        scope.deny.clear();
        if hat.random_bool(0.5) {
            scope.deny.push("p[2-5]$".to_owned());
        }
        store.append(Event::SpecChange(spec.encode_to_vec()));
        store.append(Event::State(StateEvent {
            state: CrawlState::Running,
            reason: "changed".into(),
            at: self.clock.now(),
        }));
        store.flush().unwrap();
    }

    /// One life of the crawler; `None` if it died, else its figures and what its memory got wrong.
    fn live(&self, log: &Arc<Log>, spec: &v1::CrawlSpec) -> Option<(Progress, Vec<String>)> {
        let parts = EngineParts {
            source: Arc::new(self.site.clone()),
            clock: self.clock.clone(),
            judge: Judge::near(WordJudge),
            store: Arc::clone(log) as _,
            calendar: HostCalendar::default(),
            robots: RobotsPolicy::Obey(RobotsCache::default()),
            pace: self.pace,
            world: None,
            parsers: 2,
            guard_note: String::new(),
            needs_contact: false,
            scorer: None,
            start: None,
            learned: None,
            opening: Arc::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (engine, handle) = Engine::open(parts).unwrap();
            let run = async {
                let (ended, wrongs) = tokio::join!(engine.run(), self.look_in(&handle, log, spec));
                (ended.unwrap(), wrongs)
            };
            tokio::select! {
                biased;
                () = log.dies() => None,
                ended = run => Some(ended),
            }
        })
    }

    /// Waits for the end of a live crawl and compares its memory with its log.
    async fn look_in(&self, handle: &Handle, log: &Log, spec: &v1::CrawlSpec) -> Vec<String> {
        if self.pace == Pace::Replay {
            return Vec::new();
        }
        // A crawl whose budget is spent stays finished, whatever else goes on.
        let goes_on = !finished(handle).await.reason.starts_with("budget");
        if goes_on {
            // The scope may be wider than that of the last life: offer it what was refused.
            let same = v1::UpdateCrawlRequest {
                scope: spec.scope.clone(),
                ..Default::default()
            };
            handle.update(same).await.unwrap();
            finished(handle).await;
        }
        let mut known = Vec::new();
        for url in self.web.urls() {
            let link = handle.lookup(url.id()).await.unwrap();
            known.push((url, link));
        }
        handle.shutdown().await;
        let mut wrongs = check::memory(&self.spec, &log.inner, known);
        if goes_on {
            wrongs.extend(check::readmissions(spec, &log.inner));
        }
        wrongs
    }
}
