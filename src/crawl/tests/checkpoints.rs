//! What was learned, written down: opened with it, a crawl is what its log alone makes of it.

use super::learning::{hubs, without_sand};
use super::retraining::{TestEngine, go_on, opened, order, scores};
use super::*;

/// Written each time that 20 pages were judged.
fn kept_in(folder: &tempfile::TempDir) -> LearnedFile {
    LearnedFile {
        path: folder.path().join("learned"),
        every: 20,
    }
}

/// A crawl of 90 pages that has been written down.
async fn kept(mut crawl: Crawl, folder: &tempfile::TempDir) -> Crawl {
    crawl.spec.budget = 90;
    crawl.limits().in_flight_max = 4;
    crawl.learned = Some(kept_in(folder));
    crawl
        .live(|handle| async move {
            until_finished(&handle).await;
        })
        .await;
    assert!(folder.path().join("learned").exists());
    crawl
}

/// The event that the engine was opened at.
fn restored(engine: &TestEngine) -> Option<Seq> {
    engine.learning.checkpoints.restored()
}

/// Opened as it is kept, and as the log alone has it.
fn both(crawl: &mut Crawl) -> [TestEngine; 2] {
    let file = crawl.learned.take();
    let by_log = opened(crawl);
    crawl.learned = file;
    [opened(crawl), by_log]
}

fn assert_same([kept, by_log]: &mut [TestEngine; 2]) {
    assert_eq!(kept.list_epochs(), by_log.list_epochs());
    assert_eq!(kept.learned(), by_log.learned());
    assert_eq!(kept.scorer.epoch(), by_log.scorer.epoch());
    assert_eq!(kept.frontier.image(), by_log.frontier.image());
    assert_eq!(kept.spec.order, by_log.spec.order);
    assert_eq!(kept.raw_spec, by_log.raw_spec);
    assert_eq!(kept.learning.from_start, by_log.learning.from_start);
    assert_eq!(
        kept.learning.epochs.instances,
        by_log.learning.epochs.instances
    );
    assert_eq!(kept.learning.pages, by_log.learning.pages);
    assert_eq!(kept.learning.redirects, by_log.learning.redirects);
    assert!(scores(kept) == scores(by_log), "other scores");
}

#[tokio::test]
async fn a_crawl_that_is_opened_with_what_it_had_learned_is_the_fold_of_its_log() {
    for crawl in [hubs("ftrl"), hubs("nb"), without_sand("auto", 404)] {
        let folder = tempfile::tempdir().unwrap();
        let mut crawl = kept(crawl, &folder).await;
        let mut engines = both(&mut crawl);
        let at = restored(&engines[0]).unwrap();
        assert!(at > Seq(60), "{at:?}");
        assert_eq!(restored(&engines[1]), None);
        assert_same(&mut engines);
        drop(engines);
        // And so it goes on: written down, opened, and the same once more.
        crawl
            .live(|handle| async move { go_on(&handle, 140).await })
            .await;
        let mut engines = both(&mut crawl);
        assert!(restored(&engines[0]) > Some(at));
        assert_same(&mut engines);
    }
}

#[tokio::test]
async fn after_a_retraining_it_is_written_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut crawl = kept(hubs("baseline"), folder_of_none(&folder)).await;
    crawl
        .live(|handle| async move {
            handle.retrain(order("ftrl")).await.unwrap();
        })
        .await;
    let mut engines = both(&mut crawl);
    let at = restored(&engines[0]).unwrap();
    assert_eq!(engines[0].spec.order, CrawlOrder::Ftrl);
    assert_same(&mut engines);
    drop(engines);
    crawl
        .live(|handle| async move { go_on(&handle, 150).await })
        .await;
    let mut engines = both(&mut crawl);
    assert!(restored(&engines[0]) > Some(at));
    assert_same(&mut engines);
}

/// A crawl that learns nothing writes nothing: the file is there so that [`kept`] finds one.
fn folder_of_none(folder: &tempfile::TempDir) -> &tempfile::TempDir {
    std::fs::write(folder.path().join("learned"), "").unwrap();
    folder
}

#[tokio::test]
async fn one_from_before_a_retraining_is_of_no_use_and_harms_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut crawl = kept(hubs("ftrl"), &folder).await;
    let before = std::fs::read(folder.path().join("learned")).unwrap();
    crawl
        .live(|handle| async move {
            handle.retrain(order("nb")).await.unwrap();
            go_on(&handle, 110).await;
        })
        .await;
    std::fs::write(folder.path().join("learned"), before).unwrap();
    let mut engines = both(&mut crawl);
    assert!(restored(&engines[0]).is_some());
    assert_eq!(engines[0].spec.order, CrawlOrder::Nb);
    assert_same(&mut engines);
}

#[tokio::test]
async fn what_is_damaged_or_of_other_events_is_left_aside() {
    let folder = tempfile::tempdir().unwrap();
    let mut crawl = kept(hubs("auto"), &folder).await;
    let path = folder.path().join("learned");
    let whole = std::fs::read(&path).unwrap();
    let mut wrong: Vec<Vec<u8>> = vec![Vec::new(), b"another file".to_vec()];
    wrong.extend([8, 12, 20, 28, whole.len() - 1].map(|end| whole[..end].to_vec()));
    let places = (0..whole.len()).step_by(whole.len() / 8 + 1);
    wrong.extend(places.map(|at| {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        flipped
    }));
    for bytes in wrong {
        std::fs::write(&path, &bytes).unwrap();
        let engine = opened(&crawl);
        assert_eq!(restored(&engine), None, "{} bytes", bytes.len());
    }
    std::fs::write(&path, &whole).unwrap();
    // The same web and learner, but other moments.
    let mut other = hubs("auto");
    other.clock = SimulatedClock::starting_at(Timestamp(77_000));
    other.spec.budget = 90;
    other.limits().in_flight_max = 4;
    other
        .live(|handle| async move {
            until_finished(&handle).await;
        })
        .await;
    other.learned.clone_from(&crawl.learned);
    assert_eq!(restored(&opened(&other)), None);
    // A log that was cut before its epoch.
    let at = restored(&opened(&crawl)).unwrap();
    let shorter = MemoryStore::new();
    for (seq, event) in (1..).zip(crawl.events()) {
        if seq == at.0 {
            break;
        }
        shorter.append(event);
    }
    assert!(shorter.last() < at);
    let parts = crawl.parts_on(crawl.source.clone(), Pace::Live, Arc::new(shorter) as _);
    // The pages of this log have no evidence, so that learning from it fails; but it is learned from.
    assert!(Engine::open(parts).is_err());
    assert_same(&mut both(&mut crawl));
}

#[tokio::test]
async fn a_crawl_goes_on_where_it_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut crawl = hubs("ftrl");
    crawl.learned = Some(LearnedFile {
        path: folder.path().join("gone").join("learned"),
        every: 20,
    });
    crawl
        .live(|handle| async move {
            until_finished(&handle).await;
        })
        .await;
    assert!(crawl.pages().len() > 140);
    assert_eq!(restored(&opened(&crawl)), None);
}

#[tokio::test]
async fn a_large_frontier_is_put_in_order_while_the_crawl_goes_on() {
    let crawl = hubs("ftrl");
    crawl.replay().await;
    let mut engine = opened(&crawl);
    assert!(!engine.is_sweeping());
    let order = |engine: &TestEngine| engine.frontier.head(usize::MAX, engine.bench.clock.now());
    let swept = order(&engine);
    // As if the time had not been enough for any of it.
    engine.begin_sweep();
    let now = engine.bench.clock.now();
    engine.sweep(usize::MAX, Some(now)).unwrap();
    assert!(engine.is_sweeping());
    while engine.is_sweeping() {
        engine.sweep_slice().unwrap();
    }
    assert_eq!(order(&engine), swept);
}
