//! Navigational rank: a node is good if good nodes can be reached from it; what it links to inherits.
//!
//! Backwards, over crawled nodes, B(u) = (1 - eta) beta(u) + eta mean of B over the crawled targets of
//! u; forwards, F(v) = (1 - eta) B(v) + eta sum over known parents u of F(u) / out-degree(u), with
//! B = 0 for waiting nodes. These are the directions in which a waiting node comes to a score at all: it
//! has no known targets, so that with the two passes exchanged all of them would be 0. Which way the
//! authors computed their figures is not known to us, nor their eta (here 0.5).

use super::estimator::{Estimator, Growth};
use super::known::Known;
use super::model::NodeId;

/// Rounds of each pass end here, or when nothing moves by more than [`STILL`].
const ROUNDS_MAX: u32 = 200;
const STILL: f64 = 1e-10;

/// The estimate is F. All is iterated anew whenever the known edges have grown by a fiftieth; a node
/// crawled in between hands its share on once.
#[derive(Debug)]
pub(super) struct NavigationalRank {
    eta: f64,
    backward: Vec<f64>,
    forward: Vec<f64>,
    growth: Growth,
}

impl NavigationalRank {
    pub(super) fn new(eta: f64, nodes: usize) -> Self {
        Self {
            eta,
            backward: vec![0.0; nodes],
            forward: vec![0.0; nodes],
            growth: Growth::default(),
        }
    }

    fn pass_backward(&mut self, known: &Known<'_>) {
        for _ in 0..ROUNDS_MAX {
            let mut moved = 0.0_f64;
            for node in known.crawled().iter().rev() {
                let (mut sum, mut count) = (0.0, 0.0);
                for edge in known.out(*node) {
                    if known.is_crawled(edge.target) {
                        sum += self.backward[edge.target as usize];
                        count += 1.0;
                    }
                }
                let mean = if count > 0.0 { sum / count } else { 0.0 };
                let value = (1.0 - self.eta) * known.beta(*node) + self.eta * mean;
                moved = moved.max((value - self.backward[*node as usize]).abs());
                self.backward[*node as usize] = value;
            }
            if moved < STILL {
                return;
            }
        }
    }

    fn pass_forward(&mut self, known: &Known<'_>) {
        for _ in 0..ROUNDS_MAX {
            let mut moved = 0.0_f64;
            for node in known.crawled() {
                let value = self.forward_of(known, *node);
                moved = moved.max((value - self.forward[*node as usize]).abs());
                self.forward[*node as usize] = value;
            }
            if moved < STILL {
                break;
            }
        }
        for node in known.waiting() {
            self.forward[*node as usize] = self.forward_of(known, *node);
        }
    }

    fn forward_of(&self, known: &Known<'_>, node: NodeId) -> f64 {
        let shares = known
            .parents(node)
            .map(|(parent, _)| self.forward[parent as usize] / known.out(parent).len() as f64);
        let own = if known.is_crawled(node) {
            self.backward[node as usize]
        } else {
            0.0
        };
        (1.0 - self.eta) * own + self.eta * shares.sum::<f64>()
    }
}

impl Estimator for NavigationalRank {
    fn crawled(&mut self, known: &Known<'_>, node: NodeId, changed: &mut Vec<NodeId>) {
        self.backward[node as usize] = (1.0 - self.eta) * known.beta(node);
        self.forward[node as usize] = self.forward_of(known, node);
        let out = known.out(node);
        let share = self.eta * self.forward[node as usize] / out.len().max(1) as f64;
        for edge in out {
            if known.is_waiting(edge.target) {
                self.forward[edge.target as usize] += share;
                changed.push(edge.target);
            }
        }
    }

    fn estimate(&self, _: &Known<'_>, node: NodeId) -> f64 {
        self.forward[node as usize]
    }

    fn all_changed(&mut self, known: &Known<'_>) -> bool {
        let due = self.growth.due(known.edges());
        if due {
            self.pass_backward(known);
            self.pass_forward(known);
        }
        due
    }
}
