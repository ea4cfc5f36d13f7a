//! What is read off the crawls of a contest, topic by topic and over all of them: loss, harvest and its
//! area, the share of the gap to the oracle, the score normalised by the oracle, targets found, fetches that
//! the archive lacks, time, what the apprentices predicted, and crawlers in pairs.
//!
//! Losses are those by the labels where there are any, else by the critic. A crawl that ended before n has
//! no loss at n and takes no part there, but what it found counts in scores, which are sums.

mod learners;
mod paired;
mod tables;

use std::collections::BTreeMap;

use super::replay::Entry;
use super::report::MeanOf;
use crate::clock::chance;

pub use learners::OfLearner;
pub(in crate::lab) use paired::TIE_WITHIN;
pub use paired::{Interval, Paired, paired};
pub use tables::write;

/// The oracle's name.
const ORACLE: &str = "oracle";
/// There is room for improvement where the oracle loses at most this share of what the reference loses,
const ROOM_SHARE: f64 = 0.7;
/// and at least so many pages less.
const ROOM_PAGES: f64 = 20.0;

/// One crawler on one topic, after n fetches.
#[derive(Clone, Debug, serde::Serialize)]
pub struct OfTopic {
    /// The topic.
    pub topic: String,
    /// The crawler.
    pub crawler: String,
    /// Fetches.
    pub n: u64,
    /// Seed sets whose crawl came so far.
    pub seed_sets: usize,
    /// L(n): mean, least and greatest.
    pub loss: Option<MeanOf>,
    /// The mean of 1 - L(n) / n.
    pub harvest: Option<f64>,
    /// The mean of (1/n) sum over m <= n of the harvest after m: the area under the curve of the harvest.
    pub area: Option<f64>,
    /// The mean number of relevant pages.
    pub relevant: Option<f64>,
    /// (L of the reference - L) / (L of the reference - L of the oracle), where there is room.
    pub gap_share: Option<f64>,
    /// The sum of relevances as a share of the oracle's, means over the seed sets.
    pub by_oracle: Option<f64>,
    /// The mean share of the targets that were found, where crawls have targets.
    pub target_recall: Option<f64>,
    /// The mean share of the fetches for which the archive has nothing, which count as lost (open world).
    pub missing: Option<f64>,
}

/// One crawler over all topics, after n fetches.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Overall {
    /// The crawler.
    pub crawler: String,
    /// Fetches.
    pub n: u64,
    /// The mean over topics of the mean loss.
    pub loss: Option<f64>,
    /// The mean over topics of the harvest.
    pub harvest: Option<f64>,
    /// The mean over topics of the area under it.
    pub area: Option<f64>,
    /// Over the topics with room: what is gained over the reference by what the oracle gains.
    pub gap_share: Option<f64>,
    /// Topics with room.
    pub topics_with_room: usize,
    /// The geometric mean over topics of the score by the oracle's.
    pub global_score: Option<f64>,
    /// The mean over topics of the share of targets found.
    pub target_recall: Option<f64>,
    /// The mean over topics of the share of fetches for which the archive has nothing.
    pub missing: Option<f64>,
}

/// One crawler against another after n fetches, by loss.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Duel {
    /// The one.
    pub crawler: String,
    /// The other.
    pub against: String,
    /// Fetches.
    pub n: u64,
    /// Who lost less.
    #[serde(flatten)]
    pub outcome: Paired,
}

/// The time that a crawler took.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Pace {
    /// The crawler.
    pub crawler: String,
    /// Fetches of all its crawls.
    pub fetches: u64,
    /// Microseconds a fetch: parsing, judging and ordering, on one core beside the other workers.
    pub step_us: f64,
}

/// All of it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Measures {
    /// The crawler that gaps are measured from.
    pub against: String,
    /// Topic by topic.
    pub topics: Vec<OfTopic>,
    /// Over all topics.
    pub overall: Vec<Overall>,
    /// Every crawler against every other.
    pub duels: Vec<Duel>,
    /// How well the apprentices predicted.
    pub learners: Vec<OfLearner>,
}

impl Measures {
    /// The measures of `entries` at `points`.
    pub fn of(entries: &[Entry], points: &[u64], against: &str, seed: u64) -> Self {
        let crawls = Crawls::of(entries);
        let mut measures = Self {
            against: against.to_owned(),
            topics: Vec::new(),
            overall: Vec::new(),
            duels: Vec::new(),
            learners: learners::of_learners(&crawls),
        };
        for n in points {
            for topic in &crawls.topics {
                for crawler in &crawls.crawlers {
                    let row = crawls.of_topic(topic, crawler, *n, against);
                    measures.topics.push(row);
                }
            }
            for crawler in &crawls.crawlers {
                let row = crawls.overall(crawler, *n, against, &measures.topics);
                measures.overall.push(row);
                for other in crawls.crawlers.iter().filter(|other| *other != crawler) {
                    measures.duels.extend(crawls.duel(crawler, other, *n, seed));
                }
            }
        }
        measures
    }
}

/// How long the crawls of each crawler took.
pub fn paces(entries: &[Entry]) -> Vec<Pace> {
    let crawls = Crawls::of(entries);
    let pace = |crawler: &String| {
        let mine = entries
            .iter()
            .filter(|entry| *entry.crawler.name() == **crawler);
        let (fetches, seconds) = mine.fold((0, 0.0), |(fetches, seconds), entry| {
            (
                fetches + entry.by_critic.n(),
                seconds + entry.took.as_secs_f64(),
            )
        });
        Pace {
            crawler: crawler.clone(),
            fetches,
            step_us: seconds * 1e6 / fetches.max(1) as f64,
        }
    };
    crawls.crawlers.iter().map(pace).collect()
}

/// The crawls by topic and crawler, both in the order in which they first come.
struct Crawls<'a> {
    topics: Vec<String>,
    crawlers: Vec<String>,
    by_name: BTreeMap<(String, String), Vec<&'a Entry>>,
}

impl<'a> Crawls<'a> {
    fn of(entries: &'a [Entry]) -> Self {
        let mut crawls = Self {
            topics: Vec::new(),
            crawlers: Vec::new(),
            by_name: BTreeMap::new(),
        };
        for entry in entries {
            let (topic, crawler) = (entry.topic.clone(), entry.crawler.name().into_owned());
            if !crawls.topics.contains(&topic) {
                crawls.topics.push(topic.clone());
            }
            if !crawls.crawlers.contains(&crawler) {
                crawls.crawlers.push(crawler.clone());
            }
            crawls
                .by_name
                .entry((topic, crawler))
                .or_default()
                .push(entry);
        }
        crawls
    }

    fn group(&self, topic: &str, crawler: &str) -> &[&'a Entry] {
        let group = self.by_name.get(&(topic.to_owned(), crawler.to_owned()));
        group.map_or(&[], Vec::as_slice)
    }

    fn of_topic(&self, topic: &str, crawler: &str, n: u64, against: &str) -> OfTopic {
        let group = self.group(topic, crawler);
        let points: Vec<_> = group
            .iter()
            .filter_map(|entry| entry.curve().at(n))
            .collect();
        let losses: Vec<f64> = points.iter().map(|point| point.loss).collect();
        let reached = group.iter().filter(|entry| entry.curve().n() >= n);
        let areas = reached.clone().map(|entry| entry.curve().harvest_area(n));
        let missing = reached
            .clone()
            .map(|entry| entry.missing(n) as f64 / n.max(1) as f64);
        let relevant = reached.map(|entry| entry.curve().relevant_of_first(n) as f64);
        let recalls = group.iter().filter_map(|entry| entry.target_recall(n));
        OfTopic {
            topic: topic.to_owned(),
            crawler: crawler.to_owned(),
            n,
            seed_sets: points.len(),
            loss: MeanOf::of(&losses),
            harvest: mean(points.iter().map(|point| point.harvest)),
            area: mean(areas),
            relevant: mean(relevant),
            gap_share: self
                .gap(topic, crawler, n, against)
                .map(|(gained, room)| gained / room),
            by_oracle: self.by_oracle(topic, crawler, n),
            target_recall: mean(recalls),
            missing: mean(missing),
        }
    }

    /// What is gained over the reference, and what the oracle gains, where that is enough.
    fn gap(&self, topic: &str, crawler: &str, n: u64, against: &str) -> Option<(f64, f64)> {
        let loss = |crawler: &str| {
            let group = self.group(topic, crawler).iter();
            mean(group.filter_map(|entry| entry.curve().at(n).map(|point| point.loss)))
        };
        let (reference, oracle, own) = (loss(against)?, loss(ORACLE)?, loss(crawler)?);
        let has_room = oracle <= ROOM_SHARE * reference && reference - oracle >= ROOM_PAGES;
        has_room.then_some((reference - own, reference - oracle))
    }

    /// HT 2014: the mean over seed sets by that of the oracle. A crawl that ended early keeps its sum.
    fn by_oracle(&self, topic: &str, crawler: &str, n: u64) -> Option<f64> {
        let score = |crawler: &str| {
            let group = self.group(topic, crawler).iter();
            mean(group.filter_map(|entry| {
                let curve = entry.curve();
                let last = n.min(curve.n());
                curve.at(last).map(|point| point.n as f64 - point.loss)
            }))
        };
        let oracle = score(ORACLE).filter(|oracle| *oracle > 0.0)?;
        Some(score(crawler)? / oracle)
    }

    fn overall(&self, crawler: &str, n: u64, against: &str, topics: &[OfTopic]) -> Overall {
        let mine = topics
            .iter()
            .filter(|row| row.crawler == crawler && row.n == n);
        let gaps = self.topics.iter();
        let gaps: Vec<_> = gaps
            .filter_map(|topic| self.gap(topic, crawler, n, against))
            .collect();
        let (gained, room) = gaps
            .iter()
            .fold((0.0, 0.0), |sum, gap| (sum.0 + gap.0, sum.1 + gap.1));
        let logs = mine.clone().filter_map(|row| Some(row.by_oracle?.ln()));
        Overall {
            crawler: crawler.to_owned(),
            n,
            loss: mean(mine.clone().filter_map(|row| Some(row.loss?.mean))),
            harvest: mean(mine.clone().filter_map(|row| row.harvest)),
            area: mean(mine.clone().filter_map(|row| row.area)),
            gap_share: (room > 0.0).then(|| gained / room),
            topics_with_room: gaps.len(),
            global_score: mean(logs).map(f64::exp),
            target_recall: mean(mine.clone().filter_map(|row| row.target_recall)),
            missing: mean(mine.filter_map(|row| row.missing)),
        }
    }

    fn duel(&self, crawler: &str, against: &str, n: u64, seed: u64) -> Option<Duel> {
        let groups = self.topics.iter().map(|topic| {
            let others = self.group(topic, against);
            let pairs = self.group(topic, crawler).iter().filter_map(|entry| {
                let same = |other: &&&Entry| other.seed_set == entry.seed_set;
                let other = others.iter().find(same)?;
                Some((entry.curve().at(n)?.loss, other.curve().at(n)?.loss))
            });
            pairs.collect()
        });
        let groups: Vec<Vec<(f64, f64)>> = groups.collect();
        let mut luck = chance(seed, &format!("{crawler} against {against} at {n}"));
        Some(Duel {
            crawler: crawler.to_owned(),
            against: against.to_owned(),
            n,
            outcome: paired(&groups, TIE_WITHIN, &mut luck)?,
        })
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests;
