//! What is relevant? Bayes, vocabulary, calibration, model file.

mod judge;

pub use judge::{BEST_CLASSES_MAX, ClassId, ClassScore, PageJudge, Verdict, relevance_of};
