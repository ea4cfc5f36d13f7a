//! Sitemaps give seeds, if the crawl asks for that.

use super::*;

/// A site with two sitemaps behind an index, one in the forbidden part and one elsewhere.
fn site() -> Crawl {
    let mut crawl = Crawl::new(&["a/"]);
    crawl.robots = RobotsPolicy::Obey(RobotsCache::default());
    crawl.scope().sitemaps = true;
    crawl.limits().delay_ms_min = Some(1_000);
    let sitemaps = ["a.test/index.xml", "a.test/no/s.xml"];
    let lines = sitemaps
        .map(|at| format!("Sitemap: http://{at}\n"))
        .concat();
    let rules = format!("{lines}User-agent: *\nDisallow: /no/\n");
    crawl.html("a/robots.txt", &rules);
    let loc = |at: &str| format!("<loc>http://{at}</loc>");
    let index = format!(
        "<sitemapindex><sitemap>{}</sitemap></sitemapindex>",
        loc("a.test/1.txt")
    );
    crawl.html("a/index.xml", &index);
    let pages = ["/1", "/2", "/no/3", "/2", "/4?x"].map(|path| format!("http://a.test{path}\n"));
    crawl.html("a/1.txt", &format!("{}http://b.test/5\n", pages.concat()));
    for page in ["a/", "a/1", "a/2", "a/4?x"] {
        crawl.page(page, "reef", &[]);
    }
    crawl
}

#[tokio::test]
async fn the_pages_of_a_seeds_sitemaps_are_seeds() {
    let crawl = site();
    let progress = crawl.replay().await;
    // Not what is forbidden, nor what another host would have to allow.
    let expected = [
        "a/robots.txt",
        "a/index.xml",
        "a/1.txt",
        "a/",
        "a/1",
        "a/2",
        "a/4?x",
    ];
    assert_eq!(crawl.requests(), expected);
    assert_eq!((progress.pages, progress.requests), (4, 4));
    let times = crawl.events().into_iter().filter_map(|event| match event {
        Event::Page(page) => Some(page.lease.leased_at.0),
        _ => None,
    });
    let times: Vec<i64> = times.collect();
    // Each request before the first page, and each page, a delay after the last one.
    assert_eq!(times, [4_000, 5_000, 6_000, 7_000]);
}

/// `a` names a sitemap at `b`, which says `rules` in its own robots.txt.
fn site_with_a_sitemap_elsewhere(rules: &str) -> Crawl {
    let mut crawl = Crawl::new(&["a/"]);
    crawl.robots = RobotsPolicy::Obey(RobotsCache::default());
    crawl.scope().sitemaps = true;
    crawl.limits().delay_ms_min = Some(1_000);
    crawl.html("a/robots.txt", "Sitemap: http://b.test/index.xml\n");
    crawl.html("b/robots.txt", rules);
    let loc = |at: &str| format!("<sitemap><loc>http://{at}</loc></sitemap>");
    // Its own host's, and a third one's that nobody has named for us.
    let index = [loc("b.test/1.txt"), loc("c.test/2.txt")].concat();
    crawl.html(
        "b/index.xml",
        &format!("<sitemapindex>{index}</sitemapindex>"),
    );
    crawl.html("b/1.txt", "http://a.test/1\nhttp://b.test/2\n");
    for page in ["a/", "a/1"] {
        crawl.page(page, "reef", &[]);
    }
    crawl
}

#[tokio::test]
async fn a_sitemap_at_another_host_is_asked_for_if_robots_txt_names_it_and_that_host_allows() {
    let crawl = site_with_a_sitemap_elsewhere("User-agent: *\nDisallow: /private\n");
    let asked = Arc::default();
    let timed = support::Timed {
        inner: crawl.source.clone(),
        clock: crawl.clock.clone(),
        asked: Arc::clone(&asked),
    };
    let (engine, _handle) = Engine::open(crawl.parts(timed, Pace::Replay)).unwrap();
    let progress = engine.run().await.unwrap();
    let expected = [
        "a/robots.txt",
        "b/robots.txt",
        "b/index.xml",
        "b/1.txt",
        "a/",
        "a/1",
    ];
    assert_eq!(crawl.requests(), expected);
    assert_eq!((progress.pages, progress.requests), (2, 2));
    // The other host has its delay between each two requests as well.
    let times: Vec<i64> = asked.lock().unwrap().iter().map(|(_, at)| at.0).collect();
    assert!(
        times[2] - times[1] >= 1_000 && times[3] - times[2] >= 1_000,
        "{times:?}"
    );

    let forbids = site_with_a_sitemap_elsewhere("User-agent: *\nDisallow: /index\n");
    forbids.replay().await;
    assert_eq!(forbids.requests(), ["a/robots.txt", "b/robots.txt", "a/"]);
    let moved = Redirect {
        status: 301,
        target: url("c/index.xml"),
        answer_time: Duration::ZERO,
    };
    let astray = Crawl::new(&["a/"]);
    let mut astray = Crawl {
        robots: RobotsPolicy::Obey(RobotsCache::default()),
        ..astray
    };
    astray.scope().sitemaps = true;
    astray.html("a/robots.txt", "Sitemap: http://b.test/index.xml\n");
    let index = url("b/index.xml");
    astray.source.answer(index, Outcome::Redirect(moved));
    astray.replay().await;
    // A third host, which is not the one that was named.
    let expected = ["a/robots.txt", "b/robots.txt", "b/index.xml", "a/"];
    assert_eq!(astray.requests(), expected);
}

#[tokio::test]
async fn sitemaps_are_looked_for_although_somebody_else_has_asked_for_robots_txt() {
    let crawl = site();
    let RobotsPolicy::Obey(cache) = &crawl.robots else {
        panic!("it obeys");
    };
    let rules = "User-agent: *\nSitemap: http://a.test/1.txt\n";
    let rules = crate::fetch::robots::RobotsRules::parse(rules.as_bytes());
    let answer = crate::fetch::robots::RobotsAnswer::Rules(Arc::new(rules));
    let origin = crate::fetch::robots::Origin::of(&url("a/"));
    cache.insert(origin, answer, crawl.clock.now());
    crawl.replay().await;
    // Once, although each of its pages is a seed.
    let asked = crawl.requests();
    assert_eq!(asked[..3], ["a/1.txt", "a/", "a/1"]);
    assert_eq!(asked.iter().filter(|at| *at == "a/1.txt").count(), 1);
}

#[tokio::test]
async fn nobody_asks_for_sitemaps_unasked() {
    let mut crawl = site();
    crawl.scope().sitemaps = false;
    crawl.replay().await;
    assert_eq!(crawl.requests(), ["a/robots.txt", "a/"]);
}

#[tokio::test]
async fn a_sitemap_obeys_the_scope_and_its_absence_is_no_matter() {
    let mut crawl = site();
    crawl.scope().deny = vec!["/2$".into()];
    crawl.replay().await;
    assert!(!crawl.requests().contains(&"a/2".to_owned()));
    let mut crawl = Crawl::new(&["a/"]);
    crawl.robots = RobotsPolicy::Obey(RobotsCache::default());
    crawl.scope().sitemaps = true;
    // To itself, for ever.
    crawl.html("a/robots.txt", "Sitemap: http://a.test/loop\n");
    let redirect = Redirect {
        status: 301,
        target: url("a/loop"),
        answer_time: Duration::ZERO,
    };
    crawl
        .source
        .answer(url("a/loop"), Outcome::Redirect(redirect));
    crawl.page("a/", "reef", &[]);
    crawl.replay().await;
    assert_eq!(crawl.requests(), ["a/robots.txt", "a/loop", "a/"]);
}
