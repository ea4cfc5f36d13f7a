//! One crawl of a contest as it is kept: an [`Entry`] without what the contest itself says of it.
//!
//! Numbers that have to come back to the last bit are kept as bytes in hexadecimal.

use std::time::Duration;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use crate::apprentice::{ExplorationFigures, LearnerFigures, LearnerReport};
use crate::crawl::{CrawlOrder, Learned};
use crate::lab::replay::{Entry, Fetched, Job};
use crate::measure::LossCurve;
use crate::url::UrlId;

const IS_EXAMPLE: u8 = 1;
const IS_ELSEWHERE: u8 = 2;
const IS_COPY: u8 = 4;
const IS_MISSING: u8 = 8;

/// See the module.
#[derive(Serialize, Deserialize)]
pub(in crate::lab) struct RunRecord {
    ended: String,
    micros: u64,
    /// Relevance of each fetch by the critic, and by the labels: f32, little endian.
    by_critic: String,
    by_judge: Option<String>,
    /// Fingerprint of each URL: u64, little endian.
    urls: String,
    /// What is known of each fetch: a byte.
    flags: String,
    learners: Vec<LearnerRecord>,
    exploration: Option<ExplorationRecord>,
}

#[derive(Serialize, Deserialize)]
struct LearnerRecord {
    name: String,
    is_followed: bool,
    instances: u64,
    /// Log loss, lately, calibration error; then the two AUCs.
    figures: [Exact; 3],
    aucs: [Option<Exact>; 2],
}

#[derive(Serialize, Deserialize)]
struct ExplorationRecord {
    differed: u64,
    explored: u64,
    saved: Exact,
    cost: Exact,
}

/// An f64 by its bits.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Exact(u64);

impl Exact {
    fn of(value: f64) -> Self {
        Self(value.to_bits())
    }

    fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl RunRecord {
    /// A record of another version says less, or says it otherwise, and is not taken.
    pub(in crate::lab) const VERSION: u32 = 2;

    /// What is to be kept of `entry`.
    pub(in crate::lab) fn of(entry: &Entry) -> Self {
        let learned = &entry.learned;
        let ids = entry.fetched.iter().map(|one| one.url.0.to_le_bytes());
        let flags: Vec<u8> = entry.fetched.iter().map(flags_of).collect();
        Self {
            ended: entry.reason.clone(),
            micros: u64::try_from(entry.took.as_micros()).unwrap_or(u64::MAX),
            by_critic: relevances(&entry.by_critic),
            by_judge: entry.by_judge.as_ref().map(relevances),
            urls: HEXLOWER.encode(&ids.collect::<Vec<_>>().concat()),
            flags: HEXLOWER.encode(&flags),
            learners: learned.learners.iter().map(learner).collect(),
            exploration: learned.exploration.map(|figures| ExplorationRecord {
                differed: figures.differed,
                explored: figures.explored,
                saved: Exact::of(figures.saved),
                cost: Exact::of(figures.cost),
            }),
        }
    }

    /// The entry of `job` again; `None` if this cannot be one. The figures of single epochs are not
    /// kept.
    pub(in crate::lab) fn entry(self, job: &Job) -> Option<Entry> {
        let urls = HEXLOWER.decode(self.urls.as_bytes()).ok()?;
        let (ids, rest) = urls.as_chunks::<8>();
        let flags = HEXLOWER.decode(self.flags.as_bytes()).ok()?;
        let by_critic = curve(&self.by_critic)?;
        let by_judge = match &self.by_judge {
            Some(text) => Some(curve(text)?),
            None => None,
        };
        let n = by_critic.n();
        let fits = rest.is_empty()
            && [ids.len(), flags.len()].iter().all(|len| *len as u64 == n)
            && by_judge.as_ref().is_none_or(|curve| curve.n() == n);
        let fetched = ids.iter().zip(&flags).map(|(id, flags)| Fetched {
            url: UrlId(u64::from_le_bytes(*id)),
            is_example: flags & IS_EXAMPLE != 0,
            is_elsewhere: flags & IS_ELSEWHERE != 0,
            is_copy: flags & IS_COPY != 0,
            is_missing: flags & IS_MISSING != 0,
        });
        let learners = self.learners.iter().map(LearnerRecord::report);
        let learned = Learned {
            epochs: Vec::new(),
            learners: learners.collect::<Option<_>>()?,
            exploration: self.exploration.map(|record| ExplorationFigures {
                differed: record.differed,
                explored: record.explored,
                saved: record.saved.value(),
                cost: record.cost.value(),
            }),
        };
        fits.then(|| Entry {
            crawler: job.crawler.clone(),
            topic: job.topic.clone(),
            seed_set: job.seed_set,
            seeds: job.seeds.clone(),
            targets: job.targets.clone(),
            by_critic,
            by_judge,
            fetched: fetched.collect(),
            reason: self.ended,
            learned,
            took: Duration::from_micros(self.micros),
        })
    }
}

fn flags_of(one: &Fetched) -> u8 {
    let flag = |is: bool, flag: u8| if is { flag } else { 0 };
    flag(one.is_example, IS_EXAMPLE)
        | flag(one.is_elsewhere, IS_ELSEWHERE)
        | flag(one.is_copy, IS_COPY)
        | flag(one.is_missing, IS_MISSING)
}

fn relevances(curve: &LossCurve) -> String {
    let bytes = curve.relevances().iter().map(|r| r.to_le_bytes());
    HEXLOWER.encode(&bytes.collect::<Vec<_>>().concat())
}

fn curve(text: &str) -> Option<LossCurve> {
    let bytes = HEXLOWER.decode(text.as_bytes()).ok()?;
    let (values, rest) = bytes.as_chunks::<4>();
    let values = values.iter().map(|bytes| f32::from_le_bytes(*bytes));
    rest.is_empty().then(|| values.collect())
}

fn learner(report: &LearnerReport) -> LearnerRecord {
    let figures = &report.figures;
    LearnerRecord {
        name: report.name.to_owned(),
        is_followed: report.is_followed,
        instances: figures.instances,
        figures: [
            figures.log_loss,
            figures.log_loss_lately,
            figures.calibration_error,
        ]
        .map(Exact::of),
        aucs: [figures.auc, figures.auc_within_page].map(|auc| auc.map(Exact::of)),
    }
}

impl LearnerRecord {
    /// `None` for a learner that this version of the program does not have.
    fn report(&self) -> Option<LearnerReport> {
        let names = CrawlOrder::ALL.map(CrawlOrder::name);
        let [log_loss, log_loss_lately, calibration_error] = self.figures.map(Exact::value);
        let [auc, auc_within_page] = self.aucs.map(|auc| auc.map(Exact::value));
        Some(LearnerReport {
            name: names.into_iter().find(|name| *name == self.name)?,
            is_followed: self.is_followed,
            figures: LearnerFigures {
                instances: self.instances,
                log_loss,
                log_loss_lately,
                auc,
                auc_within_page,
                calibration_error,
            },
        })
    }
}
