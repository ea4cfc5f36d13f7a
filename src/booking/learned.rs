//! What an apprentice leaves in the log: the facts frozen at a lease, and the epochs.

use super::Seq;
use crate::clock::Timestamp;

/// What the scorer knew of a link when it was leased, booked with its page. Recomputed later it would
/// leak the page's own label.
///
/// It holds for any learner, window and set of features: all dynamic facts are there, whatever the
/// apprentice looked at; what a page alone gives is made again from the stored page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frozen {
    /// The epoch in force; 0 before the first.
    pub epoch: u64,
    /// Whose link it was.
    pub pick: Pick,
    /// The probability with which the link was chosen; 1 if nothing was drawn.
    pub propensity: f32,
    /// The learners that predicted.
    pub learners: Vec<String>,
    /// One a page that the link was known to stand on, as far as it has been parsed.
    pub pairs: Vec<FrozenPair>,
}

/// Whose link a fetch was for. Stored as its number: never renumber.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// The best link of the learner and of the baseline is the same, or nobody asked.
    #[default]
    Both = 0,
    /// The learner's.
    Own = 1,
    /// The baseline's: exploration.
    Baseline = 2,
}

impl Pick {
    /// The pick with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        [Self::Both, Self::Own, Self::Baseline]
            .into_iter()
            .find(|pick| *pick as u32 == number)
    }
}

/// The facts of one pair (u, v).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrozenPair {
    /// Index into the references of the lease.
    pub reference: u32,
    /// The dynamic numbers, in the order of the apprentice's own list; a later version may have more.
    pub numbers: Vec<f32>,
    /// Judged neighbours of the link in document order: distance in leaves, and whether relevant.
    pub neighbours: Vec<(i8, bool)>,
    /// The prediction of each of [`Frozen::learners`], a logit.
    pub logits: Vec<f32>,
}

/// What started an epoch. Stored as its number: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EpochCause {
    /// enough pages were judged since the last
    Automatic = 1,
    /// somebody ordered a retraining
    Retrained = 2,
    /// somebody went back to an earlier epoch
    Returned = 3,
}

impl EpochCause {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Automatic, Self::Retrained, Self::Returned];

    /// The cause with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| *cause as u32 == number)
    }

    /// Its name, as printed and exported.
    pub fn name(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::Retrained => "retrained",
            Self::Returned => "returned",
        }
    }
}

/// What a learner is and what it has learned: its weights are the deterministic fold of these events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recipe {
    /// The order of the frontier, which names the learner.
    pub order: String,
    /// Terms up to this many leaves away.
    pub d_max: u8,
    /// The groups of features.
    pub groups: Vec<String>,
    /// Where naive Bayes cuts LOW from HIGH; `None` if it has to find that itself.
    pub cut: Option<f32>,
    /// It began with the saved apprentice that the crawl was given, not with nothing.
    pub from_start: bool,
    /// The events whose pages were learned, first and last of each range, rising.
    pub ranges: Vec<(Seq, Seq)>,
}

/// An epoch: from here on links are scored with what was learned up to here.
#[derive(Clone, Debug, PartialEq)]
pub struct EpochEvent {
    /// Its number, rising from 1.
    pub number: u64,
    /// What started it.
    pub cause: EpochCause,
    /// The epoch that was returned to; 0 if none was.
    pub returned_to: u64,
    /// What is in force.
    pub recipe: Recipe,
    /// Pairs (u, v) learned.
    pub instances: u64,
    /// Judged pages.
    pub pages: u64,
    /// Fetches that counted by then, the n of L(n).
    pub fetched: u64,
    /// Mean log loss of the predictions for the pages since the last epoch; `None` without any.
    pub log_loss: Option<f64>,
    /// Area under the ROC curve of the same; `None` without pages on both sides of R = 0.5.
    pub auc: Option<f64>,
    /// When.
    pub at: Timestamp,
}
