//! Why a contest has no result.

use super::labels::LabelsError;
use super::runs::RunFolderError;
use crate::crawl::{EngineError, SpecError, StartError};
use crate::critic::JudgeError;
use crate::frontier::StoreFailure;
use crate::taxonomy::FocusError;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum ContestError {
    /// A topic cannot be a focus.
    #[error(transparent)]
    Focus(#[from] FocusError),
    /// The critic cannot judge it.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// The labels cannot judge it.
    #[error(transparent)]
    Labels(#[from] LabelsError),
    /// Nobody knows the truth.
    #[error(
        "the oracle goes by the labels, and there are none; give --labels TABLE (`labels` under [world] of an experiment)"
    )]
    NoOracle,
    /// Nobody knows which pages are labelled.
    #[error(
        "labelled starts are drawn from the labels, and there are none; give --labels TABLE (`labels` under [world] of an experiment)"
    )]
    NoLabels,
    /// A replay broke.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A replay's log broke.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// The spec of a replay cannot be taken.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// An apprentice cannot begin with what was saved.
    #[error(transparent)]
    Begin(#[from] StartError),
    /// What was done cannot be kept.
    #[error(transparent)]
    Keep(#[from] RunFolderError),
    /// Nothing to start from.
    #[error("topic {topic:?}: no seeds: {why}")]
    NoSeeds {
        /// The topic.
        topic: String,
        /// Why.
        why: String,
    },
}
