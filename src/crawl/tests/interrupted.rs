//! A crawl whose log stops after any event, on disk and in memory, under a clock that has jumped: opened
//! again it is what a plain list of the events says, and comes to the same end.

use tempfile::TempDir;

use super::support::FailingStore;
use super::*;
use crate::frontier::{Held, SledStore};
use crate::store::StoreOptions;

/// Some of everything: redirects, failures that are tried again, links that come twice.
fn small() -> Crawl {
    let mut crawl = Crawl::new(&["start/", "moved/"]);
    crawl.limits().delay_ms_min = Some(1_000);
    crawl.page("start/", "reef", &["a/1", "a/2", "busy/", "gone/", "c/"]);
    crawl.page("a/1", "sand", &["b/", "b/1", "start/", "a/3"]);
    crawl.page("a/2", "reef", &["b/1", "c/", "a/3"]);
    crawl.page("a/3", "reef", &[]);
    crawl
        .fail("busy/", status(503))
        .page("busy/", "reef", &["b/3"]);
    crawl.redirect("moved/", "b/").redirect("c/", "c/1");
    crawl.page("b/", "reef", &["a/1", "b/4"]);
    crawl.page("b/1", "sand", &["b/4"]);
    crawl.page("b/3", "reef", &[]).page("b/4", "sand", &[]);
    crawl.page("c/1", "reef", &["c/", "moved/"]);
    crawl
}

async fn run_on(crawl: &Crawl, store: Arc<dyn FrontierStore>) -> Result<(), EngineError> {
    let parts = crawl.parts_on(crawl.source.clone(), Pace::Replay, store);
    let (engine, _handle) = Engine::open(parts)?;
    engine.run().await.map(|_| ())
}

/// The log of a crawl that nothing interrupts, and its pages.
async fn undisturbed() -> (Vec<Event>, Vec<String>) {
    let crawl = small();
    crawl.replay().await;
    (crawl.events(), sorted(crawl.pages()))
}

fn sorted(mut pages: Vec<String>) -> Vec<String> {
    pages.sort_unstable();
    pages
}

/// The first events of a crawl, durable.
fn begin_on(store: &dyn FrontierStore, crawl: &Crawl) -> u64 {
    crawl.begin();
    for event in crawl.events() {
        store.append(event);
    }
    store.flush().unwrap().0
}

/// What a plain list of the events gives.
fn plain(events: &[Event], crawl: &Crawl) -> Frontier {
    let store = MemoryStore::new();
    for event in events {
        store.append(event.clone());
    }
    frontier_of(&store, &crawl.spec)
}

#[tokio::test]
async fn a_crawl_that_stops_after_any_event_is_on_disk_what_a_plain_list_says() {
    let (events, pages) = undisturbed().await;
    let options = StoreOptions {
        free_bytes_min: 0,
        ..StoreOptions::default()
    };
    for stop in 3..events.len() {
        let crawl = small();
        let home = TempDir::new().unwrap();
        let open = || Arc::new(SledStore::open(home.path(), &options).unwrap());
        let inner = open();
        assert_eq!(begin_on(inner.as_ref(), &crawl), 3);
        let stopping = FailingStore::stopping_after(Arc::clone(&inner), Seq(stop as u64));
        let ended = run_on(&crawl, Arc::new(stopping)).await;
        assert!(ended.unwrap_err().to_string().contains("it has stopped"));
        drop(inner);

        let left = open();
        assert_eq!(
            events_of(left.as_ref()),
            events[..stop],
            "stopped at {stop}"
        );
        let again = small();
        let parts = again.parts_on(again.source.clone(), Pace::Replay, Arc::clone(&left) as _);
        let (engine, _handle) = Engine::open(parts).unwrap();
        let model = plain(&events[..stop], &again);
        assert_eq!(engine.frontier.image(), model.image(), "stopped at {stop}");
        engine.run().await.unwrap();
        assert_eq!(sorted(pages_of(left.as_ref())), pages, "stopped at {stop}");
    }
}

#[tokio::test]
async fn a_clock_that_jumps_between_two_lives_costs_no_page_and_doubles_none() {
    const HOUR_MS: i64 = 3_600_000;
    let (events, pages) = undisturbed().await;
    for jump in [-HOUR_MS, 24 * HOUR_MS] {
        for stop in 3..events.len() {
            let mut crawl = small();
            crawl.clock = SimulatedClock::starting_at(Timestamp(2 * HOUR_MS));
            let inner = Arc::new(MemoryStore::new());
            begin_on(inner.as_ref(), &crawl);
            let stopping = FailingStore::stopping_after(Arc::clone(&inner), Seq(stop as u64));
            assert!(run_on(&crawl, Arc::new(stopping)).await.is_err());

            let left = Arc::new(inner.after_crash());
            let mut again = small();
            let now = crawl.clock.now();
            again.clock = SimulatedClock::starting_at(Timestamp(now.0 + jump));
            run_on(&again, Arc::clone(&left) as _).await.unwrap();
            assert_eq!(sorted(pages_of(left.as_ref())), pages, "{stop} {jump}");
        }
    }
}

#[tokio::test]
async fn a_clock_put_back_between_two_lives_draws_out_no_wait() {
    const DAY_MS: i64 = 86_400_000;
    let mut crawl = Crawl::new(&["a/", "b/"]);
    crawl.clock = SimulatedClock::starting_at(Timestamp(3 * DAY_MS));
    crawl.limits().delay_ms_min = Some(10_000);
    let away = FetchError::Status {
        code: 503,
        retry_after: Some(Duration::from_secs(100)),
    };
    crawl.page("a/", "reef", &[]).fail("b/", away);
    crawl.replay().await;
    let asked = crawl.clock.now();
    let reopened = |now: Timestamp| {
        let mut parts = crawl.parts(crawl.source.clone(), Pace::Replay);
        parts.clock = SimulatedClock::starting_at(now);
        let calendar = parts.calendar.clone();
        let _opened = Engine::open(parts).unwrap();
        ["a/", "b/"].map(
            |at| match calendar.held(&url(at).host_key(), now, Duration::ZERO) {
                Some(Held::Until(until)) => until.0 - now.0,
                _ => 0,
            },
        )
    };
    assert_eq!(reopened(Timestamp(asked.0 - 2 * DAY_MS)), [10_000, 100_000]);
    // Under a clock that was left alone the log counts as it stands.
    assert_eq!(reopened(Timestamp(asked.0 + 50_000)), [0, 50_000]);
}
