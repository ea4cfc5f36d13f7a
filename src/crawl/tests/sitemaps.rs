//! Sitemaps give seeds, if the crawl asks for that.

use super::*;

/// A site with two sitemaps behind an index, one in the forbidden part and one elsewhere.
fn site() -> Crawl {
    let mut crawl = Crawl::new(&["a/"]);
    crawl.robots = RobotsPolicy::Obey(RobotsCache::default());
    crawl.scope().sitemaps = true;
    crawl.limits().delay_ms_min = Some(1_000);
    let sitemaps = ["a.test/index.xml", "a.test/no/s.xml", "b.test/s.xml"];
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
