//! Memory is the fold of the log: at any moment, with leases out, and for the figures as well.

use super::*;

/// Pages, retries, redirects, refusals and a host that is given up.
fn motley() -> Crawl {
    let mut crawl = Crawl::new(&["start/", "moved/"]);
    crawl.robots = RobotsPolicy::Obey(RobotsCache::default());
    crawl.limits().in_flight_max = 4;
    let links = [
        "a/1", "a/2", "a/no", "busy/", "dead/1", "dead/2", "gone/", "b/", "c/", "a/1",
    ];
    crawl.page("start/", "reef", &links);
    crawl.html(
        "a/robots.txt",
        "User-agent: *\nDisallow: /no\nCrawl-delay: 2",
    );
    crawl.page("a/1", "sand", &["b/", "b/1", "start/", "a/no", "a/3"]);
    crawl.page("a/2", "reef", &["b/1", "b/2", "c/"]);
    crawl
        .fail("busy/", status(503))
        .page("busy/", "reef", &["b/3"]);
    crawl.fail("dead/1", FetchError::Connect("refused".into()));
    crawl.redirect("moved/", "b/").redirect("c/", "c/1");
    crawl.page("b/", "reef", &["a/4", "dead/3", "b/4"]);
    crawl.html("b/1", "<a rel=nofollow href=/5>x</a><a href=/6>y</a>");
    crawl.fail("b/2", FetchError::Address([10, 0, 0, 1].into()));
    crawl.page("c/1", "reef", &["c/", "moved/", "b/2", "c/2"]);
    crawl
}

#[tokio::test]
async fn at_any_moment_memory_is_what_the_log_gives() {
    for answered in 0..60 {
        let crawl = motley();
        let gate = Gate::new(crawl.source.clone(), answered);
        let parts = crawl.parts(gate.clone(), Pace::Replay);
        let (mut engine, _handle) = Engine::open(parts).unwrap();
        // Leave it in the middle, with leases out, when it can go no further.
        let stuck = async {
            let mut idle = 0;
            let mut before = (0, Seq(0));
            while idle < 2_000 {
                tokio::task::yield_now().await;
                let now = (gate.asked(), crawl.store.last());
                idle = if now == before { idle + 1 } else { 0 };
                before = now;
            }
        };
        tokio::select! {
            ended = engine.work() => ended.unwrap(),
            () = stuck => {}
        }
        let fold = crawl.frontier();
        assert_eq!(engine.frontier.image(), fold.image(), "{answered} answered");
        let counted = crawl
            .events()
            .iter()
            .filter(|event| event.counts().is_some())
            .count();
        assert_eq!(engine.booked, counted as u64);
    }
}

#[tokio::test]
async fn the_figures_are_those_of_the_log() {
    let crawl = motley();
    let progress = crawl.replay().await;
    assert_eq!(progress, progress_of(crawl.store.as_ref()));
    assert!(progress.redirects == 2 && progress.failures > 2 && progress.pages > 5);
    let lost: f64 = crawl
        .events()
        .iter()
        .filter_map(Event::counts)
        .map(|log_odds| 1.0 - log_odds.map_or(0.0, crate::critic::relevance_of))
        .sum();
    assert!((progress.curve.loss() - lost).abs() < 1e-5);
}

#[tokio::test]
async fn a_crawl_that_is_opened_again_has_the_same_memory_and_figures() {
    let mut crawl = motley();
    crawl.spec.budget = 7;
    let progress = crawl.replay().await;
    let (engine, _handle) = Engine::open(crawl.parts(crawl.source.clone(), Pace::Replay)).unwrap();
    assert_eq!(engine.progress, progress);
    assert_eq!(engine.frontier.image(), crawl.frontier().image());
    assert_eq!((engine.booked, engine.state.0), (7, CrawlState::Finished));
}
