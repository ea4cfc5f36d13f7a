//! Which link comes next.

use super::*;

/// A poor page and a good one; `both/` is on both, the poor one being booked first.
fn two_parents(order: &str) -> Crawl {
    let mut crawl = Crawl::new(&["poor/", "good/"]);
    crawl.page("poor/", "sand", &["poor1/", "both/", "poor2/"]);
    crawl.page("good/", "reef", &["good1/", "both/", "good2/"]);
    crawl.spec.order = order.into();
    crawl
}

async fn order_of(crawl: &Crawl) -> Vec<String> {
    crawl.replay().await;
    crawl.requests().split_off(2)
}

#[tokio::test]
async fn the_baseline_follows_the_best_parent_first() {
    // `both/` rises to the good page's priority and was found before the good page's own links.
    let order = order_of(&two_parents("baseline")).await;
    assert_eq!(order, ["both/", "good1/", "good2/", "poor1/", "poor2/"]);
}

#[tokio::test]
async fn baseline_first_keeps_the_priority_that_the_first_parent_gave() {
    let order = order_of(&two_parents("baseline-first")).await;
    assert_eq!(order, ["good1/", "good2/", "poor1/", "both/", "poor2/"]);
}

#[tokio::test]
async fn breadth_first_is_first_in_first_out() {
    let order = order_of(&two_parents("breadth-first")).await;
    assert_eq!(order, ["poor1/", "both/", "poor2/", "good1/", "good2/"]);
}

#[tokio::test]
async fn a_worse_parent_takes_nothing_from_a_link() {
    let crawl = Crawl::new(&["good/", "poor/"]);
    crawl.page("good/", "reef", &["both/"]);
    crawl.page("poor/", "sand", &["poor1/", "both/"]);
    assert_eq!(order_of(&crawl).await, ["both/", "poor1/"]);
}

#[tokio::test]
async fn between_equals_the_one_found_earlier_comes_first() {
    let crawl = Crawl::new(&["one/", "two/"]);
    crawl.page("one/", "reef", &["z/", "m/1", "m/2", "a/"]);
    crawl.page("two/", "reef", &["b/", "m/3", "a/2"]);
    let order = order_of(&crawl).await;
    assert_eq!(order, ["z/", "m/1", "m/2", "a/", "b/", "m/3", "a/2"]);
}

#[tokio::test]
async fn a_better_page_that_is_found_later_leads_the_way_at_once() {
    let crawl = Crawl::new(&["start/"]);
    crawl.page("start/", "nothing", &["poor/", "good/", "rest/"]);
    crawl.page("poor/", "sand", &["poor/1"]);
    crawl.page("good/", "reef", &["good/1"]);
    crawl.page("good/1", "reef", &["good/2"]);
    crawl.replay().await;
    assert_eq!(
        crawl.requests(),
        [
            "start/", "poor/", "good/", "good/1", "good/2", "rest/", "poor/1"
        ]
    );
}

#[tokio::test]
async fn batches_are_fetched_whole_before_what_they_brought() {
    let crawl = || {
        let mut crawl = Crawl::new(&["start/"]);
        crawl.page("start/", "nothing", &["poor/", "good/", "rest/"]);
        crawl.page("poor/", "sand", &["poor/1"]);
        crawl.page("good/", "reef", &["good/1"]);
        crawl.page("good/1", "reef", &["good/2"]);
        crawl.spec.order = "best-n-first:3".into();
        crawl
    };
    let once = crawl();
    once.replay().await;
    let requests = once.requests();
    let mut batch = requests[1..4].to_vec();
    batch.sort_unstable();
    assert_eq!(batch, ["good/", "poor/", "rest/"]);
    let again = crawl();
    again.replay().await;
    assert_eq!(again.requests(), requests);
}
