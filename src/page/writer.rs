//! The words and leaves of a page, numbered as they come.

use std::collections::HashMap;

use super::{Page, PageLimits};
use crate::text::for_each_word;

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
    index: HashMap<String, u32>,
    leaves_max: usize,
}

impl Writer {
    pub(super) fn new(leaves_max: usize) -> Self {
        Self {
            page: Page::default(),
            index: HashMap::new(),
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
            let number = number_of(word, index, &mut page.vocabulary);
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
            let number = number_of(word, index, &mut page.vocabulary);
            page.title_words.push(number);
        });
        self.page.title = title;
    }

    pub(super) fn finish(self) -> Page {
        self.page
    }
}

fn number_of(word: &str, index: &mut HashMap<String, u32>, vocabulary: &mut Vec<String>) -> u32 {
    if let Some(number) = index.get(word) {
        return *number;
    }
    let number = count(vocabulary.len());
    vocabulary.push(word.to_owned());
    index.insert(word.to_owned(), number);
    number
}

/// A count as it is stored; a body of 4 GB would be needed to pass the range.
pub(super) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
