//! An estimator and the waiting nodes in its order.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::estimator::Estimator;
use super::known::Known;
use super::model::NodeId;

/// Out-of-date entries are swept out once there are this many times the waiting nodes.
const STALE_MAX: usize = 4;
const SWEEP_FROM: usize = 1 << 12;

/// The waiting nodes by falling estimate, then by discovery. An entry whose estimate is no longer the
/// node's is left in the heap and skipped.
pub(super) struct Ranked<'g> {
    estimator: Box<dyn Estimator + 'g>,
    heap: BinaryHeap<Entry>,
    current: Vec<f64>,
    changed: Vec<NodeId>,
}

#[derive(Clone, Copy, PartialEq)]
struct Entry {
    estimate: f64,
    found: Reverse<u32>,
    node: NodeId,
}

impl Eq for Entry {}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_estimate = self.estimate.total_cmp(&other.estimate);
        by_estimate.then(self.found.cmp(&other.found))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'g> Ranked<'g> {
    pub(super) fn new(estimator: Box<dyn Estimator + 'g>, nodes: usize) -> Self {
        Self {
            estimator,
            heap: BinaryHeap::new(),
            current: vec![f64::NAN; nodes],
            changed: Vec::new(),
        }
    }

    /// Tells the estimator of a crawled node and follows its changes.
    pub(super) fn crawled(&mut self, known: &Known<'_>, node: NodeId) {
        let mut changed = std::mem::take(&mut self.changed);
        changed.clear();
        self.estimator.crawled(known, node, &mut changed);
        for node in &changed {
            self.update(known, *node);
        }
        self.changed = changed;
    }

    /// Follows what the estimator has learned, after a step.
    pub(super) fn settle(&mut self, known: &Known<'_>) {
        let stale = self.heap.len() > SWEEP_FROM.max(STALE_MAX * known.waiting().len());
        if self.estimator.all_changed(known) || stale {
            self.rebuild(known);
        }
    }

    /// The best waiting node and its estimate; it stays.
    pub(super) fn best(&mut self, known: &Known<'_>) -> Option<(NodeId, f64)> {
        while let Some(entry) = self.heap.peek() {
            let current = self.current[entry.node as usize];
            if known.is_waiting(entry.node) && current.total_cmp(&entry.estimate).is_eq() {
                return Some((entry.node, entry.estimate));
            }
            self.heap.pop();
        }
        None
    }

    /// What the estimator says of a node now.
    pub(super) fn estimate(&self, known: &Known<'_>, node: NodeId) -> f64 {
        self.estimator.estimate(known, node)
    }

    fn update(&mut self, known: &Known<'_>, node: NodeId) {
        if !known.is_waiting(node) {
            return;
        }
        let estimate = self.estimator.estimate(known, node);
        let current = &mut self.current[node as usize];
        if current.total_cmp(&estimate).is_eq() {
            return;
        }
        *current = estimate;
        self.heap.push(Entry {
            estimate,
            found: Reverse(known.found(node)),
            node,
        });
    }

    fn rebuild(&mut self, known: &Known<'_>) {
        let mut entries = std::mem::take(&mut self.heap).into_vec();
        entries.clear();
        for node in known.waiting() {
            let estimate = self.estimator.estimate(known, *node);
            self.current[*node as usize] = estimate;
            entries.push(Entry {
                estimate,
                found: Reverse(known.found(*node)),
                node: *node,
            });
        }
        self.heap = BinaryHeap::from(entries);
    }
}
