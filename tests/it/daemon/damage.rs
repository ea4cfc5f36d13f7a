//! A bit that is flipped in a crawl's store: it is named, and never served as data.

use std::fs;
use std::path::Path;

use apprentice::control::client::Client;
use apprentice::proto::v1;
use apprentice::proto::v1::CrawlState::{Failed, Finished};
use tonic::Status;

use crate::support::daemon::{Home, Web, create, finished, rows, status, toy};

/// The bit is in a place that nothing was read from, or somebody was told.
enum Noticed {
    Nowhere,
    /// In these words.
    Told(String),
}

/// The rows of a crawl, or why there are none.
async fn exported(client: &mut Client, name: &str) -> Result<Vec<v1::PageRow>, Status> {
    let request = v1::ExportPagesRequest {
        name: name.to_owned(),
        failures: true,
        ..Default::default()
    };
    let mut stream = client.export_pages(request).await?.into_inner();
    let mut rows = Vec::new();
    while let Some(row) = stream.message().await? {
        rows.push(row);
    }
    Ok(rows)
}

/// Reads all that can be read of the crawl `hurt`; what is served has to be what it `was`.
async fn read_all(client: &mut Client, was: &[v1::PageRow]) -> Noticed {
    let crawl = status(client, "hurt").await;
    if crawl.state() == Failed {
        return Noticed::Told(crawl.reason);
    }
    assert_eq!(crawl.state(), Finished, "{}", crawl.reason);
    match exported(client, "hurt").await {
        Ok(rows) => assert_eq!(rows, was),
        Err(error) => return Noticed::Told(error.message().to_owned()),
    }
    // Learning it all anew reads every page.
    let request = v1::RetrainRequest {
        name: "hurt".to_owned(),
        learner: "ftrl".to_owned(),
        ..Default::default()
    };
    match client.retrain(request).await {
        Ok(_) => Noticed::Nowhere,
        Err(error) => Noticed::Told(error.message().to_owned()),
    }
}

/// Places in a file that has so many bytes, all over it.
fn places(bytes: usize) -> impl Iterator<Item = usize> {
    (1..6).map(move |part| bytes * part / 6)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_bit_is_named_and_never_served() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    for name in ["hurt", "whole"] {
        let mut spec = home.spec(name, &toy());
        spec.order = "baseline".to_owned();
        create(&mut client, spec).await;
        finished(&mut client, name).await;
    }
    let was = rows(&mut client, "hurt", true).await;
    daemon.stop().await;

    let log = home.data().join("crawls/hurt/log");
    let kept = home.path("kept");
    copy(&log, &kept);
    for file in ["payload-000001.seg", "sled/db"] {
        let whole = fs::read(log.join(file)).unwrap();
        let mut told = 0;
        for place in places(whole.len()) {
            let mut flipped = whole.clone();
            flipped[place] ^= 1 << (place % 8);
            fs::write(log.join(file), flipped).unwrap();
            let mut daemon = home.daemon_on(&web).await;
            let mut client = daemon.client().await;
            match read_all(&mut client, &was).await {
                Noticed::Nowhere => {}
                Noticed::Told(words) => {
                    assert!(words.contains(&log.display().to_string()), "{words}");
                    told += 1;
                }
            }
            // The other crawl has nothing to do with it.
            assert_eq!(rows(&mut client, "whole", true).await.len(), was.len());
            daemon.kill();
            fs::remove_dir_all(&log).unwrap();
            copy(&kept, &log);
        }
        println!("{file}: {told} noticed");
        assert!(told > 0, "{file}");
    }
    let daemon = home.daemon_on(&web).await;
    assert_eq!(rows(&mut daemon.client().await, "hurt", true).await, was);
    daemon.stop().await;
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(path, to).unwrap();
        }
    }
}
