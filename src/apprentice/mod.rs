//! How good is this link likely to be? Scorers of links.

mod scorer;

pub use scorer::{BaselineScorer, BreadthFirstScorer, Candidate, LinkScorer, SourceView};
