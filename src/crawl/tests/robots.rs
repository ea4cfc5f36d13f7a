//! robots.txt: asked for before a host's first page, obeyed, and never counted.

use super::*;

/// A crawl that obeys; `robots` is the file of host `a`.
fn polite(seeds: &[&str], robots: &str) -> Crawl {
    let mut crawl = Crawl::new(seeds);
    crawl.robots = RobotsPolicy::Obey(RobotsCache::default());
    crawl.html("a/robots.txt", robots);
    crawl
}

#[tokio::test]
async fn what_robots_txt_forbids_is_refused_before_it_is_fetched() {
    let crawl = polite(&["a/", "a/no/1"], "User-agent: *\nDisallow: /no");
    crawl.page("a/", "reef", &[]);
    let progress = crawl.replay().await;
    assert_eq!(crawl.requests(), ["a/robots.txt", "a/"]);
    assert_eq!(crawl.refusal_of("a/no/1"), Some(Refusal::Robots));
    assert_eq!(progress.refused_by_reason.get("robots"), Some(&1));
}

#[tokio::test]
async fn links_are_held_against_the_rules_that_are_known_when_they_are_taken_in() {
    let crawl = polite(&["a/"], "User-agent: *\nDisallow: /no");
    crawl.page("a/", "reef", &["a/no/1", "a/yes", "b/no/1"]);
    crawl.replay().await;
    let refusals = crawl.events().into_iter().find_map(|event| match event {
        Event::Page(page) => Some(
            page.links
                .iter()
                .map(|link| link.refusal)
                .collect::<Vec<_>>(),
        ),
        _ => None,
    });
    assert_eq!(refusals.unwrap(), [Some(Refusal::Robots), None, None]);
    assert_eq!(
        crawl.requests(),
        ["a/robots.txt", "a/", "a/yes", "b/robots.txt", "b/no/1"]
    );
}

#[tokio::test]
async fn requests_for_robots_txt_do_not_count() {
    let mut crawl = polite(&["a/", "b/", "c/"], "");
    crawl.spec.budget = 2;
    let progress = crawl.replay().await;
    assert_eq!((progress.fetched(), progress.requests), (2, 2));
    assert_eq!(
        crawl.requests(),
        ["a/robots.txt", "a/", "b/robots.txt", "b/"]
    );
}

/// When each request for a page was made, in ms after the start.
fn times(crawl: &Crawl) -> Vec<i64> {
    let leases = crawl.events().into_iter().filter_map(|event| match event {
        Event::Page(page) => Some(page.lease.leased_at.0 - 1_000),
        Event::Failure(failure) => Some(failure.lease.leased_at.0 - 1_000),
        _ => None,
    });
    leases.collect()
}

#[tokio::test]
async fn a_crawl_delay_is_kept_from_robots_txt_on_up_to_a_minute() {
    for (asked, kept) in [(5, 5_000), (7_200, 60_000)] {
        let crawl = polite(
            &["a/1", "a/2"],
            &format!("User-agent: *\nCrawl-delay: {asked}"),
        );
        crawl.replay().await;
        assert_eq!(times(&crawl), [kept, 2 * kept]);
    }
}

#[tokio::test]
async fn a_crawl_delay_shorter_than_the_own_delay_hurries_nobody() {
    let mut crawl = polite(&["a/1", "a/2"], "User-agent: *\nCrawl-delay: 1");
    crawl.limits().delay_ms_min = Some(3_000);
    crawl.replay().await;
    assert_eq!(times(&crawl), [3_000, 6_000]);
}

#[tokio::test]
async fn a_host_without_robots_txt_forbids_nothing() {
    let mut crawl = polite(&["b/"], "");
    crawl.limits().delay_ms_min = Some(1_000);
    crawl.page("b/", "reef", &[]);
    crawl.replay().await;
    assert_eq!(crawl.requests(), ["b/robots.txt", "b/"]);
    assert_eq!(times(&crawl), [1_000]);
}

#[tokio::test]
async fn a_host_whose_robots_txt_cannot_be_had_is_parked_and_given_up_after_the_third_try() {
    let crawl = polite(&["b/", "b/1"], "");
    crawl.fail("b/robots.txt", status(500));
    let progress = crawl.replay().await;
    assert_eq!(crawl.requests(), ["b/robots.txt"; 3]);
    assert_eq!(progress.fetched(), 0);
    let learned: Vec<(i64, bool)> = crawl
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::HostFacts(facts) => Some(((facts.at.0 - 1_000) / 60_000, facts.given_up)),
            _ => None,
        })
        .collect();
    assert_eq!(learned, [(0, false), (10, false), (30, true)]);
    for link in ["b/", "b/1"] {
        assert_eq!(crawl.refusal_of(link), Some(Refusal::HostGivenUp));
    }
}

#[tokio::test]
async fn a_host_whose_robots_txt_comes_at_the_second_try_is_crawled() {
    let crawl = polite(&["b/", "b/no"], "");
    crawl.fail("b/robots.txt", status(500));
    crawl.html("b/robots.txt", "User-agent: *\nDisallow: /no");
    crawl.page("b/", "reef", &[]);
    crawl.replay().await;
    assert_eq!(crawl.requests(), ["b/robots.txt", "b/robots.txt", "b/"]);
    assert_eq!(times(&crawl), [600_000]);
}
