//! What a term tells about the target, by its offset (WWW 2002, section 3.5): the gain is to be
//! greatest at 0, to fall on both sides, and to show a saw-tooth.

use std::collections::BTreeMap;

use super::leaps::Leaps;
use super::{Finding, Steps, StudyError, StudySpec, Table};
use crate::features::{D_MAX_MOST, FeatureSpec, Key, LinkVector, offset_of};
use crate::lab::contest::Bench;
use crate::measure::{Axes, Line, line_svg};

/// A feature that fewer links have says nothing that would last.
const LINKS_MIN: u64 = 5;

/// The gains of all terms at one offset, in bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Gains {
    terms: u64,
    sum: f64,
    max: f64,
}

impl Gains {
    fn mean(self) -> f64 {
        self.sum / self.terms.max(1) as f64
    }
}

pub(super) fn study(
    world: &Bench,
    spec: &StudySpec,
    steps: Steps<'_>,
) -> Result<Finding, StudyError> {
    let topics = Leaps::of_topics(world, spec)?;
    let mut finding = Finding {
        data: Table::new(&[
            "topic",
            "offset",
            "terms",
            "mean_bits",
            "max_bits",
            "sum_bits",
        ]),
        short: Table::new(&[
            "TOPIC",
            "OFFSET",
            "TERMS",
            "MEAN GAIN, 1/1000 BIT",
            "SUM, BIT",
        ]),
        ..Finding::default()
    };
    for (done, leaps) in (1..).zip(&topics) {
        let gains = gains(leaps);
        for (offset, gains) in &gains {
            finding.data.rows.push(vec![
                leaps.topic.clone(),
                offset.to_string(),
                gains.terms.to_string(),
                format!("{:.7}", gains.mean()),
                format!("{:.7}", gains.max),
                format!("{:.7}", gains.sum),
            ]);
            if offset.abs() <= 6 {
                finding.short.rows.push(vec![
                    leaps.topic.clone(),
                    offset.to_string(),
                    gains.terms.to_string(),
                    format!("{:.3}", 1000.0 * gains.mean()),
                    format!("{:.2}", gains.sum),
                ]);
            }
        }
        let svg = picture(&leaps.topic, &gains)?;
        finding.pictures.push((leaps.topic.clone(), svg));
        steps(done, topics.len() as u64);
    }
    Ok(finding)
}

fn gains(leaps: &Leaps) -> BTreeMap<i8, Gains> {
    let all = FeatureSpec::default();
    let text = all.with_groups(["text"]).unwrap_or(all);
    let text = text.with_d_max(i64::from(D_MAX_MOST)).unwrap_or(text);
    let mut vector = LinkVector::default();
    // Links with the feature, by LOW and HIGH.
    let mut seen: BTreeMap<Key, [u64; 2]> = BTreeMap::new();
    let mut links = [0_u64; 2];
    for pair in &leaps.pairs {
        let side = usize::from(pair.is_high());
        links[side] += 1;
        let sketch = &leaps.sources[pair.source].sketch;
        sketch.vector(pair.link, &text, &mut vector);
        vector.keys.sort_unstable();
        vector.keys.dedup();
        for key in &vector.keys {
            seen.entry(*key).or_default()[side] += 1;
        }
    }
    let mut gains: BTreeMap<i8, Gains> = BTreeMap::new();
    for (key, with) in seen {
        if with[0] + with[1] >= LINKS_MIN {
            let gain = information(with, links);
            let at = gains.entry(offset_of(key)).or_default();
            at.terms += 1;
            at.sum += gain;
            at.max = at.max.max(gain);
        }
    }
    gains
}

/// I(label; feature there or not) in bits; `with` of the `all` links of each label have the feature.
fn information(with: [u64; 2], all: [u64; 2]) -> f64 {
    let total = (all[0] + all[1]) as f64;
    let without = [all[0] - with[0], all[1] - with[1]];
    let mut bits = 0.0;
    for cells in [with, without] {
        let row = (cells[0] + cells[1]) as f64;
        for (cell, column) in cells.iter().zip(all) {
            if *cell > 0 {
                let cell = *cell as f64;
                bits += cell / total * (cell * total / (row * column as f64)).log2();
            }
        }
    }
    bits.max(0.0)
}

fn picture(topic: &str, gains: &BTreeMap<i8, Gains>) -> Result<String, StudyError> {
    let line = |name: &str, of: fn(Gains) -> f64| {
        let points = gains.iter();
        Line {
            name: name.to_owned(),
            points: points
                .map(|(offset, gains)| (f64::from(*offset), of(*gains)))
                .collect(),
        }
    };
    let axes = Axes {
        title: &format!("{topic}: information gain of <term, offset>"),
        x: "offset",
        y: "bits, mean of the terms",
    };
    Ok(line_svg(&axes, &[line("mean of the terms", Gains::mean)])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_that_tells_all_gains_the_entropy_and_one_that_tells_nothing_gains_none() {
        // 4 and 4 links: one bit.
        assert!((information([0, 4], [4, 4]) - 1.0).abs() < 1e-12);
        assert!(information([2, 2], [4, 4]) < 1e-12);
        // By hand: with (1 LOW, 3 HIGH), without (3, 1): 1 - H(1/4) = 1 - 0.8113.
        assert!((information([1, 3], [4, 4]) - 0.188_72).abs() < 1e-4);
    }
}
