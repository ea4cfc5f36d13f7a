//! How a crawl orders its frontier.

use super::spec::SpecError;
use crate::apprentice::{
    Apprentice, BaselineScorer, BreadthFirstScorer, Ftrl, FtrlParams, LinkScorer, TwoClassBayes,
};
use crate::features::{FeatureSpec, FeatureSpecError};
use crate::frontier::Combine;
use crate::proto::v1;
use crate::text::unknown_name;

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
                let names = Self::ALL.map(Self::name);
                format!("no order {}", unknown_name(name, &names))
            })
    }

    /// How the priorities of several parents become one.
    pub fn combine(self) -> Combine {
        match self {
            Self::Baseline | Self::Nb | Self::Ftrl => Combine::Best,
            Self::BaselineFirst | Self::BreadthFirst => Combine::First,
        }
    }

    /// What an apprentice of this order looks at unless it is told; `None` for one that learns nothing.
    pub fn features(self) -> Option<FeatureSpec> {
        match self {
            Self::Baseline | Self::BaselineFirst | Self::BreadthFirst => None,
            Self::Nb => Some(FeatureSpec::paper()),
            Self::Ftrl => Some(FeatureSpec::default()),
        }
    }

    /// Whether it learns while the crawl runs.
    pub fn learns(self) -> bool {
        self.features().is_some()
    }

    /// The scorer of this order, knowing nothing yet.
    pub(super) fn scorer(self, features: FeatureSpec) -> Box<dyn LinkScorer> {
        match self {
            Self::BreadthFirst => Box::new(BreadthFirstScorer),
            Self::Baseline | Self::BaselineFirst => Box::new(BaselineScorer),
            Self::Nb => Box::new(Apprentice::new(features, Box::new(TwoClassBayes::new()))),
            Self::Ftrl => {
                let learner = Box::new(Ftrl::new(FtrlParams::default()));
                Box::new(Apprentice::new(features, learner))
            }
        }
    }
}

/// What the apprentice of `order` is to look at.
///
/// # Errors
/// [`SpecError`] names the field: a window or a group that there is not, or an order that learns nothing.
pub(super) fn check_features(
    order: CrawlOrder,
    told: Option<&v1::Apprentice>,
) -> Result<FeatureSpec, SpecError> {
    let usual = order.features();
    let Some(told) = told.filter(|told| **told != v1::Apprentice::default()) else {
        return Ok(usual.unwrap_or_default());
    };
    let Some(mut features) = usual else {
        return Err(SpecError::new(
            "apprentice",
            format!(
                "the order `{}` learns nothing; take the order ftrl or nb",
                order.name()
            ),
        ));
    };
    let wrong = |field: &str, error: FeatureSpecError| {
        SpecError::new(format!("apprentice.{field}"), error.to_string())
    };
    if !told.features.is_empty() {
        let groups = told.features.iter().map(String::as_str);
        features = features
            .with_groups(groups)
            .map_err(|error| wrong("features", error))?;
    }
    for group in &told.without {
        features = features
            .without_group(group)
            .map_err(|error| wrong("without", error))?;
    }
    if let Some(d_max) = told.d_max {
        features = features
            .with_d_max(i64::from(d_max))
            .map_err(|error| wrong("d_max", error))?;
    }
    Ok(features)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(d_max: Option<i32>, features: &[&str], without: &[&str]) -> v1::Apprentice {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        v1::Apprentice {
            d_max,
            features: owned(features),
            without: owned(without),
        }
    }

    #[test]
    fn an_apprentice_looks_at_what_it_is_told() {
        let check = |order, told| check_features(order, Some(&told));
        let features = check(CrawlOrder::Ftrl, told(Some(0), &["text", "url"], &["url"])).unwrap();
        assert_eq!((features.d_max(), features.groups()), (0, vec!["text"]));
        let usual = check_features(CrawlOrder::Nb, None).unwrap();
        assert_eq!(usual, FeatureSpec::paper());
        assert!(check(CrawlOrder::Baseline, told(None, &[], &[])).is_ok());
    }

    #[test]
    fn what_it_cannot_look_at_is_named() {
        let problem = |order, told| check_features(order, Some(&told)).unwrap_err().to_string();
        for d_max in [-1, 16] {
            let problem = problem(CrawlOrder::Ftrl, told(Some(d_max), &[], &[]));
            assert!(problem.contains("`apprentice.d_max`") && problem.contains("0 (the link"));
        }
        let typo = problem(CrawlOrder::Nb, told(None, &["txt"], &[]));
        assert!(typo.contains("did you mean `text`?"), "{typo}");
        let idle = problem(CrawlOrder::Baseline, told(Some(3), &[], &[]));
        assert!(idle.contains("learns nothing"), "{idle}");
    }
}
