//! Why a link scores as it does: the score in parts, each of a feature.

use crate::features::Key;

/// A feature that has a part in a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FeatureRef {
    /// A sparse one, by its key (named by [`LinkNames`](crate::features::LinkNames)).
    Key(Key),
    /// A number that every link has, by its name.
    Number(&'static str),
}

/// Features with what each adds to a score (a logit, or log odds).
pub type Parts = Vec<(FeatureRef, f32)>;

/// The score of one link, as one of the pages that it stands on gives it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    /// The score.
    pub score: f32,
    /// What it is made of; the parts add up to it, to rounding.
    pub parts: Parts,
}
