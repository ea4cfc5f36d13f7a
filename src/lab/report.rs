//! What a contest leaves behind: `curves.csv`, `summary.json` and a picture for each topic.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::contest::ContestSpec;
use super::crawler::Crawler;
use super::replay::Entry;
use super::start::Start;
use crate::apprentice::{ExplorationFigures, LearnerReport};
use crate::measure::{LossCurve, LossPoint, NamedCurve, SVG_CURVES_MAX, SeriesError, loss_svg};

/// Why a report cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file cannot be written.
    #[error("{path}: {error}", path = .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A picture cannot be drawn.
    #[error("no picture of topic {topic}: {error}")]
    Plot {
        /// The topic.
        topic: String,
        /// Why.
        error: SeriesError,
    },
}

/// What a contest was held with: names of files, without their folders.
#[derive(Clone, Debug, Serialize)]
pub struct Sources {
    /// The archived web.
    pub archive: Vec<String>,
    /// The critic's model file, or the table of examples that it was trained from.
    pub critic: String,
    /// The critic's version.
    pub critic_version: u64,
    /// The table of labels.
    pub labels: Option<String>,
}

/// One crawl at its end.
#[derive(Clone, Debug, Serialize)]
pub struct EntrySummary {
    /// The crawler.
    pub crawler: Cow<'static, str>,
    /// The topic.
    pub topic: String,
    /// The seed set.
    pub seed_set: u32,
    /// Fetches that counted.
    pub n: u64,
    /// L(n) by the guiding critic.
    pub loss_critic: f64,
    /// L(n) by the labels.
    pub loss_judge: Option<f64>,
    /// Fetched pages that the labels find relevant.
    pub relevant_judge: Option<u64>,
    /// Fetched pages that the critic was not trained on.
    pub n_unseen: u64,
    /// What those lost, by the labels where there are any, else by the critic.
    pub loss_unseen: f64,
    /// Relevant pages on hosts that no seed lies on, judged likewise.
    pub relevant_elsewhere: u64,
    /// L(n), judged likewise, if copies of pages fetched before count as lost.
    pub loss_distinct: f64,
    /// Why it ended.
    pub ended: String,
    /// Its seeds.
    pub seeds: Vec<String>,
    /// How its learners have predicted (progressive validation).
    pub learners: Vec<LearnerReport>,
    /// What exploration has cost and what was saved, if it explores.
    pub exploration: Option<ExplorationFigures>,
}

/// The seed sets of one crawler and topic together, at one n.
#[derive(Clone, Debug, Serialize)]
pub struct Spread {
    /// The crawler.
    pub crawler: Cow<'static, str>,
    /// The topic.
    pub topic: String,
    /// Fetches.
    pub n: u64,
    /// Seed sets that fetched as many.
    pub seed_sets: usize,
    /// L(n) by the critic: mean, least and greatest.
    pub loss_critic: MeanOf,
    /// L(n) by the labels.
    pub loss_judge: Option<MeanOf>,
}

/// A mean with its spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeanOf {
    /// The arithmetic mean.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl MeanOf {
    /// Of these; `None` of none.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let first = *values.first()?;
        Some(Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            min: values.iter().copied().fold(first, f64::min),
            max: values.iter().copied().fold(first, f64::max),
        })
    }
}

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The program's version.
    pub version: &'static str,
    /// What was compared.
    pub spec: serde_json::Value,
    /// Each crawl.
    pub entries: Vec<EntrySummary>,
    /// The crawls of one crawler and topic together, at the places that any of them reached.
    pub means: Vec<Spread>,
}

/// The n at which means are given, beside the budget.
const MEANS_AT: [u64; 7] = [50, 100, 200, 250, 400, 500, 1000];

impl Summary {
    /// The summary of `entries`.
    ///
    /// `sources` says which files were compared with, and which version of the critic.
    pub fn of(spec: &ContestSpec, sources: &Sources, entries: &[Entry]) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            spec: spec_json(spec, sources),
            entries: entries.iter().map(summary_of).collect(),
            means: means(spec, entries),
        }
    }
}

fn spec_json(spec: &ContestSpec, sources: &Sources) -> serde_json::Value {
    let start = match &spec.start {
        Start::Examples => "examples".into(),
        Start::Far => "far".into(),
        Start::Neighbours => "neighbours".into(),
        Start::Labelled => "labelled".into(),
        Start::Urls(urls) => urls.iter().map(|url| url.as_str().to_owned()).collect(),
    };
    let start: serde_json::Value = start;
    let mut json = serde_json::json!({
        "crawlers": spec.crawlers.iter().map(Crawler::name).collect::<Vec<_>>(),
        "apprentice": spec.apprentice,
        "topics": spec.topics,
        "budget": spec.budget,
        "seed_sets": spec.seed_sets,
        "start": start,
        "start_pages": spec.start_pages,
        "within": spec.within.as_ref().map(Crawler::name),
        "world": if spec.closed_world { "closed" } else { "open" },
        "host_cap": spec.host_cap,
        "in_flight": spec.in_flight,
        "delay_ms": spec.delay.as_millis(),
        "seed": spec.seed,
        "sources": sources,
    });
    // Said only where it matters.
    let begins = begins_json(spec);
    if !begins.is_empty() {
        json["begin"] = begins.into();
    }
    if spec.crawlers.iter().any(Crawler::needs_words) {
        json["keywords"] = spec.keywords.name().into();
    }
    json
}

/// Which crawler begins with which saved apprentice.
fn begins_json(spec: &ContestSpec) -> Vec<serde_json::Value> {
    let begins = spec.crawlers.iter().filter_map(|crawler| {
        let begin = spec.begin_of(crawler)?;
        Some(serde_json::json!({
            "crawler": crawler.name(),
            "of": crawler.plain().name(),
            "apprentice": begin.file_name(),
            "sha1": begin.digest,
            "carry": begin.told.carry.name(),
        }))
    });
    begins.collect()
}

fn summary_of(entry: &Entry) -> EntrySummary {
    let n = entry.by_critic.n();
    let (n_unseen, loss_unseen) = entry.unseen(n);
    EntrySummary {
        n_unseen,
        loss_unseen,
        relevant_elsewhere: entry.relevant_elsewhere(n),
        loss_distinct: entry.loss_distinct(n),
        crawler: entry.crawler.name(),
        topic: entry.topic.clone(),
        seed_set: entry.seed_set,
        n,
        loss_critic: entry.by_critic.loss(),
        loss_judge: entry.by_judge.as_ref().map(LossCurve::loss),
        relevant_judge: entry.by_judge.as_ref().map(LossCurve::relevant),
        ended: entry.reason.clone(),
        seeds: entry
            .seeds
            .iter()
            .map(|url| url.as_str().to_owned())
            .collect(),
        learners: entry.learned.learners.clone(),
        exploration: entry.learned.exploration,
    }
}

/// The entries of each topic and crawler, in the order of the contest.
fn groups<'a>(spec: &ContestSpec, entries: &'a [Entry]) -> Vec<Vec<&'a Entry>> {
    let mut groups = Vec::new();
    for topic in &spec.topics {
        for crawler in &spec.crawlers {
            let mine = entries.iter();
            let mine = mine.filter(|entry| entry.topic == *topic && entry.crawler == *crawler);
            groups.push(mine.collect());
        }
    }
    groups
}

fn means(spec: &ContestSpec, entries: &[Entry]) -> Vec<Spread> {
    let mut at: Vec<u64> = MEANS_AT
        .iter()
        .copied()
        .filter(|n| *n < spec.budget)
        .collect();
    at.extend((2000..spec.budget).step_by(1000));
    at.push(spec.budget);
    let mut spreads = Vec::new();
    for group in groups(spec, entries) {
        for n in &at {
            spreads.extend(spread_at(&group, *n));
        }
    }
    spreads
}

fn spread_at(group: &[&Entry], n: u64) -> Option<Spread> {
    let first = group.first()?;
    let losses = |curve: &dyn Fn(&Entry) -> Option<f64>| -> Vec<f64> {
        group.iter().filter_map(|entry| curve(entry)).collect()
    };
    let by_critic = losses(&|entry| entry.by_critic.at(n).map(|point| point.loss));
    let by_judge = losses(&|entry| entry.by_judge.as_ref()?.at(n).map(|point| point.loss));
    Some(Spread {
        crawler: first.crawler.name(),
        topic: first.topic.clone(),
        n,
        seed_sets: by_critic.len(),
        loss_critic: MeanOf::of(&by_critic)?,
        loss_judge: MeanOf::of(&by_judge),
    })
}

/// Writes `curves.csv`, `summary.json` and, where crawls have come to something, `loss-TOPIC.svg` into
/// `dir`; where one picture cannot hold the curves of all crawlers, `loss-TOPIC-2.svg` has more.
///
/// # Errors
/// [`ReportError`] names the file.
pub fn write(
    dir: &Path,
    spec: &ContestSpec,
    summary: &Summary,
    entries: &[Entry],
) -> Result<(), ReportError> {
    let io = |path: &Path| {
        let path = path.to_path_buf();
        move |error| ReportError::Io { path, error }
    };
    fs::create_dir_all(dir).map_err(io(dir))?;
    let curves = dir.join("curves.csv");
    fs::File::create(&curves)
        .and_then(|file| write_curves(entries, file))
        .map_err(io(&curves))?;
    let path = dir.join("summary.json");
    let json = serde_json::to_string_pretty(summary).map_err(io::Error::from);
    json.and_then(|json| fs::write(&path, json + "\n"))
        .map_err(io(&path))?;
    for topic in &spec.topics {
        for (svg, number) in pictures(spec, topic, entries)?.into_iter().zip(1..) {
            let part = match number {
                1 => String::new(),
                more => format!("-{more}"),
            };
            let path = dir.join(format!("loss-{}{part}.svg", topic.replace('/', "_")));
            fs::write(&path, svg).map_err(io(&path))?;
        }
    }
    Ok(())
}

fn write_curves(entries: &[Entry], out: impl io::Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record([
        "crawler",
        "topic",
        "seed_set",
        "n",
        "loss_critic",
        "loss_judge",
        "relevant_judge",
        "n_unseen",
        "loss_unseen",
        "relevant_elsewhere",
        "loss_distinct",
    ])?;
    for entry in entries {
        for LossPoint { n, loss, .. } in entry.by_critic.checkpoints() {
            let judged = entry.by_judge.as_ref();
            let loss_judge = judged.and_then(|curve| curve.at(n)).map(|point| point.loss);
            let relevant = judged.map(|curve| curve.relevant_of_first(n));
            let (n_unseen, loss_unseen) = entry.unseen(n);
            csv.write_record([
                &*entry.crawler.name(),
                &entry.topic,
                &entry.seed_set.to_string(),
                &n.to_string(),
                &format!("{loss:.4}"),
                &loss_judge.map_or(String::new(), |loss| format!("{loss:.4}")),
                &relevant.map_or(String::new(), |count| count.to_string()),
                &n_unseen.to_string(),
                &format!("{loss_unseen:.4}"),
                &entry.relevant_elsewhere(n).to_string(),
                &format!("{:.4}", entry.loss_distinct(n)),
            ])?;
        }
    }
    csv.flush()
}

/// The mean curves of a topic: by the labels where there are any, else by the critic; none if no
/// crawler has one.
fn pictures(
    spec: &ContestSpec,
    topic: &str,
    entries: &[Entry],
) -> Result<Vec<String>, ReportError> {
    let mut curves = Vec::new();
    for group in groups(spec, entries) {
        let Some(first) = group.first().filter(|entry| entry.topic == topic) else {
            continue;
        };
        let points = mean_points(&group);
        // One point is no line.
        if points.len() > 1 {
            curves.push(NamedCurve {
                name: first.crawler.name().into_owned(),
                points,
            });
        }
    }
    let title = format!("{topic}: mean of {} seed sets", spec.seed_sets);
    let parts = curves.chunks(SVG_CURVES_MAX);
    let drawn = parts.map(|part| loss_svg(&title, part));
    drawn
        .collect::<Result<_, _>>()
        .map_err(|error| ReportError::Plot {
            topic: topic.to_owned(),
            error,
        })
}

fn mean_points(group: &[&Entry]) -> Vec<LossPoint> {
    let mut sums: BTreeMap<u64, (f64, usize)> = BTreeMap::new();
    for entry in group {
        let curve = entry.curve();
        // With the first fetch a short crawl has a line, too.
        let checkpoints = curve.checkpoints().into_iter();
        let later = checkpoints.filter(|point| point.n > 1);
        for point in curve.at(1).into_iter().chain(later) {
            let sum = sums.entry(point.n).or_default();
            sum.0 += point.loss;
            sum.1 += 1;
        }
    }
    // Only where all of them are: a mean over fewer would jump.
    sums.retain(|_, (_, count)| *count == group.len());
    let points = sums.into_iter();
    points
        .map(|(n, (sum, count))| LossPoint::new(n, sum / count as f64))
        .collect()
}
