//! Crawlers side by side, on the same topics and seeds.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rand::seq::SliceRandom;

use super::begin::Begin;
use super::by_words::TopicWords;
use super::contest_error::ContestError;
use super::crawler::Crawler;
use super::labels::{Labels, TableJudge};
use super::neighbours::{Task, has_neighbours, task};
use super::replay::{Entry, Fence, Job, replay, run_key};
use super::runs::{RunFolder, RunRecord, work};
use super::sources::Digests;
use super::start::{Says, Start, far_seeds, labelled_seeds};
use super::web_graph::WebGraph;
use crate::archive::Archive;
use crate::clock::chance;
use crate::critic::{BayesJudge, CriticModel};
use crate::proto::v1;
use crate::taxonomy::Focus;
use crate::text::unknown_name;
use crate::url::{CanonicalUrl, UrlId};

/// Seeds drawn for each seed set, unless told otherwise.
pub const SEEDS_A_SET: usize = 10;

/// What is compared, on what.
#[derive(Clone, Debug)]
pub struct ContestSpec {
    /// The crawlers.
    pub crawlers: Vec<Crawler>,
    /// What the apprentices among them look at, if not what they usually do.
    pub apprentice: Option<v1::Apprentice>,
    /// What the apprentices among them begin with, if not with nothing.
    pub begin: Option<Arc<Begin>>,
    /// The topics, each a focus of its own.
    pub topics: Vec<String>,
    /// Topics under those that are taken out of the focus again.
    pub without: Vec<String>,
    /// Fetches that count, a crawl.
    pub budget: u64,
    /// Sets of seeds, a topic.
    pub seed_sets: u32,
    /// What the topics' keywords are, for crawlers that go by them.
    pub keywords: Keywords,
    /// Where crawls start.
    pub start: Start,
    /// Seeds drawn for each seed set, where they are drawn.
    pub start_pages: usize,
    /// The recall study: all other crawlers may fetch only what this one fetched from the same seeds.
    pub within: Option<Crawler>,
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

/// Where the keywords of a topic come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keywords {
    /// The words by which the critic tells it from the rest.
    #[default]
    Critic,
    /// The words of its name, all of its path, as in the exploration paper.
    Name,
}

impl Keywords {
    const NAMES: [&'static str; 2] = ["critic", "name"];

    /// The one of this name.
    ///
    /// # Errors
    /// Lists the names that there are.
    pub fn from_name(name: &str) -> Result<Self, String> {
        match name {
            "critic" => Ok(Self::Critic),
            "name" => Ok(Self::Name),
            _ => Err(format!("no source {}", unknown_name(name, &Self::NAMES))),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Critic => "critic",
            Self::Name => "name",
        }
    }
}

/// What is compared with.
#[derive(Clone)]
pub struct Bench {
    /// The archived web.
    pub archive: Arc<Archive>,
    /// The guide.
    pub model: Arc<CriticModel>,
    /// The independent judge, if there is one.
    pub labels: Option<Arc<Labels>>,
    /// Pages that the guide was trained on, so that its word on them proves little.
    pub trained_on: Arc<HashSet<UrlId>>,
    /// Which files all of these are.
    pub digests: Digests,
    /// The links of the archive, once somebody has asked for them.
    links: Arc<OnceLock<WebGraph>>,
}

impl std::fmt::Debug for Bench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bench")
            .field("digests", &self.digests)
            .finish_non_exhaustive()
    }
}

impl Bench {
    /// A bench of these.
    pub fn new(
        archive: Arc<Archive>,
        model: Arc<CriticModel>,
        labels: Option<Arc<Labels>>,
        trained_on: HashSet<UrlId>,
        digests: Digests,
    ) -> Self {
        Self {
            archive,
            model,
            labels,
            trained_on: Arc::new(trained_on),
            digests,
            links: Arc::default(),
        }
    }

    /// The links of the archive; the first to ask has it read, by so many workers.
    pub(super) fn web(&self, workers: usize) -> &WebGraph {
        self.links
            .get_or_init(|| WebGraph::read(&self.archive, workers))
    }

    /// Reads the links of the archive, if nobody has yet; how many pages and links it has.
    pub fn read_links(&self, workers: usize) -> (usize, usize) {
        self.web(workers).counts()
    }

    /// Makes the `PageRank` of all pages of the archive by all of its links, if nobody has yet.
    pub fn rank_links(&self, workers: usize) {
        self.web(workers).with_ranks();
    }

    /// The pages that `model` was trained on, as far as it names them.
    pub fn examples_of(model: &CriticModel) -> HashSet<UrlId> {
        let urls = model
            .examples()
            .filter_map(|url| CanonicalUrl::parse(url).ok());
        urls.map(|url| url.id()).collect()
    }
}

/// A contest of several: its name, and what is compared.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What it is called.
    pub name: String,
    /// What is compared.
    pub spec: ContestSpec,
}

/// A contest as far as it was held.
#[derive(Clone, Debug)]
pub struct Held {
    /// The crawls that were made, in the order of topics, seed sets and crawlers.
    pub entries: Vec<Entry>,
    /// Crawls that are missing, because it was stopped.
    pub missing: usize,
}

/// What goes on beside the crawls.
pub struct Watch<'a> {
    /// Where results are kept and found again.
    pub folder: Option<&'a RunFolder>,
    /// No crawl is begun once this is set.
    pub stop: &'a AtomicBool,
    /// Called once with the number of all crawls and of those that were found.
    pub begun: &'a (dyn Fn(usize, usize) + Sync),
    /// Called after each crawl that was made now.
    pub done: &'a (dyn Fn(&Entry) + Sync),
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
    let setting = Setting {
        name: String::new(),
        spec: spec.clone(),
    };
    let watch = Watch {
        folder: None,
        stop: &AtomicBool::new(false),
        begun: &|_, _| {},
        done,
    };
    let held = run_all(world, &[setting], spec.workers, &watch)?;
    Ok(held.into_iter().flat_map(|held| held.entries).collect())
}

/// Runs the crawls of all settings, which share the workers; those that the folder has are not made
/// again. Blocks.
///
/// # Errors
/// [`ContestError`] at the first topic, seed set or replay that cannot be had.
pub fn run_all(
    world: &Bench,
    settings: &[Setting],
    workers: usize,
    watch: &Watch<'_>,
) -> Result<Vec<Held>, ContestError> {
    let mut places = Places::default();
    let mut jobs = Vec::new();
    for (at, setting) in settings.iter().enumerate() {
        let here = jobs_from(world, &setting.spec, &mut places)?;
        jobs.extend(here.into_iter().map(|job| (at, &setting.spec, job)));
    }
    let found: Vec<Option<Entry>> = jobs
        .iter()
        .map(|(_, spec, job)| {
            let record: RunRecord = watch.folder?.get(&run_key(world, spec, job))?;
            record.entry(job)
        })
        .collect();
    let missing = jobs.iter().zip(&found).filter(|(_, found)| found.is_none());
    let missing: Vec<_> = missing.map(|(job, _)| job).collect();
    (watch.begun)(jobs.len(), jobs.len() - missing.len());
    let made = work(&missing, workers, watch.stop, &|(_, spec, job)| {
        let entry = replay(world, spec, job)?;
        if let Some(folder) = watch.folder {
            folder.put(&run_key(world, spec, job), &RunRecord::of(&entry))?;
        }
        (watch.done)(&entry);
        Ok::<_, ContestError>(entry)
    })?;
    let mut made = made.into_iter();
    let mut held: Vec<Held> = settings
        .iter()
        .map(|_| Held {
            entries: Vec::new(),
            missing: 0,
        })
        .collect();
    for ((at, _, _), found) in jobs.iter().zip(found) {
        match found.or_else(|| made.next().flatten()) {
            Some(entry) => held[*at].entries.push(entry),
            None => held[*at].missing += 1,
        }
    }
    Ok(held)
}

/// Where crawls start, by topic and kind of start: finding out may take a while.
type Places = BTreeMap<(String, String), Vec<CanonicalUrl>>;

pub(super) fn jobs(world: &Bench, spec: &ContestSpec) -> Result<Vec<Job>, ContestError> {
    jobs_from(world, spec, &mut Places::default())
}

fn jobs_from(
    world: &Bench,
    spec: &ContestSpec,
    places: &mut Places,
) -> Result<Vec<Job>, ContestError> {
    let mut jobs = Vec::new();
    let foci = Focus::each(&spec.topics, &spec.without)?;
    let mut judges = Vec::new();
    for (topic, focus) in spec.topics.iter().zip(&foci) {
        let judge = BayesJudge::new(Arc::clone(&world.model), focus)?;
        judges.push(Arc::new(judge));
        if let Some(labels) = &world.labels {
            labels.judge(topic)?;
        }
    }
    if spec.start == Start::Far {
        find_far(world, spec, &judges, places)?;
    }
    for ((topic, focus), judge) in spec.topics.iter().zip(foci).zip(&judges) {
        let place = place_of(spec, topic);
        let starts = match places.get(&place) {
            Some(known) => known.clone(),
            None => starts(world, spec, topic, &focus)?,
        };
        places.insert(place, starts.clone());
        let words = TopicWords::of(spec.keywords, topic, &focus, &world.model)?;
        let words = Arc::new(words);
        for seed_set in 0..spec.seed_sets {
            let Task { seeds, targets } = seeds(world, spec, topic, &starts, seed_set)?;
            let fence = spec.within.clone();
            let fence = fence.map(|crawler| Arc::new(Fence::new(crawler)));
            jobs.extend(spec.crawlers.iter().map(|crawler| Job {
                crawler: crawler.clone(),
                topic: topic.clone(),
                seed_set,
                seeds: seeds.clone(),
                targets: targets.clone(),
                judge: Arc::clone(judge),
                words: Arc::clone(&words),
                fence: fence.clone().filter(|fence| fence.crawler() != crawler),
            }));
        }
    }
    Ok(jobs)
}

fn place_of(spec: &ContestSpec, topic: &str) -> (String, String) {
    let start = format!("{:?} {:?}", spec.start, spec.without);
    (topic.to_owned(), start)
}

/// Finds the far starts of all topics, unless they are known. Reads the archive once.
fn find_far(
    world: &Bench,
    spec: &ContestSpec,
    judges: &[Arc<BayesJudge>],
    places: &mut Places,
) -> Result<(), ContestError> {
    let is_known = |topic: &String| places.contains_key(&place_of(spec, topic));
    if spec.topics.iter().all(is_known) {
        return Ok(());
    }
    let labels = world.labels.as_deref();
    let tables = spec.topics.iter().map(|topic| {
        let table = labels.map(|labels| labels.judge(topic));
        table.transpose()
    });
    let tables: Vec<Option<TableJudge<'_>>> = tables.collect::<Result<_, _>>()?;
    let says = judges.iter().zip(&tables).map(|(critic, table)| Says {
        critic,
        table: table.as_ref(),
    });
    let says: Vec<Says<'_>> = says.collect();
    let found = far_seeds(&world.archive, &says, cores());
    for (topic, far) in spec.topics.iter().zip(found) {
        // Where there are none, the look for them says so.
        if !far.is_empty() {
            places.insert(place_of(spec, topic), far);
        }
    }
    Ok(())
}

/// All that the seeds of a topic are drawn from, sorted. May read the whole archive.
fn starts(
    world: &Bench,
    spec: &ContestSpec,
    topic: &str,
    focus: &Focus,
) -> Result<Vec<CanonicalUrl>, ContestError> {
    let mut starts: Vec<CanonicalUrl> = match &spec.start {
        Start::Urls(urls) => {
            for url in urls.iter().filter(|url| !world.archive.answers(url)) {
                tracing::warn!(%url, "this start is not in the archive");
            }
            return Ok(urls.clone());
        }
        Start::Examples | Start::Neighbours => {
            let examples = world.model.examples_of(focus)?;
            let urls = examples
                .iter()
                .filter_map(|url| CanonicalUrl::parse(url).ok());
            urls.filter(|url| world.archive.contains(url)).collect()
        }
        // They are found for all topics together, before.
        Start::Far => Vec::new(),
        Start::Labelled => {
            let labels = world.labels.as_deref().ok_or(ContestError::NoLabels)?;
            let table = labels.judge(topic)?;
            labelled_seeds(&world.archive, &table, &world.trained_on)
        }
    };
    if spec.start == Start::Neighbours {
        let web = world.web(cores());
        starts.retain(|url| has_neighbours(web, url));
    }
    starts.sort();
    starts.dedup();
    if starts.is_empty() {
        return Err(ContestError::NoSeeds {
            topic: topic.to_owned(),
            why: match spec.start {
                Start::Far => NOTHING_FAR.to_owned(),
                Start::Neighbours => NO_NEIGHBOURS.to_owned(),
                Start::Labelled => {
                    "no archived page beside the critic's examples is labelled so".to_owned()
                }
                _ => "none of its examples is in the archive; give --start URL..".to_owned(),
            },
        });
    }
    Ok(starts)
}

const NOTHING_FAR: &str = "no archived page lies two links or more before a relevant one";
const NO_NEIGHBOURS: &str = "no archived page lies two links before one of its examples";

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn seeds(
    world: &Bench,
    spec: &ContestSpec,
    topic: &str,
    starts: &[CanonicalUrl],
    seed_set: u32,
) -> Result<Task, ContestError> {
    let mut seeds = starts.to_vec();
    let mut luck = chance(spec.seed, &format!("seed set {seed_set} of {topic}"));
    // URLs that were named are all taken, as they stand.
    if !matches!(spec.start, Start::Urls(_)) {
        seeds.shuffle(&mut luck);
        seeds.truncate(spec.start_pages);
    }
    if spec.start != Start::Neighbours {
        return Ok(Task {
            seeds,
            targets: Vec::new(),
        });
    }
    let (web, ranks) = world.web(cores()).with_ranks();
    let found = task(web, ranks, &seeds, spec.start_pages, &mut luck);
    found.ok_or_else(|| ContestError::NoSeeds {
        topic: topic.to_owned(),
        why: NO_NEIGHBOURS.to_owned(),
    })
}
