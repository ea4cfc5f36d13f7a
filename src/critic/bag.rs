//! From a page to its counts of terms.

use crate::critic::sparse::{Bag, COUNT_MAX};
use crate::page::Page;

/// Counts the words of title and leaves that `term_of` has a number for.
///
/// Words are looked up once a page, not once an occurrence.
pub(super) fn bag_of(page: &Page, mut term_of: impl FnMut(&str) -> Option<u32>) -> Bag {
    let mut counts = vec![0_u32; page.vocabulary.len()];
    for word in page.title_words.iter().chain(&page.words) {
        if let Some(count) = counts.get_mut(*word as usize) {
            *count = (*count + 1).min(COUNT_MAX);
        }
    }
    let mut bag: Bag = page
        .vocabulary
        .iter()
        .zip(counts)
        .filter(|(_, count)| *count > 0)
        .filter_map(|(word, count)| Some((term_of(word)?, count)))
        .collect();
    bag.sort_unstable();
    bag.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.1 = (kept.1 + later.1).min(COUNT_MAX);
        }
        same
    });
    bag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_and_leaves_are_counted_together_and_unknown_words_left_out() {
        let page = Page {
            title_words: vec![1],
            vocabulary: vec!["sql".into(), "index".into(), "foo".into()],
            words: vec![0, 1, 0, 2, 99],
            ..Page::default()
        };
        let bag = bag_of(&page, |word| match word {
            "sql" => Some(7),
            "index" => Some(3),
            _ => None,
        });
        assert_eq!(bag, [(3, 2), (7, 2)]);
    }
}
