//! What each group of features is worth: the loss of an apprentice without it, seed set by seed set.

use super::recall::mean_curve;
use super::{Finding, Steps, StudyError, StudySpec, Table, contest, mean, spread};
use crate::lab::contest::{Bench, ContestSpec};
use crate::lab::replay::Entry;
use crate::measure::{LossCurve, NamedCurve, SVG_CURVES_MAX, loss_svg};

pub(super) fn study(
    world: &Bench,
    spec: &StudySpec,
    steps: Steps<'_>,
) -> Result<Finding, StudyError> {
    let [_, second] = &spec.contest.crawlers[..] else {
        return Err(StudyError::TwoCrawlers);
    };
    let Some(features) = second.order().features() else {
        return Err(StudyError::NoApprentice(second.name().into_owned()));
    };
    // Of those that the apprentice is told to look at.
    let told = spec.contest.apprentice.clone().unwrap_or_default();
    let mut groups = features.groups();
    groups.retain(|group| {
        let is_told = told.features.is_empty() || told.features.iter().any(|name| name == group);
        is_told && !told.without.iter().any(|name| name == group)
    });
    let whole = ContestSpec {
        crawlers: vec![second.clone()],
        ..spec.contest.clone()
    };
    let crawls = whole.topics.len() as u64 * u64::from(whole.seed_sets);
    let total = crawls * (groups.len() as u64 + 1);
    let all = contest(world, &whole, &|done| steps(done, total))?;
    let mut without = Vec::new();
    for (round, group) in (1..).zip(&groups) {
        let mut spec = whole.clone();
        let told = spec.apprentice.get_or_insert_default();
        told.without.push((*group).to_owned());
        let entries = contest(world, &spec, &|done| steps(round * crawls + done, total))?;
        without.push((*group, entries));
    }
    let mut finding = Finding {
        data: Table::new(&["topic", "without", "seed_set", "n", "loss", "loss_with_all"]),
        short: Table::new(&[
            "TOPIC",
            "WITHOUT",
            "LOSS",
            "LOST MORE THAN WITH ALL",
            "(MIN - MAX)",
        ]),
        ..Finding::default()
    };
    for topic in &spec.contest.topics {
        one_topic(topic, &all, &without, &mut finding)?;
    }
    Ok(finding)
}

fn one_topic(
    topic: &str,
    all: &[Entry],
    without: &[(&str, Vec<Entry>)],
    finding: &mut Finding,
) -> Result<(), StudyError> {
    let of = |entries: &[Entry]| -> Vec<LossCurve> {
        let mine = entries.iter().filter(|entry| entry.topic == topic);
        mine.map(|entry| entry.curve().clone()).collect()
    };
    let whole = of(all);
    let losses: Vec<f64> = whole.iter().map(LossCurve::loss).collect();
    finding.short.rows.push(vec![
        topic.to_owned(),
        "(nothing)".to_owned(),
        format!("{:.1}", mean(&losses)),
        String::new(),
        String::new(),
    ]);
    let mut drawn: Vec<(f64, NamedCurve)> = Vec::new();
    for (group, entries) in without {
        let curves = of(entries);
        let mut more = Vec::new();
        for (seed_set, (curve, whole)) in curves.iter().zip(&whole).enumerate() {
            // Where one of them ran out of links both are taken as far as it came.
            let n = curve.n().min(whole.n());
            let loss = |curve: &LossCurve| curve.at(n).map_or(0.0, |point| point.loss);
            more.push(loss(curve) - loss(whole));
            finding.data.rows.push(vec![
                topic.to_owned(),
                (*group).to_owned(),
                seed_set.to_string(),
                n.to_string(),
                format!("{:.4}", loss(curve)),
                format!("{:.4}", loss(whole)),
            ]);
        }
        let losses: Vec<f64> = curves.iter().map(LossCurve::loss).collect();
        finding.short.rows.push(vec![
            topic.to_owned(),
            (*group).to_owned(),
            format!("{:.1}", mean(&losses)),
            format!("{:+.1}", mean(&more)),
            spread(&more, 1),
        ]);
        drawn.push((
            mean(&more).abs(),
            mean_curve(&format!("without {group}"), &curves),
        ));
    }
    // As many as a picture can hold, those that change most.
    drawn.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut curves = vec![mean_curve("all", &whole)];
    curves.extend(drawn.into_iter().map(|(_, curve)| curve));
    curves.retain(|curve| curve.points.len() > 1);
    curves.truncate(SVG_CURVES_MAX);
    let svg = loss_svg(&format!("{topic}: without a group of features"), &curves)?;
    finding.pictures.push((topic.to_owned(), svg));
    Ok(())
}
