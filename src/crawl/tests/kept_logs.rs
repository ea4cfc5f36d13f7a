//! A log of each version with events of every kind lies in tests/data and is opened here as a crawl.
//!
//! Written by [`a_log_of_the_present_version_has_every_kind_of_event`]; what lies there stays as it is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::feedback::{critic, request};
use super::retraining::{order, scores};
use super::*;
use crate::frontier::SledStore;
use crate::proto::v1::Opinion;
use crate::store::StoreOptions;

fn data(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/crawl_v{version}"))
}

fn open(folder: &Path) -> Arc<SledStore> {
    let options = StoreOptions {
        free_bytes_min: 0,
        ..StoreOptions::default()
    };
    Arc::new(SledStore::open(folder, &options).unwrap())
}

/// A crawl whose log comes to have everything: more links than may wait, hosts with rules, hosts that
/// redirect, fail and are given up, and pages enough for an apprentice.
fn everything() -> Crawl {
    let mut crawl = Crawl::new(&["start/", "moved/"]);
    crawl.judge = critic();
    crawl.robots = RobotsPolicy::Obey(RobotsCache::default());
    crawl.spec.order = "ftrl".into();
    crawl.spec.budget = 40;
    crawl.limits().links_waiting_max = Some(100);
    crawl.scope().deny = vec!["/late".into()];
    let many: Vec<String> = (0..130).map(|n| format!("many/{n}")).collect();
    let mut links = vec!["a/1", "a/no", "busy/", "dead/", "gone/", "c/", "d/late"];
    links.extend(many.iter().map(String::as_str));
    crawl.page("start/", "coral polyp", &links);
    crawl.html("a/robots.txt", "User-agent: *\nDisallow: /no");
    crawl.page("a/1", "lagoon beach", &["a/no", "c/"]);
    crawl
        .fail("busy/", status(503))
        .page("busy/", "coral fish", &[]);
    crawl.fail("dead/", FetchError::Connect("refused".into()));
    crawl.redirect("moved/", "b/").redirect("c/", "c/1");
    crawl.page("b/", "coral anemone", &["d/late"]);
    crawl.page("c/1", "desert camel", &["b/"]);
    crawl.page("d/late", "coral polyp anemone", &[]);
    for (n, page) in many.iter().enumerate() {
        let words = ["coral polyp fish", "desert camel wind"][n % 2];
        crawl.page(page, words, &[]);
    }
    crawl
}

fn kind(event: &Event) -> &'static str {
    match event {
        Event::Page(_) => "page",
        Event::Failure(_) => "failure",
        Event::Redirect(_) => "redirect",
        Event::Refused(_) => "refused",
        Event::HostFacts(_) => "host facts",
        Event::Seeds(_) => "seeds",
        Event::SpecChange(_) => "spec",
        Event::State(_) => "state",
        Event::Readmitted(_) => "readmitted",
        Event::Evicted(_) => "evicted",
        Event::Feedback(_) => "feedback",
        Event::Epoch(_) => "epoch",
    }
}

/// With `APPRENTICE_WRITE_CRAWL_VERSION=N` it is written to `tests/data/crawl_vN`.
#[tokio::test]
async fn a_log_of_the_present_version_has_every_kind_of_event() {
    let home = tempfile::tempdir().unwrap();
    let folder = match std::env::var("APPRENTICE_WRITE_CRAWL_VERSION") {
        Ok(version) => data(version.parse().unwrap()),
        Err(_) => home.path().join("log"),
    };
    assert!(!folder.exists(), "what lies there is not written again");
    let crawl = everything();
    crawl
        .live(|handle| async move {
            until_finished(&handle).await;
            let marked = handle.feedback(request("a/1", Opinion::Relevant)).await;
            marked.unwrap();
            let more = update(|update| {
                update.budget = Some(60);
                update.scope = Some(v1::Scope::default());
            });
            handle.update(more).await.unwrap();
            until_finished(&handle).await;
            handle.retrain(order("nb")).await.unwrap();
        })
        .await;
    let store = open(&folder);
    for (seq, event) in (1..).zip(crawl.events()) {
        let event = match event {
            Event::Page(mut page) => {
                page.evidence = crawl.store.evidence(Seq(seq)).unwrap();
                Event::Page(page)
            }
            event => event,
        };
        store.append(event);
    }
    store.flush().unwrap();
    let kinds: BTreeSet<_> = crawl.events().iter().map(kind).collect();
    assert_eq!(kinds.len(), 12, "{kinds:?}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[tokio::test]
async fn a_crawl_of_version_1_is_opened_and_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("log");
    copy(&data(1), &folder);
    let store = open(&folder);
    let events = events_of(store.as_ref());
    let kinds: BTreeSet<_> = events.iter().map(kind).collect();
    assert_eq!(kinds.len(), 12, "{kinds:?}");

    let crawl = everything();
    let parts = || crawl.parts_on(crawl.source.clone(), Pace::Live, Arc::clone(&store) as _);
    let (mut engine, _handle) = Engine::open(parts()).unwrap();
    let progress = &engine.progress;
    assert_eq!((progress.pages, progress.failures), (59, 1));
    assert_eq!((progress.redirects, progress.requests), (2, 65));
    assert_eq!((progress.relevant, progress.copies), (48, 53));
    assert!((progress.curve.loss() - 12.0).abs() < 1e-5);
    let refused = [("evicted", 38), ("robots", 2), ("scope", 2)];
    assert_eq!(progress.refused_by_reason, refused.into());
    assert_eq!(progress.critic_version, Some(8));
    assert_eq!(progress.marks, [Seq(12)].into());
    assert_eq!(progress.state.1, "budget of 60 fetches spent");
    let counts = engine.frontier.counts(engine.bench.clock.now());
    let known = (counts.waiting, counts.fetched, counts.refused, counts.hosts);
    assert_eq!(known, (40, 62, 39, 10));
    let epochs = engine.list_epochs().epochs;
    let of = |at: usize| (epochs[at].learner.as_str(), epochs[at].cause.as_str());
    assert_eq!((epochs.len(), of(0)), (7, ("ftrl", "automatic")));
    assert_eq!((epochs[6].instances, of(6)), (59, ("nb", "retrained")));
    assert_eq!(engine.spec.order, CrawlOrder::Nb);
    assert!(!scores(&mut engine).is_empty());
    drop(engine);

    let (engine, handle) = Engine::open(parts()).unwrap();
    let script = async {
        let more = update(|update| update.budget = Some(70));
        handle.update(more).await.unwrap();
        until_finished(&handle).await;
        let crawl = handle.status().await.unwrap();
        handle.shutdown().await;
        crawl
    };
    let (ended, status) = tokio::join!(Box::pin(engine.run()), script);
    assert_eq!((status.fetched, ended.unwrap().fetched()), (70, 70));
}
