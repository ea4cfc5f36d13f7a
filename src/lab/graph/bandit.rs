//! Which estimator takes the next step: bandits whose reward is the score of the node fetched.

use rand::RngExt;

use crate::clock::{Chance, chance};

/// How arms are chosen. `epsilon` is the share of uniform choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// Uniform with probability epsilon, else the arm with the best mean reward. The paper's prose
    /// has the two the other way round; that reading is epsilon = 0.9.
    EpsilonGreedy {
        /// Share of uniform choice.
        epsilon: f64,
    },
    /// Uniform in the first epsilon of a round, then the best arm; after a round all is forgotten.
    EpsilonFirst {
        /// Share of uniform choice.
        epsilon: f64,
        /// Steps of a round; of a crawl without reset, its budget.
        round: u64,
    },
    /// As `EpsilonFirst`; a round has `base` (p + 1) steps, p being how many times in a row the same
    /// arm has won.
    VariableReset {
        /// Share of uniform choice.
        epsilon: f64,
        /// Steps of the shortest round.
        base: u64,
    },
}

/// The state of a bandit.
#[derive(Debug)]
pub struct Bandit {
    policy: Policy,
    arms: Vec<Arm>,
    chance: Chance,
    /// Steps taken in this round, and its length.
    step: u64,
    round: u64,
    /// The arm that won the last round, and how often in a row before.
    winner: Option<usize>,
    streak: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Arm {
    pulls: u64,
    reward: f64,
}

impl Bandit {
    /// A bandit of `arms` arms (at least 1).
    pub fn new(policy: Policy, arms: usize, seed: u64) -> Self {
        let round = match policy {
            Policy::EpsilonGreedy { .. } => u64::MAX,
            Policy::EpsilonFirst { round, .. } => round,
            Policy::VariableReset { base, .. } => base,
        };
        Self {
            policy,
            arms: vec![Arm::default(); arms.max(1)],
            chance: chance(seed, "graph bandit"),
            step: 0,
            round: round.max(1),
            winner: None,
            streak: 0,
        }
    }

    /// The arm of the next step.
    pub fn choose(&mut self) -> usize {
        let explore = match self.policy {
            Policy::EpsilonGreedy { epsilon } => self.chance.random::<f64>() < epsilon,
            Policy::EpsilonFirst { epsilon, .. } | Policy::VariableReset { epsilon, .. } => {
                (self.step as f64) < epsilon * self.round as f64
            }
        };
        if explore {
            self.chance.random_range(0..self.arms.len())
        } else {
            self.best()
        }
    }

    /// The step of `arm` brought `reward`.
    pub fn reward(&mut self, arm: usize, reward: f64) {
        if let Some(arm) = self.arms.get_mut(arm) {
            arm.pulls += 1;
            arm.reward += reward;
        }
        self.step += 1;
        if self.step >= self.round {
            self.reset();
        }
    }

    /// Length of the present round, in steps.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// The best mean; an arm never tried counts as 0, and the earlier arm wins a tie.
    fn best(&self) -> usize {
        let mut best = (0, f64::NEG_INFINITY);
        for (at, arm) in self.arms.iter().enumerate() {
            let mean = arm.reward / arm.pulls.max(1) as f64;
            if mean > best.1 {
                best = (at, mean);
            }
        }
        best.0
    }

    fn reset(&mut self) {
        let winner = self.best();
        self.streak = if self.winner == Some(winner) {
            self.streak + 1
        } else {
            0
        };
        self.winner = Some(winner);
        if let Policy::VariableReset { base, .. } = self.policy {
            self.round = base.saturating_mul(self.streak + 1).max(1);
        }
        self.arms.fill(Arm::default());
        self.step = 0;
    }
}
