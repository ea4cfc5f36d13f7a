//! Two crawlers on the same topics and seeds: who lost less, by how much, and how sure that is.

use rand::RngExt;

use crate::clock::Chance;

/// Resamples of a bootstrap.
const RESAMPLES: usize = 10_000;
/// The interval holds so much of them.
const CONFIDENCE: f64 = 0.95;
/// Losses that differ by no more than a page are the same.
pub(in crate::lab) const TIE_WITHIN: f64 = 1.0;

/// Where something lies with a confidence of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// One crawler against another, over topics and seed sets.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Paired {
    /// Pairs of crawls from the same seeds.
    pub pairs: usize,
    /// Topics that they are of.
    pub topics: usize,
    /// What the one has less what the other has: the mean over topics of the mean over seed sets.
    pub difference: f64,
    /// Its interval; `None` for a single pair.
    pub difference_in: Option<Interval>,
    /// 1 - the one's mean / the other's; `None` if the other's is 0.
    pub cut: Option<f64>,
    /// Its interval.
    pub cut_in: Option<Interval>,
    /// Pairs in which the one has less by more than what counts as a tie.
    pub wins: usize,
    /// Pairs that are a tie.
    pub ties: usize,
    /// Pairs in which it has more.
    pub losses: usize,
}

/// Compares pairs (the one's, the other's; less is better), which are grouped by topic.
///
/// The intervals are those of a bootstrap in two levels: topics are drawn with replacement, then seed sets
/// within each (percentiles of 10,000 resamples). With one topic they speak of that topic alone. `None`
/// without pairs.
pub fn paired(groups: &[Vec<(f64, f64)>], tie_within: f64, luck: &mut Chance) -> Option<Paired> {
    let groups: Vec<&Vec<(f64, f64)>> = groups.iter().filter(|group| !group.is_empty()).collect();
    let pairs: usize = groups.iter().map(|group| group.len()).sum();
    if pairs == 0 {
        return None;
    }
    let (one, other) = mean_of_means(groups.iter().map(|group| mean(group.iter().copied())));
    let (mut differences, mut cuts) = (Vec::new(), Vec::new());
    for _ in 0..if pairs > 1 { RESAMPLES } else { 0 } {
        let drawn = (0..groups.len()).map(|_| {
            let group = groups[luck.random_range(0..groups.len())];
            mean((0..group.len()).map(|_| group[luck.random_range(0..group.len())]))
        });
        let (one, other) = mean_of_means(drawn);
        differences.push(one - other);
        cuts.extend(cut(one, other));
    }
    let all = groups.iter().copied().flatten();
    let wins = all.clone().filter(|(one, other)| other - one > tie_within);
    let losses = all.filter(|(one, other)| one - other > tie_within);
    let (wins, losses) = (wins.count(), losses.count());
    Some(Paired {
        pairs,
        topics: groups.len(),
        difference: one - other,
        difference_in: interval(differences),
        cut: cut(one, other),
        cut_in: interval(cuts),
        wins,
        ties: pairs - wins - losses,
        losses,
    })
}

fn cut(one: f64, other: f64) -> Option<f64> {
    (other > 0.0).then(|| 1.0 - one / other)
}

fn mean(pairs: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let (mut count, mut one, mut other) = (0.0_f64, 0.0, 0.0);
    for pair in pairs {
        count += 1.0;
        one += pair.0;
        other += pair.1;
    }
    (one / count.max(1.0), other / count.max(1.0))
}

/// Every topic counts the same, however many pairs it has.
fn mean_of_means(means: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    mean(means)
}

/// The middle of the values; `None` without any.
fn interval(mut values: Vec<f64>) -> Option<Interval> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let at = |share: f64| {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share in [0, 1] of the number of resamples"
        )]
        let place = (share * last as f64).round() as usize;
        values.get(place).copied()
    };
    Some(Interval {
        low: at((1.0 - CONFIDENCE) / 2.0)?,
        high: at(f64::midpoint(1.0, CONFIDENCE))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::chance;

    fn compare(groups: &[Vec<(f64, f64)>]) -> Option<Paired> {
        paired(groups, TIE_WITHIN, &mut chance(1, "test"))
    }

    #[test]
    fn every_topic_counts_the_same() {
        // By hand: topic means 15 against 20 and 30 against 30: 22.5 against 25.
        let groups = [vec![(10.0, 20.0), (20.0, 20.0)], vec![(30.0, 30.0)]];
        let found = compare(&groups).unwrap();
        assert_eq!((found.pairs, found.topics), (3, 2));
        assert!((found.difference + 2.5).abs() < 1e-12);
        assert!((found.cut.unwrap() - 0.1).abs() < 1e-12);
        assert_eq!((found.wins, found.ties, found.losses), (1, 2, 0));
        let reach = found.difference_in.unwrap();
        // Nothing that can be drawn lies outside of the least and the greatest topic.
        assert!(
            reach.low >= -10.0 && reach.high <= 0.0 && reach.low <= -2.5,
            "{reach:?}"
        );
    }

    #[test]
    fn the_interval_is_that_of_the_normal_law_where_that_holds() {
        // One topic of 400 pairs, differences -1 and 1 by turns: the mean's deviation is 1/20.
        let pairs = (0..400).map(|at| (if at % 2 == 0 { 11.0 } else { 9.0 }, 10.0));
        let found = compare(&[pairs.collect()]).unwrap();
        let reach = found.difference_in.unwrap();
        for end in [reach.low, reach.high] {
            assert!((end.abs() - 1.96 / 20.0).abs() < 0.01, "{reach:?}");
        }
    }

    #[test]
    fn a_single_pair_has_no_interval_and_no_pair_is_no_comparison() {
        let found = compare(&[vec![(5.0, 0.0)], Vec::new()]).unwrap();
        assert_eq!(
            (found.difference_in, found.cut, found.losses),
            (None, None, 1)
        );
        assert_eq!(compare(&[Vec::new()]), None);
        assert_eq!(compare(&[]), None);
    }

    #[test]
    fn the_same_chance_gives_the_same_interval() {
        let groups = [vec![(1.0, 2.0), (3.0, 9.0), (4.0, 4.0)], vec![(2.0, 0.0)]];
        assert_eq!(compare(&groups), compare(&groups));
    }
}
