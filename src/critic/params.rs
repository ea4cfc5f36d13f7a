//! How to train, and why a training can fail.

use linfa::param_guard::ParamGuard;

use crate::critic::bayes::{Priors, SparseNbError, SparseNbParams};
use crate::taxonomy::TopicFault;

/// How many unusable examples and small classes an error names.
pub(super) const NAMED_MAX: usize = 5;

/// How to train.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainParams {
    /// A term stands in at least this many pages; `None`: a hundredth of the pages, 1 to 5.
    pub documents_min: Option<u32>,
    /// A term stands in at most this share of the pages, above 0 and at most 1.
    pub share_max: f64,
    /// At most this many terms, the most informative ones; 1 to 4,000,000.
    pub terms_max: usize,
    /// Lidstone smoothing, above 0 and at most 1000; `None`: chosen on held-out pages.
    pub alpha: Option<f64>,
    /// What a class is worth before a word is read.
    pub priors: Priors,
    /// The share of each class that is held out, above 0 and below 1.
    pub held_out_share: f64,
    /// Seed of the split.
    pub seed: u64,
}

impl Default for TrainParams {
    fn default() -> Self {
        Self {
            documents_min: None,
            share_max: 0.5,
            terms_max: 50_000,
            alpha: None,
            priors: Priors::Flat,
            held_out_share: 0.2,
            seed: 0,
        }
    }
}

impl TrainParams {
    /// Checks the bounds that the fields name.
    pub fn check(&self) -> Result<(), TrainError> {
        let wrong = |name, value, bounds| TrainError::Parameter {
            name,
            value,
            bounds,
        };
        if !(self.share_max > 0.0 && self.share_max <= 1.0) {
            let bounds = "above 0 and at most 1";
            return Err(wrong("the ceiling of words", self.share_max, bounds));
        }
        if !(1..=4_000_000).contains(&self.terms_max) {
            let bounds = "1 to 4000000";
            return Err(wrong(
                "the size of the vocabulary",
                self.terms_max as f64,
                bounds,
            ));
        }
        if !(self.held_out_share > 0.0 && self.held_out_share < 1.0) {
            let bounds = "above 0 and below 1";
            return Err(wrong("the held-out share", self.held_out_share, bounds));
        }
        if let Some(alpha) = self.alpha {
            SparseNbParams::new().alpha(alpha).check()?;
        }
        Ok(())
    }
}

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A parameter out of its bounds.
    #[error("{name} is {value}; it has to be {bounds}")]
    Parameter {
        /// Which.
        name: &'static str,
        /// As given.
        value: f64,
        /// In words.
        bounds: &'static str,
    },
    /// A topic whose name cannot be one.
    #[error("topic `{topic}` of {url}: {fault}")]
    Topic {
        /// As given.
        topic: String,
        /// Of which page.
        url: String,
        /// What is wrong.
        fault: TopicFault,
    },
    /// Nothing to train on.
    #[error("none of {skipped} examples could be used{}", list_skipped(.first))]
    NoPages {
        /// How many were left out.
        skipped: u64,
        /// The first of them.
        first: Vec<Skipped>,
    },
    /// Nothing to tell it from.
    #[error("all examples have the topic `{topic}`; a critic needs at least two topics")]
    OneClass {
        /// That one.
        topic: String,
    },
    /// Classes too small to learn and to check.
    #[error(
        "a topic needs at least 2 usable examples: {}; give more or take the topic out{}",
        list_small(.small),
        list_skipped(.first)
    )]
    SmallClasses {
        /// The topics, and how many usable examples each has.
        small: Vec<(String, usize)>,
        /// The first examples that were left out.
        first: Vec<Skipped>,
    },
    /// The cut left nothing.
    #[error(
        "no word stands in at least {documents_min} pages and in at most {percent:.0} % of them; \
         lower the floor or raise the ceiling"
    )]
    NoTerms {
        /// The floor.
        documents_min: u32,
        /// The ceiling.
        percent: f64,
    },
    /// The learner's own errors.
    #[error(transparent)]
    Bayes(#[from] SparseNbError),
}

/// An example that was left out.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Skipped {
    /// Its URL or path.
    pub example: String,
    /// Why.
    pub reason: String,
}

fn list_skipped(first: &[Skipped]) -> String {
    let list: Vec<String> = first
        .iter()
        .map(|skipped| format!("{} ({})", skipped.example, skipped.reason))
        .collect();
    if list.is_empty() {
        String::new()
    } else {
        format!("; the first left out: {}", list.join(", "))
    }
}

fn list_small(small: &[(String, usize)]) -> String {
    let named = small.iter().take(NAMED_MAX);
    let mut list: Vec<String> = named
        .map(|(topic, n)| format!("`{topic}` has {n}"))
        .collect();
    if small.len() > NAMED_MAX {
        list.push(format!("and {} more", small.len() - NAMED_MAX));
    }
    list.join(", ")
}
