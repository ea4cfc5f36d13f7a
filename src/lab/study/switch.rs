//! A crawl that goes over in the middle (WWW 2002, section 3.7): the baseline until n, then the
//! apprentice that has learned all the while. The order of the frontier is to change greatly, and the
//! loss rate to drop at once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::recall::mean_curve;
use super::{Finding, Steps, StudyError, StudySpec, Table, mean, replayed};
use crate::apprentice::{LinkScorer, Prepared, SourceView};
use crate::booking::Event;
use crate::features::PageSketch;
use crate::lab::contest::{Bench, jobs};
use crate::lab::replay::{Entry, Job, crawl, entry};
use crate::measure::{LossCurve, NamedCurve, loss_svg};
use crate::url::UrlId;

/// Pages before and after the switch whose loss is compared, at most.
const WINDOW: u64 = 500;
/// The best links whose fate is told.
const TOP: [usize; 2] = [100, 1000];

/// What the two orders of the frontier were at the switch.
#[derive(Debug, Default)]
struct Orders {
    has_switched: bool,
    /// Best score of each target and the order of its discovery.
    before: HashMap<UrlId, (f32, usize)>,
    after: HashMap<UrlId, f32>,
    fetched: HashSet<UrlId>,
    /// Pages that were scored before and not yet after.
    sources: HashSet<UrlId>,
}

/// Scores as the baseline does, and from the switch on as the apprentice.
struct Switch {
    apprentice: Box<dyn LinkScorer>,
    at: u64,
    pages: u64,
    orders: Arc<Mutex<Orders>>,
}

impl Switch {
    fn orders(&self) -> std::sync::MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LinkScorer for Switch {
    fn needs_sketches(&self) -> bool {
        true
    }

    fn score(&mut self, source: &SourceView<'_>) -> Vec<f32> {
        let has_switched = self.orders().has_switched;
        let scores = if has_switched {
            self.apprentice.score(source)
        } else {
            vec![source.log_odds; source.links]
        };
        let Some(sketch) = source.sketch else {
            return scores;
        };
        let mut orders = self.orders();
        // Only the first sweep after the switch is what the switch did.
        let is_first = if has_switched {
            orders.sources.remove(&sketch.id)
        } else {
            orders.sources.insert(sketch.id);
            true
        };
        let links = sketch.links.iter().zip(&scores);
        for (link, score) in links.filter(|(link, _)| is_first && !link.is_self) {
            if has_switched {
                let best = orders.after.entry(link.target).or_insert(*score);
                *best = best.max(*score);
            } else {
                let found = orders.before.len();
                let best = orders.before.entry(link.target).or_insert((*score, found));
                best.0 = best.0.max(*score);
            }
        }
        scores
    }

    fn prepare(&mut self, pairs: &[(Arc<PageSketch>, u32)]) -> Prepared {
        let mut prepared = self.apprentice.prepare(pairs);
        if !self.orders().has_switched {
            // The priorities are not the apprentice's yet.
            prepared.scores.clear();
        }
        prepared
    }

    fn learn(&mut self, prepared: &Prepared, log_odds: f32) {
        self.apprentice.learn(prepared, log_odds);
    }

    fn saw(&mut self, page: &PageSketch) {
        self.pages += 1;
        self.apprentice.saw(page);
        let mut orders = self.orders();
        if !orders.has_switched {
            orders.fetched.insert(page.id);
        }
    }

    fn publish_if_due(&mut self) -> bool {
        let is_due = self.apprentice.publish_if_due();
        let is_time = self.pages >= self.at;
        let mut orders = self.orders();
        if orders.has_switched {
            return is_due;
        }
        orders.has_switched = is_time;
        is_time
    }

    fn observe(&mut self, event: &Event) {
        self.apprentice.observe(event);
    }
}

/// What one seed set showed.
struct Shown {
    switched: Entry,
    open: usize,
    /// Share of the best links before that are among as many best after.
    kept: [f64; 2],
    rank_correlation: f64,
}

pub(super) fn study(
    world: &Bench,
    spec: &StudySpec,
    steps: Steps<'_>,
) -> Result<Finding, StudyError> {
    let [first, second] = &spec.contest.crawlers[..] else {
        return Err(StudyError::TwoCrawlers);
    };
    if second.order().features().is_none() {
        return Err(StudyError::NoApprentice(second.name().into_owned()));
    }
    let at = spec.switch_at.unwrap_or(spec.contest.budget / 2).max(1);
    let jobs = jobs(world, &spec.contest)?;
    let total = jobs.len() as u64 + jobs.len() as u64 / 2;
    let mut finding = Finding {
        data: Table::new(&[
            "topic",
            "seed_set",
            "switch_at",
            "window",
            "rate_before",
            "rate_after",
            "rate_after_unswitched",
            "open_links",
            "kept_of_100",
            "kept_of_1000",
            "rank_correlation",
        ]),
        short: Table::new(&[
            "TOPIC",
            "LOSS RATE BEFORE",
            "AFTER",
            "WITHOUT THE SWITCH",
            "KEPT OF THE BEST 100",
            "OF 1,000",
            "RANK CORRELATION",
        ]),
        ..Finding::default()
    };
    let (mut done, archived) = (0, archived(world));
    let mut by_topic: BTreeMap<String, Vec<[Entry; 3]>> = BTreeMap::new();
    for pair in jobs.chunks(2) {
        let [of_first, of_second] = pair else {
            continue;
        };
        let unswitched = replayed(world, &spec.contest, of_first)?;
        let free = replayed(world, &spec.contest, of_second)?;
        let shown = switched(world, spec, of_second, at, &archived)?;
        add(at, &unswitched, &shown, &mut finding);
        let entries = by_topic.entry(of_first.topic.clone()).or_default();
        entries.push([unswitched, free, shown.switched]);
        done += 3;
        steps(done, total);
    }
    let names = [
        first.name().into_owned(),
        second.name().into_owned(),
        format!("{} from {at} on", second.name()),
    ];
    summarise(&by_topic, &names, &mut finding)?;
    Ok(finding)
}

/// All that a closed world can fetch.
fn archived(world: &Bench) -> HashSet<UrlId> {
    world.archive.urls().map(|url| url.id()).collect()
}

fn switched(
    world: &Bench,
    spec: &StudySpec,
    job: &Job,
    at: u64,
    archived: &HashSet<UrlId>,
) -> Result<Shown, StudyError> {
    let orders = Arc::new(Mutex::new(Orders::default()));
    let order = job.crawler.order();
    let scorer = Switch {
        apprentice: order.scorer_told(spec.contest.apprentice.as_ref(), spec.contest.seed)?,
        at,
        pages: 0,
        orders: Arc::clone(&orders),
    };
    let replayed = crawl(world, &spec.contest, job, Some(Box::new(scorer)))?;
    let orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
    let (before, after) = ranks(&orders, |url| archived.contains(&url));
    Ok(Shown {
        switched: entry(world, job, &replayed)?,
        open: before.len(),
        kept: TOP.map(|top| kept(&before, &after, top)),
        rank_correlation: rank_correlation(&before, &after),
    })
}

/// The waiting links in both orders, best first.
fn ranks(orders: &Orders, in_world: impl Fn(UrlId) -> bool) -> (Vec<UrlId>, Vec<UrlId>) {
    let mut open: Vec<(UrlId, f32, f32, usize)> = Vec::new();
    let known = orders.before.keys().copied();
    for url in known.filter(|url| !orders.fetched.contains(url) && in_world(*url)) {
        if let (Some((before, found)), Some(after)) =
            (orders.before.get(&url), orders.after.get(&url))
        {
            open.push((url, *before, *after, *found));
        }
    }
    // Ties go to the one that was found first.
    open.sort_by_key(|link| link.3);
    let mut in_order = |of: fn(&(UrlId, f32, f32, usize)) -> f32| {
        open.sort_by(|a, b| of(b).total_cmp(&of(a)).then(a.3.cmp(&b.3)));
        open.iter().map(|link| link.0).collect()
    };
    (in_order(|link| link.1), in_order(|link| link.2))
}

fn kept(before: &[UrlId], after: &[UrlId], top: usize) -> f64 {
    let best: HashSet<UrlId> = before.iter().take(top).copied().collect();
    let kept = after.iter().take(top).filter(|url| best.contains(url));
    kept.count() as f64 / best.len().max(1) as f64
}

/// Spearman's: 1 for the same order, -1 for the reverse; 0 for fewer than two links.
fn rank_correlation(before: &[UrlId], after: &[UrlId]) -> f64 {
    let n = before.len() as f64;
    if before.len() < 2 {
        return 0.0;
    }
    let places: HashMap<UrlId, usize> = before.iter().copied().zip(0..).collect();
    let squares = after.iter().enumerate().filter_map(|(place, url)| {
        let moved = place as f64 - *places.get(url)? as f64;
        Some(moved * moved)
    });
    1.0 - 6.0 * squares.sum::<f64>() / (n * (n * n - 1.0))
}

/// Loss a page over the `window` fetches from `from` on.
fn rate(curve: &LossCurve, from: u64, window: u64) -> Option<f64> {
    let loss = |n: u64| match n {
        0 => Some(0.0),
        n => Some(curve.at(n)?.loss),
    };
    Some((loss(from + window)? - loss(from)?) / window.max(1) as f64)
}

fn add(at: u64, unswitched: &Entry, shown: &Shown, finding: &mut Finding) {
    let (switched, other) = (shown.switched.curve(), unswitched.curve());
    let left = switched.n().min(other.n()).saturating_sub(at);
    let window = WINDOW.min(at).min(left).max(1);
    let rates = [
        rate(switched, at.saturating_sub(window), window),
        rate(switched, at, window),
        rate(other, at, window),
    ];
    let mut row = vec![
        unswitched.topic.clone(),
        unswitched.seed_set.to_string(),
        at.to_string(),
        window.to_string(),
    ];
    row.extend(rates.map(|rate| rate.map_or(String::new(), |rate| format!("{rate:.4}"))));
    row.push(shown.open.to_string());
    row.extend(shown.kept.map(|share| format!("{share:.4}")));
    row.push(format!("{:.4}", shown.rank_correlation));
    finding.data.rows.push(row);
}

fn summarise(
    by_topic: &BTreeMap<String, Vec<[Entry; 3]>>,
    names: &[String; 3],
    finding: &mut Finding,
) -> Result<(), StudyError> {
    for (topic, entries) in by_topic {
        let column = |at: usize| -> Vec<f64> {
            let rows = finding.data.rows.iter().filter(|row| row[0] == *topic);
            rows.filter_map(|row| row[at].parse().ok()).collect()
        };
        let mut row = vec![topic.clone()];
        row.extend([4, 5, 6].map(|at| format!("{:.3}", mean(&column(at)))));
        row.extend([8, 9].map(|at| format!("{:.0} %", 100.0 * mean(&column(at)))));
        row.push(format!("{:.2}", mean(&column(10))));
        finding.short.rows.push(row);
        let curves: Vec<NamedCurve> = (0..)
            .zip(names)
            .map(|(at, name)| {
                let curves = entries.iter().map(|entries| entries[at].curve().clone());
                mean_curve(name, &curves.collect::<Vec<_>>())
            })
            .filter(|curve| curve.points.len() > 1)
            .collect();
        let title = format!("{topic}: a switch in the middle");
        finding
            .pictures
            .push((topic.clone(), loss_svg(&title, &curves)?));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: &[u64]) -> Vec<UrlId> {
        numbers.iter().map(|number| UrlId(*number)).collect()
    }

    #[test]
    fn orders_are_compared_by_rank() {
        let (before, after) = (ids(&[1, 2, 3, 4]), ids(&[4, 3, 2, 1]));
        assert!((rank_correlation(&before, &before) - 1.0).abs() < 1e-9);
        assert!((rank_correlation(&before, &after) + 1.0).abs() < 1e-9);
        assert!((kept(&before, &after, 3) - 2.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_rate_is_the_loss_of_its_window() {
        let curve: LossCurve = [1.0, 0.0, 0.0, 0.5].into_iter().collect();
        assert_eq!(rate(&curve, 0, 2), Some(0.5));
        assert_eq!(rate(&curve, 2, 2), Some(0.75));
        assert_eq!(rate(&curve, 3, 2), None);
    }
}
