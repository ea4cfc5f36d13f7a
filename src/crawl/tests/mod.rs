//! The engine at work on scripted webs: what the tests need to set one up and to look at its log.

mod bounded;
mod checkpoints;
mod copies;
mod delays;
mod ends;
mod failures;
mod feedback;
mod first_contacts;
mod fold;
mod interrupted;
mod judging;
mod kept_logs;
mod learning;
mod orders;
mod redirects;
mod replays;
mod retraining;
mod robots;
mod scopes;
mod sitemaps;
mod starts;
mod steering;
mod support;
mod sweeping;

use std::future::Future;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use prost::Message;

use super::*;
use crate::apprentice::SavedApprentice;
use crate::booking::{CrawlState, Event, Refusal, SeedsEvent, Seq, StateEvent};
use crate::clock::{Clock, SimulatedClock, Timestamp};
use crate::critic::{ClassId, ClassScore, PageJudge, Verdict};
use crate::fetch::robots::RobotsCache;
use crate::fetch::{FetchError, Outcome, Redirect, Response, ScriptedSource, Source};
use crate::frontier::{Frontier, FrontierStore, HostCalendar, KnownLink, LinkState, MemoryStore};
use crate::page::Page;
use crate::proto::v1;
use crate::url::CanonicalUrl;
use support::Gate;

/// `h/p` as `http://h.test/p`.
fn url(short: &str) -> CanonicalUrl {
    let (host, path) = short.split_once('/').unwrap_or((short, ""));
    CanonicalUrl::parse(&format!("http://{host}.test/{path}")).unwrap()
}

/// `http://h.test/p` as `h/p`.
fn short(url: &CanonicalUrl) -> String {
    let text = url.as_str().trim_start_matches("http://");
    text.replacen(".test/", "/", 1)
}

/// Judges by one word: `reef` is log odds 3, `sand` -3, neither 0; `shark` makes it panic.
struct WordJudge;

static CLASSES: LazyLock<Vec<String>> = LazyLock::new(|| vec!["reef".into(), "sand".into()]);

impl PageJudge for WordJudge {
    fn judge_batch(&self, pages: &[&Page]) -> Vec<Verdict> {
        let verdict = |page: &&Page| {
            let says = |word: &str| page.vocabulary.iter().any(|known| known == word);
            assert!(!says("shark"), "a shark ate the judge");
            let log_odds = 3.0 * (f32::from(says("reef")) - f32::from(says("sand")));
            Verdict {
                log_odds,
                calibrated_log_odds: 0.5 * log_odds,
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

/// A crawl to be: spec, web, log.
struct Crawl {
    source: ScriptedSource,
    clock: SimulatedClock,
    store: Arc<MemoryStore>,
    spec: v1::CrawlSpec,
    robots: RobotsPolicy,
    world: Option<World>,
    parsers: usize,
    judge: Arc<dyn PageJudge>,
    start: Option<Arc<SavedApprentice>>,
    learned: Option<LearnedFile>,
}

impl Crawl {
    /// One fetch at a time, no delay, robots.txt ignored.
    fn new(seeds: &[&str]) -> Self {
        let seeds = seeds.iter().map(|seed| url(seed).as_str().to_owned());
        Self {
            source: ScriptedSource::new(),
            clock: SimulatedClock::starting_at(Timestamp(1_000)),
            store: Arc::new(MemoryStore::new()),
            spec: v1::CrawlSpec {
                name: "reefs".into(),
                topics: vec!["reef".into()],
                critic: "given".into(),
                seeds: seeds.collect(),
                limits: Some(v1::Limits {
                    in_flight_max: 1,
                    delay_ms_min: Some(0),
                    ..Default::default()
                }),
                ..Default::default()
            },
            robots: RobotsPolicy::Ignore,
            world: None,
            parsers: 1,
            judge: Arc::new(WordJudge),
            start: None,
            learned: None,
        }
    }

    /// Writes the log's first events, unless they stand there.
    fn begin(&self) {
        if self.store.last() > Seq(0) {
            return;
        }
        let at = self.clock.now();
        self.store
            .append(Event::SpecChange(self.spec.encode_to_vec()));
        self.store.append(Event::State(StateEvent {
            state: CrawlState::Running,
            reason: "created".into(),
            at,
        }));
        let urls: Vec<_> = check_seeds("seeds", &self.spec.seeds).unwrap();
        if !urls.is_empty() {
            let priority = SEED_PRIORITY;
            self.store
                .append(Event::Seeds(SeedsEvent { urls, priority, at }));
        }
    }

    fn limits(&mut self) -> &mut v1::Limits {
        self.spec.limits.as_mut().unwrap()
    }

    fn scope(&mut self) -> &mut v1::Scope {
        self.spec.scope.get_or_insert_default()
    }

    /// Puts a page of these words and links on the web.
    fn page(&self, at: &str, words: &str, links: &[&str]) -> &Self {
        let links = links
            .iter()
            .map(|link| format!("<a href=\"{}\">x</a>", url(link)));
        let links: String = links.collect();
        self.html(at, &format!("<p>{words}</p>{links}"))
    }

    fn html(&self, at: &str, html: &str) -> &Self {
        self.source.page(url(at), html);
        self
    }

    fn redirect(&self, at: &str, to: &str) -> &Self {
        let redirect = Redirect {
            status: 302,
            target: url(to),
            answer_time: Duration::ZERO,
        };
        self.source.answer(url(at), Outcome::Redirect(redirect));
        self
    }

    fn fail(&self, at: &str, error: FetchError) -> &Self {
        self.source.answer(url(at), Outcome::Failure(error));
        self
    }

    fn parts<S: Source>(&self, source: S, pace: Pace) -> EngineParts<S, SimulatedClock> {
        self.parts_on(source, pace, Arc::clone(&self.store) as _)
    }

    fn parts_on<S: Source>(
        &self,
        source: S,
        pace: Pace,
        store: Arc<dyn FrontierStore>,
    ) -> EngineParts<S, SimulatedClock> {
        self.begin();
        EngineParts {
            source: Arc::new(source),
            clock: self.clock.clone(),
            judge: Judge::Near(Arc::clone(&self.judge)),
            store,
            calendar: HostCalendar::default(),
            robots: self.robots.clone(),
            pace,
            world: self.world.clone(),
            parsers: self.parsers,
            guard_note: String::new(),
            needs_contact: false,
            scorer: None,
            start: self.start.clone(),
            learned: self.learned.clone(),
            opening: Arc::default(),
        }
    }

    /// Crawls to the end.
    async fn replay(&self) -> Progress {
        let parts = self.parts(self.source.clone(), Pace::Replay);
        let (engine, _handle) = Engine::open(parts).unwrap();
        engine.run().await.unwrap()
    }

    /// Crawls while `script` talks to the crawl, then shuts it down.
    async fn live<T, F: Future<Output = T>>(&self, script: impl FnOnce(Handle) -> F) -> T {
        self.live_from(self.source.clone(), script).await
    }

    async fn live_from<S: Source, T, F: Future<Output = T>>(
        &self,
        source: S,
        script: impl FnOnce(Handle) -> F,
    ) -> T {
        let (engine, handle) = Engine::open(self.parts(source, Pace::Live)).unwrap();
        let script = async {
            let outcome = script(handle.clone()).await;
            handle.shutdown().await;
            outcome
        };
        let (ended, outcome) = tokio::join!(Box::pin(engine.run()), script);
        ended.unwrap();
        outcome
    }

    /// What was asked for, in order.
    fn requests(&self) -> Vec<String> {
        let requests = self.source.requests();
        requests.iter().map(|request| short(&request.url)).collect()
    }

    fn events(&self) -> Vec<Event> {
        events_of(self.store.as_ref())
    }

    /// The URLs of the booked pages, in order.
    fn pages(&self) -> Vec<String> {
        pages_of(self.store.as_ref())
    }

    fn frontier(&self) -> Frontier {
        frontier_of(self.store.as_ref(), &self.spec)
    }

    fn lookup(&self, at: &str) -> Option<KnownLink> {
        self.frontier().lookup(url(at).id(), self.clock.now())
    }

    fn state_of(&self, at: &str) -> Option<LinkState> {
        self.lookup(at).map(|known| known.state)
    }

    fn refusal_of(&self, at: &str) -> Option<Refusal> {
        match self.state_of(at)? {
            LinkState::Refused(refusal, _) => Some(refusal),
            _ => None,
        }
    }
}

fn events_of(store: &dyn FrontierStore) -> Vec<Event> {
    let mut events = Vec::new();
    let mut take = |_, event| {
        events.push(event);
        true
    };
    store.scan(Seq(1), store.last(), &mut take).unwrap();
    events
}

fn pages_of(store: &dyn FrontierStore) -> Vec<String> {
    let events = events_of(store);
    let pages = events.iter().filter_map(|event| match event {
        Event::Page(page) => Some(short(&page.lease.url)),
        _ => None,
    });
    pages.collect()
}

/// The memory that the log gives.
fn frontier_of(store: &dyn FrontierStore, spec: &v1::CrawlSpec) -> Frontier {
    let spec = Spec::check(spec).unwrap();
    let params = spec.tuning.frontier_params(spec.order, spec.combine);
    let mut frontier = Frontier::new(params, HostCalendar::default());
    for (seq, event) in (1..).zip(events_of(store)) {
        frontier.admit(Seq(seq), &event);
    }
    frontier
}

/// The figures that the log gives.
fn progress_of(store: &dyn FrontierStore) -> Progress {
    let mut progress = Progress::default();
    for event in events_of(store) {
        progress.add(&Tally::of(&event));
    }
    progress
}

/// Asks for the status again and again until it is as wanted.
async fn until(handle: &Handle, wanted: impl Fn(&v1::Crawl) -> bool) -> v1::Crawl {
    for _ in 0..50_000 {
        let status = handle.status().await.unwrap();
        if wanted(&status) {
            return status;
        }
        tokio::task::yield_now().await;
    }
    panic!("the crawl never came to it: {:?}", handle.status().await);
}

/// The crawl has come to its end.
async fn until_finished(handle: &Handle) -> v1::Crawl {
    until(handle, |status| {
        status.state == v1::CrawlState::Finished as i32
    })
    .await
}

fn status(code: u16) -> FetchError {
    FetchError::Status {
        code,
        retry_after: None,
    }
}

fn update(change: impl FnOnce(&mut v1::UpdateCrawlRequest)) -> v1::UpdateCrawlRequest {
    let mut update = v1::UpdateCrawlRequest::default();
    change(&mut update);
    update
}
