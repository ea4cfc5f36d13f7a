//! Logistic regression by FTRL-proximal, soft labels (algorithm 1 of "Ad click prediction: a view
//! from the trenches", KDD 2013).
//!
//! It does not begin from nothing: the relevance of the source page and the critic's word on the text
//! in and around the link have weights from the start, and what is learned is added to them.

use super::dense::{self, DENSE, Dense};
use super::explain::{FeatureRef, Parts};
use super::frozen::LinkView;
use super::instance::{Instance, sigmoid};
use super::learner::{Learner, WeightsLater};
use super::saved::Weights;
use super::shared::SharedTable;
use crate::features::{Key, LinkVector, is_topic_free};

pub(super) const NAME: &str = "ftrl";

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct FtrlParams {
    /// log2 of the slots.
    pub bits: u32,
    /// Learning rate of the sparse weights.
    pub alpha: f32,
    /// Learning rate of the dense weights.
    pub alpha_dense: f32,
    /// See the paper; 1 is usual.
    pub beta: f32,
    /// L1 of the sparse weights.
    pub l1: f32,
    /// L2 of the sparse weights.
    pub l2: f32,
    /// What the dense weights are worth before anything is learned.
    pub prior: Dense,
}

impl Default for FtrlParams {
    fn default() -> Self {
        // Chosen on uci-ics (databases, courses, software_eng, vision_graphics, webdav; docs/experiments.md).
        let mut prior = [0.0; DENSE];
        prior[dense::RELEVANCE] = 0.5;
        prior[dense::OWN_WORDS] = 1.5;
        prior[dense::WORDS_AROUND] = 0.5;
        prior[dense::URL_WORDS] = 1.0;
        Self {
            bits: 22,
            alpha: 0.3,
            alpha_dense: 0.1,
            beta: 1.0,
            l1: 0.0,
            l2: 0.1,
            prior,
        }
    }
}

/// The sums of one weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Sums {
    pub(super) z: f32,
    pub(super) n: f32,
}

impl Sums {
    pub(super) fn weight(self, alpha: f32, beta: f32, l1: f32, l2: f32) -> f32 {
        if self.z.abs() <= l1 {
            return 0.0;
        }
        -(self.z - self.z.signum() * l1) / ((beta + self.n.sqrt()) / alpha + l2)
    }

    fn add(&mut self, gradient: f32, weight: f32, alpha: f32) {
        let squared = gradient * gradient;
        let step = ((self.n + squared).sqrt() - self.n.sqrt()) / alpha;
        self.z += gradient - step * weight;
        self.n += squared;
    }
}

/// All that an [`Ftrl`] has learned.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct FtrlWeights {
    pub(super) params: FtrlParams,
    /// Those that were learned, rising.
    pub(super) slots: Vec<Slot>,
    pub(super) dense: [Sums; DENSE],
}

/// A weight that was learned.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Slot {
    pub(super) at: u32,
    pub(super) sums: Sums,
    /// No feature that belongs to a topic was counted into it.
    pub(super) is_topic_free: bool,
}

impl FtrlWeights {
    /// How many there are.
    pub fn count(&self) -> usize {
        let dense = self.dense.iter().filter(|sums| sums.n > 0.0);
        let slots = self
            .slots
            .iter()
            .filter(|slot| slot.sums != Sums::default());
        slots.count() + dense.count()
    }

    /// Forgets what belongs to a topic, the bias with it: it says how many pages were relevant.
    pub(super) fn keep_topic_free(&mut self) {
        self.slots.retain(|slot| slot.is_topic_free);
        self.dense[dense::BIAS] = Sums::default();
    }
}

/// See the module.
pub struct Ftrl {
    params: FtrlParams,
    sums: SharedTable<Sums>,
    /// Slots that were learned since the last epoch.
    changed: Vec<u32>,
    /// A bit a slot: whether a feature that belongs to a topic was counted into it.
    topic_bound: SharedTable<u64>,
    published: Vec<f32>,
    /// A bit a slot: whether its published weight is another than 0. Most features of a link were never
    /// learned; these bits stay in the cache where the weights do not.
    has_weight: Vec<u64>,
    dense: [Sums; DENSE],
    published_dense: Dense,
}

impl Ftrl {
    /// Knows nothing: predicts as the baseline does.
    pub fn new(params: FtrlParams) -> Self {
        let slots = 1_usize << params.bits;
        Self {
            params,
            sums: SharedTable::new(slots),
            changed: Vec::new(),
            topic_bound: SharedTable::new(slots.div_ceil(64)),
            published: vec![0.0; slots],
            has_weight: vec![0; slots.div_ceil(64)],
            dense: [Sums::default(); DENSE],
            published_dense: params.prior,
        }
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "what is left after the shift has `bits` bits, of which there are fewer than 32"
    )]
    fn slot(&self, key: Key) -> usize {
        // The high bits of a product depend on all bits of the key.
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - self.params.bits)) as usize
    }

    fn sparse_weight(&self, slot: usize) -> f32 {
        let FtrlParams {
            alpha,
            beta,
            l1,
            l2,
            ..
        } = self.params;
        self.sums[slot].weight(alpha, beta, l1, l2)
    }

    fn bind_to_topic(&mut self, slot: usize) {
        let bit = 1 << (slot % 64);
        if self.topic_bound[slot / 64] & bit == 0
            && let Some(bits) = self.topic_bound.get_mut(slot / 64)
        {
            *bits |= bit;
        }
    }

    fn published_weight(&self, slot: usize) -> f32 {
        if self.has_weight[slot / 64] >> (slot % 64) & 1 == 0 {
            return 0.0;
        }
        self.published[slot]
    }

    fn dense_weights(&self) -> Dense {
        let mut weights = self.params.prior;
        for (weight, sums) in weights.iter_mut().zip(&self.dense) {
            *weight += sums.weight(self.params.alpha_dense, self.params.beta, 0.0, 0.0);
        }
        weights
    }

    fn learned(&self) -> Learned<'_> {
        Learned {
            params: self.params,
            sums: &self.sums,
            topic_bound: &self.topic_bound,
            dense: self.dense,
        }
    }

    fn margin(
        &self,
        vector: &LinkVector,
        dense: &Dense,
        weights: &Dense,
        sparse: impl Fn(usize) -> f32,
    ) -> f32 {
        let mut of_sparse = 0.0;
        for (key, value) in vector.iter() {
            of_sparse += value * sparse(self.slot(key));
        }
        of_all(dense, weights) + of_sparse
    }
}

/// What weights are made of.
struct Learned<'a> {
    params: FtrlParams,
    sums: &'a SharedTable<Sums>,
    topic_bound: &'a SharedTable<u64>,
    dense: [Sums; DENSE],
}

impl Learned<'_> {
    fn weights(&self) -> Weights {
        // Gradients may be too small for their squares to show.
        let is_bound = |at: u32| self.topic_bound[at as usize / 64] >> (at % 64) & 1 == 1;
        let slots = (0..).zip(self.sums.iter());
        let slots = slots.filter(|(at, sums)| **sums != Sums::default() || is_bound(*at));
        let slots = slots.map(|(at, sums): (u32, _)| Slot {
            at,
            sums: *sums,
            is_topic_free: !is_bound(at),
        });
        Weights::Ftrl(FtrlWeights {
            params: self.params,
            slots: slots.collect(),
            dense: self.dense,
        })
    }
}

fn of_all(dense: &Dense, weights: &Dense) -> f32 {
    dense.iter().zip(weights).map(|(x, w)| x * w).sum()
}

impl Learner for Ftrl {
    fn name(&self) -> &'static str {
        NAME
    }

    fn predict(&self, instance: &Instance) -> f32 {
        self.margin(
            &instance.vector,
            &instance.dense,
            &self.published_dense,
            |slot| self.published_weight(slot),
        )
    }

    fn predict_link(&self, link: &LinkView<'_>) -> Option<f32> {
        let mut of_sparse = 0.0;
        link.for_each_feature(&mut |key, value| {
            of_sparse += value * self.published_weight(self.slot(key));
        });
        Some(of_all(&link.dense(), &self.published_dense) + of_sparse)
    }

    fn explain(&self, instance: &Instance) -> Parts {
        let numbers = dense::DENSE_NAMES.iter().zip(&instance.dense);
        let numbers = numbers
            .zip(&self.published_dense)
            .map(|((name, x), w)| (FeatureRef::Number(name), x * w));
        let sparse = instance.vector.iter().map(|(key, value)| {
            let weight = self.published[self.slot(key)];
            (FeatureRef::Key(key), value * weight)
        });
        numbers.chain(sparse).collect()
    }

    fn learn(&mut self, instance: &Instance, label: f32, weight: f32) {
        let dense_weights = self.dense_weights();
        let margin = self.margin(&instance.vector, &instance.dense, &dense_weights, |slot| {
            self.sparse_weight(slot)
        });
        let error = (sigmoid(margin) - label) * weight;
        for (key, value) in instance.vector.iter() {
            let slot = self.slot(key);
            let old = self.sparse_weight(slot);
            if let Some(sums) = self.sums.get_mut(slot) {
                sums.add(error * value, old, self.params.alpha);
            }
            if !is_topic_free(key) {
                self.bind_to_topic(slot);
            }
            self.changed.push(u32::try_from(slot).unwrap_or(u32::MAX));
        }
        for ((sums, x), (w, prior)) in self
            .dense
            .iter_mut()
            .zip(&instance.dense)
            .zip(dense_weights.iter().zip(&self.params.prior))
        {
            sums.add(error * x, w - prior, self.params.alpha_dense);
        }
    }

    fn publish(&mut self) {
        for slot in std::mem::take(&mut self.changed) {
            let slot = slot as usize;
            let weight = self.sparse_weight(slot);
            self.published[slot] = weight;
            let bit = 1 << (slot % 64);
            if weight == 0.0 {
                self.has_weight[slot / 64] &= !bit;
            } else {
                self.has_weight[slot / 64] |= bit;
            }
        }
        self.published_dense = self.dense_weights();
    }

    fn weights(&self) -> Weights {
        self.learned().weights()
    }

    fn weights_later(&self) -> WeightsLater {
        // Not the published ones, which follow from these. The copies share their pages with the tables.
        let (sums, topic_bound) = (self.sums.clone(), self.topic_bound.clone());
        let (params, dense) = (self.params, self.dense);
        Box::new(move || {
            let learned = Learned {
                params,
                sums: &sums,
                topic_bound: &topic_bound,
                dense,
            };
            learned.weights()
        })
    }

    fn set_weights(&mut self, weights: &Weights) {
        let Weights::Ftrl(weights) = weights else {
            return;
        };
        *self = Self::new(weights.params);
        self.dense = weights.dense;
        for slot in &weights.slots {
            let at = slot.at as usize;
            let Some(sums) = self.sums.get_mut(at) else {
                continue;
            };
            *sums = slot.sums;
            if !slot.is_topic_free {
                self.bind_to_topic(at);
            }
            self.changed.push(slot.at);
        }
        self.publish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(key: Key, relevance: f32) -> Instance {
        let mut instance = Instance::default();
        instance.vector.push(key, 1.0);
        instance.dense[dense::RELEVANCE] = relevance;
        instance
    }

    fn small() -> Ftrl {
        Ftrl::new(FtrlParams {
            bits: 10,
            ..FtrlParams::default()
        })
    }

    #[test]
    fn before_anything_is_learned_it_goes_by_what_it_was_told() {
        let ftrl = small();
        let (low, high) = (instance(1, -2.0), instance(2, 3.0));
        assert!((ftrl.predict(&low) + 1.0).abs() < 1e-6);
        assert!((ftrl.predict(&high) - 1.5).abs() < 1e-6);
    }

    #[test]
    fn a_label_moves_the_weights_as_the_algorithm_says() {
        // One step by hand: p = 0.5, g = (0.5 - 1) * 1 = -0.5, sigma = 0.5 / alpha, z = -0.5 (w was 0),
        // n = 0.25, w = 0.5 / ((1 + 0.5) / 0.3 + 0.1).
        let mut ftrl = small();
        ftrl.learn(&instance(7, 0.0), 1.0, 1.0);
        ftrl.publish();
        let expected = 0.5 / (1.5 / 0.3 + 0.1);
        let weight = ftrl.published[ftrl.slot(7)];
        assert!((weight - expected).abs() < 1e-6, "{weight} {expected}");
    }

    #[test]
    fn the_parts_of_a_prediction_add_up_to_it() {
        let mut ftrl = small();
        let mut both = instance(1, -2.0);
        both.vector.push(2, 0.5);
        for _ in 0..5 {
            ftrl.learn(&both, 1.0, 1.0);
            ftrl.learn(&instance(2, 1.0), 0.0, 1.0);
        }
        ftrl.publish();
        let parts = ftrl.explain(&both);
        let sum: f32 = parts.iter().map(|(_, part)| part).sum();
        assert!((sum - ftrl.predict(&both)).abs() < 1e-5);
        let of = |wanted| parts.iter().find(|(feature, _)| *feature == wanted);
        assert!(of(FeatureRef::Key(1)).unwrap().1 > 0.1);
        assert!(of(FeatureRef::Number("relevance of the page")).unwrap().1 < -0.1);
    }

    #[test]
    fn predictions_are_those_of_the_published_epoch() {
        let mut ftrl = small();
        let (good, bad) = (instance(1, 0.0), instance(2, 0.0));
        for _ in 0..100 {
            ftrl.learn(&good, 1.0, 1.0);
            ftrl.learn(&bad, 0.0, 1.0);
        }
        assert_eq!(ftrl.predict(&good).to_bits(), ftrl.predict(&bad).to_bits());
        ftrl.publish();
        assert!(sigmoid(ftrl.predict(&good)) > 0.9);
        assert!(sigmoid(ftrl.predict(&bad)) < 0.1);
    }
}
