//! The curves of a report: what many crawls of one crawler lost, on average.

use std::collections::BTreeMap;

use super::html::Curve;
use super::replay::Entry;

/// Points of a curve, about.
const POINTS: u64 = 150;

/// The mean curve of each crawler: over topics of the mean over seed sets, as far as all its crawls
/// come.
pub(super) fn mean_curves(entries: &[Entry]) -> Vec<Curve> {
    let mut groups: Vec<(String, BTreeMap<&str, Vec<&Entry>>)> = Vec::new();
    for entry in entries {
        let name = entry.crawler.name();
        let known = groups.iter().position(|(known, _)| *known == name);
        let at = known.unwrap_or(groups.len());
        if known.is_none() {
            groups.push((name.into_owned(), BTreeMap::new()));
        }
        let topics = &mut groups[at].1;
        topics.entry(&entry.topic).or_default().push(entry);
    }
    let longest = entries
        .iter()
        .map(|entry| entry.curve().n())
        .max()
        .unwrap_or(0);
    let step = longest.div_ceil(POINTS).max(1);
    let curve = |(name, topics): (String, BTreeMap<&str, Vec<&Entry>>)| {
        let all = topics.values().flatten();
        let shortest = all.map(|entry| entry.curve().n()).min().unwrap_or(0);
        let mut sums: BTreeMap<u64, f64> = BTreeMap::new();
        for group in topics.values() {
            let weight = 1.0 / (group.len() * topics.len()) as f64;
            for entry in group {
                let points = entry.curve().points(0).into_iter();
                for point in points.take_while(|point| point.n <= shortest) {
                    if point.n.is_multiple_of(step) || point.n == shortest {
                        *sums.entry(point.n).or_default() += weight * point.loss;
                    }
                }
            }
        }
        let points = sums.into_iter().map(|(n, loss)| (n as f64, loss));
        Curve {
            name,
            points: std::iter::once((0.0, 0.0)).chain(points).collect(),
        }
    };
    groups.into_iter().map(curve).collect()
}
