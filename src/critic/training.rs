//! Training a critic: pages in, a model out.
//!
//! The smoothing is chosen on pages held out of the training pages, and the accuracy is measured on
//! pages that nothing was chosen on.

use std::collections::{BTreeMap, BTreeSet};

use linfa::dataset::DatasetBase;
use linfa::param_guard::ParamGuard;
use linfa::traits::FitWith;
use ndarray::Array1;

use crate::critic::bayes::{ClassCounts, SparseNb, SparseNbError, SparseNbParams};
use crate::critic::calibration::{Calibration, Scored};
use crate::critic::evaluation::{Evaluation, Evaluator};
use crate::critic::model::{ClassRecord, CriticModel, TrainingRecord};
use crate::critic::params::{Skipped, TrainError, TrainParams};
use crate::critic::reserve::Reserve;
use crate::critic::sparse::{Bag, SparseCounts, length_of};
use crate::critic::split::{self, Twins};
use crate::critic::trainer::{Origin, TrainingPage};
use crate::critic::vocabulary::{Cut, select};
use crate::critic::weights::Weights;

/// Smoothings that are tried. Which one is best depends on the size of the classes and of the
/// vocabulary; 0.02 was good for classes of 120 pages, 1 was useless there.
const ALPHAS: [f64; 10] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0];
/// Taken if there are too few pages to try.
const ALPHA_DEFAULT: f64 = 0.02;
/// Parts of the pages that are left out in turn to score them for the calibration.
const CALIBRATION_FOLDS: usize = 5;
/// Pages that a calibration is fitted on; it has no more parameters than classes and two.
const CALIBRATION_PAGES_MAX: usize = 10_000;
/// Pages that are fitted at once.
const BATCH_PAGES: usize = 2_000;

/// Pages to train on: at least two topics, at least two pages each.
#[derive(Debug)]
pub struct TrainingSet {
    pub(super) params: TrainParams,
    pub(super) topics: Vec<String>,
    pub(super) words: Vec<String>,
    pub(super) pages: Vec<TrainingPage>,
    pub(super) skipped: u64,
}

/// Counts over the vocabulary that was cut for the same pages.
struct Fitted {
    /// Words that are terms, by rising number.
    terms: Vec<u32>,
    bayes: SparseNb,
}

impl TrainingSet {
    /// The topics, sorted.
    pub fn topics(&self) -> &[String] {
        &self.topics
    }

    /// Trains on all pages, with the accuracy of a training on a part of them beside it.
    pub fn train(&self, origin: Origin) -> Result<CriticModel, TrainError> {
        let all: Vec<&TrainingPage> = self.pages.iter().collect();
        let out = split::held_out(
            &classes(&all),
            &twins(&all),
            self.params.held_out_share,
            self.params.seed,
        );
        let alpha = self.alpha(&part(&all, &out).0)?;
        let (calibration, held_out) = self.calibrate(&all, &out, alpha)?;
        let fitted = self.fit(&all, alpha)?;
        let cut = self.cut(all.len());
        if fitted.terms.is_empty() {
            return Err(TrainError::NoTerms {
                documents_min: cut.documents_min,
                percent: cut.share_max * 100.0,
            });
        }
        let mut classes: Vec<ClassRecord> = self
            .topics
            .iter()
            .map(|topic| ClassRecord {
                topic: topic.clone(),
                documents: 0,
                examples: Vec::new(),
            })
            .collect();
        for page in &self.pages {
            let class = &mut classes[usize::from(page.class)];
            class.documents += 1;
            class.examples.push(page.url.clone());
        }
        let reserve = Reserve::of(
            &self.pages,
            &self.words,
            &fitted.terms,
            cut.documents_min,
            self.topics.len(),
        );
        let word = |number: &u32| self.words[*number as usize].clone();
        Ok(CriticModel::new(
            origin.version,
            classes,
            fitted.terms.iter().map(word).collect(),
            fitted.bayes,
            TrainingRecord {
                trained_at: origin.trained_at,
                notes: origin.notes,
                sources: origin.sources,
                documents_min: cut.documents_min,
                share_max: cut.share_max,
                terms_max: cut.terms_max,
                seed: self.params.seed,
                skipped: self.skipped,
                held_out,
                calibration,
            },
        )
        .with_reserve(Some(reserve)))
    }

    /// The calibration of a critic trained on all of `pages`, and how good one is that was trained and
    /// calibrated on those that are not `out`, on those that are.
    fn calibrate(
        &self,
        pages: &[&TrainingPage],
        out: &[bool],
        alpha: f64,
    ) -> Result<(Option<Calibration>, Evaluation), TrainError> {
        let (rest, apart) = part(pages, out);
        let scored = self.score_out_of_fold(pages, alpha)?;
        let of_the_rest: Vec<&Scored> = scored
            .iter()
            .filter(|(place, _)| !out[*place])
            .map(|(_, scored)| scored)
            .collect();
        let held_out = self.judge(
            &self.fit(&rest, alpha)?,
            &apart,
            Calibration::fit(&of_the_rest).as_ref(),
        );
        let of_all: Vec<&Scored> = scored.iter().map(|(_, scored)| scored).collect();
        Ok((Calibration::fit(&of_all), held_out))
    }

    /// Judges each page by a critic that was trained on the pages of the other folds.
    pub fn cross_validate(&self, folds: usize) -> Result<Evaluation, TrainError> {
        if !(2..=1_000).contains(&folds) {
            return Err(TrainError::Parameter {
                name: "the number of folds",
                value: folds as f64,
                bounds: "2 to 1000",
            });
        }
        let all: Vec<&TrainingPage> = self.pages.iter().collect();
        let fold_of = split::folds(&classes(&all), &twins(&all), folds, self.params.seed);
        let mut evaluator = Evaluator::new(self.topics.clone());
        for fold in 0..folds {
            let out: Vec<bool> = fold_of.iter().map(|of| *of == fold).collect();
            let (rest, apart) = part(&all, &out);
            if apart.is_empty() {
                continue;
            }
            let alpha = self.alpha(&rest)?;
            let scored = self.score_out_of_fold(&rest, alpha)?;
            let scored: Vec<&Scored> = scored.iter().map(|(_, scored)| scored).collect();
            let calibration = Calibration::fit(&scored);
            for page in self.scores(&self.fit(&rest, alpha)?, &apart) {
                evaluator.count(&page, calibration.as_ref());
            }
        }
        Ok(evaluator.finish())
    }

    /// The smoothing: as given, or the best one on pages held out of `pages`.
    fn alpha(&self, pages: &[&TrainingPage]) -> Result<f64, TrainError> {
        match self.params.alpha {
            Some(alpha) => Ok(alpha),
            None => self.choose_alpha(pages),
        }
    }

    /// Scores `pages` (or as many of them as a calibration needs), each by a model that was not
    /// trained on it; with the place of each.
    fn score_out_of_fold(
        &self,
        pages: &[&TrainingPage],
        alpha: f64,
    ) -> Result<Vec<(usize, Scored)>, TrainError> {
        let fold_of = split::folds(
            &classes(pages),
            &twins(pages),
            CALIBRATION_FOLDS,
            self.params.seed,
        );
        let stride = pages.len().div_ceil(CALIBRATION_PAGES_MAX).max(1);
        let mut scored = Vec::new();
        for fold in 0..CALIBRATION_FOLDS {
            let inside = (0..pages.len()).filter(|place| fold_of[*place] == fold);
            let places: Vec<usize> = inside.step_by(stride).collect();
            let out: Vec<bool> = fold_of.iter().map(|of| *of == fold).collect();
            let (rest, _) = part(pages, &out);
            if places.is_empty() || rest.is_empty() {
                continue;
            }
            let apart: Vec<&TrainingPage> = places.iter().map(|place| pages[*place]).collect();
            let fitted = self.fit(&rest, alpha)?;
            scored.extend(places.into_iter().zip(self.scores(&fitted, &apart)));
        }
        Ok(scored)
    }

    /// The smoothing with the best macro F1 on pages held out of `pages`; of equally good ones
    /// that with the least log loss.
    fn choose_alpha(&self, pages: &[&TrainingPage]) -> Result<f64, TrainError> {
        let out = split::held_out(
            &classes(pages),
            &twins(pages),
            self.params.held_out_share,
            // Another split than the one that `pages` may come from.
            self.params.seed.wrapping_add(1),
        );
        let (rest, held_out) = part(pages, &out);
        if held_out.is_empty() {
            return Ok(ALPHA_DEFAULT);
        }
        let mut fitted = self.fit(&rest, ALPHA_DEFAULT)?;
        let mut best: Option<(f64, f64, f64)> = None;
        for alpha in ALPHAS {
            fitted.bayes.alpha = alpha;
            let evaluation = self.judge(&fitted, &held_out, None);
            let (f1, loss) = (evaluation.macro_f1(), evaluation.log_loss());
            tracing::debug!(alpha, f1, loss, "tried a smoothing");
            let better = best.is_none_or(|(_, best_f1, best_loss)| {
                f1 > best_f1 + 1e-12 || (f1 > best_f1 - 1e-12 && loss < best_loss)
            });
            if better {
                best = Some((alpha, f1, loss));
            }
        }
        Ok(best.map_or(ALPHA_DEFAULT, |(alpha, ..)| alpha))
    }

    fn fit(&self, pages: &[&TrainingPage], alpha: f64) -> Result<Fitted, TrainError> {
        let terms = select(pages, self.words.len(), self.cut(pages.len()));
        let params = SparseNbParams::new().alpha(alpha);
        let params = params.priors(self.params.priors).check()?;
        let term_of = self.numbers(&terms);
        let mut bayes = None;
        for batch in pages.chunks(BATCH_PAGES) {
            let bags: Vec<Bag> = batch.iter().map(|page| cut_bag(page, &term_of)).collect();
            let records = SparseCounts::from_bags(terms.len(), bags.iter().map(Vec::as_slice))?;
            let labels: Array1<usize> = batch.iter().map(|page| usize::from(page.class)).collect();
            let dataset = DatasetBase::new(records, labels);
            bayes = Some(params.fit_with(bayes, &dataset)?);
        }
        let Some(mut bayes) = bayes else {
            // linfa's word for a fit on nothing.
            return Err(SparseNbError::from(linfa::Error::NotEnoughSamples).into());
        };
        // A fold may lack the last classes.
        bayes
            .classes
            .resize_with(self.topics.len(), ClassCounts::default);
        Ok(Fitted { terms, bayes })
    }

    fn judge(
        &self,
        fitted: &Fitted,
        pages: &[&TrainingPage],
        calibration: Option<&Calibration>,
    ) -> Evaluation {
        let mut evaluator = Evaluator::new(self.topics.clone());
        for page in self.scores(fitted, pages) {
            evaluator.count(&page, calibration);
        }
        evaluator.finish()
    }

    /// What `fitted` makes of `pages`, in their order.
    fn scores(&self, fitted: &Fitted, pages: &[&TrainingPage]) -> Vec<Scored> {
        let weights = Weights::of(&fitted.bayes);
        let term_of = self.numbers(&fitted.terms);
        let mut scores = Vec::new();
        let score = |page: &&TrainingPage| {
            let bag = cut_bag(page, &term_of);
            weights.score(&bag, &mut scores);
            Scored::new(page.class, length_of(&bag), &scores)
        };
        pages.iter().map(score).collect()
    }

    /// For each word the number of its term, or `u32::MAX`.
    fn numbers(&self, terms: &[u32]) -> Vec<u32> {
        let mut numbers = vec![u32::MAX; self.words.len()];
        for (number, word) in (0..).zip(terms) {
            numbers[*word as usize] = number;
        }
        numbers
    }

    fn cut(&self, pages: usize) -> Cut {
        let by_size = u32::try_from((pages / 100).clamp(1, 5)).unwrap_or(5);
        Cut {
            documents_min: self.params.documents_min.unwrap_or(by_size),
            share_max: self.params.share_max,
            terms_max: self.params.terms_max,
        }
    }

    /// Errors on topics that are too small, those of `named` without a page among them.
    pub(super) fn check_sizes(
        &self,
        named: &BTreeSet<String>,
        first: Vec<Skipped>,
    ) -> Result<(), TrainError> {
        let mut sizes: BTreeMap<&str, usize> =
            named.iter().map(|topic| (topic.as_str(), 0)).collect();
        for page in &self.pages {
            let topic = self.topics[usize::from(page.class)].as_str();
            *sizes.entry(topic).or_default() += 1;
        }
        let sizes = sizes.into_iter().filter(|(_, pages)| *pages < 2);
        let small: Vec<(String, usize)> = sizes
            .map(|(topic, pages)| (topic.to_owned(), pages))
            .collect();
        if small.is_empty() {
            Ok(())
        } else {
            Err(TrainError::SmallClasses { small, first })
        }
    }
}

fn classes(pages: &[&TrainingPage]) -> Vec<u16> {
    pages.iter().map(|page| page.class).collect()
}

fn twins(pages: &[&TrainingPage]) -> Twins {
    Twins::of(pages.iter().map(|page| (page.class, page.url.as_str())))
}

/// The pages that are not `out`, and those that are.
fn part<'a>(
    pages: &[&'a TrainingPage],
    out: &[bool],
) -> (Vec<&'a TrainingPage>, Vec<&'a TrainingPage>) {
    let side = |wanted: bool| {
        let both = pages.iter().zip(out);
        let kept = both.filter(move |(_, out)| **out == wanted);
        kept.map(|(page, _)| *page).collect()
    };
    (side(false), side(true))
}

/// The page's counts of those words that are terms; words and terms rise together.
fn cut_bag(page: &TrainingPage, term_of: &[u32]) -> Bag {
    page.bag
        .iter()
        .map(|(word, count)| (term_of[*word as usize], *count))
        .filter(|(term, _)| *term != u32::MAX)
        .collect()
}
