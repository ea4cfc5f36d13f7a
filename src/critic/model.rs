//! A trained critic: classes, vocabulary, counts, and where they came from.

use std::sync::OnceLock;

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use crate::clock::Timestamp;
use crate::critic::bag::bag_of;
use crate::critic::bayes::SparseNb;
use crate::critic::calibration::{Calibration, Scored};
use crate::critic::evaluation::{Evaluation, Evaluator};
use crate::critic::reserve::Reserve;
use crate::critic::sparse::{Bag, length_of};
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
    /// From the model's scores to calibrated ones; `None` if there were too few pages to fit it.
    pub calibration: Option<Calibration>,
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
    /// The numbers of the terms, found by their words.
    terms: HashTable<u32>,
    /// All but the terms and counts of the classes if `counts` has them.
    bayes: SparseNb,
    counts: Option<LaterCounts>,
    training: TrainingRecord,
    /// `None` in a model of a time that kept none.
    reserve: Option<Reserve>,
    weights: OnceLock<Weights>,
}

/// Terms and counts that are taken out of a file when somebody asks for them.
struct LaterCounts {
    taken: OnceLock<SparseNb>,
    fill: Fill,
}

/// Puts terms and counts into the classes of a model that lacks them.
pub(super) type Fill = Box<dyn Fn(&mut SparseNb) + Send + Sync>;

impl std::fmt::Debug for LaterCounts {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("LaterCounts")
    }
}

/// Words point to their numbers without being kept a second time: half of the time and the memory of
/// a map of strings, when a model is opened.
fn table_of(vocabulary: &[String]) -> HashTable<u32> {
    let hash = |word: &str| xxh3_64(word.as_bytes());
    let mut table = HashTable::with_capacity(vocabulary.len());
    for (term, word) in (0..).zip(vocabulary) {
        let again = |term: &u32| hash(&vocabulary[*term as usize]);
        table.insert_unique(hash(word), term, again);
    }
    table
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
            terms: table_of(&vocabulary),
            vocabulary,
            bayes,
            counts: None,
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

    /// The same model without the URLs of its examples.
    #[must_use]
    pub fn without_addresses(mut self) -> Self {
        for class in &mut self.classes {
            class.examples = Vec::new();
        }
        self
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
        let spelt = |term: &u32| self.vocabulary[*term as usize] == word;
        self.terms.find(xxh3_64(word.as_bytes()), spelt).copied()
    }

    /// The counts and parameters.
    pub fn bayes(&self) -> &SparseNb {
        match &self.counts {
            None => &self.bayes,
            Some(later) => later.taken.get_or_init(|| {
                let mut bayes = self.bayes.clone();
                (later.fill)(&mut bayes);
                bayes
            }),
        }
    }

    /// [`CriticModel::bayes`], of which only terms and counts may still lie in a file.
    pub(super) fn skeleton(&self) -> &SparseNb {
        &self.bayes
    }

    pub(super) fn put_counts(&mut self, bayes: SparseNb) {
        self.bayes = bayes;
    }

    pub(super) fn put_counts_later(&mut self, fill: Fill) {
        let taken = OnceLock::new();
        self.counts = Some(LaterCounts { taken, fill });
    }

    pub(super) fn put_weights(&mut self, weights: Weights) {
        self.weights = OnceLock::from(weights);
    }

    /// The weights to judge with, row by row; `None` if they would be too large.
    pub(super) fn matrix_rows(&self) -> Option<&[f32]> {
        self.weights().rows()
    }

    fn weights(&self) -> &Weights {
        self.weights.get_or_init(|| Weights::of(self.bayes()))
    }

    /// How it was trained, and on what.
    pub fn training(&self) -> &TrainingRecord {
        &self.training
    }

    /// The URLs of all examples that it was trained on, if it names them.
    pub fn examples(&self) -> impl Iterator<Item = &str> {
        let classes = self.classes.iter();
        classes.flat_map(|class| class.examples.iter().map(String::as_str))
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
        let bayes = self.bayes();
        let Some(counts) = bayes.classes().get(usize::from(class)) else {
            return Vec::new();
        };
        let mut all = vec![0_u64; self.vocabulary.len()];
        for (term, n) in bayes.classes().iter().flat_map(|class| &class.terms) {
            all[*term as usize] = all[*term as usize].saturating_add(*n);
        }
        let smoothed = bayes.alpha() * self.vocabulary.len() as f64;
        let share = |n: u64, total: f64| (n as f64 + bayes.alpha()) / (total + smoothed);
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

    /// The terms of `page` and how often each occurs: all that the critic sees of it.
    pub fn bag(&self, page: &Page) -> Bag {
        bag_of(page, |word| self.term_of(word))
    }

    /// From scores to calibrated ones, if pages were enough to fit that.
    pub fn calibration(&self) -> Option<&Calibration> {
        let calibration = self.training.calibration.as_ref();
        calibration.filter(|calibration| calibration.is_sound(self.classes.len()))
    }

    /// The share of the training documents that lie in classes that are `inside`: at these shares
    /// the calibrated scores are right.
    pub fn share_of(&self, inside: &[bool]) -> f64 {
        let documents = |wanted: bool| -> f64 {
            let classes = self.classes.iter().zip(inside);
            let side = classes.filter(|(_, inside)| **inside == wanted);
            side.map(|(class, _)| class.documents as f64).sum()
        };
        let (inside, outside) = (documents(true), documents(false));
        inside / (inside + outside).max(1.0)
    }

    /// Writes the scores of all classes for `page`; gives the number of terms in it.
    pub(super) fn score(&self, page: &Page, scores: &mut Vec<f64>) -> u64 {
        let bag = self.bag(page);
        self.weights().score(&bag, scores);
        length_of(&bag)
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
    let mut evaluator = Evaluator::new(model.class_names.clone());
    let mut unknown = std::collections::BTreeMap::new();
    let mut scores = Vec::new();
    for (topic, page) in pages {
        if let Some(class) = model.class_of(topic.as_ref()) {
            let length = model.score(page.borrow(), &mut scores);
            evaluator.count(&Scored::new(class, length, &scores), model.calibration());
        } else {
            *unknown.entry(topic.as_ref().to_owned()).or_default() += 1;
        }
    }
    (evaluator.finish(), unknown)
}
