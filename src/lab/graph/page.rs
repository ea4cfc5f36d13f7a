//! The report of a contest on graphs as one HTML file.

use std::fs;
use std::io;
use std::path::Path;

use super::contest::{GraphContest, GraphEntry};
use super::report::{GraphSummary, global_scores};
use crate::lab::html::{Block, Cell, Curve, Figure, Part, Table, mark_best};
use crate::lab::page::About;

/// Writes `report.html` into `dir`.
///
/// # Errors
/// Those of the file system.
pub fn write_page(
    dir: &Path,
    about: &About,
    contest: &GraphContest,
    entries: &[GraphEntry],
) -> io::Result<()> {
    fs::write(dir.join("report.html"), graph_page(about, contest, entries))
}

/// The report.
pub fn graph_page(about: &About, contest: &GraphContest, entries: &[GraphEntry]) -> String {
    let mut page = about.page();
    page.lead = vec![
        "The score of a crawl is the sum of the scores of the nodes that it fetched, here by that of the \
         greedy crawler with the true scores (HT 2014): arithmetic mean over seed sets, geometric over \
         graphs. More is better. Point at a curve to read it off; click a name to hide it."
            .to_owned(),
    ];
    let mut graphs: Vec<&str> = Vec::new();
    for entry in entries {
        if !graphs.contains(&entry.graph.as_str()) {
            graphs.push(&entry.graph);
        }
    }
    if graphs.len() > 1 {
        let title = format!("Over the {} graphs", graphs.len());
        page.parts
            .push(part(title, &global_scores(contest, entries)));
    }
    for graph in graphs {
        let own = entries.iter().filter(|entry| entry.graph == graph);
        let own: Vec<GraphEntry> = own.cloned().collect();
        page.parts
            .push(part(graph.to_owned(), &global_scores(contest, &own)));
    }
    page.render()
}

fn part(title: String, scores: &[GraphSummary]) -> Part {
    let curves = scores.iter().map(|of| Curve {
        name: of.crawler.clone(),
        points: of
            .global
            .iter()
            .map(|(n, score)| (*n as f64, *score))
            .collect(),
    });
    let figure = Figure {
        caption: format!("{title}: score by the oracle's"),
        x: "nodes fetched".to_owned(),
        y: "score".to_owned(),
        is_log: true,
        curves: curves.collect(),
    };
    Part {
        blocks: vec![Block::Figure(figure), Block::Table(table(scores))],
        title,
    }
}

fn table(scores: &[GraphSummary]) -> Table {
    let points = scores.first().map(|of| of.global.iter().map(|(n, _)| *n));
    let points: Vec<u64> = points.into_iter().flatten().collect();
    let row = |of: &GraphSummary| {
        let cells = of
            .global
            .iter()
            .map(|(_, score)| Cell::new(format!("{score:.3}")));
        let mut cells: Vec<Cell> = cells.collect();
        cells.push(Cell::new(format!("{:.0}", of.step_us)));
        cells.push(Cell::new(of.exhausted.to_string()));
        (of.crawler.clone(), cells)
    };
    let mut rows: Vec<(String, Vec<Cell>)> = scores.iter().map(row).collect();
    for column in 0..points.len() {
        // The oracle's is 1 everywhere.
        let values = scores.iter().map(|of| {
            let score = of.global.get(column).map(|(_, score)| *score);
            score.filter(|_| of.crawler != "oracle")
        });
        mark_best(&mut rows, column, &values.collect::<Vec<_>>(), false);
    }
    let mut head = vec!["crawler".to_owned()];
    head.extend(points.iter().map(|n| format!("n = {n}")));
    head.push("us a step".to_owned());
    head.push("ended early".to_owned());
    Table {
        caption: "Score by the oracle's, time a step, crawls that ran out of nodes".to_owned(),
        head,
        rows,
    }
}
