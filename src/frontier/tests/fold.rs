//! What each event changes, rule by rule; each test ends with a fold of the log.

use super::*;

#[test]
fn a_page_ends_its_link_and_brings_its_links() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1"], 1.0);
    let lease = crawl.lease();
    let seq = crawl.page(lease, &[("b/1", 0.5, None), ("a/2", 0.25, None)]);
    assert_eq!(crawl.state("a/1"), Some(LinkState::Fetched(seq)));
    assert_eq!(crawl.frontier.fetched_of(&host("a")), 1);
    let link = crawl.waiting("a/2");
    assert_eq!(link.references, [at(2, 1)]);
    assert_eq!((link.depth, link.parents), (1, 1));
    assert!((link.priority - 0.25).abs() < f32::EPSILON);
    assert!(crawl.frontier.knows(&url("b/1")));
    assert!(!crawl.frontier.knows(&url("b/2")));
    let counts = crawl.frontier.counts(crawl.now);
    assert_eq!((counts.waiting, counts.fetched, counts.hosts), (2, 1, 2));
    crawl.assert_equals_its_log();
}

#[test]
fn a_link_to_the_page_itself_is_ignored_and_a_target_counts_once() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1"], 1.0);
    let lease = crawl.lease();
    crawl.page(
        lease,
        &[
            ("a/1", 5.0, None),
            ("a/2", 1.0, None),
            ("a/2", 5.0, None),
            ("a/3", 1.0, Some(Refusal::Nofollow)),
            ("a/3", 2.0, None),
        ],
    );
    assert!(matches!(crawl.state("a/1"), Some(LinkState::Fetched(_))));
    let link = crawl.waiting("a/2");
    assert_eq!((link.parents, link.references), (1, vec![at(2, 1)]));
    assert!((link.priority - 1.0).abs() < f32::EPSILON);
    // Once with nofollow, once without: the page does point there.
    assert_eq!(crawl.waiting("a/3").references, [at(2, 4)]);
    crawl.assert_equals_its_log();
}

/// Pages s/1, s/2, ... each link to t/1 with these priorities; events 2, 3, ...
fn offered(params: FrontierParams, priorities: &[f32]) -> Crawl {
    let mut crawl = Crawl::new(params);
    let names: Vec<String> = (0..priorities.len()).map(|n| format!("s/{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    crawl.seed(&names, 100.0);
    for priority in priorities {
        let lease = crawl.lease();
        crawl.page(lease, &[("t/1", *priority, None)]);
        crawl.wait(1_000);
    }
    crawl.assert_equals_its_log();
    crawl
}

#[test]
fn references_are_the_first_the_best_then_the_earliest() {
    let three = FrontierParams {
        references_max: 3,
        ..params()
    };
    let kept = |priorities: &[f32]| -> Vec<u64> {
        let link = offered(three, priorities).waiting("t/1");
        assert_eq!(link.parents as usize, priorities.len());
        link.references.iter().map(|at| at.seq.0 - 1).collect()
    };
    assert_eq!(kept(&[1.0]), [1]);
    assert_eq!(kept(&[1.0, 1.0, 1.0, 1.0]), [1, 2, 3]);
    assert_eq!(kept(&[1.0, 0.0, 2.0]), [1, 3, 2]);
    assert_eq!(kept(&[1.0, 0.0, 0.0, 0.0, 2.0]), [1, 5, 2]);
    // The old best (2) is the earliest of the others when 5 is the new one.
    assert_eq!(kept(&[1.0, 2.0, 0.0, 0.0, 3.0]), [1, 5, 2]);
    // The old best (4) came later than 2, which stays.
    assert_eq!(kept(&[1.0, 0.0, 0.0, 2.0, 3.0]), [1, 5, 2]);
    // The best of two equals is the earlier.
    assert_eq!(kept(&[1.0, 0.0, 2.0, 2.0]), [1, 3, 2]);
}

#[test]
fn priorities_combine_as_the_spec_says() {
    let best = offered(params(), &[1.0, 3.0, 2.0]).waiting("t/1");
    assert!((best.priority - 3.0).abs() < f32::EPSILON);
    let first = FrontierParams {
        combine: Combine::First,
        ..params()
    };
    let first = offered(first, &[1.0, 3.0, 2.0]).waiting("t/1");
    assert!((first.priority - 1.0).abs() < f32::EPSILON);
    // The best reference is known all the same.
    assert_eq!(first.references, [at(2, 0), at(3, 0), at(4, 0)]);
}

#[test]
fn the_depth_is_the_smallest_that_any_page_gives() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1", "b/1"], 1.0);
    let (first, second) = (crawl.lease(), crawl.lease());
    crawl.page(first, &[("c/1", 9.0, None)]);
    let lease = crawl.lease();
    crawl.page(lease, &[("d/1", 0.0, None)]);
    assert_eq!(crawl.waiting("d/1").depth, 2);
    crawl.page(second, &[("d/1", 0.0, None)]);
    assert_eq!(crawl.waiting("d/1").depth, 1);
    crawl.assert_equals_its_log();
}

#[test]
fn a_link_refused_on_one_page_may_be_taken_from_another() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1", "b/1"], 1.0);
    let (first, second) = (crawl.lease(), crawl.lease());
    let seq = crawl.page(first, &[("c/1", 9.0, Some(Refusal::HardFocus))]);
    let refused = LinkState::Refused(Refusal::HardFocus, seq);
    assert_eq!(crawl.state("c/1"), Some(refused));
    assert_eq!(crawl.frontier.counts(crawl.now).refused, 1);
    crawl.page(second, &[("c/1", 1.0, None)]);
    let link = crawl.waiting("c/1");
    assert_eq!((link.references, link.parents), (vec![at(3, 0)], 1));
    assert_eq!(crawl.frontier.counts(crawl.now).refused, 0);
    crawl.assert_equals_its_log();
}

#[test]
fn a_refused_offer_changes_nothing_of_a_waiting_link() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1", "b/1"], 1.0);
    let lease = crawl.lease();
    let before = crawl.waiting("b/1");
    crawl.page(lease, &[("b/1", 9.0, Some(Refusal::Depth))]);
    assert_eq!(crawl.waiting("b/1"), before);
    crawl.assert_equals_its_log();
}

#[test]
fn what_robots_and_guard_refuse_stays_refused() {
    for (refusal, stays) in [
        (Refusal::Robots, true),
        (Refusal::Address, true),
        (Refusal::HostGivenUp, true),
        (Refusal::Scope, false),
        (Refusal::World, false),
        (Refusal::Trap, false),
        (Refusal::Copy, false),
        (Refusal::Prefix, false),
        (Refusal::Evicted, false),
    ] {
        let mut crawl = Crawl::new(params());
        crawl.seed(&["a/1", "b/1"], 1.0);
        let seq = crawl.refuse("b/1", refusal);
        assert_eq!(crawl.state("b/1"), Some(LinkState::Refused(refusal, seq)));
        assert_eq!(crawl.frontier.counts(crawl.now).waiting, 1);
        let lease = crawl.lease();
        assert_eq!(crawl.name(&lease), "a/1");
        crawl.page(lease, &[("b/1", 1.0, None)]);
        let is_refused = matches!(crawl.state("b/1"), Some(LinkState::Refused(..)));
        assert_eq!(is_refused, stays, "{refusal:?}");
        crawl.assert_equals_its_log();
    }
}

#[test]
fn a_leased_link_may_be_refused_and_its_lease_ends_without_it() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1", "a/2"], 1.0);
    let lease = crawl.lease();
    let seq = crawl.refuse("a/1", Refusal::Robots);
    let (ended_at, next_at) = (crawl.now, crawl.now);
    crawl.frontier.give_back(lease, ended_at, next_at);
    let refused = LinkState::Refused(Refusal::Robots, seq);
    assert_eq!(crawl.state("a/1"), Some(refused));
    assert_eq!(crawl.frontier.counts(crawl.now).leased, 0);
    crawl.assert_equals_its_log();
    assert_eq!(crawl.drain(), ["a/2"]);
}

#[test]
fn a_failure_puts_its_link_back_until_it_is_final() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1"], 1.0);
    let before = crawl.waiting("a/1");
    let lease = crawl.lease();
    crawl.fail(lease, false);
    crawl.wait(1_000);
    assert_eq!(crawl.waiting("a/1"), before);
    assert_eq!(crawl.frontier.fetched_of(&host("a")), 0);
    crawl.assert_equals_its_log();
    let lease = crawl.lease();
    assert_eq!(lease.requests, 1);
    let seq = crawl.fail(lease, true);
    assert_eq!(crawl.state("a/1"), Some(LinkState::Fetched(seq)));
    assert_eq!(crawl.frontier.fetched_of(&host("a")), 1);
    crawl.assert_equals_its_log();
}

#[test]
fn a_redirect_hands_its_link_to_the_target() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1"], 1.5);
    let lease = crawl.lease();
    let seq = crawl.redirect(lease, "b/1", None);
    assert_eq!(crawl.state("a/1"), Some(LinkState::Fetched(seq)));
    assert_eq!(crawl.frontier.fetched_of(&host("a")), 0);
    crawl.assert_equals_its_log();
    let lease = crawl.lease();
    assert_eq!(lease.references, [at(2, 0), at(1, 0)]);
    assert!((lease.priority - 1.5).abs() < f32::EPSILON);
    assert_eq!((lease.hops, lease.depth, lease.is_seed), (1, 0, true));
}

#[test]
fn a_redirect_to_a_waiting_link_merges() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1"], 1.5);
    crawl.seed(&["b/1"], 0.5);
    let lease = crawl.lease();
    crawl.redirect(lease, "b/1", None);
    let link = crawl.waiting("b/1");
    assert_eq!(link.references, [at(2, 0), at(3, 0), at(1, 0)]);
    assert_eq!(link.parents, 3);
    assert!((link.priority - 1.5).abs() < f32::EPSILON);
    crawl.assert_equals_its_log();
    assert_eq!(crawl.lease().hops, 0, "it is reachable without a redirect");
}

#[test]
fn a_redirect_to_what_is_known_or_refused_or_itself_brings_nothing() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1", "b/1", "c/1"], 1.0);
    let (first, second, third) = (crawl.lease(), crawl.lease(), crawl.lease());
    crawl.redirect(first, "a/1", None);
    crawl.redirect(second, "a/1", None);
    let seq = crawl.redirect(third, "d/1", Some(Refusal::Redirects));
    let refused = LinkState::Refused(Refusal::Redirects, seq);
    assert_eq!(crawl.state("d/1"), Some(refused));
    let counts = crawl.frontier.counts(crawl.now);
    assert_eq!((counts.fetched, counts.refused), (3, 1));
    assert!(matches!(crawl.frontier.next(crawl.now), Next::Empty));
    crawl.assert_equals_its_log();
}

#[test]
fn host_facts_hold_the_host_and_mark_it() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1"], 1.0);
    let until = crawl.now.after(Duration::from_mins(1));
    crawl.host_facts("a", until, true);
    assert!(crawl.frontier.host_given_up(&host("a")));
    assert!(!crawl.frontier.host_given_up(&host("b")));
    assert_eq!(crawl.waiting("a/1").why, WhyWaiting::HostUntil(until));
    assert!(matches!(crawl.frontier.next(crawl.now), Next::NotBefore(t) if t == until));
    crawl.assert_equals_its_log();
}

#[test]
fn a_seed_that_waits_already_becomes_one() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1"], 1.0);
    let lease = crawl.lease();
    crawl.page(lease, &[("b/1", 0.0, None)]);
    crawl.seed(&["b/1", "a/1"], 2.0);
    let link = crawl.waiting("b/1");
    assert_eq!((link.depth, link.parents), (0, 2));
    assert!((link.priority - 2.0).abs() < f32::EPSILON);
    assert!(matches!(crawl.state("a/1"), Some(LinkState::Fetched(_))));
    crawl.assert_equals_its_log();
    assert!(crawl.lease().is_seed);
}

#[test]
fn a_leased_link_grows_as_it_would_have_waiting() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1", "b/1"], 1.0);
    let (first, second) = (crawl.lease(), crawl.lease());
    crawl.page(first, &[("b/1", 5.0, None)]);
    crawl.fail(second, false);
    crawl.assert_equals_its_log();
    let link = crawl.waiting("b/1");
    assert_eq!(link.references, [at(1, 1), at(2, 0)]);
    assert!((link.priority - 5.0).abs() < f32::EPSILON);
}

#[test]
fn a_fold_keeps_the_politeness_of_the_log() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1", "a/2"], 1.0);
    let lease = crawl.lease();
    crawl.wait(400);
    crawl.page(lease, &[]);
    let ended_at = crawl.now;
    let mut again = crawl.refolded();
    let ready_at = ended_at.after(params().delay);
    assert!(matches!(again.next(crawl.now), Next::NotBefore(t) if t == ready_at));
}
