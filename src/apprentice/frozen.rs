//! The dynamic facts of a link, and the features that they and its page make under any spec.

use super::dense::{self, DENSE, Dense, strength};
use super::instance::Instance;
use crate::booking::FrozenPair;
use crate::features::{Extra, FeatureSpec, Key, Namespace, PageSketch, key};

/// How many dynamic numbers there are.
const NUMBERS: usize = 6;
/// Where they stand among the dense features. The order is that of the log: add at the end only.
const PLACES: [(usize, Extra); NUMBERS] = [
    (dense::SUCCESS, Extra::Success),
    (dense::FOLLOWED, Extra::Success),
    (dense::HOST, Extra::Priors),
    (dense::FOLDER, Extra::Priors),
    (dense::PARENTS, Extra::Parents),
    (dense::TEMPLATE, Extra::Template),
];

/// What is known of a link beyond its page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Dynamic {
    pub(super) numbers: [f32; NUMBERS],
    /// Judged links near it, in document order: distance in leaves, and whether R is HIGH.
    pub(super) neighbours: Vec<(i8, bool)>,
}

impl Dynamic {
    /// As it was booked. Numbers that an older version did not book are 0, which says nothing.
    pub(super) fn thawed(pair: &FrozenPair) -> Self {
        let mut numbers = [0.0; NUMBERS];
        for (number, booked) in numbers.iter_mut().zip(&pair.numbers) {
            *number = *booked;
        }
        Self {
            numbers,
            neighbours: pair.neighbours.clone(),
        }
    }

    /// For the log; `reference` is the place of the page among the references of the lease.
    pub(super) fn frozen(self, reference: u32, logits: Vec<f32>) -> FrozenPair {
        FrozenPair {
            reference,
            numbers: self.numbers.to_vec(),
            neighbours: self.neighbours,
            logits,
        }
    }

    fn dense(&self, sketch: &PageSketch, at: usize, spec: &FeatureSpec) -> Dense {
        let log_odds = sketch.facts.log_odds;
        let (inside, near) = sketch.critic_near(at, spec.d_max());
        let mut values = [0.0; DENSE];
        values[dense::BIAS] = 1.0;
        values[dense::DEPTH] = f32::from(sketch.facts.depth.min(30)) / 10.0;
        if spec.has_extra(Extra::Relevance) {
            values[dense::RELEVANCE] = strength(log_odds);
            values[dense::RELEVANCE_CLIPPED] = log_odds.clamp(-30.0, 30.0) / 30.0;
        }
        for ((place, extra), number) in PLACES.into_iter().zip(self.numbers) {
            if spec.has_extra(extra) {
                values[place] = number;
            }
        }
        if spec.has_extra(Extra::Words) {
            values[dense::OWN_WORDS] = strength(inside);
            values[dense::WORDS_AROUND] = strength(near);
            values[dense::URL_WORDS] = strength(sketch.links[at].url_weight);
        }
        values
    }

    /// <LOW|HIGH, d> of each neighbouring link that was judged (WWW 2002, section 3.3).
    fn for_each_cocitation(&self, d_max: u8, take: &mut impl FnMut(Key, f32)) {
        for (distance, is_high) in &self.neighbours {
            if distance.unsigned_abs() <= d_max {
                let bucket = u64::from(*is_high) << 63;
                take(key(Namespace::CoCitation, *distance, bucket), 0.5);
            }
        }
    }
}

/// A link with all that its features are made of, before they are written down.
#[derive(Clone, Copy, Debug)]
pub struct LinkView<'a> {
    pub(super) sketch: &'a PageSketch,
    /// The place of the link on the page; there has to be one.
    pub(super) at: usize,
    pub(super) spec: &'a FeatureSpec,
    pub(super) dynamic: &'a Dynamic,
}

impl LinkView<'_> {
    /// Calls `take` with each sparse feature and its value, the dynamic ones last.
    pub fn for_each_feature(&self, take: &mut impl FnMut(Key, f32)) {
        self.sketch.for_each_feature(self.at, self.spec, take);
        if self.spec.has(Namespace::CoCitation) {
            self.dynamic.for_each_cocitation(self.spec.d_max(), take);
        }
    }

    /// The dense features.
    pub fn dense(&self) -> Dense {
        self.dynamic.dense(self.sketch, self.at, self.spec)
    }

    /// Writes all features to `into`.
    pub(super) fn instance(&self, into: &mut Instance) {
        into.vector.clear();
        self.for_each_feature(&mut |key, value| into.vector.push(key, value));
        into.dense = self.dense();
    }
}
