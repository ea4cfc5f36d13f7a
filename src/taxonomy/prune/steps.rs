//! What pruning did, as data.

use std::collections::BTreeSet;

use crate::taxonomy::topic::parent;

/// One thing that was done.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum PruneStep {
    /// A leaf went, and its examples went to the topic above it.
    Folded {
        /// The leaf.
        topic: String,
        /// The topic above it; empty for the root.
        into: String,
        /// How many; its own, and those that were folded into it.
        examples: usize,
    },
    /// A focus topic stays, though it has fewer than k examples.
    Protected {
        /// The class.
        class: String,
        /// How many.
        examples: usize,
    },
    /// A topic with topics under it keeps examples of its own in a leaf.
    Other {
        /// The leaf, `A/Other`.
        class: String,
        /// How many; with those that came from below.
        examples: usize,
    },
    /// A leaf `Other` had too few, and its examples went to that of the topic above.
    MovedUp {
        /// The leaf that went, `A/B/Other`.
        class: String,
        /// The leaf that took them, `A/Other`.
        into: String,
        /// How many.
        examples: usize,
    },
    /// A class was sampled down.
    Sampled {
        /// The class.
        class: String,
        /// How many it had.
        from: usize,
        /// How many it has.
        to: usize,
    },
}

impl PruneStep {
    /// The step in words.
    pub fn words(&self) -> String {
        let of = |examples: &usize| match examples {
            1 => "1 example".to_owned(),
            many => format!("{many} examples"),
        };
        match self {
            Self::Folded {
                topic,
                into,
                examples,
            } => {
                let into = if into.is_empty() { "the root" } else { into };
                format!("{topic} ({}) folded into {into}", of(examples))
            }
            Self::Protected { class, examples } => {
                format!("{class} ({}) protected", of(examples))
            }
            Self::Other { class, examples } => format!("{class} made, of {}", of(examples)),
            Self::MovedUp {
                class,
                into,
                examples,
            } => format!("{class} ({}) moved to {into}", of(examples)),
            Self::Sampled { class, from, to } => {
                format!("{class} sampled, {to} of {}", of(from))
            }
        }
    }
}

/// How large a taxonomy is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct TaxonomySize {
    /// Topics, inner ones and leaves; without the root.
    pub topics: usize,
    /// Those without topics under them.
    pub leaves: usize,
    /// Examples of all topics.
    pub examples: usize,
}

impl TaxonomySize {
    /// The size of a taxonomy whose leaves are `classes`.
    pub(super) fn of_classes(classes: &[String], examples: usize) -> Self {
        let mut topics = BTreeSet::new();
        for class in classes {
            let mut topic = Some(class.as_str());
            while let Some(name) = topic {
                topics.insert(name);
                topic = parent(name);
            }
        }
        Self {
            topics: topics.len(),
            leaves: classes.len(),
            examples,
        }
    }
}
