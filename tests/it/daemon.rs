//! How a daemon lives: its start, its signals, its lock and sockets, and crawls that fail or share
//! hosts.

mod contact;
mod damage;
mod disk;
mod kept;
mod refusals;
mod sharing;
mod trouble;
mod within;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use apprentice::archive::{Answer, Library};
use apprentice::booking::{Event, Seq};
use apprentice::control::client::Client;
use apprentice::frontier::{FrontierStore, SledStore};
use apprentice::lab::toyweb::ToyLibrary;
use apprentice::proto::v1;
use apprentice::proto::v1::CrawlState::{Finished, Paused, Running, Stopped};
use apprentice::store::StoreOptions;
use apprentice::url::CanonicalUrl;

use crate::support::daemon::{
    Daemon, Home, Web, create, eventually, finished, loss, mode, status, toy, until,
};

/// Holds every answer back, and keeps what was asked for.
#[derive(Clone)]
struct Slow {
    web: ToyLibrary,
    asked: Arc<Mutex<BTreeSet<CanonicalUrl>>>,
}

impl Library for Slow {
    async fn answer(&self, url: &CanonicalUrl) -> Answer {
        let mut answer = self.web.answer(url).await;
        if !url.as_str().ends_with("/robots.txt") {
            self.asked.lock().unwrap().insert(url.clone());
            answer.delay = Duration::from_millis(400);
        }
        answer
    }
}

/// The URLs whose outcome stands in the log of a crawl.
fn booked(home: &Home, crawl: &str) -> BTreeSet<CanonicalUrl> {
    let log = home.data().join("crawls").join(crawl).join("log");
    let store = SledStore::open(&log, &StoreOptions::default()).unwrap();
    let mut urls = BTreeSet::new();
    let visit = &mut |_, event| {
        match event {
            Event::Page(page) => urls.insert(page.lease.url),
            Event::Failure(failure) => urls.insert(failure.lease.url),
            Event::Redirect(redirect) => urls.insert(redirect.lease.url),
            _ => false,
        };
        true
    };
    store.scan(Seq(1), store.durable(), visit).unwrap();
    urls
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_and_sigint_wait_for_the_fetches_in_flight_and_book_them() {
    for signal in ["TERM", "INT"] {
        let library = Slow {
            web: ToyLibrary(toy()),
            asked: Arc::default(),
        };
        let web = Web::serve(library.clone()).await;
        let home = Home::new();
        let mut daemon = home.daemon_on(&web).await;
        let mut client = daemon.client().await;
        create(&mut client, home.spec("crawl", &toy())).await;
        eventually("pages are asked for", async || {
            (library.asked.lock().unwrap().len() > 2).then_some(())
        })
        .await;
        daemon.signal(signal);
        stops_without_a_false_word(client).await;
        let status = daemon.ended().await;
        assert!(status.success(), "SIG{signal}: {status}");
        assert_eq!(daemon.complaints(), "");
        assert!(!home.socket().exists(), "SIG{signal} leaves the socket");
        let asked = library.asked.lock().unwrap().clone();
        assert_eq!(booked(&home, "crawl"), asked, "SIG{signal}");
    }
}

/// Asks until the daemon is gone; on its way out it says neither that the crawl failed nor that
/// there is none.
async fn stops_without_a_false_word(mut client: Client) {
    eventually("calls are refused", async || {
        let name = "crawl".to_owned();
        match client.get_crawl(v1::GetCrawlRequest { name }).await {
            Ok(crawl) => {
                assert_eq!(crawl.get_ref().state(), Running);
                None
            }
            Err(status) => {
                assert_ne!(status.code(), tonic::Code::NotFound, "{status}");
                Some(())
            }
        }
    })
    .await;
}

/// Never answers but for robots.txt.
struct Mute(ToyLibrary);

impl Library for Mute {
    async fn answer(&self, url: &CanonicalUrl) -> Answer {
        if !url.as_str().ends_with("/robots.txt") {
            std::future::pending::<()>().await;
        }
        self.0.answer(url).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_abandons_the_fetches_in_flight() {
    let web = Web::serve(Mute(ToyLibrary(toy()))).await;
    let home = Home::new();
    let mut daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    let mut spec = home.spec("crawl", &toy());
    let limits = spec.limits.get_or_insert_default();
    limits.first_byte_ms_max = 3_600_000;
    limits.fetch_ms_max = 3_600_000;
    let seeds = spec.seeds.len() as u64;
    create(&mut client, spec).await;
    // Each seed has a host of its own; robots.txt is answered, so what stays in flight are pages.
    until(&mut client, "crawl", "fetches", |crawl| {
        crawl.in_flight == seeds
    })
    .await;
    daemon.signal("TERM");
    stops_without_a_false_word(client).await;
    daemon.signal("TERM");
    let status = daemon.ended().await;
    assert!(status.success(), "{status}");
    assert!(!home.socket().exists());
    let daemon = home.daemon_on(&web).await;
    let crawl = status_of(&daemon).await;
    assert_eq!((crawl.state(), crawl.fetched), (Running, 0));
    assert_eq!(crawl.links_waiting + crawl.in_flight, seeds);
}

async fn status_of(daemon: &Daemon) -> v1::Crawl {
    status(&mut daemon.client().await, "crawl").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_waits_for_no_client() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    create(&mut client, home.spec("crawl", &toy())).await;
    finished(&mut client, "crawl").await;
    // One that connects and says nothing, and two that read no further.
    let silent = UnixStream::connect(home.socket()).unwrap();
    let request = v1::ExportPagesRequest {
        name: "crawl".to_owned(),
        ..Default::default()
    };
    let mut export = client.export_pages(request).await.unwrap().into_inner();
    assert!(export.message().await.unwrap().is_some());
    let paused = v1::CrawlSpec {
        budget: 0,
        limits: Some(v1::Limits {
            delay_ms_min: Some(3_600_000),
            ..Default::default()
        }),
        ..home.spec("waits", &toy())
    };
    create(&mut client, paused).await;
    let request = v1::WatchCrawlRequest {
        name: "waits".to_owned(),
        interval_ms: 100,
    };
    let mut watch = client.watch_crawl(request).await.unwrap().into_inner();
    assert!(watch.message().await.unwrap().is_some());
    daemon.stop().await;
    drop((silent, export, watch));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_restart_each_crawl_is_in_the_state_that_it_had() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let mut daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    let slowly = |name: &str| v1::CrawlSpec {
        limits: Some(v1::Limits {
            // Three requests, then a long silence.
            delay_ms_min: Some(3_600_000),
            ..Default::default()
        }),
        ..home.spec(name, &toy())
    };
    // The others hold the hosts of their seeds for an hour.
    let spent = v1::CrawlSpec {
        budget: 5,
        ..home.spec("finished", &toy())
    };
    create(&mut client, spent).await;
    finished(&mut client, "finished").await;
    for name in ["paused", "runs", "stopped"] {
        create(&mut client, slowly(name)).await;
    }
    let name = || "paused".to_owned();
    let request = v1::PauseCrawlRequest { name: name() };
    client.pause_crawl(request).await.unwrap();
    let name = || "stopped".to_owned();
    let request = v1::StopCrawlRequest { name: name() };
    client.stop_crawl(request).await.unwrap();

    let states = async |client: &mut _| {
        let mut states = Vec::new();
        for name in ["finished", "paused", "runs", "stopped"] {
            let crawl = status(client, name).await;
            states.push((crawl.state(), crawl.reason, crawl.pages));
        }
        states
    };
    let before = states(&mut client).await;
    let names: Vec<_> = before.iter().map(|(state, ..)| *state).collect();
    assert_eq!(names, [Finished, Paused, Running, Stopped]);
    assert_eq!(before[0].1, "budget of 5 fetches spent");

    daemon.signal("TERM");
    daemon.ended().await;
    let mut daemon = home.daemon_on(&web).await;
    assert_eq!(states(&mut daemon.client().await).await, before);
    daemon.kill();
    assert!(home.socket().exists(), "a killed daemon leaves its socket");
    let daemon = home.daemon_on(&web).await;
    assert_eq!(states(&mut daemon.client().await).await, before);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_daemon_makes_belongs_to_its_owner_alone() {
    let home = Home::new();
    let daemon = home.daemon(&[]).await;
    assert_eq!(mode(&home.data()), 0o700);
    assert_eq!(mode(&home.socket()), 0o600);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_that_cannot_be_opened_is_told_of_and_mended() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    for name in ["broken", "sound"] {
        let limits = v1::Limits {
            delay_ms_min: Some(100),
            ..Default::default()
        };
        let spec = v1::CrawlSpec {
            limits: Some(limits),
            ..home.spec(name, &toy())
        };
        create(&mut client, spec).await;
    }
    until(&mut client, "broken", "a page", |crawl| crawl.pages > 0).await;
    daemon.stop().await;

    let model = home.data().join("crawls/broken/critic.model");
    let bytes = fs::read(&model).unwrap();
    fs::write(&model, &bytes[..bytes.len() / 2]).unwrap();
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    let crawl = status(&mut client, "broken").await;
    assert_eq!(crawl.state(), v1::CrawlState::Failed);
    assert!(
        crawl.reason.contains("critic.model: truncated"),
        "{}",
        crawl.reason
    );
    let name = || "broken".to_owned();
    let error = client
        .resume_crawl(v1::ResumeCrawlRequest { name: name() })
        .await;
    assert!(error.unwrap_err().message().contains("truncated"));
    let sound = status(&mut client, "sound").await;
    assert_ne!(sound.state(), v1::CrawlState::Failed, "{}", sound.reason);

    fs::write(&model, &bytes).unwrap();
    let resumed = client
        .resume_crawl(v1::ResumeCrawlRequest { name: name() })
        .await;
    assert_eq!(resumed.unwrap().get_ref().state(), Running);
    finished(&mut client, "broken").await;
    finished(&mut client, "sound").await;
    assert!(!loss(&mut client, "broken").await.is_empty());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_that_is_deleted_while_it_fetches_holds_up_no_other() {
    let web = Web::serve(Mute(ToyLibrary(toy()))).await;
    let home = Home::new();
    let mut daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    let mut spec = home.spec("gone", &toy());
    let limits = spec.limits.get_or_insert_default();
    limits.first_byte_ms_max = 3_600_000;
    limits.fetch_ms_max = 3_600_000;
    let seeds = spec.seeds.len() as u64;
    create(&mut client, spec).await;
    until(&mut client, "gone", "fetches", |crawl| {
        crawl.in_flight == seeds
    })
    .await;
    let name = || "gone".to_owned();
    let stop = v1::StopCrawlRequest { name: name() };
    client.stop_crawl(stop).await.unwrap();
    let mut other = client.clone();
    let deleting = tokio::spawn(async move {
        let delete = v1::DeleteCrawlRequest { name: name() };
        other.delete_crawl(delete).await
    });
    // The deletion waits for the fetches, which never end; somewhere on the way it has begun.
    for at in 0..20 {
        let spec = home.spec(&format!("other-{at}"), &toy());
        let create = v1::CreateCrawlRequest { spec: Some(spec) };
        let created = tokio::time::timeout(Duration::from_mins(1), client.create_crawl(create));
        created.await.expect("held up").unwrap();
    }
    let crawls = client.list_crawls(v1::ListCrawlsRequest {}).await.unwrap();
    assert_eq!(crawls.get_ref().crawls.len(), 21);
    assert!(!deleting.is_finished());
    daemon.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_is_deleted_only_when_it_does_not_run() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    let mut spec = home.spec("crawl", &toy());
    spec.limits.get_or_insert_default().delay_ms_min = Some(3_600_000);
    create(&mut client, spec).await;
    let delete = || v1::DeleteCrawlRequest {
        name: "crawl".to_owned(),
    };
    let error = client.delete_crawl(delete()).await.unwrap_err();
    assert_eq!(error.code(), tonic::Code::FailedPrecondition);
    assert!(error.message().contains("crawl stop crawl"), "{error}");
    let folder = home.data().join("crawls/crawl");
    assert!(folder.exists());
    let name = "crawl".to_owned();
    client
        .stop_crawl(v1::StopCrawlRequest { name })
        .await
        .unwrap();
    client.delete_crawl(delete()).await.unwrap();
    assert!(!folder.exists());
    let error = client.delete_crawl(delete()).await.unwrap_err();
    assert_eq!(error.code(), tonic::Code::NotFound);
    daemon.stop().await;
    assert_eq!(fs::read_dir(home.data().join("crawls")).unwrap().count(), 0);
}
