//! Which pages are held out.

use rand::seq::SliceRandom;

use crate::clock::chance;

/// For each position its fold, 0 to `folds` - 1, spread evenly within each class.
///
/// `classes` holds the class of each position. A class of fewer documents than folds is missing in
/// some. The same seed gives the same folds.
pub(super) fn folds(classes: &[u16], folds: usize, seed: u64) -> Vec<usize> {
    let mut fold = vec![0; classes.len()];
    let mut next = 0;
    for members in shuffled_classes(classes, seed) {
        for member in members {
            fold[member] = next % folds.max(1);
            // Going on where the last class ended keeps small classes out of one and the same fold.
            next += 1;
        }
    }
    fold
}

/// For each position whether it is held out: of each class about `share`, at least one if it has
/// two documents, and never all.
pub(super) fn held_out(classes: &[u16], share: f64, seed: u64) -> Vec<bool> {
    let mut out = vec![false; classes.len()];
    for members in shuffled_classes(classes, seed) {
        let n = members.len();
        let wanted = (1..n).min_by(|a, b| {
            let off = |k: &usize| (*k as f64 - share * n as f64).abs();
            off(a).total_cmp(&off(b))
        });
        for member in members.into_iter().take(wanted.unwrap_or(0)) {
            out[member] = true;
        }
    }
    out
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
        let out = held_out(&classes, 0.2, 7);
        let of = |class| {
            let all = out.iter().zip(&classes);
            all.filter(|(out, c)| **out && **c == class).count()
        };
        assert_eq!([of(0), of(1), of(2)], [2, 1, 0]);
        assert_eq!(out, held_out(&classes, 0.2, 7));
        assert_ne!(out, held_out(&classes, 0.2, 8));
    }

    #[test]
    fn folds_of_a_class_are_of_equal_size() {
        let classes = [0, 1].repeat(50);
        let folds = folds(&classes, 5, 1);
        for class in 0..2 {
            for fold in 0..5 {
                let all = folds.iter().zip(&classes);
                let size = all.filter(|(f, c)| **f == fold && **c == class).count();
                assert_eq!(size, 10);
            }
        }
    }
}
