//! What several callers do to one crawl at once.

use super::*;
use crate::clock::SimulatedClock;
use crate::fetch::ScriptedSource;
use crate::fetch::robots::{Origin, RobotsAnswer};
use crate::frontier::Held;

type TestRegistry = Registry<ScriptedSource, SimulatedClock>;

async fn registry_in(root: &Path, needs_contact: bool) -> Arc<TestRegistry> {
    let shared = Shared {
        source: Arc::new(ScriptedSource::new()),
        clock: SimulatedClock::starting_at(Timestamp(1_000)),
        needs_contact,
        guard_note: String::new(),
    };
    let dir = DataDir::open(root).unwrap();
    Registry::open(dir, shared).await.unwrap()
}

async fn registry_with_a_crawl(root: &Path) -> Arc<TestRegistry> {
    let registry = registry_in(root, false).await;
    let critic = concat!(env!("CARGO_MANIFEST_DIR"), "/models/demo.critic");
    let spec = v1::CrawlSpec {
        name: "crawl".to_owned(),
        topics: vec!["beekeeping".to_owned()],
        critic: critic.to_owned(),
        seeds: vec!["http://a.test/".to_owned()],
        ..Default::default()
    };
    registry.create(spec).await.unwrap();
    registry
}

#[tokio::test]
async fn what_robots_txt_said_is_known_after_a_restart_but_not_what_an_archive_said() {
    for needs_contact in [true, false] {
        let root = tempfile::tempdir().unwrap();
        for expected in [None, Some(RobotsAnswer::AllowAll).filter(|_| needs_contact)] {
            let registry = registry_in(root.path(), needs_contact).await;
            let url = CanonicalUrl::parse("http://a.test/").unwrap();
            let known = registry.robots.lookup(&url, Timestamp(1_000));
            assert_eq!(known, expected);
            let origin = Origin::of(&url);
            (registry.robots).insert(origin, RobotsAnswer::AllowAll, Timestamp(1_000));
        }
    }
}

#[tokio::test]
async fn a_crawl_that_is_being_opened_says_so_and_keeps_nobody_waiting() {
    let root = tempfile::tempdir().unwrap();
    let registry = registry_with_a_crawl(root.path()).await;
    let opening = Arc::new(Opening::default());
    let slot = Slot::Opening(Arc::clone(&opening));
    let mut slots = registry.slots.lock().await;
    slots.crawls.insert("large".to_owned(), slot);
    drop(slots);
    let crawls = registry.list().await;
    let large = crawls.iter().find(|crawl| crawl.name == "large").unwrap();
    assert_eq!(large.state, v1::CrawlState::Opening as i32);
    assert_eq!(
        (crawls.len(), large.idle.as_str()),
        (2, "waits to be opened")
    );
    for words in [
        registry
            .get("large")
            .await
            .map(drop)
            .unwrap_err()
            .to_string(),
        registry
            .resume("large")
            .await
            .map(drop)
            .unwrap_err()
            .to_string(),
        registry.delete("large").await.unwrap_err().to_string(),
    ] {
        assert!(
            words.contains("is being opened") && words.contains("wait for it"),
            "{words}"
        );
    }
    registry.shutdown().await;
    assert!(opening.is_stopped());
}

#[tokio::test]
async fn a_registry_that_is_closed_while_it_opens_leaves_its_crawls_whole() {
    let root = tempfile::tempdir().unwrap();
    let registry = registry_with_a_crawl(root.path()).await;
    registry.shutdown().await;
    drop(registry);
    // As a kill leaves what was being written.
    let torn = root.path().join("crawls/crawl/learned.77.new");
    std::fs::write(&torn, "half").unwrap();
    let shared = Shared {
        source: Arc::new(ScriptedSource::new()),
        clock: SimulatedClock::starting_at(Timestamp(1_000)),
        needs_contact: false,
        guard_note: String::new(),
    };
    let dir = DataDir::open(root.path()).unwrap();
    let registry = Registry::open(dir, shared).await.unwrap();
    let crawl = registry.status("crawl").await.unwrap();
    assert_ne!(crawl.state, v1::CrawlState::Opening as i32);
    assert!(!torn.exists());
    // As when the daemon is told to stop before this one's turn has come.
    let stopped = Arc::new(Opening::default());
    stopped.stop();
    registry.open_and_put("crawl", stopped).await;
    assert!(registry.get("crawl").await.is_ok());
    registry.shutdown().await;
    let slot = registry.start_or_note("crawl", Arc::default()).await;
    assert!(matches!(slot, Slot::Open(_)));
    TestRegistry::end(slot).await;
}

#[tokio::test]
async fn a_broken_crawl_that_several_resume_at_once_is_opened_once() {
    let root = tempfile::tempdir().unwrap();
    let registry = registry_with_a_crawl(root.path()).await;
    let mut slots = registry.slots.lock().await;
    let Some(Slot::Open(Running { handle, thread, .. })) = slots.crawls.remove("crawl") else {
        panic!("the crawl is not open");
    };
    handle.shutdown().await;
    // Whoever holds the handle holds the log.
    drop(handle);
    on_blocking_pool(move || Ok(thread.join().is_ok()))
        .await
        .unwrap();
    let broken = Slot::Broken("for this test".to_owned());
    slots.crawls.insert("crawl".to_owned(), broken);
    let callers: Vec<_> = (0..3)
        .map(|_| {
            let registry = Arc::clone(&registry);
            tokio::spawn(async move { registry.resume("crawl").await })
        })
        .collect();
    // One thread: now all of them stand at the lock, and will see a broken crawl.
    tokio::task::yield_now().await;
    drop(slots);
    for caller in callers {
        let resumed = tokio::time::timeout(Duration::from_mins(1), caller).await;
        resumed.expect("nobody answers").unwrap().unwrap();
    }
    assert_eq!(registry.count().await, 1);
    registry.shutdown().await;
}

#[test]
fn a_crawl_that_is_opened_again_or_made_keeps_nobody_waiting() {
    // One thread for what blocks, and this test holds it: nothing can be opened for as long.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let root = tempfile::tempdir().unwrap();
        let registry = registry_with_a_crawl(root.path()).await;
        let mut slots = registry.slots.lock().await;
        let broken = Slot::Broken("for this test".to_owned());
        slots.crawls.insert("broken".to_owned(), broken);
        drop(slots);
        let (release, held) = std::sync::mpsc::channel::<()>();
        let holder = tokio::task::spawn_blocking(move || held.recv());
        let spec = v1::CrawlSpec {
            name: "new".to_owned(),
            topics: vec!["beekeeping".to_owned()],
            critic: concat!(env!("CARGO_MANIFEST_DIR"), "/models/demo.critic").to_owned(),
            seeds: vec!["http://b.test/".to_owned()],
            ..Default::default()
        };
        let again = Arc::clone(&registry);
        let again = tokio::spawn(async move { again.resume("broken").await });
        let new = Arc::clone(&registry);
        let new = tokio::spawn(async move { new.create(spec).await });
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        let moment = Duration::from_secs(10);
        for name in ["broken", "new"] {
            let state = tokio::time::timeout(moment, registry.status(name)).await;
            let state = state.expect("it waits").unwrap().state;
            assert_eq!(state, v1::CrawlState::Opening as i32, "{name}");
        }
        // A caller who goes away leaves nothing that is opened for ever.
        new.abort();
        release.send(()).unwrap();
        holder.await.unwrap().unwrap();
        // It has no folder.
        assert!(matches!(
            again.await.unwrap(),
            Err(RegistryError::Broken { .. })
        ));
        registry.until_opened("new").await;
        assert!(registry.get("new").await.is_ok());
        registry.shutdown().await;
    });
}

#[tokio::test]
async fn a_host_that_is_to_be_left_alone_is_known_before_any_log_is_read() {
    for needs_contact in [true, false] {
        let root = tempfile::tempdir().unwrap();
        let host = CanonicalUrl::parse("http://a.test/").unwrap().host_key();
        let until = Timestamp(86_401_000);
        for expected in [None, Some(Held::Until(until)).filter(|_| needs_contact)] {
            let registry = registry_in(root.path(), needs_contact).await;
            let (calendar, now) = (&registry.calendar, Timestamp(1_000));
            assert_eq!(calendar.held(&host, now, Duration::ZERO), expected);
            if let Ok(lease) = calendar.try_lease(&host, now, Duration::ZERO) {
                lease.release(now, until);
            }
        }
    }
}
