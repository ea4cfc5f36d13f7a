//! Power cuts: of the step that was under way any sector may be old or new, in whatever order; the steps
//! before it were synced, those after it had not begun.

use rand::RngExt;

use super::torn::{files, torn};
use super::*;
use crate::clock::{Chance, chance};

/// Cuts in each step of each group.
const CUTS: usize = 4;

/// The steps of a flush (docs/store.md), by the files that each one writes.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Step {
    Payloads,
    Records,
    Mark,
}

fn step_of(name: &Path) -> Step {
    if name.extension().is_some_and(|ext| ext == "seg") {
        Step::Payloads
    } else if name.starts_with("sled") {
        Step::Records
    } else {
        Step::Mark
    }
}

/// Makes of `cut` what a power cut leaves in the middle of `step` on the way from `before` to `after`.
fn cut_power(cut: &Path, (before, after): (&Path, &Path), step: Step, chance: &mut Chance) {
    copy(before, cut);
    for name in files(after) {
        let old = fs::read(before.join(&name)).ok();
        let new = fs::read(after.join(&name)).unwrap();
        let of = step_of(&name);
        if of > step || old.as_ref() == Some(&new) {
            continue;
        }
        let left = match old {
            _ if of < step => new,
            // It may not even be there.
            None if chance.random_bool(0.5) => continue,
            old => torn(&old.unwrap_or_default(), &new, chance),
        };
        fs::write(cut.join(&name), left).unwrap();
    }
}

#[test]
fn a_power_cut_takes_nothing_that_was_flushed_and_leaves_nothing_that_is_torn() {
    let (home, stops) = stops();
    let mut chance = chance(6, "power cuts");
    for (n, pair) in (0..).zip(stops.windows(2)) {
        for step in [Step::Payloads, Step::Records, Step::Mark] {
            for number in 0..CUTS {
                let cut = home.path().join(format!("cut-{n}-{step:?}-{number}"));
                cut_power(&cut, (&pair[0], &pair[1]), step, &mut chance);
                let store = Store::open(&cut, &OPTIONS)
                    .unwrap_or_else(|error| panic!("group {n}, {step:?} {number}: {error}"));
                let last = store.last();
                assert!((2 * n..=2 * n + 2).contains(&last), "{n} {step:?}: {last}");
                assert_holds(&store, last);
                commit(&store, last + 1..=last + 2).unwrap();
                drop(store);
                assert_holds(&open(&cut), last + 2);
                fs::remove_dir_all(&cut).unwrap();
            }
        }
    }
}
