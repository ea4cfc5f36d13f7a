//! The contract of a scorer of links, and the two that need no training.

use crate::booking::Event;
use crate::page::{Link, Page};

/// The page that links stand on, as a scorer sees it.
#[derive(Clone, Copy, Debug)]
pub struct SourceView<'a> {
    /// The parsed page.
    pub page: &'a Page,
    /// ln (R(u) / (1 - R(u))) of the page, from the critic.
    pub log_odds: f32,
    /// Links between a seed and the page.
    pub depth: u16,
}

/// A link to be scored.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The link on its page.
    pub link: &'a Link,
}

/// Predicts how relevant the target of a link will be.
///
/// Scores are finite; higher is better. Ties are broken by earlier discovery, by the frontier.
pub trait LinkScorer: Send {
    /// One score a candidate, in order.
    fn score(&mut self, source: &SourceView<'_>, links: &[Candidate<'_>]) -> Vec<f32>;

    /// Learns from what was booked.
    fn observe(&mut self, event: &Event);
}

/// Best-first by the relevance of the source page (the baseline crawler of Chakrabarti et al., WWW
/// 2002, section 2): the priority of (u, v) is the critic's log odds of u.
#[derive(Clone, Copy, Debug, Default)]
pub struct BaselineScorer;

impl LinkScorer for BaselineScorer {
    fn score(&mut self, source: &SourceView<'_>, links: &[Candidate<'_>]) -> Vec<f32> {
        vec![source.log_odds; links.len()]
    }

    fn observe(&mut self, _event: &Event) {}
}

/// Every link scores the same, so that discovery order decides: breadth-first.
#[derive(Clone, Copy, Debug, Default)]
pub struct BreadthFirstScorer;

impl LinkScorer for BreadthFirstScorer {
    fn score(&mut self, _source: &SourceView<'_>, links: &[Candidate<'_>]) -> Vec<f32> {
        vec![0.0; links.len()]
    }

    fn observe(&mut self, _event: &Event) {}
}
