//! The apprentice: learns from every pair (u, v) as soon as v is judged, in epochs.

use std::sync::Arc;

use super::frozen::Dynamic;
use super::history::History;
use super::instance::{Instance, sigmoid};
use super::learner::Learner;
use super::scorer::{LinkScorer, Prepared, SourceView};
use crate::booking::{Event, Frozen};
use crate::features::{D_MAX_MOST, FeatureSpec, PageSketch};

/// Judged pages from one epoch to the next. Small on purpose: what was learned late was lost (papers
/// measured 6 to 24 % for batches of 32), and up to a few thousand pages a sweep costs little.
const BATCH: u64 = 25;
/// A batch is at least this share of all pages, so that sweeps over a large crawl stay rare.
const BATCH_SHARE: u64 = 40;

/// See the module.
pub struct Apprentice {
    spec: FeatureSpec,
    history: History,
    learner: Box<dyn Learner>,
    /// Judged pages, and how many there have to be for the next epoch.
    pages: u64,
    due_at: u64,
    scratch: Instance,
}

impl Apprentice {
    /// Knows nothing yet.
    pub fn new(spec: FeatureSpec, learner: Box<dyn Learner>) -> Self {
        Self {
            spec,
            history: History::default(),
            learner,
            pages: 0,
            due_at: BATCH,
            scratch: Instance::default(),
        }
    }
}

impl LinkScorer for Apprentice {
    fn needs_sketches(&self) -> bool {
        true
    }

    fn score(&mut self, source: &SourceView<'_>) -> Vec<f32> {
        let Some(sketch) = source.sketch else {
            return vec![source.log_odds; source.links];
        };
        let around = self.history.around(sketch);
        (0..sketch.links.len())
            .map(|at| {
                self.history
                    .instance(sketch, &around, at, &self.spec, &mut self.scratch);
                self.learner.predict(&self.scratch)
            })
            .collect()
    }

    fn prepare(&mut self, pairs: &[(Arc<PageSketch>, u32)]) -> Prepared {
        let mut prepared = Prepared::default();
        let mut frozen = Frozen {
            propensity: 1.0,
            learners: vec![self.learner.name().to_owned()],
            ..Frozen::default()
        };
        for (place, (sketch, link)) in (0..).zip(pairs) {
            let at = *link as usize;
            if at >= sketch.links.len() {
                continue;
            }
            let around = self.history.around(sketch);
            // The widest window, so that it can be learned from with any.
            let dynamic = self.history.dynamic(sketch, &around, at, D_MAX_MOST);
            let mut instance = Instance::default();
            dynamic.instance(sketch, at, &self.spec, &mut instance);
            let score = self.learner.predict(&instance);
            prepared.scores.push(score);
            prepared.instances.push(instance);
            frozen.pairs.push(dynamic.frozen(place, vec![score]));
        }
        prepared.frozen = Some(frozen);
        prepared
    }

    fn thaw(&self, pairs: &[Option<(Arc<PageSketch>, u32)>], frozen: &Frozen) -> Prepared {
        let mut prepared = Prepared::default();
        for pair in &frozen.pairs {
            let source = pairs.get(pair.reference as usize).and_then(Option::as_ref);
            let Some((sketch, at)) = source.map(|(sketch, link)| (sketch, *link as usize)) else {
                continue;
            };
            if at >= sketch.links.len() {
                continue;
            }
            let mut instance = Instance::default();
            Dynamic::thawed(pair).instance(sketch, at, &self.spec, &mut instance);
            prepared.instances.push(instance);
            prepared.scores.extend(pair.logits.first());
        }
        prepared
    }

    fn learn(&mut self, prepared: &Prepared, log_odds: f32) {
        let label = sigmoid(log_odds);
        for instance in &prepared.instances {
            self.learner.learn(instance, label, 1.0);
        }
    }

    fn saw(&mut self, page: &PageSketch) {
        self.history.add(page);
        self.pages += 1;
    }

    fn publish_if_due(&mut self) -> bool {
        if self.pages < self.due_at {
            return false;
        }
        self.publish();
        true
    }

    fn publish(&mut self) {
        self.learner.publish();
        self.due_at = self.pages + BATCH.max(self.pages / BATCH_SHARE);
    }

    fn cut(&self) -> Option<f32> {
        self.learner.cut()
    }

    fn set_cut(&mut self, cut: f32) {
        self.learner.set_cut(cut);
    }

    fn observe(&mut self, event: &Event) {
        if let Event::Failure(failure) = event
            && failure.is_final
        {
            self.history.add_lost(failure.lease.url.id());
        }
    }
}
