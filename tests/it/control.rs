//! How a daemon is spoken to: every call, over each way in; and by a client that is not ours.

use std::fs;
use std::process::Command;

use apprentice::control::Token;
use apprentice::control::client::{Address, Client, connect};
use apprentice::proto::v1;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
};
use tonic::Code;

use crate::support::daemon::{
    Daemon, Home, TOPIC, Web, create, finished, loss, rows, status, toy, until,
};

/// The Python (with grpcio and grpcio-reflection) that runs `grpcio_client.py`.
pub(crate) const PYTHON_VARIABLE: &str = "APPRENTICE_GRPCIO_PYTHON";
/// Files in the home of a daemon with TLS.
pub(crate) const CERTIFICATE: &str = "cert.pem";
pub(crate) const KEY: &str = "key.pem";
pub(crate) const AUTHORITY: &str = "ca.pem";
pub(crate) const TOKEN: &str = "token";

/// Writes a certificate for this machine, its key, its authority and a token.
pub(crate) fn write_identity(home: &Home) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // Under the same name as the certificate's, OpenSSL takes that for self-signed.
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, "authority of a test");
    params.distinguished_name = name;
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names)
        .unwrap()
        .signed_by(&key, &authority)
        .unwrap();
    for (name, text) in [
        (CERTIFICATE, certificate.pem()),
        (KEY, key.serialize_pem()),
        (AUTHORITY, authority.pem()),
        (TOKEN, "0123456789abcdef-right\n".to_owned()),
        ("wrong-token", "0123456789abcdef-wrong\n".to_owned()),
    ] {
        fs::write(home.path(name), text).unwrap();
    }
}

async fn daemon_with_tls(home: &Home, web: &Web) -> Daemon {
    write_identity(home);
    let tls = ["--tls-cert", CERTIFICATE, "--tls-key", KEY];
    let way = ["--tcp", "127.0.0.1:0", "--token-file", TOKEN];
    let proxy = ["--archive-proxy", &web.proxy];
    home.daemon(&[&tls[..], &way, &proxy].concat()).await
}

/// A client over TLS that trusts `authority` and shows `token`; files of `home`.
async fn over_tls(home: &Home, daemon: &Daemon, authority: &str, token: Option<&str>) -> Address {
    Address::Tcp {
        url: format!("https://{}", daemon.tcp_address().await),
        authority: Some(fs::read(home.path(authority)).unwrap()),
        token: token.map(|file| Token::read(&home.path(file)).unwrap()),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_works_over_the_socket() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = home.daemon_on(&web).await;
    every_call(&home, &daemon, &web, daemon.client().await).await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_works_over_tcp_on_loopback() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let args = ["--tcp", "127.0.0.1:0", "--archive-proxy", &web.proxy];
    let daemon = home.daemon(&args).await;
    let address = Address::Tcp {
        url: format!("http://{}", daemon.tcp_address().await),
        authority: None,
        token: None,
    };
    every_call(&home, &daemon, &web, connect(&address).await.unwrap()).await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_works_over_tls_with_a_token() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = daemon_with_tls(&home, &web).await;
    let address = over_tls(&home, &daemon, AUTHORITY, Some(TOKEN)).await;
    every_call(&home, &daemon, &web, connect(&address).await.unwrap()).await;
    daemon.stop().await;
}

/// Makes each call of the service once at least and looks at what comes back.
async fn every_call(home: &Home, daemon: &Daemon, web: &Web, mut client: Client) {
    let client = &mut client;
    let said = client.get_daemon(v1::GetDaemonRequest {}).await.unwrap();
    let said = said.into_inner();
    assert_eq!(said.process_id, daemon.id());
    assert_eq!(said.data_dir, home.data().display().to_string());
    assert_eq!(said.proxy.trim_end_matches('/'), web.proxy);
    assert_eq!(said.crawls, 0);

    let mut spec = home.spec("crawl", &toy());
    spec.budget = 20;
    let created = create(client, spec.clone()).await;
    assert_eq!(created.state(), v1::CrawlState::Running);
    // The seeds may be very many; a status goes without them.
    spec.seeds.clear();
    // It says what it was given where it was told nothing.
    "auto".clone_into(&mut spec.order);
    assert_eq!(created.spec, Some(spec));
    watch_to_the_end(client).await;
    steer(client).await;
    read(client).await;

    let name = "crawl".to_owned();
    client
        .delete_crawl(v1::DeleteCrawlRequest { name })
        .await
        .unwrap();
    let listed = client.list_crawls(v1::ListCrawlsRequest {}).await.unwrap();
    assert_eq!(listed.get_ref().crawls, []);
}

async fn watch_to_the_end(client: &mut Client) {
    let request = v1::WatchCrawlRequest {
        name: "crawl".to_owned(),
        interval_ms: 100,
    };
    let mut stream = client.watch_crawl(request).await.unwrap().into_inner();
    let mut last = v1::Crawl::default();
    while let Some(crawl) = stream.message().await.unwrap() {
        assert!(crawl.fetched >= last.fetched);
        last = crawl;
    }
    assert_eq!(last.state(), v1::CrawlState::Finished, "{}", last.reason);
    assert_eq!(last.fetched, 20);
    assert_eq!(last.reason, "budget of 20 fetches spent");
}

/// Update, pause, resume, stop, add seeds.
async fn steer(client: &mut Client) {
    let name = || "crawl".to_owned();
    let resume = || v1::ResumeCrawlRequest { name: name() };
    let error = client.resume_crawl(resume()).await.unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert!(error.message().contains("--budget"), "{error}");

    // So slow that it does not end before it is paused.
    let slower = v1::UpdateCrawlRequest {
        name: name(),
        budget: Some(400),
        limits: Some(v1::Limits {
            delay_ms_min: Some(3_600_000),
            ..Default::default()
        }),
        ..Default::default()
    };
    let crawl = client.update_crawl(slower).await.unwrap().into_inner();
    let spec = crawl.spec.unwrap();
    assert_eq!(crawl.reason, "the spec was changed");
    assert_eq!(spec.budget, 400);
    assert_eq!(spec.limits.unwrap().delay_ms_min, Some(3_600_000));
    assert_eq!(spec.limits.unwrap().in_flight_max, 4);

    let pause = client.pause_crawl(v1::PauseCrawlRequest { name: name() });
    let paused = pause.await.unwrap().into_inner();
    assert_eq!(paused.state(), v1::CrawlState::Paused);
    assert!(paused.idle.contains("paused"), "{}", paused.idle);
    let known = toy().seeds(TOPIC)[0].as_str().to_owned();
    let seeds = v1::AddSeedsRequest {
        name: name(),
        urls: vec![known, "http://nowhere.example/".to_owned()],
    };
    let counts = client.add_seeds(seeds).await.unwrap().into_inner();
    assert_eq!((counts.added, counts.known), (1, 1));
    let wrong = v1::AddSeedsRequest {
        name: name(),
        urls: vec![
            "http://a.example/".to_owned(),
            "ftp://a.example/".to_owned(),
        ],
    };
    let error = client.add_seeds(wrong).await.unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.message().contains("urls[1]"), "{error}");

    let resumed = client.resume_crawl(resume()).await.unwrap();
    assert_eq!(resumed.get_ref().state(), v1::CrawlState::Running);
    let stop = client.stop_crawl(v1::StopCrawlRequest { name: name() });
    let stopped = stop.await.unwrap().into_inner();
    assert_eq!(stopped.state(), v1::CrawlState::Stopped);
    assert_eq!(stopped.reason, "stopped by request");
    // What was in flight is still booked.
    until(client, "crawl", "rests", |crawl| crawl.in_flight == 0).await;
    // An answer that waits until all that was booked is durable: from here on nothing changes.
    let counts = client.add_seeds(v1::AddSeedsRequest {
        name: name(),
        urls: Vec::new(),
    });
    assert_eq!(counts.await.unwrap().get_ref().added, 0);
}

/// Loss, frontier, a URL, pages.
async fn read(client: &mut Client) {
    let name = || "crawl".to_owned();
    let crawl = status(client, "crawl").await;
    let points = loss(client, "crawl").await;
    assert_eq!(points.len() as u64, crawl.fetched);
    assert!((points.last().unwrap().loss - crawl.loss).abs() < 1e-9);
    let few = v1::GetLossRequest {
        name: name(),
        points_max: 5,
        copies_lost: false,
    };
    let mut stream = client.get_loss(few).await.unwrap().into_inner();
    let mut thinned = Vec::new();
    while let Some(point) = stream.message().await.unwrap() {
        thinned.push(point);
    }
    assert!(thinned.len() < 10, "{} points", thinned.len());
    assert_eq!(thinned.last(), points.last());

    let head = v1::GetFrontierRequest { name: name(), k: 3 };
    let head = client.get_frontier(head).await.unwrap().into_inner().links;
    assert_eq!(head.len(), 3);
    assert!(head.is_sorted_by(|a, b| a.priority >= b.priority));
    let ask = |url: &str| v1::GetUrlRequest {
        name: name(),
        url: url.to_owned(),
    };
    let waiting = client
        .get_url(ask(&head[0].url))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(waiting.state(), v1::UrlState::Waiting);
    assert_eq!(waiting.waiting.unwrap().url, head[0].url);

    let pages = rows(client, "crawl", false).await;
    let all = rows(client, "crawl", true).await;
    assert_eq!(pages.len() as u64, crawl.pages);
    assert_eq!(all.len() as u64, crawl.fetched);
    assert!(all.iter().any(|row| row.seed));
    let page = client
        .get_url(ask(&pages[0].url))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(page.state(), v1::UrlState::Fetched);
    assert_eq!(page.page.unwrap().title, pages[0].title);
    let unknown = client.get_url(ask("http://other.example/")).await.unwrap();
    assert_eq!(unknown.get_ref().state(), v1::UrlState::Unknown);

    let after = v1::ExportPagesRequest {
        name: name(),
        after: pages[9].event,
        relevance_min: 0.5,
        ..Default::default()
    };
    let mut stream = client.export_pages(after).await.unwrap().into_inner();
    let wanted = pages[10..].iter().filter(|row| row.relevance >= 0.5);
    let mut got = 0;
    while let Some(row) = stream.message().await.unwrap() {
        assert!(row.event > pages[9].event && row.relevance >= 0.5);
        got += 1;
    }
    assert_eq!(got, wanted.count());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_token_or_the_authority_nothing_is_told() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = daemon_with_tls(&home, &web).await;
    for token in [None, Some("wrong-token")] {
        let address = over_tls(&home, &daemon, AUTHORITY, token).await;
        let mut client = connect(&address).await.unwrap();
        let error = client.get_daemon(v1::GetDaemonRequest {}).await;
        assert_eq!(error.unwrap_err().code(), Code::Unauthenticated);
        let request = v1::WatchCrawlRequest::default();
        let error = client.watch_crawl(request).await;
        assert_eq!(error.err().unwrap().code(), Code::Unauthenticated);
    }
    // Another authority of the same kind.
    let other = Home::new();
    write_identity(&other);
    let stranger = fs::read(other.path(AUTHORITY)).unwrap();
    fs::write(home.path("stranger.pem"), stranger).unwrap();
    let address = over_tls(&home, &daemon, "stranger.pem", Some(TOKEN)).await;
    let error = connect(&address).await.unwrap_err().to_string();
    assert!(
        error.contains("ertificate") && error.contains("--ca-file"),
        "{error}"
    );

    // The command line, by the same ways.
    let url = format!("https://{}", daemon.tcp_address().await);
    let list = ["crawl", "list", "--daemon", &url, "--ca-file"];
    let with = |rest: &[&str]| home.run(&[&list[..], rest].concat());
    let line = with(&[AUTHORITY, "--token-file", TOKEN]).done().to_owned();
    assert!(line.starts_with("no crawls yet"), "{line}");
    let refused = with(&[AUTHORITY, "--token-file", "wrong-token"]);
    assert!(refused.error(5).contains("--token-file"));
    let refused = with(&["stranger.pem", "--token-file", TOKEN]);
    assert!(refused.error(3).contains("--ca-file"));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seeds_by_the_hundred_thousand_are_taken_in_one_call() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    let mut spec = home.spec("crawl", &toy());
    spec.budget = 1;
    create(&mut client, spec).await;
    finished(&mut client, "crawl").await;
    // Some 7 MB, more than the 4 MB that gRPC takes unless told otherwise.
    let seeds = v1::AddSeedsRequest {
        name: "crawl".to_owned(),
        urls: (0..100_000)
            .map(|n| format!("http://host-{}.example/{n}/{}", n % 100, "x".repeat(50)))
            .collect(),
    };
    let counts = client.add_seeds(seeds).await.unwrap().into_inner();
    assert_eq!((counts.added, counts.known), (100_000, 0));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grpcio_speaks_to_it_by_reflection() {
    let Some(python) = std::env::var_os(PYTHON_VARIABLE) else {
        println!("skipped: {PYTHON_VARIABLE} names no Python with grpcio and grpcio-reflection");
        return;
    };
    let web = Web::serve_toy(&toy()).await;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/grpcio_client.py");
    for with_tls in [false, true] {
        let home = Home::new();
        let (daemon, files) = if with_tls {
            let daemon = daemon_with_tls(&home, &web).await;
            (daemon, vec![home.path(AUTHORITY), home.path(TOKEN)])
        } else {
            let args = ["--tcp", "127.0.0.1:0", "--archive-proxy", &web.proxy];
            (home.daemon(&args).await, Vec::new())
        };
        let mut spec = home.spec("foreign", &toy());
        spec.budget = 30;
        let request = v1::CreateCrawlRequest { spec: Some(spec) };
        let address = daemon.tcp_address().await;
        let output = Command::new(&python)
            .arg(script)
            // The certificate is for this name as well.
            .arg(address.replace("127.0.0.1", "localhost"))
            .arg(serde_json::to_string(&request).unwrap())
            .args(files)
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{complaint}");
        let seen: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        check_what_grpcio_saw(&seen, with_tls);
        daemon.stop().await;
    }
}

fn check_what_grpcio_saw(seen: &serde_json::Value, with_tls: bool) {
    let services = seen["services"].as_array().unwrap();
    for service in ["apprentice.v1.Crawler", "grpc.health.v1.Health"] {
        assert!(services.contains(&service.into()), "{services:?}");
    }
    assert_eq!(seen["health"], "SERVING");
    assert_eq!(seen["version"], env!("CARGO_PKG_VERSION"));
    let barred = if with_tls { "UNAUTHENTICATED" } else { "OK" };
    assert_eq!(seen["without_token"], barred);
    assert_eq!(seen["unknown"], "NOT_FOUND");
    assert_eq!(seen["created"], "CRAWL_STATE_RUNNING");
    let last = seen["watched"].as_array().unwrap().last().unwrap();
    assert_eq!(last["state"], "CRAWL_STATE_FINISHED");
    // JSON has 64-bit integers as strings.
    assert_eq!(last["fetched"], "30");
    let points = seen["loss"].as_array().unwrap();
    assert_eq!(points.len(), 30);
    assert_eq!(points[29]["loss"], last["loss"]);
    let pages = seen["pages"].as_array().unwrap();
    let count: usize = last["pages"].as_str().unwrap().parse().unwrap();
    assert_eq!(pages.len(), count);
    assert!(pages.iter().all(|page| page["url"].is_string()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_http_to_a_port_with_tls_is_never_taken_for_success() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = daemon_with_tls(&home, &web).await;
    let plain = format!("http://{}", daemon.tcp_address().await);
    // How the connection breaks is chance: a frame of the wrong size, a closed one, a broken pipe.
    for _ in 0..20 {
        let said = home.run(&["--daemon", &plain, "crawl", "list"]);
        let err = &said.err;
        assert_eq!(said.code, Some(3), "{err}");
        assert!(err.starts_with("error: ") && err.contains("https"), "{err}");
    }
    daemon.stop().await;
}
