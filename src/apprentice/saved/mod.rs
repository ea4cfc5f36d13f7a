//! A saved apprentice: what was learned in one crawl, for another one to begin with.
//!
//! It holds the sums that weights are made of, not figures: an apprentice that begins with it predicts as
//! the saved one did when all that it had learned was in force, and learns on from there. What is kept of
//! the crawl around it (success of hosts, known pages) stays with that crawl.

mod file;
mod record;

pub use file::SavedError;

use super::calibrator::Calibrator;
use super::ftrl::FtrlWeights;
use super::nb::BayesCounts;
use crate::clock::Timestamp;
use crate::features::FeatureSpec;

/// How much of a saved apprentice is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carry {
    /// all that it has learned
    #[default]
    All,
    /// what does not belong to a topic
    TopicFree,
}

impl Carry {
    /// Both.
    pub const ALL: [Self; 2] = [Self::All, Self::TopicFree];

    /// Its name, as a spec has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::TopicFree => "topic-free",
        }
    }

    /// The one of this name; the empty name is that of all.
    pub fn from_name(name: &str) -> Option<Self> {
        if name.is_empty() {
            return Some(Self::All);
        }
        Self::ALL.into_iter().find(|carry| carry.name() == name)
    }
}

/// Where a saved apprentice comes from.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Provenance {
    /// The crawl that it learned in.
    pub crawl: String,
    /// The topics of its focus, sorted.
    pub topics: Vec<String>,
    /// Topics that were taken out of it again, sorted.
    pub without: Vec<String>,
    /// The version of the critic that judged last; 0 for a judge without versions.
    pub critic_version: u64,
    /// The order of its frontier.
    pub order: String,
    /// Pairs (u, v) learned.
    pub instances: u64,
    /// Judged pages.
    pub pages: u64,
    /// The number of its last epoch.
    pub epoch: u64,
    /// When it was saved.
    pub at: Timestamp,
}

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedApprentice {
    /// Where it comes from.
    pub provenance: Provenance,
    /// What it looked at.
    pub features: FeatureSpec,
    /// What was taken of it.
    pub carried: Carry,
    /// What its learners have learned.
    pub panel: SavedPanel,
}

/// What the learners of an apprentice have learned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavedPanel {
    pub(super) followed: String,
    pub(super) learners: Vec<SavedLearner>,
}

/// What one learner has learned.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SavedLearner {
    pub(super) name: String,
    /// It saw <t, d> alone.
    pub(super) text_only: bool,
    pub(super) calibrator: Calibrator,
    pub(super) weights: Weights,
}

/// What a learner makes its predictions of.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Weights {
    /// It has learned nothing, or never does.
    #[default]
    None,
    /// Those of [`Ftrl`](super::Ftrl).
    Ftrl(FtrlWeights),
    /// Those of [`TwoClassBayes`](super::TwoClassBayes).
    Bayes(BayesCounts),
}

impl Weights {
    /// In words what is wrong with their sizes.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::Ftrl(weights) => record::check_bits(weights.params.bits),
            Self::None | Self::Bayes(_) => Ok(()),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Ftrl(weights) => weights.count(),
            Self::Bayes(counts) => counts.count(),
        }
    }
}

impl SavedPanel {
    /// The learner that was followed.
    pub fn followed(&self) -> &str {
        &self.followed
    }

    /// Each learner: its name, whether it saw <t, d> alone, and its weights.
    pub fn learners(&self) -> impl Iterator<Item = (&str, bool, &Weights)> {
        let learners = self.learners.iter();
        learners.map(|learner| (learner.name.as_str(), learner.text_only, &learner.weights))
    }

    /// What was learned by the learner of this name and view.
    pub(super) fn of(&self, name: &str, text_only: bool) -> Option<&SavedLearner> {
        let mut learners = self.learners.iter();
        learners.find(|learner| learner.name == name && learner.text_only == text_only)
    }

    /// Without what belongs to a topic: sparse weights of topic-free features and the dense ones but the
    /// bias remain. Naive Bayes begins from nothing, for its prediction hangs on how many of the pages were
    /// relevant; so do the fits that make probabilities of scores, and the choice of the one to follow.
    fn topic_free(&mut self) {
        self.followed.clear();
        for learner in &mut self.learners {
            learner.calibrator = Calibrator::default();
            match &mut learner.weights {
                Weights::Ftrl(weights) => weights.keep_topic_free(),
                weights => *weights = Weights::None,
            }
        }
    }
}

impl SavedApprentice {
    /// What is taken of it.
    #[must_use]
    pub fn carrying(mut self, carry: Carry) -> Self {
        if carry == Carry::TopicFree {
            self.panel.topic_free();
            self.carried = carry;
        }
        self
    }
}

#[cfg(test)]
mod tests;
