//! One crawl of a contest: the ordinary engine, with an archive for the network, a simulated clock and
//! a log in memory. Same archive, same seed, same configuration, same curve.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prost::Message;

use super::by_words::{CosineScorer, SharkScorer, TopicWords};
use super::contest::{Bench, ContestSpec};
use super::contest_error::ContestError;
use super::crawler::{Crawler, Guide, OracleScorer};
use super::labels::TableJudge;
use super::runs::RunRecord;
use super::shelf::ArchiveShelf;
use crate::apprentice::{LinkScorer, SavedApprentice};
use crate::booking::{CrawlState, Event, SeedsEvent, Seq, StateEvent};
use crate::clock::{Clock, SimulatedClock, SystemClock, Timestamp};
use crate::crawl::{Engine, EngineParts, Judge, Learned, Pace, RobotsPolicy, SEED_PRIORITY, World};
use crate::critic::BayesJudge;
use crate::fetch::ReplaySource;
use crate::frontier::{FrontierStore, HostCalendar, MemoryStore, StoreFailure};
use crate::measure::LossCurve;
use crate::proto::v1;
use crate::url::{CanonicalUrl, HostKey, UrlId};

/// One crawl of a contest.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The crawler.
    pub crawler: Crawler,
    /// The topic.
    pub topic: String,
    /// The number of its seed set, from 0.
    pub seed_set: u32,
    /// Its seeds.
    pub seeds: Vec<CanonicalUrl>,
    /// The pages that it is to find, if it is after certain ones, sorted.
    pub targets: Vec<UrlId>,
    /// L(n) by the critic that guided it.
    pub by_critic: LossCurve,
    /// L(n) by the labels.
    pub by_judge: Option<LossCurve>,
    /// What was fetched, in the order of the curves.
    pub fetched: Vec<Fetched>,
    /// Why it ended.
    pub reason: String,
    /// How its learners have predicted.
    pub learned: Learned,
    /// How long the replay took by the clock on the wall: the one thing that no two runs have in common.
    pub took: Duration,
}

/// One fetch that counts.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a fact by itself, and all of them may hold"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// What.
    pub url: UrlId,
    /// The critic was trained on it.
    pub is_example: bool,
    /// It lies on a host that no seed lies on.
    pub is_elsewhere: bool,
    /// It is a copy of one that was fetched before, or nearly.
    pub is_copy: bool,
    /// The archive has nothing for it, which says nothing of what the web has (open world).
    pub is_missing: bool,
}

impl Entry {
    /// The curve by the independent judge where there is one, else by the critic.
    pub fn curve(&self) -> &LossCurve {
        self.by_judge.as_ref().unwrap_or(&self.by_critic)
    }

    /// Of the first `n` fetches those that the critic was not trained on: how many, and what they lost.
    pub fn unseen(&self, n: u64) -> (u64, f64) {
        let (mut count, mut loss) = (0, 0.0);
        for (_, relevance) in self.first(n).filter(|(fetched, _)| !fetched.is_example) {
            count += 1;
            loss += 1.0 - f64::from(relevance);
        }
        (count, loss)
    }

    /// Of the first `n` fetches those for which the archive has nothing.
    pub fn missing(&self, n: u64) -> u64 {
        self.first(n).filter(|(one, _)| one.is_missing).count() as u64
    }

    /// The share of its targets among the first `n` fetches; `None` if it has no targets.
    pub fn target_recall(&self, n: u64) -> Option<f64> {
        if self.targets.is_empty() {
            return None;
        }
        let first = self.first(n);
        let hits = first.filter(|(one, _)| self.targets.binary_search(&one.url).is_ok());
        let found: BTreeSet<UrlId> = hits.map(|(one, _)| one.url).collect();
        Some(found.len() as f64 / self.targets.len() as f64)
    }

    /// What the first `n` fetches lost if copies count as lost.
    pub fn loss_distinct(&self, n: u64) -> f64 {
        let first = self.first(n);
        first.fold(0.0, |sum, (fetched, relevance)| {
            let kept = if fetched.is_copy { 0.0 } else { relevance };
            sum + 1.0 - f64::from(kept)
        })
    }

    /// Of the first `n` fetches the relevant ones on hosts that no seed lies on.
    pub fn relevant_elsewhere(&self, n: u64) -> u64 {
        let relevant = self.first(n).filter(|(fetched, relevance)| {
            fetched.is_elsewhere && *relevance >= crate::measure::RELEVANT_FROM
        });
        relevant.count() as u64
    }

    fn first(&self, n: u64) -> impl Iterator<Item = (&Fetched, f32)> {
        let relevances = self.curve().relevances().iter().copied();
        let first = usize::try_from(n).unwrap_or(usize::MAX);
        self.fetched.iter().zip(relevances).take(first)
    }
}

/// Where an entry begins.
pub(super) struct Job {
    pub(super) crawler: Crawler,
    pub(super) topic: String,
    pub(super) seed_set: u32,
    pub(super) seeds: Vec<CanonicalUrl>,
    pub(super) targets: Vec<UrlId>,
    pub(super) judge: Arc<BayesJudge>,
    pub(super) words: Arc<TopicWords>,
    pub(super) fence: Option<Arc<Fence>>,
}

/// What one crawler fetched from a set of seeds: replayed when it is first asked for.
pub(super) struct Fence {
    crawler: Crawler,
    inside: Mutex<Option<Arc<HashSet<UrlId>>>>,
}

impl Fence {
    pub(super) fn new(crawler: Crawler) -> Self {
        Self {
            crawler,
            inside: Mutex::default(),
        }
    }

    pub(super) fn crawler(&self) -> &Crawler {
        &self.crawler
    }

    fn inside(
        &self,
        world: &Bench,
        spec: &ContestSpec,
        job: &Job,
    ) -> Result<Arc<HashSet<UrlId>>, ContestError> {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(inside) = inside.as_ref() {
            return Ok(Arc::clone(inside));
        }
        let free = Job {
            crawler: self.crawler.clone(),
            topic: job.topic.clone(),
            seed_set: job.seed_set,
            seeds: job.seeds.clone(),
            targets: Vec::new(),
            judge: Arc::clone(&job.judge),
            words: Arc::clone(&job.words),
            fence: None,
        };
        let asked = crawl(world, spec, &free, None)?.asked()?;
        Ok(Arc::clone(inside.insert(Arc::new(asked))))
    }
}

/// A crawl that has ended.
pub(super) struct Replayed {
    pub(super) store: Arc<dyn FrontierStore>,
    pub(super) curve: LossCurve,
    pub(super) reason: String,
    pub(super) learned: Learned,
}

impl Replayed {
    /// All URLs that it asked for: pages, failures and redirects.
    pub(super) fn asked(&self) -> Result<HashSet<UrlId>, StoreFailure> {
        let mut asked = HashSet::new();
        self.scan(|event| {
            let lease = match event {
                Event::Page(page) => &page.lease,
                Event::Failure(failure) => &failure.lease,
                Event::Redirect(redirect) => &redirect.lease,
                _ => return,
            };
            asked.insert(lease.url.id());
        })?;
        Ok(asked)
    }

    /// Calls `take` with each event, in order.
    pub(super) fn scan(&self, mut take: impl FnMut(&Event)) -> Result<(), StoreFailure> {
        self.store.scan(Seq(1), self.store.last(), &mut |_, event| {
            take(&event);
            true
        })
    }

    /// The counted fetches, and L(n) as the table judges them, if there is one.
    fn judged(
        &self,
        world: &Bench,
        seeds: &[CanonicalUrl],
        judge: Option<&TableJudge<'_>>,
    ) -> Result<(Vec<Fetched>, Option<LossCurve>), StoreFailure> {
        let home: BTreeSet<HostKey> = seeds.iter().map(CanonicalUrl::host_key).collect();
        let mut fetched = Vec::new();
        let mut curve = judge.map(|_| LossCurve::default());
        self.scan(|event| {
            let (url, is_copy, is_missing) = match event {
                Event::Page(page) => {
                    let like = page.likeness;
                    let is_copy = like.copy_of.or(like.near_copy_of).is_some();
                    (&page.lease.url, is_copy, false)
                }
                Event::Failure(failure) if failure.is_final => {
                    let url = &failure.lease.url;
                    (url, false, !world.archive.answers(url))
                }
                _ => return,
            };
            let id = url.id();
            if let (Some(curve), Some(judge)) = (&mut curve, judge) {
                curve.push(judge.relevance(id));
            }
            fetched.push(Fetched {
                url: id,
                is_example: world.trained_on.contains(&id),
                is_elsewhere: !home.contains(&url.host_key()),
                is_copy,
                is_missing,
            });
        })?;
        Ok((fetched, curve))
    }
}

/// Replays a job.
pub(super) fn replay(world: &Bench, spec: &ContestSpec, job: &Job) -> Result<Entry, ContestError> {
    let clock = SystemClock::new();
    let started = clock.now();
    let replayed = crawl(world, spec, job, None)?;
    let took = clock.now().since(started);
    Ok(Entry {
        took,
        ..entry(world, job, &replayed)?
    })
}

/// All that the outcome of a job depends on.
pub(super) fn run_key(world: &Bench, spec: &ContestSpec, job: &Job) -> serde_json::Value {
    let raw = raw_spec(spec, &job.crawler, &job.topic);
    let seeds = job.seeds.iter().map(CanonicalUrl::as_str);
    let words = Some(&job.words.words).filter(|_| job.crawler.needs_words());
    let begin = spec.begin_of(&job.crawler);
    serde_json::json!({
        "record": RunRecord::VERSION,
        "program": env!("CARGO_PKG_VERSION"),
        "sources": world.digests,
        "crawler": job.crawler.plain().name(),
        "spec": raw,
        "begin": begin.map(|begin| format!("{} {}", begin.digest, begin.told.carry.name())),
        "words": words,
        "without": spec.without,
        "seed_set": job.seed_set,
        "seeds": seeds.collect::<Vec<_>>(),
        "targets": job.targets.iter().map(|url| url.0).collect::<Vec<_>>(),
        "within": job.fence.as_ref().map(|fence| fence.crawler().name()),
        "closed_world": spec.closed_world,
    })
}

/// What became of a job.
pub(super) fn entry(world: &Bench, job: &Job, replayed: &Replayed) -> Result<Entry, ContestError> {
    let table = world.labels.as_deref();
    let table = table.map(|labels| labels.judge(&job.topic)).transpose()?;
    let (fetched, by_judge) = replayed.judged(world, &job.seeds, table.as_ref())?;
    Ok(Entry {
        crawler: job.crawler.clone(),
        topic: job.topic.clone(),
        seed_set: job.seed_set,
        seeds: job.seeds.clone(),
        targets: job.targets.clone(),
        by_critic: replayed.curve.clone(),
        by_judge,
        fetched,
        reason: replayed.reason.clone(),
        learned: replayed.learned.clone(),
        took: Duration::ZERO,
    })
}

/// The crawl of a job, with a scorer of the caller's own if there is one.
pub(super) fn crawl(
    world: &Bench,
    spec: &ContestSpec,
    job: &Job,
    scorer: Option<Box<dyn LinkScorer>>,
) -> Result<Replayed, ContestError> {
    let store: Arc<dyn FrontierStore> = Arc::new(MemoryStore::new());
    let start = Timestamp(0);
    let mut raw = raw_spec(spec, &job.crawler, &job.topic);
    let begins_with = begins_with(spec, job, &mut raw)?;
    store.append(Event::SpecChange(raw.encode_to_vec()));
    store.append(Event::State(StateEvent {
        state: CrawlState::Running,
        reason: "replay".to_owned(),
        at: start,
    }));
    store.append(Event::Seeds(SeedsEvent {
        urls: job.seeds.clone(),
        priority: SEED_PRIORITY,
        at: start,
    }));
    let parts = EngineParts {
        source: Arc::new(ReplaySource::new(ArchiveShelf(Arc::clone(&world.archive)))),
        clock: SimulatedClock::starting_at(start),
        judge: Judge::Near(Arc::clone(&job.judge) as _),
        store: Arc::clone(&store),
        calendar: HostCalendar::default(),
        robots: RobotsPolicy::Ignore,
        pace: Pace::Replay,
        world: world_of(world, spec, job)?,
        parsers: 1,
        guard_note: String::new(),
        needs_contact: false,
        scorer: match scorer {
            Some(scorer) => Some(scorer),
            None => scorer_of(world, job)?,
        },
        start: begins_with,
        learned: None,
        opening: Arc::default(),
    };
    let (engine, handle) = Engine::open(parts)?;
    // One small runtime a replay: its engine is the only task that waits.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| StoreFailure(format!("no runtime for a replay: {error}")))?;
    let (progress, learned) = runtime.block_on(engine.run_and_tell())?;
    drop(handle);
    Ok(Replayed {
        store,
        curve: progress.curve,
        reason: progress.state.1,
        learned,
    })
}

/// What the crawl's apprentice begins with, if it has one and is to begin with something.
fn begins_with(
    spec: &ContestSpec,
    job: &Job,
    raw: &mut v1::CrawlSpec,
) -> Result<Option<Arc<SavedApprentice>>, ContestError> {
    let Some(begin) = spec.begin_of(&job.crawler) else {
        return Ok(None);
    };
    let fitted = begin.told.fit(begin.saved.clone(), &begin.name, raw)?;
    Ok(Some(Arc::new(fitted)))
}

fn scorer_of(world: &Bench, job: &Job) -> Result<Option<Box<dyn LinkScorer>>, ContestError> {
    match job.crawler.plain() {
        Crawler::Order(..) | Crawler::Begun(_) => Ok(None),
        Crawler::Paper(guide, ..) => {
            let words = || job.words.as_ref().clone();
            let scorer: Box<dyn LinkScorer> = match *guide {
                Guide::Cosine => Box::new(CosineScorer(words())),
                Guide::Shark(params) => Box::new(SharkScorer::new(words(), params)),
                Guide::Random | Guide::Order(_) => return Ok(None),
            };
            Ok(Some(scorer))
        }
        Crawler::Oracle => {
            let labels = world.labels.as_ref().ok_or(ContestError::NoOracle)?;
            Ok(Some(Box::new(OracleScorer::new(labels, &job.topic)?)))
        }
    }
}

/// What a crawl may fetch beside its seeds; `None` is all that there is.
fn world_of(world: &Bench, spec: &ContestSpec, job: &Job) -> Result<Option<World>, ContestError> {
    let fence = match &job.fence {
        Some(fence) => Some(fence.inside(world, spec, job)?),
        None => None,
    };
    let archive = spec.closed_world.then(|| Arc::clone(&world.archive));
    if fence.is_none() && archive.is_none() {
        return Ok(None);
    }
    Ok(Some(Arc::new(move |url| {
        fence
            .as_ref()
            .is_none_or(|inside| inside.contains(&url.id()))
            && archive.as_ref().is_none_or(|archive| archive.answers(url))
    })))
}

/// The spec of one crawler's crawl on one topic.
pub(super) fn raw_spec(spec: &ContestSpec, crawler: &Crawler, topic: &str) -> v1::CrawlSpec {
    v1::CrawlSpec {
        name: "replay".to_owned(),
        topics: vec![topic.to_owned()],
        critic: PathBuf::from("given").display().to_string(),
        budget: spec.budget,
        order: crawler.order_name().into_owned(),
        apprentice: crawler.order().features().and(spec.apprentice.clone()),
        seed: spec.seed,
        scope: Some(v1::Scope {
            pages_per_host_max: spec.host_cap.unwrap_or(0),
            // An archived web is taken as it is: its URLs are those that were crawled once.
            keep_tracking: true,
            follow_traps: true,
            follow_copies: true,
            ..Default::default()
        }),
        limits: Some(v1::Limits {
            in_flight_max: spec.in_flight,
            delay_ms_min: Some(u64::try_from(spec.delay.as_millis()).unwrap_or(u64::MAX)),
            links_waiting_max: crawler.buffer(),
            ..Default::default()
        }),
        ..Default::default()
    }
}
