//! Does the relevance of a crawl's pages mean what it says? Raw, calibrated, and at the crawl's own
//! class shares.

use serde::Serialize;

use crate::critic::evaluation::Share;
use crate::critic::judge::{Verdict, relevance_of};
use crate::critic::reliability::Reliability;
use crate::critic::shift::PriorShift;

/// R(v) for one focus against what is known of the pages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FocusCalibration {
    /// How many pages.
    pub pages: usize,
    /// Share of the focus in the critic's examples.
    pub share_trained: f64,
    /// Share of the focus in these pages, as known.
    pub share_seen: f64,
    /// The same, estimated from the pages without their labels.
    pub share_estimated: f64,
    /// Of the pages with R(v) of 0.5 and above, how many are of the focus.
    pub precision: Share,
    /// Of the pages of the focus, how many have R(v) of 0.5 and above.
    pub recall: Share,
    /// R(v) as naive Bayes has it.
    pub raw: Reliability,
    /// By calibrated posteriors, at the class shares of the examples.
    pub calibrated: Reliability,
    /// By calibrated posteriors, at the estimated class shares of these pages.
    pub shifted: Reliability,
}

impl FocusCalibration {
    /// Of `pages`: the verdict, and how probable it is (0 to 1) that the page is of the focus.
    pub fn of(share_trained: f64, pages: &[(Verdict, f64)]) -> Self {
        let calibrated: Vec<f32> = pages
            .iter()
            .map(|(verdict, _)| verdict.calibrated_log_odds)
            .collect();
        let shift = PriorShift::estimate(share_trained, &calibrated);
        let table = |relevance: &dyn Fn(&Verdict) -> f64| {
            let pairs = pages.iter().map(|(v, seen)| (relevance(v), *seen));
            Reliability::of(pairs.collect())
        };
        let seen: f64 = pages.iter().map(|(_, seen)| seen).sum();
        let said = |verdict: &Verdict| verdict.log_odds >= 0.0;
        let count = |wanted: &dyn Fn(&Verdict, f64) -> bool| {
            pages.iter().filter(|(v, seen)| wanted(v, *seen)).count() as u64
        };
        let right = count(&|verdict, seen| said(verdict) && seen >= 0.5);
        Self {
            precision: Share::new(right, count(&|verdict, _| said(verdict))),
            recall: Share::new(right, count(&|_, seen| seen >= 0.5)),
            pages: pages.len(),
            share_trained,
            share_seen: seen / (pages.len() as f64).max(1.0),
            share_estimated: shift.share,
            raw: table(&Verdict::relevance),
            calibrated: table(&|verdict| relevance_of(verdict.calibrated_log_odds)),
            shifted: table(&|verdict| shift.relevance(verdict.calibrated_log_odds)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shift_mends_what_balanced_examples_spoil() {
        // The focus is every tenth page; the critic, used to every second, gives both kinds 3 to 1
        // for what they look like.
        let verdict = |says: f32| Verdict {
            log_odds: says * 100.0,
            calibrated_log_odds: says,
            best: Vec::new(),
            near_focus: false,
            version: 1,
        };
        let ln3 = 3.0_f32.ln();
        let mut pages = Vec::new();
        for number in 0..400 {
            let seen = number % 10 == 0;
            let looks_right = number / 10 % 4 != 0;
            let says = if seen == looks_right { ln3 } else { -ln3 };
            pages.push((verdict(says), f64::from(u8::from(seen))));
        }
        let found = FocusCalibration::of(0.5, &pages);
        assert!((found.share_seen - 0.1).abs() < 1e-12);
        assert!((found.share_estimated - 0.1).abs() < 1e-3, "{found:?}");
        assert!(found.raw.ece() > 0.2 && found.calibrated.ece() > 0.25);
        assert!(found.shifted.ece() < 1e-3, "{}", found.shifted.ece());
    }
}
