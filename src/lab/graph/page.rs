//! The report of a contest on graphs as one HTML file.

use std::fs;
use std::io;
use std::path::Path;

use super::duels::{GraphDuel, TIE_WITHIN, graph_duels};
use super::report::{GraphShown, GraphSummary, global_scores, in_order, notes, scores_by_graph};
use crate::lab::html::{Block, Cell, Curve, Figure, Part, Table};
use crate::lab::page::{About, by_n, percent, reach};

/// Writes `report.html` into `dir`.
///
/// # Errors
/// Those of the file system.
pub fn write_page(dir: &Path, about: &About, shown: &GraphShown<'_>) -> io::Result<()> {
    fs::write(dir.join("report.html"), graph_page(about, shown))
}

/// The report.
pub fn graph_page(about: &About, shown: &GraphShown<'_>) -> String {
    let mut page = about.page();
    page.lead = vec![
        "The score of a crawl is the sum of the scores of the nodes that it fetched, here by that of the \
         greedy crawler with the true scores (HT 2014): arithmetic mean over seed sets, geometric over \
         graphs. More is better. Point at a curve to read it off; click a name to hide it."
            .to_owned(),
    ];
    let contest = shown.contest;
    let over_all = global_scores(contest, shown.entries);
    let by_graph = scores_by_graph(contest, shown.entries);
    let title = match by_graph.as_slice() {
        [(graph, _)] => graph.clone(),
        graphs => format!("Over the {} graphs", graphs.len()),
    };
    let mut first = scores_part(shown, title, &over_all);
    first.blocks.insert(0, Block::Words(setting_words(shown)));
    let notes = notes(shown).into_iter().map(Block::Words);
    first.blocks.splice(1..1, notes);
    first.blocks.extend(duel_tables(shown));
    page.parts.push(first);
    if by_graph.len() > 1 {
        for (graph, scores) in &by_graph {
            page.parts.push(scores_part(shown, graph.clone(), scores));
        }
    }
    page.parts.push(worlds_part(shown));
    page.render()
}

fn setting_words(shown: &GraphShown<'_>) -> String {
    let contest = shown.contest;
    format!(
        "{} crawls of at most {} nodes, {} seed sets a graph, {} seeds each, drawn among the nodes with a score; \
         the seeds are known beforehand and add nothing.",
        shown.entries.len(),
        contest.budget,
        contest.seed_sets,
        contest.seeds
    )
}

fn scores_part(shown: &GraphShown<'_>, title: String, scores: &[GraphSummary]) -> Part {
    let points = |of: &GraphSummary| -> Vec<(f64, f64)> {
        let known = of.global.iter();
        known
            .filter_map(|(n, score)| Some((*n as f64, (*score)?)))
            .collect()
    };
    let curves = scores.iter().map(|of| Curve {
        name: of.crawler.clone(),
        points: points(of),
    });
    let figure = Figure {
        caption: format!("{title}: score by the oracle's"),
        x: "nodes fetched".to_owned(),
        y: "score".to_owned(),
        is_log: true,
        curves: curves.collect(),
    };
    let at = shown.contest.shown_points();
    let cells: Vec<(&str, u64, Option<f64>)> = scores
        .iter()
        .flat_map(|of| {
            let shown = of.global.iter().filter(|(n, _)| at.contains(n));
            shown.map(|(n, score)| (of.crawler.as_str(), *n, *score))
        })
        .collect();
    let table = by_n(
        "Score by the oracle's".to_owned(),
        &cells,
        |(crawler, n, _)| (*crawler, *n),
        |(crawler, _, score)| {
            let text = score.map_or("-".to_owned(), |score| format!("{score:.3}"));
            (score.filter(|_| !knows_truth(crawler)), Cell::new(text))
        },
        false,
    );
    Part {
        title,
        blocks: vec![
            Block::Figure(figure),
            table,
            Block::Table(times_table(scores)),
        ],
    }
}

fn times_table(scores: &[GraphSummary]) -> Table {
    let row = |of: &GraphSummary| {
        let cells = [format!("{:.1}", of.step_us), of.exhausted.to_string()];
        (of.crawler.clone(), cells.map(Cell::new).to_vec())
    };
    Table {
        caption: "Time a step in microseconds, and crawls that ran out of nodes".to_owned(),
        head: ["crawler", "us a step", "ended early"]
            .map(str::to_owned)
            .to_vec(),
        rows: scores.iter().map(row).collect(),
    }
}

/// Each crawler against the reference at every point, and at the last each against each.
fn duel_tables(shown: &GraphShown<'_>) -> Vec<Block> {
    let duels = graph_duels(shown.contest, shown.entries, shown.against);
    let mine = duels.iter().filter(|duel| duel.against == shown.against);
    let mine: Vec<&GraphDuel> = mine.collect();
    if mine.is_empty() {
        return Vec::new();
    }
    let first = by_n(
        format!(
            "Score more than that of {}, in % of it, with the 95 % interval of a bootstrap over graphs and seed \
             sets; then pairs of crawls from the same seeds won, tied (within {} % of the oracle's score), lost",
            shown.against,
            100.0 * TIE_WITHIN
        ),
        &mine,
        |duel| (duel.crawler.as_str(), duel.n),
        |duel| {
            let cell = Cell {
                beside: format!("{} {}", reach(duel.gain_in), tally(duel)),
                ..Cell::new(percent(duel.gain))
            };
            // Whoever finds less than the reference is no best.
            let own = duel.gain.filter(|gain| *gain > 0.0);
            (own.filter(|_| !knows_truth(&duel.crawler)), cell)
        },
        false,
    );
    vec![first, each_against_each(shown, &duels)]
}

fn each_against_each(shown: &GraphShown<'_>, duels: &[GraphDuel]) -> Block {
    let last = shown.contest.shown_points().last().copied().unwrap_or(0);
    let names = in_order(shown.entries.iter().map(|entry| entry.crawler.as_str()));
    let cell = |one: &str, other: &str| {
        let same =
            |duel: &&GraphDuel| duel.n == last && duel.crawler == one && duel.against == other;
        duels
            .iter()
            .find(same)
            .map_or_else(Cell::default, |duel| Cell {
                beside: tally(duel),
                ..Cell::new(format!("{:+.3}", duel.difference))
            })
    };
    let row = |one: &&str| {
        let cells = names.iter().map(|other| cell(one, other));
        ((*one).to_owned(), cells.collect())
    };
    let mut head = vec!["crawler".to_owned()];
    head.extend(names.iter().map(|name| format!("against {name}")));
    Block::Table(Table {
        caption: format!(
            "Each against each after {last} nodes: score by the oracle's more (+) or less, and pairs won, tied, lost"
        ),
        head,
        rows: names.iter().map(row).collect(),
    })
}

/// The oracle, in batches or steered as well, is no crawler to be chosen.
fn knows_truth(crawler: &str) -> bool {
    crawler == "oracle" || crawler.starts_with("oracle/")
}

fn tally(duel: &GraphDuel) -> String {
    format!("{}-{}-{}", duel.wins, duel.ties, duel.losses)
}

/// The graphs and what they were made from.
fn worlds_part(shown: &GraphShown<'_>) -> Part {
    let head = [
        "graph",
        "nodes",
        "with a score",
        "edges",
        "with a score",
        "self loops left out",
        "double edges left out",
    ];
    let rows = shown.worlds.iter().map(|world| {
        let of = |part: usize, all: usize| Cell {
            beside: format!("({:.1} %)", 100.0 * part as f64 / all.max(1) as f64),
            ..Cell::new(part.to_string())
        };
        let cells = vec![
            Cell::new(world.nodes.to_string()),
            of(world.scored, world.nodes as usize),
            Cell::new(world.edges.to_string()),
            of(world.scored_edges, world.edges),
            Cell::new(world.dropped.self_loops.to_string()),
            Cell::new(world.dropped.doubles.to_string()),
        ];
        (world.name.clone(), cells)
    });
    let table = Table {
        caption: "Sizes".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    };
    let made = shown
        .worlds
        .iter()
        .map(|world| Block::Words(format!("{}: {}.", world.name, world.made_from())));
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(made);
    Part {
        title: "The graphs".to_owned(),
        blocks,
    }
}
