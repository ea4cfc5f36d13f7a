//! How well the apprentices predicted: the figures of their progressive validation at the end of the crawls.

use std::collections::BTreeMap;

use super::{Crawls, mean};
use crate::apprentice::LearnerFigures;

/// One learner of one crawler: means over the seed sets of a topic, or over topics.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct OfLearner {
    /// The topic; `*` for the mean over all.
    pub topic: String,
    /// The crawler.
    pub crawler: String,
    /// The learner; all learners of a crawler are asked, whichever it follows.
    pub learner: String,
    /// The share of its crawls that followed this learner in the end.
    pub followed: f64,
    /// Links that it was asked about before it learned what came of them.
    pub instances: f64,
    /// Mean log loss in nats.
    pub log_loss: f64,
    /// The same over the last 1,000 of a crawl.
    pub log_loss_lately: f64,
    /// Area under the ROC curve over the last 1,000, where some were relevant and some not.
    pub auc: Option<f64>,
    /// The same for pairs of links of one page.
    pub auc_within_page: Option<f64>,
    /// Expected calibration error.
    pub calibration_error: f64,
}

/// All learners of all crawlers that learn, topic by topic, then over all topics.
pub(super) fn of_learners(crawls: &Crawls<'_>) -> Vec<OfLearner> {
    let mut rows = Vec::new();
    for topic in &crawls.topics {
        for crawler in &crawls.crawlers {
            rows.extend(of_group(crawls, topic, crawler));
        }
    }
    let mut all: Vec<OfLearner> = Vec::new();
    for crawler in &crawls.crawlers {
        let mut by_learner: BTreeMap<&str, Vec<&OfLearner>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.crawler == *crawler) {
            by_learner.entry(&row.learner).or_default().push(row);
        }
        let means = by_learner.into_iter().map(|(learner, rows)| {
            let figures: Vec<(f64, LearnerFigures)> =
                rows.iter().map(|row| row.figures()).collect();
            OfLearner {
                // Rows of topics are means, and so may have a part of an instance.
                instances: mean(rows.iter().map(|row| row.instances)).unwrap_or(0.0),
                ..mean_of("*", crawler, learner, &figures)
            }
        });
        all.extend(means);
    }
    rows.extend(all);
    rows
}

fn of_group(crawls: &Crawls<'_>, topic: &str, crawler: &str) -> Vec<OfLearner> {
    let mut by_learner: BTreeMap<&str, Vec<(f64, LearnerFigures)>> = BTreeMap::new();
    for entry in crawls.group(topic, crawler) {
        for report in &entry.learned.learners {
            let followed = if report.is_followed { 1.0 } else { 0.0 };
            let figures = by_learner.entry(report.name).or_default();
            figures.push((followed, report.figures));
        }
    }
    let rows = by_learner.into_iter();
    rows.map(|(learner, figures)| mean_of(topic, crawler, learner, &figures))
        .collect()
}

fn mean_of(
    topic: &str,
    crawler: &str,
    learner: &str,
    figures: &[(f64, LearnerFigures)],
) -> OfLearner {
    let of = |value: fn(&LearnerFigures) -> Option<f64>| {
        mean(figures.iter().filter_map(|(_, figures)| value(figures)))
    };
    let always = |value: fn(&LearnerFigures) -> Option<f64>| of(value).unwrap_or(0.0);
    OfLearner {
        topic: topic.to_owned(),
        crawler: crawler.to_owned(),
        learner: learner.to_owned(),
        followed: mean(figures.iter().map(|(followed, _)| *followed)).unwrap_or(0.0),
        instances: always(|figures| Some(figures.instances as f64)),
        log_loss: always(|figures| Some(figures.log_loss)),
        log_loss_lately: always(|figures| Some(figures.log_loss_lately)),
        auc: of(|figures| figures.auc),
        auc_within_page: of(|figures| figures.auc_within_page),
        calibration_error: always(|figures| Some(figures.calibration_error)),
    }
}

impl OfLearner {
    fn figures(&self) -> (f64, LearnerFigures) {
        let figures = LearnerFigures {
            instances: 0,
            log_loss: self.log_loss,
            log_loss_lately: self.log_loss_lately,
            auc: self.auc,
            auc_within_page: self.auc_within_page,
            calibration_error: self.calibration_error,
        };
        (self.followed, figures)
    }
}
