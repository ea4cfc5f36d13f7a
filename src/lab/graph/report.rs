//! What a contest on graphs leaves behind: `scores.csv`, `global.csv`, `paired.csv`, `summary.json` and
//! pictures of the global score; and what a comparison of estimators does.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use super::contest::{GraphContest, GraphEntry};
use super::duels::{GraphDuel, graph_duels};
use super::precision::{Precision, WINDOW};
use super::world::GraphWorld;
use crate::lab::measures::Interval;
use crate::measure::{Axes, Line, SVG_CURVES_MAX, line_svg};

/// A contest on graphs as far as it was held.
#[derive(Clone, Copy, Debug)]
pub struct GraphShown<'a> {
    /// The graphs.
    pub worlds: &'a [GraphWorld],
    /// What was compared.
    pub contest: &'a GraphContest,
    /// Its crawls.
    pub entries: &'a [GraphEntry],
    /// The crawler that the others are compared with.
    pub against: &'a str,
    /// Crawls that are missing, because it was stopped.
    pub missing: usize,
}

/// The crawlers against each other.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct GraphSummary {
    /// Its name.
    pub crawler: String,
    /// (n, global score): on each graph the mean over the seed sets by that of the oracle, then the
    /// geometric mean over the graphs. `None` where the oracle found nothing, or was not run yet.
    pub global: Vec<(u64, Option<f64>)>,
    /// Mean over all crawls, in microseconds a step.
    pub step_us: f64,
    /// Crawls that ended before the budget, because nothing more could be reached.
    pub exhausted: u64,
}

/// The names in the order in which they first come.
pub(super) fn in_order<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut kept: Vec<&str> = Vec::new();
    for name in names {
        if !kept.contains(&name) {
            kept.push(name);
        }
    }
    kept
}

/// The crawls of a contest by graph, crawler and seed set.
pub(super) struct Found<'a> {
    graphs: Vec<&'a str>,
    points: Vec<u64>,
    crawls: BTreeMap<(&'a str, &'a str), BTreeMap<u32, &'a GraphEntry>>,
}

impl<'a> Found<'a> {
    pub(super) fn of(contest: &GraphContest, entries: &'a [GraphEntry]) -> Self {
        let mut crawls: BTreeMap<_, BTreeMap<u32, &GraphEntry>> = BTreeMap::new();
        for entry in entries {
            let place = (entry.graph.as_str(), entry.crawler.as_str());
            let sets = crawls.entry(place).or_default();
            sets.insert(entry.seed_set, entry);
        }
        Self {
            graphs: in_order(entries.iter().map(|entry| entry.graph.as_str())),
            points: contest.checkpoints(),
            crawls,
        }
    }

    pub(super) fn graphs(&self) -> &[&'a str] {
        &self.graphs
    }

    /// The scores of two crawlers after `n` nodes, from each seed set that both were run from.
    pub(super) fn pairs(
        &self,
        graph: &'a str,
        one: &'a str,
        other: &'a str,
        n: u64,
    ) -> impl Iterator<Item = (f64, f64)> + use<'_> {
        let of = |crawler| self.crawls.get(&(graph, crawler));
        let others = of(other);
        of(one)
            .into_iter()
            .flatten()
            .filter_map(move |(set, entry)| {
                let other = others?.get(set)?;
                Some((entry.score(n)?, other.score(n)?))
            })
    }

    /// The oracle's mean score; `None` if it found nothing.
    pub(super) fn oracle_mean(&self, graph: &'a str, n: u64) -> Option<f64> {
        let oracle = self.crawls.get(&(graph, ORACLE))?;
        let sum: f64 = oracle.values().filter_map(|entry| entry.score(n)).sum();
        Some(sum / oracle.len() as f64).filter(|mean| *mean > 0.0)
    }

    /// The score by the oracle's, means over the seed sets that both were run from.
    fn by_oracle(&self, graph: &'a str, crawler: &'a str, n: u64) -> Option<f64> {
        let add = |sum: (f64, f64), pair: (f64, f64)| (sum.0 + pair.0, sum.1 + pair.1);
        let pairs = self.pairs(graph, crawler, ORACLE, n);
        let (own, oracle) = pairs.fold((0.0, 0.0), add);
        (oracle > 0.0).then(|| own / oracle)
    }

    /// The geometric mean over the graphs.
    fn global(&self, crawler: &'a str, n: u64) -> Option<f64> {
        let graphs = self.graphs.iter();
        let logs = graphs.filter_map(|graph| Some(self.by_oracle(graph, crawler, n)?.ln()));
        let (sum, count) = logs.fold((0.0, 0.0_f64), |(sum, count), log| (sum + log, count + 1.0));
        (count > 0.0).then(|| (sum / count).exp())
    }
}

/// The oracle's name.
const ORACLE: &str = "oracle";

/// The global score of every crawler, at every checkpoint.
pub fn global_scores(contest: &GraphContest, entries: &[GraphEntry]) -> Vec<GraphSummary> {
    let found = Found::of(contest, entries);
    let summary = |name: &str| {
        let own: Vec<_> = entries.iter().filter(|e| e.crawler == name).collect();
        let short = own.iter().filter(|entry| entry.fetched < contest.budget);
        let points = found.points.iter();
        let name_of = own.first().map_or("", |entry| entry.crawler.as_str());
        GraphSummary {
            crawler: name.to_owned(),
            global: points.map(|n| (*n, found.global(name_of, *n))).collect(),
            step_us: own.iter().map(|e| e.step_us).sum::<f64>() / own.len().max(1) as f64,
            exhausted: short.count() as u64,
        }
    };
    let names = in_order(entries.iter().map(|entry| entry.crawler.as_str()));
    names.into_iter().map(summary).collect()
}

/// The same on each graph by itself.
pub(super) fn scores_by_graph(
    contest: &GraphContest,
    entries: &[GraphEntry],
) -> Vec<(String, Vec<GraphSummary>)> {
    let graphs = in_order(entries.iter().map(|entry| entry.graph.as_str()));
    let of = |graph: &str| {
        let own = entries.iter().filter(|entry| entry.graph == graph);
        let own: Vec<GraphEntry> = own.cloned().collect();
        (graph.to_owned(), global_scores(contest, &own))
    };
    graphs.into_iter().map(of).collect()
}

/// What is odd about the crawls and has to be known before their figures are read.
pub fn notes(shown: &GraphShown<'_>) -> Vec<String> {
    let (contest, mut notes) = (shown.contest, Vec::new());
    for world in shown.worlds {
        let name = &world.name;
        if contest.budget > u64::from(world.nodes) {
            notes.push(format!(
                "{name}: the budget of {} is above its {} nodes; whatever can be reached is fetched in the end, in any order",
                contest.budget, world.nodes
            ));
        }
        if contest.seeds >= world.scored {
            notes.push(format!(
                "{name}: all of its {} nodes with a score are seeds, and nothing is left to find; ask for fewer seeds",
                world.scored
            ));
            continue;
        }
        let mine = shown.entries.iter().filter(|entry| entry.graph == *name);
        let oracles = mine.filter(|entry| entry.crawler == ORACLE);
        let found = |entry: &&GraphEntry| entry.score(contest.budget).unwrap_or(0.0) > 0.0;
        let sets = oracles.clone().count();
        let barren = sets - oracles.filter(found).count();
        if barren > 0 {
            notes.push(format!(
                "{name}: from {barren} of {sets} seed sets no node with a score can be reached, so no crawler finds anything there; \
                 try more seeds"
            ));
        }
    }
    let short = shown.entries.iter();
    let short = short.filter(|entry| entry.fetched < contest.budget).count();
    if short > 0 {
        notes.push(format!(
            "{short} of {} crawls ended before the budget: nothing more could be reached, and they keep their sum",
            shown.entries.len()
        ));
    }
    notes
}

/// Writes all but the report into `dir`, which is made if it is not there.
///
/// # Errors
/// Those of the file system, and of a picture.
pub fn write(dir: &Path, shown: &GraphShown<'_>) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let (contest, entries) = (shown.contest, shown.entries);
    let mut csv = csv::Writer::from_path(dir.join("scores.csv"))?;
    csv.write_record(["graph", "crawler", "seed_set", "n", "score"])?;
    for entry in entries {
        for (n, score) in &entry.scores {
            csv.serialize((&entry.graph, &entry.crawler, entry.seed_set, n, score))?;
        }
    }
    csv.flush()?;
    let summary = global_scores(contest, entries);
    write_global(&dir.join("global.csv"), shown, &summary)?;
    let duels = graph_duels(contest, entries, shown.against);
    write_duels(&dir.join("paired.csv"), &duels)?;
    let all = serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"),
        "graphs": shown.worlds,
        "budget": contest.budget,
        "seed_sets": contest.seed_sets,
        "seeds": contest.seeds,
        "seed": contest.seed,
        "against": shown.against,
        "missing": shown.missing,
        "notes": notes(shown),
        "crawlers": summary,
        "entries": entries,
    });
    let text = serde_json::to_string_pretty(&all)?;
    fs::write(dir.join("summary.json"), text + "\n")?;
    draw(dir, &summary)
}

/// The score by the oracle's of each graph, and of all (`*`), as tables want it.
fn write_global(path: &Path, shown: &GraphShown<'_>, over_all: &[GraphSummary]) -> io::Result<()> {
    let mut csv = csv::Writer::from_path(path)?;
    csv.write_record([
        "graph",
        "crawler",
        "n",
        "by_oracle",
        "step_us",
        "ended_early",
    ])?;
    let by_graph = scores_by_graph(shown.contest, shown.entries);
    let all = by_graph
        .iter()
        .map(|(graph, rows)| (graph.as_str(), rows.as_slice()));
    for (graph, rows) in all.chain([("*", over_all)]) {
        for row in rows {
            for (n, score) in &row.global {
                csv.write_record([
                    graph,
                    &row.crawler,
                    &n.to_string(),
                    &number(*score),
                    &format!("{:.2}", row.step_us),
                    &row.exhausted.to_string(),
                ])?;
            }
        }
    }
    csv.flush()
}

fn write_duels(path: &Path, duels: &[GraphDuel]) -> io::Result<()> {
    let mut csv = csv::Writer::from_path(path)?;
    csv.write_record([
        "crawler",
        "against",
        "n",
        "graphs",
        "pairs",
        "difference",
        "difference_low",
        "difference_high",
        "gain",
        "gain_low",
        "gain_high",
        "wins",
        "ties",
        "losses",
    ])?;
    let ends = |reach: Option<Interval>| {
        [reach.map(|reach| reach.low), reach.map(|reach| reach.high)].map(number)
    };
    for duel in duels {
        let [difference_low, difference_high] = ends(duel.difference_in);
        let [gain_low, gain_high] = ends(duel.gain_in);
        csv.write_record([
            duel.crawler.clone(),
            duel.against.clone(),
            duel.n.to_string(),
            duel.graphs.to_string(),
            duel.pairs.to_string(),
            number(Some(duel.difference)),
            difference_low,
            difference_high,
            number(duel.gain),
            gain_low,
            gain_high,
            duel.wins.to_string(),
            duel.ties.to_string(),
            duel.losses.to_string(),
        ])?;
    }
    csv.flush()
}

fn number(value: Option<f64>) -> String {
    // Adding 0 makes a zero of -0.
    value.map_or(String::new(), |value| format!("{:.6}", value + 0.0))
}

/// Writes what came of the estimators on each graph, by its name, into `dir`, which is made if it is not
/// there: `gap.csv`, `precision.json` and a picture of the gaps a graph.
///
/// # Errors
/// Those of the file system, and of a picture.
pub fn write_precision(dir: &Path, found: &[(String, Vec<Precision>)]) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut csv = csv::Writer::from_path(dir.join("gap.csv"))?;
    csv.write_record(["graph", "estimator", "steps", "gap"])?;
    let axes = Axes {
        title: "How much less the estimator's best node scores than the oracle's",
        x: "thousands of nodes fetched by the oracle",
        y: "beta",
    };
    for (at, (graph, estimators)) in found.iter().enumerate() {
        let mut lines = Vec::with_capacity(estimators.len());
        for of in estimators {
            let points: Vec<(f64, f64)> = of
                .gap
                .iter()
                .enumerate()
                .map(|(window, gap)| ((window + 1) as f64, *gap))
                .collect();
            for (window, gap) in &points {
                let steps = window * WINDOW as f64;
                csv.serialize((graph, &of.crawler, steps, gap))?;
            }
            lines.push(Line {
                name: of.crawler.clone(),
                points,
            });
        }
        lines.retain(|line| line.points.len() >= 2);
        for (part, lines) in lines.chunks(SVG_CURVES_MAX).enumerate() {
            let svg = line_svg(&axes, lines).map_err(io::Error::other)?;
            fs::write(dir.join(format!("gap-{}-{}.svg", at + 1, part + 1)), svg)?;
        }
    }
    csv.flush()?;
    let all: serde_json::Map<_, _> = found
        .iter()
        .map(|(graph, of)| Ok((graph.clone(), serde_json::to_value(of)?)))
        .collect::<serde_json::Result<_>>()?;
    let text = serde_json::to_string_pretty(&all)?;
    fs::write(dir.join("precision.json"), text + "\n")
}

fn draw(dir: &Path, summary: &[GraphSummary]) -> io::Result<()> {
    let axes = Axes {
        title: "Global score",
        x: "log10 of nodes fetched",
        y: "sum of beta by the oracle's",
    };
    let lines: Vec<Line> = summary
        .iter()
        .map(|of| Line {
            name: of.crawler.clone(),
            points: of
                .global
                .iter()
                .filter_map(|(n, score)| Some(((*n as f64).log10(), (*score)?)))
                .collect(),
        })
        .filter(|line| line.points.len() >= 2)
        .collect();
    for (at, part) in lines.chunks(SVG_CURVES_MAX).enumerate() {
        let svg = line_svg(&axes, part).map_err(io::Error::other)?;
        fs::write(dir.join(format!("global-{}.svg", at + 1)), svg)?;
    }
    Ok(())
}
