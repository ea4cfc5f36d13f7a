//! The crawlers that can be compared: the orders of the program, and some that only a replay can have.

use std::borrow::Cow;
use std::collections::HashMap;

use super::labels::{Labels, LabelsError};
use crate::apprentice::{LinkScorer, SourceView};
use crate::booking::Event;
use crate::crawl::{CrawlOrder, order_name, parse_order};
use crate::frontier::Steering;
use crate::text::unknown_name;
use crate::url::UrlId;

/// A crawler of a contest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crawler {
    /// One that a real crawl can be, too.
    Order(CrawlOrder, Steering),
    /// Greedy by the judge's own word on each target: what could be had with perfect foresight of one
    /// link. No true bound, since it does not look beyond that link.
    Oracle,
}

impl Crawler {
    /// Its name.
    pub fn name(self) -> Cow<'static, str> {
        match self {
            Self::Order(order, steering) => order_name(order, steering),
            Self::Oracle => "oracle".into(),
        }
    }

    /// The crawler of this name.
    ///
    /// # Errors
    /// Lists the names that there are.
    pub fn from_name(name: &str) -> Result<Self, String> {
        if name == "oracle" {
            return Ok(Self::Oracle);
        }
        if name.contains('+') || Steering::is_meant_by(name) {
            return parse_order(name).map(|(order, steering)| Self::Order(order, steering));
        }
        if let Ok(order) = CrawlOrder::from_name(name) {
            return Ok(Self::Order(order, Steering::BestFirst));
        }
        let mut names = CrawlOrder::ALL.map(CrawlOrder::name).to_vec();
        names.push("oracle");
        names.extend(Steering::FORMS);
        Err(format!("no crawler {}", unknown_name(name, &names)))
    }

    /// How its crawl is ordered, as a spec says it.
    pub(super) fn order(self) -> CrawlOrder {
        match self {
            Self::Order(order, _) => order,
            Self::Oracle => CrawlOrder::Baseline,
        }
    }

    /// The same with its steering, by name.
    pub(super) fn order_name(self) -> Cow<'static, str> {
        match self {
            Self::Order(order, steering) => order_name(order, steering),
            Self::Oracle => CrawlOrder::Baseline.name().into(),
        }
    }
}

/// See [`Crawler::Oracle`].
pub(super) struct OracleScorer {
    relevances: HashMap<UrlId, f32>,
}

impl OracleScorer {
    /// Knows what the table says of `topic`.
    pub(super) fn new(labels: &Labels, topic: &str) -> Result<Self, LabelsError> {
        Ok(Self {
            relevances: labels.judge(topic)?.all(),
        })
    }
}

impl LinkScorer for OracleScorer {
    fn needs_sketches(&self) -> bool {
        true
    }

    fn score(&mut self, source: &SourceView<'_>) -> Vec<f32> {
        let links = source.sketch.map_or(&[][..], |sketch| &sketch.links);
        links
            .iter()
            .map(|link| self.relevances.get(&link.target).copied().unwrap_or(0.0))
            .collect()
    }

    fn observe(&mut self, _event: &Event) {}
}
