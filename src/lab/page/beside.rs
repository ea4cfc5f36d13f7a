//! Tables of the report beside the losses: contests side by side, ranks in the pool, and what the learners
//! predicted.

use super::{Shown, by_n, decimal};
use crate::lab::html::{Block, Cell, Part, Table, mark_best};
use crate::lab::measures::{OfLearner, Overall};
use crate::lab::pool_ranks::PoolRanks;

/// What each crawler lost in each contest at its last n: the effect of a start, of a world, of a cap. `None` of
/// one contest alone.
pub(super) fn side_by_side(shown: &[Shown<'_>]) -> Option<Part> {
    if shown.len() < 2 {
        return None;
    }
    let rows = shown.iter().flat_map(|one| &one.measures.overall);
    let last = rows.map(|row| row.n).max()?;
    let mut names: Vec<&str> = Vec::new();
    for row in shown.iter().flat_map(|one| &one.measures.overall) {
        if !names.contains(&row.crawler.as_str()) {
            names.push(&row.crawler);
        }
    }
    let loss = |one: &Shown<'_>, name: &str| {
        let is_it = |row: &&Overall| row.n == last && row.crawler == name;
        one.measures.overall.iter().find(is_it)?.loss
    };
    let row = |name: &&str| {
        let cells = shown.iter();
        let cells = cells.map(|one| Cell::new(decimal(loss(one, name), 1)));
        ((*name).to_owned(), cells.collect())
    };
    let mut table: Vec<(String, Vec<Cell>)> = names.iter().map(row).collect();
    for (column, one) in shown.iter().enumerate() {
        // The oracle knows what no crawler can.
        let own = |name: &&str| loss(one, name).filter(|_| *name != "oracle");
        let values: Vec<Option<f64>> = names.iter().map(own).collect();
        mark_best(&mut table, column, &values, true);
    }
    let mut head = vec!["crawler".to_owned()];
    head.extend(shown.iter().map(|one| one.setting.name.clone()));
    let caption = format!(
        "L({last}), mean over topics, in each contest; - where no crawl came so far, as under a cap a host"
    );
    Some(Part {
        title: "The contests side by side".to_owned(),
        blocks: vec![Block::Table(Table {
            caption,
            head,
            rows: table,
        })],
    })
}

/// How well the learners of each apprentice predicted, over all topics.
pub(super) fn learners_table(learners: &[OfLearner]) -> Option<Block> {
    let rows = learners.iter().filter(|row| row.topic == "*");
    let row = |row: &OfLearner| {
        let cells = [
            format!("{:.0} %", 100.0 * row.followed),
            format!("{:.0}", row.instances),
            format!("{:.3}", row.log_loss),
            decimal(row.auc, 3),
            decimal(row.auc_within_page, 3),
            format!("{:.3}", row.calibration_error),
        ];
        let cells = cells.into_iter().map(Cell::new).collect();
        (format!("{}: {}", row.crawler, row.learner), cells)
    };
    let rows: Vec<(String, Vec<Cell>)> = rows.map(row).collect();
    let head = [
        "learner",
        "followed",
        "links",
        "log loss",
        "AUC",
        "AUC in a page",
        "calibration error",
    ];
    (!rows.is_empty()).then(|| {
        Block::Table(Table {
            caption: "What the learners said of links before they knew what came of them (progressive \
                      validation), means over topics: how many crawls followed the learner in the end, links \
                      asked about a crawl, log loss in nats, AUC over the last 1,000, AUC over pairs of links of \
                      one page, expected calibration error"
                .to_owned(),
            head: head.map(str::to_owned).to_vec(),
            rows,
        })
    })
}

/// The four measures of the exploration paper, means over topics with their standard errors.
pub(super) fn rank_tables(ranks: &[PoolRanks]) -> Vec<Block> {
    let rows: Vec<&PoolRanks> = ranks.iter().filter(|row| row.topic == "*").collect();
    let table = |caption: &str,
                 value: fn(&PoolRanks) -> (f64, Option<f64>),
                 is_less_better: bool| {
        by_n(
            format!(
                "{caption}; beside it the standard error over topics (over seed sets if there is one topic)"
            ),
            &rows,
            |row| (row.crawler.as_str(), row.n),
            |row| {
                let (mean, error) = value(row);
                let cell = Cell {
                    beside: error.map_or(String::new(), |error| format!("\u{b1} {error:.3}")),
                    ..Cell::new(format!("{mean:.3}"))
                };
                (Some(mean), cell)
            },
            is_less_better,
        )
    };
    vec![
        table(
            "Static lexical rank: share of the n best pages by words, of all that any crawler found, that the \
             whole crawl found",
            |row| (row.static_lexical, row.static_lexical_se),
            false,
        ),
        table(
            "Static linkage rank: the same by keywords and links",
            |row| (row.static_linkage, row.static_linkage_se),
            false,
        ),
        table(
            "Dynamic lexical rank: mean rank by words of the first n pages, as a share of all (less is better)",
            |row| (row.dynamic_lexical, row.dynamic_lexical_se),
            true,
        ),
        table(
            "Dynamic linkage rank: the same by keywords and links",
            |row| (row.dynamic_linkage, row.dynamic_linkage_se),
            true,
        ),
    ]
}
