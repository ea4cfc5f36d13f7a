//! A trained critic: classes, vocabulary, counts, and where they came from.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::clock::Timestamp;
use crate::critic::bag::bag_of;
use crate::critic::bayes::SparseNb;
use crate::critic::evaluation::Evaluation;
use crate::critic::reserve::Reserve;
use crate::critic::sparse::Bag;
use crate::critic::weights::Weights;
use crate::page::Page;
use crate::taxonomy::{Focus, FocusError};

/// A class of the critic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassRecord {
    /// Its topic, as the examples name it.
    pub topic: String,
    /// Training documents.
    pub documents: u64,
    /// The URLs (or paths) of the training documents; what a crawl may start from.
    pub examples: Vec<String>,
}

/// How a model was trained, and on what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainingRecord {
    /// When.
    pub trained_at: Timestamp,
    /// The command, or other notes.
    pub notes: String,
    /// Where the examples came from.
    pub sources: Vec<String>,
    /// A term stands in at least this many documents.
    pub documents_min: u32,
    /// A term stands in at most this share of the documents.
    pub share_max: f64,
    /// At most this many terms.
    pub terms_max: usize,
    /// Seed of the split.
    pub seed: u64,
    /// Examples that could not be used.
    pub skipped: u64,
    /// On pages held out of a training like this one; its smoothing is this model's.
    pub held_out: Evaluation,
}

/// A trained critic.
///
/// Holds counts; the weights to judge with are derived once, at the first judgement, and shared by
/// all judges over this model.
#[derive(Debug)]
pub struct CriticModel {
    version: u64,
    classes: Vec<ClassRecord>,
    class_names: Vec<String>,
    vocabulary: Vec<String>,
    terms: HashMap<String, u32>,
    bayes: SparseNb,
    training: TrainingRecord,
    /// `None` in a model of a time that kept none.
    reserve: Option<Reserve>,
    weights: OnceLock<Weights>,
}

/// A word that speaks for a class.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct TellingTerm {
    /// The word.
    pub term: String,
    /// How often it occurs in the training documents of the class.
    pub count: u64,
    /// ln (its share of the words of the class / its share of all words), smoothed.
    pub log_ratio: f64,
}

impl CriticModel {
    /// Puts the parts together. `classes` and `bayes` have the same classes, `vocabulary` has the
    /// terms of `bayes`, without repetition.
    pub(super) fn new(
        version: u64,
        classes: Vec<ClassRecord>,
        vocabulary: Vec<String>,
        bayes: SparseNb,
        training: TrainingRecord,
    ) -> Self {
        debug_assert_eq!(classes.len(), bayes.classes().len());
        debug_assert_eq!(vocabulary.len(), bayes.terms());
        Self {
            version,
            class_names: classes.iter().map(|class| class.topic.clone()).collect(),
            classes,
            terms: vocabulary.iter().cloned().zip(0..).collect(),
            vocabulary,
            bayes,
            training,
            reserve: None,
            weights: OnceLock::new(),
        }
    }

    /// With the words that the cut left out.
    #[must_use]
    pub(super) fn with_reserve(mut self, reserve: Option<Reserve>) -> Self {
        self.reserve = reserve;
        self
    }

    /// The words that the cut left out.
    pub(super) fn reserve(&self) -> Option<&Reserve> {
        self.reserve.as_ref()
    }

    /// The number of the model; verdicts carry it.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The classes, sorted by topic.
    pub fn classes(&self) -> &[ClassRecord] {
        &self.classes
    }

    /// The topics of the classes, sorted.
    pub fn class_names(&self) -> &[String] {
        &self.class_names
    }

    /// The number of the class with this very topic.
    pub fn class_of(&self, topic: &str) -> Option<u16> {
        let place = self
            .class_names
            .binary_search_by(|name| name.as_str().cmp(topic));
        u16::try_from(place.ok()?).ok()
    }

    /// The terms, sorted.
    pub fn vocabulary(&self) -> &[String] {
        &self.vocabulary
    }

    /// The number of a term.
    pub(super) fn term_of(&self, word: &str) -> Option<u32> {
        self.terms.get(word).copied()
    }

    /// The counts and parameters.
    pub fn bayes(&self) -> &SparseNb {
        &self.bayes
    }

    /// How it was trained, and on what.
    pub fn training(&self) -> &TrainingRecord {
        &self.training
    }

    /// The example URLs of the classes in `focus`, class by class.
    pub fn examples_of(&self, focus: &Focus) -> Result<Vec<&str>, FocusError> {
        let members = focus.members(&self.class_names)?;
        let inside = self
            .classes
            .iter()
            .zip(members)
            .filter(|(_, inside)| *inside);
        Ok(inside
            .flat_map(|(class, _)| class.examples.iter().map(String::as_str))
            .collect())
    }

    /// The `most` terms that speak loudest for `class`: those that add most to the divergence of
    /// the class's words from all words, count times log ratio. Empty for a class that is none.
    pub fn telling_terms(&self, class: u16, most: usize) -> Vec<TellingTerm> {
        let Some(counts) = self.bayes.classes().get(usize::from(class)) else {
            return Vec::new();
        };
        let mut all = vec![0_u64; self.vocabulary.len()];
        for (term, n) in self.bayes.classes().iter().flat_map(|class| &class.terms) {
            all[*term as usize] = all[*term as usize].saturating_add(*n);
        }
        let smoothed = self.bayes.alpha() * self.vocabulary.len() as f64;
        let share = |n: u64, total: f64| (n as f64 + self.bayes.alpha()) / (total + smoothed);
        let total_all: f64 = all.iter().map(|n| *n as f64).sum();
        let total: f64 = counts.terms.iter().map(|(_, n)| *n as f64).sum();
        let mut telling: Vec<(f64, TellingTerm)> = counts
            .terms
            .iter()
            .map(|(term, n)| {
                let background = share(all[*term as usize], total_all);
                let log_ratio = (share(*n, total) / background).ln();
                let term = TellingTerm {
                    term: self.vocabulary[*term as usize].clone(),
                    count: *n,
                    log_ratio,
                };
                (*n as f64 * log_ratio, term)
            })
            .filter(|(_, term)| term.log_ratio > 0.0)
            .collect();
        telling.sort_by(|a, b| b.0.total_cmp(&a.0));
        telling.truncate(most);
        telling.into_iter().map(|(_, term)| term).collect()
    }

    /// The terms of `page` and how often each occurs.
    pub(super) fn bag(&self, page: &Page) -> Bag {
        bag_of(page, |word| self.terms.get(word).copied())
    }

    /// Writes the scores of all classes for `page`.
    pub(super) fn score(&self, page: &Page, scores: &mut Vec<f64>) {
        let bag = self.bag(page);
        self.weights
            .get_or_init(|| Weights::of(&self.bayes))
            .score(&bag, scores);
    }
}

/// Judges `pages`, pairs of topic and page, by `model`.
///
/// Also gives the topics that the model has no class for, with the number of their pages; those
/// are not judged.
pub fn evaluate<T: AsRef<str>, P: std::borrow::Borrow<Page>>(
    model: &CriticModel,
    pages: impl IntoIterator<Item = (T, P)>,
) -> (Evaluation, std::collections::BTreeMap<String, u64>) {
    let mut evaluation = Evaluation::new(model.class_names.clone());
    let mut unknown = std::collections::BTreeMap::new();
    let mut scores = Vec::new();
    for (topic, page) in pages {
        if let Some(class) = model.class_of(topic.as_ref()) {
            model.score(page.borrow(), &mut scores);
            evaluation.count(class, &scores);
        } else {
            *unknown.entry(topic.as_ref().to_owned()).or_default() += 1;
        }
    }
    (evaluation, unknown)
}
