//! Two crawls on the same hosts: the server never sees two requests at once, nor two within the
//! delay.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use apprentice::archive::{Answer, Library};
use apprentice::lab::toyweb::ToyLibrary;
use apprentice::proto::v1;
use apprentice::url::CanonicalUrl;
use tokio::time::Instant;

use crate::support::daemon::{Home, Web, create, finished, toy};

/// The delay that both crawls owe to each host.
const DELAY_MS: u64 = 40;

/// What the server sees of one host.
#[derive(Debug, Default)]
struct Seen {
    now: usize,
    requests: usize,
    last_end: Option<Instant>,
    breaches: Vec<String>,
}

/// A library that watches how politely it is asked.
#[derive(Clone)]
struct Watchful {
    web: ToyLibrary,
    hosts: Arc<Mutex<BTreeMap<String, Seen>>>,
}

impl Library for Watchful {
    async fn answer(&self, url: &CanonicalUrl) -> Answer {
        let host = url.host_key().as_str().to_owned();
        {
            let mut hosts = self.hosts.lock().unwrap();
            let seen = hosts.entry(host.clone()).or_default();
            seen.now += 1;
            seen.requests += 1;
            if seen.now > 1 {
                seen.breaches.push(format!("{} at once: {url}", seen.now));
            }
            let rest = seen.last_end.map(|end| end.elapsed());
            // The daemon counts in whole milliseconds: one may be lost.
            if let Some(rest) = rest.filter(|rest| *rest < Duration::from_millis(DELAY_MS - 1)) {
                seen.breaches.push(format!("after {rest:?}: {url}"));
            }
        }
        let answer = self.web.answer(url).await;
        // Long enough for a second request to fall into it, if there were one.
        tokio::time::sleep(Duration::from_millis(10)).await;
        let mut hosts = self.hosts.lock().unwrap();
        let seen = hosts.entry(host).or_default();
        seen.now -= 1;
        seen.last_end = Some(Instant::now());
        answer
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_crawls_never_ask_a_host_at_once_nor_within_the_delay() {
    let library = Watchful {
        web: ToyLibrary(toy()),
        hosts: Arc::default(),
    };
    let web = Web::serve(library.clone()).await;
    let home = Home::new();
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    for (name, order) in [("one", "baseline"), ("two", "breadth-first")] {
        let spec = v1::CrawlSpec {
            budget: 100,
            order: order.to_owned(),
            limits: Some(v1::Limits {
                in_flight_max: 16,
                delay_ms_min: Some(DELAY_MS),
                ..Default::default()
            }),
            ..home.spec(name, &toy())
        };
        create(&mut client, spec).await;
    }
    for name in ["one", "two"] {
        assert_eq!(finished(&mut client, name).await.fetched, 100);
    }
    daemon.stop().await;
    let hosts = library.hosts.lock().unwrap();
    let requests: usize = hosts.values().map(|seen| seen.requests).sum();
    assert!(hosts.len() > 5 && requests >= 200, "{requests} requests");
    for (host, seen) in hosts.iter() {
        assert!(seen.breaches.is_empty(), "{host}: {:#?}", seen.breaches);
    }
}
