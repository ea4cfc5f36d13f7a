//! Gathers the pages of a training.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::clock::Timestamp;
use crate::critic::bag::bag_of;
use crate::critic::bayes::{CLASSES_MAX, SparseNbError};
use crate::critic::params::{NAMED_MAX, Skipped, TrainError, TrainParams};
use crate::critic::sparse::{Bag, COUNT_MAX, index};
use crate::critic::training::TrainingSet;
use crate::page::Page;
use crate::taxonomy::check_topic;
use crate::text::is_stop_word;
use std::collections::hash_map::Entry;
use xxhash_rust::xxh3::xxh3_64;

/// Words beyond this many distinct ones are not taken up.
const WORDS_MAX: usize = 8_000_000;

/// What is written down beside the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// When, by the clock of whoever trains.
    pub trained_at: Timestamp,
    /// The command, or other notes.
    pub notes: String,
    /// Where the examples came from.
    pub sources: Vec<String>,
    /// The number of the model; 1 for a new one.
    pub version: u64,
}

/// One page to train on, as counts of words.
#[derive(Clone, Debug)]
pub(super) struct TrainingPage {
    pub(super) class: u16,
    pub(super) url: String,
    pub(super) bag: Bag,
}

/// Gathers pages.
#[derive(Debug)]
pub struct Trainer {
    params: TrainParams,
    words: HashMap<String, u32>,
    topics: BTreeMap<String, u16>,
    pages: Vec<TrainingPage>,
    skipped: u64,
    skipped_first: Vec<Skipped>,
    /// Topics of examples, usable or not.
    named: BTreeSet<String>,
    /// The first topic of each example, by a fingerprint of its URL.
    topic_of: HashMap<u64, String>,
    shared: u64,
    shared_first: Vec<SharedExample>,
}

/// An example that stands under two topics; it trains both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedExample {
    /// Its URL or path.
    pub example: String,
    /// The topic that it came with first.
    pub first: String,
    /// The other one.
    pub second: String,
}

impl Trainer {
    /// Checks the parameters; there are no pages yet.
    pub fn new(params: TrainParams) -> Result<Self, TrainError> {
        params.check()?;
        Ok(Self {
            params,
            words: HashMap::new(),
            topics: BTreeMap::new(),
            pages: Vec::new(),
            skipped: 0,
            skipped_first: Vec::new(),
            named: BTreeSet::new(),
            topic_of: HashMap::new(),
            shared: 0,
            shared_first: Vec::new(),
        })
    }

    /// Takes a page. One without words is left out and counted.
    pub fn add(&mut self, topic: &str, url: &str, page: &Page) -> Result<(), TrainError> {
        let bag = bag_of(page, |word| self.number_of(word));
        self.take(topic, url, bag)
    }

    /// Takes a page that comes as words and how often each occurs, each word once.
    pub fn add_counts<'a>(
        &mut self,
        topic: &str,
        url: &str,
        counts: impl IntoIterator<Item = (&'a str, u32)>,
    ) -> Result<(), TrainError> {
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        let number = |(word, count): (&str, u32)| {
            let number = self.number_of(word)?;
            Some((number, count.min(COUNT_MAX)))
        };
        let mut bag: Bag = counts.filter_map(number).collect();
        bag.sort_unstable();
        bag.dedup_by_key(|(word, _)| *word);
        self.take(topic, url, bag)
    }

    /// The number of a word, a new one if need be; `None` for words that are not taken up.
    fn number_of(&mut self, word: &str) -> Option<u32> {
        if let Some(number) = self.words.get(word) {
            return Some(*number);
        }
        if is_stop_word(word) || self.words.len() == WORDS_MAX {
            return None;
        }
        let number = index(self.words.len());
        self.words.insert(word.to_owned(), number);
        Some(number)
    }

    fn take(&mut self, topic: &str, url: &str, bag: Bag) -> Result<(), TrainError> {
        check_topic(topic).map_err(|fault| TrainError::Topic {
            topic: topic.to_owned(),
            url: url.to_owned(),
            fault,
        })?;
        self.name(topic);
        if bag.is_empty() {
            self.skip(url, "no words in it");
            return Ok(());
        }
        self.note_shared(topic, url);
        let class = if let Some(class) = self.topics.get(topic) {
            *class
        } else {
            let class = u16::try_from(self.topics.len())
                .map_err(|_| SparseNbError::TooManyClasses(CLASSES_MAX))?;
            self.topics.insert(topic.to_owned(), class);
            class
        };
        self.pages.push(TrainingPage {
            class,
            url: url.to_owned(),
            bag,
        });
        Ok(())
    }

    /// Counts an example of `topic` that could not be read, with the reason.
    pub fn skip_of(&mut self, topic: &str, example: &str, reason: &str) {
        self.name(topic);
        self.skip(example, reason);
    }

    fn name(&mut self, topic: &str) {
        if !self.named.contains(topic) {
            self.named.insert(topic.to_owned());
        }
    }

    fn note_shared(&mut self, topic: &str, url: &str) {
        match self.topic_of.entry(xxh3_64(url.as_bytes())) {
            Entry::Vacant(place) => {
                place.insert(topic.to_owned());
            }
            Entry::Occupied(first) if first.get() != topic => {
                self.shared += 1;
                if self.shared_first.len() < NAMED_MAX {
                    self.shared_first.push(SharedExample {
                        example: url.to_owned(),
                        first: first.get().clone(),
                        second: topic.to_owned(),
                    });
                }
            }
            Entry::Occupied(_) => {}
        }
    }

    /// How many examples stand under a second topic, and the first of them.
    pub fn shared(&self) -> (u64, &[SharedExample]) {
        (self.shared, &self.shared_first)
    }

    /// Counts an example that could not be read, with the reason.
    pub fn skip(&mut self, example: &str, reason: &str) {
        self.skipped += 1;
        if self.skipped_first.len() < NAMED_MAX {
            self.skipped_first.push(Skipped {
                example: example.to_owned(),
                reason: reason.to_owned(),
            });
        }
    }

    /// How many pages were taken.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// How many examples were left out.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Closes the set; errors if it is too small to learn from.
    pub fn ready(self) -> Result<TrainingSet, TrainError> {
        if self.pages.is_empty() {
            return Err(TrainError::NoPages {
                skipped: self.skipped,
                first: self.skipped_first,
            });
        }
        let topics: Vec<String> = self.topics.keys().cloned().collect();
        if let [topic] = topics.as_slice() {
            let topic = topic.clone();
            return Err(TrainError::OneClass { topic });
        }
        // Classes and words were numbered as they came; now by their names.
        let mut class_of = vec![0; topics.len()];
        for (class, old) in (0..=u16::MAX).zip(self.topics.values()) {
            class_of[usize::from(*old)] = class;
        }
        let mut words: Vec<(String, u32)> = self.words.into_iter().collect();
        words.sort_unstable();
        let mut word_of = vec![0; words.len()];
        for (number, (_, old)) in (0..).zip(&words) {
            word_of[*old as usize] = number;
        }
        let mut pages = self.pages;
        for page in &mut pages {
            page.class = class_of[usize::from(page.class)];
            for (word, _) in &mut page.bag {
                *word = word_of[*word as usize];
            }
            page.bag.sort_unstable();
        }
        pages.sort_by(|a, b| (a.class, &a.url, &a.bag).cmp(&(b.class, &b.url, &b.bag)));
        let set = TrainingSet {
            params: self.params,
            topics,
            words: words.into_iter().map(|(word, _)| word).collect(),
            pages,
            skipped: self.skipped,
        };
        set.check_sizes(&self.named, self.skipped_first)?;
        Ok(set)
    }
}
