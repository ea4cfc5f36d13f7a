//! Counting: the documents of each class, term by term.

use sprs::CsMat;

use crate::critic::bayes::ClassCounts;
use crate::critic::sparse::index;

/// To look through a dense row of sums costs less for each term than to sort the terms that were
/// touched does for each of those; how many times less.
const SCAN_GAIN: usize = 16;

/// Sums the documents of each class, terms rising. `labels` has a class for each row of `documents`,
/// which are whole numbers.
///
/// Class by class over one dense row of sums, so that no list of terms is ever sorted as a whole. The
/// sums are exact: 2^53 is that of 2^29 documents that repeat one term as often as a document may.
pub(super) fn tally(
    documents: &CsMat<f32>,
    labels: impl Iterator<Item = usize>,
) -> Vec<ClassCounts> {
    let mut sums = vec![0.0_f64; documents.cols()];
    let members = members_of(labels).into_iter();
    let tally = members.map(|members| {
        let mut entries = 0;
        let views = members.iter().filter_map(|row| documents.outer_view(*row));
        for document in views.clone() {
            add(&mut sums, document.indices(), document.data());
            entries += document.nnz();
        }
        let terms = if entries.saturating_mul(SCAN_GAIN) > sums.len() {
            scanned(&mut sums)
        } else {
            let touched = views.flat_map(|document| document.indices().to_vec());
            picked(touched.collect(), &mut sums)
        };
        ClassCounts {
            terms,
            documents: members.len() as u64,
            background: 0,
        }
    });
    tally.collect()
}

fn add(sums: &mut [f64], terms: &[usize], counts: &[f32]) {
    for (term, n) in terms.iter().zip(counts) {
        sums[*term] += f64::from(*n);
    }
}

/// The numbers of the documents of each class.
fn members_of(labels: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (document, label) in labels.enumerate() {
        if members.len() <= label {
            members.resize_with(label + 1, Vec::new);
        }
        members[label].push(document);
    }
    members
}

/// Takes all sums above 0 out. Each term is written down and kept if it has a sum: whether the next
/// one has is nothing that the processor could guess.
fn scanned(sums: &mut [f64]) -> Vec<(u32, u64)> {
    let mut terms = vec![(0, 0); sums.iter().filter(|sum| **sum > 0.0).count() + 1];
    let mut kept = 0;
    for (term, sum) in sums.iter_mut().enumerate() {
        terms[kept] = (index(term), count(*sum));
        kept += usize::from(*sum > 0.0);
        *sum = 0.0;
    }
    terms.truncate(kept);
    terms
}

/// Takes the sums above 0 of the terms in `touched` out.
fn picked(mut touched: Vec<usize>, sums: &mut [f64]) -> Vec<(u32, u64)> {
    touched.sort_unstable();
    touched.dedup();
    let terms = touched.into_iter();
    let terms = terms.map(|term| (index(term), count(std::mem::take(&mut sums[term]))));
    terms.filter(|(_, n)| *n > 0).collect()
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a sum of counts, whole and not below 0"
)]
fn count(sum: f64) -> u64 {
    sum as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::critic::sparse::SparseCounts;

    proptest! {
        /// Of 400 terms a document has up to 6: classes of few of them are sorted, of many scanned.
        #[test]
        fn each_class_has_the_sums_of_its_documents(
            documents in prop::collection::vec(
                (0..4_usize, prop::collection::btree_map(0..400_u32, 1..9_u32, 0..6)),
                0..60,
            ),
        ) {
            let bags = documents.iter().map(|(_, bag)| bag.clone().into_iter().collect::<Vec<_>>());
            let bags: Vec<_> = bags.collect();
            let counts = SparseCounts::from_bags(400, bags.iter().map(Vec::as_slice)).unwrap();
            let said = tally(counts.as_matrix(), documents.iter().map(|(class, _)| *class));
            let mut sums: Vec<BTreeMap<u32, u64>> = vec![BTreeMap::new(); said.len()];
            let mut sizes = vec![0_u64; said.len()];
            for (class, bag) in &documents {
                sizes[*class] += 1;
                for (term, n) in bag {
                    *sums[*class].entry(*term).or_default() += u64::from(*n);
                }
            }
            for ((said, sums), size) in said.into_iter().zip(sums).zip(sizes) {
                prop_assert_eq!(said.terms, sums.into_iter().collect::<Vec<_>>());
                prop_assert_eq!(said.documents, size);
            }
        }
    }

    #[test]
    fn a_count_of_zero_that_the_records_hold_is_no_term() {
        let records = CsMat::new((1, 40), vec![0, 2], vec![3, 7], vec![0.0_f32, 2.0]);
        let few = tally(&records, [0].into_iter());
        assert_eq!(few[0].terms, [(7, 2)]);
        // So few of so many are sorted, not scanned.
        let wide = CsMat::new((1, 640), vec![0, 2], vec![3, 7], vec![0.0_f32, 2.0]);
        assert_eq!(tally(&wide, [0].into_iter())[0].terms, [(7, 2)]);
    }
}
