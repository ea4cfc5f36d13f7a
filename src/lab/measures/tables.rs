//! The measures as files: CSV for tables and spreadsheets, JSON for programs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Measures, OfTopic, Overall, Pace};
use crate::lab::report::ReportError;

/// Writes `measures.csv`, `paired.csv`, `learners.csv` and `measures.json` into `dir`, and `timing.csv`, the one file that
/// differs from run to run.
///
/// # Errors
/// [`ReportError`] names the file.
pub fn write(dir: &Path, measures: &Measures, paces: &[Pace]) -> Result<(), ReportError> {
    let file = |name: &str, written: &dyn Fn(&Path) -> io::Result<()>| {
        let path: PathBuf = dir.join(name);
        written(&path).map_err(|error| ReportError::Io { path, error })
    };
    file("measures.csv", &|path| write_measures(path, measures))?;
    file("paired.csv", &|path| write_duels(path, measures))?;
    file("learners.csv", &|path| write_learners(path, measures))?;
    file("measures.json", &|path| {
        let text = serde_json::to_string_pretty(measures)?;
        fs::write(path, text + "\n")
    })?;
    file("timing.csv", &|path| {
        let mut csv = csv::Writer::from_path(path)?;
        csv.write_record(["crawler", "fetches", "step_us"])?;
        for pace in paces {
            let step = format!("{:.1}", pace.step_us);
            csv.write_record([&pace.crawler, &pace.fetches.to_string(), &step])?;
        }
        csv.flush()
    })
}

fn write_measures(path: &Path, measures: &Measures) -> io::Result<()> {
    let mut csv = csv::Writer::from_path(path)?;
    csv.write_record([
        "topic",
        "crawler",
        "n",
        "seed_sets",
        "loss",
        "loss_min",
        "loss_max",
        "harvest",
        "area",
        "relevant",
        "gap_share",
        "score_by_oracle",
        "target_recall",
        "missing",
    ])?;
    for row in &measures.topics {
        csv.write_record(of_topic(row))?;
    }
    for row in &measures.overall {
        csv.write_record(overall(row))?;
    }
    csv.flush()
}

fn of_topic(row: &OfTopic) -> [String; 14] {
    [
        row.topic.clone(),
        row.crawler.clone(),
        row.n.to_string(),
        row.seed_sets.to_string(),
        number(row.loss.map(|loss| loss.mean)),
        number(row.loss.map(|loss| loss.min)),
        number(row.loss.map(|loss| loss.max)),
        number(row.harvest),
        number(row.area),
        number(row.relevant),
        number(row.gap_share),
        number(row.by_oracle),
        number(row.target_recall),
        number(row.missing),
    ]
}

/// The rows over all topics have `*` for a topic.
fn overall(row: &Overall) -> [String; 14] {
    [
        "*".to_owned(),
        row.crawler.clone(),
        row.n.to_string(),
        String::new(),
        number(row.loss),
        String::new(),
        String::new(),
        number(row.harvest),
        number(row.area),
        String::new(),
        number(row.gap_share),
        number(row.global_score),
        number(row.target_recall),
        number(row.missing),
    ]
}

fn write_duels(path: &Path, measures: &Measures) -> io::Result<()> {
    let mut csv = csv::Writer::from_path(path)?;
    csv.write_record([
        "crawler",
        "against",
        "n",
        "topics",
        "pairs",
        "difference",
        "difference_low",
        "difference_high",
        "cut",
        "cut_low",
        "cut_high",
        "wins",
        "ties",
        "losses",
    ])?;
    for duel in &measures.duels {
        let found = &duel.outcome;
        csv.write_record([
            duel.crawler.clone(),
            duel.against.clone(),
            duel.n.to_string(),
            found.topics.to_string(),
            found.pairs.to_string(),
            number(Some(found.difference)),
            number(found.difference_in.map(|reach| reach.low)),
            number(found.difference_in.map(|reach| reach.high)),
            number(found.cut),
            number(found.cut_in.map(|reach| reach.low)),
            number(found.cut_in.map(|reach| reach.high)),
            found.wins.to_string(),
            found.ties.to_string(),
            found.losses.to_string(),
        ])?;
    }
    csv.flush()
}

fn write_learners(path: &Path, measures: &Measures) -> io::Result<()> {
    let mut csv = csv::Writer::from_path(path)?;
    csv.write_record([
        "topic",
        "crawler",
        "learner",
        "followed",
        "instances",
        "log_loss",
        "log_loss_lately",
        "auc",
        "auc_within_page",
        "calibration_error",
    ])?;
    for row in &measures.learners {
        csv.write_record([
            row.topic.clone(),
            row.crawler.clone(),
            row.learner.clone(),
            number(Some(row.followed)),
            format!("{:.1}", row.instances),
            number(Some(row.log_loss)),
            number(Some(row.log_loss_lately)),
            number(row.auc),
            number(row.auc_within_page),
            number(Some(row.calibration_error)),
        ])?;
    }
    csv.flush()
}

fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:.4}"))
}
