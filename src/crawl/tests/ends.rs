//! How a crawl ends that something breaks, and what is left of it.

use std::collections::BTreeSet;

use super::support::FailingStore;
use super::*;

/// Some thirty pages: a chain on one host, and side links to others.
fn comb() -> Crawl {
    let crawl = Crawl::new(&["a/0"]);
    for at in 0..15 {
        let links = [format!("a/{}", at + 1), format!("b{at}/")];
        let links = links.each_ref().map(String::as_str);
        crawl.page(&format!("a/{at}"), "reef", &links);
        crawl.page(&format!("b{at}/"), "sand", &[]);
    }
    crawl
}

fn failed_because(store: &dyn FrontierStore) -> Option<String> {
    match events_of(store).pop()? {
        Event::State(state) if state.state == CrawlState::Failed => Some(state.reason),
        _ => None,
    }
}

#[tokio::test]
async fn a_judge_that_panics_ends_the_crawl_as_failed_with_its_words() {
    for in_flight in [1, 4] {
        let mut crawl = comb();
        crawl.limits().in_flight_max = in_flight;
        let broken = Crawl::new(&[]);
        broken.page("a/9", "reef shark", &[]);
        let source = crawl.source.clone();
        let parts = crawl.parts(
            Replacing {
                source,
                broken: broken.source,
                from: url("a/9"),
            },
            Pace::Replay,
        );
        let (engine, handle) = Engine::open(parts).unwrap();
        let error = engine.run().await.unwrap_err();
        assert!(
            error.to_string().contains("a shark ate the judge"),
            "{error}"
        );
        assert!(matches!(handle.status().await, Err(CrawlError::Closed(_))));
        // Nothing that was booked is lost, and the state says why.
        assert_eq!(crawl.store.durable(), crawl.store.last());
        let why = failed_because(crawl.store.as_ref()).unwrap();
        assert!(why.contains("a shark ate the judge"), "{why}");
        assert!(crawl.pages().contains(&"a/8".to_owned()));
    }
}

/// Answers one URL from elsewhere.
struct Replacing {
    source: ScriptedSource,
    broken: ScriptedSource,
    from: CanonicalUrl,
}

impl Source for Replacing {
    async fn fetch(&self, request: crate::fetch::Request) -> Outcome {
        if request.url == self.from {
            return self.broken.fetch(request).await;
        }
        self.source.fetch(request).await
    }
}

#[tokio::test]
async fn a_failed_crawl_goes_on_when_it_is_told_to() {
    let crawl = comb();
    let broken = Crawl::new(&[]);
    broken.page("a/9", "reef shark", &[]);
    let source = Replacing {
        source: crawl.source.clone(),
        broken: broken.source,
        from: url("a/9"),
    };
    let (engine, _handle) = Engine::open(crawl.parts(source, Pace::Replay)).unwrap();
    engine.run().await.unwrap_err();
    crawl
        .live(async |handle| {
            let status = handle.status().await.unwrap();
            assert_eq!(status.state, v1::CrawlState::Failed as i32);
            handle
                .set_state(CrawlState::Running, "repaired")
                .await
                .unwrap();
            until_finished(&handle).await;
        })
        .await;
    assert_eq!(sorted(&crawl.pages()), whole().await);
}

fn sorted(pages: &[String]) -> Vec<String> {
    let set: BTreeSet<String> = pages.iter().cloned().collect();
    assert_eq!(set.len(), pages.len(), "a page is booked twice: {pages:?}");
    set.into_iter().collect()
}

/// The pages of an undisturbed crawl.
async fn whole() -> Vec<String> {
    let crawl = comb();
    crawl.replay().await;
    sorted(&crawl.pages())
}

/// Crawls live on a log whose flushes `fails` fail. Gives the log and whether the crawl broke.
async fn on_failing_store(crawl: &Crawl, fails: std::ops::Range<u64>) -> bool {
    crawl.begin();
    crawl.store.flush().unwrap();
    let store = Arc::new(FailingStore::new(Arc::clone(&crawl.store), fails));
    let parts = crawl.parts_on(crawl.source.clone(), Pace::Live, store);
    let (engine, handle) = Engine::open(parts).unwrap();
    let script = async {
        // Whether it finishes or fails, in the end it answers no more or rests.
        while let Ok(status) = handle.status().await {
            if status.state == v1::CrawlState::Finished as i32 {
                break;
            }
            tokio::task::yield_now().await;
        }
        handle.shutdown().await;
    };
    let (ended, ()) = tokio::join!(engine.run(), script);
    if let Err(error) = &ended {
        assert!(error.to_string().contains("the disk is full"), "{error}");
    }
    ended.is_err()
}

#[tokio::test]
async fn a_log_that_cannot_be_made_durable_ends_the_crawl_and_what_is_durable_goes_on() {
    let whole = whole().await;
    for lasting in [false, true] {
        let mut broken = 0;
        // Flush n fails, once or from then on, until there is no flush n.
        for n in 1.. {
            let crawl = comb();
            let to = if lasting { u64::MAX } else { n + 1 };
            if !Box::pin(on_failing_store(&crawl, n..to)).await {
                break;
            }
            broken += 1;
            let left = Arc::new(crawl.store.after_crash());
            if !lasting {
                let why = failed_because(left.as_ref()).unwrap();
                assert!(why.contains("the disk is full"), "{why}");
            }
            let again = Crawl {
                store: Arc::clone(&left),
                ..comb()
            };
            left.append(Event::State(StateEvent {
                state: CrawlState::Running,
                reason: "space again".into(),
                at: crawl.clock.now(),
            }));
            again.replay().await;
            assert_eq!(sorted(&again.pages()), whole, "flush {n} failed");
        }
        assert!(broken >= 2, "{broken}");
    }
}
