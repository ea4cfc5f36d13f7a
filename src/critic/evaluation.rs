//! How good is a critic? Counts of what was taken for what, and the figures that follow.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::critic::bayes::best;
use crate::critic::calibration::{Calibration, Scored};
use crate::critic::posterior::log_sum_exp;
use crate::critic::reliability::Reliability;

/// What a critic made of pages whose topics are known.
///
/// Kept as counts: every figure is derived from them and comes with its number of pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// The topics, in the order of the critic's classes.
    pub topics: Vec<String>,
    /// (class of the page, class that the critic thought best) and how many pages.
    pub cells: BTreeMap<(u16, u16), u64>,
    /// The sum over all pages of -ln Pr(its class | page), in nats.
    pub log_loss_sum: f64,
    /// The same of the calibrated posteriors.
    pub calibrated_log_loss_sum: f64,
    /// How often the best class was right, against its posterior.
    pub raw: Reliability,
    /// The same of the calibrated posteriors.
    pub calibrated: Reliability,
}

/// Gathers pages into an [`Evaluation`].
#[derive(Clone, Debug, Default)]
pub(super) struct Evaluator {
    evaluation: Evaluation,
    raw: Vec<(f64, f64)>,
    calibrated: Vec<(f64, f64)>,
}

/// A share of pages, with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// How many.
    pub count: u64,
    /// Of how many.
    pub of: u64,
    /// `count` / `of`; 0 of 0 is 0.
    pub value: f64,
    /// The lower end of the 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Share {
    /// With Wilson's score interval, which holds for few pages and for shares near 0 and 1
    /// (Wilson, JASA 22, 1927; z = 1.96).
    pub fn new(count: u64, of: u64) -> Self {
        if of == 0 {
            return Self {
                count,
                of,
                value: 0.0,
                low: 0.0,
                high: 1.0,
            };
        }
        let z2 = 1.959_964_f64.powi(2);
        let (n, p) = (of as f64, count as f64 / of as f64);
        let middle = p + z2 / (2.0 * n);
        let half = (z2 * (p * (1.0 - p) / n + z2 / (4.0 * n * n))).sqrt();
        Self {
            count,
            of,
            value: p,
            low: ((middle - half) / (1.0 + z2 / n)).max(0.0),
            high: ((middle + half) / (1.0 + z2 / n)).min(1.0),
        }
    }
}

/// The figures of one class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassFigures {
    /// Which.
    pub topic: String,
    /// Of the pages that the critic took for it, how many are of it.
    pub precision: Share,
    /// Of the pages that are of it, how many the critic took for it.
    pub recall: Share,
    /// The harmonic mean of both; 0 if both are.
    pub f1: f64,
}

/// Two classes that the critic takes one for the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Confusion {
    /// What the pages are.
    pub topic: String,
    /// What the critic took them for.
    pub taken_for: String,
    /// How many.
    pub pages: u64,
}

/// All figures in one, as they are printed and exported.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Pages judged right.
    pub accuracy: Share,
    /// The mean of F1 over the classes that have pages.
    pub macro_f1: f64,
    /// The mean of -ln Pr(its class | page), in nats.
    pub log_loss: f64,
    /// The same of the calibrated posteriors.
    pub log_loss_calibrated: f64,
    /// How far the posterior of the best class is from how often it is right (15 bins of equal
    /// width).
    pub ece: f64,
    /// The same of the calibrated posteriors.
    pub ece_calibrated: f64,
    /// [`Figures::ece`] over 15 bins of equally many pages.
    pub ece_equal_mass: f64,
    /// The same of the calibrated posteriors.
    pub ece_calibrated_equal_mass: f64,
    /// By class, in the critic's order.
    pub classes: Vec<ClassFigures>,
    /// The most frequent confusions, most frequent first.
    pub confusions: Vec<Confusion>,
}

impl Evaluator {
    pub(super) fn new(topics: Vec<String>) -> Self {
        Self {
            evaluation: Evaluation {
                topics,
                ..Evaluation::default()
            },
            ..Self::default()
        }
    }

    /// Counts one page from the scores of all classes. The best class goes by the scores alone; a
    /// calibration has its own best class, whose posterior is what it says.
    pub(super) fn count(&mut self, page: &Scored, calibration: Option<&Calibration>) {
        let truth = usize::from(page.class);
        let mut scores: Vec<f64> = page.below_best.iter().map(|s| f64::from(*s)).collect();
        let taken_for = best(scores.iter().copied());
        let cell = (page.class, u16::try_from(taken_for).unwrap_or(u16::MAX));
        *self.evaluation.cells.entry(cell).or_default() += 1;
        let raw = Said::of(&scores, truth);
        self.evaluation.log_loss_sum += raw.loss;
        self.raw.push(raw.pair);
        if let Some(calibration) = calibration {
            calibration.apply(page.length, &mut scores);
        }
        let calibrated = Said::of(&scores, truth);
        self.evaluation.calibrated_log_loss_sum += calibrated.loss;
        self.calibrated.push(calibrated.pair);
    }

    /// The figures.
    pub(super) fn finish(self) -> Evaluation {
        Evaluation {
            raw: Reliability::of(self.raw),
            calibrated: Reliability::of(self.calibrated),
            ..self.evaluation
        }
    }
}

/// What the posteriors say of a page.
struct Said {
    /// -ln Pr(its class | page).
    loss: f64,
    /// The posterior of the best class, and whether it is the page's.
    pair: (f64, f64),
}

impl Said {
    fn of(scores: &[f64], truth: usize) -> Self {
        let all = log_sum_exp(scores.iter().copied());
        let said = best(scores.iter().copied());
        Self {
            loss: all - scores[truth],
            pair: (
                (scores[said] - all).exp().min(1.0),
                f64::from(u8::from(said == truth)),
            ),
        }
    }
}

impl Evaluation {
    /// The number of pages.
    pub fn pages(&self) -> u64 {
        self.cells.values().sum()
    }

    /// The share of pages whose best class is theirs.
    pub fn accuracy(&self) -> Share {
        let right = self.cells.iter().filter(|((truth, said), _)| truth == said);
        Share::new(right.map(|(_, pages)| pages).sum(), self.pages())
    }

    /// The mean of -ln Pr(its class | page), in nats; 0 without pages.
    pub fn log_loss(&self) -> f64 {
        self.log_loss_sum / (self.pages() as f64).max(1.0)
    }

    /// The same of the calibrated posteriors.
    pub fn calibrated_log_loss(&self) -> f64 {
        self.calibrated_log_loss_sum / (self.pages() as f64).max(1.0)
    }

    /// The figures of each class, in the critic's order.
    pub fn classes(&self) -> Vec<ClassFigures> {
        let mut truths = vec![0; self.topics.len()];
        let mut said = vec![0; self.topics.len()];
        for ((truth, taken_for), pages) in &self.cells {
            truths[usize::from(*truth)] += pages;
            said[usize::from(*taken_for)] += pages;
        }
        (0..=u16::MAX)
            .zip(&self.topics)
            .map(|(class, topic)| {
                let right = self.cells.get(&(class, class)).copied().unwrap_or(0);
                let of = truths[usize::from(class)] + said[usize::from(class)];
                ClassFigures {
                    topic: topic.clone(),
                    precision: Share::new(right, said[usize::from(class)]),
                    recall: Share::new(right, truths[usize::from(class)]),
                    f1: if of == 0 {
                        0.0
                    } else {
                        2.0 * right as f64 / of as f64
                    },
                }
            })
            .collect()
    }

    /// The mean of F1 over the classes that have pages; 0 without pages.
    pub fn macro_f1(&self) -> f64 {
        let classes = self.classes();
        let f1: Vec<f64> = classes
            .iter()
            .filter(|class| class.recall.of > 0)
            .map(|class| class.f1)
            .collect();
        f1.iter().sum::<f64>() / (f1.len() as f64).max(1.0)
    }

    /// The `most` most frequent confusions, most frequent first.
    pub fn confusions(&self, most: usize) -> Vec<Confusion> {
        let mut wrong: Vec<_> = self
            .cells
            .iter()
            .filter(|((truth, said), _)| truth != said)
            .collect();
        wrong.sort_by_key(|(cell, pages)| (std::cmp::Reverse(**pages), **cell));
        wrong
            .into_iter()
            .take(most)
            .map(|((truth, said), pages)| Confusion {
                topic: self.topics[usize::from(*truth)].clone(),
                taken_for: self.topics[usize::from(*said)].clone(),
                pages: *pages,
            })
            .collect()
    }

    /// All figures, with the `most` most frequent confusions.
    pub fn figures(&self, most: usize) -> Figures {
        Figures {
            accuracy: self.accuracy(),
            macro_f1: self.macro_f1(),
            log_loss: self.log_loss(),
            log_loss_calibrated: self.calibrated_log_loss(),
            ece: self.raw.ece(),
            ece_calibrated: self.calibrated.ece(),
            ece_equal_mass: self.raw.ece_equal_mass(),
            ece_calibrated_equal_mass: self.calibrated.ece_equal_mass(),
            classes: self.classes(),
            confusions: self.confusions(most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(topics: &[&str], pages: &[(u16, &[f64])]) -> Evaluation {
        let mut evaluator = Evaluator::new(topics.iter().map(|t| (*t).to_owned()).collect());
        for (truth, scores) in pages {
            evaluator.count(&Scored::new(*truth, 10, scores), None);
        }
        evaluator.finish()
    }

    fn evaluation() -> Evaluation {
        evaluate(
            &["a", "b", "c"],
            &[
                (0, &[3.0, 1.0, 0.0]),
                (0, &[1.0, 2.0, 0.0]),
                (0, &[1.0, 2.0, 0.0]),
                (1, &[0.0, 2.0, 0.0]),
            ],
        )
    }

    #[test]
    fn figures_follow_from_the_counts() {
        let figures = evaluation().figures(10);
        assert_eq!((figures.accuracy.count, figures.accuracy.of), (2, 4));
        // a: precision 1/1, recall 1/3; b: precision 1/3, recall 1/1; c has no pages.
        let f1: Vec<f64> = figures.classes.iter().map(|class| class.f1).collect();
        assert_eq!(f1, [0.5, 0.5, 0.0]);
        assert!((figures.macro_f1 - 0.5).abs() < 1e-12);
        assert_eq!(
            figures.confusions,
            [Confusion {
                topic: "a".into(),
                taken_for: "b".into(),
                pages: 2
            }]
        );
    }

    #[test]
    fn log_loss_is_that_of_the_softmax() {
        // Scores far below the range of exp still differ by 1: Pr = 1 / (1 + e).
        let evaluation = evaluate(&["a", "b"], &[(0, &[-5001.0, -5000.0])]);
        let loss = (1.0 + 1.0_f64.exp()).ln();
        assert!((evaluation.log_loss() - loss).abs() < 1e-12);
        // Without a calibration the calibrated figures are the raw ones.
        assert!((evaluation.calibrated_log_loss() - loss).abs() < 1e-12);
        // Said: e / (1 + e) for the other class; seen: 0.
        assert!((evaluation.raw.ece() - 1.0 / (1.0 + (-1.0_f64).exp())).abs() < 1e-12);
    }

    #[test]
    fn the_interval_is_wilsons() {
        // Worked by hand for 8 of 10: 0.4902 to 0.9433.
        let share = Share::new(8, 10);
        assert!((share.low - 0.4902).abs() < 1e-4, "{share:?}");
        assert!((share.high - 0.9433).abs() < 1e-4, "{share:?}");
        assert_eq!(Share::new(0, 0).value.to_bits(), 0.0_f64.to_bits());
    }
}
