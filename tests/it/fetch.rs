//! The network source against a site that misbehaves, and what every source promises.

mod names;
mod proxy;
mod recording;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use apprentice::clock::{SimulatedClock, Timestamp};
use apprentice::fetch::robots::{Hop, Origin, robots_hop};
use apprentice::fetch::{
    FetchError, Fields, GuardRules, HttpSettings, HttpSource, HttpSourceError, Kinds, Outcome,
    ProxyMode, ReplaySource, Request, Response, Shelf, Shelved, Source,
};
use apprentice::url::CanonicalUrl;
use tokio::net::TcpListener;

use crate::support::site::{Site, answer};

/// 90 s before the date in `/busy-date`.
const NOW: Timestamp = Timestamp(784_111_777_000 - 90_000);

fn source(settings: HttpSettings) -> HttpSource {
    HttpSource::new(settings, SimulatedClock::starting_at(NOW)).unwrap()
}

fn direct() -> HttpSource {
    source(HttpSettings::default())
}

fn loopback() -> Arc<GuardRules> {
    Arc::new(GuardRules::parse(&["127.0.0.0/8"]).unwrap())
}

/// A request that may go to loopback, with room for 100,000 bytes.
fn request(url: &str) -> Request {
    let url = CanonicalUrl::parse(url).unwrap();
    let mut request = Request::page(url, "apprentice-test/0 (+mailto:test@example.org)");
    request.guard = loopback();
    request.limits.body_bytes_max = 100_000;
    request
}

async fn response(source: &impl Source, url: &str) -> Response {
    match source.fetch(request(url)).await {
        Outcome::Response(response) => response,
        other => panic!("{url}: {other:?}"),
    }
}

async fn failure(source: &impl Source, url: &str) -> FetchError {
    failing(source, request(url)).await
}

async fn failing(source: &impl Source, request: Request) -> FetchError {
    let url = request.url.clone();
    match source.fetch(request).await {
        Outcome::Failure(failure) => failure,
        other => panic!("{url}: {other:?}"),
    }
}

async fn target(source: &impl Source, url: &str) -> String {
    match source.fetch(request(url)).await {
        Outcome::Redirect(redirect) => redirect.target.as_str().to_owned(),
        other => panic!("{url}: {other:?}"),
    }
}

fn status(code: u16, retry_after_secs: Option<u64>) -> FetchError {
    FetchError::Status {
        code,
        retry_after: retry_after_secs.map(Duration::from_secs),
    }
}

/// What every source promises, on the pages of the loopback site under `base`.
async fn conforms(source: &impl Source, base: &str) {
    let at = |path: &str| format!("{base}{path}");
    let page = response(source, &at("/page")).await;
    assert_eq!((page.status, &page.body[..]), (200, b"hello".as_slice()));
    assert_eq!(page.content_type.as_deref(), Some("text/html"));
    assert_eq!(page.robots_tag.as_deref(), Some("noarchive\nnofollow"));
    assert!(!page.truncated);

    let large = response(source, &at("/large")).await;
    assert_eq!((large.body.len(), large.truncated), (100_000, true));
    for empty in ["/empty", "/reset"] {
        let empty = response(source, &at(empty)).await;
        assert!(empty.body.is_empty() && !empty.truncated);
    }
    for path in ["/gzip", "/gzip-twice", "/gzip-members", "/gzip-lie"] {
        let page = response(source, &at(path)).await;
        assert_eq!(
            (&page.body[..], page.truncated),
            (b"hello".as_slice(), false),
            "{path}"
        );
    }
    assert_eq!(failure(source, &at("/gzip-bomb")).await.name(), "bomb");
    let unstated = response(source, &at("/unstated")).await;
    assert_eq!(&unstated.body[..], b"<p>hello");
    let mut strict = request(&at("/large"));
    strict.limits.refuse_large = true;
    let too_large = FetchError::TooLarge(100_000);
    assert_eq!(failing(source, strict).await, too_large);
    let cut = response(source, &at("/gzip-cut")).await;
    assert!(cut.body.len() > 15_000 && cut.truncated);
    assert_eq!(failure(source, &at("/gzip-nothing")).await.name(), "decode");

    assert_eq!(target(source, &at("/moved")).await, at("/page"));
    assert_eq!(target(source, &at("/moved-utf8")).await, at("/caf%C3%A9"));
    // Not followed: the caller sees each hop and stops when it wants.
    assert_eq!(target(source, &at("/loop")).await, at("/loop"));
    for path in ["/lost", "/astray"] {
        let error = failure(source, &at(path)).await;
        assert!(
            matches!(error, FetchError::BadRedirect { code: 302, .. }),
            "{path}: {error}"
        );
    }
    for (path, expected) in [
        ("/choices", status(300, None)),
        ("/unchanged", status(304, None)),
        ("/busy", status(503, Some(7))),
        ("/busy-garbage", status(429, None)),
        ("/private", status(401, None)),
    ] {
        assert_eq!(failure(source, &at(path)).await, expected, "{path}");
    }
    let image = FetchError::ContentType("image/png".to_owned());
    assert_eq!(failure(source, &at("/image")).await, image);
    let mut any = request(&at("/image"));
    any.kinds = Kinds::Any;
    assert!(matches!(source.fetch(any).await, Outcome::Response(_)));
}

/// The pages of the loopback site as an archive would have recorded them.
struct Recorded;

impl Shelf for Recorded {
    fn get(&self, url: &CanonicalUrl) -> Option<Shelved> {
        let url = url.to_url().ok()?;
        let (bytes, _) = answer(url.path());
        let split = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let mut lines = bytes[..split].split(|byte| *byte == b'\n');
        let status = std::str::from_utf8(lines.next()?.get(9..12)?).ok()?;
        let pairs = lines.filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let name = std::str::from_utf8(&line[..colon]).ok()?;
            Some((name, line[colon + 1..].trim_ascii()))
        });
        Some(Shelved {
            status: status.parse().ok()?,
            fields: Fields::from_pairs(pairs),
            body: bytes[split + 4..].to_vec().into(),
        })
    }
}

#[tokio::test]
async fn the_network_keeps_the_promises_of_a_source() {
    let site = Site::start().await;
    conforms(&direct(), &site.url("")).await;
}

#[tokio::test]
async fn a_replay_keeps_the_promises_of_a_source() {
    conforms(&ReplaySource::new(Recorded), "http://archived.test").await;
}

#[tokio::test]
async fn a_request_says_who_asks_and_for_what() {
    let site = Site::start().await;
    // What the WHATWG rules leave unencoded has to pass through as it is.
    let url = site.url("/a|b^c[d]\\~%7e;=@?a=%zz&b=|`{}'");
    failure(&direct(), &url).await;
    let head = site.heads().remove(0).to_ascii_lowercase();
    assert!(
        head.starts_with("get /a|b^c[d]/~%7e;=@?a=%zz&b=|`{}%27 http/1.1\r\n"),
        "{head}"
    );
    for line in [
        "user-agent: apprentice-test/0 (+mailto:test@example.org)",
        "accept-encoding: gzip, deflate, br",
        &format!("host: {}", site.address),
    ] {
        assert!(head.contains(&format!("\r\n{line}\r\n")), "{head}");
    }
    assert!(head.contains("\r\naccept: text/html") && head.contains("\r\naccept-language: "));
}

#[tokio::test]
async fn retry_after_as_a_date_is_a_wait_from_now() {
    let site = Site::start().await;
    assert_eq!(
        failure(&direct(), &site.url("/busy-date")).await,
        status(429, Some(90))
    );
}

#[tokio::test]
async fn every_limit_ends_a_fetch_under_its_own_name() {
    let site = Site::start().await;
    let source = direct();
    for (path, expected) in [
        ("/hang", "timeout-first-byte"),
        ("/hang-in-head", "timeout-first-byte"),
        ("/hang-in-body", "timeout-total"),
        ("/drip", "timeout-total"),
    ] {
        let mut request = request(&site.url(path));
        request.limits.first_byte = Duration::from_millis(150);
        request.limits.total = Duration::from_millis(400);
        assert_eq!(failing(&source, request).await.name(), expected, "{path}");
    }
    let mut request = request(&site.url("/hang"));
    request.limits.total = Duration::from_millis(100);
    assert_eq!(failing(&source, request).await.name(), "timeout-total");
}

#[tokio::test]
async fn lines_of_a_head_that_are_not_by_the_book_lose_no_page() {
    let site = Site::start().await;
    let page = response(&direct(), &site.url("/odd-lines")).await;
    assert_eq!(
        page.content_type.as_deref(),
        Some("text/html; charset=utf-8")
    );
    assert_eq!((&page.body[..], page.truncated), (&b"hello"[..], false));
}

#[tokio::test]
async fn a_body_that_only_drips_is_too_slow() {
    let site = Site::start().await;
    let mut slow = request(&site.url("/drip"));
    slow.limits.rate_window = Duration::from_millis(100);
    slow.limits.rate_bytes_min = 10_000;
    let error = failing(&direct(), slow.clone()).await;
    assert_eq!(error, FetchError::TooSlow(10_000));
    // Who takes any rate waits until the bytes or the time are spent.
    slow.limits.rate_bytes_min = 0;
    slow.limits.body_bytes_max = 30;
    let Outcome::Response(drops) = direct().fetch(slow).await else {
        panic!("no response");
    };
    assert_eq!((drops.body.len(), drops.truncated), (30, true));
}

#[tokio::test]
async fn a_port_of_another_service_is_not_connected_to() {
    let error = failure(&direct(), "http://127.0.0.1:25/").await;
    assert_eq!(error, FetchError::Port(25));
}

#[tokio::test]
async fn a_document_of_no_kind_is_dropped_at_its_first_bytes_if_they_are_no_text() {
    let site = Site::start().await;
    let mut endless = request(&site.url("/unstated-binary"));
    endless.limits.total = Duration::from_mins(5);
    let kind = FetchError::ContentType("application/octet-stream".to_owned());
    assert_eq!(failing(&direct(), endless).await, kind);
}

#[tokio::test]
async fn an_endless_stream_is_cut_at_the_byte_limit() {
    let site = Site::start().await;
    let mut request = request(&site.url("/stream"));
    request.limits.body_bytes_max = 10;
    let Outcome::Response(stream) = direct().fetch(request).await else {
        panic!("no response");
    };
    assert_eq!((stream.body.len(), stream.truncated), (10, true));
}

#[tokio::test]
async fn no_connection_within_the_limit_has_a_name() {
    // Nobody accepts: the kernel lets TCP stand, but no TLS session follows.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut request = request(&format!("https://{address}/"));
    request.limits.connect = Duration::from_millis(100);
    let limit = request.limits.connect;
    assert_eq!(
        failing(&direct(), request).await,
        FetchError::TimeoutConnect(limit)
    );
}

#[tokio::test]
async fn what_came_before_a_break_is_kept_and_nothing_is_a_failure() {
    let site = Site::start().await;
    let source = direct();
    for (path, kept) in [
        ("/half", "half a body"),
        ("/chunk-broken", "hello"),
        ("/chunk-last-missing", "hello"),
    ] {
        let half = response(&source, &site.url(path)).await;
        assert_eq!(
            (&half.body[..], half.truncated),
            (kept.as_bytes(), true),
            "{path}"
        );
    }
    let long = response(&source, &site.url("/too-long")).await;
    assert_eq!(
        (&long.body[..], long.truncated),
        (b"hello".as_slice(), false)
    );
    for (path, expected) in [
        ("/drop", "broken"),
        ("/drop-in-head", "broken"),
        ("/drop-before-body", "broken"),
        ("/chunk-first-broken", "broken"),
        ("/garbage", "protocol"),
        ("/huge-headers", "protocol"),
        ("/many-headers", "protocol"),
    ] {
        let error = failure(&source, &site.url(path)).await;
        assert_eq!(error.name(), expected, "{path}: {error}");
    }
    let mut narrow = request(&site.url("/fat-headers"));
    assert!(matches!(
        source.fetch(narrow.clone()).await,
        Outcome::Response(_)
    ));
    narrow.limits.header_bytes_max = 4_000;
    let error = failing(&source, narrow).await;
    assert!(error.to_string().contains("4000"), "{error}");
}

#[tokio::test]
async fn connections_are_used_again_but_not_under_other_rules() {
    let site = Site::start().await;
    let source = direct();
    for path in [
        "/page",
        "/moved",
        "/moved-chunked",
        "/missing",
        "/image",
        "/page",
    ] {
        source.fetch(request(&site.url(path))).await;
    }
    assert_eq!(site.connections(), 1);
    let mut stranger = request(&site.url("/page"));
    stranger.guard = Arc::new(GuardRules::public_only());
    assert_eq!(failing(&source, stranger).await.name(), "address");
    let mut other = request(&site.url("/page"));
    other.guard = Arc::new(GuardRules::parse(&["127.0.0.1/32"]).unwrap());
    assert!(matches!(source.fetch(other).await, Outcome::Response(_)));
    assert_eq!(site.connections(), 2);
}

#[tokio::test]
async fn more_rule_sets_than_are_kept_do_no_harm() {
    let site = Site::start().await;
    let source = direct();
    for round in 0..2 {
        for number in 0..40 {
            let mut one = request(&site.url("/page"));
            let ranges = ["127.0.0.0/8".to_owned(), format!("10.0.{number}.0/24")];
            one.guard = Arc::new(GuardRules::parse(&ranges).unwrap());
            let outcome = source.fetch(one).await;
            assert!(
                matches!(outcome, Outcome::Response(_)),
                "{round} {number}: {outcome:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_dropped_fetch_is_abandoned() {
    let site = Site::start().await;
    let source = direct();
    for path in ["/hang", "/hang-in-body"] {
        let fetch = tokio::spawn({
            let (source, request) = (source.clone(), request(&site.url(path)));
            async move { source.fetch(request).await }
        });
        site.hanging().await;
        fetch.abort();
        site.abandoned().await;
    }
}

#[tokio::test]
async fn a_closed_port_is_a_failure_to_connect() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = failure(&direct(), &format!("http://{address}/")).await;
    assert_eq!(error.name(), "connect", "{error}");
}

#[test]
fn settings_that_cannot_be_used_are_refused_with_words() {
    let refused = |settings| {
        HttpSource::new(settings, SimulatedClock::starting_at(NOW))
            .err()
            .unwrap()
    };
    let no_certificate = refused(HttpSettings {
        extra_roots_pem: b"no certificate".to_vec(),
        ..HttpSettings::default()
    });
    assert!(matches!(no_certificate, HttpSourceError::NoCertificate));
    let broken = refused(HttpSettings {
        extra_roots_pem: b"-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n".to_vec(),
        ..HttpSettings::default()
    });
    assert!(matches!(broken, HttpSourceError::Pem(_)), "{broken}");
    let remote = refused(HttpSettings {
        proxy: ProxyMode::Archive("http://10.0.0.1:8080".parse().unwrap()),
        ..HttpSettings::default()
    });
    assert!(remote.to_string().contains("10.0.0.1"), "{remote}");
}

#[tokio::test]
async fn robots_txt_is_got_over_the_network() {
    let site = Site::start().await;
    let page = request(&site.url("/page"));
    let robots = Origin::of(&page.url).robots_url().unwrap();
    let Hop::Answer(answer) = robots_hop(&direct(), robots, &page).await else {
        panic!("the site does not redirect");
    };
    assert_eq!(answer.name(), "rules");
    assert!(answer.allows(&page.url));
    assert!(!answer.allows(&request(&site.url("/private")).url));
}
