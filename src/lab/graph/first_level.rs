//! Estimators that look at the known parents of a node.

use super::estimator::Estimator;
use super::known::Known;
use super::model::NodeId;

/// What is summed over the known parents u of v.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parents {
    /// 1.
    Degree,
    /// beta(u).
    Nodes,
    /// alpha(u, v).
    Edges,
    /// beta(u) alpha(u, v).
    Both,
}

/// All four sums of every node, each updated when a parent is crawled.
#[derive(Debug)]
pub(super) struct ParentSums(Vec<[f64; 4]>);

impl ParentSums {
    pub(super) fn new(nodes: usize) -> Self {
        Self(vec![[0.0; 4]; nodes])
    }

    pub(super) fn crawled(&mut self, known: &Known<'_>, node: NodeId, changed: &mut Vec<NodeId>) {
        let beta = known.beta(node);
        for edge in known.out(node) {
            if known.is_waiting(edge.target) {
                let alpha = f64::from(edge.alpha);
                let sums = &mut self.0[edge.target as usize];
                for (sum, part) in sums.iter_mut().zip([1.0, beta, alpha, beta * alpha]) {
                    *sum += part;
                }
                changed.push(edge.target);
            }
        }
    }

    /// The sums smoothed by log(1 + x), in the order of [`Parents`].
    pub(super) fn logs(&self, node: NodeId) -> [f64; 4] {
        self.0[node as usize].map(f64::ln_1p)
    }
}

/// log(1 + one of the sums).
#[derive(Debug)]
pub(super) struct FirstLevel {
    sums: ParentSums,
    of: Parents,
}

impl FirstLevel {
    pub(super) fn new(of: Parents, nodes: usize) -> Self {
        Self {
            sums: ParentSums::new(nodes),
            of,
        }
    }
}

impl Estimator for FirstLevel {
    fn crawled(&mut self, known: &Known<'_>, node: NodeId, changed: &mut Vec<NodeId>) {
        self.sums.crawled(known, node, changed);
    }

    fn estimate(&self, _: &Known<'_>, node: NodeId) -> f64 {
        self.sums.0[node as usize][self.of as usize].ln_1p()
    }
}
