//! The apprentice: learns from every pair (u, v) as soon as v is judged, in epochs.

use std::sync::Arc;

use super::checkpoint::{Checkpoint, CheckpointLater};
use super::explain::Explanation;
use super::exploration::{Choice, Exploration, ExplorationFigures};
use super::frozen::{Dynamic, LinkView};
use super::history::History;
use super::instance::{Instance, sigmoid};
use super::panel::{LearnerReport, Panel};
use super::saved::SavedPanel;
use super::scorer::{LinkScorer, Prepared, SourceView};
use crate::booking::{Event, Frozen};
use crate::clock::Chance;
use crate::features::{D_MAX_MOST, FeatureSpec, PageSketch};

/// Judged pages from one epoch to the next. Small on purpose: what was learned late was lost (papers
/// measured 6 to 24 % for batches of 32), and up to a few thousand pages a sweep costs little.
const BATCH: u64 = 10;
/// A batch is at least this share of all pages, so that sweeps over a large crawl stay rare.
const BATCH_SHARE: u64 = 40;

/// See the module.
pub struct Apprentice {
    spec: FeatureSpec,
    history: History,
    panel: Panel,
    exploration: Option<Exploration>,
    /// Judged pages and lost ones that were learned, and how many there have to be for the next epoch.
    outcomes: u64,
    due_at: u64,
    epoch: u64,
    scratch: Instance,
}

impl Apprentice {
    /// Knows nothing yet.
    pub fn new(spec: FeatureSpec, panel: Panel) -> Self {
        Self {
            spec,
            history: History::default(),
            panel,
            exploration: None,
            outcomes: 0,
            due_at: BATCH,
            epoch: 0,
            scratch: Instance::default(),
        }
    }

    /// Takes a small share of its links by the baseline's order while that is paid for.
    #[must_use]
    pub fn exploring(mut self, random: Chance) -> Self {
        self.exploration = Some(Exploration::new(random));
        self
    }
}

impl LinkScorer for Apprentice {
    fn needs_sketches(&self) -> bool {
        true
    }

    fn score(&mut self, source: &SourceView<'_>) -> Vec<f32> {
        self.score_where(source, &|_| true)
    }

    fn score_where(&mut self, source: &SourceView<'_>, wanted: &dyn Fn(usize) -> bool) -> Vec<f32> {
        let Some(sketch) = source.sketch else {
            return vec![source.log_odds; source.links];
        };
        let around = self.history.around(sketch);
        let mut scores = vec![0.0; sketch.links.len()];
        for (at, score) in scores.iter_mut().enumerate().filter(|(at, _)| wanted(*at)) {
            let spec = &self.spec;
            let dynamic = &self.history.dynamic(sketch, &around, at, spec.d_max());
            let link = LinkView {
                sketch,
                at,
                spec,
                dynamic,
            };
            *score = self.panel.predict_link(&link, &mut self.scratch);
        }
        scores
    }

    fn explain(&mut self, source: &SourceView<'_>, at: usize) -> Explanation {
        let Some(sketch) = source.sketch.filter(|sketch| at < sketch.links.len()) else {
            return Explanation::default();
        };
        let hidden = self.history.hide(&sketch.links[at]);
        let around = self.history.around(sketch);
        let mut instance = Instance::default();
        self.history
            .instance(sketch, &around, at, &self.spec, &mut instance);
        self.history.show(&sketch.links[at], hidden);
        Explanation {
            score: self.panel.predict(&instance),
            parts: self.panel.explain(&instance),
        }
    }

    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn prepare(&mut self, pairs: &[(Arc<PageSketch>, u32)]) -> Prepared {
        let mut prepared = Prepared::default();
        let mut frozen = Frozen {
            propensity: 1.0,
            learners: self.panel.names(),
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
            let link = LinkView {
                sketch,
                at,
                spec: &self.spec,
                dynamic: &dynamic,
            };
            link.instance(&mut instance);
            let predictions = self.panel.predict_all(&instance);
            let score = predictions.get(self.panel.followed()).copied();
            prepared.scores.push(score.unwrap_or_default());
            prepared.sources.push(sketch.id);
            frozen
                .pairs
                .push(dynamic.frozen(place, predictions.clone()));
            prepared.predictions.push(predictions);
            prepared.instances.push(instance);
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
            let link = LinkView {
                sketch,
                at,
                spec: &self.spec,
                dynamic: &Dynamic::thawed(pair),
            };
            link.instance(&mut instance);
            prepared.instances.push(instance);
            prepared.sources.push(sketch.id);
            let predictions = self.panel.in_order(&frozen.learners, &pair.logits);
            prepared.predictions.extend(predictions);
        }
        prepared.choice = Choice {
            pick: frozen.pick,
            propensity: frozen.propensity,
        };
        prepared
    }

    fn predict_anew(&mut self, prepared: &mut Prepared) {
        let panel = &mut self.panel;
        let instances = prepared.instances.iter();
        prepared.predictions = instances
            .map(|instance| panel.predict_all(instance))
            .collect();
    }

    fn learn(&mut self, prepared: &Prepared, log_odds: f32) {
        if let Some(exploration) = &mut self.exploration {
            exploration.learn(prepared.choice, 1.0 - sigmoid(log_odds));
        }
        self.panel.learn(
            &prepared.instances,
            &prepared.sources,
            &prepared.predictions,
            log_odds,
        );
    }

    fn lose(&mut self, prepared: &Prepared) {
        if let Some(exploration) = &mut self.exploration {
            exploration.learn(prepared.choice, 1.0);
        }
    }

    fn explores(&self) -> bool {
        self.exploration.is_some()
    }

    fn choose(&mut self) -> Choice {
        let may_explore = self.epoch > 0;
        let choose = |exploration: &mut Exploration| exploration.choose(may_explore);
        self.exploration.as_mut().map(choose).unwrap_or_default()
    }

    fn learners(&self) -> Vec<LearnerReport> {
        self.panel.reports()
    }

    fn exploration(&self) -> Option<ExplorationFigures> {
        self.exploration.as_ref().map(Exploration::figures)
    }

    fn saw(&mut self, page: &PageSketch) {
        self.history.add(page);
        self.outcomes += 1;
    }

    fn saw_none(&mut self) {
        self.outcomes += 1;
    }

    fn publish_if_due(&mut self) -> bool {
        if self.outcomes < self.due_at {
            return false;
        }
        self.publish();
        true
    }

    fn publish(&mut self) {
        self.epoch += 1;
        self.panel.publish();
        self.due_at = self.outcomes + BATCH.max(self.outcomes / BATCH_SHARE);
    }

    fn cut(&self) -> Option<f32> {
        self.panel.cut()
    }

    fn set_cut(&mut self, cut: f32) {
        self.panel.set_cut(cut);
    }

    fn save(&self) -> Option<SavedPanel> {
        Some(self.panel.save())
    }

    fn checkpoint_later(&self) -> Option<CheckpointLater> {
        let (history, panel) = (self.history.clone(), self.panel.checkpoint_later());
        let exploration = self.exploration.as_ref().map(Exploration::came);
        let (outcomes, due_at, epoch) = (self.outcomes, self.due_at, self.epoch);
        Some(Box::new(move || Checkpoint {
            history,
            panel: panel(),
            exploration,
            outcomes,
            due_at,
            epoch,
        }))
    }

    fn restore(&mut self, was: Checkpoint) -> Result<(), String> {
        match (&mut self.exploration, was.exploration) {
            (Some(exploration), Some(came)) => exploration.set_came(came),
            (None, None) => {}
            _ => {
                return Err(
                    "it explores where this one does not, or the other way round".to_owned(),
                );
            }
        }
        self.panel.restore(was.panel)?;
        self.history = was.history;
        self.outcomes = was.outcomes;
        self.due_at = was.due_at;
        self.epoch = was.epoch;
        Ok(())
    }

    fn begin_with(&mut self, saved: &SavedPanel) {
        self.panel.begin_with(saved);
    }

    fn observe(&mut self, event: &Event) {
        if let Event::Failure(failure) = event
            && failure.is_final
        {
            self.history.add_lost(failure.lease.url.id());
        }
    }
}
