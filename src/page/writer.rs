//! The words and leaves of a page, numbered as they come.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{Page, PageLimits};
use crate::text::for_each_word;

/// Distinct words that there is room for from the start: those of a usual page.
const VOCABULARY_USUAL: usize = 256;

/// Reads plain text: one leaf a line.
pub(super) fn read_text(text: &str, limits: &PageLimits) -> Page {
    let mut writer = Writer::new(limits.leaves_max);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        writer.add_words(line);
        writer.end_leaf();
    }
    writer.finish()
}

/// The words and leaves of a page in the making.
pub(super) struct Writer {
    /// What stands so far.
    pub(super) page: Page,
    index: Index,
    leaves_max: usize,
}

/// The numbers of words, found by hash; the words themselves stand in the vocabulary.
struct Index {
    numbers: HashTable<u32>,
    /// Drawn anew for each page, so that none can be made whose words collide.
    seed: u64,
}

impl Writer {
    pub(super) fn new(leaves_max: usize) -> Self {
        Self {
            page: Page::default(),
            index: Index {
                numbers: HashTable::with_capacity(VOCABULARY_USUAL),
                seed: RandomState::new().hash_one(()),
            },
            leaves_max,
        }
    }

    pub(super) fn leaves(&self) -> usize {
        self.page.leaf_ends.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.leaves() >= self.leaves_max
    }

    /// Whether pages without leaves are asked for, so that no link can have one.
    pub(super) fn takes_no_leaf(&self) -> bool {
        self.leaves_max == 0
    }

    /// Adds words to the leaf that ends next.
    pub(super) fn add_words(&mut self, text: &str) {
        if self.is_full() {
            return;
        }
        let Self { page, index, .. } = self;
        for_each_word(text, |word| {
            let number = index.number_of(word, &mut page.vocabulary);
            page.words.push(number);
        });
    }

    pub(super) fn end_leaf(&mut self) {
        if !self.is_full() {
            self.page.leaf_ends.push(count(self.page.words.len()));
        }
    }

    pub(super) fn set_title(&mut self, title: String) {
        let Self { page, index, .. } = self;
        for_each_word(&title, |word| {
            let number = index.number_of(word, &mut page.vocabulary);
            page.title_words.push(number);
        });
        self.page.title = title;
    }

    pub(super) fn finish(self) -> Page {
        self.page
    }
}

impl Index {
    fn number_of(&mut self, word: &str, vocabulary: &mut Vec<String>) -> u32 {
        let seed = self.seed;
        let hash = xxh3_64_with_seed(word.as_bytes(), seed);
        let named = |number: u32| vocabulary.get(number as usize).map_or("", String::as_str);
        if let Some(number) = self.numbers.find(hash, |number| named(*number) == word) {
            return *number;
        }
        let number = count(vocabulary.len());
        self.numbers.insert_unique(hash, number, |number| {
            xxh3_64_with_seed(named(*number).as_bytes(), seed)
        });
        vocabulary.push(word.to_owned());
        number
    }
}

/// A count as it is stored; a body of 4 GB would be needed to pass the range.
pub(super) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
