//! Which link is taken when it is not always the best one.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::clock::chance;

fn steered(way: &str, seed: u64) -> Crawl {
    let mut crawl = Crawl::new(FrontierParams {
        delay: Duration::ZERO,
        ..params()
    });
    let way = Steering::parse(way).unwrap();
    crawl.frontier.steer(way, chance(seed, "steering"));
    crawl
}

/// What is leased, in turn, when nothing new comes.
fn names(crawl: &mut Crawl) -> Vec<String> {
    let mut names = Vec::new();
    while let Next::Lease(lease) = crawl.frontier.next(crawl.now) {
        names.push(crawl.name(&lease));
        crawl.page(lease, &[]);
    }
    names
}

fn set(names: &[String]) -> BTreeSet<&str> {
    names.iter().map(String::as_str).collect()
}

#[test]
fn a_batch_has_links_of_distinct_hosts_as_long_as_there_are_some() {
    let mut crawl = steered("best-n-first:3", 1);
    crawl.seed(&["a/1", "a/2", "a/3"], 5.0);
    crawl.seed(&["b/1", "b/2"], 4.0);
    crawl.seed(&["c/1"], 3.0);
    crawl.seed(&["d/1"], 2.0);
    let names = names(&mut crawl);
    assert_eq!(set(&names[..3]), BTreeSet::from(["a/1", "b/1", "c/1"]));
    assert_eq!(set(&names[3..6]), BTreeSet::from(["a/2", "b/2", "d/1"]));
    assert_eq!(names[6], "a/3");
}

#[test]
fn a_batch_of_few_hosts_is_filled_with_their_next_best() {
    let mut crawl = steered("best-n-first:4", 1);
    crawl.seed(&["a/9"], 9.0);
    crawl.seed(&["a/8"], 8.0);
    crawl.seed(&["a/7"], 7.0);
    crawl.seed(&["b/6"], 6.0);
    crawl.seed(&["b/5"], 5.0);
    let names = names(&mut crawl);
    assert_eq!(
        set(&names[..4]),
        BTreeSet::from(["a/9", "a/8", "a/7", "b/6"])
    );
    assert_eq!(names[4], "b/5");
}

#[test]
fn what_is_found_meanwhile_waits_for_the_next_batch() {
    let mut crawl = steered("best-n-first:2", 1);
    crawl.seed(&["a/1"], 1.0);
    crawl.seed(&["b/1"], 0.5);
    let lease = crawl.lease();
    let first = crawl.name(&lease);
    crawl.page(lease, &[("c/better", 9.0, None)]);
    let rest = names(&mut crawl);
    let other = if first == "a/1" { "b/1" } else { "a/1" };
    assert_eq!(rest, [other, "c/better"]);
}

#[test]
fn a_batch_does_not_hold_up_the_crawl() {
    let mut crawl = steered("best-n-first:2", 1);
    crawl.params.delay = Duration::from_secs(1);
    crawl.frontier.set_params(crawl.params);
    crawl.seed(&["a/1", "a/2"], 1.0);
    let lease = crawl.lease();
    crawl.page(lease, &[("b/1", -1.0, None)]);
    // The rest of the batch is on the host that has just been asked.
    let lease = crawl.lease();
    assert_eq!(crawl.name(&lease), "b/1");
}

#[test]
fn chance_takes_any_link_that_is_good_enough_and_each_as_often() {
    // Relevances of 0.9, 0.6, 0.5 and 0.1; 0.55 of 0.9 is 0.495.
    let logit = |p: f32| (p / (1.0 - p)).ln();
    let mut counts = BTreeMap::new();
    for seed in 0..600 {
        let mut crawl = steered("altered-greedy:0:0.55", seed);
        for (name, relevance) in [("a/9", 0.9), ("b/6", 0.6), ("b/5", 0.5), ("a/1", 0.1)] {
            crawl.seed(&[name], logit(relevance));
        }
        let lease = crawl.lease();
        *counts.entry(crawl.name(&lease)).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 3, "{counts:?}");
    // 200 expected, with a deviation of 11.5.
    assert!(
        counts.values().all(|count| (150..250).contains(count)),
        "{counts:?}"
    );
    assert!(!counts.contains_key("a/1"));
}

#[test]
fn the_best_is_taken_as_often_as_it_is_told() {
    let best_of = |seed| {
        let mut crawl = steered("altered-greedy:0.75:0", seed);
        crawl.seed(&["a/1"], 5.0);
        crawl.seed(&["b/1", "b/2", "b/3"], -5.0);
        let lease = crawl.lease();
        crawl.name(&lease) == "a/1"
    };
    // 0.75, and a quarter of the rest: 487.5 of 600 expected, with a deviation of 9.6.
    let best = (0..600).filter(|seed| best_of(*seed)).count();
    assert!((440..530).contains(&best), "{best}");
}

#[test]
fn few_good_links_are_found_among_many() {
    let mut crawl = steered("altered-greedy:0:0.9", 4);
    let poor: Vec<String> = (0..40_000).map(|n| format!("h{}/{n}", n % 50)).collect();
    let poor: Vec<&str> = poor.iter().map(String::as_str).collect();
    crawl.seed(&poor, -9.0);
    crawl.seed(&["a/good", "b/good", "h7/good"], 9.0);
    let mut first: Vec<String> = Vec::new();
    for _ in 0..3 {
        let lease = crawl.lease();
        first.push(crawl.name(&lease));
        crawl.page(lease, &[]);
    }
    assert_eq!(set(&first), BTreeSet::from(["a/good", "b/good", "h7/good"]));
}

#[test]
fn the_same_seed_takes_the_same_links() {
    for way in ["best-n-first:5", "altered-greedy:0.5:0.1"] {
        let run = |seed| {
            let mut crawl = steered(way, seed);
            let links: Vec<String> = (0..60).map(|n| format!("h{}/{n}", n % 7)).collect();
            for (n, link) in (0_u8..).zip(&links) {
                crawl.seed(&[link], f32::from(n % 11));
            }
            names(&mut crawl)
        };
        assert_eq!(run(3), run(3));
        assert_ne!(run(3), run(4));
        assert_eq!(run(3).len(), 60, "none is lost");
    }
}
