//! Pruning: topics with too few examples are folded into the topics above them.
//!
//! The rules, for a size k:
//! 1. While there is a leaf with fewer than k examples, its examples go to its parent, and the leaf
//!    goes.
//! 2. Every topic that keeps topics under it and has examples of its own gets a leaf `Other` with
//!    them. An `Other` below k moves its examples to the `Other` of the topic right above, which gets
//!    one if it has none; that of the root stays, however small.
//! 3. Larger classes are sampled down to k, by a seed. Then only leaves count: they are the classes.
//!
//! A focus topic is protected while it has at least [`FOCUS_EXAMPLES_MIN`] examples: as a leaf it
//! stays below k, and if topics remain under it, so does its `Other`. With fewer it is folded like
//! any other, and that is an error that names the ancestor's class that took it.
//!
//! A part `Other` in a topic's path is left out before: it names what has no topic of its own, and so
//! pruning a pruned table again changes nothing.

mod forest;
mod steps;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use rand::seq::index::sample;

use self::forest::Forest;
pub use self::steps::{PruneStep, TaxonomySize};
use crate::clock::chance;
use crate::taxonomy::focus::near_matches;

/// The name of the leaf for what has no topic of its own.
pub const OTHER: &str = "Other";
/// A focus topic with at least so many examples is protected.
pub const FOCUS_EXAMPLES_MIN: usize = 10;

/// What is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PruneParams {
    /// The size k of a class: no fewer examples, and after sampling no more.
    pub examples: NonZeroUsize,
    /// Topics to protect.
    pub focus: Vec<String>,
    /// Which examples a sample has.
    pub seed: u64,
}

impl Default for PruneParams {
    fn default() -> Self {
        Self {
            examples: const { NonZeroUsize::new(300).unwrap() },
            focus: Vec::new(),
            seed: 0,
        }
    }
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// The classes, sorted.
    pub classes: Vec<String>,
    /// For each example its class, an index into `classes`; `None` if sampling left it out.
    pub class_of: Vec<Option<u32>>,
    /// Before.
    pub before: TaxonomySize,
    /// After.
    pub after: TaxonomySize,
    /// What was done, in order.
    pub steps: Vec<PruneStep>,
}

/// Why a taxonomy could not be pruned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PruneError {
    /// No example at all.
    #[error("there are no examples to prune")]
    Empty,
    /// A focus topic is none of the topics.
    #[error("no topic `{topic}` to protect{}", did_you_mean(.near))]
    UnknownFocus {
        /// As given.
        topic: String,
        /// Up to three names like it.
        near: Vec<String>,
    },
    /// A focus topic had too few examples.
    #[error(
        "the focus topic `{topic}` has {examples} examples, {FOCUS_EXAMPLES_MIN} are needed; it went to \
         `{taken_by}`: give it more examples, or choose a topic above it"
    )]
    FocusTooSmall {
        /// The topic.
        topic: String,
        /// All that it and the topics under it have.
        examples: usize,
        /// The class that its examples went to, or would have.
        taken_by: String,
    },
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() {
        return String::new();
    }
    format!("; did you mean `{}`?", near.join("` or `"))
}

/// Prunes the taxonomy of examples whose topics are `topics[t]` for each `t` of `examples`.
///
/// The same input gives the same result. An index that is no topic counts as the first one.
pub fn prune(
    topics: &[String],
    examples: &[u32],
    params: &PruneParams,
) -> Result<Pruned, PruneError> {
    if examples.is_empty() || topics.is_empty() {
        return Err(PruneError::Empty);
    }
    let k = params.examples.get();
    let mut forest = Forest::of(topics, examples);
    protect(&mut forest, &params.focus)?;
    let before = forest.size();
    let mut steps = Vec::new();
    let lost = forest.fold(k, &mut steps);
    forest.settle_others(k, &mut steps);
    if let Some(lost) = lost {
        let taker = forest.taker(lost.node);
        return Err(PruneError::FocusTooSmall {
            topic: forest.name(lost.node).to_owned(),
            examples: lost.examples,
            taken_by: forest.class_name(taker),
        });
    }
    let mut classes: BTreeMap<String, Vec<u32>> = forest.classes().collect();
    for (class, members) in &mut classes {
        // Their order tells in which order topics were folded; the sample should not.
        members.sort_unstable();
        if members.len() > k {
            steps.push(PruneStep::Sampled {
                class: class.clone(),
                from: members.len(),
                to: k,
            });
            let mut chance = chance(params.seed, &format!("taxonomy/prune/{class}"));
            let kept = sample(&mut chance, members.len(), k);
            *members = kept.into_iter().map(|at| members[at]).collect();
        }
    }
    Ok(outcome(classes, examples.len(), before, steps))
}

/// Marks the focus topics.
fn protect(forest: &mut Forest, focus: &[String]) -> Result<(), PruneError> {
    for topic in focus {
        let wanted = topic.trim().trim_matches('/');
        if !forest.protect(wanted) {
            let names: Vec<String> = forest.names().map(str::to_owned).collect();
            return Err(PruneError::UnknownFocus {
                topic: topic.clone(),
                near: near_matches(wanted, &names),
            });
        }
    }
    Ok(())
}

fn outcome(
    classes: BTreeMap<String, Vec<u32>>,
    examples: usize,
    before: TaxonomySize,
    steps: Vec<PruneStep>,
) -> Pruned {
    let mut class_of = vec![None; examples];
    for (number, members) in (0..).zip(classes.values()) {
        for member in members {
            if let Some(class) = class_of.get_mut(*member as usize) {
                *class = Some(number);
            }
        }
    }
    let kept = classes.values().map(Vec::len).sum();
    let classes: Vec<String> = classes.into_keys().collect();
    Pruned {
        after: TaxonomySize::of_classes(&classes, kept),
        classes,
        class_of,
        before,
        steps,
    }
}
