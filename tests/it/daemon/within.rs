//! A crawl that may fetch only what another one fetched.

use std::collections::BTreeSet;

use apprentice::proto::v1;

use super::booked;
use crate::support::daemon::{Home, Web, create, finished, toy};

/// The code and the words of what the daemon says to this spec.
async fn refusal(
    client: &mut apprentice::control::client::Client,
    spec: v1::CrawlSpec,
) -> (tonic::Code, String) {
    let request = v1::CreateCrawlRequest { spec: Some(spec) };
    let status = client.create_crawl(request).await.unwrap_err();
    (status.code(), status.message().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_within_another_fetches_the_same_in_its_own_order_and_goes_on_after_a_restart() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    let spec = |name: &str, order: &str, budget| v1::CrawlSpec {
        order: order.to_owned(),
        budget,
        ..home.spec(name, &toy())
    };
    create(&mut client, spec("wide", "breadth-first", 80)).await;
    finished(&mut client, "wide").await;
    let within = v1::CrawlSpec {
        within: "wide".to_owned(),
        seeds: Vec::new(),
        ..spec("again", "ftrl", 30)
    };
    create(&mut client, within.clone()).await;
    finished(&mut client, "again").await;
    // The fence is the crawl's own: it stands when the other crawl and the daemon are gone.
    let mut stray = within.clone();
    stray.name = "stray".to_owned();
    stray.seeds = vec!["http://nowhere.test/".to_owned()];
    let (code, words) = refusal(&mut client, stray).await;
    assert_eq!(code, tonic::Code::InvalidArgument);
    assert!(
        words.contains("`seeds[0]`") && words.contains("wide"),
        "{words}"
    );
    daemon.stop().await;
    let wide = booked(&home, "wide");
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    let request = v1::DeleteCrawlRequest {
        name: "wide".to_owned(),
    };
    client.delete_crawl(request).await.unwrap();
    let request = v1::UpdateCrawlRequest {
        name: "again".to_owned(),
        budget: Some(1000),
        ..Default::default()
    };
    client.update_crawl(request).await.unwrap();
    let request = v1::ResumeCrawlRequest {
        name: "again".to_owned(),
    };
    client.resume_crawl(request).await.unwrap();
    let end = finished(&mut client, "again").await;
    assert_eq!((end.fetched, end.reason.as_str()), (80, "out of links"));
    daemon.stop().await;
    let again: BTreeSet<_> = booked(&home, "again");
    assert!(again.is_subset(&wide), "{:?}", again.difference(&wide));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_crawl_cannot_stay_within_is_told() {
    let home = Home::new();
    let daemon = home.daemon(&[]).await;
    let mut client = daemon.client().await;
    let within = |name: &str| v1::CrawlSpec {
        within: name.to_owned(),
        contact: "tests@example.org".to_owned(),
        ..home.spec("inner", &toy())
    };
    let (code, words) = refusal(&mut client, within("gone")).await;
    assert_eq!(code, tonic::Code::NotFound);
    assert!(words.contains("\"gone\""), "{words}");
    let (code, words) = refusal(&mut client, within("../gone")).await;
    assert_eq!(code, tonic::Code::InvalidArgument);
    assert!(words.contains("`within`"), "{words}");
    daemon.stop().await;
}
