//! From scores of classes to a verdict, without overflow.

use std::cmp::Ordering;

use crate::critic::judge::{BEST_CLASSES_MAX, ClassId, ClassScore, Verdict};
use crate::critic::weights::narrow;

/// exp of this, times as many classes as there can be, is below the last digit of 1; most classes
/// of a page lie below it, and need no exponential.
const NEGLIGIBLE: f64 = -60.0;

/// ln of the sum of exp(score), the maximum taken out first; minus infinity for nothing.
pub(super) fn log_sum_exp(scores: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = scores.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    let sum: f64 = scores
        .map(|score| score - largest)
        .filter(|below| *below > NEGLIGIBLE)
        .map(f64::exp)
        .sum();
    largest + sum.ln()
}

/// The classes of a focus and those near it.
#[derive(Clone, Debug)]
pub(super) struct FocusClasses {
    /// For each class whether it lies in the focus; some do and some do not.
    pub(super) inside: Vec<bool>,
    /// For each class whether it counts as near (hard focus).
    pub(super) near: Vec<bool>,
}

impl FocusClasses {
    /// ln of the sums of exp(score) in the focus and outside of it.
    fn sides(&self, scores: &[f64]) -> (f64, f64) {
        let side = |wanted: bool| {
            let both = scores.iter().zip(&self.inside);
            let side = both.filter(move |(_, inside)| **inside == wanted);
            log_sum_exp(side.map(|(score, _)| *score))
        };
        (side(true), side(false))
    }

    /// The log odds of the focus.
    pub(super) fn log_odds(&self, scores: &[f64]) -> f32 {
        let (inside, outside) = self.sides(scores);
        narrow(inside - outside).clamp(f32::MIN, f32::MAX)
    }
}

/// The verdict on a page whose classes score `scores`, without a calibration.
pub(super) fn verdict(scores: &[f64], focus: &FocusClasses, version: u64) -> Verdict {
    let (inside, outside) = focus.sides(scores);
    let log_odds = narrow(inside - outside).clamp(f32::MIN, f32::MAX);
    let all = log_sum_exp([inside, outside].into_iter());
    let best: Vec<ClassScore> = best_classes(scores)
        .into_iter()
        .map(|class| ClassScore {
            class: ClassId(class),
            log_posterior: narrow((scores[usize::from(class)] - all).min(0.0)),
        })
        .collect();
    let near_focus = best
        .first()
        .is_some_and(|best| focus.near[usize::from(best.class.0)]);
    Verdict {
        log_odds,
        calibrated_log_odds: log_odds,
        best,
        near_focus,
        version,
    }
}

/// The best classes, best first; of equally good ones the first.
fn best_classes(scores: &[f64]) -> Vec<u16> {
    let mut best: Vec<(f64, u16)> = Vec::with_capacity(BEST_CLASSES_MAX + 1);
    for (class, score) in (0..=u16::MAX).zip(scores) {
        let full = best.len() == BEST_CLASSES_MAX;
        if full && best.last().is_some_and(|(last, _)| score <= last) {
            continue;
        }
        let place = best.partition_point(|(other, _)| other.total_cmp(score) != Ordering::Less);
        best.insert(place, (*score, class));
        best.truncate(BEST_CLASSES_MAX);
    }
    best.into_iter().map(|(_, class)| class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn focus(inside: &[bool]) -> FocusClasses {
        FocusClasses {
            inside: inside.to_vec(),
            near: inside.to_vec(),
        }
    }

    #[test]
    fn log_odds_of_hundreds_are_kept() {
        let verdict = verdict(
            &[-4000.0, -4700.0, -9000.0],
            &focus(&[true, false, true]),
            3,
        );
        assert_eq!(verdict.log_odds.to_bits(), 700.0_f32.to_bits());
        assert_eq!(verdict.version, 3);
        assert!(verdict.near_focus);
    }

    #[test]
    fn log_odds_of_several_classes_are_those_of_their_union() {
        // Posteriors 0.2, 0.3, 0.5; focus = the first two: odds 0.5 / 0.5.
        let scores = [0.2_f64.ln(), 0.3_f64.ln(), 0.5_f64.ln()];
        let verdict = verdict(&scores, &focus(&[true, true, false]), 1);
        assert!(verdict.log_odds.abs() < 1e-6, "{verdict:?}");
        assert!(!verdict.near_focus, "the best class lies outside");
        assert_eq!(verdict.best[0].class, ClassId(2));
        assert!((f64::from(verdict.best[0].log_posterior) - 0.5_f64.ln()).abs() < 1e-6);
    }

    #[test]
    fn the_best_classes_come_best_first_and_ties_by_number() {
        let scores = [1.0, 3.0, 3.0, 2.0, 3.0, 0.0, 4.0];
        assert_eq!(best_classes(&scores), [6, 1, 2, 4, 3]);
        assert_eq!(best_classes(&[1.0, 1.0]), [0, 1]);
    }
}
