//! Log weights, derived from the counts of a model when it is loaded.
//!
//! With alpha the smoothing, T the size of the vocabulary, n(t,k) the occurrences of term t in
//! class k and N(k) their sum over t, the weight of a term is
//! w(t,k) = ln (n(t,k) + alpha) - ln (N(k) + alpha T)
//! (multinomial naive Bayes with Lidstone smoothing; Manning, Raghavan, Schuetze, Introduction to
//! Information Retrieval, 2008, eq. 13.7 with alpha in the place of 1), and the score of a document
//! is the log prior plus the sum of its terms' weights. A class with a background of b words has
//! n(t,k) + b q(t) in the place of n(t,k), and N(k) + b in that of N(k); q is the share of a term in
//! the classes without one.

use std::ops::Range;
use std::sync::Arc;

use zerocopy::FromBytes;

use crate::critic::bayes::{ClassCounts, Priors, SparseNb};
use crate::critic::mapping::Mapping;

/// A matrix that would be larger is not made; postings judge then, at half the speed and a
/// fraction of the memory. Holds 480 classes with 50,000 terms.
const MATRIX_BYTES_MAX: usize = 128 << 20;

/// The weights of a model, in the form that suits its size.
#[derive(Clone, Debug)]
pub(super) enum Weights {
    Matrix(Matrix),
    Postings(Postings),
}

impl Weights {
    pub(super) fn of(model: &SparseNb) -> Self {
        Self::within(MATRIX_BYTES_MAX, model)
    }

    fn within(matrix_bytes_max: usize, model: &SparseNb) -> Self {
        let entries = model.terms.saturating_mul(model.classes.len());
        if entries.saturating_mul(size_of::<f32>()) <= matrix_bytes_max {
            Self::Matrix(Matrix::of(model))
        } else {
            Self::Postings(Postings::of(model))
        }
    }

    /// The matrix of `rows`, with the priors of `model`, whose terms and counts are not looked at.
    pub(super) fn matrix(model: &SparseNb, rows: Rows) -> Self {
        Self::Matrix(Matrix {
            priors: log_priors(model),
            rows,
        })
    }

    /// The rows of the matrix, if it is one.
    pub(super) fn rows(&self) -> Option<&[f32]> {
        match self {
            Self::Matrix(matrix) => Some(matrix.rows.as_slice()),
            Self::Postings(_) => None,
        }
    }

    /// Writes the score of each class for a document of `bag` to `scores`. Scores of one document
    /// may be shifted by a constant; only their differences mean something.
    ///
    /// The terms of the bag lie inside of the vocabulary.
    pub(super) fn score(&self, bag: &[(u32, u32)], scores: &mut Vec<f64>) {
        match self {
            Self::Matrix(matrix) => matrix.score(bag, scores),
            Self::Postings(postings) => postings.score(bag, scores),
        }
    }
}

/// ln Pr(class), minus infinity for a class without documents.
pub(super) fn log_priors(model: &SparseNb) -> Vec<f64> {
    let documents = |class: usize| model.classes[class].documents as f64;
    let all: f64 = (0..model.classes.len()).map(documents).sum();
    let seen = model.classes.iter().filter(|class| class.documents > 0);
    let seen = seen.count() as f64;
    (0..model.classes.len())
        .map(|class| match model.priors {
            _ if documents(class) == 0.0 => f64::NEG_INFINITY,
            Priors::Flat => -seen.ln(),
            Priors::Counted => documents(class).ln() - all.ln(),
        })
        .collect()
}

/// ln (N(k) + b(k) + alpha T) of each class.
pub(super) fn log_totals(model: &SparseNb, background: &Background) -> Vec<f64> {
    // Without a vocabulary there is nothing to score; the totals are to be finite all the same.
    let smoothed = model.alpha * model.terms.max(1) as f64;
    model
        .classes
        .iter()
        .map(|class| {
            // Whole numbers are added faster: no sum waits for the rounding of the one before it.
            let counts = class.terms.iter().map(|(_, n)| *n);
            let total = counts.fold(0, u64::saturating_add) as f64;
            (total + background.words_of(class) + smoothed).ln()
        })
        .collect()
}

/// ln (n + alpha), for whole numbers below [`Logs::KNOWN`] from a table: almost all counts are small.
#[derive(Clone, Debug)]
pub(super) struct Logs {
    alpha: f64,
    known: Vec<f64>,
}

impl Logs {
    const KNOWN: u16 = 512;

    pub(super) fn of(alpha: f64) -> Self {
        let log = |n| (f64::from(n) + alpha).ln();
        Self {
            alpha,
            known: (0..Self::KNOWN).map(log).collect(),
        }
    }

    /// Of a term that was never seen.
    pub(super) fn zero(&self) -> f64 {
        self.alpha.ln()
    }

    /// Of a count with a share of the background.
    pub(super) fn of_mixed(&self, n: f64) -> f64 {
        (n + self.alpha).ln()
    }

    pub(super) fn of_count(&self, n: u64) -> f64 {
        let known = usize::try_from(n).ok().and_then(|n| self.known.get(n));
        known.copied().unwrap_or_else(|| self.of_mixed(n as f64))
    }
}

/// The words of all classes together that have no background themselves.
#[derive(Clone, Debug)]
pub(super) struct Background {
    /// q(t), of each term; empty if no class asks for it, or if there is nothing to take it from.
    shares: Vec<f64>,
}

impl Background {
    pub(super) fn of(model: &SparseNb) -> Self {
        let (with, without): (Vec<&ClassCounts>, Vec<&ClassCounts>) =
            model.classes.iter().partition(|class| class.background > 0);
        let mut shares = vec![0.0; if with.is_empty() { 0 } else { model.terms }];
        if !with.is_empty() {
            for (term, n) in without.iter().flat_map(|class| &class.terms) {
                shares[*term as usize] += *n as f64;
            }
        }
        let total: f64 = shares.iter().sum();
        if total == 0.0 {
            shares.clear();
        }
        for share in &mut shares {
            *share /= total;
        }
        Self { shares }
    }

    /// b(k).
    pub(super) fn words_of(&self, class: &ClassCounts) -> f64 {
        if self.shares.is_empty() {
            0.0
        } else {
            class.background as f64
        }
    }

    /// b(k) q(t), for each term; nothing for a class without a background.
    fn counts_of(&self, class: &ClassCounts) -> impl Iterator<Item = (u32, f64)> + '_ {
        let words = self.words_of(class);
        let shares = if words > 0.0 {
            self.shares.as_slice()
        } else {
            &[]
        };
        (0..)
            .zip(shares)
            .map(move |(term, share)| (term, words * share))
    }

    /// n(t,k) + b(k) q(t) of the terms for which that is not 0, by rising term.
    pub(super) fn mixed(&self, class: &ClassCounts) -> Vec<(u32, f64)> {
        let own = class.terms.iter().map(|(term, n)| (*term, *n as f64));
        if self.words_of(class) == 0.0 {
            return own.collect();
        }
        let mut mixed: Vec<(u32, f64)> = self.counts_of(class).collect();
        for (term, n) in own {
            mixed[term as usize].1 += n;
        }
        mixed.retain(|(_, n)| *n > 0.0);
        mixed
    }
}

/// For each term the classes that it was seen in; what was never seen goes by the document's
/// length.
#[derive(Clone, Debug)]
pub(super) struct Postings {
    priors: Vec<f64>,
    /// w(t,k) of a term that class k never had.
    unseen: Vec<f64>,
    /// Where the entries of term t begin; one more than there are terms.
    starts: Vec<usize>,
    /// (class, w(t,k) less that of an unseen term).
    entries: Vec<(u16, f32)>,
}

impl Postings {
    pub(super) fn of(model: &SparseNb) -> Self {
        let log_alpha = model.alpha.ln();
        let background = Background::of(model);
        let totals = log_totals(model, &background);
        // Made twice, a class at a time: all of them at once may be larger than the postings.
        let counts = || model.classes.iter().map(|class| background.mixed(class));
        let mut starts = vec![0; model.terms + 1];
        for (term, _) in counts().flatten() {
            starts[term as usize + 1] += 1;
        }
        for term in 0..model.terms {
            starts[term + 1] += starts[term];
        }
        let mut next = starts.clone();
        let mut entries = vec![(0, 0.0); starts[model.terms]];
        for (number, counts) in (0..=u16::MAX).zip(counts()) {
            for (term, n) in counts {
                let excess = (n + model.alpha).ln() - log_alpha;
                let place = &mut next[term as usize];
                entries[*place] = (number, narrow(excess));
                *place += 1;
            }
        }
        Self {
            priors: log_priors(model),
            unseen: totals.iter().map(|total| log_alpha - total).collect(),
            starts,
            entries,
        }
    }

    pub(super) fn score(&self, bag: &[(u32, u32)], scores: &mut Vec<f64>) {
        let length: f64 = bag.iter().map(|(_, n)| f64::from(*n)).sum();
        scores.clear();
        let base = self.priors.iter().zip(&self.unseen);
        scores.extend(base.map(|(prior, unseen)| prior + length * unseen));
        for &(term, n) in bag {
            let term = term as usize;
            for (class, excess) in &self.entries[self.starts[term]..self.starts[term + 1]] {
                scores[usize::from(*class)] += f64::from(n) * f64::from(*excess);
            }
        }
    }
}

/// One row of weights a term, all classes beside each other: judging adds rows, which the compiler
/// turns into vector instructions.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    priors: Vec<f64>,
    /// w(t,k) less its maximum over k. The shift changes no difference between classes, and the
    /// classes that matter, the best ones, stay near 0, where f32 is finest.
    rows: Rows,
}

/// Where the weights of a [`Matrix`] lie.
#[derive(Clone, Debug)]
pub(super) enum Rows {
    Own(Vec<f32>),
    /// In a model file; the range was checked to hold f32.
    Mapped(Arc<Mapping>, Range<usize>),
}

impl Rows {
    pub(super) fn as_slice(&self) -> &[f32] {
        match self {
            Self::Own(rows) => rows,
            Self::Mapped(mapping, range) => {
                <[f32]>::ref_from_bytes(&mapping[range.clone()]).unwrap_or_default()
            }
        }
    }
}

impl Matrix {
    pub(super) fn of(model: &SparseNb) -> Self {
        let width = model.classes.len();
        let log_alpha = model.alpha.ln();
        let background = Background::of(model);
        let totals = log_totals(model, &background);
        let mut rows = vec![0.0; model.terms * width];
        if width > 0 {
            for row in rows.chunks_exact_mut(width) {
                for (weight, total) in row.iter_mut().zip(&totals) {
                    *weight = narrow(log_alpha - total);
                }
            }
        }
        for (number, class) in model.classes.iter().enumerate() {
            for (term, n) in background.mixed(class) {
                let weight = (n + model.alpha).ln() - totals[number];
                rows[term as usize * width + number] = narrow(weight);
            }
        }
        if width > 0 {
            for row in rows.chunks_exact_mut(width) {
                let best = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                for weight in row {
                    *weight -= best;
                }
            }
        }
        Self {
            priors: log_priors(model),
            rows: Rows::Own(rows),
        }
    }

    fn score(&self, bag: &[(u32, u32)], scores: &mut Vec<f64>) {
        let mut sums = vec![0.0_f32; self.priors.len()];
        let (fours, rest) = bag.as_chunks();
        let (weights, width) = (self.rows.as_slice(), self.priors.len());
        // The count of a term as f32, which holds it exactly, and the weights of the term.
        let row = |(term, n): (u32, u32)| {
            let start = term as usize * width;
            (n as f32, &weights[start..start + width])
        };
        // Four rows at once: the sums are loaded and stored once for them, and four rows are on
        // their way from memory at the same time, which is what judging waits for.
        for [a, b, c, d] in fours {
            let (a, b, c, d) = (row(*a), row(*b), row(*c), row(*d));
            let rows = a.1.iter().zip(b.1).zip(c.1).zip(d.1);
            for (sum, (((wa, wb), wc), wd)) in sums.iter_mut().zip(rows) {
                *sum += (a.0 * wa + b.0 * wb) + (c.0 * wc + d.0 * wd);
            }
        }
        for entry in rest {
            let (n, row) = row(*entry);
            for (sum, weight) in sums.iter_mut().zip(row) {
                *sum += n * weight;
            }
        }
        scores.clear();
        let sums = sums.into_iter().map(f64::from);
        scores.extend(self.priors.iter().zip(sums).map(|(prior, sum)| prior + sum));
    }
}

/// f64 to the nearest f32; logarithms of counts are far from its bounds.
#[allow(
    clippy::cast_possible_truncation,
    reason = "rounding is meant; there is no other conversion"
)]
pub(super) fn narrow(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn model(priors: Priors) -> SparseNb {
        SparseNb {
            alpha: 0.5,
            priors,
            terms: 3,
            classes: vec![
                ClassCounts {
                    documents: 1,
                    terms: vec![(0, 4), (1, 1)],
                    background: 0,
                },
                ClassCounts {
                    documents: 3,
                    terms: vec![(2, 7)],
                    background: 0,
                },
            ],
        }
    }

    #[test]
    fn scores_are_those_of_the_formula_worked_by_hand() {
        let mut scores = Vec::new();
        Postings::of(&model(Priors::Counted)).score(&[(0, 2), (2, 1)], &mut scores);
        let first = 0.25_f64.ln() + 2.0 * (4.5_f64 / 6.5).ln() + (0.5_f64 / 6.5).ln();
        let second = 0.75_f64.ln() + 2.0 * (0.5_f64 / 8.5).ln() + (7.5_f64 / 8.5).ln();
        assert!((scores[0] - first).abs() < 1e-5, "{scores:?}");
        assert!((scores[1] - second).abs() < 1e-5, "{scores:?}");
    }

    #[test]
    fn a_background_adds_the_other_classes_words_in_their_shares() {
        let mut model = model(Priors::Flat);
        model.classes[0].background = 14;
        let mut scores = Vec::new();
        Postings::of(&model).score(&[(0, 1), (2, 2)], &mut scores);
        // The second class alone is the background: 14 words of term 2 beside the first one's five.
        let first = 0.5_f64.ln() + (4.5_f64 / 20.5).ln() + 2.0 * (14.5_f64 / 20.5).ln();
        let second = 0.5_f64.ln() + (0.5_f64 / 8.5).ln() + 2.0 * (7.5_f64 / 8.5).ln();
        assert!((scores[0] - first).abs() < 1e-5, "{scores:?}");
        assert!((scores[1] - second).abs() < 1e-5, "{scores:?}");
    }

    proptest! {
        /// Of 0 to 12 terms: none, a few and several fours of rows.
        #[test]
        fn matrix_and_postings_differ_by_one_constant_a_document(
            classes in prop::collection::vec(prop::collection::vec(0..50_u64, 12), 2..7),
            backgrounds in prop::collection::vec(prop_oneof![Just(0_u64), 1..90_u64], 7),
            bag in prop::collection::btree_map(0..12_u32, 1..9_u32, 0..12),
        ) {
            let seen = |counts: Vec<u64>| (0..).zip(counts).filter(|(_, n)| *n > 0).collect();
            let model = SparseNb {
                alpha: 0.02,
                priors: Priors::Flat,
                terms: 12,
                classes: classes
                    .into_iter()
                    .zip(backgrounds)
                    .map(|(counts, background)| ClassCounts {
                        documents: 1,
                        terms: seen(counts),
                        background,
                    })
                    .collect(),
            };
            let bag: Vec<(u32, u32)> = bag.into_iter().collect();
            let (mut matrix, mut postings) = (Vec::new(), Vec::new());
            Matrix::of(&model).score(&bag, &mut matrix);
            Postings::of(&model).score(&bag, &mut postings);
            let shift = matrix[0] - postings[0];
            for (matrix, postings) in matrix.iter().zip(&postings) {
                prop_assert!((matrix - postings - shift).abs() < 1e-3);
            }
        }
    }

    #[test]
    fn large_models_are_kept_as_postings() {
        let model = model(Priors::Flat);
        // 3 terms, 2 classes, 4 bytes each.
        assert!(matches!(Weights::within(24, &model), Weights::Matrix(_)));
        assert!(matches!(Weights::within(23, &model), Weights::Postings(_)));
    }
}
