//! What a page costs as a crawl grows, and what its store takes.
//!
//! `cargo bench --bench growth` (100,000 pages), `cargo bench --bench growth -- 1000000` (a million pages with
//! 10 million links: some minutes, 4 GB on disk). A whole engine crawls a made-up web in a store on disk: to
//! fetch (from memory), read, judge, order and book; pages have 11 links, 10 of them new, and some 480 words.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints its figures, and one that cannot go on fails by panicking"
)]

#[path = "web/processor.rs"]
mod processor;
mod web;

use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use apprentice::booking::Seq;
use apprentice::clock::{Clock, SystemClock, Timestamp};
use apprentice::crawl::{Engine, Pace};
use apprentice::fetch::{Outcome, Request, Source};
use apprentice::frontier::{FrontierStore, SledStore};
use apprentice::store::StoreOptions;
use processor::processor;
use web::Web;

/// That of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const WEB: Web = Web {
    links: 11,
    new: 10,
    words_a_link: 44,
    hosts: 100_000,
};
/// Pages over which the cost of one is taken.
const SPAN: u64 = 10_000;

/// The web, and when every so-manieth page of it was asked for.
struct Timed {
    clock: SystemClock,
    asked: Mutex<(u64, Vec<(Timestamp, Duration)>)>,
}

impl Source for Timed {
    async fn fetch(&self, request: Request) -> Outcome {
        {
            let mut asked = self.asked.lock().unwrap();
            if asked.0.is_multiple_of(SPAN) {
                asked.1.push((self.clock.now(), processor()));
            }
            asked.0 += 1;
        }
        WEB.fetch(request).await
    }
}

/// Bytes of all files in a folder.
fn size_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let sizes = entries.map(|entry| match entry.metadata().unwrap() {
        about if about.is_dir() => size_of(&entry.path()),
        about => about.len(),
    });
    sizes.sum()
}

fn print_span(at: usize, spans: &[(Timestamp, Duration)]) {
    let [before, after] = [spans[at - 1], spans[at]];
    let micros = |milliseconds: i64| milliseconds as f64 * 1_000.0 / SPAN as f64;
    println!(
        "  pages {} to {}: {:.0} us a page, {:.0} us of processor time",
        (at as u64 - 1) * SPAN,
        at as u64 * SPAN,
        micros(after.0.0 - before.0.0),
        after.1.saturating_sub(before.1).as_micros() as f64 / SPAN as f64,
    );
}

fn measure(pages: u64) {
    let folder = tempfile::tempdir().unwrap();
    let open = || Arc::new(SledStore::open(folder.path(), &StoreOptions::default()).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let clock = SystemClock::new();
    let timed = Arc::new(Timed {
        clock: clock.clone(),
        asked: Mutex::default(),
    });
    {
        let store = open();
        WEB.begin(&store, pages, clock.now());
        let parts = web::parts(Arc::clone(&timed), &store, Pace::Replay, None);
        let (engine, _handle) = Engine::open(parts).unwrap();
        runtime.block_on(engine.run()).unwrap();
    }
    println!("{pages} pages:");
    let spans = timed.asked.lock().unwrap().1.clone();
    let last = spans.len() - 1;
    for at in [1, 2, last / 10, last / 2, last] {
        if at > 0 {
            print_span(at, &spans);
        }
    }
    // A clean close and one more opening, so that sled has written what it wants to.
    let store = open();
    assert!(store.durable() > Seq(pages));
    let mut payload = 0;
    for seq in (1..=store.last().0).step_by(100) {
        payload += store
            .evidence(Seq(seq))
            .unwrap()
            .map_or(0, |e| e.len() as u64);
    }
    drop(store);
    let (disk, payload) = (size_of(folder.path()), payload * 100);
    println!(
        "  {disk} bytes on disk, {:.2} times the packed payload (of every hundredth page: {payload} in all)",
        disk as f64 / payload as f64
    );
}

fn main() {
    let sizes = std::env::args().filter_map(|size| size.parse().ok());
    let sizes: Vec<u64> = sizes.collect();
    for pages in if sizes.is_empty() {
        vec![100_000]
    } else {
        sizes
    } {
        measure(pages);
    }
}
