//! The disk under a daemon that runs: taken away, full, and there again.

use std::fs::{self, File};
use std::io::Read as _;
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

/// Where it is set, a file system that cannot be mounted is a failure and no test that is left out.
const MUST_MOUNT: &str = "APPRENTICE_MUST_MOUNT";

/// Whether file systems of our own can be mounted here.
///
/// # Panics
/// If they cannot, and have to be.
fn may_mount() -> bool {
    let tried = Command::new("unshare")
        .args(["-rm", "mount", "-t", "tmpfs", "none", "/mnt"])
        .output();
    let may = (tried.as_ref()).is_ok_and(|tried| tried.status.success());
    let must = std::env::var_os(MUST_MOUNT).is_some_and(|must| !must.is_empty());
    assert!(
        may || !must,
        "no file system can be mounted here, and {MUST_MOUNT} is set: {tried:?}"
    );
    may
}

/// The data directory as a daemon in a name space of its own sees it.
fn inside(daemon: &Daemon, home: &Home) -> PathBuf {
    let root = PathBuf::from(format!("/proc/{}/root", daemon.id()));
    root.join(home.data().strip_prefix(Path::new("/")).unwrap())
}

/// Fills the disk under a daemon by `ballast` bytes, or whole if that is more, until the crawl fails because
/// of a `word`, makes room, and has it go on to its end. Gives its pages.
async fn full_and_empty_again(
    daemon: &Daemon,
    home: &Home,
    spec: v1::CrawlSpec,
    (ballast, word): (usize, &str),
) -> u64 {
    let mut client = daemon.client_within(&inside(daemon, home)).await;
    create(&mut client, spec).await;
    until(&mut client, "crawl", "a page", |crawl| crawl.pages > 0).await;
    let file = inside(daemon, home).join("ballast");
    // What does not fit is not written, and the disk is as full as it can be.
    let _ = fs::write(&file, vec![1; ballast]);
    let before = failed(&mut client, word).await.fetched;

    fs::remove_file(&file).unwrap();
    let name = "crawl".to_owned();
    let resumed = client.resume_crawl(v1::ResumeCrawlRequest { name }).await;
    assert_eq!(resumed.unwrap().get_ref().state(), Running);
    let crawl = finished(&mut client, "crawl").await;
    assert!(crawl.state() == Finished && crawl.fetched > before);
    assert_eq!(loss(&mut client, "crawl").await.len() as u64, crawl.fetched);
    assert!(!daemon.complaints().contains("panicked"));
    crawl.pages
}

/// A daemon on a disk of so many MiB.
async fn on_small_disk(mib: u32) -> (Web, Home, Daemon) {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    fs::create_dir(home.data()).unwrap();
    let daemon = home.spawn_on_small_disk(mib, &["--archive-proxy", &web.proxy]);
    (web, home, daemon)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_ends_a_crawl_with_words_and_with_space_again_it_goes_on() {
    if !may_mount() {
        println!("not tried: no file system can be mounted here");
        return;
    }
    let (_web, home, daemon) = on_small_disk(100).await;
    // Less is left than what the store wants to remain free.
    let spec = slow(&home);
    full_and_empty_again(&daemon, &home, spec, (60 << 20, "free")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_full_to_the_last_byte_tears_no_page_that_is_kept() {
    if !may_mount() {
        println!("not tried: no file system can be mounted here");
        return;
    }
    let (_web, home, daemon) = on_small_disk(100).await;
    // Pages are kept as they come: mostly one of them finds no space before the store looks for its reserve.
    let mut spec = slow(&home);
    spec.warc = true;
    let pages = full_and_empty_again(&daemon, &home, spec, (200 << 20, "space")).await;
    let folder = inside(&daemon, &home).join("crawls/crawl/warc");
    let mut kept = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if !path.display().to_string().ends_with(".warc.gz") {
            continue;
        }
        let mut text = Vec::new();
        let mut members = flate2::read::MultiGzDecoder::new(File::open(path).unwrap());
        members.read_to_end(&mut text).unwrap();
        let text = String::from_utf8_lossy(&text);
        kept += text.matches("WARC-Type: response\r\n").count();
        kept += text.matches("WARC-Type: revisit\r\n").count();
    }
    // Redirects and failures are kept as well.
    assert!(kept as u64 >= pages, "{kept} kept of {pages}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_disk_smaller_than_what_must_stay_free_no_crawl_begins() {
    if !may_mount() {
        println!("not tried: no file system can be mounted here");
        return;
    }
    let (_web, home, daemon) = on_small_disk(40).await;
    let mut client = daemon.client_within(&inside(&daemon, &home)).await;
    let spec = Some(slow(&home));
    let error = client.create_crawl(v1::CreateCrawlRequest { spec }).await;
    let words = error.unwrap_err().message().to_owned();
    assert!(words.contains("free"), "{words}");
    assert!(!daemon.complaints().contains("panicked"));
    let list = client.list_crawls(v1::ListCrawlsRequest::default()).await;
    assert!(list.unwrap().get_ref().crawls.is_empty());
}
