//! Collections from a script, by a simulated clock.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::watch;

use super::*;
use crate::archive::Archive;
use crate::clock::{Clock, SimulatedClock, Timestamp};
use crate::fetch::{FetchError, Outcome, Redirect, Request, ScriptedSource, Source};
use crate::url::{CanonicalUrl, HostKey};

const SOFTWARE: &str = "tests/1";
const DELAY: Duration = Duration::from_secs(1);

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text).unwrap()
}

/// A script whose answers take 10 ms, and when each was asked for.
#[derive(Clone)]
struct Timed {
    script: ScriptedSource,
    clock: SimulatedClock,
    asked: Arc<Mutex<Vec<(Timestamp, String)>>>,
}

impl Source for Timed {
    async fn fetch(&self, request: Request) -> Outcome {
        let now = self.clock.now();
        let url = request.url.as_str().to_owned();
        self.asked.lock().unwrap().push((now, url));
        let outcome = self.script.fetch(request).await;
        tokio::task::yield_now().await;
        self.clock
            .sleep_until(now.after(Duration::from_millis(10)))
            .await;
        outcome
    }
}

/// A folder with an archive, and a web.
struct Bench {
    folder: TempDir,
    source: Timed,
    params: CollectParams,
}

impl Bench {
    fn new() -> Self {
        let clock = SimulatedClock::starting_at(Timestamp(1_000_000));
        let mut params = CollectParams::new(Some("me@a.test")).unwrap();
        params.delay = DELAY;
        params.parallel = 4;
        Self {
            folder: tempfile::tempdir().unwrap(),
            source: Timed {
                script: ScriptedSource::new(),
                clock,
                asked: Arc::default(),
            },
            params,
        }
    }

    fn archive(&self) -> PathBuf {
        self.folder.path().join("pages.warc.gz")
    }

    fn page(&self, text: &str) {
        self.source.script.page(url(text), "<p>words");
    }

    fn robots(&self, host: &str, rules: &str) {
        let robots = url(&format!("http://{host}/robots.txt"));
        self.source.script.page(robots, rules);
    }

    fn redirect(&self, from: &str, to: &str) {
        let redirect = Redirect {
            status: 301,
            target: url(to),
            answer_time: Duration::ZERO,
        };
        let outcome = Outcome::Redirect(redirect);
        self.source.script.answer(url(from), outcome);
    }

    fn failure(&self, at: &str, error: FetchError) {
        let outcome = Outcome::Failure(error);
        self.source.script.answer(url(at), outcome);
    }

    fn status(&self, at: &str, code: u16, retry_after: Option<Duration>) {
        self.failure(at, FetchError::Status { code, retry_after });
    }

    async fn start(&self, wanted: &[&str], retry_failed: bool, closed: bool) -> Report {
        let clock = self.source.clock.clone();
        let output = Output::open(&self.archive(), SOFTWARE, retry_failed, clock.now()).unwrap();
        let (_sender, closing) = watch::channel(closed);
        let collector = Collector::new(
            Arc::new(self.source.clone()),
            clock,
            self.params.clone(),
            output,
            wanted.iter().map(|text| url(text)).collect(),
            closing,
        );
        collector.run(|_| ()).await.unwrap()
    }

    async fn run(&self, wanted: &[&str]) -> Report {
        self.start(wanted, false, false).await
    }

    /// What was asked for since the last call, robots.txt left out.
    fn asked(&self) -> Vec<String> {
        let mut asked = self.source.asked.lock().unwrap();
        let urls = asked.drain(..).map(|(_, url)| url);
        urls.filter(|url| !url.ends_with("/robots.txt")).collect()
    }

    /// What the archive holds: URL and status.
    fn held(&self) -> BTreeMap<String, u16> {
        let archive = Archive::open(&[self.archive()]).unwrap();
        assert_eq!(archive.info().unparsable + archive.info().duplicates, 0);
        let status = |url: &CanonicalUrl| archive.get(url).unwrap().unwrap().status;
        archive
            .urls()
            .map(|url| (url.as_str().to_owned(), status(&url)))
            .collect()
    }
}

fn causes(pairs: &[(&str, usize)]) -> BTreeMap<String, usize> {
    let pairs = pairs.iter();
    pairs.map(|(name, n)| ((*name).to_owned(), *n)).collect()
}

#[tokio::test]
async fn pages_come_into_the_archive_one_a_delay_and_after_robots_txt() {
    let bench = Bench::new();
    bench.robots("a.test", "User-agent: *\nCrawl-delay: 3\nDisallow: /x");
    for page in ["http://a.test/1", "http://a.test/2", "http://b.test/1"] {
        bench.page(page);
    }
    let wanted = ["http://a.test/1", "http://a.test/x", "http://a.test/2"];
    let report = bench
        .run(&[&wanted[..], &["http://b.test/1"]].concat())
        .await;
    assert_eq!((report.urls, report.had, report.pages), (4, 3, 3));
    assert_eq!(report.failed, causes(&[("robots.txt forbids", 1)]));
    assert_eq!(
        (report.requests, report.open, report.stopped),
        (3, 0, false)
    );
    assert_eq!(bench.held().len(), 3);
    let mut ended: BTreeMap<HostKey, Timestamp> = BTreeMap::new();
    for (at, asked) in bench.source.asked.lock().unwrap().iter() {
        let host = url(asked).host_key();
        assert_ne!(asked, "http://a.test/x");
        let delay = if host.as_str() == "a.test" { 3 } else { 1 };
        match ended.insert(host, at.after(Duration::from_millis(10))) {
            None => assert!(asked.ends_with("/robots.txt"), "{asked}"),
            Some(before) => assert!(at.since(before) >= Duration::from_secs(delay)),
        }
    }
    assert_eq!(ended.len(), 2);
}

#[tokio::test]
async fn a_second_start_asks_only_for_what_is_missing() {
    let bench = Bench::new();
    bench.page("http://a.test/1");
    bench.page("http://a.test/2");
    bench.redirect("http://a.test/old", "http://b.test/new");
    bench.page("http://b.test/new");
    let first = ["http://a.test/1", "http://a.test/old"];
    assert_eq!(bench.run(&first).await.had, 2);
    bench.asked();
    let ended = bench.source.clock.now();
    let report = bench
        .run(&[&first[..], &["http://a.test/2"]].concat())
        .await;
    assert_eq!((report.had, report.pages, report.requests), (3, 1, 1));
    let asked_first = bench.source.asked.lock().unwrap()[0].0;
    assert!(
        asked_first.since(ended) >= DELAY,
        "the first start had just asked"
    );
    assert_eq!(bench.asked(), ["http://a.test/2"]);
    let held = bench.held();
    assert_eq!(held["http://a.test/old"], 301);
    assert_eq!(held["http://b.test/new"], 200);
}

#[tokio::test]
async fn what_failed_for_good_is_remembered_and_what_failed_for_now_is_not() {
    let bench = Bench::new();
    let wanted = [
        "http://a.test/404",
        "http://b.test/500",
        "http://c.test/pdf",
    ];
    bench.status("http://b.test/500", 500, None);
    let pdf = FetchError::ContentType("application/pdf".into());
    bench.failure("http://c.test/pdf", pdf);
    let report = bench.run(&wanted).await;
    let failed = causes(&[("content-type", 1), ("status 404", 1)]);
    assert_eq!(report.failed, failed);
    assert_eq!(report.deferred, causes(&[("status 500", 1)]));
    let again = |url: &str| bench.asked().iter().filter(|asked| *asked == url).count();
    assert_eq!(again("http://b.test/500"), 2, "the policy has one retry");

    let report = bench.run(&wanted).await;
    assert_eq!(report.failed, failed);
    assert_eq!(bench.asked(), ["http://b.test/500", "http://b.test/500"]);
    let notes = fs::read_to_string(Output::notes_path(&bench.archive())).unwrap();
    assert_eq!(notes.lines().count(), 2);
    assert!(notes.contains("http://a.test/404") && notes.contains("application/pdf"));

    bench.page("http://a.test/404");
    let report = bench.start(&wanted, true, false).await;
    assert_eq!((report.had, report.pages), (1, 1));
    // Had is had, whatever the note says.
    let report = bench.run(&wanted[..1]).await;
    assert_eq!((report.had, report.requests), (1, 0));
}

#[tokio::test]
async fn the_target_of_a_redirect_is_asked_for_under_its_own_robots_txt() {
    let bench = Bench::new();
    bench.robots("b.test", "User-agent: *\nDisallow: /private");
    bench.redirect("http://a.test/", "http://b.test/private");
    let report = bench.run(&["http://a.test/"]).await;
    assert_eq!(report.failed, causes(&[("robots.txt forbids", 1)]));
    assert_eq!(bench.asked(), ["http://a.test/"]);
}

#[tokio::test]
async fn redirects_without_end_are_given_up_and_shared_ends_are_asked_for_once() {
    let bench = Bench::new();
    for hop in 0..12 {
        let at = |hop: u32| format!("http://h{hop}.test/");
        bench.redirect(&at(hop), &at(hop + 1));
    }
    bench.page("http://h12.test/");
    bench.redirect("http://loop.test/", "http://loop.test/");
    // From the first the end is twelve redirects away, from the sixth it is six.
    let wanted = ["http://h0.test/", "http://loop.test/", "http://h6.test/"];
    let report = bench.run(&wanted).await;
    assert_eq!(report.had, 1);
    assert_eq!(report.failed, causes(&[("too many redirects", 2)]));
    let mut asked = bench.asked();
    assert_eq!(asked.len(), 14);
    asked.sort();
    asked.dedup();
    assert_eq!(asked.len(), 14);
}

#[tokio::test]
async fn a_host_that_asks_for_long_patience_is_left_to_a_later_start() {
    let bench = Bench::new();
    let hour = Duration::from_hours(1);
    bench.status("http://a.test/1", 503, Some(hour));
    bench.page("http://a.test/1");
    bench.page("http://a.test/2");
    bench.page("http://b.test/1");
    let wanted = ["http://a.test/1", "http://a.test/2", "http://b.test/1"];
    let report = bench.run(&wanted).await;
    assert_eq!((report.had, report.open), (1, 0));
    assert_eq!(report.deferred, causes(&[("status 503", 2)]));
    bench.asked();
    let report = bench.run(&wanted).await;
    assert_eq!(report.deferred, causes(&[("asked to wait", 2)]));
    assert!(bench.source.asked.lock().unwrap().is_empty());
    let clock = &bench.source.clock;
    clock.advance_to(clock.now().after(hour));
    assert_eq!(bench.run(&wanted).await.had, 3);
}

#[tokio::test]
async fn a_short_wait_is_waited_for() {
    let bench = Bench::new();
    let busy = Some(Duration::from_secs(20));
    bench.status("http://a.test/1", 429, busy);
    bench.page("http://a.test/1");
    let report = bench.run(&["http://a.test/1"]).await;
    assert_eq!((report.had, report.requests), (1, 2));
    let asked = bench.source.asked.lock().unwrap();
    let [.., (first, _), (second, _)] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert!(second.since(*first) >= Duration::from_secs(20));
}

#[tokio::test]
async fn a_dead_origin_is_given_up_and_its_other_scheme_is_not() {
    let bench = Bench::new();
    bench.page("http://a.test/1");
    for path in ["robots.txt", "1", "2"] {
        let tls = FetchError::Tls("expired".into());
        bench.failure(&format!("https://a.test/{path}"), tls);
    }
    let wanted = ["https://a.test/1", "https://a.test/2", "http://a.test/1"];
    let report = bench.run(&wanted).await;
    assert_eq!(report.had, 1);
    assert_eq!(report.deferred, causes(&[("tls", 2)]));
    assert_eq!(bench.asked(), ["http://a.test/1"]);

    bench.robots("b.test", "");
    for path in ["1", "2"] {
        let dead = FetchError::Connect("refused".into());
        bench.failure(&format!("http://b.test/{path}"), dead);
    }
    let report = bench.run(&["http://b.test/1", "http://b.test/2"]).await;
    assert_eq!(report.deferred, causes(&[("connect", 2)]));
    let three_tries = ["http://b.test/1"; 3];
    assert_eq!(bench.asked(), three_tries);
}

#[tokio::test]
async fn a_robots_txt_that_cannot_be_had_forbids_for_now_and_its_cause_is_told() {
    let bench = Bench::new();
    bench.status("http://a.test/robots.txt", 500, None);
    let hour = Some(Duration::from_hours(1));
    bench.status("http://b.test/robots.txt", 503, hour);
    let (host, detail) = ("c.test".into(), "none".into());
    bench.failure("http://c.test/robots.txt", FetchError::Dns { host, detail });
    let wanted = ["http://a.test/1", "http://b.test/1", "http://c.test/1"];
    let report = bench.run(&wanted).await;
    let deferred = [
        ("dns", 1),
        ("robots.txt: status 500", 1),
        ("robots.txt: status 503", 1),
    ];
    assert_eq!(report.deferred, causes(&deferred));
    assert!(bench.asked().is_empty());
    // The next start leaves the host alone that asked for it, and tries the others again.
    let report = bench.run(&wanted).await;
    let deferred = [
        ("asked to wait", 1),
        ("dns", 1),
        ("robots.txt: status 500", 1),
    ];
    assert_eq!(report.deferred, causes(&deferred));
    let asked = bench.source.asked.lock().unwrap();
    assert!(!asked.iter().any(|(_, url)| url.contains("b.test")));
}

#[tokio::test]
async fn a_guard_that_forbids_an_address_is_not_held_against_the_url() {
    let bench = Bench::new();
    let address = FetchError::Address([10, 0, 0, 1].into());
    bench.failure("http://a.test/robots.txt", address);
    let report = bench.run(&["http://a.test/1", "http://a.test/2"]).await;
    assert_eq!(report.deferred, causes(&[("address", 2)]));
    assert!(bench.asked().is_empty());
}

#[tokio::test]
async fn a_proxy_that_stays_away_ends_the_collection_with_words() {
    for fails_at in ["http://a.test/robots.txt", "http://a.test/1"] {
        let bench = Bench::new();
        bench.failure(fails_at, FetchError::Proxy("refused".into()));
        let clock = bench.source.clock.clone();
        let output = Output::open(&bench.archive(), SOFTWARE, false, clock.now()).unwrap();
        let (_sender, closing) = watch::channel(false);
        let source = Arc::new(bench.source.clone());
        let wanted = vec![url("http://a.test/1")];
        let params = bench.params.clone();
        let collector = Collector::new(source, clock, params, output, wanted, closing);
        let error = collector.run(|_| ()).await.unwrap_err().to_string();
        assert!(error.contains("start the proxy"), "{error}");
    }
}

#[tokio::test]
async fn a_collection_that_is_closed_asks_for_nothing_more_and_says_what_is_open() {
    let bench = Bench::new();
    bench.page("http://a.test/1");
    let report = bench.start(&["http://a.test/1"], false, true).await;
    assert_eq!((report.open, report.stopped, report.had), (1, true, 0));
    assert!(bench.asked().is_empty());
    assert_eq!(bench.run(&["http://a.test/1"]).await.had, 1);
}

#[tokio::test]
async fn cut_off_anywhere_a_collection_comes_to_the_same_end() {
    let whole = Bench::new();
    let wanted = ["http://a.test/1", "http://a.test/old", "http://b.test/1"];
    let web = |bench: &Bench| {
        bench.page("http://a.test/1");
        bench.redirect("http://a.test/old", "http://b.test/new");
        bench.page("http://b.test/1");
        bench.page("http://b.test/new");
    };
    web(&whole);
    whole.run(&wanted).await;
    let (held, bytes) = (whole.held(), fs::read(whole.archive()).unwrap());
    // The first record is never torn: the file is there only with it.
    let mut cuts = 0;
    for length in (300..bytes.len()).step_by(7) {
        let bench = Bench::new();
        web(&bench);
        fs::write(bench.archive(), &bytes[..length]).unwrap();
        let mut known = Vec::new();
        crate::archive::recover(&bench.archive(), SOFTWARE, |url, _| known.push(url)).unwrap();
        let report = bench.run(&wanted).await;
        assert_eq!(report.had, 3, "cut at {length}");
        assert_eq!(bench.held(), held, "cut at {length}");
        let asked = bench.asked();
        assert_eq!(asked.len() + known.len(), 4, "cut at {length}: {asked:?}");
        assert!(
            known
                .iter()
                .all(|url| !asked.iter().any(|a| a == url.as_str()))
        );
        cuts += 1;
    }
    assert!(cuts > 50, "{cuts}");
}

#[test]
fn an_archive_of_others_is_left_as_it_is_and_without_notes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("theirs.warc.gz");
    fs::write(&path, b"WARC/1.0\r\n").unwrap();
    let error = Output::open(&path, SOFTWARE, false, Timestamp(0)).unwrap_err();
    assert!(error.to_string().contains("name a new one"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"WARC/1.0\r\n");
    assert!(!Output::notes_path(&path).exists());
}

/// Every host of the script at one address; how many are asked at once is noted.
#[derive(Clone)]
struct OneServer {
    timed: Timed,
    under_way: Arc<Mutex<(u32, u32)>>,
}

impl Source for OneServer {
    async fn fetch(&self, request: Request) -> Outcome {
        {
            let mut under_way = self.under_way.lock().unwrap();
            under_way.0 += 1;
            under_way.1 = under_way.1.max(under_way.0);
        }
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        self.under_way.lock().unwrap().0 -= 1;
        self.timed.fetch(request).await
    }

    async fn locate(&self, _: &Request) -> Option<std::net::IpAddr> {
        Some([192, 0, 2, 1].into())
    }
}

#[tokio::test]
async fn hosts_on_one_server_share_its_limit_from_the_first_contact_on() {
    let mut bench = Bench::new();
    bench.params.parallel = 32;
    bench.params.per_address = 3;
    let wanted: Vec<String> = (0..12).map(|n| format!("http://h{n}.test/")).collect();
    for page in &wanted {
        bench.page(page);
    }
    let source = OneServer {
        timed: bench.source.clone(),
        under_way: Arc::default(),
    };
    let clock = bench.source.clock.clone();
    let output = Output::open(&bench.archive(), SOFTWARE, false, clock.now()).unwrap();
    let urls = wanted.iter().map(|wanted| url(wanted)).collect();
    let (_stop, closing) = watch::channel(false);
    let shared = Arc::new(source.clone());
    let collector = Collector::new(shared, clock, bench.params.clone(), output, urls, closing);
    let report = collector.run(|_| ()).await.unwrap();
    assert_eq!((report.pages, report.requests), (12, 12));
    assert_eq!(source.under_way.lock().unwrap().1, 3);
}
