//! Linear regression over the smoothed sums, learned from every node that is crawled.

use super::estimator::{Estimator, Growth};
use super::first_level::ParentSums;
use super::known::Known;
use super::least_squares::LeastSquares;
use super::model::NodeId;
use super::second_level::SiblingSums;

/// Holds the weights in place before there are as many examples as weights.
const RIDGE: f64 = 1e-3;

/// Over 1 and the four sums of the parents.
#[derive(Debug)]
pub(super) struct FirstLevelRegression {
    sums: ParentSums,
    fit: LeastSquares<5>,
    growth: Growth,
}

impl FirstLevelRegression {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            sums: ParentSums::new(nodes),
            fit: LeastSquares::new(RIDGE),
            growth: Growth::default(),
        }
    }

    fn features(&self, node: NodeId) -> [f64; 5] {
        let [degree, n, e, ne] = self.sums.logs(node);
        [1.0, degree, n, e, ne]
    }
}

impl Estimator for FirstLevelRegression {
    fn crawled(&mut self, known: &Known<'_>, node: NodeId, changed: &mut Vec<NodeId>) {
        if known.parents(node).next().is_some() {
            self.fit.learn(&self.features(node), known.beta(node));
        }
        self.sums.crawled(known, node, changed);
    }

    fn estimate(&self, _: &Known<'_>, node: NodeId) -> f64 {
        self.fit.predict(&self.features(node))
    }

    fn all_changed(&mut self, known: &Known<'_>) -> bool {
        self.growth.due(known.crawled().len())
    }
}

/// Over 1, the four sums of the parents and the three of the siblings.
#[derive(Debug)]
pub(super) struct SecondLevelRegression {
    parents: ParentSums,
    siblings: SiblingSums,
    fit: LeastSquares<8>,
    growth: Growth,
}

impl SecondLevelRegression {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            parents: ParentSums::new(nodes),
            siblings: SiblingSums::new(nodes),
            fit: LeastSquares::new(RIDGE),
            growth: Growth::default(),
        }
    }

    fn features(&self, node: NodeId) -> [f64; 8] {
        let [degree, n, e, ne] = self.parents.logs(node);
        let [sn, se, sne] = self.siblings.logs(node);
        [1.0, degree, n, e, ne, sn, se, sne]
    }
}

impl Estimator for SecondLevelRegression {
    fn crawled(&mut self, known: &Known<'_>, node: NodeId, changed: &mut Vec<NodeId>) {
        if known.parents(node).next().is_some() {
            self.fit.learn(&self.features(node), known.beta(node));
        }
        self.parents.crawled(known, node, changed);
        self.siblings.crawled(known, node, changed);
    }

    fn estimate(&self, _: &Known<'_>, node: NodeId) -> f64 {
        self.fit.predict(&self.features(node))
    }

    fn all_changed(&mut self, known: &Known<'_>) -> bool {
        self.growth.due(known.crawled().len())
    }
}
