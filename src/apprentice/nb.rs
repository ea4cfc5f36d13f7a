//! The paper's learner: two-class naive Bayes over LOW and HIGH (WWW 2002, section 3.4).
//!
//! The labels of the first epoch are split at their median; from then on a page is HIGH or LOW by that
//! cut, and the prediction is Pr(HIGH | features), since the medians of the two halves lie near 0 and
//! 1. Learning is adding counts.

use super::dense;
use super::explain::{FeatureRef, Parts};
use super::instance::{Instance, logit};
use super::learner::{Learner, WeightsLater};
use super::saved::Weights;
use super::shared::SharedMap;

pub(super) const NAME: &str = "nb";

/// The cut stays within these, so that both classes mean something.
const CUT: std::ops::RangeInclusive<f32> = 0.1..=0.9;
/// Features that are counted exactly; beyond this many, those seen once go.
const FEATURES_MAX: usize = 2_000_000;
/// Laplace's: this much is added to each count.
const SMOOTHING: f32 = 1.0;

/// The part of a prediction that all links share.
const SHARE: &str = "share of relevant pages so far";

/// How often a feature was seen with a LOW and with a HIGH target.
pub(super) type Counts = [f32; 2];

/// The counts of a feature: those of the last epoch and those by now.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    published: Counts,
    working: Counts,
}

/// What is counted beside the features.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    /// Features with a count.
    features: usize,
    /// Their counts. There may be more of them than an `f32` can count.
    counts: [f64; 2],
    instances: Counts,
}

/// All that a [`TwoClassBayes`] has counted.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BayesCounts {
    pub(super) cut: f32,
    /// By key, rising.
    pub(super) features: Vec<(u64, Counts)>,
    pub(super) instances: Counts,
}

impl BayesCounts {
    /// How many features were counted.
    pub fn count(&self) -> usize {
        self.features.len()
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct TwoClassBayes {
    /// Not yet cut: instances of the first epoch, with their labels.
    early: Vec<(Instance, f32)>,
    cut: Option<f32>,
    features: SharedMap<u64, Counted>,
    /// Features that were counted since the last epoch.
    changed: Vec<u64>,
    working: Totals,
    published: Totals,
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

    /// What the published epoch says: the log odds of HIGH among all instances, and then what each
    /// feature adds. Before the first epoch: the baseline's, the strength of the source page.
    fn for_each_part(&self, instance: &Instance, mut take: impl FnMut(FeatureRef, f32)) {
        let totals = &self.published;
        if self.cut.is_none() || totals.instances.contains(&0.0) {
            let name = dense::DENSE_NAMES[dense::RELEVANCE];
            return take(FeatureRef::Number(name), instance.dense[dense::RELEVANCE]);
        }
        let all = totals.instances[0] + totals.instances[1];
        let smoothed = SMOOTHING * totals.features as f32;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "counts are rounded when they are divided"
        )]
        let counts_of_all = totals.counts.map(|count| count as f32);
        take(FeatureRef::Number(SHARE), logit(totals.instances[1] / all));
        for key in &instance.vector.keys {
            let counted = self.features.get(*key).map(|counted| counted.published);
            // One that no epoch has seen yet says nothing.
            if let Some(counts) = counted.filter(|counts| counts[0] + counts[1] > 0.0) {
                let share =
                    |side: usize| (counts[side] + SMOOTHING) / (counts_of_all[side] + smoothed);
                take(FeatureRef::Key(*key), (share(1) / share(0)).ln());
            }
        }
    }

    fn count(&mut self, instance: &Instance, label: f32, cut: f32) {
        let side = usize::from(label > cut);
        self.working.instances[side] += 1.0;
        for key in &instance.vector.keys {
            self.features.get_or_default(*key).working[side] += 1.0;
            self.working.counts[side] += 1.0;
            self.changed.push(*key);
        }
    }

    fn drop_rare(&mut self) {
        if self.features.len() <= FEATURES_MAX {
            return;
        }
        let before = self.features.len();
        let mut gone = [0.0_f64; 2];
        self.features.retain(|Counted { working, .. }| {
            let is_kept = working[0] + working[1] > 1.0;
            if !is_kept {
                gone[0] += f64::from(working[0]);
                gone[1] += f64::from(working[1]);
            }
            is_kept
        });
        self.working.counts[0] -= gone[0];
        self.working.counts[1] -= gone[1];
        let dropped = before - self.features.len();
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
        NAME
    }

    fn predict(&self, instance: &Instance) -> f32 {
        let mut odds = 0.0;
        self.for_each_part(instance, |_, part| odds += part);
        odds
    }

    fn explain(&self, instance: &Instance) -> Parts {
        let mut parts = Parts::new();
        self.for_each_part(instance, |feature, part| parts.push((feature, part)));
        parts
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
        for key in self.changed.drain(..) {
            if let Some(counted) = self.features.get_mut(key) {
                counted.published = counted.working;
            }
        }
        self.working.features = self.features.len();
        self.published = self.working;
    }

    fn cut(&self) -> Option<f32> {
        self.cut
    }

    fn set_cut(&mut self, cut: f32) {
        self.cut = Some(cut);
    }

    fn weights(&self) -> Weights {
        (self.weights_later())()
    }

    fn weights_later(&self) -> WeightsLater {
        // Before the first epoch nothing is counted.
        let Some(cut) = self.cut else {
            return Box::new(|| Weights::None);
        };
        let (features, instances) = (self.features.clone(), self.working.instances);
        Box::new(move || {
            let counts = |(key, counted): (&u64, &Counted)| (*key, counted.working);
            let mut features: Vec<_> = features.iter().map(counts).collect();
            features.sort_unstable_by_key(|(key, _)| *key);
            Weights::Bayes(BayesCounts {
                cut,
                features,
                instances,
            })
        })
    }

    fn set_weights(&mut self, weights: &Weights) {
        let Weights::Bayes(saved) = weights else {
            return;
        };
        *self = Self::new();
        self.cut = Some(saved.cut);
        self.working.instances = saved.instances;
        for (key, working) in &saved.features {
            let counted = Counted {
                published: *working,
                working: *working,
            };
            self.features.insert(*key, counted);
            self.working.counts[0] += f64::from(working[0]);
            self.working.counts[1] += f64::from(working[1]);
        }
        self.publish();
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
        let parts = bayes.explain(&instance(&[1], 9.0));
        let sum: f32 = parts.iter().map(|(_, part)| part).sum();
        assert_eq!((parts.len(), sum.to_bits()), (2, odds.to_bits()));
        // A feature that was never seen says nothing.
        let unknown = bayes.predict(&instance(&[7], 9.0));
        assert!((unknown - (0.25_f32 / 0.75).ln()).abs() < 1e-5);
    }
}
