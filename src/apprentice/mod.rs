//! How good is this link likely to be? Scorers of links.
//!
//! An [`Apprentice`] turns a link into an [`Instance`] (static features of its page, dynamic ones from
//! its [`History`]) and asks its [`Learner`]; when the target is judged, the instance that was frozen
//! at the lease is learned from. Labels change the working weights at once, predictions come from the
//! published epoch.

mod dense;
mod frozen;
mod ftrl;
mod history;
mod instance;
mod learner;
mod nb;
mod online;
mod scorer;

pub use dense::{DENSE, DENSE_NAMES, Dense};
pub use ftrl::{Ftrl, FtrlParams};
pub use history::History;
pub use instance::Instance;
pub use learner::Learner;
pub use nb::{TwoClassBayes, cut_of};
pub use online::Apprentice;
pub use scorer::{BaselineScorer, BreadthFirstScorer, LinkScorer, Prepared, SourceView};
