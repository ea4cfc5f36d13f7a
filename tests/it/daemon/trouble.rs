//! A host that cannot be reached at all: its crawl says why, and other crawls are not held back.

use std::net::TcpListener;

use apprentice::proto::v1;

use crate::support::daemon::{Home, create, finished, toy, until};

fn spec(home: &Home, name: &str, seed: &str, allowed: bool) -> v1::CrawlSpec {
    let mut spec = home.spec(name, &toy());
    "me@example.org".clone_into(&mut spec.contact);
    spec.seeds = vec![seed.to_owned()];
    let scope = spec.scope.get_or_insert_default();
    scope.allow_addresses = if allowed {
        vec!["127.0.0.0/8".to_owned()]
    } else {
        Vec::new()
    };
    spec
}

/// A URL on loopback where nobody listens.
fn nobody_there() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_cannot_be_reached_is_waited_for_with_words() {
    let home = Home::new();
    let daemon = home.daemon(&[]).await;
    let mut client = daemon.client().await;
    let seed = nobody_there();
    create(&mut client, spec(&home, "out", &seed, true)).await;
    let told = |crawl: &v1::Crawl| {
        crawl.idle.contains("cannot connect") && !crawl.failures_by_cause.is_empty()
    };
    let crawl = until(&mut client, "out", "says why it waits", told).await;
    assert!(
        crawl.idle.contains("robots.txt of 127.0.0.1"),
        "{}",
        crawl.idle
    );
    assert_eq!(crawl.failures_by_cause[0].name, "robots-unreachable");
    let (name, k) = ("out".to_owned(), 1);
    let head = client
        .get_frontier(v1::GetFrontierRequest { name, k })
        .await;
    let why = &head.unwrap().into_inner().links[0].why;
    assert!(why.contains("cannot connect"), "{why}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_one_crawl_forbids_is_open_to_another_and_to_its_own_new_scope() {
    let home = Home::new();
    let daemon = home.daemon(&[]).await;
    let mut client = daemon.client().await;
    let seed = nobody_there();
    create(&mut client, spec(&home, "strict", &seed, false)).await;
    let strict = finished(&mut client, "strict").await;
    assert_eq!(strict.refused_by_reason[0].name, "address");
    create(&mut client, spec(&home, "open", &seed, true)).await;
    // It is asked at once, and not after the ten minutes of a host that failed.
    let asked = |crawl: &v1::Crawl| crawl.idle.contains("cannot connect");
    until(&mut client, "open", "is asked", asked).await;
    let said = home.run(&["crawl", "set", "strict", "--allow-address", "127.0.0.0/8"]);
    said.done();
    let waits = |crawl: &v1::Crawl| crawl.links_waiting == 1;
    until(&mut client, "strict", "has its seed again", waits).await;
    daemon.stop().await;
}
