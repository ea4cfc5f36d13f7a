//! How R(v) is distributed (WWW 2002, section 3.4): naive Bayes says 0 or 1, whatever the page; the
//! calibrated relevance is to lie between.

use super::{Finding, Steps, StudyError, StudySpec, Table, first_alone};
use crate::booking::Event;
use crate::critic::relevance_of;
use crate::lab::contest::{Bench, jobs};
use crate::lab::replay::crawl;
use crate::measure::{Axes, Line, line_svg};

/// Bins of equal width.
const BINS: usize = 20;

pub(super) fn study(
    world: &Bench,
    spec: &StudySpec,
    steps: Steps<'_>,
) -> Result<Finding, StudyError> {
    let contest = first_alone(&spec.contest);
    let jobs = jobs(world, &contest)?;
    let mut finding = Finding {
        data: Table::new(&["topic", "from", "to", "raw", "calibrated"]),
        short: Table::new(&["TOPIC", "R", "PAGES", "< 0.05", "0.05 - 0.95", ">= 0.95"]),
        ..Finding::default()
    };
    for (done, job) in (1..).zip(&jobs) {
        let (mut raw, mut calibrated) = ([0_u64; BINS], [0_u64; BINS]);
        crawl(world, &contest, job, None)?.scan(|event| {
            if let Event::Page(page) = event {
                let judgement = &page.judgement;
                raw[bin(relevance_of(judgement.log_odds))] += 1;
                calibrated[bin(relevance_of(judgement.calibrated_log_odds))] += 1;
            }
        })?;
        for (at, (raw, calibrated)) in raw.iter().zip(calibrated).enumerate() {
            let edge = |at: usize| format!("{:.2}", at as f64 / BINS as f64);
            finding.data.rows.push(vec![
                job.topic.clone(),
                edge(at),
                edge(at + 1),
                raw.to_string(),
                calibrated.to_string(),
            ]);
        }
        for (name, bins) in [("raw", &raw), ("calibrated", &calibrated)] {
            finding.short.rows.push(short(&job.topic, name, bins));
        }
        let svg = picture(&job.topic, &raw, &calibrated)?;
        finding.pictures.push((job.topic.clone(), svg));
        steps(done, jobs.len() as u64);
    }
    Ok(finding)
}

/// The bin that a relevance falls into; 1 falls into the last.
fn bin(relevance: f64) -> usize {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a relevance lies in [0, 1]"
    )]
    let bin = (relevance * BINS as f64) as usize;
    bin.min(BINS - 1)
}

fn short(topic: &str, name: &str, bins: &[u64; BINS]) -> Vec<String> {
    let all: u64 = bins.iter().sum();
    let share = |pages: u64| format!("{:.1} %", 100.0 * pages as f64 / all.max(1) as f64);
    let (low, high) = (bins[0], bins[BINS - 1]);
    vec![
        topic.to_owned(),
        name.to_owned(),
        all.to_string(),
        share(low),
        share(all - low - high),
        share(high),
    ]
}

fn picture(topic: &str, raw: &[u64; BINS], calibrated: &[u64; BINS]) -> Result<String, StudyError> {
    let line = |name: &str, bins: &[u64; BINS]| {
        let points = bins.iter().enumerate();
        Line {
            name: name.to_owned(),
            points: points
                .map(|(at, pages)| {
                    let middle = (at as f64 + 0.5) / BINS as f64;
                    (middle, (*pages as f64 + 1.0).log10())
                })
                .collect(),
        }
    };
    let axes = Axes {
        title: &format!("{topic}: pages by relevance"),
        x: "R(v)",
        y: "log10 (pages + 1)",
    };
    let lines = [line("raw", raw), line("calibrated", calibrated)];
    Ok(line_svg(&axes, &lines)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_of_equal_width_and_hold_both_ends() {
        assert_eq!([bin(0.0), bin(0.049), bin(0.051), bin(1.0)], [0, 0, 1, 19]);
    }
}
