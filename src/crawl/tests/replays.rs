//! The same crawl each time: how much runs at once leaves no trace.

use super::*;
use crate::booking::encode;

/// A web of `hosts` hosts with five pages each; which links where follows from the numbers alone.
/// Some are busy once, some redirect, some are not there.
fn tangle(hosts: usize) -> Crawl {
    let crawl = Crawl::new(&["h0/0", "h1/0", "h2/0"]);
    let name = |number: usize| format!("h{}/{}", number % hosts, number / hosts % 6);
    for number in 0..hosts * 5 {
        let at = name(number);
        let links: Vec<String> = (1..9)
            .map(|step| name(number * 7 + step * step * 13))
            .collect();
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        let words = ["reef", "sand", "both reef sand"][(number * number + number / 3) % 3];
        match number % 11 {
            3 => crawl.fail(&at, status(503)).page(&at, words, &links),
            5 => crawl.redirect(&at, links[0]),
            _ => crawl.page(&at, words, &links),
        };
    }
    crawl
}

/// The whole log of one replay, as bytes.
async fn log_of(change: impl Fn(&mut Crawl)) -> (Vec<Vec<u8>>, Progress) {
    let mut crawl = tangle(9);
    change(&mut crawl);
    let progress = Box::pin(crawl.replay()).await;
    (crawl.events().iter().map(encode).collect(), progress)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_at_a_time_the_log_is_the_same_whatever_parses() {
    let (first, progress) = log_of(|_| ()).await;
    assert!(
        progress.fetched() > 30 && progress.redirects > 0,
        "{progress:?}"
    );
    for parsers in [1, 2, 4] {
        let (again, _) = log_of(|crawl| crawl.parsers = parsers).await;
        assert!(again == first, "{parsers} parsers");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn four_at_a_time_the_log_is_the_same_whatever_parses() {
    let four = |crawl: &mut Crawl, parsers| {
        crawl.limits().in_flight_max = 4;
        crawl.limits().delay_ms_min = Some(700);
        crawl.parsers = parsers;
    };
    let (first, _) = log_of(|crawl| four(crawl, 4)).await;
    for parsers in [1, 2, 4, 4, 4] {
        let (again, _) = log_of(|crawl| four(crawl, parsers)).await;
        assert!(again == first, "{parsers} parsers");
    }
}

#[tokio::test]
async fn a_replay_waits_for_its_hosts_without_waiting_for_the_disk() {
    // The delay is longer than the time after which a live crawl flushes.
    let mut crawl = Crawl::new(&["a/1", "a/2", "a/3"]);
    crawl.limits().delay_ms_min = Some(60_000);
    let progress = crawl.replay().await;
    assert_eq!(progress.fetched(), 3);
    assert_eq!(crawl.clock.now(), Timestamp(1_000 + 2 * 60_000));
}
