//! How well links are predicted, by the width of the window (WWW 2002, section 3.4): with offsets
//! accuracy is to rise with `d_max` and to level off; without them, a bag of words, it is to fall.

use rand::seq::SliceRandom;

use super::leaps::{Leaps, Pair};
use super::{Finding, Steps, StudyError, StudySpec, Table, mean, spread};
use crate::apprentice::{DENSE_NAMES, Ftrl, FtrlParams, Instance, Learner, TwoClassBayes};
use crate::clock::chance;
use crate::features::{D_MAX_MOST, FeatureSpec};
use crate::measure::{Axes, Line, line_svg, roc_auc};

/// Splits into training and test, each with another seed.
const SPLITS: u32 = 5;
/// One page in so many is for the test, with all of its links.
const TEST_PAGES: usize = 3;
/// The windows that the short table shows.
const SHOWN: [u8; 6] = [0, 1, 2, 5, 8, 15];
const LEARNERS: [&str; 2] = ["nb", "ftrl"];

/// What was measured on one split.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Score {
    /// Share of the relevant targets that were predicted to be.
    positive: f64,
    /// Share of the others that were predicted not to be.
    negative: f64,
    /// Share of all that were predicted right.
    average: f64,
    auc: f64,
}

pub(super) fn study(
    world: &crate::lab::Bench,
    spec: &StudySpec,
    steps: Steps<'_>,
) -> Result<Finding, StudyError> {
    let topics = Leaps::of_topics(world, spec)?;
    let windows = u64::from(D_MAX_MOST) + 1;
    let total = topics.len() as u64 * windows * 2 * 2;
    let mut done = 0;
    let mut finding = Finding {
        data: Table::new(&[
            "topic", "learner", "offsets", "d_max", "positive", "negative", "average", "auc",
            "auc_min", "auc_max",
        ]),
        short: Table::new(&[
            "TOPIC",
            "LEARNER",
            "OFFSETS",
            "D_MAX",
            "POSITIVE",
            "NEGATIVE",
            "AVERAGE",
            "AUC",
            "(MIN - MAX)",
        ]),
        ..Finding::default()
    };
    for leaps in &topics {
        let mut lines = Lines::default();
        for learner in LEARNERS {
            for offsets in [true, false] {
                for d_max in 0..=D_MAX_MOST {
                    let features = features(d_max, offsets);
                    let scores: Vec<Score> = (0..SPLITS)
                        .map(|split| score(leaps, learner, &features, spec.contest.seed, split))
                        .collect();
                    let row = Row {
                        topic: &leaps.topic,
                        learner,
                        offsets,
                        d_max,
                    };
                    row.add(&scores, &mut finding, &mut lines);
                    done += 1;
                    steps(done, total);
                }
            }
        }
        lines.draw(&leaps.topic, &mut finding)?;
    }
    Ok(finding)
}

/// <t, d> alone, at this width.
fn features(d_max: u8, offsets: bool) -> FeatureSpec {
    let all = FeatureSpec::default();
    let text = all.with_groups(["text"]).unwrap_or(all);
    let text = text.with_d_max(i64::from(d_max)).unwrap_or(text);
    if offsets {
        text
    } else {
        text.without_offsets()
    }
}

struct Row<'a> {
    topic: &'a str,
    learner: &'a str,
    offsets: bool,
    d_max: u8,
}

#[derive(Default)]
struct Lines {
    accuracy: Vec<Line>,
    auc: Vec<Line>,
}

impl Row<'_> {
    fn add(&self, scores: &[Score], finding: &mut Finding, lines: &mut Lines) {
        let of = |part: fn(&Score) -> f64| scores.iter().map(part).collect::<Vec<f64>>();
        let aucs = of(|score| score.auc);
        let means = [
            mean(&of(|score| score.positive)),
            mean(&of(|score| score.negative)),
            mean(&of(|score| score.average)),
            mean(&aucs),
        ];
        let offsets = if self.offsets { "yes" } else { "no" };
        let names = [self.topic, self.learner, offsets].map(str::to_owned);
        let figures = means.map(|mean| format!("{mean:.4}"));
        let least = aucs.iter().copied().fold(1.0, f64::min);
        let greatest = aucs.iter().copied().fold(0.0, f64::max);
        let ends = [least, greatest].map(|auc| format!("{auc:.4}"));
        let start = names.into_iter().chain([self.d_max.to_string()]);
        let start: Vec<String> = start.chain(figures).collect();
        if SHOWN.contains(&self.d_max) {
            let mut row = start.clone();
            row.push(spread(&aucs, 3));
            finding.short.rows.push(row);
        }
        finding
            .data
            .rows
            .push(start.into_iter().chain(ends).collect());
        let how = if self.offsets { "offsets" } else { "bag" };
        let x = f64::from(self.d_max);
        let parts = ["positive", "negative", "average"];
        if self.learner == LEARNERS[0] {
            for (part, mean) in parts.iter().zip(means) {
                push(&mut lines.accuracy, format!("{part}, {how}"), x, mean);
            }
        }
        push(
            &mut lines.auc,
            format!("{}, {how}", self.learner),
            x,
            means[3],
        );
    }
}

/// Adds a point to the line of this name.
fn push(lines: &mut Vec<Line>, name: String, x: f64, y: f64) {
    match lines.iter_mut().find(|line| line.name == name) {
        Some(line) => line.points.push((x, y)),
        None => lines.push(Line {
            name,
            points: vec![(x, y)],
        }),
    }
}

impl Lines {
    fn draw(&self, topic: &str, finding: &mut Finding) -> Result<(), StudyError> {
        let pictures = [
            ("accuracy of naive Bayes", "share right", &self.accuracy, ""),
            ("AUC of predicted links", "AUC", &self.auc, "auc-"),
        ];
        for (what, y, lines, prefix) in pictures {
            let axes = Axes {
                title: &format!("{topic}: {what}"),
                x: "d_max",
                y,
            };
            let svg = line_svg(&axes, lines)?;
            finding.pictures.push((format!("{prefix}{topic}"), svg));
        }
        Ok(())
    }
}

/// Trains on two thirds of the pages and predicts the links of the others.
fn score(leaps: &Leaps, name: &str, features: &FeatureSpec, seed: u64, split: u32) -> Score {
    let mut pages: Vec<usize> = (0..leaps.sources.len()).collect();
    pages.shuffle(&mut chance(seed, &format!("split {split}")));
    let mut is_test = vec![false; pages.len()];
    for page in pages.iter().take(pages.len() / TEST_PAGES) {
        is_test[*page] = true;
    }
    let (test, train): (Vec<Pair>, Vec<Pair>) =
        leaps.pairs.iter().partition(|pair| is_test[pair.source]);
    let mut learner: Box<dyn Learner> = if name == LEARNERS[0] {
        Box::new(TwoClassBayes::new())
    } else {
        Box::new(Ftrl::new(FtrlParams {
            bits: 20,
            ..FtrlParams::default()
        }))
    };
    let mut instance = Instance::default();
    // The dense features stay 0, but for the one that is always 1.
    if let Some(bias) = DENSE_NAMES.iter().position(|name| *name == "bias") {
        instance.dense[bias] = 1.0;
    }
    for pair in &train {
        let sketch = &leaps.sources[pair.source].sketch;
        sketch.vector(pair.link, features, &mut instance.vector);
        learner.learn(&instance, pair.relevance, 1.0);
    }
    learner.publish();
    let predicted = test.iter().map(|pair| {
        let sketch = &leaps.sources[pair.source].sketch;
        sketch.vector(pair.link, features, &mut instance.vector);
        (learner.predict(&instance), pair.is_high())
    });
    of_predictions(predicted.collect())
}

fn of_predictions(mut predicted: Vec<(f32, bool)>) -> Score {
    let count = |test: &dyn Fn(&(f32, bool)) -> bool| {
        predicted.iter().filter(|one| test(one)).count() as f64
    };
    let (positives, negatives) = (count(&|one| one.1), count(&|one| !one.1));
    let right = (
        count(&|one| one.1 && one.0 > 0.0),
        count(&|one| !one.1 && one.0 <= 0.0),
    );
    Score {
        positive: right.0 / positives.max(1.0),
        negative: right.1 / negatives.max(1.0),
        average: (right.0 + right.1) / (positives + negatives).max(1.0),
        // A half says nothing, as nothing does.
        auc: roc_auc(&mut predicted).unwrap_or(0.5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_are_counted_by_side() {
        // Worked by hand: 2 of 3 relevant ones and 1 of 2 others are on the right side of 0.
        let predicted = vec![
            (2.0, true),
            (1.0, true),
            (-1.0, true),
            (0.5, false),
            (-2.0, false),
        ];
        let score = of_predictions(predicted);
        assert!((score.positive - 2.0 / 3.0).abs() < 1e-9);
        assert!((score.negative - 0.5).abs() < 1e-9);
        assert!((score.average - 0.6).abs() < 1e-9);
        // Of the 6 pairs (2, 1, -1) against (0.5, -2) all but (-1, 0.5) are in order.
        assert!((score.auc - 5.0 / 6.0).abs() < 1e-9);
    }

    #[test]
    fn ties_count_half_and_one_side_alone_says_nothing() {
        assert!((of_predictions(vec![(1.0, true)]).auc - 0.5).abs() < 1e-9);
    }
}
