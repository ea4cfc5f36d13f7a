//! A small share of fetches goes to the baseline's best link instead of the learner's, while that pays.
//!
//! What a learner's own choices bring says nothing of what the baseline would have brought: even of
//! links with equal pages behind them it has taken the better ones. So now and then the baseline's best
//! link is taken, by a coin whose probability is kept (the propensity). That costs pages where the
//! learner is better, and it is paid from what the learner has saved.

use rand::RngExt;

use crate::booking::Pick;
use crate::clock::Chance;

/// Share of the leases at which learner and baseline differ that go to the baseline while it pays.
const SHARE: f32 = 0.02;
/// Pages that may be spent before anything is known.
const ALLOWANCE: f64 = 2.0;
/// How much of the learner's recent loss is remembered from one fetch to the next.
const MEMORY: f64 = 0.95;
/// The same for the explored ones, which are rare.
const MEMORY_OF_EXPLORED: f64 = 0.9;
/// The baseline is taken to lose what the learner loses, with the weight of this many fetches.
const PRIOR: f64 = 1.0;
/// What was explored is believed less with every fetch: the frontier changes.
const MEMORY_OF_OTHERS: f64 = 0.995;

/// A pick with the probability that it had.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Whose.
    pub pick: Pick,
    /// Its probability, given what was known.
    pub propensity: f32,
}

impl Default for Choice {
    fn default() -> Self {
        Self {
            pick: Pick::Both,
            propensity: 1.0,
        }
    }
}

/// What was saved and what it has cost to know it, in pages of expected loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ExplorationFigures {
    /// Fetches at which learner and baseline differed.
    pub differed: u64,
    /// Fetches of the baseline's choice among them.
    pub explored: u64,
    /// What the explored fetches lead one to expect that the baseline would have lost at the learner's own,
    /// less what those lost.
    pub saved: f64,
    /// What the explored fetches lost beyond the learner's recent loss.
    pub cost: f64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Exploration {
    random: Chance,
    came: Came,
}

/// What came of the choices so far.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Came {
    figures: ExplorationFigures,
    own_loss: f64,
    /// Sum of the losses of explored fetches and their number, the late ones counting more.
    explored: (f64, f64),
}

impl Exploration {
    pub(super) fn new(random: Chance) -> Self {
        Self {
            random,
            came: Came {
                figures: ExplorationFigures::default(),
                own_loss: 0.5,
                explored: (0.0, 0.0),
            },
        }
    }

    pub(super) fn came(&self) -> Came {
        self.came
    }

    /// Goes on from there.
    pub(super) fn set_came(&mut self, came: Came) {
        self.came = came;
    }

    pub(super) fn figures(&self) -> ExplorationFigures {
        self.came.figures
    }

    /// The learner's best link and the baseline's differ: which one is taken? Before the first epoch
    /// (`may_explore` false) the learner's.
    pub(super) fn choose(&mut self, may_explore: bool) -> Choice {
        let figures = &self.came.figures;
        let pays = figures.cost < figures.saved.max(ALLOWANCE);
        let share = if may_explore && pays { SHARE } else { 0.0 };
        let explores = share > 0.0 && self.random.random_bool(f64::from(share));
        Choice {
            pick: if explores { Pick::Baseline } else { Pick::Own },
            propensity: if explores { share } else { 1.0 - share },
        }
    }

    /// What came of a choice: 1 - R(v).
    pub(super) fn learn(&mut self, choice: Choice, loss: f32) {
        let loss = f64::from(loss);
        let came = &mut self.came;
        match choice.pick {
            Pick::Both => {}
            Pick::Own => {
                came.figures.differed += 1;
                came.figures.saved += came.baseline_loss() - loss;
                came.explored.0 *= MEMORY_OF_OTHERS;
                came.explored.1 *= MEMORY_OF_OTHERS;
            }
            Pick::Baseline => {
                came.figures.differed += 1;
                came.figures.explored += 1;
                came.figures.cost += loss - came.own_loss;
                let (sum, weight) = came.explored;
                came.explored = (
                    MEMORY_OF_EXPLORED * sum + loss,
                    MEMORY_OF_EXPLORED * weight + 1.0,
                );
                return;
            }
        }
        came.own_loss = MEMORY * came.own_loss + (1.0 - MEMORY) * loss;
    }
}

impl Came {
    fn baseline_loss(&self) -> f64 {
        let (sum, weight) = self.explored;
        (sum + PRIOR * self.own_loss) / (weight + PRIOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::chance;

    fn run(own_loss: f32, baseline_loss: f32, fetches: u32) -> ExplorationFigures {
        let mut exploration = Exploration::new(chance(1, "exploration"));
        for fetch in 0..fetches {
            let choice = exploration.choose(fetch >= 25);
            let (came, expected) = match choice.pick {
                Pick::Baseline => (baseline_loss, SHARE),
                _ => (own_loss, 1.0 - SHARE),
            };
            let is_certain = (choice.propensity - 1.0).abs() < 1e-6;
            assert!(is_certain || (choice.propensity - expected).abs() < 1e-6);
            exploration.learn(choice, came);
        }
        exploration.figures()
    }

    #[test]
    fn it_explores_a_small_share_while_that_is_paid_for() {
        let figures = run(0.1, 0.6, 5000);
        assert!((50..160).contains(&figures.explored), "{figures:?}");
        assert!(figures.cost < figures.saved, "{figures:?}");
        // About 4,900 fetches saved half a page each, by an estimate that is drawn a quarter towards none.
        assert!((1500.0..2300.0).contains(&figures.saved), "{figures:?}");
    }

    #[test]
    fn what_saves_nothing_is_soon_no_more_looked_into() {
        let figures = run(0.1, 0.9, 100);
        assert!(figures.cost < 3.0, "{figures:?}");
        assert_eq!(run(0.0, 1.0, 25).explored, 0, "before the first epoch");
    }

    #[test]
    fn a_baseline_that_does_better_costs_nothing_and_shows() {
        let figures = run(0.9, 0.2, 5000);
        assert!(figures.cost < 0.0 && figures.saved < -1000.0, "{figures:?}");
    }
}
