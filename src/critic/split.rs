//! Which pages are held out.

use std::collections::HashMap;

use rand::seq::SliceRandom;

use crate::clock::chance;
use crate::critic::sparse::index;

/// For each position its fold, 0 to `folds` - 1, spread evenly within each class.
///
/// `classes` holds the class of each position. A class of fewer documents than folds is missing in
/// some. Positions that hold one and the same page (see [`Twins`]) share a fold: who has learned a
/// page under another topic is no judge of it. The same seed gives the same folds.
pub(super) fn folds(classes: &[u16], twins: &Twins, folds: usize, seed: u64) -> Vec<usize> {
    let mut fold = vec![0; classes.len()];
    let mut next = 0;
    let mut of_twins: HashMap<u32, usize> = HashMap::new();
    for members in shuffled_classes(classes, seed) {
        for member in members {
            let mine = next % folds.max(1);
            fold[member] = match twins.group_of(member) {
                Some(group) => *of_twins.entry(group).or_insert(mine),
                None => mine,
            };
            // Going on where the last class ended keeps small classes out of one and the same fold.
            next += 1;
        }
    }
    fold
}

/// For each position whether it is held out: of each class about `share`, at least one if it has
/// two documents, and never all. Positions that hold one and the same page go the same way, as far as
/// that leaves each class a document.
pub(super) fn held_out(classes: &[u16], twins: &Twins, share: f64, seed: u64) -> Vec<bool> {
    let mut out = vec![false; classes.len()];
    let mut of_twins: HashMap<u32, bool> = HashMap::new();
    for members in shuffled_classes(classes, seed) {
        let n = members.len();
        let wanted = (1..n).min_by(|a, b| {
            let off = |k: &usize| (*k as f64 - share * n as f64).abs();
            off(a).total_cmp(&off(b))
        });
        let decided = |member: &usize| {
            let group = twins.group_of(*member)?;
            of_twins.get(&group).copied()
        };
        let (followers, free): (Vec<usize>, Vec<usize>) = members
            .into_iter()
            .partition(|member| decided(member).is_some());
        let (leaving, staying): (Vec<usize>, Vec<usize>) = followers
            .into_iter()
            .partition(|member| decided(member) == Some(true));
        let most = n.saturating_sub(1);
        let leaving = leaving.into_iter().take(most).collect::<Vec<_>>();
        let missing = wanted.unwrap_or(0).saturating_sub(leaving.len());
        let (more, rest) = free.split_at(missing.min(free.len()));
        for member in leaving.iter().chain(more) {
            out[*member] = true;
        }
        for member in more.iter().chain(rest).chain(&staying) {
            if let Some(group) = twins.group_of(*member) {
                of_twins.entry(group).or_insert(out[*member]);
            }
        }
    }
    out
}

/// Which positions hold one and the same page, under several topics.
#[derive(Debug, Default)]
pub(super) struct Twins(HashMap<usize, u32>);

impl Twins {
    /// Of pages as (class, address).
    pub(super) fn of<'a>(pages: impl Iterator<Item = (u16, &'a str)>) -> Self {
        let mut first: HashMap<&str, (usize, u16)> = HashMap::new();
        let mut groups = HashMap::new();
        for (position, (class, url)) in pages.enumerate() {
            let (twin, of_class) = *first.entry(url).or_insert((position, class));
            if of_class != class {
                let group = index(twin);
                groups.insert(twin, group);
                groups.insert(position, group);
            }
        }
        Self(groups)
    }

    fn group_of(&self, position: usize) -> Option<u32> {
        self.0.get(&position).copied()
    }
}

/// The positions of each class, classes in order, positions shuffled.
fn shuffled_classes(classes: &[u16], seed: u64) -> Vec<Vec<usize>> {
    let count = classes
        .iter()
        .max()
        .map_or(0, |class| usize::from(*class) + 1);
    let mut members = vec![Vec::new(); count];
    for (position, class) in classes.iter().enumerate() {
        members[usize::from(*class)].push(position);
    }
    let mut chance = chance(seed, "critic/held-out");
    for positions in &mut members {
        positions.shuffle(&mut chance);
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_gives_its_share_and_keeps_at_least_one() {
        let classes: Vec<u16> = [vec![0; 10], vec![1; 2], vec![2; 1]].concat();
        let out = held_out(&classes, &Twins::default(), 0.2, 7);
        let of = |class| {
            let all = out.iter().zip(&classes);
            all.filter(|(out, c)| **out && **c == class).count()
        };
        assert_eq!([of(0), of(1), of(2)], [2, 1, 0]);
        assert_eq!(out, held_out(&classes, &Twins::default(), 0.2, 7));
        assert_ne!(out, held_out(&classes, &Twins::default(), 0.2, 8));
    }

    #[test]
    fn folds_of_a_class_are_of_equal_size() {
        let classes = [0, 1].repeat(50);
        let folds = folds(&classes, &Twins::default(), 5, 1);
        for class in 0..2 {
            for fold in 0..5 {
                let all = folds.iter().zip(&classes);
                let size = all.filter(|(f, c)| **f == fold && **c == class).count();
                assert_eq!(size, 10);
            }
        }
    }

    #[test]
    fn a_page_under_two_topics_is_on_one_side() {
        let pages: Vec<(u16, String)> = (0..40)
            .map(|number| (number / 20, format!("http://h/{}", number % 30)))
            .collect();
        let classes: Vec<u16> = pages.iter().map(|(class, _)| *class).collect();
        let twins = Twins::of(pages.iter().map(|(class, url)| (*class, url.as_str())));
        let out = held_out(&classes, &twins, 0.2, 5);
        let folds = folds(&classes, &twins, 5, 5);
        // Positions 0 to 9 are the pages of positions 30 to 39.
        for position in 0..10 {
            assert_eq!(out[position], out[position + 30]);
            assert_eq!(folds[position], folds[position + 30]);
        }
        assert_eq!(out.iter().filter(|out| **out).count(), 8);
    }
}
