//! Which URLs two crawlers both fetch (WWW 2002, section 3.6): where the better one goes elsewhere, it
//! has generalised; where it only reorders, both fetch the same.

use std::collections::HashSet;

use super::{Finding, Steps, StudyError, StudySpec, Table, contest, mean};
use crate::lab::contest::Bench;
use crate::lab::replay::Entry;
use crate::measure::{Axes, Line, line_svg};

/// Places on the way.
const PLACES: u64 = 20;

pub(super) fn study(
    world: &Bench,
    spec: &StudySpec,
    steps: Steps<'_>,
) -> Result<Finding, StudyError> {
    let [first, second] = &spec.contest.crawlers[..] else {
        return Err(StudyError::TwoCrawlers);
    };
    let spec = &spec.contest;
    let total = spec.topics.len() as u64 * u64::from(spec.seed_sets) * 2;
    let entries = contest(world, spec, &|done| steps(done, total))?;
    let mut finding = Finding {
        data: Table::new(&[
            "topic",
            "seed_set",
            "n",
            "both",
            "first_alone",
            "second_alone",
        ]),
        short: Table::new(&["TOPIC", "N", "BOTH", "FIRST ALONE", "SECOND ALONE"]),
        ..Finding::default()
    };
    for topic in &spec.topics {
        let pairs: Vec<&[Entry]> = entries
            .chunks(2)
            .filter(|pair| pair.iter().all(|entry| entry.topic == *topic))
            .collect();
        let mut points = Vec::new();
        for place in 1..=PLACES {
            let n = spec.budget * place / PLACES;
            let mut shares = Vec::new();
            for pair in &pairs {
                let [both, first, second] = shared(pair, n);
                let mut row = vec![topic.clone(), pair[0].seed_set.to_string(), n.to_string()];
                row.extend([both, first, second].map(|count| count.to_string()));
                finding.data.rows.push(row);
                let all = (both + first + second).max(1) as f64;
                shares.push([both, first, second].map(|count| count as f64 / all));
            }
            let of = |at: usize| mean(&shares.iter().map(|share| share[at]).collect::<Vec<_>>());
            let means = [of(0), of(1), of(2)];
            points.push((n as f64, means));
            if place % 5 == 0 {
                let mut row = vec![topic.clone(), n.to_string()];
                row.extend(means.map(|share| format!("{:.1} %", 100.0 * share)));
                finding.short.rows.push(row);
            }
        }
        let names = [
            "both".to_owned(),
            format!("{} alone", first.name()),
            format!("{} alone", second.name()),
        ];
        let lines: Vec<Line> = (0..)
            .zip(names)
            .map(|(at, name)| Line {
                name,
                points: points.iter().map(|(n, means)| (*n, means[at])).collect(),
            })
            .collect();
        let axes = Axes {
            title: &format!("{topic}: who fetched what"),
            x: "pages fetched by each",
            y: "share of all URLs fetched",
        };
        finding
            .pictures
            .push((topic.clone(), line_svg(&axes, &lines)?));
    }
    Ok(finding)
}

/// Of the first `n` fetches of two crawls: URLs of both, of the first alone, of the second alone.
fn shared(pair: &[Entry], n: u64) -> [usize; 3] {
    let first = usize::try_from(n).unwrap_or(usize::MAX);
    let urls = |at: usize| -> HashSet<_> {
        let fetched = pair.get(at).into_iter().flat_map(|entry| &entry.fetched);
        fetched.take(first).map(|fetched| fetched.url).collect()
    };
    let (one, other) = (urls(0), urls(1));
    let both = one.intersection(&other).count();
    [both, one.len() - both, other.len() - both]
}
