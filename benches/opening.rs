//! How long a crawl takes to open, by the pages in its log.
//!
//! `cargo bench --bench opening` (10,000 and 100,000 pages), `cargo bench --bench opening -- 1000000` (a
//! million, with 10 million waiting links: 6 GB on disk, some minutes to write). Each page has 11 links, 10 of
//! them new, and few words. The log is written, closed, opened, and folded, by an order that learns nothing.
//!
//! With `learn` among the arguments a crawl of such pages is made as well: it begins breadth-first, is given an
//! apprentice (`ftrl`) when it has nineteen of twenty pages, and goes on with it. Then it is opened twice, with
//! what was learned as it was written down, and by its log alone.

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
use std::time::Duration;

use apprentice::booking::{
    CrawlState, Event, Judgement, LeaseFacts, Likeness, LinkFact, PageBooking, Reference,
    SeedsEvent, Seq, StateEvent, evidence,
};
use apprentice::clock::{Clock, SystemClock, Timestamp};
use apprentice::crawl::{Engine, Handle, LearnedFile, Pace, SEED_PRIORITY};
use apprentice::frontier::{FrontierStore, SledStore};
use apprentice::page::{Link, LinkContext, LinkElement, Page};
use apprentice::proto::v1;
use apprentice::store::StoreOptions;
use apprentice::url::CanonicalUrl;
use processor::processor;
use prost::Message;
use web::{Web, mixed};

/// That of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const NEW: u64 = 10;
const WORDS: u32 = 40;
const HOSTS: u64 = 100_000;
/// Pages written between two flushes.
const GROUP: u64 = 1_000;

/// What a real crawl goes through.
const WEB: Web = Web {
    links: NEW + 1,
    new: NEW,
    words_a_link: WORDS as u64 / NEW,
    hosts: HOSTS,
};

fn url(number: u64) -> CanonicalUrl {
    let host = mixed(number) % HOSTS;
    CanonicalUrl::from_stored(format!("http://h{host}.test/d{}/{number}.html", number % 7))
}

/// Links to its children, and one to a page before it.
fn targets(number: u64) -> impl Iterator<Item = u64> {
    let children = (0..NEW).map(move |link| number * NEW + link + 1);
    children.chain([mixed(number) % (number + 1)])
}

fn page(number: u64) -> Page {
    let links = (0..).zip(targets(number)).map(|(leaf, target)| Link {
        target: url(target),
        first_leaf: leaf,
        last_leaf: leaf,
        nofollow: false,
        element: LinkElement::Anchor,
        tag_path: vec!["li".into()],
        context: LinkContext::default(),
    });
    Page {
        title: "a page".into(),
        vocabulary: (0..WORDS)
            .map(|n| format!("w{}", mixed(number + u64::from(n)) % 3000))
            .collect(),
        words: (0..WORDS).collect(),
        leaf_ends: (1..=WORDS).collect(),
        links: links.collect(),
        charset: "UTF-8",
        ..Page::default()
    }
}

/// The event that books page `number`, which is event `number + 4` of the log.
fn booking(number: u64) -> Event {
    let url_of = url(number);
    let parent = number.saturating_sub(1) / NEW;
    let reference = match number {
        0 => Reference {
            seq: Seq(3),
            link: 0,
        },
        _ => Reference {
            seq: Seq(parent + 4),
            link: u32::try_from((number - 1) % NEW).unwrap(),
        },
    };
    let mut hosts = Vec::new();
    let links = targets(number).zip(0..).map(|(target, host)| {
        let target = url(target);
        hosts.push(target.host_key());
        LinkFact {
            target: target.id(),
            host,
            priority: (mixed(number) % 100) as f32 - 50.0,
            refusal: None,
        }
    });
    let links: Vec<LinkFact> = links.collect();
    let at = Timestamp(i64::try_from(number).unwrap());
    Event::Page(PageBooking {
        lease: LeaseFacts {
            url: url_of,
            references: vec![reference],
            depth: 3,
            is_seed: number == 0,
            priority: 0.0,
            leased_at: at,
            finished_at: at,
            requests: 1,
            host_next_at: at,
        },
        status: 200,
        content_type: "text/html".into(),
        body_bytes: 9_000,
        body_digest: number,
        truncated: false,
        title: "a page".into(),
        judgement: Judgement {
            log_odds: (mixed(number) % 100) as f32 - 50.0,
            calibrated_log_odds: 0.0,
            best: vec![(0, -0.1)],
            near_focus: false,
            version: 1,
        },
        links,
        hosts,
        links_dropped: 0,
        frozen: None,
        evidence: evidence::encode(&page(number)),
        kept: None,
        likeness: Likeness {
            sketch: Some(mixed(number)),
            ..Likeness::default()
        },
        withheld: None,
    })
}

fn write(folder: &Path, pages: u64) {
    let store = SledStore::open(folder, &StoreOptions::default()).unwrap();
    let at = Timestamp(0);
    let spec = v1::CrawlSpec {
        name: "bench".into(),
        topics: vec!["all".into()],
        critic: "given".into(),
        order: "baseline".into(),
        ..Default::default()
    };
    store.append(Event::SpecChange(spec.encode_to_vec()));
    store.append(Event::State(StateEvent {
        state: CrawlState::Paused,
        reason: "bench".into(),
        at,
    }));
    store.append(Event::Seeds(SeedsEvent {
        urls: vec![url(0)],
        priority: SEED_PRIORITY,
        at,
    }));
    for number in 0..pages {
        store.append(booking(number));
        if number % GROUP == GROUP - 1 {
            store.flush().unwrap();
        }
    }
    store.flush().unwrap();
}

/// Resident memory of this process, where the system tells it, in MB.
fn resident_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or_default() / 1_000
}

fn measure(pages: u64) {
    let folder = tempfile::tempdir().unwrap();
    let clock = SystemClock::new();
    let seconds =
        |since: Timestamp| Duration::from_millis(u64::try_from(clock.now().0 - since.0).unwrap());
    let began = clock.now();
    write(folder.path(), pages);
    println!("{pages} pages: written in {:.1?}", seconds(began));
    let before = resident_mb();
    let began = clock.now();
    let store = Arc::new(SledStore::open(folder.path(), &StoreOptions::default()).unwrap());
    let opened = seconds(began);
    let began_scan = clock.now();
    let mut events = 0_u64;
    store
        .scan(Seq(1), Seq(u64::MAX), &mut |_, _| {
            events += 1;
            true
        })
        .unwrap();
    let scanned = seconds(began_scan);
    let (began_fold, worked) = (clock.now(), processor());
    let (_engine, _handle) =
        Engine::open(web::parts(Arc::new(WEB), &store, Pace::Live, None)).unwrap();
    println!(
        "  store {opened:.2?}, a scan of {events} events {scanned:.2?}; the crawl opened in {:.2?} ({:.2?} of \
         processor time): {} MB more are resident",
        seconds(began_fold) + opened,
        processor().saturating_sub(worked),
        resident_mb().saturating_sub(before)
    );
}

/// A crawl with an apprentice, opened with and without what that had learned.
fn measure_learned(pages: u64) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let open = || Arc::new(SledStore::open(&log, &StoreOptions::default()).unwrap());
    let learned = LearnedFile {
        path: folder.path().join("learned"),
        every: 1_000,
    };
    let clock = SystemClock::new();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let store = open();
    WEB.begin(&store, pages / 20 * 19, clock.now());
    let parts = web::parts(Arc::new(WEB), &store, Pace::Live, Some(learned.clone()));
    let (engine, handle) = Engine::open(parts).unwrap();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| runtime.block_on(engine.run()));
        runtime.block_on(async {
            until_finished(&handle, &clock).await;
            let order = v1::RetrainRequest {
                learner: "ftrl".into(),
                ..Default::default()
            };
            handle.retrain(order).await.unwrap();
            let more = v1::UpdateCrawlRequest {
                budget: Some(pages),
                ..Default::default()
            };
            handle.update(more).await.unwrap();
            let on = handle.set_state(CrawlState::Running, "bench");
            on.await.unwrap();
            until_finished(&handle, &clock).await;
            handle.shutdown().await;
        });
        running.join().unwrap().unwrap();
    });
    drop((handle, store));
    let size = std::fs::metadata(&learned.path).unwrap().len();
    println!("{pages} pages with an apprentice; what it has learned takes {size} bytes");
    for (with, file) in [("with it", Some(learned)), ("by its log alone", None)] {
        let (began, worked) = (clock.now(), processor());
        let (_engine, _handle) =
            Engine::open(web::parts(Arc::new(WEB), &open(), Pace::Live, file)).unwrap();
        println!(
            "  {with} the crawl opened in {} ms ({:.2?} of processor time)",
            clock.now().0 - began.0,
            processor().saturating_sub(worked)
        );
    }
}

async fn until_finished(handle: &Handle, clock: &SystemClock) {
    while handle.status().await.unwrap().state != v1::CrawlState::Finished as i32 {
        clock
            .sleep_until(clock.now().after(Duration::from_millis(20)))
            .await;
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let sizes: Vec<u64> = words.iter().filter_map(|size| size.parse().ok()).collect();
    let sizes = if sizes.is_empty() {
        vec![10_000, 100_000]
    } else {
        sizes
    };
    for pages in sizes {
        measure(pages);
        if words.iter().any(|word| word == "learn") {
            measure_learned(pages);
        }
    }
}
