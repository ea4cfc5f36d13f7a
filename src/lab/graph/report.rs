//! What a contest on graphs leaves behind: `scores.csv`, `summary.json` and pictures of the
//! global score; and what a comparison of estimators does.

use std::fs;
use std::io;
use std::path::Path;

use super::contest::{GraphContest, GraphEntry};
use super::precision::{Precision, WINDOW};
use super::roster::GraphCrawler;
use crate::measure::{Axes, Line, SVG_CURVES_MAX, line_svg};

/// The crawlers against each other.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct GraphSummary {
    /// Its name.
    pub crawler: String,
    /// (n, global score): on each graph the mean over the seed sets by that of the oracle, then the
    /// geometric mean over the graphs.
    pub global: Vec<(u64, f64)>,
    /// Mean over all crawls, in microseconds a step.
    pub step_us: f64,
    /// Crawls that ended before the budget, because nothing more could be reached.
    pub exhausted: u64,
}

/// The global score of every crawler, at every checkpoint.
pub fn global_scores(contest: &GraphContest, entries: &[GraphEntry]) -> Vec<GraphSummary> {
    let mut names: Vec<&str> = Vec::new();
    let mut graphs: Vec<&str> = Vec::new();
    for entry in entries {
        if !names.contains(&entry.crawler.as_str()) {
            names.push(&entry.crawler);
        }
        if !graphs.contains(&entry.graph.as_str()) {
            graphs.push(&entry.graph);
        }
    }
    let oracle = GraphCrawler::oracle();
    let sum = |crawler: &str, graph: &str, at: usize| -> f64 {
        let those = entries
            .iter()
            .filter(|entry| entry.crawler == crawler && entry.graph == graph);
        those
            .filter_map(|entry| entry.scores.get(at))
            .map(|(_, s)| s)
            .sum()
    };
    let ratio = |crawler: &str, graph: &str, at: usize| {
        let of_oracle = sum(oracle.label(), graph, at);
        if of_oracle > 0.0 {
            sum(crawler, graph, at) / of_oracle
        } else {
            1.0
        }
    };
    let points = contest.checkpoints();
    let summary = |name: &&str| {
        let global = points.iter().enumerate().map(|(at, n)| {
            let logs = graphs.iter().map(|graph| ratio(name, graph, at).ln());
            (*n, (logs.sum::<f64>() / graphs.len().max(1) as f64).exp())
        });
        let own: Vec<_> = entries.iter().filter(|e| e.crawler == **name).collect();
        let short = own.iter().filter(|entry| entry.fetched < contest.budget);
        GraphSummary {
            crawler: (*name).to_owned(),
            global: global.collect(),
            step_us: own.iter().map(|e| e.step_us).sum::<f64>() / own.len().max(1) as f64,
            exhausted: short.count() as u64,
        }
    };
    names.iter().map(summary).collect()
}

/// Writes all into `dir`, which is made if it is not there.
///
/// # Errors
/// Those of the file system, and of a picture.
pub fn write(
    dir: &Path,
    contest: &GraphContest,
    summary: &[GraphSummary],
    entries: &[GraphEntry],
) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut csv = csv::Writer::from_path(dir.join("scores.csv"))?;
    csv.write_record(["graph", "crawler", "seed_set", "n", "score"])?;
    for entry in entries {
        for (n, score) in &entry.scores {
            csv.serialize((&entry.graph, &entry.crawler, entry.seed_set, n, score))?;
        }
    }
    csv.flush()?;
    let all = serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"),
        "budget": contest.budget,
        "seed_sets": contest.seed_sets,
        "seeds": contest.seeds,
        "seed": contest.seed,
        "crawlers": summary,
        "entries": entries,
    });
    let text = serde_json::to_string_pretty(&all)?;
    fs::write(dir.join("summary.json"), text + "\n")?;
    draw(dir, summary)
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
                .map(|(n, s)| ((*n as f64).log10(), *s))
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
