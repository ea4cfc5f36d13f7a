//! The contract of a learner: one instance in, one logit out.

use super::explain::{FeatureRef, Parts};
use super::frozen::LinkView;
use super::instance::Instance;
use super::saved::Weights;

/// See [`Learner::weights_later`].
pub type WeightsLater = Box<dyn FnOnce() -> Weights + Send>;

/// Learns Pr(v relevant | features of (u, v)).
///
/// Learning and predicting are apart: labels change the working weights at once; predictions come
/// from the weights of the last published epoch, so that every score can be named by its epoch.
pub trait Learner: Send {
    /// Its name.
    fn name(&self) -> &'static str;

    /// The logit of the predicted relevance, under the published epoch.
    fn predict(&self, instance: &Instance) -> f32;

    /// The same to the bit, without writing the features down first; `None` if the learner cannot.
    fn predict_link(&self, _link: &LinkView<'_>) -> Option<f32> {
        None
    }

    /// The same in parts: what each feature adds to the logit. They add up to what
    /// [`predict`](Self::predict) says, to rounding; a feature that adds nothing may be left out.
    fn explain(&self, instance: &Instance) -> Parts {
        vec![(FeatureRef::Number("the prediction"), self.predict(instance))]
    }

    /// Takes in a label, R(v) in [0, 1], with the weight of the instance.
    fn learn(&mut self, instance: &Instance, label: f32, weight: f32);

    /// Puts the working weights in force.
    fn publish(&mut self);

    /// Where it cuts LOW from HIGH, if it does and has found out.
    fn cut(&self) -> Option<f32> {
        None
    }

    /// Gives it the cut that an earlier training found.
    fn set_cut(&mut self, _cut: f32) {}

    /// All that it has learned, in force or not.
    fn weights(&self) -> Weights {
        Weights::None
    }

    /// What gives [`weights`](Self::weights) as they are now, on another thread. A learner with large tables
    /// shares them with it, page by page until it writes to one.
    fn weights_later(&self) -> WeightsLater {
        let weights = self.weights();
        Box::new(move || weights)
    }

    /// Begins with these instead of nothing, and puts them in force. Those of another learner say nothing.
    fn set_weights(&mut self, _weights: &Weights) {}
}
