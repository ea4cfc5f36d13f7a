//! Crawlers of graphs in pairs: who found more from the same seeds, and how sure that is.

use super::contest::{GraphContest, GraphEntry};
use super::report::{Found, in_order};
use crate::clock::chance;
use crate::lab::measures::{Interval, paired};

/// Crawls that differ by no more than this share of what the oracle finds are the same.
pub(super) const TIE_WITHIN: f64 = 0.01;

/// One crawler against another after n nodes.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct GraphDuel {
    /// The one.
    pub crawler: String,
    /// The other.
    pub against: String,
    /// Nodes fetched.
    pub n: u64,
    /// Graphs on which both were run and the oracle found something.
    pub graphs: usize,
    /// Pairs of crawls from the same seeds.
    pub pairs: usize,
    /// How much more the one has, as a share of the oracle's score: the mean over graphs of the mean over
    /// seed sets; below 0 if it has less.
    pub difference: f64,
    /// Its interval of 95 %: a bootstrap over graphs and seed sets; `None` for a single pair.
    pub difference_in: Option<Interval>,
    /// The one's mean score by the other's, less 1; `None` if the other found nothing.
    pub gain: Option<f64>,
    /// Its interval.
    pub gain_in: Option<Interval>,
    /// Pairs in which the one found more, by over a hundredth of the oracle's mean score on the graph.
    pub wins: usize,
    /// Pairs that are a tie.
    pub ties: usize,
    /// Pairs in which it found less.
    pub losses: usize,
}

/// Every crawler against `against` at each of the contest's shown points, and each against each at the
/// last of them.
pub fn graph_duels(
    contest: &GraphContest,
    entries: &[GraphEntry],
    against: &str,
) -> Vec<GraphDuel> {
    let found = Found::of(contest, entries);
    let names = in_order(entries.iter().map(|entry| entry.crawler.as_str()));
    let points = contest.shown_points();
    let mut duels = Vec::new();
    for n in &points {
        for one in &names {
            let others = names.iter().filter(|other| *other != one);
            let asked = others.filter(|other| **other == against || Some(n) == points.last());
            duels.extend(asked.filter_map(|other| duel(&found, contest, one, other, *n)));
        }
    }
    duels
}

fn duel(
    found: &Found<'_>,
    contest: &GraphContest,
    one: &str,
    other: &str,
    n: u64,
) -> Option<GraphDuel> {
    let groups: Vec<Vec<(f64, f64)>> = found
        .graphs()
        .iter()
        .filter_map(|graph| {
            let of_oracle = found.oracle_mean(graph, n)?;
            let pairs = found.pairs(graph, one, other, n);
            let shares = pairs.map(|(one, other)| (one / of_oracle, other / of_oracle));
            Some(shares.collect())
        })
        .collect();
    let mut luck = chance(
        contest.seed,
        &format!("graphs: {one} against {other} at {n}"),
    );
    let pair = paired(&groups, TIE_WITHIN, &mut luck)?;
    // There less is better; here more is.
    let turned = |reach: Interval| Interval {
        low: -reach.high,
        high: -reach.low,
    };
    Some(GraphDuel {
        crawler: one.to_owned(),
        against: other.to_owned(),
        n,
        graphs: pair.topics,
        pairs: pair.pairs,
        difference: pair.difference,
        difference_in: pair.difference_in,
        gain: pair.cut.map(|cut| -cut),
        gain_in: pair.cut_in.map(turned),
        wins: pair.losses,
        ties: pair.ties,
        losses: pair.wins,
    })
}
