//! What fails is tried again as the policy says, and then lost.

use super::*;
use crate::booking::FailureBooking;

fn failures(crawl: &Crawl) -> Vec<FailureBooking> {
    let events = crawl.events().into_iter();
    let failures = events.filter_map(|event| match event {
        Event::Failure(failure) => Some(failure),
        _ => None,
    });
    failures.collect()
}

/// Seconds between the requests for `at`.
fn waits(crawl: &Crawl, at: &str) -> Vec<u64> {
    let leases = crawl.events().into_iter().filter_map(|event| match event {
        Event::Page(page) => Some(page.lease),
        Event::Failure(failure) => Some(failure.lease),
        _ => None,
    });
    let at = url(at);
    let times: Vec<Timestamp> = leases
        .filter(|lease| lease.url == at)
        .map(|lease| lease.leased_at)
        .collect();
    let pairs = times.windows(2);
    pairs.map(|pair| pair[1].since(pair[0]).as_secs()).collect()
}

#[tokio::test]
async fn a_busy_server_is_asked_again_as_the_policy_says_and_then_the_page_is_lost() {
    let crawl = Crawl::new(&["a/"]);
    crawl.fail("a/", status(503));
    let progress = crawl.replay().await;
    assert_eq!(crawl.requests(), ["a/"; 4]);
    assert_eq!(waits(&crawl, "a/"), [30, 60, 120]);
    let last: Vec<bool> = failures(&crawl).iter().map(|one| one.is_final).collect();
    assert_eq!(last, [false, false, false, true]);
    assert_eq!((progress.fetched(), progress.requests), (1, 4));
    assert_eq!(progress.curve.relevances(), [0.0]);
    assert_eq!(progress.failures_by_cause.get("status-503"), Some(&4));
}

#[tokio::test]
async fn a_page_that_comes_at_the_second_try_counts_once() {
    let crawl = Crawl::new(&["a/"]);
    crawl.fail("a/", status(500)).page("a/", "reef", &[]);
    let progress = crawl.replay().await;
    assert_eq!(waits(&crawl, "a/"), [20]);
    assert_eq!(
        (progress.fetched(), progress.pages, progress.requests),
        (1, 1, 2)
    );
    let Some(Event::Page(page)) = crawl.events().into_iter().find(|e| e.counts().is_some()) else {
        panic!("no page");
    };
    assert_eq!(page.lease.requests, 2);
}

#[tokio::test]
async fn a_page_that_is_not_there_is_lost_at_once() {
    let crawl = Crawl::new(&["a/"]);
    let progress = crawl.replay().await;
    assert_eq!(crawl.requests(), ["a/"]);
    assert_eq!(
        (progress.failures, progress.curve.loss().to_bits()),
        (1, 1.0_f64.to_bits())
    );
}

#[tokio::test]
async fn a_host_that_cannot_be_reached_is_given_up_with_all_its_links() {
    let crawl = Crawl::new(&["start/"]);
    crawl.page("start/", "reef", &["dead/1", "dead/2", "later/"]);
    crawl.page("later/", "reef", &["dead/3"]);
    crawl.fail("dead/1", FetchError::Connect("refused".into()));
    let progress = crawl.replay().await;
    let dead = crawl
        .requests()
        .into_iter()
        .filter(|to| to.starts_with("dead"));
    assert_eq!(dead.collect::<Vec<_>>(), ["dead/1"; 3]);
    assert_eq!(waits(&crawl, "dead/1"), [10, 20]);
    assert_eq!(crawl.refusal_of("dead/2"), Some(Refusal::HostGivenUp));
    assert_eq!(progress.fetched(), 3);
    assert_eq!(progress.state.1, "out of links");
    assert!(crawl.frontier().host_given_up(&url("dead/").host_key()));
}

#[tokio::test]
async fn links_to_a_host_that_was_given_up_are_not_taken_in() {
    let crawl = Crawl::new(&["dead/", "late/"]);
    crawl.fail("dead/", FetchError::Tls("expired".into()));
    crawl.page("late/", "reef", &["dead/1"]);
    crawl.replay().await;
    assert_eq!(crawl.requests(), ["dead/", "late/"]);
    let refused = crawl.events().into_iter().find_map(|event| match event {
        Event::Page(page) => page.links[0].refusal,
        _ => None,
    });
    assert_eq!(refused, Some(Refusal::HostGivenUp));
}

#[tokio::test]
async fn a_document_that_is_not_read_is_lost_whoever_notices_it() {
    let crawl = Crawl::new(&["head/", "body/"]);
    crawl.fail("head/", FetchError::ContentType("image/png".into()));
    let response = Response {
        status: 200,
        content_type: None,
        robots_tag: None,
        body: b"\x89PNG\r\n\x1a\n\0\0\0\0"[..].into(),
        truncated: false,
        answer_time: Duration::ZERO,
    };
    crawl
        .source
        .answer(url("body/"), Outcome::Response(response));
    let progress = crawl.replay().await;
    assert_eq!(crawl.requests(), ["head/", "body/"]);
    assert_eq!((progress.failures, progress.pages), (2, 0));
    assert_eq!(progress.failures_by_cause.get("content-type"), Some(&2));
}

#[tokio::test]
async fn an_address_that_the_guard_forbids_is_refused_and_does_not_count() {
    let mut crawl = Crawl::new(&["inside/", "a/"]);
    crawl.fail("inside/", FetchError::Address([10, 0, 0, 1].into()));
    crawl.page("a/", "reef", &[]);
    crawl.spec.budget = 1;
    let progress = crawl.replay().await;
    assert_eq!(crawl.pages(), ["a/"]);
    assert_eq!((progress.fetched(), progress.failures), (1, 0));
    assert_eq!(crawl.refusal_of("inside/"), Some(Refusal::Address));
}

#[tokio::test]
async fn a_stated_retry_after_holds_for_the_whole_host_also_after_the_last_try() {
    let crawl = Crawl::new(&["a/1", "a/2"]);
    let busy = FetchError::Status {
        code: 429,
        retry_after: Some(Duration::from_secs(100)),
    };
    crawl.fail("a/1", busy).page("a/2", "reef", &[]);
    crawl.replay().await;
    assert_eq!(waits(&crawl, "a/1"), [100, 100, 100]);
    // Four answers said so, and 1 s was the start.
    let Some(Event::Page(page)) = crawl
        .events()
        .into_iter()
        .find(|e| matches!(e, Event::Page(_)))
    else {
        panic!("no page");
    };
    assert_eq!(page.lease.leased_at, Timestamp(1_000 + 400_000));
}

#[tokio::test]
async fn while_one_host_waits_the_others_are_asked() {
    let crawl = Crawl::new(&["a/", "b/", "c/"]);
    crawl.fail("a/", status(503)).page("a/", "reef", &[]);
    crawl.page("b/", "reef", &["b/1"]);
    crawl.replay().await;
    assert_eq!(crawl.requests(), ["a/", "b/", "c/", "b/1", "a/"]);
}
