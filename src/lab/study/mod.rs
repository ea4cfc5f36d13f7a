//! The studies of the paper (Chakrabarti, Punera, Subramanyam, WWW 2002, section 3) on an archived
//! web: each gives a table, its data as CSV and pictures.
//!
//! All go by the crawls of an ordinary contest. Those that look at links take them from the crawl of
//! the first crawler from the first seed set of each topic, and label them as the apprentice does: by
//! the critic's R(v) of the target.

mod ablation;
mod accuracy;
mod gain;
mod histogram;
mod leaps;
mod mass;
mod overlap;
mod recall;
mod switch;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::contest::{Bench, ContestSpec};
use super::contest_error::ContestError;
use super::replay::{Entry, Job, entry};
use crate::crawl::SpecError;
use crate::frontier::StoreFailure;
use crate::measure::SeriesError;
use crate::text::unknown_name;

/// A study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Study {
    /// How well links are predicted, by the width of the window, with and without offsets.
    Accuracy,
    /// How R(v) is distributed, raw and calibrated.
    Histogram,
    /// What a term tells about the target, by its offset.
    Gain,
    /// How much text stands at each offset, and what the leaves there are.
    Mass,
    /// Which URLs two crawlers both fetch.
    Overlap,
    /// What happens when a baseline crawl goes over to an apprentice.
    Switch,
    /// How an apprentice orders what the baseline fetched.
    Recall,
    /// What each group of features is worth.
    Ablation,
}

impl Study {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Accuracy,
        Self::Histogram,
        Self::Gain,
        Self::Mass,
        Self::Overlap,
        Self::Switch,
        Self::Recall,
        Self::Ablation,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::Histogram => "histogram",
            Self::Gain => "gain",
            Self::Mass => "mass",
            Self::Overlap => "overlap",
            Self::Switch => "switch",
            Self::Recall => "recall",
            Self::Ablation => "ablation",
        }
    }

    /// What it asks.
    pub fn about(self) -> &'static str {
        match self {
            Self::Accuracy => {
                "accuracy and AUC of predicted links by d_max 0 to 15, with and without offsets"
            }
            Self::Histogram => "how many pages have which R(v), raw and calibrated",
            Self::Gain => "information gain of <term, offset> about the target, by offset",
            Self::Mass => "share of the words and kinds of leaves by offset (the saw-tooth)",
            Self::Overlap => "URLs that both of two crawlers fetched, and one alone, over n",
            Self::Switch => "first crawler until --switch-at, then the second: what changes",
            Self::Recall => "second crawler on what the first fetched: fetches for the same pages",
            Self::Ablation => "loss of the second crawler without each group of features",
        }
    }

    /// The study of this name.
    ///
    /// # Errors
    /// Lists the names that there are.
    pub fn from_name(name: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name);
        let study = Self::ALL.into_iter().find(|study| study.name() == name);
        study.ok_or_else(|| format!("no study {}", unknown_name(name, &names)))
    }
}

/// What a study looks at.
#[derive(Clone, Debug)]
pub struct StudySpec {
    /// Topics, starts, budget; of its crawlers the first is the one to start from, the second the one
    /// to compare with it.
    pub contest: ContestSpec,
    /// Judged pages after which the second crawler takes over; half of the budget unless said.
    pub switch_at: Option<u64>,
}

/// Rows under a head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The names of the columns.
    pub head: Vec<&'static str>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    fn new(head: &[&'static str]) -> Self {
        Self {
            head: head.to_vec(),
            rows: Vec::new(),
        }
    }

    fn csv(&self) -> io::Result<Vec<u8>> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(&self.head)?;
        for row in &self.rows {
            csv.write_record(row)?;
        }
        csv.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}

/// What a study found.
#[derive(Clone, Debug, Default)]
pub struct Finding {
    /// In short, for a terminal.
    pub short: Table,
    /// All of it.
    pub data: Table,
    /// SVG pictures: what each shows beside the study's name, and the picture.
    pub pictures: Vec<(String, String)>,
}

/// Why there is no finding.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A crawl that it goes by cannot be had.
    #[error(transparent)]
    Contest(#[from] ContestError),
    /// A crawl's log cannot be read.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// An apprentice cannot be as it is told.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A picture cannot be drawn.
    #[error("no picture: {0}")]
    Picture(#[from] SeriesError),
    /// It compares two crawlers.
    #[error("this study compares two crawlers; give them with --crawlers, such as baseline,ftrl")]
    TwoCrawlers,
    /// The second crawler learns nothing.
    #[error("the crawler `{0}` learns nothing; give an apprentice second, as in baseline,ftrl")]
    NoApprentice(String),
    /// A crawl was too short to say anything.
    #[error(
        "topic {topic:?}: only {found} {what}; at least {least} are needed: raise --budget, or start elsewhere"
    )]
    TooFew {
        /// The topic.
        topic: String,
        /// What was counted.
        what: &'static str,
        /// How many there were.
        found: usize,
        /// How many there have to be.
        least: usize,
    },
    /// A file cannot be written.
    #[error("{path}: {error}", path = .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Called with how many steps are done, of how many.
pub type Steps<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// Makes a study.
///
/// # Errors
/// [`StudyError`] says what stands in the way.
pub fn run(
    study: Study,
    world: &Bench,
    spec: &StudySpec,
    steps: Steps<'_>,
) -> Result<Finding, StudyError> {
    match study {
        Study::Accuracy => accuracy::study(world, spec, steps),
        Study::Histogram => histogram::study(world, spec, steps),
        Study::Gain => gain::study(world, spec, steps),
        Study::Mass => mass::study(world, spec, steps),
        Study::Overlap => overlap::study(world, spec, steps),
        Study::Switch => switch::study(world, spec, steps),
        Study::Recall => recall::study(world, spec, steps),
        Study::Ablation => ablation::study(world, spec, steps),
    }
}

/// Writes `STUDY.csv` and `STUDY-PICTURE.svg` files into `dir`.
///
/// # Errors
/// [`StudyError::Io`] names the file.
pub fn write(study: Study, dir: &Path, finding: &Finding) -> Result<(), StudyError> {
    let io = |path: &Path, error| StudyError::Io {
        path: path.to_path_buf(),
        error,
    };
    fs::create_dir_all(dir).map_err(|error| io(dir, error))?;
    let path = dir.join(format!("{}.csv", study.name()));
    let csv = finding.data.csv();
    csv.and_then(|csv| fs::write(&path, csv))
        .map_err(|error| io(&path, error))?;
    for (name, svg) in &finding.pictures {
        let name = name.replace(['/', ' '], "_");
        let path = dir.join(format!("{}-{name}.svg", study.name()));
        fs::write(&path, svg).map_err(|error| io(&path, error))?;
    }
    Ok(())
}

/// Runs a contest, a step an entry.
fn contest(
    world: &Bench,
    spec: &ContestSpec,
    steps: &dyn Fn(u64),
) -> Result<Vec<Entry>, StudyError> {
    let jobs = super::contest::jobs(world, spec)?;
    let mut entries = Vec::with_capacity(jobs.len());
    for (done, job) in (1..).zip(&jobs) {
        entries.push(replayed(world, spec, job)?);
        steps(done);
    }
    Ok(entries)
}

fn replayed(world: &Bench, spec: &ContestSpec, job: &Job) -> Result<Entry, StudyError> {
    let replayed = super::replay::crawl(world, spec, job, None)?;
    Ok(entry(world, job, &replayed)?)
}

/// The contest of the first crawler from the first seed set alone.
fn first_alone(spec: &ContestSpec) -> ContestSpec {
    let mut first = spec.clone();
    first.crawlers.truncate(1);
    first.seed_sets = 1;
    first
}

/// The mean of `values`; 0 of none.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The least and the greatest of `values`, in words.
fn spread(values: &[f64], decimals: usize) -> String {
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if min > max {
        return String::new();
    }
    format!("{min:.decimals$} - {max:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_is_found_by_its_name_or_one_like_it_is_named() {
        for study in Study::ALL {
            assert_eq!(Study::from_name(study.name()), Ok(study));
        }
        let error = Study::from_name("acuracy").unwrap_err();
        assert!(error.contains("did you mean `accuracy`?"), "{error}");
    }

    #[test]
    fn a_spread_has_both_ends() {
        assert_eq!(spread(&[0.25, -1.0, 3.0], 1), "-1.0 - 3.0");
        assert_eq!(spread(&[], 1), "");
        assert!((mean(&[1.0, 2.0]) - 1.5).abs() < 1e-9);
    }
}
