//! Many crawls of several graphs, side by side.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use rand::seq::SliceRandom;

use super::crawl::{Settings, crawl};
use super::model::{Graph, NodeId};
use super::precision::{Precision, precision};
use super::roster::GraphCrawler;
use crate::clock::{Clock, chance};
use crate::lab::runs::{RunFolder, RunFolderError, work};

/// What is compared.
#[derive(Clone, Debug)]
pub struct GraphContest {
    /// The crawlers; the oracle is always run as well.
    pub crawlers: Vec<GraphCrawler>,
    /// Nodes fetched at most, a crawl.
    pub budget: u64,
    /// Where tables show the score, beside the usual points of the curve; none for the powers of ten from
    /// 100 and the budget.
    pub points: Vec<u64>,
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
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
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

impl GraphEntry {
    /// The sum of beta after `n` nodes, if it was written down there.
    pub fn score(&self, n: u64) -> Option<f64> {
        let mut scores = self.scores.iter();
        scores.find(|(at, _)| *at == n).map(|(_, score)| *score)
    }
}

/// Why a contest cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum GraphContestError {
    /// What was done cannot be kept.
    #[error(transparent)]
    Keep(#[from] RunFolderError),
    /// Nothing to start from.
    #[error(
        "graph {0}: no node has a score above 0, so there is nothing to start from or to find; try another keyword"
    )]
    Barren(String),
}

impl GraphContest {
    /// Where the sum is written down, rising: 1, 2, 5, 10, 20, .., the points that were asked for, and the
    /// budget.
    pub fn checkpoints(&self) -> Vec<u64> {
        let mut points = Vec::new();
        let mut decade = 1_u64;
        while decade <= self.budget {
            let here = [1, 2, 5].map(|k| decade.saturating_mul(k));
            points.extend(here.into_iter().filter(|n| *n < self.budget));
            decade = decade.saturating_mul(10);
        }
        points.extend(self.points.iter().filter(|n| **n < self.budget));
        points.push(self.budget);
        points.sort_unstable();
        points.dedup();
        points
    }

    /// Where tables show the score, rising; all of them are [`Self::checkpoints`].
    pub fn shown_points(&self) -> Vec<u64> {
        let is_power = |n: u64| n >= 100 && n.to_string().trim_end_matches('0') == "1";
        let is_shown = |n: &u64| {
            if self.points.is_empty() {
                is_power(*n) || *n == self.budget
            } else {
                self.points.contains(n)
            }
        };
        self.checkpoints().into_iter().filter(is_shown).collect()
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

/// What goes on beside the crawls of graphs.
pub struct GraphWatch<'a> {
    /// Where results are kept and found again.
    pub folder: Option<&'a RunFolder>,
    /// No crawl is begun once this is set.
    pub stop: &'a AtomicBool,
    /// Called once with the number of all crawls and of those that were found.
    pub begun: &'a (dyn Fn(usize, usize) + Sync),
    /// Called after each crawl that was made now.
    pub done: &'a (dyn Fn(&GraphEntry) + Sync),
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
    let watch = GraphWatch {
        folder: None,
        stop: &AtomicBool::new(false),
        begun: &|_, _| {},
        done,
    };
    Ok(run_kept(graphs, contest, clock, &watch)?.0)
}

/// The same with what was kept before; beside the entries the number of crawls that are missing
/// because it was stopped.
///
/// # Errors
/// [`GraphContestError`].
pub fn run_kept(
    graphs: &[(String, Graph)],
    contest: &GraphContest,
    clock: &impl Clock,
    watch: &GraphWatch<'_>,
) -> Result<(Vec<GraphEntry>, usize), GraphContestError> {
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
    // Digests are only needed where something is kept.
    let named = graphs.iter().filter(|_| watch.folder.is_some());
    let digests: BTreeMap<&str, String> = named
        .map(|(name, graph)| (name.as_str(), graph.digest()))
        .collect();
    let find = |job: &Job<'_>| watch.folder?.get(&job.key(contest, &digests));
    let found: Vec<Option<GraphEntry>> = jobs.iter().map(find).collect();
    let missing = jobs.iter().zip(&found).filter(|(_, found)| found.is_none());
    let missing: Vec<&Job<'_>> = missing.map(|(job, _)| job).collect();
    (watch.begun)(jobs.len(), jobs.len() - missing.len());
    let made = work(&missing, contest.workers, watch.stop, &|job| {
        let entry = job.run(contest, clock);
        if let Some(folder) = watch.folder {
            folder.put(&job.key(contest, &digests), &entry)?;
        }
        (watch.done)(&entry);
        Ok::<_, GraphContestError>(entry)
    })?;
    let mut made = made.into_iter();
    let all = found
        .into_iter()
        .map(|found| found.or_else(|| made.next().flatten()));
    let entries: Vec<GraphEntry> = all.flatten().collect();
    let missing = jobs.len() - entries.len();
    Ok((entries, missing))
}

struct Job<'a> {
    name: &'a str,
    graph: &'a Graph,
    crawler: &'a GraphCrawler,
    set: u32,
    seeds: Vec<NodeId>,
}

impl Job<'_> {
    /// All that its outcome depends on.
    fn key(&self, contest: &GraphContest, digests: &BTreeMap<&str, String>) -> serde_json::Value {
        serde_json::json!({
            "program": env!("CARGO_PKG_VERSION"),
            "graph": self.name,
            "digest": digests.get(self.name),
            "crawler": self.crawler.label(),
            "budget": contest.budget,
            "points": contest.points,
            "seed": contest.seed,
            "seed_set": self.set,
            "seeds": self.seeds,
        })
    }

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
