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

use std::sync::Arc;
use std::time::Duration;

use apprentice::booking::{CrawlState, Event, SeedsEvent, Seq, StateEvent};
use apprentice::clock::{Clock, SystemClock, Timestamp};
use apprentice::crawl::{
    CrawlError, Engine, EngineParts, Handle, Judge, Pace, RobotsPolicy, SEED_PRIORITY,
};
use apprentice::critic::{ClassId, ClassScore, PageJudge, Verdict};
use apprentice::fetch::{FetchError, Outcome, Request, Response, Source};
use apprentice::frontier::{FrontierStore, HostCalendar, SledStore};
use apprentice::page::Page;
use apprentice::proto::v1;
use apprentice::store::StoreOptions;
use apprentice::url::CanonicalUrl;
use prost::Message;

/// That of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// As on uci-ics: some 480 words and 27 links a page.
const LINKS: u64 = 27;
/// Those of them that lead to pages never heard of.
const NEW: u64 = 25;
const WORDS_A_LINK: u64 = 18;
const HOSTS: u64 = 20_000;

fn mixed(n: u64) -> u64 {
    let n = (n ^ n >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (n ^ n >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ n >> 32
}

fn url(number: u64) -> String {
    let host = mixed(number) % HOSTS;
    format!("http://h{host}.test/d{}/{number}.html", number % 7)
}

/// Page `number`: a link to each of its children, and two to pages before it.
fn html(number: u64) -> String {
    let mut body = String::from("<title>a page of words</title>");
    for link in 0..LINKS {
        let target = if link < NEW {
            number * NEW + link + 1
        } else {
            mixed(number * LINKS + link) % (number + 1)
        };
        let at = (number * LINKS + link) * WORDS_A_LINK;
        let words: Vec<String> = (at..at + WORDS_A_LINK)
            .map(|n| format!("w{}", mixed(n) % 3000))
            .collect();
        let (own, around) = words.split_at(3);
        body.push_str("<li class=item><a href='");
        body.push_str(&url(target));
        body.push_str("'>");
        body.push_str(&own.join(" "));
        body.push_str("</a> ");
        body.push_str(&around.join(" "));
        body.push_str("<br>");
    }
    body
}

/// The made-up web.
struct Web;

impl Source for Web {
    async fn fetch(&self, request: Request) -> Outcome {
        let number = request.url.as_str().rsplit('/').next();
        let number = number.and_then(|name| name.trim_end_matches(".html").parse().ok());
        let Some(number) = number else {
            return Outcome::Failure(FetchError::Status {
                code: 404,
                retry_after: None,
            });
        };
        Outcome::Response(Response {
            status: 200,
            content_type: Some("text/html".to_owned()),
            robots_tag: None,
            body: html(number).into_bytes().into(),
            truncated: false,
            answer_time: Duration::ZERO,
        })
    }
}

/// Judges a page by its words: a third of them speak of the topic.
struct Words(Vec<String>);

impl PageJudge for Words {
    fn judge_batch(&self, pages: &[&Page]) -> Vec<Verdict> {
        let verdict = |page: &&Page| {
            let sum: usize = page.vocabulary.iter().map(String::len).sum();
            let log_odds = if (sum + page.words.len()).is_multiple_of(3) {
                40.0
            } else {
                -60.0
            };
            Verdict {
                log_odds,
                calibrated_log_odds: log_odds,
                best: vec![ClassScore {
                    class: ClassId(0),
                    log_posterior: -0.05,
                }],
                near_focus: false,
                version: 1,
            }
        };
        pages.iter().map(verdict).collect()
    }

    fn class_names(&self) -> &[String] {
        &self.0
    }

    fn term_weights(&self) -> Vec<(String, f32)> {
        (0_u8..200)
            .map(|n| (format!("w{n}"), f32::from(n % 7) - 3.0))
            .collect()
    }
}

fn parts(store: &Arc<SledStore>, pace: Pace) -> EngineParts<Web, SystemClock> {
    EngineParts {
        source: Arc::new(Web),
        clock: SystemClock::new(),
        judge: Judge::Near(Arc::new(Words(vec!["all".to_owned()]))),
        store: Arc::clone(store) as Arc<dyn FrontierStore>,
        calendar: HostCalendar::default(),
        robots: RobotsPolicy::Ignore,
        pace,
        world: None,
        parsers: 1,
        guard_note: String::new(),
        needs_contact: false,
        scorer: None,
        start: None,
    }
}

fn begin(store: &SledStore, pages: u64, at: Timestamp) {
    let spec = v1::CrawlSpec {
        name: "bench".into(),
        topics: vec!["all".into()],
        critic: "given".into(),
        seeds: vec![url(0)],
        order: "breadth-first".into(),
        budget: pages,
        limits: Some(v1::Limits {
            in_flight_max: 4,
            delay_ms_min: Some(0),
            ..Default::default()
        }),
        ..Default::default()
    };
    let urls = vec![CanonicalUrl::parse(&url(0)).unwrap()];
    store.append(Event::SpecChange(spec.encode_to_vec()));
    store.append(Event::State(StateEvent {
        state: CrawlState::Running,
        reason: "created".into(),
        at,
    }));
    store.append(Event::Seeds(SeedsEvent {
        urls,
        priority: SEED_PRIORITY,
        at,
    }));
}

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
    let pairs = (seen.pages * LINKS) as f64;
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
    let open = || Arc::new(SledStore::open(folder.path(), &StoreOptions::default()).unwrap());
    {
        let store = open();
        begin(&store, pages, clock.now());
        let (engine, _handle) = Engine::open(parts(&store, Pace::Replay)).unwrap();
        let began = clock.now().0;
        runtime.block_on(engine.run()).unwrap();
        println!("{pages} pages crawled in {} ms", clock.now().0 - began);
    }
    let store = open();
    assert!(store.durable() > Seq(pages));
    let began = clock.now().0;
    let (engine, handle) = Engine::open(parts(&store, Pace::Live)).unwrap();
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
