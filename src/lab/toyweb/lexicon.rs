//! The words that the web is made of.

use rand::{Rng, RngExt};

/// What `taxonomy/demo/topics.toml` says.
const TOPICS: &str = include_str!("../../../taxonomy/demo/topics.toml");

/// The embedded file, words split.
#[derive(Clone, Debug)]
pub(super) struct Lexicon {
    /// Words of every page.
    pub(super) common: Vec<String>,
    /// `general` last.
    pub(super) topics: Vec<Topic>,
    /// Hosts that have pages.
    pub(super) hosts: Vec<HostName>,
}

/// A topic and its words.
#[derive(Clone, Debug)]
pub(super) struct Topic {
    pub(super) name: String,
    /// Its weight among the articles; 0 for a topic without articles.
    pub(super) share: u32,
    /// The frequent ones first.
    pub(super) words: Vec<String>,
}

/// A host's address and what it calls itself.
#[derive(Clone, Debug, serde::Deserialize)]
pub(super) struct HostName {
    pub(super) name: String,
    pub(super) title: String,
}

#[derive(serde::Deserialize)]
struct File {
    common: String,
    topic: Vec<TopicEntry>,
    host: Vec<HostName>,
}

#[derive(serde::Deserialize)]
struct TopicEntry {
    name: String,
    share: u32,
    words: String,
}

impl Lexicon {
    /// Reads the embedded file, which is part of the program: every test of this folder reads it.
    pub(super) fn embedded() -> Self {
        let file: File = toml::from_str(TOPICS).expect("the embedded topics.toml parses");
        let split = |words: &str| words.split_whitespace().map(str::to_owned).collect();
        let topics = file.topic.iter().map(|entry| Topic {
            name: entry.name.clone(),
            share: entry.share,
            words: split(&entry.words),
        });
        Self {
            common: split(&file.common),
            topics: topics.collect(),
            hosts: file.host,
        }
    }

    /// The place of `general`.
    pub(super) fn general(&self) -> usize {
        self.topics.len() - 1
    }

    /// A word of a topic, the first ones of its list more often.
    pub(super) fn word(&self, topic: usize, rng: &mut impl Rng) -> &str {
        skewed(&self.topics[topic].words, rng)
    }

    /// A word of every page.
    pub(super) fn common_word(&self, rng: &mut impl Rng) -> &str {
        skewed(&self.common, rng)
    }

    /// A topic by the weights that `weight` gives; `general` if all are 0.
    pub(super) fn draw(&self, weight: impl Fn(usize) -> u32, rng: &mut impl Rng) -> usize {
        let weights: Vec<u32> = (0..self.topics.len()).map(weight).collect();
        draw(&weights, rng).unwrap_or(self.general())
    }
}

/// A place by weight; `None` if all weights are 0. Whole numbers, so the same on every machine.
pub(super) fn draw(weights: &[u32], rng: &mut impl Rng) -> Option<usize> {
    let total: u32 = weights.iter().sum();
    if total == 0 {
        return None;
    }
    let mut left = rng.random_range(0..total);
    for (place, weight) in weights.iter().enumerate() {
        if left < *weight {
            return Some(place);
        }
        left -= weight;
    }
    None
}

/// Any of `all`; `None` if there is none.
pub(super) fn pick<'a, T>(all: &'a [T], rng: &mut impl Rng) -> Option<&'a T> {
    (!all.is_empty()).then(|| &all[rng.random_range(0..all.len())])
}

/// The lower of two draws, so that the k-th of n words comes with weight n - k.
fn skewed<'a>(words: &'a [String], rng: &mut impl Rng) -> &'a str {
    let place = rng
        .random_range(0..words.len())
        .min(rng.random_range(0..words.len()));
    &words[place]
}
