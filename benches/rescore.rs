//! Rescoring at size: how fast a new epoch goes through the frontier, and how long the crawl is not heard
//! meanwhile.
//!
//! `cargo bench --bench rescore` (both sizes, some minutes), `cargo bench --bench rescore -- 4000` (pages:
//! 100,000 waiting links). A crawl of a made-up web (pages of some 480 words and 27 links, 25 of them new)
//! is written to a store in a temporary folder, opened anew, and its apprentice retrained, once while it
//! is paused and twice while it crawls. Somebody asks for its status again and again: the longest wait
//! for an answer is the longest pause of the engine's loop.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints its figures, and one that cannot go on fails by panicking"
)]

mod web;

use std::sync::Arc;

use apprentice::booking::{CrawlState, Seq};
use apprentice::clock::{Clock, SystemClock, Timestamp};
use apprentice::crawl::{CrawlError, Engine, Handle, LearnedFile, Pace};
use apprentice::frontier::{FrontierStore, SledStore};
use apprentice::proto::v1;
use apprentice::store::StoreOptions;
use web::Web;

/// That of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// As on uci-ics: some 480 words and 27 links a page.
const WEB: Web = Web {
    links: 27,
    new: 25,
    words_a_link: 18,
    hosts: 20_000,
};

/// What somebody saw who asked for the status all the time.
#[derive(Default)]
struct Seen {
    pause_ms: i64,
    /// Moments: the sweep began, hosts began to change over, all was in order.
    moments: [i64; 3],
    fetched: [u64; 2],
    links: u64,
    pages: u64,
}

/// Retrains, and asks for the status until the new epoch is in force.
async fn retrain(handle: &Handle, clock: &SystemClock) -> Result<Seen, CrawlError> {
    let request = v1::RetrainRequest {
        learner: "ftrl".into(),
        ..Default::default()
    };
    let orderer = handle.clone();
    let order = tokio::spawn(async move { orderer.retrain(request).await });
    let mut seen = Seen::default();
    loop {
        let asked = clock.now().0;
        let status = handle.status().await?;
        let now = clock.now().0;
        seen.pause_ms = seen.pause_ms.max(now - asked);
        let phases = [status.rescored.is_some(), status.reordered.is_some()];
        for (phase, moment) in phases.into_iter().zip(&mut seen.moments) {
            if phase && *moment == 0 {
                *moment = now;
            }
        }
        if phases[0] && seen.fetched[0] == 0 {
            seen.fetched[0] = status.fetched;
        }
        if order.is_finished() {
            seen.moments[2] = now;
            // A small crawl may be through a phase before anybody asks.
            for phase in [1, 0] {
                if seen.moments[phase] == 0 {
                    seen.moments[phase] = seen.moments[phase + 1];
                }
            }
            seen.fetched[1] = status.fetched;
            seen.links = status.links_waiting;
            seen.pages = status.pages;
            break;
        }
        clock.sleep_until(Timestamp(now + 1)).await;
    }
    order.await.unwrap()?;
    Ok(seen)
}

fn print(name: &str, seen: &Seen) {
    let [began, switched, ended] = seen.moments;
    let scoring = (switched - began) as f64 / 1000.0;
    let pairs = (seen.pages * WEB.links) as f64;
    println!(
        "{name}: {} waiting links; {pairs} link-parents in {scoring:.2} s, {:.0} a second; hosts \
         changed over in {:.2} s; {} pages crawled meanwhile; longest pause {} ms",
        seen.links,
        pairs / scoring,
        (ended - switched) as f64 / 1000.0,
        seen.fetched[1] - seen.fetched[0],
        seen.pause_ms
    );
}

fn measure(pages: u64) {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let clock = SystemClock::new();
    let log = folder.path().join("log");
    let open = || Arc::new(SledStore::open(&log, &StoreOptions::default()).unwrap());
    // As the daemon has it: each retraining is written down.
    let learned = LearnedFile {
        path: folder.path().join("learned"),
        every: 1_000,
    };
    {
        let store = open();
        WEB.begin(&store, pages, clock.now());
        let (engine, _handle) =
            Engine::open(web::parts(Arc::new(WEB), &store, Pace::Replay, None)).unwrap();
        let began = clock.now().0;
        runtime.block_on(engine.run()).unwrap();
        println!("{pages} pages crawled in {} ms", clock.now().0 - began);
    }
    let store = open();
    assert!(store.durable() > Seq(pages));
    let began = clock.now().0;
    let (engine, handle) =
        Engine::open(web::parts(Arc::new(WEB), &store, Pace::Live, Some(learned))).unwrap();
    println!("opened in {} ms", clock.now().0 - began);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| runtime.block_on(engine.run()));
        runtime.block_on(async {
            // A finished crawl goes on only with a larger budget.
            let more = v1::UpdateCrawlRequest {
                budget: Some(pages * 100),
                ..Default::default()
            };
            handle.update(more).await.unwrap();
            let enter = |state| handle.set_state(state, "bench");
            enter(CrawlState::Running).await.unwrap();
            enter(CrawlState::Paused).await.unwrap();
            print("paused, cold", &retrain(&handle, &clock).await.unwrap());
            print("paused, warm", &retrain(&handle, &clock).await.unwrap());
            enter(CrawlState::Running).await.unwrap();
            print("crawling", &retrain(&handle, &clock).await.unwrap());
            handle.shutdown().await;
        });
        running.join().unwrap().unwrap();
    });
}

fn main() {
    let sizes: Vec<u64> = std::env::args()
        .filter_map(|size| size.parse().ok())
        .collect();
    let sizes = if sizes.is_empty() {
        vec![4_000, 40_000]
    } else {
        sizes
    };
    for pages in sizes {
        measure(pages);
    }
}
