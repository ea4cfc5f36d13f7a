//! Words that a cut has left out although many pages have them, with their counts.
//!
//! A vocabulary is cut for the topics that it is cut on: of the words that are as frequent in all of
//! them, or that say too little, the model knows nothing more. A topic that is added later may live by
//! such a word, and to take it up the model has to know how often the other classes use it. Words below
//! the floor of documents are not kept: to them a count of 0 is near enough.

use crate::critic::sparse::index;
use crate::critic::trainer::TrainingPage;

/// More words than this are not kept; the rarest go.
const WORDS_MAX: usize = 50_000;

/// Words that are no terms of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reserve {
    /// Sorted.
    pub(super) words: Vec<String>,
    /// In how many training documents each of them stands.
    pub(super) documents: Vec<u32>,
    /// For each class the (word, occurrences) of those that it has, by rising word.
    pub(super) classes: Vec<Vec<(u32, u64)>>,
}

impl Reserve {
    /// The words of `pages` that stand in at least `documents_min` of them and are no `terms` (sorted,
    /// as `words` is); pages have words by their places in `words`, and one of `classes` classes.
    pub(super) fn of(
        pages: &[TrainingPage],
        words: &[String],
        terms: &[u32],
        documents_min: u32,
        classes: usize,
    ) -> Self {
        let mut documents = vec![0_u32; words.len()];
        for (word, _) in pages.iter().flat_map(|page| &page.bag) {
            documents[*word as usize] += 1;
        }
        let mut kept: Vec<u32> = (0..index(words.len()))
            .filter(|word| documents[*word as usize] >= documents_min.max(2))
            .filter(|word| terms.binary_search(word).is_err())
            .collect();
        if kept.len() > WORDS_MAX {
            kept.sort_by_key(|word| (std::cmp::Reverse(documents[*word as usize]), *word));
            kept.truncate(WORDS_MAX);
            kept.sort_unstable();
        }
        let mut counts = vec![Vec::new(); classes];
        for page in pages {
            let both = page.bag.iter().filter_map(|(word, n)| {
                let place = kept.binary_search(word).ok()?;
                Some((index(place), u64::from(*n)))
            });
            counts[usize::from(page.class)].extend(both);
        }
        for class in &mut counts {
            sum_up(class);
        }
        Self {
            words: kept.iter().map(|w| words[*w as usize].clone()).collect(),
            documents: kept.iter().map(|w| documents[*w as usize]).collect(),
            classes: counts,
        }
    }
}

/// Sorts counts and puts those of one word together.
pub(super) fn sum_up(counts: &mut Vec<(u32, u64)>) {
    counts.sort_unstable();
    counts.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(later.1);
        }
        same
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_words_that_are_no_terms_are_kept_with_their_counts() {
        let page = |class, bag: &[(u32, u32)]| TrainingPage {
            class,
            url: String::new(),
            bag: bag.to_vec(),
        };
        let words = ["everywhere", "once", "term", "twice"].map(str::to_owned);
        let pages = [
            page(0, &[(0, 2), (2, 1)]),
            page(0, &[(0, 3), (3, 1)]),
            page(1, &[(0, 1), (1, 9), (3, 4)]),
        ];
        let reserve = Reserve::of(&pages, &words, &[2], 2, 2);
        assert_eq!(reserve.words, ["everywhere", "twice"]);
        assert_eq!(reserve.documents, [3, 2]);
        assert_eq!(
            reserve.classes,
            [vec![(0, 5), (1, 1)], vec![(0, 1), (1, 4)]]
        );
    }
}
