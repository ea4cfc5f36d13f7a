//! The contract of a scorer of links, and the two that need no training.

use std::sync::Arc;

use super::checkpoint::{Checkpoint, CheckpointLater};
use super::dense;
use super::explain::{Explanation, FeatureRef};
use super::exploration::{Choice, ExplorationFigures};
use super::instance::Instance;
use super::panel::LearnerReport;
use super::saved::SavedPanel;
use crate::booking::{Event, Frozen};
use crate::features::PageSketch;
use crate::url::UrlId;

/// The page that links stand on, as a scorer sees it.
#[derive(Clone, Copy, Debug)]
pub struct SourceView<'a> {
    /// ln (R(u) / (1 - R(u))) of the page, from the critic.
    pub log_odds: f32,
    /// How many links it has.
    pub links: usize,
    /// The page, hashed; there if the scorer [needs it](LinkScorer::needs_sketches).
    pub sketch: Option<&'a PageSketch>,
}

/// What a scorer knows of a link at the moment when it is leased: its dynamic features and its
/// score, frozen, for each page that it is known to stand on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prepared {
    /// An instance a pair (u, v).
    pub instances: Vec<Instance>,
    /// The page u of each.
    pub sources: Vec<UrlId>,
    /// The score of each.
    pub scores: Vec<f32>,
    /// What each learner says of each, in the order of [`LinkScorer::learners`].
    pub predictions: Vec<Vec<f32>>,
    /// Whose link it is, and with which probability it was taken.
    pub choice: Choice,
    /// The same for the log; `None` if the scorer learns nothing.
    pub frozen: Option<Frozen>,
}

/// Predicts how relevant the target of a link will be.
///
/// Scores are finite; higher is better. Ties are broken by earlier discovery, by the frontier.
pub trait LinkScorer: Send {
    /// Whether it looks at pages at all.
    fn needs_sketches(&self) -> bool {
        false
    }

    /// One score a link of the page, in document order, under the epoch in force.
    fn score(&mut self, source: &SourceView<'_>) -> Vec<f32>;

    /// The same where only the links that are `wanted` matter: the others may get any score.
    fn score_where(
        &mut self,
        source: &SourceView<'_>,
        _wanted: &dyn Fn(usize) -> bool,
    ) -> Vec<f32> {
        self.score(source)
    }

    /// Why link `at` of the page scores as it does, under the epoch in force: its score in parts.
    ///
    /// If the target has been judged, what became of it is left out.
    fn explain(&mut self, source: &SourceView<'_>, at: usize) -> Explanation {
        let score = self.score(source).get(at).copied().unwrap_or_default();
        Explanation {
            score,
            parts: vec![(FeatureRef::Number("the score"), score)],
        }
    }

    /// The number of the epoch in force; 0 before the first.
    fn epoch(&self) -> u64 {
        0
    }

    /// A link is leased; `pairs` are the pages that it is known to stand on, with its place on each.
    fn prepare(&mut self, _pairs: &[(Arc<PageSketch>, u32)]) -> Prepared {
        Prepared::default()
    }

    /// What [`prepare`](Self::prepare) gave when `frozen` was booked, under the settings of this scorer.
    /// `pairs` are those of the references, `None` where one is no page.
    fn thaw(&self, _pairs: &[Option<(Arc<PageSketch>, u32)>], _frozen: &Frozen) -> Prepared {
        Prepared::default()
    }
    /// Predicts what was prepared anew, under the epoch in force: what another apprentice said of it then is
    /// no figure of this one.
    fn predict_anew(&mut self, _prepared: &mut Prepared) {}

    /// The critic's word on what was prepared: ln (R(v) / (1 - R(v))).
    fn learn(&mut self, _prepared: &Prepared, _log_odds: f32) {}

    /// What was prepared ended without a page, for good.
    fn lose(&mut self, _prepared: &Prepared) {}

    /// Whether it now and then takes the baseline's best link, so that the frontier has to know it.
    fn explores(&self) -> bool {
        false
    }

    /// Its own best link and the baseline's differ. Whose is taken?
    fn choose(&mut self) -> Choice {
        Choice::default()
    }

    /// How its learners have predicted so far.
    fn learners(&self) -> Vec<LearnerReport> {
        Vec::new()
    }

    /// What exploration has cost and what was saved, if it explores.
    fn exploration(&self) -> Option<ExplorationFigures> {
        None
    }

    /// A page was judged and booked.
    fn saw(&mut self, _page: &PageSketch) {}

    /// A fetch was learned that brought no page.
    fn saw_none(&mut self) {}

    /// Whether enough was learned for a new epoch; if so, it is in force from now on, and every score
    /// given before is of an older one.
    fn publish_if_due(&mut self) -> bool {
        false
    }

    /// Puts all that was learned in force, due or not.
    fn publish(&mut self) {}
    /// See [`Learner::cut`](super::Learner::cut).
    fn cut(&self) -> Option<f32> {
        None
    }
    /// See [`Learner::set_cut`](super::Learner::set_cut).
    fn set_cut(&mut self, _cut: f32) {}
    /// All that its learners have learned, to be saved; `None` if it learns nothing.
    fn save(&self) -> Option<SavedPanel> {
        None
    }

    /// What gives all that it is now, at the beginning of an epoch, on another thread; `None` if it learns
    /// nothing. It shares its tables with the scorer until that writes to them.
    fn checkpoint_later(&self) -> Option<CheckpointLater> {
        None
    }

    /// Becomes, before it has learned anything, what it was.
    ///
    /// # Errors
    /// In words: the checkpoint is one of another scorer.
    fn restore(&mut self, _was: Checkpoint) -> Result<(), String> {
        Err("it learns nothing".to_owned())
    }

    /// Begins with what was saved instead of nothing; it is in force at once.
    fn begin_with(&mut self, _saved: &SavedPanel) {}

    /// Takes in what was booked.
    fn observe(&mut self, event: &Event);
}

/// Best-first by the relevance of the source page (the baseline crawler of Chakrabarti et al., WWW
/// 2002, section 2): the priority of (u, v) is the critic's log odds of u.
#[derive(Clone, Copy, Debug, Default)]
pub struct BaselineScorer;

impl LinkScorer for BaselineScorer {
    fn score(&mut self, source: &SourceView<'_>) -> Vec<f32> {
        vec![source.log_odds; source.links]
    }

    fn explain(&mut self, source: &SourceView<'_>, _at: usize) -> Explanation {
        let name = dense::DENSE_NAMES[dense::RELEVANCE];
        Explanation {
            score: source.log_odds,
            parts: vec![(FeatureRef::Number(name), source.log_odds)],
        }
    }

    fn observe(&mut self, _event: &Event) {}
}

/// Every link scores the same, so that discovery order decides: breadth-first.
#[derive(Clone, Copy, Debug, Default)]
pub struct BreadthFirstScorer;

impl LinkScorer for BreadthFirstScorer {
    fn score(&mut self, source: &SourceView<'_>) -> Vec<f32> {
        vec![0.0; source.links]
    }

    fn explain(&mut self, _source: &SourceView<'_>, _at: usize) -> Explanation {
        Explanation::default()
    }

    fn observe(&mut self, _event: &Event) {}
}
