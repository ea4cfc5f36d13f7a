//! The best class of each of many documents at once.
//!
//! A judge of one page reads a row of weights of all classes for each term, most of it from memory. Of
//! many documents only some classes at a time are scored, so few that their sums stay in registers and
//! their weights of all terms in the cache, for all documents; each keeps the best class so far.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::thread;

use linfa::traits::Predict;
use ndarray::Array1;
use pulp::bytemuck::cast_slice;
use pulp::{Arch, Scalar256b, Simd, WithSimd};
use sprs::CsMat;

use crate::critic::bayes::{ClassCounts, SparseNb};
use crate::critic::sparse::SparseCounts;
use crate::critic::weights::{Background, Logs, log_priors, log_totals, narrow};

/// Vectors of sums that fit into the registers of any machine beside what else is needed.
const VECTORS_MAX: usize = 6;
/// Weights that would be larger are not kept. Holds 670 classes with 50,000 terms.
const KEPT_BYTES_MAX: usize = 128 << 20;
/// A core of its own is worth its while for so many products of a vector: 0.1 ms or so. To start a thread
/// takes half of that, and longer when the core is busy with something else.
const PRODUCTS_A_CORE: usize = 150_000;

/// Finds the best classes of documents, any number of times: the weights are derived once, when it is
/// made.
#[derive(Debug)]
pub struct Labeller<'a> {
    made: Made<'a>,
    machine: Arch,
    /// Vectors of classes that are scored at a time.
    vectors: usize,
    /// As many classes.
    width: usize,
    /// The weights of each block of classes; none if all of them would be too large. They are written
    /// down anew for each batch of documents then.
    kept: Vec<Vec<f32>>,
}

impl<'a> Labeller<'a> {
    pub(super) fn of(model: &'a SparseNb) -> Self {
        Self::within(KEPT_BYTES_MAX, model)
    }

    fn within(kept_bytes_max: usize, model: &'a SparseNb) -> Self {
        let machine = Arch::new();
        let lanes = dispatch(machine, Lanes);
        let vectors = vectors_for(model.classes.len(), lanes);
        let width = vectors * lanes;
        let made = Made::of(model);
        let entries = model.terms.saturating_mul(model.classes.len());
        let kept = if entries.saturating_mul(size_of::<f32>()) <= kept_bytes_max {
            let blocks = (0..model.classes.len()).step_by(width);
            blocks.map(|first| made.weights(first, width)).collect()
        } else {
            Vec::new()
        };
        Self {
            made,
            machine,
            vectors,
            width,
            kept,
        }
    }

    /// For each row of `documents` the number of its best class; of equally good ones the first. Terms
    /// that the model does not have count for nothing.
    fn best_classes(&self, documents: &CsMat<f32>) -> Vec<usize> {
        let mut best = vec![(0, f64::NEG_INFINITY); documents.rows()];
        let part = documents_a_core(documents, self.vectors);
        for (block, priors) in self.made.priors.chunks(self.width).enumerate() {
            let first = block * self.width;
            let weights = match self.kept.get(block) {
                Some(weights) => Cow::Borrowed(weights),
                None => Cow::Owned(self.made.weights(first, self.width)),
            };
            let pass = |(start, best)| Pass {
                documents,
                start,
                best,
                weights: &weights,
                vectors: self.vectors,
                priors,
                first,
            };
            let mut passes = (0..).step_by(part).zip(best.chunks_mut(part)).map(pass);
            let own = passes.next();
            thread::scope(|scope| {
                for pass in passes {
                    scope.spawn(move || dispatch(self.machine, pass));
                }
                if let Some(pass) = own {
                    dispatch(self.machine, pass);
                }
            });
        }
        best.into_iter().map(|(class, _)| class).collect()
    }
}

// linfa's blanket covers dense arrays and whole data sets only.
impl Predict<&SparseCounts, Array1<usize>> for Labeller<'_> {
    fn predict(&self, records: &SparseCounts) -> Array1<usize> {
        self.best_classes(records.as_matrix()).into()
    }
}

/// As the machine does it best. Vectors of eight are told to the compiler where it has none of that
/// size as well: it makes two of four of them.
fn dispatch<Op: WithSimd>(machine: Arch, op: Op) -> Op::Output {
    match machine {
        Arch::Scalar => Scalar256b.vectorize(op),
        machine => machine.dispatch(op),
    }
}

/// How many numbers a vector of the machine holds.
struct Lanes;

impl WithSimd for Lanes {
    type Output = usize;

    fn with_simd<S: Simd>(self, _: S) -> usize {
        S::F32_LANES
    }
}

/// How many vectors of classes are scored at a time, so that the last block is as full as the others.
fn vectors_for(classes: usize, lanes: usize) -> usize {
    let all = classes.div_ceil(lanes);
    let blocks = all.div_ceil(VECTORS_MAX).max(1);
    all.div_ceil(blocks).max(1)
}

fn documents_a_core(documents: &CsMat<f32>, vectors: usize) -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let worth = documents.nnz().saturating_mul(vectors) / PRODUCTS_A_CORE;
    documents.rows().div_ceil(worth.clamp(1, cores)).max(1)
}

/// What all blocks of classes need.
#[derive(Debug)]
struct Made<'a> {
    classes: &'a [ClassCounts],
    background: Background,
    logs: Logs,
    priors: Vec<f64>,
    totals: Vec<f64>,
    /// Of each term the greatest weight of a class that has it: weights are taken less that, which
    /// changes no difference between classes and keeps those that matter near 0, where f32 is finest.
    shifts: Vec<f64>,
}

impl<'a> Made<'a> {
    fn of(model: &'a SparseNb) -> Self {
        let background = Background::of(model);
        let mut made = Self {
            classes: &model.classes,
            logs: Logs::of(model.alpha),
            priors: log_priors(model),
            totals: log_totals(model, &background),
            background,
            shifts: vec![f64::NEG_INFINITY; model.terms],
        };
        let mut shifts = std::mem::take(&mut made.shifts);
        for class in 0..model.classes.len() {
            made.weights_of(class, |term, weight| {
                let shift = &mut shifts[term];
                *shift = shift.max(weight);
            });
        }
        let unseen = made.totals.iter().map(|total| made.logs.zero() - total);
        let most = unseen.fold(f64::NEG_INFINITY, f64::max);
        for shift in shifts.iter_mut().filter(|shift| shift.is_infinite()) {
            *shift = most;
        }
        made.shifts = shifts;
        made
    }

    /// Hands out (term, weight) of the terms that `class` has.
    fn weights_of(&self, class: usize, mut to: impl FnMut(usize, f64)) {
        let (counts, total) = (&self.classes[class], self.totals[class]);
        if self.background.words_of(counts) > 0.0 {
            for (term, n) in self.background.mixed(counts) {
                to(term as usize, self.logs.of_mixed(n) - total);
            }
        } else {
            for (term, n) in &counts.terms {
                to(*term as usize, self.logs.of_count(*n) - total);
            }
        }
    }

    /// The weights of `width` classes from `first` on, term by term.
    fn weights(&self, first: usize, width: usize) -> Vec<f32> {
        let totals = self.totals.iter().skip(first).take(width);
        let mut unseen: Vec<f32> = totals
            .map(|total| narrow(self.logs.zero() - total))
            .collect();
        unseen.resize(width, 0.0);
        let mut weights = Vec::with_capacity(self.shifts.len() * width);
        for shift in &self.shifts {
            let shift = narrow(*shift);
            weights.extend(unseen.iter().map(|unseen| unseen - shift));
        }
        for class in first..self.classes.len().min(first + width) {
            self.weights_of(class, |term, weight| {
                weights[term * width + class - first] = narrow(weight - self.shifts[term]);
            });
        }
        weights
    }
}

/// Some documents against one block of classes.
struct Pass<'a> {
    documents: &'a CsMat<f32>,
    /// The first of the documents that `best` is of.
    start: usize,
    best: &'a mut [(usize, f64)],
    /// Term by term, `vectors` vectors each.
    weights: &'a [f32],
    vectors: usize,
    /// Of the classes of the block; the lanes beyond them mean nothing.
    priors: &'a [f64],
    /// The first of the classes.
    first: usize,
}

impl WithSimd for Pass<'_> {
    type Output = ();

    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "what is not inlined is not compiled for the vectors of the machine"
    )]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.vectors {
            1 => self.run::<S, 1>(simd),
            2 => self.run::<S, 2>(simd),
            3 => self.run::<S, 3>(simd),
            4 => self.run::<S, 4>(simd),
            5 => self.run::<S, 5>(simd),
            _ => self.run::<S, VECTORS_MAX>(simd),
        }
    }
}

#[allow(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for the vectors of the machine"
)]
impl Pass<'_> {
    #[inline(always)]
    fn run<S: Simd, const VECTORS: usize>(self, simd: S) {
        let (weights, _) = S::as_simd_f32s(self.weights);
        let (weights, _) = weights.as_chunks::<VECTORS>();
        for (document, best) in (self.start..).zip(self.best.iter_mut()) {
            let Some(document) = self.documents.outer_view(document) else {
                continue;
            };
            let sums = sums(simd, weights, document.indices(), document.data());
            let sums: &[f32] = cast_slice(&sums);
            for (place, (sum, prior)) in sums.iter().zip(self.priors).enumerate() {
                let score = prior + f64::from(*sum);
                if score > best.1 {
                    *best = (self.first + place, score);
                }
            }
        }
    }
}

/// The scores of one document without the priors. Terms take turns with two sets of sums while there
/// are registers for two: an addition need not wait for the one before it then.
#[inline(always)]
#[allow(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for the vectors of the machine"
)]
fn sums<S: Simd, const VECTORS: usize>(
    simd: S,
    weights: &[[S::f32s; VECTORS]],
    terms: &[usize],
    counts: &[f32],
) -> [S::f32s; VECTORS] {
    let add = |sums: &mut [S::f32s; VECTORS], term: usize, n: f32| {
        let Some(weights) = weights.get(term) else {
            return;
        };
        let n = simd.splat_f32s(n);
        for (sum, weight) in sums.iter_mut().zip(weights) {
            // Not fused: the same labels on all machines.
            *sum = simd.add_f32s(*sum, simd.mul_f32s(n, *weight));
        }
    };
    let mut even = [simd.splat_f32s(0.0); VECTORS];
    let mut odd = even;
    if VECTORS > VECTORS_MAX / 2 {
        for (term, n) in terms.iter().zip(counts) {
            add(&mut even, *term, *n);
        }
        return even;
    }
    let (term_pairs, last_term) = terms.as_chunks();
    let (count_pairs, last_count) = counts.as_chunks();
    for ([term, next_term], [n, next_n]) in term_pairs.iter().zip(count_pairs) {
        add(&mut even, *term, *n);
        add(&mut odd, *next_term, *next_n);
    }
    for (term, n) in last_term.iter().zip(last_count) {
        add(&mut even, *term, *n);
    }
    for (sum, odd) in even.iter_mut().zip(odd) {
        *sum = simd.add_f32s(*sum, odd);
    }
    even
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::critic::bayes::{ClassCounts, Priors};
    use crate::critic::weights::Postings;

    proptest! {
        /// Up to 70 classes: more than one block of them, whose weights are kept or are not.
        #[test]
        fn the_best_class_is_that_of_the_scores(
            classes in prop::collection::vec(prop::collection::vec(0..9_u64, 6), 1..70),
            bag in prop::collection::btree_map(0..6_u32, 1..9_u32, 0..6),
        ) {
            let seen = |counts: Vec<u64>| (0..).zip(counts).filter(|(_, n)| *n > 0).collect();
            let class = |counts| ClassCounts { documents: 1, terms: seen(counts), background: 0 };
            let model = SparseNb {
                alpha: 0.5,
                priors: Priors::Flat,
                terms: 6,
                classes: classes.into_iter().map(class).collect(),
            };
            let bag: Vec<(u32, u32)> = bag.into_iter().collect();
            let counts = SparseCounts::from_bags(6, [bag.as_slice()]).unwrap();
            let said = Labeller::of(&model).predict(&counts)[0];
            prop_assert_eq!(Labeller::within(0, &model).predict(&counts)[0], said);
            let mut scores = Vec::new();
            Postings::of(&model).score(&bag, &mut scores);
            let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(best - scores[said] < 1e-4, "{said}: {scores:?}");
        }
    }
}
