//! The best class of each of many documents at once.
//!
//! A judge of one page reads a row of weights of all classes for each term, most of it from memory. Of
//! many documents only some classes at a time are scored, so few that their weights of all terms stay
//! in the cache, for all documents; each keeps the best class so far.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::thread;

use sprs::CsMat;

use crate::critic::bayes::SparseNb;
use crate::critic::weights::{Background, log_priors, log_totals, narrow};

/// A core of its own is worth its while for so many documents.
const DOCUMENTS_A_CORE: usize = 2_000;

/// For each row of `documents` the number of its best class; of equally good ones the first.
pub(super) fn best_classes(model: &SparseNb, documents: &CsMat<f32>) -> Vec<usize> {
    let made = Made::of(model);
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let workers = (documents.rows() / DOCUMENTS_A_CORE).clamp(1, cores);
    let part = documents.rows().div_ceil(workers).max(1);
    let parts = (0..documents.rows()).step_by(part);
    let parts = parts.map(|start| start..documents.rows().min(start + part));
    thread::scope(|scope| {
        let made = &made;
        let workers: Vec<_> = parts
            .map(|rows| scope.spawn(move || made.best_of(documents, rows)))
            .collect();
        let joined = workers.into_iter().map(|worker| match worker.join() {
            Ok(best) => best,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.flatten().collect()
    })
}

/// What all blocks of classes need.
struct Made {
    priors: Vec<f64>,
    /// Weights of the terms that a class has, less the shift of the term.
    seen: Vec<Vec<(u32, f32)>>,
    /// Weight of a term that a class has not, without the shift.
    unseen: Vec<f64>,
    /// Of each term the greatest weight of a class that has it: weights are taken less that, which
    /// changes no difference between classes and keeps those that matter near 0, where f32 is finest.
    shifts: Vec<f64>,
}

impl Made {
    fn of(model: &SparseNb) -> Self {
        let background = Background::of(model);
        let totals = log_totals(model, &background);
        let log_alpha = model.alpha.ln();
        let unseen: Vec<f64> = totals.iter().map(|total| log_alpha - total).collect();
        let mut shifts = vec![f64::NEG_INFINITY; model.terms];
        let mut seen = Vec::with_capacity(model.classes.len());
        for (class, total) in model.classes.iter().zip(&totals) {
            let mut weights = background.mixed(class);
            for (term, n) in &mut weights {
                *n = (*n + model.alpha).ln() - total;
                let shift = &mut shifts[*term as usize];
                *shift = shift.max(*n);
            }
            seen.push(weights);
        }
        let most = unseen.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for shift in shifts.iter_mut().filter(|shift| shift.is_infinite()) {
            *shift = most;
        }
        let less = |(term, weight): (u32, f64)| (term, narrow(weight - shifts[term as usize]));
        let seen = seen
            .into_iter()
            .map(|weights| weights.into_iter().map(less).collect());
        Self {
            priors: log_priors(model),
            seen: seen.collect(),
            unseen,
            shifts,
        }
    }

    /// As wide as the classes need, and no wider than the cache holds for all terms. (32 was measured to
    /// take four times as long as 64: its loop is unrolled whole and not vectorised.)
    fn best_of(&self, documents: &CsMat<f32>, rows: Range<usize>) -> Vec<usize> {
        match self.priors.len() {
            0..=8 => self.best::<8>(documents, rows),
            9..=16 => self.best::<16>(documents, rows),
            _ => self.best::<64>(documents, rows),
        }
    }

    fn best<const WIDTH: usize>(&self, documents: &CsMat<f32>, range: Range<usize>) -> Vec<usize> {
        let mut best = vec![(0, f64::NEG_INFINITY); range.len()];
        let mut rows = vec![[0.0_f32; WIDTH]; self.shifts.len()];
        for first in (0..self.priors.len()).step_by(WIDTH) {
            self.fill(first, &mut rows);
            let priors = self.priors.iter().skip(first).take(WIDTH);
            let documents = documents.outer_iterator().skip(range.start);
            for (document, best) in documents.zip(&mut best) {
                let mut sums = [0.0_f32; WIDTH];
                for (term, n) in document.iter() {
                    for (sum, weight) in sums.iter_mut().zip(&rows[term]) {
                        *sum += n * weight;
                    }
                }
                for (class, (sum, prior)) in sums.iter().zip(priors.clone()).enumerate() {
                    let score = prior + f64::from(*sum);
                    if score > best.1 {
                        *best = (first + class, score);
                    }
                }
            }
        }
        best.into_iter().map(|(class, _)| class).collect()
    }

    /// The weights of the classes from `first` on.
    fn fill<const WIDTH: usize>(&self, first: usize, rows: &mut [[f32; WIDTH]]) {
        let mut unseen = [0.0_f64; WIDTH];
        let of_classes = self.unseen.iter().skip(first);
        unseen
            .iter_mut()
            .zip(of_classes)
            .for_each(|(to, from)| *to = *from);
        for (row, shift) in rows.iter_mut().zip(&self.shifts) {
            for (weight, unseen) in row.iter_mut().zip(&unseen) {
                *weight = narrow(unseen - shift);
            }
        }
        let classes = self.seen.iter().skip(first).take(WIDTH);
        for (place, weights) in classes.enumerate() {
            for (term, weight) in weights {
                rows[*term as usize][place] = *weight;
            }
        }
    }
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
