//! The delay grows with the server's time to answer.

use super::*;

/// When each page of `a.test` was asked for, in milliseconds after the first.
async fn asked(answer_ms: u64, limits: v1::Limits) -> Vec<u64> {
    let mut crawl = Crawl::new(&["a/1", "a/2"]);
    *crawl.limits() = limits;
    for page in ["a/1", "a/2"] {
        let response = Response {
            status: 200,
            content_type: Some("text/html".into()),
            robots_tag: None,
            body: "reef".into(),
            truncated: false,
            answer_time: Duration::from_millis(answer_ms),
        };
        crawl.source.answer(url(page), Outcome::Response(response));
    }
    Box::pin(crawl.replay()).await;
    let pages = crawl.events().into_iter().filter_map(|event| match event {
        Event::Page(page) => Some(page.lease.leased_at),
        _ => None,
    });
    let times: Vec<Timestamp> = pages.collect();
    let first = times[0];
    let since = |at: &Timestamp| u64::try_from(at.since(first).as_millis()).unwrap();
    times.iter().map(since).collect()
}

#[tokio::test]
async fn a_slow_server_is_left_alone_for_longer() {
    let limits = v1::Limits {
        in_flight_max: 1,
        ..Default::default()
    };
    assert_eq!(asked(100, limits).await, [0, 1_000]);
    assert_eq!(asked(700, limits).await, [0, 3_500]);
    assert_eq!(asked(20_000, limits).await, [0, 30_000]);
    let own = v1::Limits {
        delay_factor: Some(2),
        delay_ms_max: 5_000,
        ..limits
    };
    assert_eq!(asked(700, own).await, [0, 1_400]);
    assert_eq!(asked(20_000, own).await, [0, 5_000]);
    let none = v1::Limits {
        delay_ms_min: Some(0),
        ..limits
    };
    assert_eq!(asked(20_000, none).await, [0, 0]);
}
