//! The expected page loss.

/// One point of L(n).
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct LossPoint {
    /// Fetches so far.
    pub n: u64,
    /// L(n) = sum over the first n fetches of (1 - R).
    pub loss: f64,
    /// Harvest rate 1 - L(n)/n.
    pub harvest: f64,
}

/// L(n) of one crawl: the relevance of each counted fetch, in order.
///
/// Memory: 4 bytes a fetch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LossCurve {
    relevance: Vec<f32>,
    loss: f64,
}

impl LossCurve {
    /// Adds a fetch of relevance `relevance`, in [0, 1].
    pub fn push(&mut self, relevance: f32) {
        self.relevance.push(relevance);
        self.loss += 1.0 - f64::from(relevance);
    }

    /// Fetches so far.
    pub fn n(&self) -> u64 {
        self.relevance.len() as u64
    }

    /// L(n) of all fetches so far.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// Harvest rate of the last `window` fetches; `None` before the first.
    pub fn harvest_of_last(&self, window: usize) -> Option<f64> {
        let from = self.relevance.len().saturating_sub(window);
        let last = &self.relevance[from..];
        if last.is_empty() {
            return None;
        }
        Some(last.iter().map(|r| f64::from(*r)).sum::<f64>() / last.len() as f64)
    }
}
