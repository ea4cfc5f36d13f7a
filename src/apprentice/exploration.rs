//! A small share of fetches goes to the baseline's best link instead of the learner's, while that pays.
//!
//! What a learner's own choices bring says nothing of what the baseline would have brought. So now and
//! then its best link is taken, by a coin whose probability is kept with the booking (the propensity).
//! That costs pages where the learner is better, and it is paid from what the learner has saved.

use rand::RngExt;

use crate::clock::Chance;

/// Share of the leases at which learner and baseline differ that go to the baseline while it pays.
const SHARE: f64 = 0.04;
/// Pages that have to be saved beyond what exploration has cost.
const SAVED_MIN: f64 = 5.0;
/// How much of the learner's recent loss is remembered from one fetch to the next.
const MEMORY: f64 = 0.95;

/// Whose link a fetch was for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// The best link of the learner and of the baseline is the same, or nobody asked.
    #[default]
    Both,
    /// The learner's.
    Own,
    /// The baseline's: exploration.
    Baseline,
}

/// A pick with the probability that it had.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Whose.
    pub pick: Pick,
    /// Its probability, given what was known.
    pub propensity: f32,
    /// What the baseline's best link was expected to lose, where the two differ.
    pub baseline_loss: f32,
}

impl Default for Choice {
    fn default() -> Self {
        Self {
            pick: Pick::Both,
            propensity: 1.0,
            baseline_loss: 0.0,
        }
    }
}

/// What was saved and what it has cost to know it, in pages of expected loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct ExplorationFigures {
    /// Fetches at which learner and baseline differed.
    pub differed: u64,
    /// Fetches of the baseline's choice among them.
    pub explored: u64,
    /// What the baseline was expected to lose at the learner's fetches, less what they lost.
    pub saved: f64,
    /// What the explored fetches lost beyond the learner's recent loss.
    pub cost: f64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Exploration {
    random: Chance,
    figures: ExplorationFigures,
    lately: f64,
}

impl Exploration {
    pub(super) fn new(random: Chance) -> Self {
        Self {
            random,
            figures: ExplorationFigures::default(),
            lately: 0.5,
        }
    }

    pub(super) fn figures(&self) -> ExplorationFigures {
        self.figures
    }

    /// The learner's best link and the baseline's differ. `baseline_loss` is what the latter is expected
    /// to lose; before the first epoch (`may_explore` false) nothing is explored.
    pub(super) fn choose(&mut self, baseline_loss: f32, may_explore: bool) -> Choice {
        let pays = self.figures.saved - self.figures.cost.max(0.0) > SAVED_MIN;
        let share = if may_explore && pays { SHARE } else { 0.0 };
        let explores = share > 0.0 && self.random.random_bool(share);
        Choice {
            pick: if explores { Pick::Baseline } else { Pick::Own },
            propensity: (if explores { share } else { 1.0 - share }) as f32,
            baseline_loss,
        }
    }

    /// What came of a choice: 1 - R(v).
    pub(super) fn learn(&mut self, choice: Choice, loss: f32) {
        let loss = f64::from(loss);
        match choice.pick {
            Pick::Both => {}
            Pick::Own => {
                self.figures.differed += 1;
                self.figures.saved += f64::from(choice.baseline_loss) - loss;
            }
            Pick::Baseline => {
                self.figures.differed += 1;
                self.figures.explored += 1;
                self.figures.cost += loss - self.lately;
            }
        }
        if choice.pick != Pick::Baseline {
            self.lately = MEMORY * self.lately + (1.0 - MEMORY) * loss;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::chance;

    fn run(own_loss: f32, baseline_loss: f32, fetches: u32) -> ExplorationFigures {
        let mut exploration = Exploration::new(chance(1, "exploration"));
        for fetch in 0..fetches {
            let choice = exploration.choose(baseline_loss, fetch >= 25);
            let came = if choice.pick == Pick::Baseline {
                baseline_loss
            } else {
                own_loss
            };
            let expected = if choice.pick == Pick::Baseline {
                SHARE
            } else {
                1.0 - SHARE
            };
            let is_certain = (choice.propensity - 1.0).abs() < 1e-6;
            assert!(is_certain || (f64::from(choice.propensity) - expected).abs() < 1e-6);
            exploration.learn(choice, came);
        }
        exploration.figures()
    }

    #[test]
    fn it_explores_a_small_share_while_that_is_paid_for() {
        let figures = run(0.1, 0.6, 5000);
        assert!((100..300).contains(&figures.explored), "{figures:?}");
        assert!(figures.cost < figures.saved, "{figures:?}");
    }

    #[test]
    fn a_learner_that_saves_nothing_pays_for_nothing() {
        assert_eq!(run(0.6, 0.6, 5000).explored, 0);
        assert_eq!(run(0.9, 0.2, 5000).explored, 0);
        assert_eq!(run(0.0, 1.0, 25).explored, 0, "before the first epoch");
    }
}
