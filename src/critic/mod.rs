//! How relevant is this page? Naive Bayes over the topics, vocabulary, training, model file.
//!
//! Pages of known topics go to a [`Trainer`], which makes a [`CriticModel`]; a model and a
//! [`Focus`](crate::taxonomy::Focus) make a [`BayesJudge`], and that is a [`PageJudge`]. Models
//! keep counts: log weights are derived from them when a model is first used. A judge that is part of
//! another program is a [`FarJudge`], reached by gRPC.
//!
//! [`SparseNb`] is the learner by itself, behind linfa's traits.

mod bag;
mod batch;
mod bayes;
mod bayes_judge;
mod calibration;
mod evaluation;
pub mod examples;
mod extend;
mod far;
mod focus_calibration;
pub(crate) mod frame;
mod general;
mod judge;
mod mapped_file;
mod mapping;
mod minimize;
mod model;
mod model_file;
mod packed_file;
mod params;
mod posterior;
mod record;
mod reliability;
mod remote;
mod reserve;
mod shift;
mod sparse;
mod split;
mod tally;
mod teach;
mod trainer;
mod training;
mod vocabulary;
mod weights;

#[cfg(test)]
mod tests;

pub use batch::Labeller;
pub use bayes::{
    CLASSES_MAX, ClassCounts, Priors, SparseNb, SparseNbError, SparseNbParams, SparseNbValidParams,
};
pub use bayes_judge::{BayesJudge, JudgeError};
pub use calibration::Calibration;
pub use evaluation::{ClassFigures, Confusion, Evaluation, Figures, Share};
pub use extend::{
    BACKGROUND_WORDS, EXAMPLES_MIN, ExtendError, ExtendParams, ExtendReport, Extension, Finding,
    NearClass, RestFigures, TopicCount,
};
pub use far::{BatchLimits, FarJudge, JudgeAway};
pub use focus_calibration::FocusCalibration;
pub use judge::{BEST_CLASSES_MAX, ClassId, ClassScore, PageJudge, Verdict, relevance_of};
pub use model::{ClassRecord, CriticModel, TellingTerm, TrainingRecord, evaluate};
pub use model_file::{Layout, ModelFileError};
pub(crate) use model_file::{MAGIC as MODEL_MAGIC, write_beside};
pub use params::{Skipped, TrainError, TrainParams};
pub use reliability::{BINS, Bin, Reliability};
pub use remote::{JudgeAddress, PageFacts, RemoteJudge, RemoteOptions, page_to_judge};
pub use shift::PriorShift;
pub use sparse::{Bag, COUNT_MAX, SparseCounts};
pub use teach::{Lesson, Teachable};
pub use trainer::{Origin, SharedExample, Trainer};
pub use training::TrainingSet;
