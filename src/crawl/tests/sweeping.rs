//! A sweep that is broken off while hosts change over.

use std::sync::atomic::AtomicI64;

use super::learning::hubs;
use super::support::{TickingClock, on_clock};
use super::*;
use crate::booking::EpochCause;
use crate::frontier::WaitingLink;

fn order<S: Source>(engine: &Engine<S, SimulatedClock>) -> Vec<WaitingLink> {
    let now = engine.bench.clock.now();
    engine.frontier.head(usize::MAX, now)
}

#[tokio::test]
async fn a_sweep_broken_off_between_two_hosts_begins_again_for_the_same_epoch() {
    let crawl = hubs("ftrl");
    crawl.replay().await;
    let open = || Engine::open(crawl.parts(crawl.source.clone(), Pace::Replay)).unwrap();
    let (mut engine, _handle) = open();
    let old = engine.learning.epochs.number();
    engine.scorer.publish();
    engine.book_epoch(EpochCause::Automatic, 0);
    engine.begin_sweep();
    let report = engine.report();
    assert_eq!((report.epoch, report.epoch_of_order), (old + 1, old));
    assert_eq!((report.reordered, report.epoch_oldest), (None, Some(old)));
    while !engine.frontier.switched().is_some_and(|share| share > 0.0) {
        engine.sweep(1, None).unwrap();
    }
    let report = engine.report();
    assert!(
        report
            .reordered
            .is_some_and(|share| share > 0.0 && share < 1.0)
    );
    assert_eq!(report.rescored, Some(1.0));
    assert_eq!((report.epoch, report.epoch_of_order), (old + 1, old));

    let (mut again, _handle) = open();
    let report = again.report();
    assert_eq!((report.epoch, report.epoch_of_order), (old + 1, old + 1));
    assert_eq!((report.rescored, report.epoch_oldest), (None, None));
    // The one that was not broken off comes to the same order.
    engine.sweep(usize::MAX, None).unwrap();
    assert!(!engine.is_sweeping());
    let order = order(&engine);
    assert!(order.len() > 100);
    assert_eq!(order, self::order(&again));
}

#[tokio::test]
async fn an_epoch_that_comes_while_hosts_change_over_waits_for_them() {
    let crawl = hubs("ftrl");
    crawl.replay().await;
    let parts = crawl.parts(crawl.source.clone(), Pace::Replay);
    let (mut engine, _handle) = Engine::open(parts).unwrap();
    let old = engine.learning.epochs.number();
    let publish = |engine: &mut Engine<_, _>| {
        engine.scorer.publish();
        engine.book_epoch(EpochCause::Automatic, 0);
        engine.begin_sweep();
    };
    publish(&mut engine);
    while !engine.frontier.is_switching() {
        engine.sweep(1, None).unwrap();
    }
    publish(&mut engine);
    while engine.frontier.is_switching() {
        engine.sweep(1, None).unwrap();
    }
    let report = engine.report();
    assert_eq!((report.epoch, report.epoch_of_order), (old + 2, old + 1));
    assert!(engine.is_sweeping());
    engine.sweep(usize::MAX, None).unwrap();
    assert_eq!(engine.report().epoch_of_order, old + 2);
}

#[tokio::test]
async fn a_crawl_that_was_opened_says_that_its_links_go_by_booked_scores_until_they_are_scored_anew()
 {
    let crawl = hubs("ftrl");
    crawl.replay().await;
    // The first sweep has time for a few pages only.
    let clock = TickingClock {
        now: Arc::new(AtomicI64::new(crawl.clock.now().0)),
        step: 40,
    };
    let parts = crawl.parts(crawl.source.clone(), Pace::Live);
    let parts = on_clock(parts, clock);
    let (mut engine, _handle) = Engine::open(parts).unwrap();
    let last = engine.learning.epochs.number();
    assert!(last > 1);
    let report = engine.report();
    assert!(report.order_as_booked && report.rescored.is_some_and(|share| share < 1.0));
    // Some of the best links have waited since before the last epoch.
    let oldest = report.epoch_oldest.unwrap();
    assert!(oldest < last, "{oldest}");
    let found = engine.frontier.oldest_of_best(1000).unwrap();
    let events = (1..found.0).map(|seq| engine.store.event(Seq(seq)).unwrap().unwrap());
    let epochs = events.filter(|event| matches!(event, Event::Epoch(_)));
    assert_eq!(epochs.count() as u64, oldest);
    while engine.is_sweeping() {
        engine.sweep_slice().unwrap();
    }
    let report = engine.report();
    assert_eq!(
        (report.order_as_booked, report.epoch_of_order),
        (false, last)
    );
}
