//! The best class of each of many documents at once.
//!
//! A judge of one page reads a row of weights of all classes for each term, most of it from memory. Of
//! many documents only some classes at a time are scored, so few that their weights of all terms stay
//! in the cache, for all documents; each keeps the best class so far.

use sprs::CsMat;

use crate::critic::bayes::SparseNb;
use crate::critic::weights::{Background, log_priors, log_totals, narrow};

/// For each row of `documents` the number of its best class; of equally good ones the first.
pub(super) fn best_classes(model: &SparseNb, documents: &CsMat<f32>) -> Vec<usize> {
    let made = Made::of(model);
    // As wide as the classes need, and no wider than the cache holds for all terms.
    match model.classes.len() {
        0..=8 => made.best::<8>(documents),
        9..=16 => made.best::<16>(documents),
        17..=32 => made.best::<32>(documents),
        _ => made.best::<64>(documents),
    }
}

/// What all blocks of classes need.
struct Made<'a> {
    model: &'a SparseNb,
    background: Background,
    priors: Vec<f64>,
    totals: Vec<f64>,
    /// Of each term the greatest weight of a class that has it: weights are taken less that, which
    /// changes no difference between classes and keeps those that matter near 0, where f32 is finest.
    shifts: Vec<f64>,
}

impl<'a> Made<'a> {
    fn of(model: &'a SparseNb) -> Self {
        let background = Background::of(model);
        let totals = log_totals(model, &background);
        let mut shifts = vec![f64::NEG_INFINITY; model.terms];
        let least = totals.iter().copied().fold(f64::INFINITY, f64::min);
        for (class, total) in model.classes.iter().zip(&totals) {
            for (term, n) in background.mixed(class) {
                let shift = &mut shifts[term as usize];
                *shift = shift.max((n + model.alpha).ln() - total);
            }
        }
        for shift in shifts.iter_mut().filter(|shift| shift.is_infinite()) {
            *shift = model.alpha.ln() - least;
        }
        Self {
            model,
            priors: log_priors(model),
            background,
            totals,
            shifts,
        }
    }

    fn best<const WIDTH: usize>(&self, documents: &CsMat<f32>) -> Vec<usize> {
        let mut best = vec![(0, f64::NEG_INFINITY); documents.rows()];
        let mut rows = vec![[0.0_f32; WIDTH]; self.model.terms];
        for first in (0..self.model.classes.len()).step_by(WIDTH) {
            self.fill(first, &mut rows);
            let priors = self.priors.iter().skip(first).take(WIDTH);
            for (document, best) in documents.outer_iterator().zip(&mut best) {
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
        let log_alpha = self.model.alpha.ln();
        let mut unseen = [0.0_f64; WIDTH];
        for (unseen, total) in unseen.iter_mut().zip(self.totals.iter().skip(first)) {
            *unseen = log_alpha - total;
        }
        for (row, shift) in rows.iter_mut().zip(&self.shifts) {
            for (weight, unseen) in row.iter_mut().zip(&unseen) {
                *weight = narrow(unseen - shift);
            }
        }
        let classes = self.model.classes.iter().zip(&self.totals).skip(first);
        for (place, (class, total)) in classes.take(WIDTH).enumerate() {
            for (term, n) in self.background.mixed(class) {
                let weight = (n + self.model.alpha).ln() - total - self.shifts[term as usize];
                rows[term as usize][place] = narrow(weight);
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
