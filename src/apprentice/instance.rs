//! One link as a learner sees it.

use super::dense::Dense;
use crate::features::LinkVector;

/// The features of one pair (u, v).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Instance {
    /// The sparse features, the dynamic co-citation included.
    pub vector: LinkVector,
    /// The dense ones.
    pub dense: Dense,
}

pub(super) fn sigmoid(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit).exp())
}

/// ln (p / (1 - p)), p kept off 0 and 1.
pub(super) fn logit(p: f32) -> f32 {
    let p = p.clamp(1e-6, 1.0 - 1e-6);
    (p / (1.0 - p)).ln()
}
