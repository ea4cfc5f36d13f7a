//! The network is crawled only by somebody who says who they are, also where a crawl was made
//! before the network could be reached.

use apprentice::proto::v1;
use apprentice::proto::v1::CrawlState::{Paused, Running};
use tonic::Code;

use crate::support::daemon::{Home, Web, create, finished, status, toy, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_without_contact_does_not_go_on_before_the_network() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    for name in ["runs", "paused"] {
        let mut spec = home.spec(name, &toy());
        spec.limits.get_or_insert_default().delay_ms_min = Some(100);
        create(&mut client, spec).await;
    }
    let name = || "paused".to_owned();
    let pause = client.pause_crawl(v1::PauseCrawlRequest { name: name() });
    pause.await.unwrap();
    until(&mut client, "runs", "a page", |crawl| crawl.pages > 0).await;
    daemon.stop().await;

    // An ordinary proxy: behind it is the network.
    let daemon = home.daemon(&["--proxy", &web.proxy]).await;
    let mut client = daemon.client().await;
    let idle = |crawl: &v1::Crawl| crawl.idle.contains("crawl set runs --contact");
    let before = until(&mut client, "runs", "waits for a contact", idle).await;
    assert_eq!((before.state(), before.in_flight), (Running, 0));
    let resume = client.resume_crawl(v1::ResumeCrawlRequest { name: name() });
    let error = resume.await.unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert!(error.message().contains("--contact"), "{error}");
    assert_eq!(status(&mut client, "paused").await.state(), Paused);

    let contact = |contact: &str| v1::UpdateCrawlRequest {
        name: "runs".to_owned(),
        contact: Some(contact.to_owned()),
        limits: Some(v1::Limits {
            delay_ms_min: Some(0),
            ..Default::default()
        }),
        ..Default::default()
    };
    let update = client.update_crawl(contact("me@example.org"));
    update.await.unwrap();
    let error = client.update_crawl(contact("")).await.unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    let after = finished(&mut client, "runs").await;
    assert!(after.fetched > before.fetched);
    daemon.stop().await;
}
