//! What a daemon knows of the network after it was killed, and what it keeps of pages.

use std::fs;
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use apprentice::proto::v1;

use crate::support::daemon::{Home, create, finished, rows, until};
use crate::support::site::{HTML, Site, Then, ok, redirect, with};

/// Two pages with the same bytes, one that is not to be kept, and one that is gone.
fn answers(_: &str, path: &str) -> (Vec<u8>, Then) {
    let bytes = match path {
        "/robots.txt" => ok("", b"User-agent: *\nDisallow: /private\n"),
        "/same-1" | "/same-2" => ok(HTML, b"<p>bees and honey"),
        "/noindex" => ok(
            HTML,
            b"<meta name=robots content=noindex><a href=/after>x</a>",
        ),
        "/tagged" => ok(&format!("{HTML}X-Robots-Tag: noindex\r\n"), b"<p>tagged"),
        "/noarchive" => ok(
            HTML,
            b"<meta name=robots content='index, noarchive'><p>one copy is enough",
        ),
        "/tagged-too" => ok(&format!("{HTML}X-Robots-Tag: noarchive\r\n"), b"<p>too"),
        "/after" => ok(HTML, b"<p>after"),
        "/feed" => ok("Content-Type: text/xml\r\n", b"<rss version='2.0'><p>x"),
        _ => with("404 Not Found", HTML, b""),
    };
    (bytes, Then::KeepAlive)
}

async fn site() -> Site {
    Site::start_with(Arc::new(answers)).await
}

fn spec(home: &Home, site: &Site, paths: &[&str]) -> v1::CrawlSpec {
    let mut spec = home.spec("crawl", &crate::support::daemon::toy());
    "me@example.org".clone_into(&mut spec.contact);
    spec.seeds = paths.iter().map(|path| site.url(path)).collect();
    spec.warc = true;
    let scope = spec.scope.get_or_insert_default();
    scope.allow_addresses = vec!["127.0.0.0/8".to_owned()];
    spec
}

/// Type and path of each answer that the crawl has kept.
fn kept(home: &Home, site: &Site) -> Vec<(String, String)> {
    let path = home.data().join("crawls/crawl/warc/crawl-00001.warc.gz");
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(&fs::read(path).unwrap()[..])
        .read_to_end(&mut text)
        .unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    let field = |record: &str, name: &str| {
        let line = record.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().trim().to_owned()
    };
    let records = text.split("WARC/1.1\r\n").map(|record| {
        let path = field(record, "WARC-Target-URI: ").replace(&site.url(""), "");
        (field(record, "WARC-Type: "), path)
    });
    let answers = records.filter(|(kind, _)| kind == "response" || kind == "revisit");
    answers.collect()
}

fn times(site: &Site, path: &str) -> usize {
    let line = format!("GET {path} ");
    let heads = site.heads();
    heads.iter().filter(|head| head.starts_with(&line)).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_daemon_asks_no_robots_txt_again_and_refers_to_what_it_kept() {
    let site = site().await;
    let home = Home::new();
    let mut daemon = home.daemon(&[]).await;
    let mut client = daemon.client().await;
    create(&mut client, spec(&home, &site, &["/same-1"])).await;
    finished(&mut client, "crawl").await;
    daemon.kill();
    let daemon = home.daemon(&[]).await;
    home.run(&[
        "crawl",
        "seed",
        "crawl",
        &site.url("/same-2"),
        &site.url("/private"),
    ])
    .done();
    let mut client = daemon.client().await;
    let both = |crawl: &v1::Crawl| crawl.pages == 2 && !crawl.refused_by_reason.is_empty();
    until(&mut client, "crawl", "has both pages", both).await;
    daemon.stop().await;
    assert_eq!(times(&site, "/robots.txt"), 1);
    assert_eq!(times(&site, "/private"), 0);
    let expected = [("response", "/same-1"), ("revisit", "/same-2")];
    assert_eq!(
        kept(&home, &site),
        expected.map(|(kind, path)| (kind.to_owned(), path.to_owned()))
    );
}

/// Crawls the four pages that are not to be kept and the one that they lead to; the paths of those that
/// were kept, and how many were withheld, by what they say.
async fn kept_under(change: impl Fn(&mut v1::Scope)) -> (Vec<String>, Vec<(String, u64)>) {
    let site = site().await;
    let home = Home::new();
    let mut daemon = home.daemon(&[]).await;
    let mut client = daemon.client().await;
    let paths = ["/noindex", "/tagged", "/noarchive", "/tagged-too"];
    let mut wanted = spec(&home, &site, &paths);
    change(wanted.scope.get_or_insert_default());
    create(&mut client, wanted).await;
    let crawl = finished(&mut client, "crawl").await;
    assert_eq!((crawl.pages, crawl.failures), (5, 0));
    // The counts are of the log, and not of this daemon.
    daemon.kill();
    let daemon = home.daemon(&[]).await;
    let crawl = finished(&mut daemon.client().await, "crawl").await;
    let shown = home.run(&["crawl", "status", "crawl"]);
    let line = shown
        .done()
        .lines()
        .find(|line| line.starts_with("withheld"));
    assert_eq!(line.is_some(), !crawl.withheld.is_empty());
    daemon.stop().await;
    let kept = kept(&home, &site);
    let mut kept: Vec<_> = kept.into_iter().map(|(_, path)| path).collect();
    kept.sort();
    let withheld = crawl.withheld.into_iter();
    let mut withheld: Vec<_> = withheld.map(|count| (count.name, count.count)).collect();
    withheld.sort();
    (kept, withheld)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noindex_and_noarchive_keep_a_page_out_of_the_archive_and_out_of_nothing_else() {
    let count = |name: &str, count| (name.to_owned(), count);
    let (kept, withheld) = kept_under(|_| ()).await;
    assert_eq!(kept, ["/after"]);
    assert_eq!(withheld, [count("noarchive", 2), count("noindex", 2)]);
    let (kept, withheld) = kept_under(|scope| scope.ignore_meta_robots = true).await;
    assert_eq!(kept, ["/after", "/noarchive", "/noindex"]);
    assert_eq!(withheld, [count("noarchive", 1), count("noindex", 1)]);
    let (kept, withheld) = kept_under(|scope| scope.ignore_noarchive = true).await;
    assert_eq!(kept, ["/after", "/noarchive", "/tagged-too"]);
    assert_eq!(withheld, [count("noindex", 2)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_killed_after_it_kept_a_redirect_keeps_it_once_and_what_lies_behind_it() {
    let is_up = Arc::new(AtomicBool::new(false));
    let up = Arc::clone(&is_up);
    let site = Site::start_with(Arc::new(move |_: &str, path: &str| match path {
        "/moved" => (redirect(b"/there"), Then::KeepAlive),
        "/there" if !up.load(Ordering::SeqCst) => (Vec::new(), Then::Hang),
        "/there" => (ok(HTML, b"<p>bees and honey"), Then::KeepAlive),
        _ => (with("404 Not Found", HTML, b""), Then::KeepAlive),
    }))
    .await;
    let home = Home::new();
    let mut daemon = home.daemon(&[]).await;
    let mut client = daemon.client().await;
    create(&mut client, spec(&home, &site, &["/moved"])).await;
    let moved = |crawl: &v1::Crawl| crawl.redirects == 1;
    until(&mut client, "crawl", "has booked the redirect", moved).await;
    site.hanging().await;
    daemon.kill();
    // What was being written when it died goes.
    let path = home.data().join("crawls/crawl/warc/crawl-00001.warc.gz");
    let booked = fs::read(&path).unwrap();
    let torn = [&booked[..], &booked[..booked.len() / 2]].concat();
    fs::write(&path, torn).unwrap();
    is_up.store(true, Ordering::SeqCst);
    let daemon = home.daemon(&[]).await;
    let crawl = finished(&mut daemon.client().await, "crawl").await;
    assert_eq!((crawl.pages, crawl.redirects, crawl.failures), (1, 1, 0));
    daemon.stop().await;
    assert_eq!(times(&site, "/moved"), 1);
    let expected = ["/moved", "/there"].map(|path| ("response".to_owned(), path.to_owned()));
    assert_eq!(kept(&home, &site), expected);
    assert!(fs::read(&path).unwrap().starts_with(&booked));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_final_failure_is_shown_with_its_cause() {
    let site = site().await;
    let home = Home::new();
    let daemon = home.daemon(&[]).await;
    let mut client = daemon.client().await;
    create(
        &mut client,
        spec(&home, &site, &["/same-1", "/gone", "/feed"]),
    )
    .await;
    finished(&mut client, "crawl").await;
    let all = rows(&mut client, "crawl", true).await;
    assert_eq!(all.len(), 3);
    let shown = home.run(&["crawl", "pages", "crawl", "--failures"]);
    let shown = shown.done();
    let line = |path: &str| {
        let url = site.url(path);
        let found = shown.lines().find(|line| line.contains(&url));
        found.unwrap_or_else(|| panic!("no {url} in {shown}"))
    };
    assert!(line("/gone").contains("status-404"), "{shown}");
    assert!(line("/feed").contains("content-type"), "{shown}");
    let without = home.run(&["crawl", "pages", "crawl"]);
    let without = without.done();
    assert!(
        !without.contains("/gone") && without.contains("/same-1"),
        "{without}"
    );
    daemon.stop().await;
}
