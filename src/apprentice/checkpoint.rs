//! All that an apprentice is at the beginning of an epoch, as it is written down: a crawl that is opened with
//! it need not learn its log from the first page on.
//!
//! A saved apprentice is something else: that holds the weights, for another crawl to begin with; this holds
//! the history of the crawl and the figures of the learners as well, to the bit, and means something only
//! beside its log.

use super::exploration::Came;
use super::history::History;
use super::leader::Leader;
use super::saved::Weights;
use super::validation::Validation;

/// See the module.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct Checkpoint {
    pub(super) history: History,
    pub(super) panel: PanelCheckpoint,
    pub(super) exploration: Option<Came>,
    pub(super) outcomes: u64,
    pub(super) due_at: u64,
    pub(super) epoch: u64,
}

/// Gives a [`Checkpoint`] of the moment at which it was made.
pub type CheckpointLater = Box<dyn FnOnce() -> Checkpoint + Send>;

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct PanelCheckpoint {
    pub(super) members: Vec<MemberCheckpoint>,
    pub(super) leader: Leader,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct MemberCheckpoint {
    pub(super) name: String,
    pub(super) text_only: bool,
    /// At the beginning of an epoch all that was learned is in force.
    pub(super) weights: Weights,
    pub(super) validation: Validation,
}
