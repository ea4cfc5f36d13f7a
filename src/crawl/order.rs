//! How a crawl orders its frontier.

use std::borrow::Cow;

use super::spec::SpecError;
use crate::apprentice::{
    Apprentice, BaselineScorer, BreadthFirstScorer, Ftrl, FtrlParams, Learner, LinkScorer, Panel,
    SourceRelevance, TwoClassBayes, View,
};
use crate::clock::chance;
use crate::features::{FeatureSpec, FeatureSpecError};
use crate::frontier::{Combine, Steering};
use crate::proto::v1;
use crate::text::unknown_name;

/// How a crawl orders its frontier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CrawlOrder {
    /// the best parent's log odds
    Baseline,
    /// the first parent's log odds, frozen
    BaselineFirst,
    /// by discovery
    BreadthFirst,
    /// what naive Bayes predicts that is learned while the crawl runs: the apprentice of the paper
    Nb,
    /// what a logistic regression predicts that is learned while the crawl runs
    Ftrl,
    /// what the learner predicts that has been best lately: `ftrl` at first, `nb`, or the baseline
    #[default]
    Auto,
}

impl CrawlOrder {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Baseline,
        Self::BaselineFirst,
        Self::BreadthFirst,
        Self::Nb,
        Self::Ftrl,
        Self::Auto,
    ];

    /// Its name, as a spec has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::BaselineFirst => "baseline-first",
            Self::BreadthFirst => "breadth-first",
            Self::Nb => "nb",
            Self::Ftrl => "ftrl",
            Self::Auto => "auto",
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
            Self::Baseline | Self::Nb | Self::Ftrl | Self::Auto => Combine::Best,
            Self::BaselineFirst | Self::BreadthFirst => Combine::First,
        }
    }

    /// What an apprentice of this order looks at unless it is told; `None` for one that learns nothing.
    pub fn features(self) -> Option<FeatureSpec> {
        match self {
            Self::Baseline | Self::BaselineFirst | Self::BreadthFirst => None,
            Self::Nb => Some(FeatureSpec::paper()),
            Self::Ftrl | Self::Auto => Some(FeatureSpec::default()),
        }
    }

    /// Whether it learns while the crawl runs.
    pub fn learns(self) -> bool {
        self.features().is_some()
    }

    /// The scorer of this order as a spec's `apprentice` tells it to be, knowing nothing yet.
    ///
    /// # Errors
    /// [`SpecError`] names the field: a window or a group that there is not, or an order that learns
    /// nothing.
    pub fn scorer_told(
        self,
        told: Option<&v1::Apprentice>,
        seed: u64,
    ) -> Result<Box<dyn LinkScorer>, SpecError> {
        Ok(self.scorer(check_features(self, told)?, seed))
    }

    /// The scorer of this order, knowing nothing yet. `seed` is that of the crawl's chance.
    ///
    /// Whatever is followed, the others learn and are validated beside it.
    pub(super) fn scorer(self, features: FeatureSpec, seed: u64) -> Box<dyn LinkScorer> {
        let ftrl: Box<dyn Learner> = Box::new(Ftrl::new(FtrlParams::default()));
        let nb: Box<dyn Learner> = Box::new(TwoClassBayes::new());
        let baseline: Box<dyn Learner> = Box::new(SourceRelevance);
        match self {
            Self::BreadthFirst => Box::new(BreadthFirstScorer),
            Self::Baseline | Self::BaselineFirst => Box::new(BaselineScorer),
            Self::Nb => {
                let learners = vec![(nb, View::All), (baseline, View::All), (ftrl, View::All)];
                Box::new(Apprentice::new(features, Panel::following_first(learners)))
            }
            Self::Ftrl => {
                let learners = vec![(ftrl, View::All), (baseline, View::All), (nb, View::Text)];
                Box::new(Apprentice::new(features, Panel::following_first(learners)))
            }
            Self::Auto => {
                let learners = vec![(ftrl, View::All), (baseline, View::All), (nb, View::Text)];
                let apprentice = Apprentice::new(features, Panel::following_best(learners));
                Box::new(apprentice.exploring(chance(seed, "exploration")))
            }
        }
    }
}

/// An order as a spec names it, and how it is steered: `ftrl`, `ftrl+best-n-first:16`, or
/// `best-n-first:16` for `baseline+best-n-first:16`.
///
/// # Errors
/// Says what there is.
pub fn parse_order(text: &str) -> Result<(CrawlOrder, Steering), String> {
    if let Some((order, steering)) = text.split_once('+') {
        return Ok((CrawlOrder::from_name(order)?, Steering::parse(steering)?));
    }
    if Steering::is_meant_by(text) {
        return Ok((CrawlOrder::Baseline, Steering::parse(text)?));
    }
    let order = CrawlOrder::from_name(text).map_err(|problem| {
        let [batches, altered] = Steering::FORMS;
        format!("{problem}, each alone or as in nb+{batches} or nb+{altered}")
    })?;
    Ok((order, Steering::BestFirst))
}

/// The name that [`parse_order`] reads.
pub fn order_name(order: CrawlOrder, steering: Steering) -> Cow<'static, str> {
    match (order, steering) {
        (_, Steering::BestFirst) => order.name().into(),
        (CrawlOrder::Baseline, _) => steering.to_string().into(),
        (_, _) => format!("{}+{steering}", order.name()).into(),
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

/// How the predictions that several pages give a link become one.
///
/// # Errors
/// [`SpecError`] names the field. That `order` learns at all is [`check_features`]'s to say.
pub(super) fn check_combine(
    order: CrawlOrder,
    told: Option<&v1::Apprentice>,
) -> Result<Combine, SpecError> {
    let name = told.map_or("", |told| told.combine.as_str());
    if name.is_empty() {
        return Ok(order.combine());
    }
    Combine::from_name(name).ok_or_else(|| {
        let names = Combine::ALL.map(Combine::name);
        let problem = format!("no way to combine {}", unknown_name(name, &names));
        SpecError::new("apprentice.combine", problem)
    })
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
            ..v1::Apprentice::default()
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
    fn several_pages_are_combined_as_it_is_told() {
        let check = |order, combine: &str| {
            let mut told = told(None, &[], &[]);
            combine.clone_into(&mut told.combine);
            check_combine(order, Some(&told))
        };
        assert_eq!(check(CrawlOrder::Ftrl, ""), Ok(Combine::Best));
        assert_eq!(check(CrawlOrder::BaselineFirst, ""), Ok(Combine::First));
        for combine in Combine::ALL {
            assert_eq!(check(CrawlOrder::Nb, combine.name()), Ok(combine));
        }
        let typo = check(CrawlOrder::Nb, "noisy").unwrap_err().to_string();
        assert!(
            typo.contains("apprentice.combine") && typo.contains("noisy-or"),
            "{typo}"
        );
    }

    #[test]
    fn an_order_is_named_with_its_steering() {
        for name in [
            "ftrl",
            "nb+best-n-first:16",
            "best-n-first:256",
            "auto+altered-greedy:0.9:0.5",
        ] {
            let (order, steering) = parse_order(name).unwrap();
            assert_eq!(order_name(order, steering), name);
        }
        let of_baseline = parse_order("baseline+best-n-first:3").unwrap();
        assert_eq!(order_name(of_baseline.0, of_baseline.1), "best-n-first:3");
        for (name, words) in [
            ("best", "nb+best-n-first:N"),
            ("best-n-first:x", "is 2 to"),
            ("nbb+best-n-first:3", "did you mean `nb`?"),
            ("nb+best-first", "altered-greedy:Q:ZETA"),
            ("nb+", "altered-greedy:Q:ZETA"),
        ] {
            let problem = parse_order(name).unwrap_err();
            assert!(problem.contains(words), "{name}: {problem}");
        }
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
