//! The crawlers that can be compared: the orders of the program, and some that only a replay can have.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::begin::Begun;
use super::by_words::SharkParams;
use super::labels::{Labels, LabelsError};
use crate::apprentice::{LinkScorer, SourceView};
use crate::booking::Event;
use crate::crawl::{CrawlOrder, LINKS_WAITING_MIN, order_name, parse_order};
use crate::frontier::Steering;
use crate::text::unknown_name;
use crate::url::UrlId;

/// A crawler of a contest.
#[derive(Clone, Debug, PartialEq)]
pub enum Crawler {
    /// One that a real crawl can be, too.
    Order(CrawlOrder, Steering),
    /// One of the papers that the lab alone has, or one with a bound on what waits.
    Paper(Guide, Steering, Option<u32>),
    /// Greedy by the judge's own word on each target: what could be had with perfect foresight of one
    /// link. No true bound, since it does not look beyond that link.
    Oracle,
    /// One whose apprentice begins with a saved one, under a name of its own.
    Begun(Arc<Begun>),
}

/// What a crawler of [`Crawler::Paper`] goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guide {
    /// Chance alone: any of the links that wait.
    Random,
    /// The cosine of the topic's keywords and the page that the link stands on.
    Cosine,
    /// `SharkSearch`.
    Shark(SharkParams),
    /// What a real crawl goes by.
    Order(CrawlOrder),
}

/// What is written for a bound on what waits.
const BUFFER: &str = "+buffer:";
/// How the lab's own crawlers are written.
const FORMS: [&str; 5] = [
    "random",
    "cosine",
    "shark",
    "shark:DELTA:BETA:GAMMA",
    "CRAWLER+buffer:N",
];
/// Any of the links, whatever they are worth.
const ANY: Steering = Steering::Altered { best: 0, good: 0 };

impl Guide {
    fn name(self) -> Cow<'static, str> {
        match self {
            Self::Random => "random".into(),
            Self::Cosine => "cosine".into(),
            Self::Shark(params) if params == SharkParams::default() => "shark".into(),
            Self::Shark(params) => {
                let shares = [params.decay, params.anchor, params.inherited];
                let [delta, beta, gamma] = shares.map(|share| f64::from(share) / 1000.0);
                format!("shark:{delta}:{beta}:{gamma}").into()
            }
            Self::Order(order) => order.name().into(),
        }
    }

    /// The guide that is written so; `None` if it means none.
    fn parse(text: &str) -> Option<Result<Self, String>> {
        match text {
            "random" => return Some(Ok(Self::Random)),
            "cosine" => return Some(Ok(Self::Cosine)),
            "shark" => return Some(Ok(Self::Shark(SharkParams::default()))),
            _ => {}
        }
        let shares = text.strip_prefix("shark:")?;
        let shares: Option<Vec<u16>> = shares.split(':').map(thousandths).collect();
        let [decay, anchor, inherited] = shares.as_deref().unwrap_or_default() else {
            return Some(Err(format!(
                "`{text}` is no crawler; DELTA, BETA and GAMMA of shark:DELTA:BETA:GAMMA are 0 to 1 with \
                 at most three decimals, such as shark:0.5:0.8:0.1"
            )));
        };
        Some(Ok(Self::Shark(SharkParams {
            decay: *decay,
            anchor: *anchor,
            inherited: *inherited,
        })))
    }
}

fn thousandths(text: &str) -> Option<u16> {
    let share: f64 = text.parse().ok()?;
    let whole = share * 1000.0;
    let rounded = whole.round();
    let fits = (0.0..=1000.0).contains(&rounded) && (whole - rounded).abs() < 1e-6;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number from 0 to 1000"
    )]
    fits.then_some(rounded as u16)
}

impl Crawler {
    /// Its name.
    pub fn name(&self) -> Cow<'static, str> {
        match self {
            Self::Paper(guide, steering, buffer) => {
                let name = match (*guide, *steering) {
                    (Guide::Order(order), steering) => order_name(order, steering).into_owned(),
                    (Guide::Random, _) | (_, Steering::BestFirst) => guide.name().into_owned(),
                    (_, steering) => format!("{}+{steering}", guide.name()),
                };
                match buffer {
                    Some(buffer) => format!("{name}{BUFFER}{buffer}").into(),
                    None => name.into(),
                }
            }
            Self::Order(order, steering) => order_name(*order, *steering),
            Self::Oracle => "oracle".into(),
            Self::Begun(begun) => begun.name.clone().into(),
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
        if let Some((rest, most)) = name.split_once(BUFFER) {
            return Self::bounded(rest, most);
        }
        let (guide, steering) = name
            .split_once('+')
            .map_or((name, None), |(guide, steering)| (guide, Some(steering)));
        if let Some(guide) = Guide::parse(guide) {
            return Self::guided(guide?, steering);
        }
        if name.contains('+') || Steering::is_meant_by(name) {
            return parse_order(name).map(|(order, steering)| Self::Order(order, steering));
        }
        if let Ok(order) = CrawlOrder::from_name(name) {
            return Ok(Self::Order(order, Steering::BestFirst));
        }
        let mut names = CrawlOrder::ALL.map(CrawlOrder::name).to_vec();
        names.push("oracle");
        names.extend(FORMS);
        names.extend(Steering::FORMS);
        Err(format!("no crawler {}", unknown_name(name, &names)))
    }

    /// The crawler `rest` with at most so many links waiting.
    fn bounded(rest: &str, most: &str) -> Result<Self, String> {
        let crawler = Self::from_name(rest)?;
        let bound: Option<u32> = most.parse().ok();
        let bound = bound.filter(|most| u64::from(*most) >= LINKS_WAITING_MIN);
        let bound = Some(bound.ok_or_else(|| {
            format!(
                "`{rest}{BUFFER}{most}`: `{most}` is no bound on what waits; the N of CRAWLER+buffer:N is \
                 {LINKS_WAITING_MIN} to {}, or leave `{BUFFER}{most}` out for no bound",
                u32::MAX
            )
        })?);
        match crawler {
            Self::Order(order, steering) => Ok(Self::Paper(Guide::Order(order), steering, bound)),
            Self::Paper(guide, steering, _) => Ok(Self::Paper(guide, steering, bound)),
            Self::Oracle | Self::Begun(_) => {
                Err("the oracle has no bound on what waits".to_owned())
            }
        }
    }

    fn guided(guide: Guide, steering: Option<&str>) -> Result<Self, String> {
        let steering = match (guide, steering) {
            (Guide::Random, None) => ANY,
            (Guide::Random, Some(_)) => {
                return Err("chance alone cannot be steered; take `random` as it is".to_owned());
            }
            (_, None) => Steering::BestFirst,
            (_, Some(steering)) => Steering::parse(steering)?,
        };
        Ok(Self::Paper(guide, steering, None))
    }

    /// Itself, without what it begins with.
    pub(super) fn plain(&self) -> &Self {
        match self {
            Self::Begun(begun) => begun.crawler.plain(),
            plain => plain,
        }
    }

    /// Whether it goes by the keywords of the topic.
    pub(super) fn needs_words(&self) -> bool {
        matches!(self, Self::Paper(Guide::Cosine | Guide::Shark(_), ..))
    }

    /// How many links may wait, if that is bounded.
    pub(super) fn buffer(&self) -> Option<u64> {
        match self.plain() {
            Self::Paper(_, _, buffer) => buffer.map(u64::from),
            _ => None,
        }
    }

    /// How its crawl is ordered, as a spec says it.
    pub(super) fn order(&self) -> CrawlOrder {
        match self {
            Self::Order(order, _) | Self::Paper(Guide::Order(order), ..) => *order,
            Self::Paper(Guide::Random, ..) => CrawlOrder::BreadthFirst,
            Self::Paper(..) | Self::Oracle => CrawlOrder::Baseline,
            Self::Begun(begun) => begun.crawler.order(),
        }
    }

    /// The same with its steering, by name.
    pub(super) fn order_name(&self) -> Cow<'static, str> {
        match self {
            Self::Order(order, steering) => order_name(*order, *steering),
            Self::Paper(_, steering, _) => order_name(self.order(), *steering),
            Self::Oracle => CrawlOrder::Baseline.name().into(),
            Self::Begun(begun) => begun.crawler.order_name(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crawler_is_found_under_the_name_that_it_says() {
        for name in [
            "baseline",
            "nb+best-n-first:16",
            "random",
            "random+buffer:256",
            "cosine",
            "cosine+best-n-first:64+buffer:256",
            "breadth-first+buffer:256",
            "best-n-first:256+buffer:256",
            "shark",
            "shark:0.25:0.8:0.1+best-n-first:16",
            "oracle",
        ] {
            let crawler = Crawler::from_name(name).unwrap();
            assert_eq!(crawler.name(), name);
        }
        let usual = Crawler::from_name("shark:0.5:0.8:0.1").unwrap();
        assert_eq!(usual.name(), "shark");
        assert_eq!(
            Crawler::from_name("cosine+buffer:100").unwrap().buffer(),
            Some(100)
        );
    }

    #[test]
    fn a_name_that_is_none_is_told_what_there_is() {
        for (name, words) in [
            ("cosin", "did you mean `cosine`?"),
            ("shark:2:0:0", "0 to 1 with at most three decimals"),
            ("shark:0.5", "shark:DELTA:BETA:GAMMA"),
            ("cosine+best-n-first:x", "the N of best-n-first:N"),
            ("random+best-n-first:2", "cannot be steered"),
            ("oracle+buffer:3", "no bound"),
            (
                "cosine+buffer:0",
                "`cosine+buffer:0`: `0` is no bound on what waits; the N of CRAWLER+buffer:N is 100 to 4294967295",
            ),
            ("best-n-first:16+buffer:99", "`best-n-first:16+buffer:99`"),
            ("cosine+buffer:many", "100 to 4294967295"),
            ("cosin+buffer:3", "did you mean `cosine`?"),
        ] {
            let problem = Crawler::from_name(name).unwrap_err();
            assert!(problem.contains(words), "{name}: {problem}");
        }
    }
}
