//! A new epoch puts the frontier in another order.

use super::*;

fn rescore(crawl: &mut Crawl, scores: &[(&str, Reference, f32)]) {
    crawl.frontier.begin_rescoring();
    for (link, reference, score) in scores {
        crawl.frontier.rescore(url(link).id(), *reference, *score);
    }
}

fn put_in_force(crawl: &mut Crawl) {
    assert!(crawl.frontier.switch(usize::MAX));
}

#[test]
fn the_new_order_is_in_force_at_once_and_for_all() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1", "a/2", "b/1", "c/1"], 1.0);
    let new = [("a/1", -1.0), ("a/2", 3.0), ("b/1", 2.0), ("b/1", 0.0)];
    let new = new.map(|(link, score)| (link, at(1, 0), score));
    rescore(&mut crawl, &new);
    assert_eq!(crawl.frontier.counts(crawl.now).waiting, 4);
    put_in_force(&mut crawl);
    assert_eq!(crawl.frontier.counts(crawl.now).waiting, 4);
    // b/1 goes by the better of its two scores; c/1 was not scored and keeps what it had.
    crawl.params.delay = Duration::ZERO;
    crawl.frontier.set_params(crawl.params);
    assert_eq!(crawl.drain(), ["a/2", "b/1", "c/1", "a/1"]);
}

#[test]
fn what_is_not_open_is_passed_over() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1"], 1.0);
    assert!(crawl.frontier.is_open(url("a/1").id()));
    assert!(!crawl.frontier.is_open(url("b/1").id()));
    rescore(&mut crawl, &[("b/1", at(1, 0), 9.0)]);
    put_in_force(&mut crawl);
    assert_eq!(crawl.drain(), ["a/1"]);
}

#[test]
fn a_score_is_never_given_to_a_link_that_took_the_place_of_another() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1"], 1.0);
    rescore(&mut crawl, &[("a/1", at(1, 0), 9.0)]);
    // a/1 is fetched while the sweep goes on; the next link may get its slot.
    assert_eq!(crawl.drain(), ["a/1"]);
    crawl.seed(&["b/1"], 1.0);
    crawl.seed(&["c/1"], 2.0);
    put_in_force(&mut crawl);
    assert_eq!(crawl.drain(), ["c/1", "b/1"]);
}

#[test]
fn a_mean_is_that_of_all_pages_and_may_fall() {
    let mut crawl = Crawl::new(FrontierParams {
        combine: Combine::Mean,
        ..params()
    });
    crawl.seed(&["a/1", "b/1"], 9.0);
    let (first, second) = (crawl.lease(), crawl.lease());
    crawl.page(
        first,
        &[("t/1", 4.0, None), ("t/2", 3.0, None), ("t/1", 4.0, None)],
    );
    crawl.page(second, &[("t/1", -2.0, None), ("a/1", -5.0, None)]);
    let link = crawl.waiting("t/1");
    // A page counts once.
    assert!((link.priority - 1.0).abs() < 1e-6, "{link:?}");
    crawl.assert_equals_its_log();
    let scores = [
        ("t/2", at(2, 1), 1.0),
        ("t/1", at(2, 0), 6.0),
        ("t/1", at(2, 2), 99.0),
        ("t/1", at(3, 0), 0.0),
    ];
    rescore(&mut crawl, &scores);
    crawl.params.delay = Duration::ZERO;
    crawl.frontier.set_params(crawl.params);
    // t/2 has 3, and t/1 has fallen from 4 to 1.
    assert_eq!(crawl.frontier.head(9, crawl.now).len(), 2);
    let head = crawl.frontier.head(1, crawl.now);
    assert_eq!(head[0].id, url("t/2").id());
    put_in_force(&mut crawl);
    assert_eq!(crawl.drain(), ["t/1", "t/2"]);
}

#[test]
fn where_the_first_page_alone_counts_another_page_does_not() {
    let mut crawl = Crawl::new(FrontierParams {
        combine: Combine::First,
        ..params()
    });
    crawl.seed(&["a/1", "b/1"], 1.0);
    let scores = [("b/1", at(1, 1), 0.5), ("b/1", at(7, 0), 9.0)];
    rescore(&mut crawl, &scores);
    put_in_force(&mut crawl);
    assert_eq!(crawl.drain(), ["a/1", "b/1"]);
}

#[test]
fn which_references_are_kept_does_not_hang_on_when_links_were_scored_again() {
    let params = FrontierParams {
        references_max: 2,
        ..params()
    };
    let mut crawl = Crawl::new(params);
    crawl.seed(&["a/1", "b/1", "c/1"], 20.0);
    let leases = [crawl.lease(), crawl.lease(), crawl.lease()];
    for (lease, priority) in leases.into_iter().zip([1.0, 2.0, 5.0]) {
        let seq = crawl.page(lease, &[("t/1", priority, None)]);
        // By the new epoch the link is worth more than what any later page says of it.
        rescore(&mut crawl, &[("t/1", at(seq.0, 0), 9.0)]);
        put_in_force(&mut crawl);
    }
    let kept = crawl.waiting("t/1").references;
    let mut folded = Frontier::new(params, HostCalendar::default());
    for (seq, event) in (1..).zip(&crawl.log) {
        folded.admit(Seq(seq), event);
    }
    let again = folded.lookup(url("t/1").id(), crawl.now).unwrap();
    assert_eq!(kept, [at(2, 0), at(4, 0)], "the first and the best");
    assert_eq!(again.waiting.unwrap().references, kept);
}
