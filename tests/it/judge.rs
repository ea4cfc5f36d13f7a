//! Crawls whose pages are judged by another program: by gRPC over each way in, while that program is
//! killed, hangs or talks nonsense.

mod conformance;
mod foreign;

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use apprentice::archive::{Answer, Library};
use apprentice::control::client::Client;
use apprentice::lab::toyweb::ToyLibrary;
use apprentice::proto::v1;
use apprentice::proto::v1::CrawlState::{Paused, Running, Stopped};
use apprentice::url::CanonicalUrl;
use tokio::sync::Semaphore;

use crate::control::{AUTHORITY, CERTIFICATE, KEY, TOKEN, write_identity};
use crate::support::daemon::{
    Home, TOPIC, Web, create, eventually, finished, rows, status, toy, until,
};
use crate::support::judge::{Guarded, Judge, Mood};

/// A web that counts what it is asked, and gives so many pages and no more until it is opened: there a
/// crawl is caught in the middle.
#[derive(Clone)]
struct Counting {
    web: ToyLibrary,
    asked: Arc<Mutex<BTreeMap<CanonicalUrl, u32>>>,
    gives: Arc<Semaphore>,
}

impl Counting {
    fn new() -> Self {
        Self {
            web: ToyLibrary(toy()),
            asked: Arc::default(),
            gives: Arc::new(Semaphore::new(40)),
        }
    }

    /// Holds no page back any more.
    fn open(&self) {
        self.gives.add_permits(1_000_000);
    }

    /// Pages that were asked for, those asked for again counted again.
    fn requests(&self) -> u64 {
        self.asked
            .lock()
            .unwrap()
            .values()
            .map(|times| u64::from(*times))
            .sum()
    }

    /// Pages that were asked for more than once, and how many there were at all.
    fn asked(&self) -> (Vec<(String, u32)>, usize) {
        let asked = self.asked.lock().unwrap();
        let again = asked.iter().filter(|(_, times)| **times > 1);
        let again = again.map(|(url, times)| (url.as_str().to_owned(), *times));
        (again.collect(), asked.len())
    }
}

impl Library for Counting {
    async fn answer(&self, url: &CanonicalUrl) -> Answer {
        if !url.as_str().ends_with("/robots.txt") {
            *self.asked.lock().unwrap().entry(url.clone()).or_default() += 1;
            self.gives.acquire().await.unwrap().forget();
        }
        self.web.answer(url).await
    }
}

/// A crawl that `address` judges.
fn spec_by(home: &Home, name: &str, address: &str) -> v1::CrawlSpec {
    v1::CrawlSpec {
        critic: String::new(),
        judge: Some(v1::Judge {
            address: address.to_owned(),
            ..Default::default()
        }),
        ..home.spec(name, &toy())
    }
}

async fn until_waiting(client: &mut Client, name: &str, words: &str) -> v1::Crawl {
    until(client, name, &format!("waits: {words}"), |crawl| {
        crawl.idle.starts_with("waiting for judge") && crawl.idle.contains(words)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_critic_behind_grpc_makes_the_same_crawl_as_the_critic() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let judge = Judge::on_socket(&home.path("judge.sock"));
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    let one_at_a_time = |spec: v1::CrawlSpec| {
        let mut spec = spec;
        spec.limits.get_or_insert_default().in_flight_max = 1;
        // A judge elsewhere tells no words, so that an apprentice would begin otherwise.
        "baseline".clone_into(&mut spec.order);
        spec
    };
    create(&mut client, one_at_a_time(home.spec("near", &toy()))).await;
    // Not both at once: they would take each other's turn at the hosts.
    let near = finished(&mut client, "near").await;
    create(
        &mut client,
        one_at_a_time(spec_by(&home, "far", &judge.address)),
    )
    .await;
    let far = finished(&mut client, "far").await;
    assert_eq!((near.fetched, near.relevant), (far.fetched, far.relevant));
    assert!(far.relevant > 10, "{}", far.relevant);
    let told = |rows: Vec<v1::PageRow>| -> Vec<_> {
        rows.into_iter()
            .map(|row| (row.url, row.log_odds.to_bits(), row.best_class, row.title))
            .collect()
    };
    let near = told(rows(&mut client, "near", true).await);
    let far = told(rows(&mut client, "far", true).await);
    let differs = near.iter().zip(&far).find(|(near, far)| near != far);
    assert_eq!((differs, near.len()), (None, far.len()));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_judge_that_is_killed_in_the_middle_and_started_again_costs_no_fetch() {
    let library = Counting::new();
    let web = Web::serve(library.clone()).await;
    let home = Home::new();
    let socket = home.path("judge.sock");
    let judge = Judge::on_socket(&socket);
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    create(&mut client, spec_by(&home, "crawl", &judge.address)).await;
    until(&mut client, "crawl", "is under way", |crawl| {
        crawl.fetched > 10
    })
    .await;
    judge.kill();
    library.open();
    until_waiting(&mut client, "crawl", "cannot be reached").await;
    // What was under way comes in; then nothing goes out any more.
    let rests = |crawl: &v1::Crawl| crawl.in_flight == 0;
    let before = until(&mut client, "crawl", "rests", rests).await;
    assert_eq!(before.state(), Running);
    let said = home.run(&["crawl", "status", "crawl"]);
    let said = said.done();
    assert!(said.contains("waiting for judge at unix:"), "{said}");
    assert!(
        said.contains(&format!("judge     unix:{}", socket.display())),
        "{said}"
    );
    let asked = library.asked().1;
    // Two more attempts at least.
    until_waiting(&mut client, "crawl", "asked again in 1").await;
    until_waiting(&mut client, "crawl", "asked again in 3").await;
    assert_eq!(library.asked().1, asked);
    let judge = Judge::on_socket(&socket);
    let crawl = finished(&mut client, "crawl").await;
    assert_eq!(crawl.unjudged, 0);
    let (again, asked) = library.asked();
    assert_eq!(again, []);
    assert_eq!(
        rows(&mut client, "crawl", true).await.len() as u64,
        crawl.fetched
    );
    assert_eq!(crawl.fetched + crawl.redirects, asked as u64);
    assert!(!judge.batches().is_empty());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_judge_that_hangs_fails_or_talks_nonsense_is_waited_for_with_the_reason() {
    let library = Counting::new();
    let web = Web::serve(library.clone()).await;
    let home = Home::new();
    let judge = Judge::on_tcp(None);
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    library.open();
    for (mood, words) in [
        (Mood::Unavailable, "shutting down"),
        (Mood::Internal, "it refuses (Internal): out of memory"),
        (Mood::Hang, "no answer within 0.5 s"),
        (Mood::NotANumber, "the probability is NaN"),
        (Mood::OneTooFew, "verdicts on"),
        (
            Mood::ForeignClass,
            "class \"cheese\" is not among those described",
        ),
    ] {
        let before = library.requests();
        judge.be(mood);
        let name = format!("{mood:?}");
        let mut spec = spec_by(&home, &name, &judge.address);
        spec.budget = 10;
        spec.judge.get_or_insert_default().deadline_ms = 500;
        create(&mut client, spec).await;
        let crawl = until_waiting(&mut client, &name, words).await;
        assert!(crawl.unjudged > 0, "{mood:?}");
        judge.be(Mood::Good);
        let crawl = finished(&mut client, &name).await;
        let asked = library.requests() - before;
        assert_eq!(asked, crawl.fetched + crawl.redirects, "{mood:?}");
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_starts_without_the_judge_opens_the_crawl_waiting_and_runs_the_others() {
    let library = Counting::new();
    let web = Web::serve(library.clone()).await;
    let home = Home::new();
    let socket = home.path("judge.sock");
    let judge = Judge::on_socket(&socket);
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    create(&mut client, spec_by(&home, "far", &judge.address)).await;
    until(&mut client, "far", "is under way", |crawl| {
        crawl.fetched > 10
    })
    .await;
    judge.kill();
    library.open();
    until_waiting(&mut client, "far", "cannot be reached").await;
    // It ends although pages wait for their verdicts; the test would wait for it a minute.
    daemon.stop().await;
    let asked = library.asked().1;

    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    let far = until_waiting(&mut client, "far", "cannot be reached").await;
    assert_eq!((far.state(), far.in_flight, far.unjudged), (Running, 0, 0));
    let classes = rows(&mut client, "far", false).await;
    assert!(classes.iter().all(|row| !row.best_class.is_empty()));
    assert_eq!(library.asked().1, asked);
    create(&mut client, home.spec("near", &toy())).await;
    finished(&mut client, "near").await;
    until_waiting(&mut client, "far", "cannot be reached").await;
    let _judge = Judge::on_socket(&socket);
    let far = finished(&mut client, "far").await;
    assert_eq!(
        rows(&mut client, "far", true).await.len() as u64,
        far.fetched
    );
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_without_its_judge_is_paused_stopped_and_deleted_like_any_other() {
    let library = Counting::new();
    let web = Web::serve(library.clone()).await;
    let home = Home::new();
    let judge = Judge::on_tcp(None);
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    create(&mut client, spec_by(&home, "crawl", &judge.address)).await;
    until(&mut client, "crawl", "is under way", |crawl| {
        crawl.fetched > 10
    })
    .await;
    judge.kill();
    library.open();
    until_waiting(&mut client, "crawl", "cannot be reached").await;
    home.run(&["crawl", "pause", "crawl"]).done();
    assert_eq!(status(&mut client, "crawl").await.state(), Paused);
    home.run(&["crawl", "resume", "crawl"]).done();
    until_waiting(&mut client, "crawl", "cannot be reached").await;
    home.run(&["crawl", "stop", "crawl"]).done();
    assert_eq!(status(&mut client, "crawl").await.state(), Stopped);
    home.run(&["crawl", "delete", "crawl"]).done();
    eventually("it is gone", async || {
        let crawls = home.data().join("crawls");
        (fs::read_dir(crawls).unwrap().count() == 0).then_some(())
    })
    .await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_judge_that_has_moved_is_found_again_once_the_crawl_is_told() {
    let library = Counting::new();
    let web = Web::serve(library.clone()).await;
    let home = Home::new();
    let judge = Judge::on_socket(&home.path("judge.sock"));
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    create(&mut client, spec_by(&home, "crawl", &judge.address)).await;
    until(&mut client, "crawl", "is under way", |crawl| {
        crawl.fetched > 10
    })
    .await;
    judge.kill();
    library.open();
    until_waiting(&mut client, "crawl", "cannot be reached").await;
    let judge = Judge::on_tcp(None);
    home.run(&["crawl", "set", "crawl", "--judge", &judge.address])
        .done();
    let fetched = status(&mut client, "crawl").await.fetched;
    until(&mut client, "crawl", "goes on", |crawl| {
        crawl.fetched > fetched
    })
    .await;
    assert_eq!(library.asked().0, []);
    // It is found there by the next daemon as well.
    daemon.stop().await;
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    let crawl = finished(&mut client, "crawl").await;
    assert_eq!(crawl.spec.unwrap().judge.unwrap().address, judge.address);

    create(&mut client, home.spec("near", &toy())).await;
    let said = home.run(&["crawl", "set", "near", "--judge", &judge.address]);
    assert!(said.error(5).contains("only one can judge"));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_crawl_whose_judge_does_not_answer_or_understand_is_refused_with_the_reason() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let judge = Judge::on_tcp(None);
    let daemon = home.daemon_on(&web).await;
    let start = |topic: &str, rest: &[&str]| {
        let words = [
            "crawl",
            "start",
            "new",
            "http://a.example/",
            "--topic",
            topic,
        ];
        home.run(&[&words[..], rest].concat())
    };
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nowhere = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let said = start(TOPIC, &["--judge", &nowhere]);
    assert!(
        said.error(5)
            .contains(&format!("the judge at {nowhere}: it cannot be reached"))
    );
    let said = start("beekeping", &["--judge", &judge.address]);
    assert!(said.error(5).contains("did you mean") || said.error(5).contains("beekeping"));
    let said = start(TOPIC, &["--judge", "http://192.0.2.1:7800"]);
    assert!(said.error(5).contains("judge.address") && said.error(5).contains("TLS"));
    let said = start(TOPIC, &["--judge", &judge.address, "--example-seeds", "3"]);
    assert!(said.error(5).contains("example_seeds"));
    let said = start(
        TOPIC,
        &["--judge", &judge.address, "--critic", "critic.model"],
    );
    assert_eq!(said.code, Some(2), "{}", said.err);
    let listed = home.run(&["crawl", "list"]);
    assert!(listed.done().starts_with("no crawls yet"));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_judge_under_tls_with_a_token_is_spoken_to_and_checked() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    write_identity(&home);
    let read = |name: &str| fs::read(home.path(name)).unwrap();
    let judge = Judge::on_tcp(Some(Guarded {
        certificate: read(CERTIFICATE),
        key: read(KEY),
        token: String::from_utf8(read(TOKEN)).unwrap().trim().to_owned(),
    }));
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    let start = |name: &str, rest: &[&str]| {
        let words = [
            "crawl",
            "start",
            name,
            "--topic",
            TOPIC,
            "--judge",
            &judge.address,
        ];
        let seed = toy().seeds(TOPIC)[0].as_str().to_owned();
        let budget = ["--budget", "5", "--delay-ms", "0", &seed];
        home.run(&[&words[..], &budget, rest].concat())
    };
    let with = |token: &'static str| ["--judge-ca-file", AUTHORITY, "--judge-token-file", token];
    start("guarded", &with(TOKEN)).done();
    let crawl = finished(&mut client, "guarded").await;
    assert_eq!(crawl.fetched, 5);
    let said = start("other", &with("wrong-token"));
    assert!(said.error(5).contains("it refuses (Unauthenticated): who?"));
    let said = start("other", &["--judge-token-file", TOKEN]);
    assert!(said.error(5).contains("ertificate"));
    let said = start("other", &with("no-token"));
    assert!(said.error(5).contains("no-token"));
    daemon.stop().await;
}
