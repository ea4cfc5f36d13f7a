//! The report of contests on an archive as one HTML file: figures first, then how it was made.

mod beside;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use self::beside::{learners_table, rank_tables, side_by_side};
use super::contest::{Held, Setting};
use super::html::{Block, Cell, Curve, Figure, Html, Part, Table, mark_best};
use super::mean_curves::mean_curves;
use super::measures::{Duel, Interval, Measures, OfTopic, Overall, Pace};
use super::pool_ranks::PoolRanks;
use super::replay::Entry;
use super::report::ReportError;

/// What a report says of itself.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Its title.
    pub title: String,
    /// What it was made with: names and values.
    pub made_with: Vec<(String, String)>,
    /// The exact specification, as text.
    pub spec: String,
    /// Runs that are missing.
    pub missing: usize,
}

impl About {
    pub(in crate::lab) fn page(&self) -> Html {
        let warning = format!(
            "Partial: {} runs are missing, and every figure below is of those that are there.",
            self.missing
        );
        Html {
            title: self.title.clone(),
            warning: (self.missing > 0).then_some(warning),
            made_with: self.made_with.clone(),
            spec: self.spec.clone(),
            ..Html::default()
        }
    }
}

/// A contest to be shown.
pub struct Shown<'a> {
    /// What was compared.
    pub setting: &'a Setting,
    /// Its crawls.
    pub held: &'a Held,
    /// What they came to.
    pub measures: &'a Measures,
    /// How long they took.
    pub paces: &'a [Pace],
    /// Where their pages rank among those of all; empty if nobody asked.
    pub ranks: &'a [PoolRanks],
}

/// Writes `report.html` into `dir`.
///
/// # Errors
/// [`ReportError`] names the file.
pub fn write_page(dir: &Path, about: &About, shown: &[Shown<'_>]) -> Result<(), ReportError> {
    let path = dir.join("report.html");
    fs::write(&path, contest_page(about, shown)).map_err(|error| ReportError::Io { path, error })
}

/// The report.
pub fn contest_page(about: &About, shown: &[Shown<'_>]) -> String {
    let mut page = about.page();
    page.lead = vec![
        "L(n) is the expected page loss: the sum of 1 - relevance over the first n fetches. Less is better. \
         Point at a curve to read it off; click a name to hide it."
            .to_owned(),
    ];
    page.parts.extend(side_by_side(shown));
    for one in shown {
        let head = if shown.len() > 1 {
            format!("{}: ", one.setting.name)
        } else {
            String::new()
        };
        page.parts.push(overall_part(&head, one));
        for topic in &one.setting.spec.topics {
            page.parts.push(topic_part(&head, topic, one));
        }
    }
    page.render()
}

fn overall_part(head: &str, shown: &Shown<'_>) -> Part {
    let (spec, measures) = (&shown.setting.spec, shown.measures);
    let mut blocks = vec![Block::Words(setting_words(shown))];
    let topics = spec.topics.len();
    if topics > 1 {
        blocks.push(Block::Figure(loss_figure(
            format!("Mean loss over the {topics} topics"),
            mean_curves(&shown.held.entries),
        )));
    }
    let rows = &measures.overall;
    let over = if topics > 1 {
        format!("mean over {topics} topics")
    } else {
        "the one topic".to_owned()
    };
    blocks.push(by_n(
        format!("L(n), {over}"),
        rows,
        |row| (row.crawler.as_str(), row.n),
        |row| (row.loss, Cell::new(decimal(row.loss, 1))),
        true,
    ));
    if rows.iter().any(|row| row.gap_share.is_some()) {
        blocks.push(by_n(
            format!(
                "G(n), the share of the gap between {} and the oracle that is closed; in brackets the topics \
                 with room",
                measures.against
            ),
            rows,
            |row| (row.crawler.as_str(), row.n),
            |row| {
                let cell = Cell {
                    beside: format!("({})", row.topics_with_room),
                    ..Cell::new(decimal(row.gap_share, 2))
                };
                let is_own = row.crawler != "oracle" && row.gap_share.is_some();
                (row.gap_share.filter(|_| is_own), cell)
            },
            false,
        ));
    }
    blocks.push(shares_table(rows, shown.paces, spec.budget));
    blocks.extend(duel_tables(measures));
    blocks.extend(learners_table(&measures.learners));
    if !shown.ranks.is_empty() {
        blocks.extend(rank_tables(shown.ranks));
    }
    Part {
        title: format!("{head}over all"),
        blocks,
    }
}

/// What was compared, and what did not come to its end.
fn setting_words(shown: &Shown<'_>) -> String {
    let spec = &shown.setting.spec;
    let entries = &shown.held.entries;
    let short = entries
        .iter()
        .filter(|entry| entry.by_critic.n() < spec.budget);
    let short = short.count();
    let judge = if entries.iter().any(|entry| entry.by_judge.is_some()) {
        "the labels"
    } else {
        "the critic itself"
    };
    let cap = spec.host_cap.map_or("no cap a host".to_owned(), |cap| {
        format!("at most {cap} fetches a host")
    });
    let world = if spec.closed_world { "closed" } else { "open" };
    let early = if short > 0 {
        format!(
            " {short} of them ran out of links before their budget: they have no L(n) beyond their end."
        )
    } else {
        String::new()
    };
    format!(
        "{} crawls of at most {} fetches, {} seed sets a topic, {world} world, {cap}; judged by {judge}.{early}",
        entries.len(),
        spec.budget,
        spec.seed_sets
    )
}

/// A table with a row a crawler and a column an n. `cell` also gives the value that the best is told by.
pub(in crate::lab) fn by_n<R>(
    caption: String,
    rows: &[R],
    place: impl Fn(&R) -> (&str, u64),
    cell: impl Fn(&R) -> (Option<f64>, Cell),
    is_less_better: bool,
) -> Block {
    let mut points: Vec<u64> = rows.iter().map(|row| place(row).1).collect();
    points.sort_unstable();
    points.dedup();
    let mut names: Vec<&str> = Vec::new();
    let mut cells: BTreeMap<(&str, u64), (Option<f64>, Cell)> = BTreeMap::new();
    for row in rows {
        let (name, n) = place(row);
        if !names.contains(&name) {
            names.push(name);
        }
        cells.insert((name, n), cell(row));
    }
    let empty = || (None, Cell::new("-"));
    let of = |name: &str, n: u64| cells.get(&(name, n)).cloned().unwrap_or_else(empty);
    let row = |name: &&str| {
        let cells = points.iter().map(|n| of(name, *n).1).collect();
        ((*name).to_owned(), cells)
    };
    let mut table: Vec<(String, Vec<Cell>)> = names.iter().map(row).collect();
    for (column, n) in points.iter().enumerate() {
        // The oracle knows what no crawler can.
        let own = |name: &&str| of(name, *n).0.filter(|_| *name != "oracle");
        let values: Vec<Option<f64>> = names.iter().map(own).collect();
        mark_best(&mut table, column, &values, is_less_better);
    }
    let mut head = vec!["crawler".to_owned()];
    head.extend(points.iter().map(|n| format!("n = {n}")));
    Block::Table(Table {
        caption,
        head,
        rows: table,
    })
}

/// Harvest, area, score by the oracle, targets and time, at the last n that all rows have.
fn shares_table(rows: &[Overall], paces: &[Pace], budget: u64) -> Block {
    let last = rows.iter().map(|row| row.n).max().unwrap_or(budget);
    let rows: Vec<&Overall> = rows.iter().filter(|row| row.n == last).collect();
    let has_oracle = rows.iter().any(|row| row.global_score.is_some());
    let has_targets = rows.iter().any(|row| row.target_recall.is_some());
    let mut head = vec![
        "crawler".to_owned(),
        "harvest".to_owned(),
        "area".to_owned(),
    ];
    if has_oracle {
        head.push("score by oracle's".to_owned());
    }
    if has_targets {
        head.push("targets found".to_owned());
    }
    let has_missing = rows.iter().any(|row| row.missing > Some(0.0));
    if has_missing {
        head.push("not in the archive".to_owned());
    }
    head.push("us a fetch".to_owned());
    let line = |row: &&Overall| {
        let mut cells = vec![
            Cell::new(decimal(row.harvest, 3)),
            Cell::new(decimal(row.area, 3)),
        ];
        if has_oracle {
            cells.push(Cell::new(decimal(row.global_score, 3)));
        }
        if has_targets {
            cells.push(Cell::new(decimal(row.target_recall, 3)));
        }
        if has_missing {
            cells.push(Cell::new(decimal(row.missing, 3)));
        }
        let pace = paces.iter().find(|pace| pace.crawler == row.crawler);
        cells.push(Cell::new(decimal(pace.map(|pace| pace.step_us), 0)));
        (row.crawler.clone(), cells)
    };
    let mut table: Vec<(String, Vec<Cell>)> = rows.iter().map(line).collect();
    let own = |value: fn(&Overall) -> Option<f64>| -> Vec<Option<f64>> {
        let values = rows
            .iter()
            .map(|row| value(row).filter(|_| row.crawler != "oracle"));
        values.collect()
    };
    let mut columns: Vec<Vec<Option<f64>>> = vec![own(|row| row.harvest), own(|row| row.area)];
    columns.extend(has_oracle.then(|| own(|row| row.global_score)));
    columns.extend(has_targets.then(|| own(|row| row.target_recall)));
    for (column, values) in columns.iter().enumerate() {
        mark_best(&mut table, column, values, false);
    }
    Block::Table(Table {
        caption: format!(
            "After {last} fetches: harvest 1 - L(n)/n, the area under its curve, the sum of relevances by the \
             oracle's (geometric mean over topics), the share of fetches for which the archive has nothing, in an \
             open world, and the time that a fetch took"
        ),
        head,
        rows: table,
    })
}

/// Each crawler against the reference at every n, and at the last each against each.
fn duel_tables(measures: &Measures) -> Vec<Block> {
    let mine = |duel: &&Duel| duel.against == measures.against;
    let against: Vec<&Duel> = measures.duels.iter().filter(mine).collect();
    if against.is_empty() {
        return Vec::new();
    }
    let first = by_n(
        format!(
            "Loss less than that of {}, in % of it, with the 95 % interval of a bootstrap over topics and \
             seed sets; then pairs won, tied (within one page), lost",
            measures.against
        ),
        &against,
        |duel| (duel.crawler.as_str(), duel.n),
        |duel| {
            let found = &duel.outcome;
            let cell = Cell {
                beside: format!(
                    "{} {}-{}-{}",
                    reach(found.cut_in),
                    found.wins,
                    found.ties,
                    found.losses
                ),
                ..Cell::new(percent(found.cut))
            };
            // Whoever loses more than the reference is no best.
            (found.cut.filter(|cut| *cut > 0.0), cell)
        },
        false,
    );
    let last = measures.duels.iter().map(|duel| duel.n).max().unwrap_or(0);
    let at_last: Vec<&Duel> = measures
        .duels
        .iter()
        .filter(|duel| duel.n == last)
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for duel in &at_last {
        if !names.contains(&duel.crawler.as_str()) {
            names.push(&duel.crawler);
        }
    }
    let cell = |one: &str, other: &str| {
        let same = |duel: &&&Duel| duel.crawler == one && duel.against == other;
        let Some(duel) = at_last.iter().find(same) else {
            return Cell::default();
        };
        let found = &duel.outcome;
        Cell {
            beside: format!("{}-{}-{}", found.wins, found.ties, found.losses),
            ..Cell::new(format!("{:+.1}", found.difference))
        }
    };
    let row = |one: &&str| {
        let cells = names.iter().map(|other| cell(one, other)).collect();
        ((*one).to_owned(), cells)
    };
    let mut head = vec!["crawler".to_owned()];
    head.extend(names.iter().map(|name| format!("against {name}")));
    let each = Table {
        caption: format!(
            "Each against each after {last} fetches: pages lost more (+) or less, and pairs won, tied, lost"
        ),
        head,
        rows: names.iter().map(row).collect(),
    };
    vec![first, Block::Table(each)]
}

fn topic_part(head: &str, topic: &str, shown: &Shown<'_>) -> Part {
    let mine: Vec<Entry> = shown
        .held
        .entries
        .iter()
        .filter(|entry| entry.topic == topic)
        .cloned()
        .collect();
    let rows: Vec<&OfTopic> = shown
        .measures
        .topics
        .iter()
        .filter(|row| row.topic == topic)
        .collect();
    let table = by_n(
        "L(n): mean over seed sets (least - greatest)".to_owned(),
        &rows,
        |row| (row.crawler.as_str(), row.n),
        |row| {
            let cell = row.loss.map_or(Cell::new("-"), |loss| Cell {
                beside: format!("({:.0} - {:.0})", loss.min, loss.max),
                ..Cell::new(format!("{:.1}", loss.mean))
            });
            (row.loss.map(|loss| loss.mean), cell)
        },
        true,
    );
    let sets = shown.setting.spec.seed_sets;
    let figure = loss_figure(
        format!("{topic}: mean loss of {sets} seed sets"),
        mean_curves(&mine),
    );
    Part {
        title: format!("{head}{topic}"),
        blocks: vec![Block::Figure(figure), table],
    }
}

fn loss_figure(caption: String, curves: Vec<Curve>) -> Figure {
    Figure {
        caption,
        x: "fetches n".to_owned(),
        y: "L(n), pages lost".to_owned(),
        is_log: false,
        curves,
    }
}

fn decimal(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
}

pub(in crate::lab) fn percent(value: Option<f64>) -> String {
    // Adding 0 makes a zero of -0.
    value.map_or("-".to_owned(), |value| {
        format!("{:.0} %", (100.0 * value).round() + 0.0)
    })
}

pub(in crate::lab) fn reach(interval: Option<Interval>) -> String {
    interval.map_or(String::new(), |interval| {
        format!(
            "({:.0} to {:.0})",
            100.0 * interval.low,
            100.0 * interval.high
        )
    })
}
