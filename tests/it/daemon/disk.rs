//! The disk under a daemon that runs: taken away, full, and there again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use apprentice::control::client::Client;
use apprentice::proto::v1;
use apprentice::proto::v1::CrawlState::{Failed, Finished, Running};

use crate::support::daemon::{
    Daemon, Home, Web, create, eventually, finished, loss, status, toy, until,
};

/// A crawl that takes some seconds.
fn slow(home: &Home) -> v1::CrawlSpec {
    let mut spec = home.spec("crawl", &toy());
    let limits = spec.limits.get_or_insert_default();
    limits.delay_ms_min = Some(100);
    limits.delay_factor = Some(0);
    spec
}

/// Waits until the crawl has failed for a reason that has this `word` in it: while its engine ends the crawl is
/// said to be closed.
async fn failed(client: &mut Client, word: &str) -> v1::Crawl {
    let what = format!("the crawl has failed because of {word}");
    eventually(&what, async || {
        let name = "crawl".to_owned();
        let asked = client.get_crawl(v1::GetCrawlRequest { name }).await;
        let crawl = asked.ok()?.into_inner();
        (crawl.state() == Failed && crawl.reason.contains(word)).then_some(crawl)
    })
    .await
}

async fn crawl_is_as_long_as_its_log(daemon: Daemon) {
    let mut client = daemon.client().await;
    let crawl = finished(&mut client, "crawl").await;
    assert_eq!(loss(&mut client, "crawl").await.len() as u64, crawl.fetched);
    assert!(!daemon.complaints().contains("panicked"));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_directory_that_is_taken_away_ends_its_crawls_with_words_and_may_come_back() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let mut daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    create(&mut client, slow(&home)).await;
    until(&mut client, "crawl", "a page", |crawl| crawl.pages > 0).await;
    let away = home.path("away");
    fs::rename(home.data(), &away).unwrap();
    failed(&mut client, "crawls/crawl/log").await;
    let said = daemon.complaints();
    assert!(said.contains("the crawl has failed"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    daemon.kill();

    fs::rename(&away, home.data()).unwrap();
    let daemon = home.daemon_on(&web).await;
    let crawl = status(&mut daemon.client().await, "crawl").await;
    assert!(crawl.pages > 0 && crawl.state() == Running, "{crawl:?}");
    crawl_is_as_long_as_its_log(daemon).await;
}

/// Whether file systems of our own can be mounted here.
fn may_mount() -> bool {
    let tried = Command::new("unshare")
        .args(["-rm", "mount", "-t", "tmpfs", "none", "/mnt"])
        .output();
    tried.is_ok_and(|tried| tried.status.success())
}

/// The data directory as a daemon in a name space of its own sees it.
fn inside(daemon: &Daemon, home: &Home) -> PathBuf {
    let root = PathBuf::from(format!("/proc/{}/root", daemon.id()));
    root.join(home.data().strip_prefix(Path::new("/")).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_ends_a_crawl_with_words_and_with_space_again_it_goes_on() {
    if !may_mount() {
        println!("not tried: no file system can be mounted here");
        return;
    }
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    fs::create_dir(home.data()).unwrap();
    let daemon = home.spawn_on_small_disk(100, &["--archive-proxy", &web.proxy]);
    let mut client = daemon.client_within(&inside(&daemon, &home)).await;
    create(&mut client, slow(&home)).await;
    until(&mut client, "crawl", "a page", |crawl| crawl.pages > 0).await;
    // Less is left than what the store wants to remain free.
    let ballast = inside(&daemon, &home).join("ballast");
    fs::write(&ballast, vec![1; 60 << 20]).unwrap();
    let crawl = failed(&mut client, "free").await;
    let before = crawl.fetched;

    fs::remove_file(&ballast).unwrap();
    let name = "crawl".to_owned();
    let resumed = client.resume_crawl(v1::ResumeCrawlRequest { name }).await;
    assert_eq!(resumed.unwrap().get_ref().state(), Running);
    let crawl = finished(&mut client, "crawl").await;
    assert!(crawl.state() == Finished && crawl.fetched > before);
    assert_eq!(loss(&mut client, "crawl").await.len() as u64, crawl.fetched);
    assert!(!daemon.complaints().contains("panicked"));
}
