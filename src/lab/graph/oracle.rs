//! Perfect foresight of one edge: what every crawler is measured against.

use super::estimator::Estimator;
use super::known::Known;
use super::model::{Graph, NodeId};

/// The true score. No upper bound of a crawl, since it does not look beyond the next node.
#[derive(Debug)]
pub(super) struct Oracle<'g>(pub(super) &'g Graph);

impl Estimator for Oracle<'_> {
    fn crawled(&mut self, known: &Known<'_>, node: NodeId, changed: &mut Vec<NodeId>) {
        changed.extend(known.out(node).iter().map(|edge| edge.target));
    }

    fn estimate(&self, _: &Known<'_>, node: NodeId) -> f64 {
        f64::from(self.0.beta(node))
    }
}
