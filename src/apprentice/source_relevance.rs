//! The learner that does not learn: a link is worth what its page is worth.

use super::dense;
use super::explain::{FeatureRef, Parts};
use super::instance::Instance;
use super::learner::Learner;

pub(super) const NAME: &str = "baseline";

/// The baseline as a learner (WWW 2002, section 2): the strength of the source page's log odds, so that
/// it is validated beside the others, and can be followed.
#[derive(Clone, Copy, Debug, Default)]
pub struct SourceRelevance;

impl Learner for SourceRelevance {
    fn name(&self) -> &'static str {
        NAME
    }

    fn predict(&self, instance: &Instance) -> f32 {
        instance.dense[dense::RELEVANCE]
    }

    fn explain(&self, instance: &Instance) -> Parts {
        let name = dense::DENSE_NAMES[dense::RELEVANCE];
        vec![(FeatureRef::Number(name), self.predict(instance))]
    }

    fn learn(&mut self, _instance: &Instance, _label: f32, _weight: f32) {}

    fn publish(&mut self) {}
}
