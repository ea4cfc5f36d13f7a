//! Posteriors that mean what they say.
//!
//! Naive Bayes counts each word as if it were independent evidence, so that its posteriors lie near
//! 0 and 1 however often it errs. One temperature for all pages (Guo, Pleiss, Sun, Weinberger, ICML
//! 2017) does not mend that: the longer the page, the more it overrates itself. The calibrated score
//! of class k for a page of n terms is therefore
//! `z(k) = exp(log_scale) n^(-exponent) (score(k) - best score) + offset(k)`,
//! and its softmax the calibrated posterior: temperature scaling whose temperature rises with the
//! length, and vector scaling's offsets (the same paper, section 4.2). It is fitted by the log loss
//! on pages that the scoring model was not trained on.

use crate::critic::minimize::minimize;
use crate::critic::posterior::log_sum_exp;
use crate::critic::weights::narrow;

/// Weight of the squared offsets beside the mean log loss: a class of few pages keeps near 0.
const OFFSET_PENALTY: f64 = 1e-3;
/// Where the search starts; temperatures of naive Bayes are found near these.
const START: (f64, f64) = (0.0, 0.7);
/// Largest part of the gradient at which the search ends.
const TOLERANCE: f64 = 1e-5;
const STEPS_MAX: usize = 200;
/// Below this many pages nothing is fitted.
const PAGES_MIN: usize = 20;

/// From a model's scores to calibrated ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// ln of the factor on the scores of a page of one term; its negative is ln of the temperature.
    pub log_scale: f64,
    /// How fast the temperature rises with the number of terms; 0: not at all, 1: in proportion.
    pub exponent: f64,
    /// What is added to the score of each class; of a mean of 0.
    pub offsets: Vec<f64>,
}

/// What a model that was not trained on a page makes of it.
#[derive(Clone, Debug)]
pub(super) struct Scored {
    /// The class of the page.
    pub(super) class: u16,
    /// Terms in it, repeated ones as often as they occur.
    pub(super) length: u64,
    /// Scores of all classes, less the best one; none below [`BELOW_MAX`].
    pub(super) below_best: Vec<f32>,
}

/// A class that no page was seen of scores minus infinity, of which there is no multiple.
const BELOW_MAX: f64 = -1e6;

impl Scored {
    pub(super) fn new(class: u16, length: u64, scores: &[f64]) -> Self {
        let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let below = |score: &f64| narrow((score - best).max(BELOW_MAX));
        Self {
            class,
            length,
            below_best: scores.iter().map(below).collect(),
        }
    }
}

impl Calibration {
    /// Fits to `pages`; `None` if there are too few of them or they say nothing.
    pub(super) fn fit(pages: &[&Scored]) -> Option<Self> {
        let classes = pages.first()?.below_best.len();
        if pages.len() < PAGES_MIN {
            return None;
        }
        let mut start = vec![0.0; classes + 2];
        (start[0], start[1]) = START;
        let loss = |point: &[f64], gradient: &mut [f64]| mean_loss(pages, point, gradient);
        let found = minimize(start, TOLERANCE, STEPS_MAX, loss);
        let mean = found[2..].iter().sum::<f64>() / classes.max(1) as f64;
        let fitted = Self {
            log_scale: found[0],
            exponent: found[1],
            offsets: found[2..].iter().map(|offset| offset - mean).collect(),
        };
        fitted.is_sound(classes).then_some(fitted)
    }

    /// Whether it can be used with so many classes.
    pub(super) fn is_sound(&self, classes: usize) -> bool {
        let usual = |value: &f64| value.abs() <= 100.0;
        self.offsets.len() == classes
            && usual(&self.log_scale)
            && usual(&self.exponent)
            && self.offsets.iter().all(usual)
    }

    /// For classes in another order: `order` holds the old number of each. A class that is new has no
    /// offset, since nothing is known of it but that it is one.
    #[must_use]
    pub(super) fn reordered(&self, order: &[usize]) -> Self {
        let offset = |old: &usize| self.offsets.get(*old).copied().unwrap_or(0.0);
        Self {
            offsets: order.iter().map(offset).collect(),
            ..*self
        }
    }

    /// Turns the scores of a page of `length` terms into calibrated ones.
    pub(super) fn apply(&self, length: u64, scores: &mut [f64]) {
        let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let factor = (self.log_scale - self.exponent * log_length(length)).exp();
        for (score, offset) in scores.iter_mut().zip(&self.offsets) {
            *score = factor * (*score - best).max(BELOW_MAX) + offset;
        }
    }
}

/// ln of the number of terms, of which a page without any is taken to have one.
fn log_length(length: u64) -> f64 {
    (length.max(1) as f64).ln()
}

/// The mean log loss with the penalty, at (log scale, exponent, offsets..).
fn mean_loss(pages: &[&Scored], point: &[f64], gradient: &mut [f64]) -> f64 {
    let (log_scale, exponent, offsets) = (point[0], point[1], &point[2..]);
    gradient.fill(0.0);
    let mut sum = 0.0;
    let mut scores = vec![0.0; offsets.len()];
    for page in pages {
        let log_length = log_length(page.length);
        let factor = (log_scale - exponent * log_length).exp();
        let class = usize::from(page.class);
        for ((score, below), offset) in scores.iter_mut().zip(&page.below_best).zip(offsets) {
            *score = factor * f64::from(*below) + offset;
        }
        let all = log_sum_exp(scores.iter().copied());
        sum += all - scores[class];
        // d loss / d z(k) = Pr(k) - [k is the class].
        let mut by_factor = 0.0;
        for (k, score) in scores.iter().enumerate() {
            let off = (score - all).exp() - f64::from(u8::from(k == class));
            gradient[2 + k] += off;
            by_factor += off * factor * f64::from(page.below_best[k]);
        }
        gradient[0] += by_factor;
        gradient[1] -= by_factor * log_length;
    }
    let pages = pages.len() as f64;
    for part in gradient.iter_mut() {
        *part /= pages;
    }
    let mut penalty = 0.0;
    for (part, offset) in gradient[2..].iter_mut().zip(offsets) {
        *part += 2.0 * OFFSET_PENALTY * offset;
        penalty += OFFSET_PENALTY * offset * offset;
    }
    sum / pages + penalty
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of two classes; the scores are off by `margin`, and three of four are right.
    fn pages(margins: impl Fn(u64) -> f32) -> Vec<Scored> {
        let page = |number: u64| {
            let length = [10, 100, 1_000][(number % 3) as usize];
            let right = number % 4 != 3;
            let said = u16::from(number % 8 < 4);
            let mut below_best = vec![0.0; 2];
            below_best[usize::from(1 - said)] = -margins(length);
            Scored {
                class: if right { said } else { 1 - said },
                length,
                below_best,
            }
        };
        (0..240).map(page).collect()
    }

    fn fit(pages: &[Scored]) -> Calibration {
        Calibration::fit(&pages.iter().collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn posteriors_become_the_share_that_is_right_at_every_length() {
        // Evidence in proportion to the length, although the longer pages are no more often right.
        let calibration = fit(&pages(|length| length as f32 * 0.5));
        assert!((calibration.exponent - 1.0).abs() < 1e-3, "{calibration:?}");
        for length in [10, 1_000] {
            let mut scores = [0.0, -0.5 * length as f64];
            calibration.apply(length, &mut scores);
            // Three of four: log odds ln 3.
            assert!(
                (scores[0] - scores[1] - 3.0_f64.ln()).abs() < 1e-2,
                "{scores:?}"
            );
        }
    }

    #[test]
    fn the_gradient_is_that_of_the_loss() {
        let pages = pages(|length| (length as f32).sqrt());
        let pages: Vec<&Scored> = pages.iter().collect();
        let point = [-0.3, 0.4, 0.2, -0.5];
        let mut gradient = [0.0; 4];
        mean_loss(&pages, &point, &mut gradient);
        for place in 0..4 {
            let at = |by: f64| {
                let mut moved = point;
                moved[place] += by;
                mean_loss(&pages, &moved, &mut [0.0; 4])
            };
            let slope = (at(1e-6) - at(-1e-6)) / 2e-6;
            assert!(
                (slope - gradient[place]).abs() < 1e-6,
                "{place}: {gradient:?}"
            );
        }
    }

    #[test]
    fn few_pages_give_no_calibration() {
        let pages = pages(|_| 1.0);
        assert_eq!(
            Calibration::fit(&pages.iter().take(19).collect::<Vec<_>>()),
            None
        );
        assert_eq!(Calibration::fit(&[]), None);
    }

    #[test]
    fn a_new_class_gets_a_place_of_its_own() {
        let calibration = Calibration {
            log_scale: 1.0,
            exponent: 0.5,
            offsets: vec![-2.0, 2.0],
        };
        assert_eq!(calibration.reordered(&[1, 2, 0]).offsets, [2.0, 0.0, -2.0]);
    }
}
