//! Crawlers side by side: each a crawl of the ordinary engine, with an archive for the network, a
//! simulated clock and a log in memory. Same archive, same seed, same configuration, same curve.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use rand::seq::SliceRandom;

use super::crawler::{Crawler, OracleScorer};
use super::labels::{Labels, LabelsError, TableJudge};
use super::shelf::ArchiveShelf;
use super::start::{Start, far_seeds};
use crate::apprentice::LinkScorer;
use crate::archive::Archive;
use crate::booking::{CrawlState, Event, SeedsEvent, Seq, StateEvent};
use crate::clock::{SimulatedClock, Timestamp, chance};
use crate::crawl::{
    Engine, EngineError, EngineParts, Judge, Pace, RobotsPolicy, SEED_PRIORITY, SpecError, World,
};
use crate::critic::{BayesJudge, CriticModel, JudgeError};
use crate::fetch::ReplaySource;
use crate::frontier::{FrontierStore, HostCalendar, MemoryStore, StoreFailure};
use crate::measure::LossCurve;
use crate::proto::v1;
use crate::taxonomy::{Focus, FocusError};
use crate::url::CanonicalUrl;

/// Seeds drawn for each seed set.
pub const SEEDS_A_SET: usize = 10;

/// What is compared, on what.
#[derive(Clone, Debug)]
pub struct ContestSpec {
    /// The crawlers.
    pub crawlers: Vec<Crawler>,
    /// What the apprentices among them look at, if not what they usually do.
    pub apprentice: Option<v1::Apprentice>,
    /// The topics, each a focus of its own.
    pub topics: Vec<String>,
    /// Topics under those that are taken out of the focus again.
    pub without: Vec<String>,
    /// Fetches that count, a crawl.
    pub budget: u64,
    /// Sets of seeds, a topic.
    pub seed_sets: u32,
    /// Where crawls start.
    pub start: Start,
    /// Links that leave the archive are dropped, or else count as fetched and lost.
    pub closed_world: bool,
    /// Fetches of one host at most.
    pub host_cap: Option<u64>,
    /// Fetches at once (1 unless there is a reason).
    pub in_flight: u32,
    /// The delay between two requests to a host, simulated.
    pub delay: Duration,
    /// Seed of all chance.
    pub seed: u64,
    /// Crawls replayed at once; leaves no trace in the results.
    pub workers: usize,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum ContestError {
    /// A topic cannot be a focus.
    #[error(transparent)]
    Focus(#[from] FocusError),
    /// The critic cannot judge it.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// The labels cannot judge it.
    #[error(transparent)]
    Labels(#[from] LabelsError),
    /// Nobody knows the truth.
    #[error("the oracle goes by the labels, and there are none; give --labels TABLE")]
    NoOracle,
    /// A replay broke.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A replay's log broke.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// The spec of a replay cannot be taken.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Nothing to start from.
    #[error("topic {topic:?}: no seeds: {why}")]
    NoSeeds {
        /// The topic.
        topic: String,
        /// Why.
        why: String,
    },
}

/// What is compared with.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The archived web.
    pub archive: Arc<Archive>,
    /// The guide.
    pub model: Arc<CriticModel>,
    /// The independent judge, if there is one.
    pub labels: Option<Arc<Labels>>,
}

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
    /// L(n) by the critic that guided it.
    pub by_critic: LossCurve,
    /// L(n) by the labels.
    pub by_judge: Option<LossCurve>,
    /// Why it ended.
    pub reason: String,
}

/// Where an entry begins.
struct Job {
    crawler: Crawler,
    topic: String,
    seed_set: u32,
    seeds: Vec<CanonicalUrl>,
    judge: Arc<BayesJudge>,
}

/// Runs all crawls; `done` is called after each. Blocks; the entries come in the order of topics, seed
/// sets and crawlers.
///
/// # Errors
/// [`ContestError`] at the first topic, seed set or replay that cannot be had.
pub fn run(
    world: &Bench,
    spec: &ContestSpec,
    done: &(dyn Fn(&Entry) + Sync),
) -> Result<Vec<Entry>, ContestError> {
    let jobs = jobs(world, spec)?;
    let next = std::sync::atomic::AtomicUsize::new(0);
    let take = || -> Result<Vec<(usize, Entry)>, ContestError> {
        let mut entries = Vec::new();
        loop {
            let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(job) = jobs.get(at) else {
                return Ok(entries);
            };
            let entry = replay(world, spec, job)?;
            done(&entry);
            entries.push((at, entry));
        }
    };
    let mut entries = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..spec.workers.max(1))
            .map(|_| scope.spawn(take))
            .collect();
        let mut entries = Vec::with_capacity(jobs.len());
        for worker in workers {
            match worker.join() {
                Ok(part) => entries.extend(part?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok::<_, ContestError>(entries)
    })?;
    entries.sort_by_key(|(at, _)| *at);
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

fn jobs(world: &Bench, spec: &ContestSpec) -> Result<Vec<Job>, ContestError> {
    let mut jobs = Vec::new();
    let foci = Focus::each(&spec.topics, &spec.without)?;
    for (topic, focus) in spec.topics.iter().zip(foci) {
        let judge = Arc::new(BayesJudge::new(Arc::clone(&world.model), &focus)?);
        if let Some(labels) = &world.labels {
            labels.judge(topic)?;
        }
        let starts = starts(world, spec, topic, &focus, judge.as_ref())?;
        for seed_set in 0..spec.seed_sets {
            let seeds = seeds(spec, topic, &starts, seed_set);
            jobs.extend(spec.crawlers.iter().map(|crawler| Job {
                crawler: *crawler,
                topic: topic.clone(),
                seed_set,
                seeds: seeds.clone(),
                judge: Arc::clone(&judge),
            }));
        }
    }
    Ok(jobs)
}

/// All that the seeds of a topic are drawn from, sorted. May read the whole archive.
fn starts(
    world: &Bench,
    spec: &ContestSpec,
    topic: &str,
    focus: &Focus,
    judge: &BayesJudge,
) -> Result<Vec<CanonicalUrl>, ContestError> {
    let mut starts: Vec<CanonicalUrl> = match &spec.start {
        Start::Urls(urls) => {
            for url in urls.iter().filter(|url| !world.archive.answers(url)) {
                tracing::warn!(%url, "this start is not in the archive");
            }
            return Ok(urls.clone());
        }
        Start::Examples => {
            let examples = world.model.examples_of(focus)?;
            let urls = examples
                .iter()
                .filter_map(|url| CanonicalUrl::parse(url).ok());
            urls.filter(|url| world.archive.contains(url)).collect()
        }
        Start::Far => {
            let table = world.labels.as_deref().map(|labels| labels.judge(topic));
            far_seeds(&world.archive, judge, table.transpose()?.as_ref())
        }
    };
    starts.sort();
    starts.dedup();
    if starts.is_empty() {
        return Err(ContestError::NoSeeds {
            topic: topic.to_owned(),
            why: match spec.start {
                Start::Far => {
                    "no archived page lies two links or more before a relevant one".to_owned()
                }
                _ => "none of its examples is in the archive; give --start URL..".to_owned(),
            },
        });
    }
    Ok(starts)
}

fn seeds(
    spec: &ContestSpec,
    topic: &str,
    starts: &[CanonicalUrl],
    seed_set: u32,
) -> Vec<CanonicalUrl> {
    let mut seeds = starts.to_vec();
    // URLs that were named are all taken, as they stand.
    if !matches!(spec.start, Start::Urls(_)) {
        seeds.shuffle(&mut chance(
            spec.seed,
            &format!("seed set {seed_set} of {topic}"),
        ));
        seeds.truncate(SEEDS_A_SET);
    }
    seeds
}

fn raw_spec(spec: &ContestSpec, job: &Job) -> v1::CrawlSpec {
    v1::CrawlSpec {
        name: "replay".to_owned(),
        topics: vec![job.topic.clone()],
        critic: PathBuf::from("given").display().to_string(),
        budget: spec.budget,
        order: job.crawler.order().name().to_owned(),
        apprentice: job.crawler.order().features().and(spec.apprentice.clone()),
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
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn replay(world: &Bench, spec: &ContestSpec, job: &Job) -> Result<Entry, ContestError> {
    let store: Arc<dyn FrontierStore> = Arc::new(MemoryStore::new());
    let start = Timestamp(0);
    store.append(Event::SpecChange(raw_spec(spec, job).encode_to_vec()));
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
    let archive = Arc::clone(&world.archive);
    let closed: World = Arc::new(move |url| archive.answers(url));
    let judge = Judge::Near(Arc::clone(&job.judge) as _);
    let scorer: Option<Box<dyn LinkScorer>> = match job.crawler {
        Crawler::Order(_) => None,
        Crawler::Oracle => {
            let labels = world.labels.as_ref().ok_or(ContestError::NoOracle)?;
            Some(Box::new(OracleScorer::new(labels, &job.topic)?))
        }
    };
    let parts = EngineParts {
        source: Arc::new(ReplaySource::new(ArchiveShelf(Arc::clone(&world.archive)))),
        clock: SimulatedClock::starting_at(start),
        judge,
        store: Arc::clone(&store),
        calendar: HostCalendar::default(),
        robots: RobotsPolicy::Ignore,
        pace: Pace::Replay,
        world: spec.closed_world.then_some(closed),
        parsers: 1,
        guard_note: String::new(),
        needs_contact: false,
        scorer,
    };
    let (engine, handle) = Engine::open(parts)?;
    // One small runtime a replay: its engine is the only task that waits.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| StoreFailure(format!("no runtime for a replay: {error}")))?;
    let progress = runtime.block_on(engine.run())?;
    drop(handle);
    let by_judge = match world.labels.as_deref() {
        Some(labels) => Some(judged_curve(store.as_ref(), &labels.judge(&job.topic)?)?),
        None => None,
    };
    Ok(Entry {
        crawler: job.crawler,
        topic: job.topic.clone(),
        seed_set: job.seed_set,
        seeds: job.seeds.clone(),
        by_critic: progress.curve,
        by_judge,
        reason: progress.state.1,
    })
}

/// L(n) of the crawl in `store`, as the table judges each URL that was fetched.
fn judged_curve(
    store: &dyn FrontierStore,
    judge: &TableJudge<'_>,
) -> Result<LossCurve, StoreFailure> {
    let mut curve = LossCurve::default();
    store.scan(Seq(1), store.last(), &mut |_, event| {
        if event.counts().is_some() {
            let url = match &event {
                Event::Page(page) => Some(&page.lease.url),
                Event::Failure(failure) => Some(&failure.lease.url),
                _ => None,
            };
            curve.push(url.map_or(0.0, |url| judge.relevance(url.id())));
        }
        true
    })?;
    Ok(curve)
}
