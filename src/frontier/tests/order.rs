//! Which link next, and when.

use super::*;
use crate::frontier::links::KEYS_READ;

#[test]
fn best_first_pops_the_highest_score_first() {
    // unclecode/crawl4ai issue 1253: "best first" popped the lowest of three.
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/low"], -3.0);
    crawl.seed(&["b/high"], 2.5);
    crawl.seed(&["c/middle"], 0.0);
    assert_eq!(crawl.drain(), ["b/high", "c/middle", "a/low"]);
}

#[test]
fn within_one_host_too_the_highest_score_comes_first() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/low"], -3.0);
    crawl.seed(&["a/high"], 2.5);
    crawl.seed(&["a/middle"], 0.0);
    assert_eq!(crawl.drain(), ["a/high", "a/middle", "a/low"]);
}

#[test]
fn equal_priorities_go_by_discovery() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["c/1", "b/1", "b/2"], 1.0);
    crawl.seed(&["a/1", "c/2"], 1.0);
    crawl.params.delay = Duration::ZERO;
    crawl.frontier.set_params(crawl.params);
    assert_eq!(crawl.drain(), ["c/1", "b/1", "b/2", "a/1", "c/2"]);
}

#[test]
fn priorities_map_to_a_falling_total_order() {
    let rising = [
        f32::NAN,
        f32::NEG_INFINITY,
        f32::MIN,
        -1.0,
        -f32::MIN_POSITIVE,
        0.0,
        f32::MIN_POSITIVE,
        1.0,
        f32::MAX,
        f32::INFINITY,
    ];
    let mapped: Vec<u32> = rising.into_iter().map(links::worse_of).collect();
    assert!(
        mapped.windows(2).all(|pair| pair[0] > pair[1]),
        "{mapped:?}"
    );
    assert_eq!(links::worse_of(-0.0), links::worse_of(0.0));
    assert_eq!(links::worse_of(-f32::NAN), links::worse_of(f32::NAN));
}

#[test]
fn a_host_waits_for_its_delay_while_another_is_asked() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1", "a/2"], 2.0);
    crawl.seed(&["b/1"], 1.0);
    let lease = crawl.lease();
    assert_eq!(crawl.name(&lease), "a/1");
    crawl.wait(300);
    crawl.page(lease, &[]);
    let lease = crawl.lease();
    assert_eq!(crawl.name(&lease), "b/1", "a was asked a moment ago");
    crawl.page(lease, &[]);
    let ready_at = crawl.now.after(params().delay);
    assert!(matches!(crawl.frontier.next(crawl.now), Next::NotBefore(t) if t == ready_at));
    crawl.wait(999);
    assert!(matches!(crawl.frontier.next(crawl.now), Next::NotBefore(t) if t == ready_at));
    crawl.wait(1);
    let lease = crawl.lease();
    assert_eq!(crawl.name(&lease), "a/2");
}

#[test]
fn nothing_now_and_nothing_ever_are_different_answers() {
    let mut crawl = Crawl::new(params());
    assert!(matches!(crawl.frontier.next(crawl.now), Next::Empty));
    crawl.seed(&["a/1", "a/2"], 0.0);
    let lease = crawl.lease();
    assert!(matches!(crawl.frontier.next(crawl.now), Next::AllLeased));
    crawl.page(lease, &[]);
    assert!(matches!(crawl.frontier.next(crawl.now), Next::NotBefore(_)));
    crawl.wait(1_000);
    let lease = crawl.lease();
    assert!(matches!(crawl.frontier.next(crawl.now), Next::Empty));
    crawl.page(lease, &[]);
    assert!(matches!(crawl.frontier.next(crawl.now), Next::Empty));
}

#[test]
fn lease_numbers_rise_by_one() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1", "b/1", "c/1"], 0.0);
    let numbers: Vec<u64> = (0..3).map(|_| crawl.lease().number).collect();
    assert_eq!(numbers, [1, 2, 3]);
}

#[test]
fn a_better_page_moves_a_link_forward() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["s/1", "s/2"], 9.0);
    let lease = crawl.lease();
    crawl.page(lease, &[("a/1", 1.0, None), ("b/1", 2.0, None)]);
    crawl.wait(1_000);
    let lease = crawl.lease();
    crawl.page(lease, &[("a/1", 3.0, None)]);
    assert_eq!(crawl.drain(), ["a/1", "b/1"]);
    crawl.assert_equals_its_log();
}

#[test]
fn a_link_given_back_waits_as_before() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1", "a/2"], 1.0);
    let before = (crawl.waiting("a/1"), crawl.frontier.counts(crawl.now));
    let lease = crawl.lease();
    assert_eq!(crawl.state("a/1"), Some(LinkState::Leased));
    assert_eq!(crawl.frontier.counts(crawl.now).leased, 1);
    let (ended_at, next_at) = (crawl.now, crawl.now.after(Duration::from_secs(5)));
    crawl.frontier.give_back(lease, ended_at, next_at);
    assert!(matches!(crawl.frontier.next(crawl.now), Next::NotBefore(t) if t == next_at));
    crawl.wait(5_000);
    assert_eq!(
        (crawl.waiting("a/1"), crawl.frontier.counts(crawl.now)),
        before
    );
    let lease = crawl.lease();
    assert_eq!((crawl.name(&lease).as_str(), lease.requests), ("a/1", 0));
}

#[test]
fn a_capped_host_holds_its_links_until_the_cap_is_raised() {
    let mut crawl = Crawl::new(FrontierParams {
        pages_per_host_max: Some(2),
        ..params()
    });
    crawl.seed(&["a/1", "a/2", "a/3", "a/4", "b/1"], 0.0);
    assert_eq!(crawl.drain(), ["a/1", "b/1", "a/2"]);
    let counts = crawl.frontier.counts(crawl.now);
    assert_eq!((counts.waiting, counts.held), (0, 2));
    assert_eq!(crawl.waiting("a/3").why, WhyWaiting::HostCapped);
    assert!(crawl.frontier.head(9, crawl.now).is_empty());
    crawl.assert_equals_its_log();
    crawl.params.pages_per_host_max = Some(3);
    crawl.frontier.set_params(crawl.params);
    assert_eq!(crawl.drain(), ["a/3"]);
    assert_eq!(crawl.frontier.counts(crawl.now).held, 1);
}

#[test]
fn the_hosts_of_a_domain_share_its_cap() {
    let mut crawl = Crawl::new(FrontierParams {
        pages_per_domain_max: Some(3),
        ..params()
    });
    // `test` is no public suffix of the list: x.a.test stands under a.test.
    crawl.seed(&["x.a/1", "y.a/1", "x.a/2", "z.a/1", "z.a/2", "b/1"], 0.0);
    let first = crawl.lease();
    assert_eq!(crawl.name(&first), "x.a/1");
    // What is leased counts for the other hosts as well.
    assert_eq!(crawl.drain(), ["y.a/1", "z.a/1", "b/1"]);
    let counts = crawl.frontier.counts(crawl.now);
    assert_eq!((counts.waiting, counts.held), (0, 2));
    assert_eq!(crawl.waiting("z.a/2").why, WhyWaiting::HostCapped);
    let now = crawl.now;
    crawl.frontier.give_back(first, now, now);
    assert_eq!(crawl.frontier.counts(now).held, 0);
    crawl.wait(5_000);
    assert_eq!(crawl.drain(), ["x.a/1"]);
    crawl.assert_equals_its_log();
    assert_eq!(crawl.frontier.counts(crawl.now).held, 2);
    crawl.params.pages_per_domain_max = Some(4);
    crawl.frontier.set_params(crawl.params);
    assert_eq!(crawl.drain().len(), 1);
}

#[test]
fn a_page_still_being_judged_counts_for_the_cap() {
    let mut crawl = Crawl::new(FrontierParams {
        pages_per_host_max: Some(1),
        ..params()
    });
    crawl.seed(&["a/1", "a/2"], 0.0);
    let lease = crawl.lease();
    crawl.wait(1);
    // The host is free again, but the page is not booked.
    let facts = crawl.end(lease);
    crawl.wait(5_000);
    assert!(matches!(crawl.frontier.next(crawl.now), Next::Empty));
    assert_eq!(crawl.frontier.counts(crawl.now).held, 1);
    // A redirect is no fetch of the host: the second link may go.
    crawl.book(Event::Redirect(RedirectBooking {
        lease: facts,
        status: 301,
        target: url("b/1"),
        hops: 1,
        refusal: None,
        kept: None,
    }));
    assert_eq!(crawl.frontier.counts(crawl.now).held, 0);
    crawl.urls.insert(url("b/1").id(), url("b/1"));
    assert_eq!(crawl.drain(), ["a/2", "b/1"]);
}

#[test]
fn a_shorter_delay_takes_force_at_once() {
    let mut crawl = Crawl::new(FrontierParams {
        delay: Duration::from_hours(1),
        ..params()
    });
    crawl.seed(&["a/1", "a/2"], 0.0);
    let lease = crawl.lease();
    crawl.page(lease, &[]);
    assert!(matches!(crawl.frontier.next(crawl.now), Next::NotBefore(_)));
    crawl.params.delay = Duration::from_secs(1);
    crawl.frontier.set_params(crawl.params);
    crawl.wait(1_000);
    assert_eq!(crawl.drain(), ["a/2"]);
}

#[test]
fn the_head_shows_the_best_links_in_the_order_in_which_they_would_come() {
    let mut crawl = Crawl::new(params());
    for number in 0..40_u16 {
        let name = format!("{}/{number}", ["a", "b", "c"][usize::from(number % 3)]);
        crawl.seed(&[&name], f32::from(number * 7 % 40));
    }
    let lease = crawl.lease();
    let ids = |head: Vec<WaitingLink>| -> Vec<f32> {
        head.into_iter().map(|link| link.priority).collect()
    };
    let head = ids(crawl.frontier.head(5, crawl.now));
    assert_eq!(head, [38.0, 37.0, 36.0, 35.0, 34.0]); // 39 is out on a lease
    assert_eq!(ids(crawl.frontier.head(100, crawl.now)).len(), 39);
    assert!(crawl.frontier.head(0, crawl.now).is_empty());
    let leased_host = lease.host.host().clone();
    for link in crawl.frontier.head(100, crawl.now) {
        let expected = if link.host == leased_host {
            WhyWaiting::HostLeased
        } else {
            WhyWaiting::Ready
        };
        assert_eq!(link.why, expected);
    }
}

#[test]
fn a_link_that_turns_out_worse_lets_a_better_one_go_first() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1"], 9.0);
    crawl.seed(&["a/2", "b/1"], 5.0);
    let lease = crawl.lease();
    assert_eq!(crawl.name(&lease), "a/1");
    assert!(crawl.frontier.put_back_if_worse(lease, 4.0).is_ok());
    assert_eq!(crawl.frontier.counts(crawl.now).leased, 0);
    // Its host was not asked, so that it owes no delay.
    assert_eq!(crawl.drain(), ["a/2", "b/1", "a/1"]);
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1"], 9.0);
    crawl.seed(&["a/2", "b/1"], 5.0);
    let lease = crawl.lease();
    let lease = crawl.frontier.put_back_if_worse(lease, 6.0).unwrap_err();
    assert!((lease.priority - 6.0).abs() < 1e-6, "it is still the best");
}

#[test]
fn the_baselines_order_is_kept_beside_the_one_in_force() {
    let mut crawl = Crawl::new(FrontierParams {
        keeps_baseline: true,
        ..params()
    });
    crawl.seed(&["s/1"], 1.0);
    let lease = crawl.lease();
    // The page's log odds stand for the baseline; its links have scores of their own.
    crawl.page(lease, &[("a/1", 3.0, None), ("b/1", 7.0, None)]);
    crawl.wait(1_000);
    let rivals = crawl.frontier.rivals(crawl.now).unwrap();
    let lease = crawl.frontier.lease_rival(rivals, crawl.now).unwrap();
    assert_eq!(
        crawl.name(&lease),
        "a/1",
        "discovered first, of equal pages"
    );
    assert_eq!(
        crawl.frontier.rivals(crawl.now),
        None,
        "b/1 is the best of both"
    );
    let other = crawl.lease();
    assert_eq!(crawl.name(&other), "b/1");
    crawl.frontier.give_back(lease, crawl.now, crawl.now);
    crawl.wait(1_000);
    assert_eq!(
        crawl.frontier.rivals(crawl.now),
        None,
        "a/1 alone waits again"
    );
    assert_eq!(crawl.drain(), ["a/1"]);
}

#[test]
fn a_baseline_kept_from_later_on_goes_by_the_best_that_was_predicted_before() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["s/1", "s/2"], 9.0);
    let lease = crawl.lease();
    crawl.page(lease, &[("a/1", 3.0, None), ("b/1", 2.0, None)]);
    crawl.wait(1_000);
    let lease = crawl.lease();
    crawl.page(lease, &[("b/1", 5.0, None), ("c/1", 4.0, None)]);
    // Scored again, `a/1` is the best.
    crawl.frontier.begin_rescoring();
    (crawl.frontier).rescore(url("a/1").id(), at(2, 0), 8.0);
    while !crawl.frontier.switch(10) {}
    crawl.frontier.set_params(FrontierParams {
        keeps_baseline: true,
        ..params()
    });
    for name in ["b/1", "c/1"] {
        let rivals = crawl.frontier.rivals(crawl.now).unwrap();
        let lease = crawl.frontier.lease_rival(rivals, crawl.now).unwrap();
        assert_eq!(crawl.name(&lease), name);
    }
    assert_eq!(crawl.frontier.rivals(crawl.now), None, "a/1 is the best");
}

#[test]
fn the_head_costs_what_it_shows_however_long_the_queues_are() {
    let mut crawl = Crawl::new(params());
    for host in ["a", "b", "c"] {
        let names: Vec<String> = (0..2_000).map(|page| format!("{host}/{page}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        crawl.seed(&names, 0.0);
    }
    let before = KEYS_READ.get();
    let head = crawl.frontier.head(50, crawl.now);
    // Each shown link has four below it in its queue.
    let read = KEYS_READ.get() - before;
    assert!(read < 5 * 50 + 20, "{read} keys were read");
    let shown: Vec<UrlId> = head.iter().map(|link| link.id).collect();
    let best = (0..50).map(|page| url(&format!("a/{page}")).id());
    assert!(best.eq(shown));
}
