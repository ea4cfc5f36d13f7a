use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::subsequence;

use super::*;
use crate::taxonomy::topic::{covers, parent};

fn params(k: usize, focus: &[&str]) -> PruneParams {
    PruneParams {
        examples: NonZeroUsize::new(k).unwrap(),
        focus: focus.iter().map(|topic| (*topic).to_owned()).collect(),
        seed: 0,
    }
}

/// Topics, and the topic of each example, from topics with their numbers of examples.
fn taxonomy(sizes: &[(&str, usize)]) -> (Vec<String>, Vec<u32>) {
    let topics = sizes.iter().map(|(topic, _)| (*topic).to_owned()).collect();
    let examples = (0..).zip(sizes);
    let examples = examples.flat_map(|(number, (_, size))| std::iter::repeat_n(number, *size));
    (topics, examples.collect())
}

fn pruned(sizes: &[(&str, usize)], k: usize, focus: &[&str]) -> Result<Pruned, PruneError> {
    let (topics, examples) = taxonomy(sizes);
    prune(&topics, &examples, &params(k, focus))
}

fn class_sizes(pruned: &Pruned) -> BTreeMap<&str, usize> {
    let mut sizes = BTreeMap::new();
    for class in pruned.class_of.iter().flatten() {
        *sizes.entry(&*pruned.classes[*class as usize]).or_default() += 1;
    }
    sizes
}

fn words(pruned: &Pruned) -> Vec<String> {
    pruned.steps.iter().map(PruneStep::words).collect()
}

#[test]
fn small_leaves_are_folded_and_what_remains_of_a_topic_is_its_other() {
    let pruned = pruned(
        &[("A", 3), ("A/B", 5), ("A/C", 2), ("D/E", 1), ("D/E/F", 2)],
        4,
        &[],
    )
    .unwrap();
    assert_eq!(
        class_sizes(&pruned),
        BTreeMap::from([("A/B", 4), ("A/Other", 4), ("Other", 3)])
    );
    assert_eq!(
        words(&pruned),
        [
            "D/E/F (2 examples) folded into D/E",
            "D/E (3 examples) folded into D",
            "D (3 examples) folded into the root",
            "A/C (2 examples) folded into A",
            "A/Other made, of 5 examples",
            "Other made, of 3 examples",
            "A/B sampled, 4 of 5 examples",
            "A/Other sampled, 4 of 5 examples",
        ]
    );
    let size = |topics, leaves, examples| TaxonomySize {
        topics,
        leaves,
        examples,
    };
    assert_eq!(
        (pruned.before, pruned.after),
        (size(6, 3, 13), size(4, 3, 11))
    );
}

#[test]
fn an_other_below_k_moves_to_the_topic_above() {
    let pruned = pruned(&[("A", 1), ("A/B", 2), ("A/B/C", 3)], 3, &[]).unwrap();
    assert_eq!(
        class_sizes(&pruned),
        BTreeMap::from([("A/B/C", 3), ("A/Other", 3)])
    );
    assert_eq!(words(&pruned)[0], "A/B/Other (2 examples) moved to A/Other");
}

#[test]
fn a_topic_that_its_source_calls_other_is_the_rest_of_the_topic_above() {
    let pruned = pruned(&[("A/Other", 2), ("A/B", 3), ("A/Other/C", 1)], 3, &[]).unwrap();
    assert_eq!(
        class_sizes(&pruned),
        BTreeMap::from([("A/B", 3), ("A/Other", 3)])
    );
}

#[test]
fn a_focus_topic_with_ten_examples_stays_and_so_does_its_other() {
    let sizes = [
        ("A/Small", 10),
        ("A/Large", 30),
        ("B", 12),
        ("B/C", 30),
        ("D", 30),
    ];
    let all = pruned(&sizes, 20, &[]).unwrap();
    assert_eq!(
        class_sizes(&all),
        BTreeMap::from([("A/Large", 20), ("B/C", 20), ("D", 20), ("Other", 20)])
    );
    let kept = pruned(&sizes, 20, &["A/Small", "/B/"]).unwrap();
    let sizes = class_sizes(&kept);
    assert_eq!((sizes["A/Small"], sizes["B/Other"]), (10, 12));
    assert_eq!(words(&kept)[0], "A/Small (10 examples) protected");
}

#[test]
fn a_focus_topic_with_nine_examples_is_an_error_that_names_who_took_it() {
    let sizes = [("A/B/Small", 9), ("A/Large", 30), ("D", 30)];
    let error = pruned(&sizes, 20, &["A/B"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the focus topic `A/B` has 9 examples, 10 are needed; it went to `Other`: give it more \
         examples, or choose a topic above it"
    );
    let sizes = [("A/B/Small", 9), ("A/Large", 30), ("A", 15)];
    let Err(PruneError::FocusTooSmall { taken_by, .. }) = pruned(&sizes, 20, &["A/B"]) else {
        panic!("it is too small");
    };
    assert_eq!(taken_by, "A/Other");
}

#[test]
fn a_focus_that_is_no_topic_is_answered_with_its_neighbours() {
    let error = pruned(&[("Arts/Music", 3)], 2, &["Musik"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no topic `Musik` to protect; did you mean `Arts/Music`?"
    );
    assert_eq!(pruned(&[("A", 0)], 2, &[]), Err(PruneError::Empty));
}

#[test]
fn another_seed_draws_another_sample() {
    let (topics, examples) = taxonomy(&[("A", 100)]);
    let draw = |seed| {
        let params = PruneParams {
            seed,
            ..params(10, &[])
        };
        prune(&topics, &examples, &params).unwrap().class_of
    };
    assert_ne!(draw(1), draw(2));
}

/// Trees of up to four levels below three tops, with sizes that lie on both sides of every k.
fn sizes() -> impl Strategy<Value = Vec<(String, usize)>> {
    let part = prop::sample::select(vec!["a", "b", "c", "Other"]);
    let path = prop::collection::vec(part, 1..5).prop_map(|parts| parts.join("/"));
    let size = prop_oneof![0_usize..4, 5_usize..16, 10_usize..40];
    prop::collection::btree_map(path, size, 1..25).prop_map(|map| map.into_iter().collect())
}

/// Whether `class` lies in the focus, or is the rest of a focus topic.
fn of_focus(class: &str, focus: &[String]) -> bool {
    let stem = class.strip_suffix("/Other").unwrap_or(class);
    focus.iter().any(|topic| topic == stem)
}

/// Rule 1 by its words: any leaf that is too small goes, as long as there is one.
///
/// `last` takes the last such leaf of each round instead of the first: the order must not matter.
fn leaves_by_the_words(sizes: &[(String, usize)], k: usize, last: bool) -> BTreeMap<String, usize> {
    let mut tree: BTreeMap<String, usize> = BTreeMap::new();
    for (topic, size) in sizes {
        let parts: Vec<&str> = topic.split('/').filter(|part| *part != OTHER).collect();
        for depth in 0..=parts.len() {
            *tree.entry(parts[..depth].join("/")).or_default() += 0;
        }
        *tree.get_mut(&parts.join("/")).unwrap() += size;
    }
    loop {
        let is_leaf = |topic: &str| !tree.keys().any(|key| key != topic && under(topic, key));
        let mut small = tree
            .iter()
            .filter(|(topic, size)| !topic.is_empty() && **size < k && is_leaf(topic));
        let next = if last {
            small.next_back()
        } else {
            small.next()
        };
        let Some((topic, _)) = next else { break };
        let topic = topic.clone();
        let size = tree.remove(&topic).unwrap();
        *tree.get_mut(parent(&topic).unwrap_or("")).unwrap() += size;
    }
    let leaves = tree.keys().filter(|topic| {
        !topic.is_empty() && !tree.keys().any(|key| key != *topic && under(topic, key))
    });
    leaves.map(|topic| (topic.clone(), tree[topic])).collect()
}

fn under(above: &str, below: &str) -> bool {
    above.is_empty() || covers(above, below)
}

proptest! {
    #[test]
    fn no_example_is_lost_but_by_sampling_and_none_leaves_its_branch(
        sizes in sizes(), k in 1_usize..30, seed in any::<u64>(),
    ) {
        let borrowed: Vec<(&str, usize)> = sizes.iter().map(|(t, n)| (&**t, *n)).collect();
        let (topics, examples) = taxonomy(&borrowed);
        prop_assume!(!examples.is_empty());
        let result = prune(&topics, &examples, &PruneParams { seed, ..params(k, &[]) }).unwrap();
        let sampled_out: usize = result.steps.iter().map(|step| match step {
            PruneStep::Sampled { from, to, .. } => from - to,
            _ => 0,
        }).sum();
        let kept = result.class_of.iter().flatten().count();
        prop_assert_eq!(kept + sampled_out, examples.len());
        prop_assert_eq!((result.before.examples, result.after.examples), (examples.len(), kept));
        for (topic, class) in examples.iter().zip(&result.class_of) {
            let Some(class) = class else { continue };
            let class = &*result.classes[*class as usize];
            let parts: Vec<&str> = topics[*topic as usize].split('/').filter(|p| *p != OTHER).collect();
            let stem = class.strip_suffix(OTHER).map_or(class, |stem| stem.trim_end_matches('/'));
            prop_assert!(under(stem, &parts.join("/")), "{} in {}", parts.join("/"), class);
        }
    }

    #[test]
    fn every_class_has_k_examples_but_the_rest_of_all_and_the_focus(
        sizes in sizes(), k in 1_usize..30, picks in subsequence((0..25_usize).collect::<Vec<_>>(), 0..3),
    ) {
        let borrowed: Vec<(&str, usize)> = sizes.iter().map(|(t, n)| (&**t, *n)).collect();
        let focus: Vec<&str> = picks.iter().filter_map(|at| borrowed.get(*at))
            .map(|(topic, _)| *topic).filter(|topic| !topic.contains(OTHER)).collect();
        let (topics, examples) = taxonomy(&borrowed);
        prop_assume!(!examples.is_empty());
        let params = params(k, &focus);
        match prune(&topics, &examples, &params) {
            Ok(result) => {
                let sizes = class_sizes(&result);
                prop_assert_eq!(sizes.len(), result.classes.len(), "no class is empty");
                for (class, size) in sizes {
                    let least = if class == OTHER { 1 } else if of_focus(class, &params.focus) {
                        FOCUS_EXAMPLES_MIN.min(k)
                    } else { k };
                    prop_assert!((least..=k).contains(&size), "{} has {}, k {}", class, size, k);
                    // A class has no topics under it.
                    prop_assert!(result.classes.iter().filter(|other| covers(class, other)).count() == 1);
                }
                for topic in &params.focus {
                    prop_assert!(result.classes.iter().any(|class| covers(topic, class)));
                }
            }
            Err(PruneError::FocusTooSmall { topic, examples, taken_by }) => {
                prop_assert!(examples < FOCUS_EXAMPLES_MIN);
                let stem = taken_by.strip_suffix(OTHER).unwrap_or(&taken_by);
                prop_assert!(topic.starts_with(stem) && topic != taken_by);
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn the_leaves_are_those_of_the_rule_in_its_own_words_whatever_the_order(
        sizes in sizes(), k in 1_usize..30,
    ) {
        let borrowed: Vec<(&str, usize)> = sizes.iter().map(|(t, n)| (&**t, *n)).collect();
        let (topics, examples) = taxonomy(&borrowed);
        prop_assume!(!examples.is_empty());
        let result = prune(&topics, &examples, &params(k, &[])).unwrap();
        let ours: BTreeMap<String, usize> = class_sizes(&result).into_iter()
            .filter(|(class, _)| *class != OTHER && !class.ends_with("/Other"))
            .map(|(class, size)| (class.to_owned(), size)).collect();
        for last in [false, true] {
            let mut words = leaves_by_the_words(&sizes, k, last);
            for size in words.values_mut() {
                *size = (*size).min(k);
            }
            prop_assert_eq!(&ours, &words);
        }
    }

    #[test]
    fn the_same_input_gives_the_same_result_and_pruning_twice_is_pruning_once(
        sizes in sizes(), k in 1_usize..30, seed in any::<u64>(),
    ) {
        let borrowed: Vec<(&str, usize)> = sizes.iter().map(|(t, n)| (&**t, *n)).collect();
        let (topics, examples) = taxonomy(&borrowed);
        prop_assume!(!examples.is_empty());
        let params = PruneParams { seed, ..params(k, &[]) };
        let once = prune(&topics, &examples, &params).unwrap();
        prop_assert_eq!(&prune(&topics, &examples, &params).unwrap(), &once);
        // Topics in another order are the same topics.
        let turned: Vec<String> = topics.iter().rev().cloned().collect();
        let last = u32::try_from(topics.len() - 1).unwrap();
        let numbers: Vec<u32> = examples.iter().map(|topic| last - topic).collect();
        let other = prune(&turned, &numbers, &params).unwrap();
        prop_assert_eq!(&other.class_of, &once.class_of);
        let kept: Vec<u32> = once.class_of.iter().flatten().copied().collect();
        let twice = prune(&once.classes, &kept, &params).unwrap();
        prop_assert_eq!(&twice.classes, &once.classes);
        prop_assert_eq!(class_sizes(&twice), class_sizes(&once));
    }
}
