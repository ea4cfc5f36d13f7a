//! From the class shares of the examples to those of a crawl.
//!
//! Example tables hold about as many pages of each topic; a crawl does not. Posteriors are right for
//! the shares that they were fitted at, and a known change of the shares is a change of the odds. The
//! shares of a crawl are estimated from its own pages, without labels, by EM (Saerens, Latinne,
//! Decaestecker, Neural Computation 14, 2002, section 2.2), here for two classes: the focus and the
//! rest.

use crate::critic::judge::relevance_of;
use crate::critic::weights::narrow;

/// Rounds of EM at most; it ends when the share moves by less than [`MOVE_MIN`].
const ROUNDS_MAX: usize = 1_000;
const MOVE_MIN: f64 = 1e-7;
/// Below this many pages the shares of the examples are kept.
const PAGES_MIN: usize = 50;
/// Shares are kept this far from 0 and 1, where no page could bring them back.
const SHARE_MIN: f64 = 1e-6;

/// How much more or less frequent the focus is in a crawl than in the examples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriorShift {
    /// Share of the focus in the examples.
    pub trained: f64,
    /// Share of the focus in the crawl, estimated.
    pub share: f64,
}

impl PriorShift {
    /// Estimates the share of the focus from the calibrated log odds of a crawl's pages.
    pub fn estimate(trained: f64, log_odds: &[f32]) -> Self {
        let trained = trained.clamp(SHARE_MIN, 1.0 - SHARE_MIN);
        let mut shift = Self {
            trained,
            share: trained,
        };
        if log_odds.len() < PAGES_MIN {
            return shift;
        }
        for _ in 0..ROUNDS_MAX {
            let sum: f64 = log_odds.iter().map(|odds| shift.relevance(*odds)).sum();
            let mean = (sum / log_odds.len() as f64).clamp(SHARE_MIN, 1.0 - SHARE_MIN);
            let moved = (mean - shift.share).abs();
            shift.share = mean;
            if moved < MOVE_MIN {
                break;
            }
        }
        shift
    }

    /// Calibrated log odds at the shares of the crawl.
    pub fn log_odds(&self, calibrated: f32) -> f32 {
        let odds = |share: f64| (share / (1.0 - share)).ln();
        narrow(f64::from(calibrated) + odds(self.share) - odds(self.trained))
    }

    /// The calibrated relevance at the shares of the crawl, in [0, 1].
    pub fn relevance(&self, calibrated: f32) -> f64 {
        relevance_of(self.log_odds(calibrated))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Log odds of a detector that fires on 9 of 10 pages of the focus and on 1 of 10 others, as a
    /// model says it that saw both equally often: ln 9 or -ln 9.
    fn crawl(focus: usize, others: usize) -> Vec<f32> {
        let ln9 = narrow(9.0_f64.ln());
        let fired = focus * 9 / 10 + others / 10;
        let mut odds = vec![ln9; fired];
        odds.resize(focus + others, -ln9);
        odds
    }

    #[test]
    fn the_share_of_the_crawl_is_found() {
        let shift = PriorShift::estimate(0.5, &crawl(100, 900));
        assert!((shift.share - 0.1).abs() < 1e-3, "{shift:?}");
        // By Bayes: 0.9 * 0.1 / (0.9 * 0.1 + 0.1 * 0.9).
        let fired = shift.relevance(narrow(9.0_f64.ln()));
        assert!((fired - 0.5).abs() < 5e-3, "{fired}");
    }

    #[test]
    fn unchanged_shares_change_nothing() {
        let shift = PriorShift::estimate(0.5, &crawl(500, 500));
        assert!((shift.share - 0.5).abs() < 1e-6);
        assert!((shift.log_odds(1.25) - 1.25).abs() < 1e-5);
    }

    #[test]
    fn few_pages_keep_the_shares_of_the_examples() {
        let shift = PriorShift::estimate(0.2, &crawl(10, 30));
        assert!((shift.share - 0.2).abs() < 1e-12);
    }

    #[test]
    fn a_crawl_without_any_page_of_the_focus_stays_finite() {
        let shift = PriorShift::estimate(0.5, &vec![-200.0; 100]);
        assert!(shift.log_odds(-200.0).is_finite());
        assert!(shift.share > 0.0);
    }
}
