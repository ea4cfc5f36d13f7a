//! robots.txt: asked for before a host's first page, obeyed, and never counted.

use super::support::{StandingClock, Timed, on_clock};
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

fn asks_for_patience(code: u16, seconds: u64) -> FetchError {
    FetchError::Status {
        code,
        retry_after: Some(Duration::from_secs(seconds)),
    }
}

#[tokio::test]
async fn a_retry_after_of_robots_txt_parks_its_host_for_that_time_up_to_a_day() {
    for (code, stated, parked) in [(429, 5, 5), (503, 3_600, 3_600), (503, 90_000, 86_400)] {
        let crawl = polite(&["b/"], "");
        crawl.fail("b/robots.txt", asks_for_patience(code, stated));
        crawl.html("b/robots.txt", "");
        crawl.page("b/", "reef", &[]);
        let parked = parked * 1_000;
        let expected = [
            ("b/robots.txt", 0),
            ("b/robots.txt", parked),
            ("b/", parked),
        ];
        assert_eq!(asked(&crawl).await, at(&expected));
    }
}

#[tokio::test]
async fn a_retry_after_behind_a_redirect_of_robots_txt_parks_both_hosts() {
    let crawl = polite(&["b/", "a/"], "");
    crawl.redirect("b/robots.txt", "a/r");
    crawl.fail("a/r", asks_for_patience(503, 3_600));
    crawl.html("a/r", "");
    let parked = 3_600_000;
    let asked = asked(&crawl).await;
    assert_eq!(asked[..2], at(&[("b/robots.txt", 0), ("a/r", 0)]));
    assert_eq!(asked.len(), 7, "{asked:?}");
    assert!(asked[2..].iter().all(|(_, at)| *at == parked), "{asked:?}");
}

/// Crawls to the end, hosts shared by `calendar`; what was asked for when, in ms after the start.
async fn asked_on(crawl: &Crawl, calendar: &HostCalendar) -> Vec<(String, i64)> {
    let source = Timed {
        inner: crawl.source.clone(),
        clock: crawl.clock.clone(),
        asked: Arc::default(),
    };
    let mut parts = crawl.parts(source.clone(), Pace::Replay);
    parts.calendar = calendar.clone();
    let (engine, _handle) = Engine::open(parts).unwrap();
    engine.run().await.unwrap();
    let asked = source.asked.lock().unwrap();
    let asked = asked.iter().map(|(url, at)| (short(url), at.0 - 1_000));
    asked.collect()
}

async fn asked(crawl: &Crawl) -> Vec<(String, i64)> {
    asked_on(crawl, &HostCalendar::default()).await
}

fn at(times: &[(&str, i64)]) -> Vec<(String, i64)> {
    let times = times.iter();
    times.map(|(url, at)| ((*url).to_owned(), *at)).collect()
}

#[tokio::test]
async fn a_redirect_of_robots_txt_within_its_host_waits_for_the_delay() {
    let mut crawl = Crawl::new(&["a/", "a/no"]);
    crawl.robots = RobotsPolicy::Obey(RobotsCache::default());
    crawl.limits().delay_ms_min = Some(3_000);
    crawl.redirect("a/robots.txt", "a/r1");
    crawl.redirect("a/r1", "a/r2");
    crawl.html("a/r2", "User-agent: *\nDisallow: /no");
    let expected = [
        ("a/robots.txt", 0),
        ("a/r1", 3_000),
        ("a/r2", 6_000),
        ("a/", 9_000),
    ];
    assert_eq!(asked(&crawl).await, at(&expected));
    assert_eq!(crawl.refusal_of("a/no"), Some(Refusal::Robots));
}

#[tokio::test]
async fn a_redirect_of_robots_txt_to_another_host_waits_for_that_host_and_holds_it_afterwards() {
    let mut crawl = polite(&["a/", "b/"], "User-agent: *\nCrawl-delay: 5");
    crawl.limits().delay_ms_min = Some(2_000);
    crawl.redirect("b/robots.txt", "a/r");
    crawl.html("a/r", "User-agent: *");
    // Host a asks for 5 s between two requests, whoever they are made for.
    let expected = [
        ("a/robots.txt", 0),
        ("b/robots.txt", 0),
        ("a/r", 5_000),
        ("b/", 7_000),
        ("a/", 10_000),
    ];
    assert_eq!(asked(&crawl).await, at(&expected));
}

#[tokio::test]
async fn a_robots_txt_behind_a_host_that_does_not_become_free_is_unreachable() {
    let mut crawl = polite(&["b/"], "");
    crawl.limits().delay_ms_min = Some(2_000);
    crawl.redirect("b/robots.txt", "a/r");
    let calendar = HostCalendar::default();
    let host = url("a/").host_key();
    let others = calendar.try_lease(&host, crawl.clock.now(), Duration::ZERO);
    let asked = asked_on(&crawl, &calendar).await;
    drop(others);
    assert!(
        asked.iter().all(|(url, _)| url == "b/robots.txt"),
        "{asked:?}"
    );
    // A minute and the delay of 2 s, then parked for 10 minutes.
    assert_eq!(asked[1].1, 62_000 + 600_000);
    assert_eq!(crawl.refusal_of("b/"), Some(Refusal::HostGivenUp));
}

#[tokio::test]
async fn a_host_whose_own_robots_txt_cannot_be_had_is_not_asked_for_that_of_another() {
    let crawl = polite(&["c/", "b/"], "");
    crawl.fail("c/robots.txt", status(500));
    crawl.redirect("b/robots.txt", "c/r");
    crawl.html("c/r", "");
    crawl.replay().await;
    assert!(!crawl.requests().contains(&"c/r".to_owned()));
    assert_eq!(crawl.refusal_of("b/"), Some(Refusal::HostGivenUp));
}

#[tokio::test]
async fn five_redirects_of_robots_txt_are_followed_and_a_sixth_is_not() {
    for (redirects, refused) in [(5, Some(Refusal::Robots)), (6, None)] {
        let crawl = Crawl {
            robots: RobotsPolicy::Obey(RobotsCache::default()),
            ..Crawl::new(&["a/no"])
        };
        crawl.redirect("a/robots.txt", "b/1");
        for hop in 1..redirects {
            crawl.redirect(&format!("b/{hop}"), &format!("b/{}", hop + 1));
        }
        crawl.html(&format!("b/{redirects}"), "User-agent: *\nDisallow: /no");
        crawl.replay().await;
        assert_eq!(crawl.refusal_of("a/no"), refused, "{redirects}");
        let robots = crawl.requests().into_iter().filter(|url| url != "a/no");
        assert_eq!(robots.count(), 6);
    }
}

#[tokio::test]
async fn a_loop_of_redirects_of_robots_txt_ends_and_forbids_nothing() {
    let crawl = polite(&["b/"], "");
    crawl.redirect("b/robots.txt", "b/robots.txt");
    crawl.replay().await;
    assert_eq!(crawl.requests()[..6], ["b/robots.txt"; 6]);
    assert_eq!(crawl.requests()[6..], ["b/"]);
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_the_hosts_that_robots_txt_redirects_to() {
    let mut crawl = Crawl::new(&["a/"]);
    crawl.robots = RobotsPolicy::Obey(RobotsCache::default());
    crawl.limits().delay_ms_min = Some(86_400_000);
    crawl.redirect("a/robots.txt", "a/r");
    let parts = crawl.parts(crawl.source.clone(), Pace::Live);
    let parts = on_clock(parts, StandingClock(crawl.clock.now()));
    let (engine, handle) = Engine::open(parts).unwrap();
    let script = async {
        while crawl.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        handle.shutdown().await;
    };
    let (ended, ()) = tokio::join!(engine.run(), script);
    ended.unwrap();
    assert_eq!(crawl.requests(), ["a/robots.txt"]);
    assert_eq!(crawl.state_of("a/"), Some(LinkState::Waiting));
}

#[tokio::test]
async fn an_address_that_the_guard_forbids_says_nothing_of_the_host_to_other_crawls() {
    let mut crawl = Crawl::new(&["a/"]);
    let cache = RobotsCache::default();
    crawl.robots = RobotsPolicy::Obey(cache.clone());
    crawl.fail("a/robots.txt", FetchError::Address([10, 0, 0, 1].into()));
    let progress = crawl.replay().await;
    assert_eq!(crawl.requests(), ["a/robots.txt"]);
    assert_eq!(crawl.refusal_of("a/"), Some(Refusal::Address));
    assert_eq!(progress.state.1, "out of links");
    assert!(cache.is_empty());
}

#[tokio::test]
async fn a_robots_txt_that_leads_to_a_forbidden_address_permits_nothing() {
    // stormcrawler 2077: a redirect that was refused became a permission.
    let crawl = polite(&["b/"], "");
    crawl.redirect("b/robots.txt", "inside/robots.txt");
    crawl.fail(
        "inside/robots.txt",
        FetchError::Address([10, 0, 0, 1].into()),
    );
    crawl.replay().await;
    assert!(!crawl.requests().contains(&"b/".to_owned()));
    assert_eq!(crawl.refusal_of("b/"), Some(Refusal::HostGivenUp));
    let told = crawl.events().into_iter().find_map(|event| match event {
        Event::HostFacts(facts) if facts.robots.contains("leads elsewhere") => Some(facts.robots),
        _ => None,
    });
    assert!(told.unwrap().contains("10.0.0.1"));
}

#[tokio::test]
async fn why_a_robots_txt_cannot_be_had_is_booked_and_counted() {
    let mut crawl = Crawl::new(&["a/"]);
    crawl.robots = RobotsPolicy::Obey(RobotsCache::default());
    let dns = FetchError::Dns {
        host: "a".into(),
        detail: "no such name".into(),
    };
    crawl.fail("a/robots.txt", dns);
    let progress = crawl.replay().await;
    assert_eq!(
        progress.failures_by_cause.get("robots-unreachable"),
        Some(&3)
    );
    assert_eq!((progress.failures, progress.fetched()), (0, 0));
    let facts = crawl.events().into_iter().find_map(|event| match event {
        Event::HostFacts(facts) => Some(facts.robots),
        _ => None,
    });
    assert_eq!(
        facts.unwrap(),
        "unreachable: no address for a: no such name"
    );
}

#[tokio::test]
async fn a_crawl_may_wait_longer_for_a_robots_txt_than_is_usual() {
    let mut crawl = Crawl::new(&["a/"]);
    crawl.robots = RobotsPolicy::Obey(RobotsCache::default());
    crawl.limits().robots_tries_max = 100;
    crawl.fail("a/robots.txt", status(500));
    crawl.page("a/", "reef", &[]);
    let progress = crawl.replay().await;
    // After thirty days the host is taken to have none.
    assert_eq!(progress.pages, 1);
    let asked = crawl.requests().len();
    assert_eq!(asked, 38 + 1);
}
