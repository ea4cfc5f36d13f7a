//! What speaks against a topic that was added, in words.

use std::fmt;

use serde::Serialize;

use crate::critic::evaluation::Share;
use crate::critic::extend::check::Checked;
use crate::critic::extend::report::{ExtendReport, TopicCount};
use crate::critic::extend::{EXAMPLES_FEW, Extension};

/// A class made of the other examples that takes fewer of them has not found what they have in common.
const RECALL_MIN: f64 = 0.5;
/// Parts that know fewer of each other's pages than this are two things. A hint and no more: it was said
/// of 4 of 9 draws of ten pages each from two topics, and of 1 of 9 draws of twenty from one (three topics
/// of an archived site; that one does live on two sites that have little in common).
const PARTS_RECALL_MIN: f64 = 0.1;
/// If one class takes this share of the examples, it is the same thing or contains it.
const SAME_SHARE: f64 = 0.4;
/// If the topic takes this share of the pages of a class, the same.
const TAKEN_SHARE: f64 = 0.3;
/// Fewer pages of a class say nothing about shares of it.
const TAKEN_OF_MIN: u64 = 10;

/// Something that somebody should know before using a new topic.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Finding {
    /// Few examples.
    Few {
        /// How many.
        examples: u64,
    },
    /// The examples do not recognise each other.
    LowRecall {
        /// Recognised.
        recall: Share,
    },
    /// The examples are about two things.
    Mixed {
        /// Sizes of the parts.
        examples: [u64; 2],
        /// Words that set the parts apart.
        words: [Vec<String>; 2],
        /// How much of each part a class made of the other takes.
        recalled: [Share; 2],
        /// The existing class that most of each part fall into without the topic.
        falls_into: [Option<TopicCount>; 2],
    },
    /// One class takes many of the examples.
    SameAs(TopicCount),
    /// The topic takes many pages of a class.
    Takes(TopicCount),
    /// Examples that are those of another class as well.
    Shared(TopicCount),
    /// Examples that were there already.
    Duplicates {
        /// How many.
        examples: u64,
    },
    /// Examples that are no pages.
    LeftOut {
        /// How many.
        examples: u64,
        /// The first one and what is wrong with it.
        first: String,
    },
    /// The model has forgotten the words that it has no terms for.
    NoReserve,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Few { examples } => write!(
                f,
                "few: {examples} examples; the figures are rough, and {EXAMPLES_FEW} or more work better"
            ),
            Self::LowRecall { recall } => write!(
                f,
                "low recall: a class made of the other examples takes only {} of {}; they have little in \
                 common, or they are too few",
                recall.count, recall.of
            ),
            Self::Mixed {
                examples,
                words,
                recalled,
                falls_into,
            } => write!(
                f,
                "mixed: {} examples are about {}{}, {} about {}{}, and a class made of either takes {} and {} \
                 of the other; if both are meant, all is well; else make two topics of them, or take out those that are not",
                examples[0],
                words[0].join(", "),
                without(falls_into[0].as_ref()),
                examples[1],
                words[1].join(", "),
                without(falls_into[1].as_ref()),
                parts_of(&recalled[1]),
                parts_of(&recalled[0]),
            ),
            Self::SameAs(class) => write!(
                f,
                "the same as `{0}`? {1} of {2} examples are taken for it; is that the topic already, or \
                 the one to add them to (--more)?",
                class.topic, class.pages, class.of
            ),
            Self::Takes(class) => write!(
                f,
                "takes from `{}`: {} of {} pages of it are taken for the new topic",
                class.topic, class.pages, class.of
            ),
            Self::Shared(class) => write!(
                f,
                "{} of {} examples are examples of `{}` as well, which keeps them; \
                 take them out of one of the two and train again",
                class.pages, class.of, class.topic
            ),
            Self::Duplicates { examples } => {
                write!(f, "{examples} duplicates left out (the same URL or the same words)")
            }
            Self::LeftOut { examples, first } => {
                write!(f, "{examples} examples left out; the first: {first}")
            }
            Self::NoReserve => f.write_str(
                "the model was made before models kept the words that they have no terms for, so that \
                 the topic gets none of its own; a model trained again does",
            ),
        }
    }
}

/// Where a part belongs if not here.
fn without(falls_into: Option<&TopicCount>) -> String {
    falls_into.map_or(String::new(), |class| {
        format!(
            " (without the topic {} of them are taken for `{}`)",
            class.pages, class.topic
        )
    })
}

fn parts_of(share: &Share) -> String {
    format!("{} of {}", share.count, share.of)
}

/// Whether a class is what is left over, and not a topic that could be the same as another.
fn is_remainder(topic: &str) -> bool {
    let name = topic.rsplit('/').next().unwrap_or(topic);
    name.eq_ignore_ascii_case("other")
}

/// What speaks against the topic, the weightiest first.
pub(super) fn of(
    report: &ExtendReport,
    shared: Vec<TopicCount>,
    checked: &Checked,
    extension: &Extension<'_>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    if report.examples < EXAMPLES_FEW as u64 && !extension.params.more {
        let examples = report.examples;
        findings.push(Finding::Few { examples });
    }
    let recall = report.recall;
    if recall.of > 1 && recall.value < RECALL_MIN {
        findings.push(Finding::LowRecall { recall });
    }
    if let Some(mixture) = &checked.mixture
        && mixture.recalled() < PARTS_RECALL_MIN
    {
        let [a, b] = mixture.parts.clone();
        findings.push(Finding::Mixed {
            examples: [a.examples, b.examples],
            words: [a.words, b.words],
            recalled: [a.recalled, b.recalled],
            falls_into: [a.falls_into, b.falls_into],
        });
    }
    let share = |class: &TopicCount| class.pages as f64 / (class.of as f64).max(1.0);
    let same = report
        .taken_for
        .iter()
        .filter(|class| share(class) >= SAME_SHARE && !is_remainder(&class.topic));
    findings.extend(same.cloned().map(Finding::SameAs));
    let takes = report.rest.iter().flat_map(|rest| &rest.taken_of);
    let takes = takes.filter(|class| class.of >= TAKEN_OF_MIN && share(class) >= TAKEN_SHARE);
    findings.extend(takes.cloned().map(Finding::Takes));
    findings.extend(shared.into_iter().map(Finding::Shared));
    if report.duplicates > 0 {
        let examples = report.duplicates;
        findings.push(Finding::Duplicates { examples });
    }
    if let Some(first) = report.skipped.first() {
        findings.push(Finding::LeftOut {
            examples: report.skipped.len() as u64,
            first: format!("{} ({})", first.example, first.reason),
        });
    }
    if extension.model.reserve().is_none() {
        findings.push(Finding::NoReserve);
    }
    findings
}
