//! A judge that is elsewhere: what the crawl does while it is there, gone, hanging or at odds with a
//! page.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Mutex;

use super::*;
use crate::critic::{BatchLimits, FarJudge, JudgeAway, RemoteOptions};
use crate::frontier::Held;

/// Judges like [`WordJudge`], as long as it is told to.
struct FarWords {
    says: Mutex<Says>,
    /// The URLs of each call; empty for a greeting.
    calls: Mutex<Vec<Vec<String>>>,
}

#[derive(Clone, Copy)]
enum Says {
    Verdicts,
    /// Nobody is there.
    Gone,
    /// Nothing, for ever.
    Hang,
    /// Verdicts, but not on a batch with a page of this word.
    NotOn(&'static str),
}

impl FarWords {
    fn who(says: Says) -> Arc<Self> {
        Arc::new(Self {
            says: Mutex::new(says),
            calls: Mutex::default(),
        })
    }

    fn now(&self, says: Says) {
        *self.says.lock().unwrap() = says;
    }

    fn calls(&self) -> Vec<Vec<String>> {
        self.calls.lock().unwrap().clone()
    }

    /// Completes when it has been asked for verdicts on a page.
    async fn until_asked_about(&self, page: &str) {
        let wanted = page.to_owned();
        while !self.calls().iter().any(|call| call.contains(&wanted)) {
            tokio::task::yield_now().await;
        }
    }

    async fn answer(&self, pages: &[&v1::JudgePage]) -> Result<(), JudgeAway> {
        let urls = pages
            .iter()
            .map(|page| short(&CanonicalUrl::parse(&page.url).unwrap()));
        self.calls.lock().unwrap().push(urls.collect());
        let says = *self.says.lock().unwrap();
        match says {
            Says::Gone => Err(JudgeAway::Unreachable("connection refused".into())),
            Says::Hang => pending().await,
            Says::NotOn(word) if pages.iter().any(|page| page.text.contains(word)) => {
                Err(JudgeAway::BadAnswer("the log odds are NaN".into()))
            }
            Says::Verdicts | Says::NotOn(_) => Ok(()),
        }
    }
}

#[tonic::async_trait]
impl FarJudge for FarWords {
    async fn greet(&self) -> Result<(), JudgeAway> {
        self.answer(&[]).await
    }

    async fn judge(&self, pages: &[&v1::JudgePage]) -> Result<Vec<Verdict>, JudgeAway> {
        self.answer(pages).await?;
        let verdict = |page: &&v1::JudgePage| {
            let vocabulary = page.text.split_whitespace().map(str::to_owned).collect();
            WordJudge.judge(&Page {
                vocabulary,
                ..Page::default()
            })
        };
        Ok(pages.iter().map(verdict).collect())
    }

    fn batch_limits(&self) -> BatchLimits {
        BatchLimits {
            pages_max: 8,
            bytes_max: 1 << 20,
        }
    }

    fn class_names(&self) -> Arc<[String]> {
        CLASSES.clone().into()
    }

    fn place(&self) -> String {
        "http://judge.test".to_owned()
    }

    fn move_to(&self, _: &RemoteOptions) -> bool {
        false
    }
}

/// A seed with links to `hosts` pages on hosts of their own.
fn star(hosts: usize) -> Crawl {
    let mut crawl = Crawl::new(&["seed/"]);
    crawl.limits().in_flight_max = 16;
    let links: Vec<String> = (0..hosts).map(|at| format!("h{at}/")).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    crawl.page("seed/", "reef", &links);
    for (at, link) in links.iter().enumerate() {
        crawl.page(link, ["reef", "sand"][at % 2], &[]);
    }
    crawl
}

/// Crawls while `script` talks to the crawl, then shuts it down.
async fn crawl_with<T, F: Future<Output = T>>(
    crawl: &Crawl,
    judge: &Arc<FarWords>,
    script: impl FnOnce(Handle) -> F,
) -> T {
    let parts = EngineParts {
        judge: Judge::Far(Arc::clone(judge) as _),
        ..crawl.parts(crawl.source.clone(), Pace::Live)
    };
    let (engine, handle) = Engine::open(parts).unwrap();
    let script = async {
        let outcome = script(handle.clone()).await;
        handle.shutdown().await;
        outcome
    };
    let (ended, outcome) = tokio::join!(Box::pin(engine.run()), script);
    ended.unwrap();
    outcome
}

async fn until_waiting(handle: &Handle) -> v1::Crawl {
    until(handle, |status| {
        status.idle.starts_with("waiting for judge")
    })
    .await
}

fn once_each(urls: &[String]) -> BTreeSet<String> {
    let set: BTreeSet<String> = urls.iter().cloned().collect();
    assert_eq!(set.len(), urls.len(), "something came twice: {urls:?}");
    set
}

#[tokio::test]
async fn one_page_at_a_time_a_far_judge_leaves_the_same_log_as_a_near_one() {
    let log = async |judge: Judge| {
        let mut crawl = star(20);
        crawl.limits().in_flight_max = 1;
        let parts = EngineParts {
            judge,
            ..crawl.parts(crawl.source.clone(), Pace::Replay)
        };
        let (engine, _handle) = Engine::open(parts).unwrap();
        engine.run().await.unwrap();
        crawl.events()
    };
    let near = log(Judge::near(WordJudge)).await;
    let far = log(Judge::Far(FarWords::who(Says::Verdicts))).await;
    assert_eq!(
        near.len(),
        3 + 21 + 1,
        "the first events, the pages, the end"
    );
    assert_eq!(near, far);
}

#[tokio::test]
async fn nothing_is_fetched_before_the_judge_has_said_that_it_is_there() {
    let crawl = star(5);
    let judge = FarWords::who(Says::Gone);
    crawl_with(&crawl, &judge, async |handle| {
        let status = until(&handle, |status| status.idle.contains("asked again")).await;
        let words =
            "waiting for judge at http://judge.test: it cannot be reached: connection refused";
        assert!(status.idle.starts_with(words), "{}", status.idle);
        assert_eq!(status.state, v1::CrawlState::Running as i32);
        while judge.calls().len() < 5 {
            tokio::task::yield_now().await;
        }
        assert_eq!(crawl.requests(), [""; 0]);
        judge.now(Says::Verdicts);
        until_finished(&handle).await;
    })
    .await;
    assert_eq!(once_each(&crawl.pages()).len(), 6);
    assert_eq!(crawl.requests().len(), 6);
}

#[tokio::test]
async fn a_judge_that_goes_away_and_comes_back_costs_no_page_and_no_second_fetch() {
    let crawl = star(30);
    let judge = FarWords::who(Says::Verdicts);
    crawl_with(&crawl, &judge, async |handle| {
        judge.until_asked_about("seed/").await;
        judge.now(Says::Gone);
        let status = until(&handle, |status| {
            status.idle.starts_with("waiting for judge") && status.unjudged > 1
        })
        .await;
        // What was under way comes in and waits; nothing new goes out.
        until(&handle, |status| status.in_flight == 0).await;
        let asked = crawl.requests().len();
        assert!(asked < 31, "{asked}");
        let calls = judge.calls().len();
        while judge.calls().len() < calls + 10 {
            tokio::task::yield_now().await;
        }
        assert_eq!(crawl.requests().len(), asked);
        let still = handle.status().await.unwrap();
        assert!(still.unjudged >= status.unjudged, "{}", still.unjudged);
        assert!(
            still.idle.contains("wait for their verdicts"),
            "{}",
            still.idle
        );
        judge.now(Says::Verdicts);
        let status = until_finished(&handle).await;
        assert_eq!((status.pages, status.unjudged), (31, 0));
    })
    .await;
    once_each(&crawl.pages());
    once_each(&crawl.requests());
}

#[tokio::test]
async fn a_batch_takes_what_has_come_and_no_more_than_the_judge_takes() {
    let crawl = star(40);
    let judge = FarWords::who(Says::Verdicts);
    crawl_with(&crawl, &judge, async |handle| {
        judge.until_asked_about("seed/").await;
        // While it is away, what was in flight gathers.
        judge.now(Says::Gone);
        until(&handle, |status| status.unjudged > 8).await;
        judge.now(Says::Verdicts);
        until_finished(&handle).await;
    })
    .await;
    let sizes: Vec<usize> = judge.calls().iter().map(Vec::len).collect();
    assert_eq!(sizes[..2], [0, 1], "a greeting, then the seed");
    assert!(sizes.iter().all(|size| *size <= 8), "{sizes:?}");
    assert!(sizes.iter().any(|size| *size > 1), "{sizes:?}");
    once_each(&crawl.pages());
}

#[tokio::test]
async fn a_page_that_no_verdict_can_be_had_on_stands_alone_in_the_end_and_is_named() {
    let crawl = star(12);
    crawl.page("odd/", "reef kelp", &[]);
    let judge = FarWords::who(Says::NotOn("kelp"));
    crawl_with(&crawl, &judge, async |handle| {
        handle.add_seeds(vec![url("odd/")]).await.unwrap();
        let alone = "the log odds are NaN (asked about http://odd.test/ alone)";
        let status = until(&handle, |status| status.idle.contains(alone)).await;
        assert!(
            status.idle.starts_with("waiting for judge"),
            "{}",
            status.idle
        );
        judge.now(Says::Verdicts);
        until_finished(&handle).await;
    })
    .await;
    assert_eq!(once_each(&crawl.pages()).len(), 14);
    once_each(&crawl.requests());
}

#[tokio::test]
async fn pause_resume_and_stop_are_obeyed_while_the_judge_is_away() {
    let crawl = star(30);
    let judge = FarWords::who(Says::Verdicts);
    crawl_with(&crawl, &judge, async |handle| {
        judge.until_asked_about("seed/").await;
        judge.now(Says::Gone);
        until(&handle, |status| {
            status.unjudged > 1 && status.in_flight == 0
        })
        .await;
        let paused = handle.set_state(CrawlState::Paused, "lunch").await.unwrap();
        assert_eq!(paused.idle, "paused: lunch");
        handle.set_state(CrawlState::Running, "back").await.unwrap();
        until_waiting(&handle).await;
        let stopped = handle
            .set_state(CrawlState::Stopped, "enough")
            .await
            .unwrap();
        assert!(stopped.unjudged > 1);
        // What was read is still judged, when it can be.
        judge.now(Says::Verdicts);
        let rested = until(&handle, |status| status.unjudged == 0).await;
        assert_eq!(rested.state, v1::CrawlState::Stopped as i32);
    })
    .await;
    assert_eq!(once_each(&crawl.pages()), once_each(&crawl.requests()));
}

#[tokio::test]
async fn a_stopped_crawl_with_nothing_to_judge_leaves_the_judge_alone() {
    let crawl = star(3);
    let judge = FarWords::who(Says::Gone);
    crawl_with(&crawl, &judge, async |handle| {
        until_waiting(&handle).await;
        handle.set_state(CrawlState::Paused, "lunch").await.unwrap();
        until(&handle, |status| !status.idle.contains("judge")).await;
        let calls = judge.calls().len();
        for _ in 0..1000 {
            handle.status().await.unwrap();
        }
        // One may have been out when it was paused.
        assert!(judge.calls().len() <= calls + 1);
    })
    .await;
}

#[tokio::test]
async fn a_crawl_that_closes_waits_for_no_judge_and_fetches_the_unjudged_pages_later() {
    for says in [Says::Gone, Says::Hang] {
        let crawl = star(10);
        let judge = FarWords::who(Says::Verdicts);
        crawl_with(&crawl, &judge, async |handle| {
            judge.until_asked_about("seed/").await;
            judge.now(says);
            until(&handle, |status| {
                status.unjudged > 2 && status.in_flight == 0
            })
            .await;
        })
        .await;
        let judged = once_each(&crawl.pages());
        let before = once_each(&crawl.requests());
        let lost: Vec<_> = before.difference(&judged).cloned().collect();
        assert!(lost.len() > 2, "{lost:?}");
        assert_eq!(crawl.state_of(&lost[0]), Some(LinkState::Waiting));
        judge.now(Says::Verdicts);
        crawl_with(&crawl, &judge, async |handle| {
            until_finished(&handle).await;
        })
        .await;
        assert_eq!(once_each(&crawl.pages()).len(), 11);
        assert_eq!(crawl.requests().len(), 11 + lost.len());
    }
}

#[tokio::test]
async fn while_a_page_is_with_the_judge_its_host_may_be_asked_by_others() {
    let crawl = star(1);
    let judge = FarWords::who(Says::Verdicts);
    let parts = EngineParts {
        judge: Judge::Far(Arc::clone(&judge) as _),
        ..crawl.parts(crawl.source.clone(), Pace::Live)
    };
    let calendar = parts.calendar.clone();
    let held = |host: &str| calendar.held(&url(host).host_key(), crawl.clock.now(), Duration::ZERO);
    let (engine, handle) = Engine::open(parts).unwrap();
    let script = async {
        judge.until_asked_about("seed/").await;
        judge.now(Says::Hang);
        judge.until_asked_about("h0/").await;
        assert_ne!(held("h0/"), Some(Held::Leased));
        let known = handle.lookup(url("h0/").id()).await.unwrap().unwrap();
        assert_eq!(known.state, LinkState::Leased);
        let status = handle.status().await.unwrap();
        assert_eq!((status.in_flight, status.unjudged), (0, 1));
        assert!(status.idle.contains("is at work"), "{}", status.idle);
        handle.shutdown().await;
    };
    let (ended, ()) = tokio::join!(engine.run(), script);
    ended.unwrap();
}
