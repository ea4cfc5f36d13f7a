//! The paper's learner: two-class naive Bayes over LOW and HIGH (WWW 2002, section 3.4).
//!
//! The labels of the first epoch are split at their median; from then on a page is HIGH or LOW by that
//! cut, and the prediction is Pr(HIGH | features), since the medians of the two halves lie near 0 and
//! 1. Learning is adding counts.

use std::collections::HashMap;

use super::dense;
use super::instance::{Instance, logit};
use super::learner::Learner;
use crate::url::FingerprintState;

/// The cut stays within these, so that both classes mean something.
const CUT: std::ops::RangeInclusive<f32> = 0.1..=0.9;
/// Features that are counted exactly; beyond this many, those seen once go.
const FEATURES_MAX: usize = 2_000_000;
/// Laplace's: this much is added to each count.
const SMOOTHING: f32 = 1.0;

/// How often a feature was seen with a LOW and with a HIGH target.
type Counts = [f32; 2];

#[derive(Clone, Debug, Default)]
struct Table {
    features: HashMap<u64, Counts, FingerprintState>,
    totals: Counts,
    instances: Counts,
}

/// See the module.
#[derive(Debug, Default)]
pub struct TwoClassBayes {
    /// Not yet cut: instances of the first epoch, with their labels.
    early: Vec<(Instance, f32)>,
    cut: Option<f32>,
    working: Table,
    /// What changed since the last epoch, and the epoch itself.
    published: Table,
    dropped: u64,
}

impl TwoClassBayes {
    /// Knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Features that were dropped because the table was full.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn count(&mut self, instance: &Instance, label: f32, cut: f32) {
        let side = usize::from(label > cut);
        self.working.instances[side] += 1.0;
        for key in &instance.vector.keys {
            self.working.features.entry(*key).or_default()[side] += 1.0;
            self.working.totals[side] += 1.0;
        }
    }

    fn drop_rare(&mut self) {
        if self.working.features.len() <= FEATURES_MAX {
            return;
        }
        let before = self.working.features.len();
        let mut gone = [0.0; 2];
        self.working.features.retain(|_, counts| {
            let is_kept = counts[0] + counts[1] > 1.0;
            if !is_kept {
                gone[0] += counts[0];
                gone[1] += counts[1];
            }
            is_kept
        });
        self.working.totals[0] -= gone[0];
        self.working.totals[1] -= gone[1];
        let dropped = before - self.working.features.len();
        self.dropped += dropped as u64;
        tracing::warn!(
            dropped,
            "the table of features was full: what was seen once went"
        );
    }
}

/// The cut between LOW and HIGH for these labels: their median, kept off 0 and 1.
pub fn cut_of(labels: &mut [f32]) -> f32 {
    median(labels).clamp(*CUT.start(), *CUT.end())
}

fn median(labels: &mut [f32]) -> f32 {
    labels.sort_by(f32::total_cmp);
    labels.get(labels.len() / 2).copied().unwrap_or(0.5)
}

impl Learner for TwoClassBayes {
    fn name(&self) -> &'static str {
        "nb"
    }

    /// Before the first epoch: the baseline's, the strength of the source page.
    fn predict(&self, instance: &Instance) -> f32 {
        let table = &self.published;
        if self.cut.is_none() || table.instances.contains(&0.0) {
            return instance.dense[dense::RELEVANCE];
        }
        let all = table.instances[0] + table.instances[1];
        let smoothed = SMOOTHING * table.features.len() as f32;
        let mut odds = logit(table.instances[1] / all);
        for key in &instance.vector.keys {
            if let Some(counts) = table.features.get(key) {
                let share =
                    |side: usize| (counts[side] + SMOOTHING) / (table.totals[side] + smoothed);
                odds += (share(1) / share(0)).ln();
            }
        }
        odds
    }

    fn learn(&mut self, instance: &Instance, label: f32, _weight: f32) {
        match self.cut {
            Some(cut) => self.count(instance, label, cut),
            None => self.early.push((instance.clone(), label)),
        }
    }

    fn publish(&mut self) {
        if self.cut.is_none() {
            let early = std::mem::take(&mut self.early);
            let mut labels: Vec<f32> = early.iter().map(|(_, label)| *label).collect();
            let cut = cut_of(&mut labels);
            for (instance, label) in &early {
                self.count(instance, *label, cut);
            }
            self.cut = Some(cut);
        }
        self.drop_rare();
        self.published = self.working.clone();
    }

    fn cut(&self) -> Option<f32> {
        self.cut
    }

    fn set_cut(&mut self, cut: f32) {
        self.cut = Some(cut);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(keys: &[u64], strength: f32) -> Instance {
        let mut instance = Instance::default();
        for key in keys {
            instance.vector.push(*key, 1.0);
        }
        instance.dense[dense::RELEVANCE] = strength;
        instance
    }

    #[test]
    fn before_the_first_epoch_it_is_the_baseline() {
        let mut bayes = TwoClassBayes::new();
        bayes.learn(&instance(&[1], 0.0), 1.0, 1.0);
        assert!((bayes.predict(&instance(&[1], 2.5)) - 2.5).abs() < 1e-6);
    }

    #[test]
    fn the_prediction_is_the_posterior_of_high() {
        let mut bayes = TwoClassBayes::new();
        // Two HIGH with feature 1, two LOW with feature 2; one of the LOW has feature 1 as well.
        bayes.learn(&instance(&[1], 0.0), 1.0, 1.0);
        bayes.learn(&instance(&[1], 0.0), 0.9, 1.0);
        bayes.learn(&instance(&[2], 0.0), 0.0, 1.0);
        bayes.learn(&instance(&[2, 1], 0.0), 0.2, 1.0);
        bayes.publish();
        // The labels sorted: 0, 0.2, 0.9, 1; the median is 0.9, so that HIGH is what lies above: one
        // of four. Pr(1 | HIGH) = (1 + 1) / (1 + 2), Pr(1 | LOW) = (2 + 1) / (4 + 2).
        let expected = (0.25_f32 / 0.75).ln() + ((2.0 / 3.0) / (3.0 / 6.0_f32)).ln();
        let odds = bayes.predict(&instance(&[1], 9.0));
        assert!((odds - expected).abs() < 1e-5, "{odds} {expected}");
        // A feature that was never seen says nothing.
        let unknown = bayes.predict(&instance(&[7], 9.0));
        assert!((unknown - (0.25_f32 / 0.75).ln()).abs() < 1e-5);
    }
}
