//! The measures of the exploration paper (Pant, Srinivasan, Menczer 2002): how good the pages of a crawl
//! are among those that all crawlers have found from the same seeds, the pool.
//!
//! Lexical: by the tf-idf of the words that describe the topic, (1 + ln tf) ln(N / df), df from the pool.
//! Linkage: by how many of the topic's keywords a page has, then by `PageRank` on the links among the pages of
//! all topics and crawlers. Pages that tie share their mean rank.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::by_words::{TopicWords, telling};
use super::contest::{Bench, ContestSpec};
use super::contest_error::ContestError;
use super::replay::Entry;
use super::report::ReportError;
use super::runs::work;
use super::start::page_of;
use super::web_graph::WebGraph;
use crate::taxonomy::Focus;

/// Words of the critic that stand for the description of a topic, which the paper has from its editors.
const DESCRIPTION: usize = 50;

/// One crawler on one topic, after n fetches: means over its seed sets, with the standard errors of these
/// means (the standard deviation by the root of their number; `None` of one alone).
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PoolRanks {
    /// The topic; `*` for the mean over all, whose errors are over topics, as the paper's are, or over seed sets
    /// if there is one topic.
    pub topic: String,
    /// The crawler.
    pub crawler: String,
    /// Fetches, and how many of the best pages are looked for.
    pub n: u64,
    /// Share of the n best pages by words that the whole crawl found.
    pub static_lexical: f64,
    /// The same by links.
    pub static_linkage: f64,
    /// Mean rank by words of the first n pages, as a share of the pool: 0 is best.
    pub dynamic_lexical: f64,
    /// The same by links.
    pub dynamic_linkage: f64,
    /// Standard error of `static_lexical`.
    pub static_lexical_se: Option<f64>,
    /// Standard error of `static_linkage`.
    pub static_linkage_se: Option<f64>,
    /// Standard error of `dynamic_lexical`.
    pub dynamic_lexical_se: Option<f64>,
    /// Standard error of `dynamic_linkage`.
    pub dynamic_linkage_se: Option<f64>,
}

impl PoolRanks {
    fn means(&self) -> [f64; 4] {
        [
            self.static_lexical,
            self.static_linkage,
            self.dynamic_lexical,
            self.dynamic_linkage,
        ]
    }
}

/// What a page has of a topic.
struct PageWords {
    /// How often each word of the description stands there.
    counts: Vec<u32>,
    /// How many of the keywords it has.
    keywords: usize,
}

/// The ranks of a pool: from 1.
struct Ranks {
    lexical: BTreeMap<u32, f64>,
    linkage: BTreeMap<u32, f64>,
}

/// Ranks what `entries` fetched.
///
/// # Errors
/// [`ContestError`] for a topic that can be no focus.
pub fn pool_ranks(
    world: &Bench,
    spec: &ContestSpec,
    entries: &[Entry],
    points: &[u64],
    workers: usize,
) -> Result<Vec<PoolRanks>, ContestError> {
    let web = world.web(workers);
    let places = |entry: &Entry| -> Vec<u32> {
        let fetched = entry.fetched.iter();
        fetched.filter_map(|one| web.place(one.url)).collect()
    };
    let all: BTreeSet<u32> = entries.iter().flat_map(places).collect();
    let all: Vec<u32> = all.into_iter().collect();
    let links: BTreeMap<u32, f64> = all.iter().copied().zip(web.ranks_among(&all)).collect();
    let foci = Focus::each(&spec.topics, &spec.without)?;
    let mut rows = Vec::new();
    for (topic, focus) in spec.topics.iter().zip(foci) {
        let mine: Vec<&Entry> = entries.iter().filter(|e| e.topic == *topic).collect();
        let keywords = TopicWords::of(spec.keywords, topic, &focus, &world.model)?.words;
        let description = telling(&focus, &world.model, DESCRIPTION)?;
        let pages: BTreeSet<u32> = mine.iter().flat_map(|entry| places(entry)).collect();
        let words = words_of(world, web, pages, &description, &keywords, workers);
        let mut found: BTreeMap<(usize, u64), Vec<[f64; 4]>> = BTreeMap::new();
        let sets: BTreeSet<u32> = mine.iter().map(|entry| entry.seed_set).collect();
        for set in sets {
            let here = mine.iter().filter(|entry| entry.seed_set == set);
            let pool: BTreeSet<u32> = here.clone().flat_map(|entry| places(entry)).collect();
            let pool: Vec<u32> = pool.into_iter().filter(|p| words.contains_key(p)).collect();
            let ranks = Ranks::of(&pool, &words, &links);
            for entry in here {
                let Some(crawler) = spec.crawlers.iter().position(|one| *one == entry.crawler)
                else {
                    continue;
                };
                for n in points.iter().filter(|n| **n <= entry.by_critic.n()) {
                    let values = ranks.values(entry, web, *n);
                    found.entry((crawler, *n)).or_default().push(values);
                }
            }
        }
        rows.extend(found.into_iter().map(|((crawler, n), found)| {
            let name = spec.crawlers[crawler].name();
            row(topic, &name, n, &found)
        }));
    }
    rows.extend(over_all(spec, &rows));
    Ok(rows)
}

fn row(topic: &str, crawler: &str, n: u64, found: &[[f64; 4]]) -> PoolRanks {
    let of = |at: usize| {
        let values: Vec<f64> = found
            .iter()
            .filter_map(|row| row.get(at).copied())
            .collect();
        mean_and_error(&values)
    };
    let [
        (static_lexical, static_lexical_se),
        (static_linkage, static_linkage_se),
        (dynamic_lexical, dynamic_lexical_se),
        (dynamic_linkage, dynamic_linkage_se),
    ] = [of(0), of(1), of(2), of(3)];
    PoolRanks {
        topic: topic.to_owned(),
        crawler: crawler.to_owned(),
        n,
        static_lexical,
        static_linkage,
        dynamic_lexical,
        dynamic_linkage,
        static_lexical_se,
        static_linkage_se,
        dynamic_lexical_se,
        dynamic_linkage_se,
    }
}

/// The mean, and its standard error where there is more than one value.
fn mean_and_error(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let off: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let error = (off / (count - 1.0).max(1.0) / count).sqrt();
    (mean, (values.len() > 1).then_some(error))
}

/// The mean over topics, by crawler and n.
fn over_all(spec: &ContestSpec, rows: &[PoolRanks]) -> Vec<PoolRanks> {
    let mut means = Vec::new();
    for crawler in &spec.crawlers {
        let name = crawler.name();
        let mut found: BTreeMap<u64, Vec<&PoolRanks>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.crawler == *name) {
            found.entry(row.n).or_default().push(row);
        }
        means.extend(found.into_iter().map(|(n, rows)| {
            if let [only] = rows[..] {
                return PoolRanks {
                    topic: "*".to_owned(),
                    ..only.clone()
                };
            }
            let values = rows.iter().map(|row| row.means());
            row("*", &name, n, &values.collect::<Vec<_>>())
        }));
    }
    means
}

/// Reads each page once.
fn words_of(
    world: &Bench,
    web: &WebGraph,
    pages: BTreeSet<u32>,
    description: &[String],
    keywords: &[String],
    workers: usize,
) -> BTreeMap<u32, PageWords> {
    let pages: Vec<u32> = pages.into_iter().collect();
    let read = |place: &u32| {
        let Some(page) = page_of(&world.archive, web.url(*place)) else {
            return Ok(None);
        };
        let mut counts: HashMap<&str, u32> = HashMap::new();
        for word in page.title_words.iter().chain(&page.words) {
            if let Some(word) = page.vocabulary.get(*word as usize) {
                *counts.entry(word).or_default() += 1;
            }
        }
        let count = |word: &String| counts.get(word.as_str()).copied().unwrap_or(0);
        Ok::<_, Infallible>(Some(PageWords {
            counts: description.iter().map(count).collect(),
            keywords: keywords.iter().filter(|word| count(word) > 0).count(),
        }))
    };
    let Ok(read) = work(&pages, workers, &AtomicBool::new(false), &read);
    let pairs = pages.into_iter().zip(read);
    pairs
        .filter_map(|(place, words)| Some((place, words.flatten()?)))
        .collect()
}

impl Ranks {
    /// `pool` is sorted.
    fn of(pool: &[u32], words: &BTreeMap<u32, PageWords>, links: &BTreeMap<u32, f64>) -> Self {
        let width = words.values().next().map_or(0, |page| page.counts.len());
        let pages = || pool.iter().filter_map(|place| words.get(place));
        let idf: Vec<f64> = (0..width)
            .map(|word| {
                let df = pages().filter(|page| page.counts[word] > 0).count();
                (pool.len() as f64 / df.max(1) as f64).ln()
            })
            .collect();
        let lexical = |page: &PageWords| -> f64 {
            let terms = page
                .counts
                .iter()
                .zip(&idf)
                .filter(|(count, _)| **count > 0);
            // The description has each word once, so that its weight is the idf as well.
            terms
                .map(|(count, idf)| (1.0 + f64::from(*count).ln()) * idf * idf)
                .sum()
        };
        let of = |value: &dyn Fn(u32) -> (f64, f64)| {
            ranked(pool.iter().map(|place| (*place, value(*place))).collect())
        };
        Self {
            lexical: of(&|place| (words.get(&place).map_or(0.0, lexical), 0.0)),
            linkage: of(&|place| {
                let keywords = words.get(&place).map_or(0, |page| page.keywords);
                let rank = links.get(&place).copied().unwrap_or(0.0);
                (keywords as f64, rank)
            }),
        }
    }

    /// Static and dynamic, lexical and linkage, in the order of [`PoolRanks`].
    fn values(&self, entry: &Entry, web: &WebGraph, n: u64) -> [f64; 4] {
        let order: Vec<u32> = entry
            .fetched
            .iter()
            .filter_map(|one| web.place(one.url))
            .collect();
        let seen: BTreeSet<u32> = order.iter().copied().collect();
        let best = |ranks: &BTreeMap<u32, f64>| {
            let found = seen.iter().filter_map(|place| ranks.get(place));
            found.filter(|rank| **rank <= n as f64).count() as f64 / n as f64
        };
        let first = usize::try_from(n).unwrap_or(usize::MAX);
        let first = entry.fetched.iter().take(first);
        let first: BTreeSet<u32> = first.filter_map(|one| web.place(one.url)).collect();
        let mean = |ranks: &BTreeMap<u32, f64>| {
            let known = first.iter().filter_map(|place| ranks.get(place));
            let (sum, count) = known.fold((0.0, 0.0_f64), |at, rank| (at.0 + rank, at.1 + 1.0));
            sum / count.max(1.0) / (ranks.len().max(1) as f64)
        };
        [
            best(&self.lexical),
            best(&self.linkage),
            mean(&self.lexical),
            mean(&self.linkage),
        ]
    }
}

/// Ranks from 1, the greatest first; those that tie share their mean rank.
fn ranked(mut values: Vec<(u32, (f64, f64))>) -> BTreeMap<u32, f64> {
    let order = |a: &(f64, f64), b: &(f64, f64)| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1));
    values.sort_by(|a, b| order(&a.1, &b.1).then(a.0.cmp(&b.0)));
    let mut ranks = BTreeMap::new();
    let mut before = 0;
    for tied in values.chunk_by(|a, b| order(&a.1, &b.1).is_eq()) {
        let mean = before as f64 + (tied.len() + 1) as f64 / 2.0;
        ranks.extend(tied.iter().map(|(place, _)| (*place, mean)));
        before += tied.len();
    }
    ranks
}

/// Writes `pool_ranks.csv` into `dir`.
///
/// # Errors
/// [`ReportError`] names the file.
pub fn write_pool_ranks(dir: &Path, rows: &[PoolRanks]) -> Result<(), ReportError> {
    let path = dir.join("pool_ranks.csv");
    let write = || {
        let mut csv = csv::Writer::from_writer(fs::File::create(&path)?);
        for row in rows {
            csv.serialize(row)?;
        }
        csv.flush()
    };
    write().map_err(|error| ReportError::Io { path, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_their_mean_rank() {
        let values = vec![
            (7, (1.0, 0.0)),
            (3, (2.0, 0.5)),
            (5, (1.0, 0.0)),
            (4, (2.0, 0.9)),
        ];
        let ranks = ranked(values);
        assert_eq!(
            ranks.into_iter().collect::<Vec<_>>(),
            [(3, 2.0), (4, 1.0), (5, 3.5), (7, 3.5)]
        );
    }

    #[test]
    fn the_error_of_a_mean_is_the_deviation_by_the_root_of_the_number() {
        // 2, 4, 4, 4, 5, 5, 7, 9: squares off 5 sum to 32, so that the error is sqrt(32 / 7 / 8).
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        let (mean, error) = mean_and_error(&values);
        assert!((mean - 5.0).abs() < 1e-12);
        assert!((error.unwrap() - 0.755_928_946).abs() < 1e-9, "{error:?}");
        assert_eq!(mean_and_error(&[3.0]), (3.0, None));
    }

    #[test]
    fn pages_are_ranked_by_rare_words_and_by_keywords_then_links() {
        let page = |counts: [u32; 2], keywords| PageWords {
            counts: counts.to_vec(),
            keywords,
        };
        // The first word stands on three pages of four, the second on one.
        let words = BTreeMap::from([
            (1, page([5, 0], 1)),
            (2, page([0, 1], 1)),
            (3, page([1, 0], 2)),
            (4, page([1, 0], 0)),
        ]);
        let links = BTreeMap::from([(1, 0.1), (2, 0.6), (3, 0.2), (4, 0.1)]);
        let ranks = Ranks::of(&[1, 2, 3, 4], &words, &links);
        let lexical: Vec<f64> = ranks.lexical.into_values().collect();
        assert_eq!(lexical, [2.0, 1.0, 3.5, 3.5]);
        let linkage: Vec<f64> = ranks.linkage.into_values().collect();
        assert_eq!(linkage, [3.0, 2.0, 1.0, 4.0]);
    }
}
