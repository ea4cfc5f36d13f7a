//! How the learners of a crawl have predicted, for those who look in.

use super::engine::Engine;
use crate::apprentice::{ExplorationFigures, LearnerReport};
use crate::clock::Clock;
use crate::fetch::Source;
use crate::proto::v1;

/// The learners' figures when an epoch began.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LearnersAt {
    /// Pages judged by then.
    pub pages: u64,
    /// The figures of each learner.
    pub learners: Vec<LearnerReport>,
}

/// What a crawl has learned by its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Learned {
    /// The figures at the beginning of each epoch.
    pub epochs: Vec<LearnersAt>,
    /// The figures at the end; none if the order learns nothing.
    pub learners: Vec<LearnerReport>,
    /// What exploration has cost and what was saved, if the order explores.
    pub exploration: Option<ExplorationFigures>,
}

impl<S: Source, C: Clock> Engine<S, C> {
    pub(super) fn learned(&self) -> Learned {
        Learned {
            epochs: self.learning.validated.clone(),
            learners: self.scorer.learners(),
            exploration: self.scorer.exploration(),
        }
    }

    /// The learners as the API has them.
    pub(super) fn learners_report(&self) -> v1::GetLearnersResponse {
        let learned = self.learned();
        let epochs = learned.epochs.iter().map(|at| v1::LearnersAt {
            pages: at.pages,
            learners: at.learners.iter().map(learner_to_proto).collect(),
        });
        v1::GetLearnersResponse {
            order: self.spec.order.name().to_owned(),
            learners: learned.learners.iter().map(learner_to_proto).collect(),
            exploration: learned.exploration.map(exploration_to_proto),
            epochs: epochs.collect(),
        }
    }
}

/// A learner's figures as the API has them.
pub(super) fn learner_to_proto(report: &LearnerReport) -> v1::Learner {
    let figures = &report.figures;
    v1::Learner {
        name: report.name.to_owned(),
        followed: report.is_followed,
        instances: figures.instances,
        log_loss: figures.log_loss,
        log_loss_lately: figures.log_loss_lately,
        auc: figures.auc,
        auc_within_page: figures.auc_within_page,
        calibration_error: figures.calibration_error,
    }
}

fn exploration_to_proto(figures: ExplorationFigures) -> v1::Exploration {
    v1::Exploration {
        differed: figures.differed,
        explored: figures.explored,
        saved: figures.saved,
        cost: figures.cost,
    }
}
