//! Many crawls of several graphs, side by side.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::seq::SliceRandom;

use super::crawl::{Settings, crawl};
use super::model::{Graph, NodeId};
use super::precision::{Precision, precision};
use super::roster::GraphCrawler;
use crate::clock::{Clock, chance};

/// What is compared.
#[derive(Clone, Debug)]
pub struct GraphContest {
    /// The crawlers; the oracle is always run as well.
    pub crawlers: Vec<GraphCrawler>,
    /// Nodes fetched at most, a crawl.
    pub budget: u64,
    /// Sets of seeds, a graph.
    pub seed_sets: u32,
    /// Nodes with a score above 0 that are drawn for each set.
    pub seeds: usize,
    /// Seed of all chance.
    pub seed: u64,
    /// Crawls at once.
    pub workers: usize,
}

/// One crawl.
#[derive(Clone, Debug, serde::Serialize)]
pub struct GraphEntry {
    /// The graph.
    pub graph: String,
    /// The crawler.
    pub crawler: String,
    /// From 0.
    pub seed_set: u32,
    /// Nodes fetched; fewer than the budget where nothing more could be reached.
    pub fetched: u64,
    /// (n, sum of beta after n nodes) at the checkpoints.
    pub scores: Vec<(u64, f64)>,
    /// The whole crawl, in microseconds a step.
    pub step_us: f64,
}

/// Why a contest cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphContestError {
    /// Nothing to start from.
    #[error(
        "graph {0}: no node has a score above 0, so there is nothing to start from or to find; try another keyword"
    )]
    Barren(String),
}

impl GraphContest {
    /// Where the sum is written down: 1, 2, 5, 10, 20, .. and the budget.
    pub fn checkpoints(&self) -> Vec<u64> {
        let mut points = Vec::new();
        let mut decade = 1_u64;
        while decade <= self.budget {
            let here = [1, 2, 5].map(|k| decade.saturating_mul(k));
            points.extend(here.into_iter().filter(|n| *n < self.budget));
            decade = decade.saturating_mul(10);
        }
        points.push(self.budget);
        points
    }

    /// The nodes that seed set `set` begins with.
    ///
    /// # Errors
    /// [`GraphContestError::Barren`].
    pub fn seeds_of(
        &self,
        name: &str,
        graph: &Graph,
        set: u32,
    ) -> Result<Vec<NodeId>, GraphContestError> {
        let mut scored = graph.scored();
        if scored.is_empty() {
            return Err(GraphContestError::Barren(name.to_owned()));
        }
        let mut luck = chance(self.seed, &format!("graph seeds {set}"));
        let (drawn, _) = scored.partial_shuffle(&mut luck, self.seeds);
        Ok(drawn.to_vec())
    }

    /// How precise each estimator is along the oracle's crawl from the first seed set.
    ///
    /// # Errors
    /// [`GraphContestError::Barren`].
    pub fn precision(
        &self,
        name: &str,
        graph: &Graph,
    ) -> Result<Vec<Precision>, GraphContestError> {
        let seeds = self.seeds_of(name, graph, 0)?;
        Ok(precision(graph, &seeds, &self.crawlers, self.settings()))
    }

    fn settings(&self) -> Settings {
        Settings {
            budget: self.budget,
            seed: self.seed,
        }
    }
}

/// Runs every crawler on every graph from every seed set. The order of the entries, and all in them
/// but the time, is the same for any number of workers.
///
/// # Errors
/// [`GraphContestError`].
pub fn run(
    graphs: &[(String, Graph)],
    contest: &GraphContest,
    clock: &impl Clock,
    done: &(dyn Fn(&GraphEntry) + Sync),
) -> Result<Vec<GraphEntry>, GraphContestError> {
    let mut crawlers = contest.crawlers.clone();
    let oracle = GraphCrawler::oracle();
    if !crawlers.contains(&oracle) {
        crawlers.push(oracle);
    }
    let mut jobs = Vec::new();
    for (name, graph) in graphs {
        for set in 0..contest.seed_sets {
            let seeds = contest.seeds_of(name, graph, set)?;
            let here = crawlers.iter().map(|crawler| Job {
                name,
                graph,
                crawler,
                set,
                seeds: seeds.clone(),
            });
            jobs.extend(here);
        }
    }
    let next = AtomicUsize::new(0);
    let entries = Mutex::new(Vec::with_capacity(jobs.len()));
    std::thread::scope(|scope| {
        for _ in 0..contest.workers.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                while let Some((at, job)) = take(&jobs, &next) {
                    let entry = job.run(contest, clock);
                    done(&entry);
                    if let Ok(mut entries) = entries.lock() {
                        entries.push((at, entry));
                    }
                }
            });
        }
    });
    let mut entries = entries.into_inner().unwrap_or_default();
    entries.sort_by_key(|(at, _)| *at);
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

fn take<'a, T>(jobs: &'a [T], next: &AtomicUsize) -> Option<(usize, &'a T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(at).map(|job| (at, job))
}

struct Job<'a> {
    name: &'a str,
    graph: &'a Graph,
    crawler: &'a GraphCrawler,
    set: u32,
    seeds: Vec<NodeId>,
}

impl Job<'_> {
    fn run(&self, contest: &GraphContest, clock: &impl Clock) -> GraphEntry {
        let started = clock.now();
        let trace = crawl(self.graph, &self.seeds, self.crawler, contest.settings());
        let seconds = clock.now().since(started).as_secs_f64();
        let points = contest.checkpoints().into_iter();
        GraphEntry {
            graph: self.name.to_owned(),
            crawler: self.crawler.label().to_owned(),
            seed_set: self.set,
            fetched: trace.nodes.len() as u64,
            scores: points.map(|n| (n, trace.score(n))).collect(),
            step_us: seconds * 1e6 / trace.nodes.len().max(1) as f64,
        }
    }
}
