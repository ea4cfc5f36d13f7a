//! Breadth-first: near the seeds goes first.

use super::estimator::Estimator;
use super::known::Known;
use super::model::NodeId;

/// 1 / (distance + 1), the distance being the number of known edges from the nearest seed. Ties go by
/// discovery, so that this is the usual queue.
#[derive(Debug)]
pub(super) struct Bfs {
    distance: Vec<u32>,
}

impl Bfs {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            distance: vec![u32::MAX; nodes],
        }
    }
}

impl Estimator for Bfs {
    fn crawled(&mut self, known: &Known<'_>, node: NodeId, changed: &mut Vec<NodeId>) {
        if known.parents(node).next().is_none() || self.distance[node as usize] == u32::MAX {
            self.distance[node as usize] = 0;
        }
        let next = self.distance[node as usize].saturating_add(1);
        for edge in known.out(node) {
            let distance = &mut self.distance[edge.target as usize];
            if next < *distance {
                *distance = next;
                changed.push(edge.target);
            }
        }
    }

    fn estimate(&self, _: &Known<'_>, node: NodeId) -> f64 {
        1.0 / (f64::from(self.distance[node as usize]) + 1.0)
    }
}
