//! Sentences, titles and paths from word lists.

use rand::{Rng, RngExt};

use super::lexicon::Lexicon;

/// How a page's words are mixed, in percent; what is left is common words.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mixture {
    /// What the page is about.
    pub(super) topic: usize,
    pub(super) topic_percent: u32,
    /// What it mentions.
    pub(super) other: usize,
    pub(super) other_percent: u32,
}

impl Mixture {
    fn word<'a>(&self, lexicon: &'a Lexicon, rng: &mut impl Rng) -> &'a str {
        let at = rng.random_range(0..100);
        if at < self.topic_percent {
            lexicon.word(self.topic, rng)
        } else if at < self.topic_percent + self.other_percent {
            lexicon.word(self.other, rng)
        } else {
            lexicon.common_word(rng)
        }
    }

    /// `words` words and a full stop, the first letter a capital.
    pub(super) fn sentence(&self, lexicon: &Lexicon, words: usize, rng: &mut impl Rng) -> String {
        let words: Vec<&str> = (0..words).map(|_| self.word(lexicon, rng)).collect();
        format!("{}.", capital(&words.join(" ")))
    }
}

/// The title of a page about `topic`.
pub(super) fn title(lexicon: &Lexicon, topic: usize, rng: &mut impl Rng) -> String {
    let a = lexicon.word(topic, rng).to_owned();
    let b = lexicon.word(topic, rng).to_owned();
    let title = match rng.random_range(0..6) {
        0 => format!("{a} and {b}"),
        1 => format!("notes on {a} {b}"),
        2 => format!("the {a} {b}"),
        3 => format!("{a} before {b}"),
        4 => format!("a year of {a}"),
        _ => format!("{a}, {b} and {}", lexicon.word(topic, rng)),
    };
    capital(&title)
}

/// The title of a hub about `topic`.
pub(super) fn hub_title(lexicon: &Lexicon, topic: usize, rng: &mut impl Rng) -> String {
    let name = capital(&lexicon.topics[topic].name);
    match rng.random_range(0..3) {
        0 => format!("{name} corner"),
        1 => format!("Good pages on {}", lexicon.topics[topic].name),
        _ => format!("{name} links"),
    }
}

/// A title as a part of a path.
pub(super) fn slug(title: &str) -> String {
    let title = title.to_lowercase();
    let words = title.split(|c: char| !c.is_ascii_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

/// `text` with its first letter in upper case.
pub(super) fn capital(text: &str) -> String {
    let mut signs = text.chars();
    match signs.next() {
        Some(first) => first.to_uppercase().chain(signs).collect(),
        None => String::new(),
    }
}
