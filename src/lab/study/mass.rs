//! How much text stands at each offset, and what the leaves there are (WWW 2002, section 3.5): idioms
//! such as `<a/><br><a/>` put elements without text at odd offsets, which is the saw-tooth.

use std::collections::BTreeMap;

use super::leaps::{Leaf, Leaps};
use super::{Finding, Steps, StudyError, StudySpec, Table};
use crate::features::{D_MAX_MOST, FeatureSpec, LinkVector, offset_of};
use crate::lab::contest::Bench;
use crate::measure::{Axes, Line, line_svg};

/// What stands at one offset of all links.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct At {
    /// Words, by LOW and HIGH targets.
    words: [u64; 2],
    text: u64,
    link: u64,
    empty: u64,
}

impl At {
    fn leaves(self) -> u64 {
        self.text + self.link + self.empty
    }

    fn share(self, of: u64) -> f64 {
        of as f64 / self.leaves().max(1) as f64
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
            "mass_high",
            "mass_low",
            "leaves",
            "text",
            "link",
            "empty",
        ]),
        short: Table::new(&[
            "TOPIC",
            "OFFSET",
            "WORDS, HIGH",
            "WORDS, LOW",
            "TEXT",
            "LINK",
            "EMPTY",
        ]),
        ..Finding::default()
    };
    for (done, leaps) in (1..).zip(&topics) {
        let by_offset = by_offset(leaps);
        let total = |side: usize| by_offset.values().map(|at| at.words[side]).sum::<u64>();
        let totals = [total(0), total(1)];
        let mass = |at: &At, side: usize| at.words[side] as f64 / totals[side].max(1) as f64;
        for (offset, at) in &by_offset {
            let kinds = [at.text, at.link, at.empty].map(|kind| at.share(kind));
            let head = [leaps.topic.clone(), offset.to_string()];
            let masses = [mass(at, 1), mass(at, 0)];
            let mut row = head.to_vec();
            row.extend(masses.map(|mass| format!("{mass:.6}")));
            row.push(at.leaves().to_string());
            row.extend(kinds.map(|share| format!("{share:.4}")));
            finding.data.rows.push(row);
            if offset.abs() <= 6 {
                let mut row = head.to_vec();
                let percent = |share: f64| format!("{:.1} %", 100.0 * share);
                row.extend(masses.map(percent));
                row.extend(kinds.map(percent));
                finding.short.rows.push(row);
            }
        }
        draw(leaps, &by_offset, totals, &mut finding)?;
        steps(done, topics.len() as u64);
    }
    Ok(finding)
}

fn by_offset(leaps: &Leaps) -> BTreeMap<i8, At> {
    let all = FeatureSpec::default();
    let text = all.with_groups(["text"]).unwrap_or(all);
    let text = text.with_d_max(i64::from(D_MAX_MOST)).unwrap_or(text);
    let mut vector = LinkVector::default();
    let mut by_offset: BTreeMap<i8, At> = BTreeMap::new();
    for pair in &leaps.pairs {
        let source = &leaps.sources[pair.source];
        source.sketch.vector(pair.link, &text, &mut vector);
        for key in &vector.keys {
            let at = by_offset.entry(offset_of(*key)).or_default();
            at.words[usize::from(pair.is_high())] += 1;
        }
        let Some(link) = source.sketch.links.get(pair.link) else {
            continue;
        };
        let (first, last) = (link.first_leaf as usize, link.last_leaf as usize);
        let window = D_MAX_MOST.cast_signed();
        let left = (1..=window).zip((0..first).rev());
        let left = left.map(|(distance, leaf)| (-distance, leaf));
        let inside = (first..=last).map(|leaf| (0, leaf));
        let right = (1..=window).zip(last + 1..);
        for (offset, leaf) in left.chain(inside).chain(right) {
            let at = by_offset.entry(offset).or_default();
            match source.leaves.get(leaf) {
                Some(Leaf::Text) => at.text += 1,
                Some(Leaf::Link) => at.link += 1,
                Some(Leaf::Empty) => at.empty += 1,
                None => {}
            }
        }
    }
    by_offset
}

fn draw(
    leaps: &Leaps,
    by_offset: &BTreeMap<i8, At>,
    totals: [u64; 2],
    finding: &mut Finding,
) -> Result<(), StudyError> {
    let line = |name: &str, of: &dyn Fn(&At) -> f64| Line {
        name: name.to_owned(),
        points: by_offset
            .iter()
            .map(|(offset, at)| (f64::from(*offset), of(at)))
            .collect(),
    };
    let mass = |side: usize| move |at: &At| at.words[side] as f64 / totals[side].max(1) as f64;
    let masses = [
        line("to relevant pages", &mass(1)),
        line("to others", &mass(0)),
    ];
    let kinds = [
        line("text", &|at| at.share(at.text)),
        line("text of a link", &|at| at.share(at.link)),
        line("no text", &|at| at.share(at.empty)),
    ];
    let topic = &leaps.topic;
    let pictures = [
        (
            topic.clone(),
            "words around links",
            "share of the words",
            &masses[..],
        ),
        (
            format!("leaves-{topic}"),
            "leaves around links",
            "share of the leaves",
            &kinds[..],
        ),
    ];
    for (name, title, y, lines) in pictures {
        let axes = Axes {
            title: &format!("{topic}: {title}"),
            x: "offset",
            y,
        };
        finding.pictures.push((name, line_svg(&axes, lines)?));
    }
    Ok(())
}
