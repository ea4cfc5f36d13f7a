//! How a crawl orders its frontier.

use crate::apprentice::{
    Apprentice, BaselineScorer, BreadthFirstScorer, Ftrl, FtrlParams, LinkScorer, TwoClassBayes,
};
use crate::features::FeatureSpec;
use crate::frontier::Combine;

/// How a crawl orders its frontier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CrawlOrder {
    /// the best parent's log odds
    #[default]
    Baseline,
    /// the first parent's log odds, frozen
    BaselineFirst,
    /// by discovery
    BreadthFirst,
    /// what naive Bayes predicts that is learned while the crawl runs: the apprentice of the paper
    Nb,
    /// what a logistic regression predicts that is learned while the crawl runs
    Ftrl,
}

impl CrawlOrder {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Baseline,
        Self::BaselineFirst,
        Self::BreadthFirst,
        Self::Nb,
        Self::Ftrl,
    ];

    /// Its name, as a spec has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::BaselineFirst => "baseline-first",
            Self::BreadthFirst => "breadth-first",
            Self::Nb => "nb",
            Self::Ftrl => "ftrl",
        }
    }

    /// The order of this name.
    ///
    /// # Errors
    /// Lists the names that there are.
    pub fn from_name(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|order| order.name() == name)
            .ok_or_else(|| {
                let names: Vec<_> = Self::ALL.iter().map(|order| order.name()).collect();
                format!("no order {name:?}; there are {}", names.join(", "))
            })
    }

    /// How the priorities of several parents become one.
    pub fn combine(self) -> Combine {
        match self {
            Self::Baseline | Self::Nb | Self::Ftrl => Combine::Best,
            Self::BaselineFirst | Self::BreadthFirst => Combine::First,
        }
    }

    /// The scorer of this order, knowing nothing yet.
    pub(super) fn scorer(self) -> Box<dyn LinkScorer> {
        match self {
            Self::BreadthFirst => Box::new(BreadthFirstScorer),
            Self::Baseline | Self::BaselineFirst => Box::new(BaselineScorer),
            Self::Nb => {
                let learner = Box::new(TwoClassBayes::new());
                Box::new(Apprentice::new(FeatureSpec::paper(), learner))
            }
            Self::Ftrl => {
                let learner = Box::new(Ftrl::new(FtrlParams::default()));
                Box::new(Apprentice::new(FeatureSpec::default(), learner))
            }
        }
    }
}
