//! A crawl whose frontier has a bound.

use super::*;

#[tokio::test]
async fn a_bounded_frontier_drops_the_least_promising_and_counts_them() {
    let mut crawl = Crawl::new(&["hub/0"]);
    let names: Vec<String> = (0..140).map(|n| format!("p{n}/1")).collect();
    let links: Vec<&str> = names.iter().map(String::as_str).collect();
    crawl.page("hub/0", "reef", &links);
    crawl.page("p0/1", "reef", &["p139/1"]);
    crawl.spec.order = "baseline".into();
    crawl.spec.budget = 3;
    crawl.limits().links_waiting_max = Some(100);
    let (refused, report) = crawl
        .live(|handle| async move {
            until_finished(&handle).await;
            let report = handle.status().await.unwrap();
            (report.refused_by_reason.clone(), report)
        })
        .await;
    let evicted = refused.iter().find(|count| count.name == "evicted");
    let evicted = evicted.map_or(0, |count| count.count);
    // A 64th of the bound goes as well: 140 - 99. The first page brings one back, which fits.
    assert_eq!((evicted, report.links_waiting), (41, 98), "{report:?}");
    let booked = crawl.events().into_iter().filter_map(|event| match event {
        Event::Evicted(evicted) => Some(evicted.links.len() as u64),
        _ => None,
    });
    assert_eq!(booked.sum::<u64>(), evicted);
    // What a restart makes of the log is the same.
    let parts = crawl.parts(crawl.source.clone(), Pace::Replay);
    let (mut engine, _handle) = Engine::open(parts).unwrap();
    let again = engine.report();
    assert_eq!(again.links_waiting, report.links_waiting);
    assert_eq!(again.refused_by_reason, report.refused_by_reason);
}
