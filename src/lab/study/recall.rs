//! The recall crawler (WWW 2002, section 3.6): the apprentice may fetch only what the baseline
//! fetched. Both end with the same pages; how much sooner does it have the relevant ones?

use super::{Finding, Steps, StudyError, StudySpec, Table, contest, mean, spread};
use crate::lab::contest::{Bench, ContestSpec};
use crate::lab::replay::Entry;
use crate::measure::{LossCurve, LossPoint, NamedCurve, RELEVANT_FROM, loss_svg};

/// Shares of the relevant pages that the first crawler found.
const SHARES: [f64; 4] = [0.25, 0.5, 0.9, 1.0];

pub(super) fn study(
    world: &Bench,
    spec: &StudySpec,
    steps: Steps<'_>,
) -> Result<Finding, StudyError> {
    let [first, second] = &spec.contest.crawlers[..] else {
        return Err(StudyError::TwoCrawlers);
    };
    let (topics, sets) = (spec.contest.topics.len() as u64, spec.contest.seed_sets);
    let total = topics * u64::from(sets) * 3;
    let free = contest(world, &spec.contest, &|done| steps(done, total))?;
    let fenced = ContestSpec {
        crawlers: vec![second.clone()],
        within: Some(first.clone()),
        ..spec.contest.clone()
    };
    let done_before = free.len() as u64;
    let within = contest(world, &fenced, &|done| steps(done_before + done, total))?;
    let name = format!("{} within {}", second.name(), first.name());
    let (first, second) = (first.name(), second.name());
    let crawlers = [&*first, &*second, name.as_str()];
    let mut finding = Finding {
        data: Table::new(&[
            "topic",
            "seed_set",
            "crawler",
            "relevant_share",
            "relevant",
            "n",
        ]),
        short: Table::new(&[
            "TOPIC",
            "CRAWLER",
            "OF THE RELEVANT",
            "FETCHES",
            "(MIN - MAX)",
        ]),
        ..Finding::default()
    };
    for topic in &spec.contest.topics {
        let of = |entries: &[Entry], at: usize, step: usize| -> Vec<LossCurve> {
            let mine = entries.iter().skip(at).step_by(step);
            let mine = mine.filter(|entry| entry.topic == *topic);
            mine.map(|entry| entry.curve().clone()).collect()
        };
        let curves = [of(&free, 0, 2), of(&free, 1, 2), of(&within, 0, 1)];
        for (crawler, curves_of_one) in crawlers.iter().zip(&curves) {
            add(topic, crawler, &curves[0], curves_of_one, &mut finding);
        }
        let drawn: Vec<NamedCurve> = crawlers
            .iter()
            .zip(&curves)
            .map(|(name, curves)| mean_curve(name, curves))
            .filter(|curve| curve.points.len() > 1)
            .collect();
        let title = format!("{topic}: recall crawler");
        finding
            .pictures
            .push((topic.clone(), loss_svg(&title, &drawn)?));
    }
    Ok(finding)
}

/// The fetches that `curves` need for what `of_first` found, seed set by seed set.
fn add(
    topic: &str,
    crawler: &str,
    of_first: &[LossCurve],
    curves: &[LossCurve],
    finding: &mut Finding,
) {
    for share in SHARES {
        let mut needed = Vec::new();
        for (seed_set, (first, curve)) in of_first.iter().zip(curves).enumerate() {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of a count"
            )]
            let wanted = (first.relevant() as f64 * share).ceil() as u64;
            let n = fetches_for(curve, wanted);
            needed.extend(n.map(|n| n as f64));
            finding.data.rows.push(vec![
                topic.to_owned(),
                seed_set.to_string(),
                crawler.to_owned(),
                share.to_string(),
                wanted.to_string(),
                n.map_or(String::new(), |n| n.to_string()),
            ]);
        }
        let missed = curves.len() - needed.len();
        let mut fetches = format!("{:.0}", mean(&needed));
        if missed > 0 {
            fetches = format!("{missed} of {} never got there", curves.len());
        }
        finding.short.rows.push(vec![
            topic.to_owned(),
            crawler.to_owned(),
            format!("{:.0} %", 100.0 * share),
            fetches,
            spread(&needed, 0),
        ]);
    }
}

/// Fetches until `wanted` relevant pages were there; `None` if they never were.
fn fetches_for(curve: &LossCurve, wanted: u64) -> Option<u64> {
    let mut found = 0;
    for (n, relevance) in (1..).zip(curve.relevances()) {
        found += u64::from(*relevance >= RELEVANT_FROM);
        if found >= wanted {
            return Some(n);
        }
    }
    None
}

/// The mean of curves as far as all of them go.
pub(super) fn mean_curve(name: &str, curves: &[LossCurve]) -> NamedCurve {
    let least = curves.iter().map(LossCurve::n).min().unwrap_or(0);
    let step = (least / 200).max(1);
    let all: Vec<Vec<LossPoint>> = curves.iter().map(|curve| curve.points(0)).collect();
    let points = (1..=least).filter(|n| *n == least || *n == 1 || n % step == 0);
    let points = points.map(|n| {
        let at = usize::try_from(n - 1).unwrap_or(usize::MAX);
        let losses = all.iter().filter_map(|points| Some(points.get(at)?.loss));
        LossPoint::new(n, mean(&losses.collect::<Vec<_>>()))
    });
    NamedCurve {
        name: name.to_owned(),
        points: points.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fetches_are_counted_until_the_relevant_ones_are_there() {
        let curve: LossCurve = [0.0, 1.0, 0.2, 0.9].into_iter().collect();
        assert_eq!(fetches_for(&curve, 1), Some(2));
        assert_eq!(fetches_for(&curve, 2), Some(4));
        assert_eq!(fetches_for(&curve, 3), None);
    }

    #[test]
    fn a_mean_goes_as_far_as_the_shortest() {
        let curves = [
            [0.0, 0.0, 0.0].into_iter().collect(),
            [1.0, 0.0].into_iter().collect(),
        ];
        let points = mean_curve("both", &curves).points;
        assert_eq!(points, [LossPoint::new(1, 0.5), LossPoint::new(2, 1.5)]);
    }
}
