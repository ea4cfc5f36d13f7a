//! Budget, seeds, pause and resume.

use std::sync::atomic::{AtomicU64, Ordering};

use super::support::{FailingStore, ImpatientClock, on_clock};
use super::*;

/// A seed that links to `hosts` pages on hosts of their own; every third is first busy, every fourth
/// redirects.
fn wide(hosts: usize) -> Crawl {
    let crawl = Crawl::new(&["seed/"]);
    let links: Vec<String> = (0..hosts).map(|at| format!("h{at}/")).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    crawl.page("seed/", "reef", &links);
    for (at, link) in links.iter().enumerate() {
        match at % 12 {
            0 | 3 | 6 | 9 => crawl.fail(link, status(503)).page(link, "reef", &[]),
            4 | 8 => {
                crawl
                    .redirect(link, &format!("h{at}/to"))
                    .page(&format!("h{at}/to"), "sand", &[])
            }
            _ => crawl.page(link, "reef", &[]),
        };
    }
    crawl
}

fn counted(events: &[Event]) -> usize {
    events
        .iter()
        .filter(|event| event.counts().is_some())
        .count()
}

fn uncounted(events: &[Event]) -> usize {
    let ended = |event: &&Event| match event {
        Event::Failure(failure) => !failure.is_final,
        Event::Redirect(_) => true,
        _ => false,
    };
    events.iter().filter(ended).count()
}

#[tokio::test]
async fn the_budget_is_met_exactly_and_retries_and_redirects_do_not_count() {
    for in_flight in [1, 8] {
        for budget in [1, 2, 9, 10, 25] {
            let mut crawl = wide(60);
            crawl.spec.budget = budget;
            crawl.limits().in_flight_max = in_flight;
            let progress = crawl.replay().await;
            let events = crawl.events();
            assert_eq!(progress.fetched(), budget, "{in_flight} in flight");
            assert_eq!(counted(&events) as u64, budget);
            assert_eq!(
                crawl.requests().len(),
                counted(&events) + uncounted(&events)
            );
            assert_eq!(
                progress.state.1,
                format!("budget of {budget} fetches spent")
            );
        }
    }
    // The web is such that the last case has both.
    let crawl = wide(60);
    crawl.replay().await;
    assert_eq!(
        (counted(&crawl.events()), uncounted(&crawl.events())),
        (61, 30)
    );
}

#[tokio::test]
async fn the_budget_is_met_exactly_by_a_live_crawl_with_eight_in_flight() {
    let mut crawl = wide(60);
    crawl.spec.budget = 13;
    crawl.limits().in_flight_max = 8;
    let status = crawl
        .live(async |handle| until_finished(&handle).await)
        .await;
    assert_eq!(status.fetched, 13);
    assert_eq!(status.requests, crawl.requests().len() as u64);
    assert_eq!(counted(&crawl.events()), 13);
}

#[tokio::test]
async fn seeds_count() {
    let mut crawl = Crawl::new(&["a/", "b/", "c/"]);
    crawl.page("a/", "reef", &["a/1"]).page("b/", "sand", &[]);
    crawl.spec.budget = 3;
    let progress = crawl.replay().await;
    assert_eq!(crawl.requests(), ["a/", "b/", "c/"]);
    assert_eq!((progress.pages, progress.failures), (2, 1));
}

#[tokio::test]
async fn a_crawl_without_links_left_is_finished_and_says_so() {
    let crawl = Crawl::new(&["a/"]);
    crawl
        .page("a/", "reef", &["a/", "a/1"])
        .page("a/1", "reef", &["a/"]);
    let progress = crawl.replay().await;
    let finished = (CrawlState::Finished, "out of links".to_owned());
    assert_eq!(progress.state, finished);
    assert_eq!(crawl.pages(), ["a/", "a/1"]);
}

#[tokio::test]
async fn seeds_set_a_finished_crawl_going_again_unless_they_are_known() {
    let crawl = Crawl::new(&["a/"]);
    crawl.page("a/", "reef", &[]).page("b/", "reef", &["b/1"]);
    crawl
        .live(async |handle| {
            until_finished(&handle).await;
            let known = handle.add_seeds(vec![url("a/")]).await.unwrap();
            assert_eq!((known.added, known.known), (0, 1));
            assert_eq!(until_finished(&handle).await.fetched, 1);
            let added = handle.add_seeds(vec![url("b/"), url("b/"), url("a/")]);
            let added = added.await.unwrap();
            assert_eq!((added.added, added.known), (1, 2));
            until(&handle, |status| status.fetched == 3).await;
            until_finished(&handle).await;
        })
        .await;
    assert_eq!(crawl.requests(), ["a/", "b/", "b/1"]);
}

#[tokio::test]
async fn a_url_that_the_scope_refused_can_still_be_given_as_a_seed() {
    let mut crawl = Crawl::new(&["a/"]);
    crawl.scope().allow = vec!["^http://a".into()];
    crawl.page("a/", "reef", &["b/"]).page("b/", "reef", &[]);
    crawl
        .live(async |handle| {
            until_finished(&handle).await;
            let added = handle.add_seeds(vec![url("b/")]).await.unwrap();
            assert_eq!((added.added, added.known), (1, 0));
            until(&handle, |status| status.fetched == 2).await;
        })
        .await;
    assert_eq!(crawl.pages(), ["a/", "b/"]);
}

#[tokio::test]
async fn a_spent_budget_has_to_be_raised_before_the_crawl_goes_on() {
    let mut crawl = wide(20);
    crawl.spec.budget = 2;
    crawl
        .live(async |handle| {
            until_finished(&handle).await;
            let refused = handle.set_state(CrawlState::Running, "on").await;
            let words = refused.unwrap_err().to_string();
            assert!(
                words.contains("budget of 2") && words.contains("--budget"),
                "{words}"
            );
            handle
                .update(update(|change| change.budget = Some(5)))
                .await
                .unwrap();
            until(&handle, |status| status.fetched == 5).await;
            assert_eq!(until_finished(&handle).await.fetched, 5);
        })
        .await;
    assert_eq!(counted(&crawl.events()), 5);
}

#[tokio::test]
async fn a_pause_leases_nothing_more_and_books_what_is_in_flight() {
    let mut crawl = wide(20);
    crawl.limits().in_flight_max = 4;
    let gate = Gate::new(crawl.source.clone(), 1);
    let other = gate.clone();
    crawl
        .live_from(gate.clone(), async |handle| {
            other.until_asked(5).await;
            let paused = handle.set_state(CrawlState::Paused, "lunch").await;
            assert_eq!(paused.unwrap().in_flight, 4);
            other.let_through(1_000);
            let status = until(&handle, |status| status.in_flight == 0).await;
            assert_eq!(status.idle, "paused: lunch");
            let status = until(&handle, |status| status.requests == 5).await;
            assert_eq!(
                (status.state, other.asked()),
                (v1::CrawlState::Paused as i32, 5)
            );
            handle.set_state(CrawlState::Running, "back").await.unwrap();
            until_finished(&handle).await;
        })
        .await;
    assert_eq!(counted(&crawl.events()), 21);
}

#[tokio::test]
async fn a_crawl_that_is_shut_down_books_what_is_in_flight_and_goes_on_when_it_is_opened() {
    let mut crawl = wide(20);
    crawl.limits().in_flight_max = 4;
    let gate = Gate::new(crawl.source.clone(), 1);
    let other = gate.clone();
    crawl
        .live_from(gate, async |handle| {
            other.until_asked(5).await;
            let shut = async {
                tokio::task::yield_now().await;
                other.let_through(1_000);
            };
            tokio::join!(handle.shutdown(), shut);
            assert!(matches!(handle.status().await, Err(CrawlError::Closed(_))));
        })
        .await;
    assert_eq!(other.asked(), 5);
    assert_eq!(crawl.store.durable(), crawl.store.last());
    assert_eq!(progress_of(crawl.store.as_ref()).requests, 5);
    let progress = crawl.replay().await;
    assert_eq!((progress.fetched(), crawl.requests().len()), (21, 31));
}

#[tokio::test]
async fn a_crawl_on_its_way_out_answers_until_its_fetches_are_booked() {
    let crawl = wide(10);
    let gate = Gate::new(crawl.source.clone(), 0);
    let other = gate.clone();
    let status = crawl
        .live_from(gate, async |handle| {
            other.until_asked(1).await;
            let look = async {
                let asked = tokio::time::timeout(Duration::from_mins(1), handle.status()).await;
                other.let_through(1_000);
                asked.expect("no answer").unwrap()
            };
            tokio::join!(handle.shutdown(), look).1
        })
        .await;
    assert_eq!(status.state(), v1::CrawlState::Running);
    assert_eq!((status.in_flight, status.fetched), (1, 0));
    assert_eq!(crawl.pages(), ["seed/"]);
}

#[tokio::test]
async fn an_idle_crawl_is_not_woken_for_what_an_earlier_flush_has_covered() {
    let crawl = Crawl::new(&[]);
    crawl.begin();
    let store = Arc::new(FailingStore::new(Arc::clone(&crawl.store), 0..0));
    let clock = ImpatientClock {
        inner: crawl.clock.clone(),
        in_vain: Arc::new(AtomicU64::new(0)),
    };
    let parts = crawl.parts_on(crawl.source.clone(), Pace::Live, Arc::clone(&store) as _);
    let (engine, handle) = Engine::open(on_clock(parts, clock)).unwrap();
    let script = async {
        until_finished(&handle).await;
        let events = crawl.store.last().0 + 2;
        store.waits_for.store(events, Ordering::SeqCst);
        // The flush for the state ends only when the seeds have come, and covers them.
        let (stopped, added) = tokio::join!(
            handle.set_state(CrawlState::Stopped, "enough"),
            handle.add_seeds(vec![url("a/")])
        );
        stopped.unwrap();
        assert_eq!(added.unwrap().added, 1);
        for _ in 0..100 {
            handle.status().await.unwrap();
        }
        handle.shutdown().await;
    };
    let (ended, ()) = tokio::join!(engine.run(), script);
    ended.unwrap();
}
