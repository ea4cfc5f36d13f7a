//! Estimators that look at the crawled siblings of a node: w such that a known u leads to both.

use super::estimator::Estimator;
use super::known::Known;
use super::model::NodeId;

/// What is summed over the known parents u of v and the crawled children w of u.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Siblings {
    /// beta(w).
    Nodes,
    /// alpha(u, w).
    Edges,
    /// beta(w) alpha(u, w).
    Both,
}

/// All three sums. A pair (u, w) is added when the later of the two is crawled.
#[derive(Debug)]
pub(super) struct SiblingSums {
    of_node: Vec<[f64; 3]>,
    /// The part that each crawled u hands to all its children.
    of_parent: Vec<[f64; 3]>,
}

impl SiblingSums {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            of_node: vec![[0.0; 3]; nodes],
            of_parent: vec![[0.0; 3]; nodes],
        }
    }

    pub(super) fn crawled(&mut self, known: &Known<'_>, node: NodeId, changed: &mut Vec<NodeId>) {
        let beta = known.beta(node);
        for (parent, alpha) in known.parents(node) {
            let part = [beta, alpha, beta * alpha];
            // Most crawled nodes are worth nothing: their siblings need not be told.
            if part.iter().all(|part| *part <= 0.0) {
                continue;
            }
            add(&mut self.of_parent[parent as usize], part);
            self.hand_on(known, parent, part, changed);
        }
        let mut part = [0.0; 3];
        for edge in known.out(node) {
            if known.is_crawled(edge.target) {
                let (beta, alpha) = (known.beta(edge.target), f64::from(edge.alpha));
                add(&mut part, [beta, alpha, beta * alpha]);
            }
        }
        self.of_parent[node as usize] = part;
        self.hand_on(known, node, part, changed);
    }

    fn hand_on(&mut self, known: &Known<'_>, u: NodeId, part: [f64; 3], changed: &mut Vec<NodeId>) {
        for edge in known.out(u) {
            if known.is_waiting(edge.target) {
                add(&mut self.of_node[edge.target as usize], part);
                changed.push(edge.target);
            }
        }
    }

    /// The sums smoothed by log(1 + x), in the order of [`Siblings`].
    pub(super) fn logs(&self, node: NodeId) -> [f64; 3] {
        self.of_node[node as usize].map(f64::ln_1p)
    }
}

fn add(sums: &mut [f64; 3], part: [f64; 3]) {
    for (sum, part) in sums.iter_mut().zip(part) {
        *sum += part;
    }
}

/// log(1 + one of the sums).
#[derive(Debug)]
pub(super) struct SecondLevel {
    sums: SiblingSums,
    of: Siblings,
}

impl SecondLevel {
    pub(super) fn new(of: Siblings, nodes: usize) -> Self {
        Self {
            sums: SiblingSums::new(nodes),
            of,
        }
    }
}

impl Estimator for SecondLevel {
    fn crawled(&mut self, known: &Known<'_>, node: NodeId, changed: &mut Vec<NodeId>) {
        self.sums.crawled(known, node, changed);
    }

    fn estimate(&self, _: &Known<'_>, node: NodeId) -> f64 {
        self.sums.of_node[node as usize][self.of as usize].ln_1p()
    }
}
