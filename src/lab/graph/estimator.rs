//! What a waiting node is worth: the trait that a crawler of graphs is.
//!
//! It is not the `LinkScorer` of pages. That one scores the links of a page once, from the page, and
//! is rescored by epochs; here a node's worth changes with every parent and sibling that is crawled,
//! so an estimator says which nodes changed, and the queue follows.

use super::known::Known;
use super::model::NodeId;

/// Estimates the score of waiting nodes from what is known.
pub trait Estimator: Send {
    /// `node` has just been crawled: `known` has its score and its edges. Writes every waiting node
    /// whose estimate may have changed into `changed`; naming one twice is no fault.
    fn crawled(&mut self, known: &Known<'_>, node: NodeId, changed: &mut Vec<NodeId>);

    /// The estimate for a waiting node; higher is better, and never NaN.
    fn estimate(&self, known: &Known<'_>, node: NodeId) -> f64;

    /// Asked after each step: whether every estimate has to be asked for anew, because the estimator
    /// has learned something that concerns them all.
    fn all_changed(&mut self, _known: &Known<'_>) -> bool {
        false
    }
}

/// When to ask for all estimates anew: after each step at first, then each time the crawl has grown by
/// a fiftieth. What is learned moves like 1/n, so the order stays nearly what it would be if all were
/// asked at each step, and the cost of a step does not grow with the crawl squared.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Growth {
    next: usize,
}

impl Growth {
    /// Whether it is time, `size` being what grows.
    pub(super) fn due(&mut self, size: usize) -> bool {
        let due = size >= self.next;
        if due {
            self.next = size + size / 50 + 1;
        }
        due
    }
}
