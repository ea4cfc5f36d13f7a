//! A topic of one's own: a new class beside those of an existing model, from a few example pages.
//!
//! Naive Bayes needs only the new class's counts; the other classes stay as they are. Two things need
//! care. The vocabulary was cut on the other topics, so words by which the new one lives may be no
//! terms: those that at least two examples share become terms, with the counts that the model has kept
//! of them in its reserve (0 for words rarer than its floor). And a class of twenty pages has not had
//! the time to show most of its words: it gets a background of the other classes' words
//! ([`BACKGROUND_WORDS`]).
//!
//! Every figure in the [`ExtendReport`] is of pages that the judging class was not counted on.

mod candidate;
mod check;
mod findings;
mod mixed;
mod report;

pub use findings::Finding;
pub use report::{ExtendReport, NearClass, RestFigures, TopicCount};

use std::collections::HashMap;

use crate::critic::bag::bag_of;
use crate::critic::bayes::CLASSES_MAX;
use crate::critic::model::CriticModel;
use crate::critic::params::Skipped;
use crate::critic::sparse::{Bag, index};
use crate::critic::trainer::Origin;
use crate::page::Page;
use crate::taxonomy::{TopicFault, check_topic};
use crate::text::is_stop_word;

/// Words of the background that a new class is mixed with. On three topics of an archived site, 20
/// examples each, judged on 7,000 other pages: F1 .63 without, .66 with 1,000, .68 with 2,000, .65 with
/// 5,000; with 40 examples .73, .75, .75, .73 (docs/decisions/0004).
pub const BACKGROUND_WORDS: u64 = 2_000;
/// Fewer examples are refused, unless forced.
pub const EXAMPLES_MIN: usize = 10;
/// Fewer examples are warned of.
pub(super) const EXAMPLES_FEW: usize = 20;
/// More examples make a training, not an addition.
pub(super) const EXAMPLES_MAX: usize = 10_000;

/// How a topic is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendParams {
    /// The topic exists, and gets more examples.
    pub more: bool,
    /// Also from fewer than [`EXAMPLES_MIN`] examples.
    pub force: bool,
    /// See [`BACKGROUND_WORDS`].
    pub background: u64,
    /// Parts that the examples are cut into, each judged by a class made of the others.
    pub folds: usize,
    /// Seed of that cut.
    pub seed: u64,
}

impl Default for ExtendParams {
    fn default() -> Self {
        Self {
            more: false,
            force: false,
            background: BACKGROUND_WORDS,
            folds: 10,
            seed: 0,
        }
    }
}

/// Why a topic was not added.
#[derive(Debug, thiserror::Error)]
pub enum ExtendError {
    /// The name cannot be one.
    #[error("topic `{topic}`: {fault}")]
    Topic {
        /// As given.
        topic: String,
        /// What is wrong.
        fault: TopicFault,
    },
    /// There is such a class.
    #[error(
        "the model has a topic `{topic}` of {documents} examples; add to it with --more, or choose \
         another name"
    )]
    Exists {
        /// Its name.
        topic: String,
        /// Its size.
        documents: u64,
    },
    /// There is no such class to add to.
    #[error("the model has no topic `{0}` to add examples to; leave --more out to make it")]
    Missing(String),
    /// As many classes as can be told apart.
    #[error("the model has {CLASSES_MAX} topics, and that is the most")]
    Full,
    /// Too few examples that can be used.
    #[error(
        "{usable} usable examples{}; at least {EXAMPLES_MIN} are needed to say how good the topic is \
         (--force takes them all the same)",
        of_left_out(.skipped)
    )]
    Few {
        /// How many can be used.
        usable: usize,
        /// Those that cannot.
        skipped: Vec<Skipped>,
    },
    /// None at all.
    #[error("no usable example{}", of_left_out(.0))]
    None(Vec<Skipped>),
    /// Too many.
    #[error(
        "more than {EXAMPLES_MAX} examples; train a model with them: `apprentice critic train`"
    )]
    Many,
}

fn of_left_out(skipped: &[Skipped]) -> String {
    let named = skipped.iter().take(5);
    let named: Vec<String> = named
        .map(|skipped| format!("{} ({})", skipped.example, skipped.reason))
        .collect();
    match named.len() {
        0 => String::new(),
        _ => format!("; {} left out: {}", skipped.len(), named.join(", ")),
    }
}

/// An example of the new topic: its words, by their numbers in the extension.
#[derive(Clone, Debug)]
struct NewPage {
    url: String,
    bag: Bag,
}

/// A page of another class, to see whether the new class takes it.
#[derive(Clone, Debug)]
struct RestPage {
    class: u16,
    bag: Bag,
}

/// Gathers the examples of a new topic.
#[derive(Debug)]
pub struct Extension<'a> {
    model: &'a CriticModel,
    topic: String,
    params: ExtendParams,
    /// Words that are no terms, numbered from the size of the vocabulary on.
    words: HashMap<String, u32>,
    pages: Vec<NewPage>,
    rest: Vec<RestPage>,
    skipped: Vec<Skipped>,
    duplicates: u64,
    /// Example URLs of the model's classes, and their class.
    known: HashMap<&'a str, u16>,
    /// Examples that are also examples of another class, by class.
    shared: HashMap<u16, u64>,
}

impl<'a> Extension<'a> {
    /// An extension of `model` by `topic`, without examples yet.
    ///
    /// # Errors
    /// [`ExtendError`] if the topic is none, or is there already (with `more`: is not there).
    pub fn new(
        model: &'a CriticModel,
        topic: &str,
        params: ExtendParams,
    ) -> Result<Self, ExtendError> {
        check_topic(topic).map_err(|fault| ExtendError::Topic {
            topic: topic.to_owned(),
            fault,
        })?;
        match (model.class_of(topic), params.more) {
            (Some(class), false) => {
                return Err(ExtendError::Exists {
                    topic: topic.to_owned(),
                    documents: model.classes()[usize::from(class)].documents,
                });
            }
            (None, true) => return Err(ExtendError::Missing(topic.to_owned())),
            (None, false) if model.classes().len() >= CLASSES_MAX - 1 => {
                return Err(ExtendError::Full);
            }
            _ => {}
        }
        let known = (0..=u16::MAX).zip(model.classes()).flat_map(|(class, of)| {
            let urls = of.examples.iter();
            urls.map(move |url| (url.as_str(), class))
        });
        Ok(Self {
            model,
            topic: topic.to_owned(),
            params,
            words: HashMap::new(),
            pages: Vec::new(),
            rest: Vec::new(),
            skipped: Vec::new(),
            duplicates: 0,
            known: known.collect(),
            shared: HashMap::new(),
        })
    }

    /// Takes an example of the topic. One without words is left out, and one that is there already
    /// (the same URL or the same words) is a duplicate.
    ///
    /// # Errors
    /// [`ExtendError::Many`].
    pub fn add(&mut self, url: &str, page: &Page) -> Result<(), ExtendError> {
        let bag = self.bag(page);
        if bag.is_empty() {
            self.skip(url, "no words in it");
            return Ok(());
        }
        let own = self.model.class_of(&self.topic);
        let known = self.known.get(url).copied();
        let again = self
            .pages
            .iter()
            .any(|page| page.url == url || page.bag == bag);
        if again || known.is_some() && known == own {
            self.duplicates += 1;
            return Ok(());
        }
        if let Some(class) = known {
            *self.shared.entry(class).or_default() += 1;
        }
        if self.pages.len() == EXAMPLES_MAX {
            return Err(ExtendError::Many);
        }
        let url = url.to_owned();
        self.pages.push(NewPage { url, bag });
        Ok(())
    }

    /// Notes an example that is no page, with the reason.
    pub fn skip(&mut self, example: &str, reason: &str) {
        self.skipped.push(Skipped {
            example: example.to_owned(),
            reason: reason.to_owned(),
        });
    }

    /// Takes a page that another class was trained on, to be judged only. Pages of the topic itself, of
    /// topics that the model has not, and without words are of no use, and are not counted.
    pub fn judge_also(&mut self, topic: &str, page: &Page) {
        let Some(class) = self.model.class_of(topic) else {
            return;
        };
        if topic == self.topic {
            return;
        }
        let bag = self.bag(page);
        if !bag.is_empty() {
            self.rest.push(RestPage { class, bag });
        }
    }

    /// The model with the topic in it, of the next version, and what is to be known of it.
    ///
    /// # Errors
    /// [`ExtendError::Few`] and [`ExtendError::None`].
    pub fn finish(self, origin: Origin) -> Result<(CriticModel, ExtendReport), ExtendError> {
        if self.pages.is_empty() {
            return Err(ExtendError::None(self.skipped));
        }
        let few = self.pages.len() < EXAMPLES_MIN && !self.params.more;
        if few && !self.params.force {
            return Err(ExtendError::Few {
                usable: self.pages.len(),
                skipped: self.skipped,
            });
        }
        let all: Vec<&NewPage> = self.pages.iter().collect();
        let candidate = self.candidate(&all);
        let checked = self.check(&candidate);
        let report = self.report(&candidate, &checked);
        let model = self.model_of(candidate, &checked, origin);
        Ok((model, report))
    }

    /// The page's words and how often each occurs, by number; words that are no terms get one.
    fn bag(&mut self, page: &Page) -> Bag {
        let (model, words) = (self.model, &mut self.words);
        bag_of(page, |word| {
            if let Some(term) = model.term_of(word) {
                return Some(term);
            }
            if let Some(number) = words.get(word) {
                return Some(*number);
            }
            if is_stop_word(word) {
                return None;
            }
            let number = index(model.vocabulary().len() + words.len());
            words.insert(word.to_owned(), number);
            Some(number)
        })
    }
}
