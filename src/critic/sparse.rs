//! Documents as sparse counts of terms, in the form that linfa's traits ask for.

use linfa::dataset::Records;
use sprs::CsMat;

use crate::critic::bayes::SparseNbError;

/// The largest count of a term in one document: the last up to which f32 holds every whole number.
pub const COUNT_MAX: u32 = 1 << 24;

/// One document as (term, count), by rising term, counts above 0.
pub type Bag = Vec<(u32, u32)>;

/// How many terms a document has, repeated ones as often as they occur.
pub(super) fn length_of(bag: &[(u32, u32)]) -> u64 {
    bag.iter().map(|(_, count)| u64::from(*count)).sum()
}

/// A row for each document, a column for each term, in compressed rows.
///
/// linfa-bayes takes dense records only, and sprs has no [`Records`] of its own: hence this type.
/// All entries are whole numbers from 0 to [`COUNT_MAX`].
#[derive(Clone, Debug)]
pub struct SparseCounts(CsMat<f32>);

impl SparseCounts {
    /// Takes a matrix of counts over.
    pub fn new(counts: CsMat<f32>) -> Result<Self, SparseNbError> {
        let whole = |count: &f32| {
            count.fract() == 0.0 && (0.0..=f64::from(COUNT_MAX)).contains(&f64::from(*count))
        };
        if let Some(wrong) = counts.data().iter().find(|count| !whole(count)) {
            return Err(SparseNbError::NotACount(*wrong));
        }
        Ok(Self(counts.into_csr()))
    }

    /// Makes the matrix of `bags` over `terms` terms.
    ///
    /// Counts above [`COUNT_MAX`] are cut; an error names the first term that is not below `terms`.
    pub fn from_bags<'a>(
        terms: usize,
        bags: impl IntoIterator<Item = &'a [(u32, u32)]>,
    ) -> Result<Self, SparseNbError> {
        let mut ends = vec![0];
        let mut columns = Vec::new();
        let mut counts = Vec::new();
        for bag in bags {
            for &(term, count) in bag {
                if term as usize >= terms {
                    return Err(SparseNbError::TermOutside { term, terms });
                }
                columns.push(term as usize);
                // Exact: COUNT_MAX is the last whole number of which this holds.
                counts.push(count.min(COUNT_MAX) as f32);
            }
            ends.push(columns.len());
        }
        let shape = (ends.len() - 1, terms);
        let matrix = CsMat::new_from_unsorted(shape, ends, columns, counts)
            .map_err(|(.., error)| SparseNbError::Shape(error.to_string()))?;
        Ok(Self(matrix))
    }

    /// The matrix.
    pub fn as_matrix(&self) -> &CsMat<f32> {
        &self.0
    }

    /// The documents, in order.
    pub fn bags(&self) -> impl Iterator<Item = Bag> + '_ {
        self.0.outer_iterator().map(|row| {
            row.iter()
                .filter(|(_, count)| **count > 0.0)
                .map(|(term, count)| (index(term), whole(*count)))
                .collect()
        })
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked by the constructors: a whole number from 0 to COUNT_MAX"
)]
pub(super) fn whole(count: f32) -> u32 {
    count as u32
}

/// A term's or class's index, of which there are fewer than 2^32.
pub(super) fn index(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

impl Records for SparseCounts {
    type Elem = f32;

    fn nsamples(&self) -> usize {
        self.0.rows()
    }

    fn nfeatures(&self) -> usize {
        self.0.cols()
    }
}
