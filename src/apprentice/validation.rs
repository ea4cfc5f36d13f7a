//! Progressive validation: each learner's word on a link is held against what came of it, before the
//! learner learns it (Blum, Kalai, Langford: Beating the hold-out, COLT 1999).

use std::collections::{HashMap, VecDeque};

use super::calibrator::Calibrator;
use crate::measure::roc_auc;
use crate::url::{FingerprintState, UrlId};

/// Instances that the area under the curve of ranks is taken over: the last ones.
const RECENT: usize = 1000;
/// Labels from here on are positive where a figure needs two classes.
const POSITIVE_FROM: f32 = 0.5;
/// Pages whose judged links are remembered, to compare links of one page.
const PAGES_MAX: usize = 2000;
/// Judged links of one page that are remembered.
const LINKS_OF_PAGE_MAX: usize = 64;
/// Bins of the reliability table.
const BINS: usize = 10;

/// How well a learner has predicted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LearnerFigures {
    /// Instances (u, v) that it was asked about before it learned them.
    pub instances: u64,
    /// Mean log loss in nats, over the whole crawl; its scores are scaled to probabilities by an online
    /// fit of two parameters.
    pub log_loss: f64,
    /// The same over the last 1,000 instances.
    pub log_loss_lately: f64,
    /// Area under the ROC curve over the last 1,000 instances: the chance that a relevant target had the
    /// higher score. `None` while all are relevant, or none.
    pub auc: Option<f64>,
    /// The same for pairs of links of one page, over the crawl.
    pub auc_within_page: Option<f64>,
    /// Expected calibration error of the probabilities, over the crawl.
    pub calibration_error: f64,
}

/// The running figures of one learner.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Validation {
    calibrator: Calibrator,
    instances: u64,
    loss: f64,
    recent: VecDeque<(f32, f32, f32)>,
    pages: HashMap<UrlId, Vec<(f32, bool)>, FingerprintState>,
    pages_in_order: VecDeque<UrlId>,
    /// Pairs of links of one page with different labels, and how many stood in the right order.
    pairs: (f64, f64),
    bins: [(f64, f64, u64); BINS],
}

/// The log loss of a probability against a soft label, in nats.
pub(super) fn log_loss(probability: f32, label: f32) -> f32 {
    let p = probability.clamp(1e-6, 1.0 - 1e-6);
    -(label * p.ln() + (1.0 - label) * (1.0 - p).ln())
}

impl Validation {
    /// Begins with a fit that was made before.
    pub(super) fn set_calibrator(&mut self, calibrator: Calibrator) {
        self.calibrator = calibrator;
    }

    pub(super) fn calibrator(&self) -> &Calibrator {
        &self.calibrator
    }

    /// The learner gave `score` to a link of page `source`, and this came of it. Gives the log loss.
    pub(super) fn add(&mut self, source: UrlId, score: f32, label: f32) -> f32 {
        let probability = self.calibrator.probability(score);
        let loss = log_loss(probability, label);
        self.instances += 1;
        self.loss += f64::from(loss);
        self.calibrator.learn(score, label);
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((score, label, loss));
        self.add_to_bins(probability, label);
        self.add_to_page(source, score, label >= POSITIVE_FROM);
        loss
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a probability times ten"
    )]
    fn add_to_bins(&mut self, probability: f32, label: f32) {
        let at = ((probability * BINS as f32) as usize).min(BINS - 1);
        let bin = &mut self.bins[at];
        bin.0 += f64::from(probability);
        bin.1 += f64::from(label);
        bin.2 += 1;
    }

    fn add_to_page(&mut self, source: UrlId, score: f32, is_positive: bool) {
        if !self.pages.contains_key(&source) {
            self.pages_in_order.push_back(source);
            if self.pages_in_order.len() > PAGES_MAX
                && let Some(oldest) = self.pages_in_order.pop_front()
            {
                self.pages.remove(&oldest);
            }
        }
        let links = self.pages.entry(source).or_default();
        for (other, other_is_positive) in links.iter() {
            if *other_is_positive != is_positive {
                let (high, low) = if is_positive {
                    (score, *other)
                } else {
                    (*other, score)
                };
                self.pairs.0 += 1.0;
                self.pairs.1 += order(high, low);
            }
        }
        if links.len() < LINKS_OF_PAGE_MAX {
            links.push((score, is_positive));
        }
    }

    pub(super) fn figures(&self) -> LearnerFigures {
        let count = self.instances.max(1) as f64;
        let lately: f64 = self
            .recent
            .iter()
            .map(|(_, _, loss)| f64::from(*loss))
            .sum();
        let off: f64 = self
            .bins
            .iter()
            .map(|(said, came, _)| (said - came).abs())
            .sum();
        LearnerFigures {
            instances: self.instances,
            log_loss: self.loss / count,
            log_loss_lately: lately / self.recent.len().max(1) as f64,
            auc: self.auc(),
            auc_within_page: (self.pairs.0 > 0.0).then(|| self.pairs.1 / self.pairs.0),
            calibration_error: off / count,
        }
    }

    fn auc(&self) -> Option<f64> {
        let recent = self.recent.iter();
        let mut scored: Vec<_> = recent
            .map(|(score, label, _)| (*score, *label >= POSITIVE_FROM))
            .collect();
        roc_auc(&mut scored)
    }
}

/// 1 if the scores stand in the right order, 0.5 for a tie.
fn order(high: f32, low: f32) -> f64 {
    match high.total_cmp(&low) {
        std::cmp::Ordering::Greater => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Less => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::clock::chance;

    fn of(scores: &[(u64, f32, f32)]) -> LearnerFigures {
        let mut validation = Validation::default();
        for (page, score, label) in scores {
            validation.add(UrlId(*page), *score, *label);
        }
        validation.figures()
    }

    #[test]
    fn the_area_counts_pairs_in_the_right_order() {
        // Scores 1, 2, 3, 4 with labels 0, 1, 0, 1: of the four pairs three are right.
        let one = of(&[(1, 1.0, 0.0), (1, 2.0, 1.0), (1, 3.0, 0.0), (1, 4.0, 1.0)]);
        assert!((one.auc.unwrap() - 0.75).abs() < 1e-9);
        assert!((one.auc_within_page.unwrap() - 0.75).abs() < 1e-9);
        // On two pages: only (1, 2) and (3, 4) are pairs of one page.
        let two = of(&[(1, 1.0, 0.0), (1, 2.0, 1.0), (2, 3.0, 0.0), (2, 4.0, 1.0)]);
        assert!((two.auc_within_page.unwrap() - 1.0).abs() < 1e-9);
        let tied = of(&[(1, 1.0, 0.0), (1, 1.0, 1.0)]);
        assert!((tied.auc.unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(of(&[(1, 1.0, 1.0)]).auc, None);
    }

    #[test]
    fn what_knows_more_loses_less() {
        let (mut good, mut idle) = (Validation::default(), Validation::default());
        // In turns the labels would follow the last step of the fit, which is always a little behind.
        let mut random = chance(1, "labels");
        for turn in 0..400 {
            let label = f32::from(u8::from(random.random_bool(0.5)));
            good.add(UrlId(turn), label * 4.0 - 2.0, label);
            idle.add(UrlId(turn), 0.0, label);
        }
        let (good, idle) = (good.figures(), idle.figures());
        assert!(
            good.log_loss < 0.2 && good.log_loss_lately < good.log_loss + 1e-9,
            "{good:?}"
        );
        assert!(
            (idle.log_loss - std::f64::consts::LN_2).abs() < 0.02,
            "{idle:?}"
        );
        assert!(idle.calibration_error < 0.1, "{idle:?}");
        assert_eq!((good.instances, good.auc), (400, Some(1.0)));
    }
}
