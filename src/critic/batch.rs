//! The best class of each of many documents at once.
//!
//! A judge of one page reads a row of weights of all classes for each term, most of it from memory. Of
//! many documents only some classes at a time are scored, so few that their sums stay in registers and
//! their weights of all terms in the cache, for all documents; each keeps the best class so far.

use std::num::NonZeroUsize;
use std::thread;

use pulp::bytemuck::cast_slice;
use pulp::{Arch, Scalar256b, Simd, WithSimd};
use sprs::CsMat;

use crate::critic::bayes::{ClassCounts, SparseNb};
use crate::critic::weights::{Background, Logs, log_priors, log_totals, narrow};

/// Vectors of sums that fit into the registers of any machine beside what else is needed.
const VECTORS_MAX: usize = 6;
/// A core of its own is worth its while for so many products of a vector: 0.1 ms or so, against the
/// 0.03 that it takes to start a thread.
const PRODUCTS_A_CORE: usize = 200_000;

/// For each row of `documents` the number of its best class; of equally good ones the first. Terms that
/// the model does not have count for nothing.
pub(super) fn best_classes(model: &SparseNb, documents: &CsMat<f32>) -> Vec<usize> {
    let machine = Arch::new();
    let lanes = dispatch(machine, Lanes);
    let vectors = vectors_for(model.classes.len(), lanes);
    let width = vectors * lanes;
    let made = Made::of(model);
    let mut best = vec![(0, f64::NEG_INFINITY); documents.rows()];
    let mut weights = vec![0.0; model.terms * width];
    let part = documents_a_core(documents, vectors);
    for first in (0..model.classes.len()).step_by(width) {
        made.fill(first, width, &mut weights);
        let priors = &made.priors[first..made.priors.len().min(first + width)];
        let pass = |(start, best)| Pass {
            documents,
            start,
            best,
            weights: &weights,
            vectors,
            priors,
            first,
        };
        let mut passes = (0..).step_by(part).zip(best.chunks_mut(part)).map(pass);
        let own = passes.next();
        thread::scope(|scope| {
            for pass in passes {
                scope.spawn(move || dispatch(machine, pass));
            }
            if let Some(pass) = own {
                dispatch(machine, pass);
            }
        });
    }
    best.into_iter().map(|(class, _)| class).collect()
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

    /// Writes the weights of `width` classes from `first` on, term by term.
    fn fill(&self, first: usize, width: usize, weights: &mut [f32]) {
        let totals = self.totals.iter().skip(first).take(width);
        let mut unseen: Vec<f32> = totals
            .map(|total| narrow(self.logs.zero() - total))
            .collect();
        unseen.resize(width, 0.0);
        for (row, shift) in weights.chunks_exact_mut(width).zip(&self.shifts) {
            let shift = narrow(*shift);
            for (weight, unseen) in row.iter_mut().zip(&unseen) {
                *weight = unseen - shift;
            }
        }
        for class in first..self.classes.len().min(first + width) {
            self.weights_of(class, |term, weight| {
                weights[term * width + class - first] = narrow(weight - self.shifts[term]);
            });
        }
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
        for (document, best) in (self.start..).zip(self.best.iter_mut()) {
            let Some(document) = self.documents.outer_view(document) else {
                continue;
            };
            let sums: [S::f32s; VECTORS] =
                sums(simd, self.weights, document.indices(), document.data());
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
    weights: &[f32],
    terms: &[usize],
    counts: &[f32],
) -> [S::f32s; VECTORS] {
    let width = VECTORS * S::F32_LANES;
    let add = |sums: &mut [S::f32s; VECTORS], term: usize, n: f32| {
        let row = weights.get(term * width..).unwrap_or_default();
        let (row, _) = S::as_simd_f32s(row);
        let Some(row) = row.first_chunk::<VECTORS>() else {
            return;
        };
        let n = simd.splat_f32s(n);
        for (sum, weight) in sums.iter_mut().zip(row) {
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
    use crate::critic::sparse::SparseCounts;
    use crate::critic::weights::Postings;

    proptest! {
        /// Up to 70 classes: more than one block of them.
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
            let said = best_classes(&model, counts.as_matrix())[0];
            let mut scores = Vec::new();
            Postings::of(&model).score(&bag, &mut scores);
            let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(best - scores[said] < 1e-4, "{said}: {scores:?}");
        }
    }
}
