//! The model that comes of adding some of the examples, and that of adding all.

use std::collections::HashMap;

use crate::critic::bayes::{ClassCounts, SparseNb};
use crate::critic::evaluation::Evaluation;
use crate::critic::extend::check::Checked;
use crate::critic::extend::{BACKGROUND_WORDS, Extension, NewPage};
use crate::critic::model::{ClassRecord, CriticModel, TrainingRecord};
use crate::critic::reserve::{Reserve, sum_up};
use crate::critic::sparse::{Bag, index};
use crate::critic::trainer::Origin;
use crate::critic::weights::Postings;

/// A word becomes a term if at least this many examples have it: a word of a single page is noise.
const DOCUMENTS_MIN: u32 = 2;
/// More new terms than this are not taken; the rarest are left.
const NEW_TERMS_MAX: usize = 20_000;

/// Counts with the new class in them. Terms are those of the model, under their numbers, and then the
/// new ones; classes are those of the model and then the new one.
pub(super) struct Candidate {
    pub(super) bayes: SparseNb,
    /// The class that the examples were counted in.
    pub(super) class: u16,
    /// The new terms, and their numbers among all.
    pub(super) new_terms: HashMap<u32, u32>,
    weights: Postings,
}

impl Candidate {
    /// Writes the score of each class for a page of these words.
    pub(super) fn score(&self, bag: &Bag, scores: &mut Vec<f64>) {
        self.weights.score(&self.terms_of(bag), scores);
    }

    /// The topic's log weight of each term.
    pub(super) fn weights_of_topic(&self) -> Vec<f64> {
        let mut scores = Vec::new();
        let mut weight = |bag: &[(u32, u32)]| {
            self.weights.score(bag, &mut scores);
            scores[usize::from(self.class)]
        };
        let prior = weight(&[]);
        (0..index(self.bayes.terms))
            .map(|term| weight(&[(term, 1)]) - prior)
            .collect()
    }

    /// Those of the words that are terms, by rising term.
    pub(super) fn terms_of(&self, bag: &Bag) -> Bag {
        let old = self.bayes.terms - self.new_terms.len();
        let mut terms: Bag = bag
            .iter()
            .filter_map(|(word, n)| {
                let is_old = (*word as usize) < old;
                let term = if is_old {
                    Some(word)
                } else {
                    self.new_terms.get(word)
                };
                Some((*term?, *n))
            })
            .collect();
        terms.sort_unstable();
        terms
    }
}

impl Extension<'_> {
    /// The model with `pages` counted in the class.
    pub(super) fn candidate(&self, pages: &[&NewPage]) -> Candidate {
        let old = self.model.bayes();
        let new_words = self.new_words(pages);
        let first = index(old.terms);
        let new_terms: HashMap<u32, u32> = new_words.iter().copied().zip(first..).collect();
        let mut bayes = old.clone();
        bayes.terms += new_words.len();
        self.fill_new_terms(&mut bayes, &new_terms);
        let class = self.model.class_of(&self.topic).unwrap_or_else(|| {
            bayes.classes.push(ClassCounts {
                background: self.background(),
                ..ClassCounts::default()
            });
            u16::try_from(old.classes.len()).unwrap_or(u16::MAX)
        });
        let counts = &mut bayes.classes[usize::from(class)];
        counts.documents += pages.len() as u64;
        for (word, n) in pages.iter().flat_map(|page| &page.bag) {
            let term = if *word < first {
                Some(word)
            } else {
                new_terms.get(word)
            };
            counts.terms.extend(term.map(|term| (*term, u64::from(*n))));
        }
        sum_up(&mut counts.terms);
        Candidate {
            weights: Postings::of(&bayes),
            bayes,
            class,
            new_terms,
        }
    }

    fn background(&self) -> u64 {
        let classes = self.model.bayes().classes();
        let words = classes
            .iter()
            .flat_map(|class| &class.terms)
            .map(|(_, n)| *n);
        let mean = words.fold(0, u64::saturating_add) / (classes.len() as u64).max(1);
        self.params
            .background
            .unwrap_or(BACKGROUND_WORDS.min(mean / 10))
    }

    /// The words of `pages` that become terms, by rising number. None if the model kept no reserve: what
    /// it does not know of may be a word of every page.
    fn new_words(&self, pages: &[&NewPage]) -> Vec<u32> {
        let Some(reserve) = self.model.reserve() else {
            return Vec::new();
        };
        let first = index(self.model.vocabulary().len());
        let mut documents: HashMap<u32, u32> = HashMap::new();
        for (word, _) in pages.iter().flat_map(|page| &page.bag) {
            if *word >= first {
                *documents.entry(*word).or_default() += 1;
            }
        }
        let all: u64 = self
            .model
            .classes()
            .iter()
            .map(|class| class.documents)
            .sum();
        let share_max = match self.model.training().share_max {
            share if share > 0.0 => share,
            _ => 1.0,
        };
        let most = share_max * (all as f64 + pages.len() as f64);
        let mut kept: Vec<(u32, u32)> = Vec::new();
        for (word, number) in sorted(&self.words) {
            let Some(n) = documents.get(&number).filter(|n| **n >= DOCUMENTS_MIN) else {
                continue;
            };
            let place = reserve
                .words
                .binary_search_by(|known| known.as_str().cmp(word));
            let elsewhere = place.map_or(0, |place| reserve.documents[place]);
            if f64::from(*n) + f64::from(elsewhere) <= most {
                kept.push((*n, number));
            }
        }
        kept.sort_by_key(|(n, number)| (std::cmp::Reverse(*n), *number));
        kept.truncate(NEW_TERMS_MAX);
        let mut kept: Vec<u32> = kept.into_iter().map(|(_, number)| number).collect();
        kept.sort_unstable();
        kept
    }

    /// What the other classes have of the new terms.
    fn fill_new_terms(&self, bayes: &mut SparseNb, new_terms: &HashMap<u32, u32>) {
        let Some(reserve) = self.model.reserve() else {
            return;
        };
        let terms: Vec<Option<u32>> = reserve
            .words
            .iter()
            .map(|word| new_terms.get(self.words.get(word)?).copied())
            .collect();
        for (class, counts) in bayes.classes.iter_mut().zip(&reserve.classes) {
            let known = counts
                .iter()
                .filter_map(|(word, n)| Some((terms[*word as usize]?, *n)));
            class.terms.extend(known);
            sum_up(&mut class.terms);
        }
    }

    /// The candidate as a model: classes and terms sorted.
    pub(super) fn model_of(
        &self,
        candidate: Candidate,
        checked: &Checked,
        origin: &Origin,
    ) -> CriticModel {
        let number_of = self.words_by_number();
        let mut vocabulary: Vec<(String, u32)> =
            self.model.vocabulary().iter().cloned().zip(0..).collect();
        let new = candidate.new_terms.iter();
        vocabulary.extend(new.map(|(word, term)| (number_of[word].to_owned(), *term)));
        vocabulary.sort_unstable();
        let mut term_of = vec![0; vocabulary.len()];
        for (number, (_, old)) in (0..).zip(&vocabulary) {
            term_of[*old as usize] = number;
        }
        let reserve = self.reserve_left(&candidate);
        let mut bayes = candidate.bayes;
        for class in &mut bayes.classes {
            for (term, _) in &mut class.terms {
                *term = term_of[*term as usize];
            }
            class.terms.sort_unstable();
        }
        let mut classes = self.model.classes().to_vec();
        if usize::from(candidate.class) == classes.len() {
            classes.push(ClassRecord {
                topic: self.topic.clone(),
                documents: 0,
                examples: Vec::new(),
            });
        }
        let class = &mut classes[usize::from(candidate.class)];
        class.documents += self.pages.len() as u64;
        class
            .examples
            .extend(self.pages.iter().map(|page| page.url.clone()));
        // The class of each place, by name.
        let mut order: Vec<usize> = (0..classes.len()).collect();
        order.sort_by(|a, b| classes[*a].topic.cmp(&classes[*b].topic));
        bayes.classes = order
            .iter()
            .map(|old| std::mem::take(&mut bayes.classes[*old]))
            .collect();
        let reserve = reserve.map(|mut reserve| {
            reserve.classes = order
                .iter()
                .map(|old| std::mem::take(&mut reserve.classes[*old]))
                .collect();
            reserve
        });
        let classes: Vec<ClassRecord> = order.iter().map(|old| classes[*old].clone()).collect();
        let training = self.training_record(&classes, &order, checked, origin);
        let vocabulary = vocabulary.into_iter().map(|(word, _)| word).collect();
        let version = self.model.version().saturating_add(1);
        CriticModel::new(version, classes, vocabulary, bayes, training).with_reserve(reserve)
    }

    /// The reserve without the words that are terms now, and with what the examples have of the others.
    fn reserve_left(&self, candidate: &Candidate) -> Option<Reserve> {
        let reserve = self.model.reserve()?;
        let numbers: Vec<Option<u32>> = reserve
            .words
            .iter()
            .map(|word| self.words.get(word).copied())
            .collect();
        let stays = |number: &Option<u32>| {
            number.is_none_or(|word| !candidate.new_terms.contains_key(&word))
        };
        let mut place_of = vec![None; numbers.len()];
        let mut left = Reserve::default();
        let mut place_of_number = HashMap::new();
        for (old, number) in numbers
            .iter()
            .enumerate()
            .filter(|(_, number)| stays(number))
        {
            let place = index(left.words.len());
            place_of[old] = Some(place);
            place_of_number.extend(number.map(|number| (number, place)));
            left.words.push(reserve.words[old].clone());
            left.documents.push(reserve.documents[old]);
        }
        left.classes = reserve
            .classes
            .iter()
            .map(|class| {
                let stay = class
                    .iter()
                    .filter_map(|(old, n)| Some((place_of[*old as usize]?, *n)));
                stay.collect()
            })
            .collect();
        left.classes
            .resize_with(candidate.bayes.classes.len(), Vec::new);
        let mine = &mut left.classes[usize::from(candidate.class)];
        for (word, n) in self.pages.iter().flat_map(|page| &page.bag) {
            if let Some(place) = place_of_number.get(word) {
                mine.push((*place, u64::from(*n)));
                left.documents[*place as usize] += 1;
            }
        }
        sum_up(mine);
        Some(left)
    }

    /// How the model came to be: as the old one, and then this.
    fn training_record(
        &self,
        classes: &[ClassRecord],
        order: &[usize],
        checked: &Checked,
        origin: &Origin,
    ) -> TrainingRecord {
        let old = self.model.training();
        let mut class_of = vec![0; order.len()];
        for (new, old) in (0..=u16::MAX).zip(order) {
            class_of[*old] = new;
        }
        let mut held_out = Evaluation {
            topics: classes.iter().map(|class| class.topic.clone()).collect(),
            log_loss_sum: old.held_out.log_loss_sum + checked.log_loss_sum,
            // The examples of a new topic are too few to calibrate by: of them the raw loss counts,
            // and the reliability stays that of the others.
            calibrated_log_loss_sum: old.held_out.calibrated_log_loss_sum + checked.log_loss_sum,
            raw: old.held_out.raw.clone(),
            calibrated: old.held_out.calibrated.clone(),
            ..Evaluation::default()
        };
        let cells = old.held_out.cells.iter().chain(&checked.cells);
        for ((truth, taken_for), pages) in cells {
            let cell = (
                class_of[usize::from(*truth)],
                class_of[usize::from(*taken_for)],
            );
            *held_out.cells.entry(cell).or_default() += pages;
        }
        let mut sources = old.sources.clone();
        sources.extend(
            origin
                .sources
                .iter()
                .filter(|new| !old.sources.contains(new))
                .cloned(),
        );
        let recall = checked.recall();
        TrainingRecord {
            trained_at: origin.trained_at,
            notes: format!(
                "{}; version {} + {}: `{}`, {} examples, {} of {} recalled in cross-validation",
                old.notes,
                self.model.version(),
                origin.notes,
                self.topic,
                self.pages.len(),
                recall.count,
                recall.of
            ),
            sources,
            documents_min: old.documents_min,
            share_max: old.share_max,
            terms_max: old.terms_max,
            seed: old.seed,
            skipped: old.skipped + self.skipped.len() as u64,
            held_out,
            calibration: old
                .calibration
                .as_ref()
                .map(|calibration| calibration.reordered(order)),
        }
    }

    /// All words, by their numbers.
    pub(super) fn all_words(&self) -> HashMap<u32, &str> {
        let mut words = self.words_by_number();
        words.extend((0..).zip(self.model.vocabulary().iter().map(String::as_str)));
        words
    }

    /// The words that are no terms of the model, by their numbers.
    fn words_by_number(&self) -> HashMap<u32, &str> {
        sorted(&self.words)
            .into_iter()
            .map(|(word, number)| (number, word))
            .collect()
    }
}

fn sorted(words: &HashMap<String, u32>) -> Vec<(&str, u32)> {
    let mut words: Vec<(&str, u32)> = words.iter().map(|(word, n)| (word.as_str(), *n)).collect();
    words.sort_unstable();
    words
}
