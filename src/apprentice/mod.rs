//! How good is this link likely to be? Scorers of links.
//!
//! An [`Apprentice`] turns a link into an [`Instance`] (static features of its page, dynamic ones from
//! its [`History`]) and asks the [`Learner`] that its [`Panel`] follows; when the target is judged, the
//! instance that was frozen at the lease is learned from, by every learner of the panel. Labels change
//! the working weights at once, predictions come from the published epoch.

mod calibrator;
mod checkpoint;
mod counts;
mod dense;
mod explain;
mod exploration;
mod frozen;
mod ftrl;
mod history;
mod instance;
mod leader;
mod learner;
mod nb;
mod online;
mod panel;
mod saved;
mod scorer;
mod shared;
mod source_relevance;
mod validation;

pub use checkpoint::{Checkpoint, CheckpointLater};
pub use dense::{DENSE, DENSE_NAMES, Dense};
pub use explain::{Explanation, FeatureRef, Parts};
pub use exploration::{Choice, ExplorationFigures};
pub use frozen::LinkView;
pub use ftrl::{Ftrl, FtrlParams, FtrlWeights};
pub use history::History;
pub use instance::Instance;
pub use learner::{Learner, WeightsLater};
pub use nb::{BayesCounts, TwoClassBayes, cut_of};
pub use online::Apprentice;
pub use panel::{LearnerReport, Panel, View};
pub use saved::{Carry, Provenance, SavedApprentice, SavedError, SavedPanel, Weights};
pub use scorer::{BaselineScorer, BreadthFirstScorer, LinkScorer, Prepared, SourceView};
pub use source_relevance::SourceRelevance;
pub use validation::LearnerFigures;
