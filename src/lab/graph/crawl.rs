//! One crawl of a graph.

use rand::RngExt;

use super::bandit::{Bandit, Policy};
use super::estimator::Estimator;
use super::known::Known;
use super::model::{Graph, NodeId};
use super::queue::Ranked;
use super::roster::GraphCrawler;
use crate::clock::{Chance, chance};

/// Tries to draw a good node blindly before all are looked through.
const DRAWS_MAX: u32 = 32;

/// How the next node is taken from an estimator's order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steering {
    /// The best.
    Greedy,
    /// The best with probability `q`, else any of those that have at least `zeta` times the best
    /// estimate, each as likely.
    Altered {
        /// Share of greedy steps, 0 to 1.
        q: f64,
        /// How good is good enough, 0 to 1.
        zeta: f64,
    },
}

/// What all crawls of a comparison have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Nodes fetched at most, seeds left out.
    pub budget: u64,
    /// Seed of all chance.
    pub seed: u64,
}

/// What a crawl fetched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The nodes, in their order; the seeds are not among them, they are known beforehand.
    pub nodes: Vec<NodeId>,
    /// The sum of beta after each.
    pub sums: Vec<f64>,
}

impl Trace {
    /// The sum of beta after `n` nodes; of all, if there were fewer.
    pub fn score(&self, n: u64) -> f64 {
        let n = usize::try_from(n)
            .unwrap_or(usize::MAX)
            .min(self.sums.len());
        n.checked_sub(1).map_or(0.0, |at| self.sums[at])
    }
}

/// Crawls `graph` from `seeds`. Ends early when nothing is left to fetch.
pub fn crawl(graph: &Graph, seeds: &[NodeId], crawler: &GraphCrawler, settings: Settings) -> Trace {
    let run = Run {
        known: Known::new(graph),
        arms: crawler.arms(graph),
        bandit: crawler.bandit(settings),
        steering: crawler.steering(),
        chance: chance(settings.seed, "graph steering"),
    };
    run.fetch_all(seeds, crawler.batch(), settings.budget)
}

/// Crawls `graph` from `seeds`, greedily by an estimator of your own.
pub fn crawl_with<'g>(
    graph: &'g Graph,
    seeds: &[NodeId],
    estimator: Box<dyn Estimator + 'g>,
    settings: Settings,
) -> Trace {
    let run = Run {
        known: Known::new(graph),
        arms: vec![Ranked::new(estimator, graph.nodes() as usize)],
        bandit: Bandit::new(Policy::EpsilonGreedy { epsilon: 0.0 }, 1, settings.seed),
        steering: Steering::Greedy,
        chance: chance(settings.seed, "graph steering"),
    };
    run.fetch_all(seeds, 1, settings.budget)
}

struct Run<'g> {
    known: Known<'g>,
    arms: Vec<Ranked<'g>>,
    bandit: Bandit,
    steering: Steering,
    chance: Chance,
}

impl Run<'_> {
    fn fetch_all(mut self, seeds: &[NodeId], batch_size: u64, budget: u64) -> Trace {
        for seed in seeds {
            self.take_in(*seed);
        }
        self.settle();
        let mut trace = Trace::default();
        let mut sum = 0.0;
        let mut batch = Vec::new();
        while (trace.nodes.len() as u64) < budget {
            let left = budget - trace.nodes.len() as u64;
            self.lease(batch_size.min(left), &mut batch);
            if batch.is_empty() {
                break;
            }
            for (arm, node) in batch.drain(..) {
                self.take_in(node);
                let beta = self.known.beta(node);
                self.bandit.reward(arm, beta);
                sum += beta;
                trace.nodes.push(node);
                trace.sums.push(sum);
            }
            self.settle();
        }
        trace
    }

    fn take_in(&mut self, node: NodeId) {
        if self.known.reveal(node) {
            for arm in &mut self.arms {
                arm.crawled(&self.known, node);
            }
        }
    }

    fn settle(&mut self) {
        for arm in &mut self.arms {
            arm.settle(&self.known);
        }
    }

    /// Takes up to `count` nodes, each with the arm that chose it; none of them is known until all are
    /// taken.
    fn lease(&mut self, count: u64, batch: &mut Vec<(usize, NodeId)>) {
        for _ in 0..count {
            let arm = self.bandit.choose();
            let Some(node) = self.next(arm) else {
                return;
            };
            self.known.lease(node);
            batch.push((arm, node));
        }
    }

    fn next(&mut self, arm: usize) -> Option<NodeId> {
        let (best, estimate) = self.arms[arm].best(&self.known)?;
        let Steering::Altered { q, zeta } = self.steering else {
            return Some(best);
        };
        if self.chance.random::<f64>() < q {
            return Some(best);
        }
        let least = zeta * estimate;
        let good = |node: NodeId| self.arms[arm].estimate(&self.known, node) >= least;
        let waiting = self.known.waiting();
        for _ in 0..DRAWS_MAX {
            let node = waiting[self.chance.random_range(0..waiting.len())];
            if good(node) {
                return Some(node);
            }
        }
        let good: Vec<NodeId> = waiting.iter().copied().filter(|n| good(*n)).collect();
        if good.is_empty() {
            return Some(best);
        }
        Some(good[self.chance.random_range(0..good.len())])
    }
}
