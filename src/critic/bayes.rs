//! Sparse multinomial naive Bayes behind linfa's traits.
//!
//! Parameters go through linfa's `ParamGuard`: [`SparseNbParams`] are unchecked,
//! [`SparseNbValidParams`] can `Fit` and `FitWith`, the fitted [`SparseNb`] can `PredictInplace`
//! and `Predict`. A model keeps counts, not logarithms, so that fitting in batches, in any order,
//! and merging are exact. linfa-bayes is the oracle of the tests; docs/decisions/0001 says why it
//! is not the engine.

use linfa::dataset::{AsSingleTargets, DatasetBase};
use linfa::param_guard::ParamGuard;
use linfa::traits::{Fit, FitWith, Predict, PredictInplace};
use ndarray::{Array1, Array2};

use crate::critic::batch::Labeller;
use crate::critic::sparse::{Bag, SparseCounts};
use crate::critic::tally::tally;
use crate::critic::weights::Postings;

/// More classes than this cannot be told apart by a [`ClassId`](crate::critic::ClassId).
pub const CLASSES_MAX: usize = 1 << 16;

/// What a class is worth before a word is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priors {
    /// The same for each class that has documents. Example tables say nothing about how frequent
    /// topics are on the web.
    #[default]
    Flat,
    /// Its share of the training documents.
    Counted,
}

/// Parameters, not yet checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SparseNbParams(SparseNbValidParams);

/// Checked parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SparseNbValidParams {
    alpha: f64,
    priors: Priors,
}

/// Why a model could not be fitted.
#[derive(Debug, thiserror::Error)]
pub enum SparseNbError {
    /// A smoothing that cannot be used.
    #[error("alpha is {0}; it has to be a number above 0 and at most 1000")]
    Alpha(f64),
    /// An entry of the records is no count.
    #[error("{0} is no count; records hold whole numbers from 0 to 16777216")]
    NotACount(f32),
    /// A term that the records have no column for.
    #[error("term {term} lies outside of the {terms} terms of the records")]
    TermOutside {
        /// Which.
        term: u32,
        /// How many there are.
        terms: usize,
    },
    /// A document names a term twice.
    #[error("records are malformed: {0}")]
    Shape(String),
    /// Records and targets do not belong together.
    #[error("{documents} documents but {labels} labels")]
    Labels {
        /// Rows of the records.
        documents: usize,
        /// Length of the targets.
        labels: usize,
    },
    /// A label that is too large.
    #[error("class {0} is too many; {CLASSES_MAX} classes are the most")]
    TooManyClasses(usize),
    /// A batch or a model over another vocabulary.
    #[error("the model has {model} terms, the other side {other}; both need the same vocabulary")]
    OtherTerms {
        /// Terms of the model.
        model: usize,
        /// Terms of the batch or of the other model.
        other: usize,
    },
    /// linfa's own errors.
    #[error(transparent)]
    Linfa(#[from] linfa::Error),
}

impl SparseNbParams {
    /// Lidstone smoothing 1 and flat priors.
    pub fn new() -> Self {
        Self(SparseNbValidParams {
            alpha: 1.0,
            priors: Priors::Flat,
        })
    }

    /// Sets the Lidstone smoothing: this much is added to each count. Above 0, at most 1000.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.0.alpha = alpha;
        self
    }

    /// Sets the priors.
    #[must_use]
    pub fn priors(mut self, priors: Priors) -> Self {
        self.0.priors = priors;
        self
    }
}

impl Default for SparseNbParams {
    fn default() -> Self {
        Self::new()
    }
}

impl ParamGuard for SparseNbParams {
    type Checked = SparseNbValidParams;
    type Error = SparseNbError;

    fn check_ref(&self) -> Result<&SparseNbValidParams, SparseNbError> {
        if self.0.alpha > 0.0 && self.0.alpha <= 1000.0 {
            Ok(&self.0)
        } else {
            Err(SparseNbError::Alpha(self.0.alpha))
        }
    }

    fn check(self) -> Result<SparseNbValidParams, SparseNbError> {
        self.check_ref().copied()
    }
}

impl<T> Fit<SparseCounts, T, SparseNbError> for SparseNbValidParams
where
    T: AsSingleTargets<Elem = usize>,
{
    type Object = SparseNb;

    fn fit(&self, dataset: &DatasetBase<SparseCounts, T>) -> Result<SparseNb, SparseNbError> {
        self.fit_with(None, dataset)
    }
}

impl<'a, T> FitWith<'a, SparseCounts, T, SparseNbError> for SparseNbValidParams
where
    T: AsSingleTargets<Elem = usize> + 'a,
{
    type ObjectIn = Option<SparseNb>;
    type ObjectOut = SparseNb;

    fn fit_with(
        &self,
        model: Option<SparseNb>,
        dataset: &'a DatasetBase<SparseCounts, T>,
    ) -> Result<SparseNb, SparseNbError> {
        let records = dataset.records();
        let terms = records.as_matrix().cols();
        let mut model = model.unwrap_or_else(|| SparseNb::empty(terms));
        if model.terms != terms {
            return Err(SparseNbError::OtherTerms {
                model: model.terms,
                other: terms,
            });
        }
        model.alpha = self.alpha;
        model.priors = self.priors;
        let labels = dataset.as_single_targets();
        if labels.len() != records.as_matrix().rows() {
            return Err(SparseNbError::Labels {
                documents: records.as_matrix().rows(),
                labels: labels.len(),
            });
        }
        if let Some(label) = labels.iter().find(|label| **label >= CLASSES_MAX) {
            return Err(SparseNbError::TooManyClasses(*label));
        }
        model.add(tally(records.as_matrix(), labels.iter().copied()));
        Ok(model)
    }
}

/// What is known of one class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// Training documents.
    pub documents: u64,
    /// (term, occurrences in them), by rising term, occurrences above 0.
    pub terms: Vec<(u32, u64)>,
    /// As if this many words of the background had been seen as well: of all classes together that
    /// have none of it themselves. It speaks for the words that a class of few documents has not had
    /// the time to show (a Dirichlet prior: Zhai and Lafferty, TOIS 22(2), 2004, section 3).
    pub background: u64,
}

/// A fitted model: the counts of each class, a smoothing, and the kind of priors.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseNb {
    pub(super) alpha: f64,
    pub(super) priors: Priors,
    pub(super) terms: usize,
    pub(super) classes: Vec<ClassCounts>,
}

impl SparseNb {
    fn empty(terms: usize) -> Self {
        Self {
            alpha: 1.0,
            priors: Priors::Flat,
            terms,
            classes: Vec::new(),
        }
    }

    /// The Lidstone smoothing.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The kind of priors.
    pub fn priors(&self) -> Priors {
        self.priors
    }

    /// The size of the vocabulary.
    pub fn terms(&self) -> usize {
        self.terms
    }

    /// The counts of each class.
    pub fn classes(&self) -> &[ClassCounts] {
        &self.classes
    }

    /// Adds the counts of `other`, as if its documents had been fitted here.
    pub fn merge(&mut self, other: Self) -> Result<(), SparseNbError> {
        if self.terms != other.terms {
            return Err(SparseNbError::OtherTerms {
                model: self.terms,
                other: other.terms,
            });
        }
        self.add(other.classes);
        Ok(())
    }

    /// Adds counts whose terms may stand in any order and more than once.
    fn add(&mut self, batch: Vec<ClassCounts>) {
        if self.classes.len() < batch.len() {
            self.classes.resize_with(batch.len(), ClassCounts::default);
        }
        for (class, new) in self.classes.iter_mut().zip(batch) {
            class.documents = class.documents.saturating_add(new.documents);
            class.background = class.background.max(new.background);
            if new.terms.is_empty() {
                continue;
            }
            if class.terms.is_empty() && new.terms.is_sorted_by(|a, b| a.0 < b.0) {
                class.terms = new.terms;
                continue;
            }
            class.terms.extend(new.terms);
            class.terms.sort_unstable();
            class.terms.dedup_by(|later, kept| {
                let same = later.0 == kept.0;
                if same {
                    kept.1 = kept.1.saturating_add(later.1);
                }
                same
            });
        }
    }

    /// Derives the weights, to find the best classes of more than one batch of documents.
    pub fn labeller(&self) -> Labeller<'_> {
        Labeller::of(self)
    }

    /// ln Pr(class) + ln Pr(document | class) for each document (row) and class (column), without
    /// the multinomial coefficient, which is the same for all classes.
    ///
    /// Minus infinity for a class that no document was seen of.
    pub fn joint_log_likelihood(&self, records: &SparseCounts) -> Array2<f64> {
        let postings = Postings::of(self);
        let bags: Vec<Bag> = records.bags().collect();
        let mut likelihood = Array2::zeros((bags.len(), self.classes.len()));
        let mut scores = Vec::new();
        for (bag, mut row) in bags.iter().zip(likelihood.rows_mut()) {
            postings.score(bag, &mut scores);
            row.iter_mut()
                .zip(&scores)
                .for_each(|(to, from)| *to = *from);
        }
        likelihood
    }
}

impl PredictInplace<SparseCounts, Array1<usize>> for SparseNb {
    /// The best class of each document; of equally good ones the first. Who has more than one batch of
    /// documents asks a [`Labeller`] instead.
    fn predict_inplace<'a>(&'a self, records: &'a SparseCounts, labels: &mut Array1<usize>) {
        *labels = self.labeller().predict(records);
    }

    fn default_target(&self, records: &SparseCounts) -> Array1<usize> {
        Array1::zeros(records.as_matrix().rows())
    }
}

// linfa's blanket covers dense arrays and whole data sets only.
impl Predict<&SparseCounts, Array1<usize>> for SparseNb {
    fn predict(&self, records: &SparseCounts) -> Array1<usize> {
        self.labeller().predict(records)
    }
}

/// The index of the largest score; of equal ones the first.
pub(super) fn best(scores: impl Iterator<Item = f64>) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (index, score) in scores.enumerate() {
        if score > best.1 {
            best = (index, score);
        }
    }
    best.0
}
