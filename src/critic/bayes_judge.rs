//! The Bayes critic as a judge of pages: a model and a focus.

use std::sync::Arc;

use crate::critic::judge::{PageJudge, Verdict};
use crate::critic::model::CriticModel;
use crate::critic::posterior::{FocusClasses, verdict};
use crate::page::Page;
use crate::taxonomy::{Focus, FocusError};

/// A model with a focus; cheap to make, since judges over one model share its weights.
#[derive(Clone, Debug)]
pub struct BayesJudge {
    model: Arc<CriticModel>,
    focus: FocusClasses,
}

/// Why a focus cannot be judged by a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JudgeError {
    /// A topic that the model does not have.
    #[error(transparent)]
    Focus(#[from] FocusError),
    /// Nothing is left to tell the focus from.
    #[error(
        "the focus covers all {0} classes of the critic, so that every page would be relevant; \
         leave a topic out"
    )]
    CoversAll(usize),
}

impl BayesJudge {
    /// Checks `focus` against the classes of `model`.
    pub fn new(model: Arc<CriticModel>, focus: &Focus) -> Result<Self, JudgeError> {
        let inside = focus.members(model.class_names())?;
        if !inside.contains(&false) {
            return Err(JudgeError::CoversAll(inside.len()));
        }
        let names = model.class_names().iter();
        let near = names.map(|name| focus.is_near(name)).collect();
        Ok(Self {
            model,
            focus: FocusClasses { inside, near },
        })
    }

    /// The share of the focus in the examples, at which calibrated log odds are right.
    pub fn focus_share(&self) -> f64 {
        self.model.share_of(&self.focus.inside)
    }

    /// The model.
    pub fn model(&self) -> &CriticModel {
        &self.model
    }
}

impl PageJudge for BayesJudge {
    fn judge_batch(&self, pages: &[&Page]) -> Vec<Verdict> {
        let mut scores = Vec::with_capacity(self.model.class_names().len());
        pages
            .iter()
            .map(|page| {
                let length = self.model.score(page, &mut scores);
                let mut verdict = verdict(&scores, &self.focus, self.model.version());
                if let Some(calibration) = self.model.calibration() {
                    calibration.apply(length, &mut scores);
                    verdict.calibrated_log_odds = self.focus.log_odds(&scores);
                }
                verdict
            })
            .collect()
    }

    fn class_names(&self) -> &[String] {
        self.model.class_names()
    }
}
