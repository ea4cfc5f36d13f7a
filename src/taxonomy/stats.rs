//! How large the topics of a taxonomy are.

use crate::taxonomy::tree::TopicTree;

/// The shares of topics at which sizes are given.
const SHARES: [f64; 9] = [0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0];

/// The sizes of a taxonomy.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct TaxonomyStats {
    /// Topics, inner ones and leaves.
    pub topics: u64,
    /// Topics with examples of their own.
    pub with_examples: u64,
    /// Examples.
    pub examples: u64,
    /// By level, the first one first.
    pub levels: Vec<LevelSize>,
    /// How many examples of its own a topic has that has any; empty if none has.
    pub sizes: Vec<Quantile>,
}

/// One level of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct LevelSize {
    /// From 1.
    pub level: usize,
    /// Topics of this level.
    pub topics: u64,
    /// Those without topics under them.
    pub leaves: u64,
    /// Examples of the topics themselves.
    pub examples: u64,
    /// The most that one of them has.
    pub largest: u64,
}

/// A share of the topics has at most so many examples.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Quantile {
    /// 0 is the smallest, 0.5 the median, 1 the largest.
    pub share: f64,
    /// Examples (nearest rank).
    pub examples: u64,
}

impl TaxonomyStats {
    /// The sizes of `tree`.
    pub fn of(tree: &TopicTree) -> Self {
        let mut levels: Vec<LevelSize> = Vec::new();
        let mut sizes = Vec::new();
        for node in tree.nodes() {
            while levels.len() < node.level {
                levels.push(LevelSize {
                    level: levels.len() + 1,
                    ..LevelSize::default()
                });
            }
            let level = &mut levels[node.level - 1];
            level.topics += 1;
            level.leaves += u64::from(node.topics == 0);
            level.examples += node.own;
            level.largest = level.largest.max(node.own);
            if node.own > 0 {
                sizes.push(node.own);
            }
        }
        sizes.sort_unstable();
        Self {
            topics: tree.nodes().len() as u64,
            with_examples: sizes.len() as u64,
            examples: tree.examples(),
            levels,
            sizes: quantiles(&sizes),
        }
    }
}

/// By nearest rank: the ceil(share * n)-th of n sorted sizes.
fn quantiles(sorted: &[u64]) -> Vec<Quantile> {
    let Some(&smallest) = sorted.first() else {
        return Vec::new();
    };
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a length lies within it"
        )]
        let rank = (share * sorted.len() as f64).ceil() as usize;
        let examples = rank.checked_sub(1).and_then(|at| sorted.get(at));
        Quantile {
            share,
            examples: examples.copied().unwrap_or(smallest),
        }
    };
    SHARES.into_iter().map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_quantiles_are_those_of_a_small_tree() {
        let counts = (1..=20).map(|size| (format!("A/{size}"), size));
        let stats = TaxonomyStats::of(&TopicTree::of(counts.chain([("B".to_owned(), 100)])));
        assert_eq!(
            (stats.topics, stats.with_examples, stats.examples),
            (22, 21, 310)
        );
        let level = |level, topics, leaves, examples, largest| LevelSize {
            level,
            topics,
            leaves,
            examples,
            largest,
        };
        assert_eq!(
            stats.levels,
            [level(1, 2, 1, 100, 100), level(2, 20, 20, 210, 20)]
        );
        // Of 21 sizes the ranks 1, 2, 3, 6, 11, 16, 19, 20 and 21.
        let sizes: Vec<u64> = stats
            .sizes
            .iter()
            .map(|quantile| quantile.examples)
            .collect();
        assert_eq!(sizes, [1, 2, 3, 6, 11, 16, 19, 20, 100]);
    }

    #[test]
    fn an_empty_taxonomy_has_no_sizes() {
        let stats = TaxonomyStats::of(&TopicTree::default());
        assert!(stats.levels.is_empty() && stats.sizes.is_empty());
    }
}
