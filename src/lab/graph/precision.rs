//! How good an estimator is where the oracle goes: every estimator sees the same crawl.

use rand::RngExt;

use super::crawl::Settings;
use super::known::Known;
use super::model::{Graph, NodeId};
use super::roster::GraphCrawler;
use crate::clock::chance;

/// Steps that are averaged into one value.
pub(super) const WINDOW: usize = 1000;

/// What came of one estimator.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Precision {
    /// The estimator.
    pub crawler: String,
    /// How much less its best node scores than the oracle's best, on average over each 1,000 steps;
    /// the last may be shorter.
    pub gap: Vec<f64>,
    /// The same over all steps.
    pub gap_mean: f64,
    /// Over one waiting node a step, drawn at random.
    pub waiting: Agreement,
    /// Over the nodes that the oracle takes, each at the moment when it is taken.
    pub fetched: Agreement,
}

/// How well an estimate agrees with the score.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Agreement {
    /// Pearson's correlation; 0 if either never changes.
    pub pearson: f64,
    /// The same of exp(estimate) - 1: the sum before it was smoothed, where the estimator smooths.
    pub pearson_unsmoothed: f64,
    /// R^2 of the estimate as a prediction: 1 - squared error / variance of the score; below 0 if the mean
    /// would predict better, as it does for sums that were never meant to predict. 0 if the score never
    /// changes.
    pub r2: f64,
}

/// Crawls as the oracle does and asks each of `crawlers` at every step. Bandits have no estimate of their
/// own and are left out; their arms can be asked ([`super::arm_names`]).
pub fn precision(
    graph: &Graph,
    seeds: &[NodeId],
    crawlers: &[GraphCrawler],
    settings: Settings,
) -> Vec<Precision> {
    let own = crawlers.iter().filter(|crawler| !crawler.is_bandit());
    let crawlers: Vec<&GraphCrawler> = own.collect();
    let mut known = Known::new(graph);
    let oracle = GraphCrawler::oracle();
    let mut arms: Vec<_> = std::iter::once(&oracle)
        .chain(crawlers.iter().copied())
        .filter_map(|crawler| crawler.arms(graph).into_iter().next())
        .collect();
    let mut tallies = vec![Tally::default(); crawlers.len()];
    let mut luck = chance(settings.seed, "graph precision");
    let mut ahead: Vec<NodeId> = seeds.iter().rev().copied().collect();
    let mut steps = 0;
    loop {
        while let Some(node) = ahead.pop() {
            if known.reveal(node) {
                for arm in &mut arms {
                    arm.crawled(&known, node);
                }
            }
        }
        for arm in &mut arms {
            arm.settle(&known);
        }
        if steps == settings.budget || known.waiting().is_empty() {
            break;
        }
        steps += 1;
        let drawn = known.waiting()[luck.random_range(0..known.waiting().len())];
        let mut best = None;
        for (at, arm) in arms.iter_mut().enumerate() {
            let Some((node, _)) = arm.best(&known) else {
                continue;
            };
            let score = f64::from(graph.beta(node));
            let (taken, of_oracle) = *best.get_or_insert((node, score));
            if let Some(tally) = at.checked_sub(1).and_then(|at| tallies.get_mut(at)) {
                tally.gaps.push(of_oracle - score);
                let of_drawn = arm.estimate(&known, drawn);
                (tally.waiting).push(of_drawn, f64::from(graph.beta(drawn)));
                tally.fetched.push(arm.estimate(&known, taken), of_oracle);
            }
        }
        if let Some((node, _)) = best {
            known.lease(node);
            ahead.push(node);
        }
    }
    let names = crawlers.iter().map(|crawler| crawler.label());
    names.zip(tallies).map(|(name, t)| t.report(name)).collect()
}

#[derive(Clone, Debug, Default)]
struct Tally {
    gaps: Vec<f64>,
    waiting: Pairs,
    fetched: Pairs,
}

impl Tally {
    fn report(&self, crawler: &str) -> Precision {
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
        Precision {
            crawler: crawler.to_owned(),
            gap: self.gaps.chunks(WINDOW).map(mean).collect(),
            gap_mean: mean(&self.gaps),
            waiting: self.waiting.agreement(),
            fetched: self.fetched.agreement(),
        }
    }
}

/// Estimates with the scores of the same nodes.
#[derive(Clone, Copy, Debug, Default)]
struct Pairs {
    smoothed: Pearson,
    raw: Pearson,
    squared_error: f64,
}

impl Pairs {
    fn push(&mut self, estimate: f64, score: f64) {
        self.smoothed.push(estimate, score);
        self.raw.push(estimate.min(50.0).exp_m1(), score);
        self.squared_error += (score - estimate) * (score - estimate);
    }

    fn agreement(&self) -> Agreement {
        let variance = self.smoothed.squares[1];
        Agreement {
            pearson: self.smoothed.value(),
            pearson_unsmoothed: self.raw.value(),
            r2: if variance > 0.0 {
                1.0 - self.squared_error / variance
            } else {
                0.0
            },
        }
    }
}

/// Pearson's correlation, kept up by Welford's way of means.
#[derive(Clone, Copy, Debug, Default)]
struct Pearson {
    count: f64,
    mean: [f64; 2],
    /// Sums of squares and of the product, around the means.
    squares: [f64; 2],
    product: f64,
}

impl Pearson {
    fn push(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        let (dx, dy) = (x - self.mean[0], y - self.mean[1]);
        self.mean[0] += dx / self.count;
        self.mean[1] += dy / self.count;
        self.squares[0] += dx * (x - self.mean[0]);
        self.squares[1] += dy * (y - self.mean[1]);
        self.product += dx * (y - self.mean[1]);
    }

    fn value(&self) -> f64 {
        let scale = (self.squares[0] * self.squares[1]).sqrt();
        if scale > 0.0 {
            self.product / scale
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pearson_is_that_of_the_text_book() {
        let mut pearson = Pearson::default();
        for (x, y) in [(1.0, 2.0), (2.0, 4.0), (3.0, 5.0), (4.0, 4.0), (5.0, 5.0)] {
            pearson.push(x, y);
        }
        // Sums around the means 3 and 4: 10, 6 and 6; 6 / sqrt(60).
        assert!((pearson.value() - 6.0 / 60.0_f64.sqrt()).abs() < 1e-12);
        assert!(Pearson::default().value().abs() < 1e-12);
    }

    #[test]
    fn r2_is_that_of_the_text_book() {
        let mut pairs = Pairs::default();
        for (estimate, score) in [(1.0, 2.0), (4.0, 4.0), (5.0, 6.0)] {
            pairs.push(estimate, score);
        }
        // Errors 1, 0, 1; the scores lie 2, 0, 2 from their mean: 1 - 2 / 8.
        assert!((pairs.agreement().r2 - 0.75).abs() < 1e-12);
        assert!(Pairs::default().agreement().r2.abs() < 1e-12);
    }
}
