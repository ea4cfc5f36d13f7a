//! On-line page importance (Abiteboul, Preda, Cobena, WWW 2003), as it was and with scores.

use super::estimator::Estimator;
use super::known::Known;
use super::model::NodeId;

/// Cash goes from a crawled node to its children. With scores, a crawled node is given its beta on
/// top, and the children share by alpha (equally if all are 0); without, a node gets nothing on top
/// and the children share equally. A node crawled from nowhere, a seed, begins with cash of 1.
///
/// The paper estimates (H + C) / (G + 1). H, the cash that went through, is 0 until a node is crawled,
/// and G is the same for all, so that waiting nodes stand in the order of C alone, which is used.
#[derive(Debug)]
pub(super) struct Opic {
    cash: Vec<f64>,
    scored: bool,
    /// Cash of crawled nodes without edges.
    kept: f64,
    /// All cash that was ever given out.
    given: f64,
}

impl Opic {
    pub(super) fn new(scored: bool, nodes: usize) -> Self {
        Self {
            cash: vec![0.0; nodes],
            scored,
            kept: 0.0,
            given: 0.0,
        }
    }

    /// Cash given out, and cash that is there; equal up to rounding.
    #[cfg(test)]
    pub(super) fn balance(&self) -> (f64, f64) {
        (self.given, self.kept + self.cash.iter().sum::<f64>())
    }
}

impl Estimator for Opic {
    fn crawled(&mut self, known: &Known<'_>, node: NodeId, changed: &mut Vec<NodeId>) {
        let mut added = if known.parents(node).next().is_none() {
            1.0
        } else {
            0.0
        };
        if self.scored {
            added += known.beta(node);
        }
        self.given += added;
        let cash = std::mem::take(&mut self.cash[node as usize]) + added;
        let out = known.out(node);
        if out.is_empty() {
            self.kept += cash;
            return;
        }
        let alphas: f64 = out.iter().map(|edge| f64::from(edge.alpha)).sum();
        let by_alpha = self.scored && alphas > 0.0;
        for edge in out {
            let share = if by_alpha {
                f64::from(edge.alpha) / alphas
            } else {
                1.0 / out.len() as f64
            };
            self.cash[edge.target as usize] += cash * share;
            changed.push(edge.target);
        }
    }

    fn estimate(&self, _: &Known<'_>, node: NodeId) -> f64 {
        self.cash[node as usize]
    }
}
