//! The dense features of a link: a few numbers that every link has.

/// How many there are.
pub const DENSE: usize = 13;

/// Dense features of one link, by the places below.
pub type Dense = [f32; DENSE];

pub(super) const BIAS: usize = 0;
/// The log odds of the source page, by [`strength`]. What the baseline goes by.
pub(super) const RELEVANCE: usize = 1;
pub(super) const SUCCESS: usize = 2;
pub(super) const HOST: usize = 3;
pub(super) const FOLDER: usize = 4;
pub(super) const FOLLOWED: usize = 5;
pub(super) const DEPTH: usize = 6;
pub(super) const RELEVANCE_CLIPPED: usize = 7;
pub(super) const OWN_WORDS: usize = 8;
pub(super) const WORDS_AROUND: usize = 9;
pub(super) const URL_WORDS: usize = 10;
pub(super) const PARENTS: usize = 11;
pub(super) const TEMPLATE: usize = 12;

/// What they are called, in the order of their places.
pub const DENSE_NAMES: [&str; DENSE] = [
    "bias",
    "relevance of the page",
    "success of the page's other links",
    "success of the target's host",
    "success of the target's folder",
    "how many other links of the page were followed",
    "links from a seed",
    "relevance of the page, clipped",
    "the critic's word on the link's own text",
    "the critic's word on the text around",
    "the critic's word on the URL",
    "how many other pages have the link",
    "share of the host's other pages with the same link at this place",
];

/// Log odds on a scale that keeps their order, however large they are, and on which a learner can put
/// a weight of about one.
pub(super) fn strength(log_odds: f32) -> f32 {
    if log_odds == 0.0 {
        return 0.0;
    }
    (log_odds / 3.0).asinh()
}
