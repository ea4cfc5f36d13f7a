//! What stands around this link? The features that an apprentice learns from (DESIGN.md 4.3).
//!
//! A page is hashed once into a [`PageSketch`]; [`PageSketch::vector`] gives the sparse vector of one
//! of its links, for whatever [`FeatureSpec`]. Everything here comes from the page alone ("static");
//! what is known of other pages ("dynamic") is the apprentice's to add, under the keys of [`key()`].
//!
//! After Chakrabarti, Punera, Subramanyam (WWW 2002), sections 3.2 and 3.3: a token in leaf m stands
//! at offset 0 inside of the link, at m - l left and at m - r right of it.

mod key;
mod names;
mod sketch;
mod spec;
mod url_terms;
mod vector;
mod words;

pub use key::{FEATURES_VERSION, Key, Namespace, is_topic_free, key, offset_of, term_hash};
pub use names::LinkNames;
pub use sketch::{LinkSketch, PageSketch, SourceFacts, TermWeights};
pub use spec::{D_MAX_DEFAULT, D_MAX_MOST, Extra, FeatureSpec, FeatureSpecError};
pub use vector::LinkVector;
