//! The contract of a judge of pages.

use crate::critic::teach::Teachable;
use crate::page::Page;

/// A class of a judge: an index into [`PageJudge::class_names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u16);

/// One of the best classes of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassScore {
    /// Which class.
    pub class: ClassId,
    /// ln Pr(class | page), at most 0.
    pub log_posterior: f32,
}

/// What a judge says of one page.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// ln (Pr(c*|v) / (1 - Pr(c*|v))): log-sum-exp over the classes of the focus minus that over
    /// the rest. Finite. Whole pages reach hundreds, where R(v) is 0 or 1 in any float.
    pub log_odds: f32,
    /// The same of the calibrated posteriors, at the class shares of the examples
    /// ([`PriorShift`](crate::critic::PriorShift) takes it to those of a crawl); finite. A judge
    /// without a calibration has nothing better than `log_odds`.
    pub calibrated_log_odds: f32,
    /// The best classes, best first; at most [`BEST_CLASSES_MAX`].
    pub best: Vec<ClassScore>,
    /// The best class lies in the focus or under the parent of one of its topics (hard focus).
    pub near_focus: bool,
    /// The version of the judge.
    pub version: u64,
}

/// How many of the best classes a verdict names.
pub const BEST_CLASSES_MAX: usize = 5;

impl Verdict {
    /// R(v) = Pr(c*|v), in [0, 1].
    pub fn relevance(&self) -> f64 {
        relevance_of(self.log_odds)
    }
}

/// R(v) from the log odds of the focus: the logistic function, without overflow.
pub fn relevance_of(log_odds: f32) -> f64 {
    1.0 / (1.0 + (-f64::from(log_odds)).exp())
}

/// Something in this process that judges pages, such as the Bayes critic. A judge behind gRPC is a
/// [`FarJudge`](crate::critic::FarJudge); what holds for verdicts holds for both.
///
/// Called in batches on a blocking pool. One verdict a page, in order, also for an empty page (then
/// the prior speaks). Posteriors sum to 1 over all classes.
pub trait PageJudge: Send + Sync + 'static {
    /// Judges `pages`.
    fn judge_batch(&self, pages: &[&Page]) -> Vec<Verdict>;

    /// The names of the classes, by [`ClassId`].
    fn class_names(&self) -> &[String];

    /// For each word that it knows ln (Pr(word | focus) / Pr(word | rest)); empty for a judge that
    /// does not go by words.
    fn term_weights(&self) -> Vec<(String, f32)> {
        Vec::new()
    }

    /// This judge as one that can be taught, if it can.
    fn teachable(&self) -> Option<&dyn Teachable> {
        None
    }

    /// Judges one page.
    fn judge(&self, page: &Page) -> Verdict {
        self.judge_batch(&[page]).remove(0)
    }
}
