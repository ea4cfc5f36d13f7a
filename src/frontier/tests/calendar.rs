//! One lease a host, the delay, and who is told of a return.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

use super::*;
use crate::clock::{Clock, SimulatedClock};

const DELAY: Duration = Duration::from_secs(1);

#[test]
fn a_host_has_one_lease_at_most() {
    let calendar = HostCalendar::default();
    let now = Timestamp(5);
    let lease = calendar.try_lease(&host("a"), now, DELAY).unwrap();
    let other = calendar.clone();
    let refused = other.try_lease(&host("a"), now, DELAY);
    assert_eq!(refused.unwrap_err(), Held::Leased);
    assert!(other.try_lease(&host("b"), now, DELAY).is_ok());
    lease.release(Timestamp(100), Timestamp(300));
    let refused = other.try_lease(&host("a"), now, DELAY);
    assert_eq!(refused.unwrap_err(), Held::Until(Timestamp(1_100)));
    let refused = other.try_lease(&host("a"), now, Duration::ZERO);
    assert_eq!(refused.unwrap_err(), Held::Until(Timestamp(300)));
    assert!(other.try_lease(&host("a"), Timestamp(1_100), DELAY).is_ok());
}

#[test]
fn a_dropped_lease_returns_and_its_delay_counts_from_when_somebody_asked_last() {
    let calendar = HostCalendar::default();
    let lease = calendar.try_lease(&host("a"), Timestamp(5), DELAY).unwrap();
    let other = calendar.try_lease(&host("b"), Timestamp(400), DELAY);
    drop(lease);
    let held = calendar.held(&host("a"), Timestamp(400), DELAY);
    assert_eq!(held, Some(Held::Until(Timestamp(1_400))));
    assert_eq!(
        calendar.held(&host("a"), Timestamp(400), Duration::ZERO),
        None
    );
    drop(other);
}

#[test]
fn a_lease_lost_by_a_panic_returns() {
    let calendar = HostCalendar::default();
    let lease = calendar.try_lease(&host("a"), Timestamp(5), DELAY).unwrap();
    let task = std::thread::spawn(move || {
        let _lease = lease;
        std::panic::resume_unwind(Box::new("lost"));
    });
    assert!(task.join().is_err());
    assert!(
        calendar
            .try_lease(&host("a"), Timestamp(1_005), DELAY)
            .is_ok()
    );
}

#[test]
fn threads_never_hold_two_leases_of_a_host() {
    let calendar = HostCalendar::default();
    let is_out = [const { AtomicBool::new(false) }; 2];
    let granted = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..2_000_usize {
                    let which = round % 2;
                    let key = host(["a", "b"][which]);
                    let now = Timestamp(0);
                    if let Ok(lease) = calendar.try_lease(&key, now, Duration::ZERO) {
                        assert!(!is_out[which].swap(true, Ordering::SeqCst));
                        granted.fetch_add(1, Ordering::SeqCst);
                        std::thread::yield_now();
                        is_out[which].store(false, Ordering::SeqCst);
                        lease.release(now, now);
                    }
                }
            });
        }
    });
    assert!(granted.into_inner() > 0);
}

#[test]
fn a_time_is_only_moved_later() {
    let calendar = HostCalendar::default();
    let lease = calendar.try_lease(&host("a"), Timestamp(5), DELAY).unwrap();
    calendar.hold_until(&host("a"), Timestamp(9_000));
    calendar.hold_until(&host("a"), Timestamp(8_000));
    lease.release(Timestamp(6), Timestamp(7));
    let held = calendar.held(&host("a"), Timestamp(6), DELAY);
    assert_eq!(held, Some(Held::Until(Timestamp(9_000))));
}

#[test]
fn hosts_of_long_ago_are_forgotten_but_not_those_out_on_a_lease() {
    let calendar = HostCalendar::default();
    let leased = host("leased");
    let _lease = calendar.try_lease(&leased, Timestamp(0), DELAY).unwrap();
    let two_days = Timestamp(0).after(Duration::from_hours(48));
    for number in 0..5_000 {
        calendar.hold_until(&host(&format!("old{number}")), Timestamp(number));
    }
    drop(calendar.try_lease(&host("now"), two_days, DELAY));
    for number in 0..6_000 {
        calendar.hold_until(&host(&format!("new{number}")), Timestamp(two_days.0 + 1));
    }
    assert_eq!(calendar.hosts(), 6_002);
    let held = calendar.held(&leased, two_days, DELAY);
    assert_eq!(held, Some(Held::Leased));
}

/// Polls once.
fn is_done(future: &mut (impl Future<Output = ()> + Unpin)) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    std::pin::Pin::new(future).poll(&mut context) == Poll::Ready(())
}

#[test]
fn a_crawl_is_told_that_another_gave_a_host_back() {
    let calendar = HostCalendar::default();
    let mut one = Crawl::sharing(params(), calendar.clone());
    let mut two = Crawl::sharing(params(), calendar.clone());
    one.seed(&["a/1"], 0.0);
    two.seed(&["a/1"], 0.0);
    let lease = one.lease();
    assert!(matches!(two.frontier.next(two.now), Next::AllLeased));
    let mut told = Box::pin(two.frontier.host_returned());
    assert!(!is_done(&mut told));
    one.page(lease, &[]);
    assert!(is_done(&mut told));
    // A return that nobody has looked at is told at any time, and once seen it is not.
    assert!(is_done(&mut Box::pin(two.frontier.host_returned())));
    let ready_at = one.now.after(DELAY);
    assert!(matches!(two.frontier.next(two.now), Next::NotBefore(t) if t == ready_at));
    assert!(!is_done(&mut Box::pin(two.frontier.host_returned())));
    assert_eq!(two.drain(), ["a/1"]);
}

#[test]
fn a_crawl_is_told_of_its_own_lost_lease() {
    let mut crawl = Crawl::new(params());
    crawl.seed(&["a/1", "a/2"], 0.0);
    drop(crawl.lease());
    assert!(is_done(&mut Box::pin(crawl.frontier.host_returned())));
    crawl.wait(1_000);
    let lease = crawl.lease();
    assert_eq!(crawl.name(&lease), "a/2");
}

#[tokio::test]
async fn a_waiting_task_is_woken() {
    let calendar = HostCalendar::default();
    let mut one = Crawl::sharing(params(), calendar.clone());
    let mut two = Crawl::sharing(params(), calendar);
    one.seed(&["a/1"], 0.0);
    two.seed(&["a/1"], 0.0);
    let lease = one.lease();
    assert!(matches!(two.frontier.next(two.now), Next::AllLeased));
    let told = tokio::spawn(two.frontier.host_returned());
    tokio::task::yield_now().await;
    assert!(!told.is_finished());
    one.page(lease, &[]);
    told.await.unwrap();
}

/// A clock that others set; whoever waits for it lets them go on.
#[derive(Clone, Default)]
struct SharedClock(Arc<AtomicI64>);

impl Clock for SharedClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }

    async fn sleep_until(&self, until: Timestamp) {
        while self.now() < until {
            tokio::task::yield_now().await;
        }
    }
}

const PATIENCE: Duration = Duration::from_mins(1);

async fn lease_within(
    calendar: &HostCalendar,
    name: &str,
    clock: &impl Clock,
) -> Option<HostLease> {
    calendar
        .lease_within(&host(name), clock, DELAY, PATIENCE)
        .await
}

#[tokio::test]
async fn a_host_that_rests_is_kept_for_the_one_that_waits_for_it() {
    let (calendar, clock) = (HostCalendar::default(), SharedClock::default());
    calendar.note_request(&host("a"), Timestamp(0), Timestamp(0));
    let waits = lease_within(&calendar, "a", &clock);
    let others = async {
        tokio::task::yield_now().await;
        clock.0.store(1_000, Ordering::SeqCst);
        calendar
            .try_lease(&host("a"), clock.now(), DELAY)
            .unwrap_err()
    };
    let (lease, refused) = tokio::join!(waits, others);
    assert_eq!(refused, Held::Leased);
    lease.unwrap().release(Timestamp(1_300), Timestamp(0));
    let held = calendar.held(&host("a"), Timestamp(1_300), DELAY);
    assert_eq!(held, Some(Held::Until(Timestamp(2_300))));
}

#[tokio::test]
async fn a_leased_host_is_waited_for_until_it_comes_back_and_has_rested() {
    let (calendar, clock) = (HostCalendar::default(), SharedClock::default());
    let lease = calendar.try_lease(&host("a"), clock.now(), DELAY).unwrap();
    let waits = async {
        let lease = lease_within(&calendar, "a", &clock);
        (lease.await.is_some(), clock.now())
    };
    let others = async {
        tokio::task::yield_now().await;
        clock.0.store(500, Ordering::SeqCst);
        lease.release(clock.now(), clock.now());
        for now in 501..2_000 {
            tokio::task::yield_now().await;
            clock.0.store(now, Ordering::SeqCst);
        }
    };
    let ((leased, at), ()) = tokio::join!(waits, others);
    assert!(leased);
    assert!((1_500..1_510).contains(&at.0), "{at:?}");
}

#[tokio::test]
async fn a_host_is_not_waited_for_beyond_the_patience() {
    let (calendar, clock) = (
        HostCalendar::default(),
        SimulatedClock::starting_at(Timestamp(0)),
    );
    calendar.hold_until(&host("a"), Timestamp(60_001));
    let lease = lease_within(&calendar, "a", &clock);
    assert!(lease.await.is_none());
    assert_eq!(clock.now(), Timestamp(0));
    let held = calendar.held(&host("a"), clock.now(), DELAY);
    assert_eq!(held, Some(Held::Until(Timestamp(60_001))));
    let _out = calendar.try_lease(&host("b"), clock.now(), DELAY).unwrap();
    let lease = lease_within(&calendar, "b", &clock);
    assert!(lease.await.is_none());
    assert_eq!(clock.now(), Timestamp(60_000));
}

/// A calendar on which `a` to `f` stand behind one address.
fn one_server() -> (HostCalendar, [HostKey; 6]) {
    let calendar = HostCalendar::default();
    let hosts = ["a", "b", "c", "d", "e", "f"].map(host);
    for host in &hosts {
        calendar.note_address(host, [192, 0, 2, 1].into());
    }
    (calendar, hosts)
}

#[test]
fn an_address_is_asked_as_if_few_hosts_stood_behind_it() {
    let (calendar, hosts) = one_server();
    let lease = |host: &HostKey, ms| calendar.try_lease(host, Timestamp(ms), DELAY);
    let mut leases: Vec<HostLease> = hosts[..4]
        .iter()
        .map(|host| lease(host, 0).unwrap())
        .collect();
    assert_eq!(lease(&hosts[4], 0).unwrap_err(), Held::Leased);
    assert!(lease(&host("elsewhere"), 0).is_ok());
    let ended = leases.remove(0);
    ended.release(Timestamp(100), Timestamp(1_100));
    // A quarter of the delay after the last end, behind whichever host.
    let until = Held::Until(Timestamp(350));
    assert_eq!(lease(&hosts[4], 100).unwrap_err(), until);
    let held = calendar.held(&hosts[4], Timestamp(100), DELAY);
    assert_eq!(held, Some(until));
    let fifth = lease(&hosts[4], 350).unwrap();
    assert_eq!(lease(&hosts[5], 350).unwrap_err(), Held::Leased);
    drop((leases, fifth));
    // No host is asked before its own time because its address is free.
    let until = Held::Until(Timestamp(1_100));
    assert_eq!(lease(&hosts[0], 700).unwrap_err(), until);
    assert!(lease(&hosts[5], 700).is_ok());
}

#[test]
fn an_address_gets_no_second_burst_however_quickly_it_answers() {
    let (calendar, hosts) = one_server();
    let lease = |at: usize, ms| calendar.try_lease(&hosts[at], Timestamp(ms), DELAY);
    let first: Vec<HostLease> = (0..4).map(|at| lease(at, 0).unwrap()).collect();
    for lease in first {
        lease.release(Timestamp(0), Timestamp(0));
    }
    let until = |ms| Held::Until(Timestamp(ms));
    assert_eq!(lease(4, 0).unwrap_err(), until(250));
    // Somebody who asks nothing after all is not in the way.
    lease(4, 250).unwrap().release_unasked();
    let fifth = lease(4, 250).unwrap();
    assert_eq!(lease(5, 250).unwrap_err(), until(500));
    fifth.release(Timestamp(250), Timestamp(250));
    assert_eq!(lease(5, 499).unwrap_err(), until(500));
    assert!(lease(5, 500).is_ok());
}

#[test]
fn a_host_that_moved_counts_where_it_was_leased() {
    let (calendar, hosts) = one_server();
    let lease = |host: &HostKey, ms| calendar.try_lease(host, Timestamp(ms), Duration::ZERO);
    let out: Vec<HostLease> = hosts[..4]
        .iter()
        .map(|host| lease(host, 0).unwrap())
        .collect();
    calendar.note_address(&hosts[0], [192, 0, 2, 2].into());
    assert_eq!(lease(&hosts[4], 0).unwrap_err(), Held::Leased);
    drop(out);
    let again: Vec<_> = hosts.iter().map(|host| lease(host, 0)).collect();
    // Five stand behind the old address, and one of them has to wait.
    let held = again.iter().filter(|lease| lease.is_err()).count();
    assert_eq!(held, 1);
}

#[tokio::test]
async fn who_waits_for_an_address_is_told_when_one_of_its_hosts_comes_back() {
    let (calendar, hosts) = one_server();
    let mut crawl = Frontier::new(params(), calendar.clone());
    let seeds: Vec<CanonicalUrl> = ["e/1"].map(url).into();
    let seeds = SeedsEvent {
        urls: seeds,
        priority: 1.0,
        at: Timestamp(0),
    };
    crawl.admit(Seq(1), &Event::Seeds(seeds));
    let mut out: Vec<HostLease> = hosts[..4]
        .iter()
        .map(|host| calendar.try_lease(host, Timestamp(0), DELAY).unwrap())
        .collect();
    assert!(matches!(crawl.next(Timestamp(0)), Next::AllLeased));
    out.remove(0).release(Timestamp(10), Timestamp(10));
    crawl.host_returned().await;
    let Next::NotBefore(at) = crawl.next(Timestamp(10)) else {
        panic!("the address rests");
    };
    assert_eq!(at, Timestamp(260));
    assert!(matches!(crawl.next(at), Next::Lease(_)));
    // Somebody who holds a lease ahead waits for the address as well.
    let clock = SimulatedClock::starting_at(Timestamp(300));
    let patience = Duration::from_secs(9);
    out.clear();
    let sixth = calendar
        .lease_within(&hosts[5], &clock, DELAY, patience)
        .await;
    assert!(sixth.is_some());
}

#[test]
fn a_host_that_was_never_asked_counts_where_it_turns_out_to_stand() {
    let calendar = HostCalendar::default();
    let server = [192, 0, 2, 1].into();
    let two = Spacing {
        delay: DELAY,
        per_address: 2,
    };
    let [a, b, c] = ["a", "b", "c"].map(host);
    let lease = |host: &HostKey, ms| calendar.try_lease(host, Timestamp(ms), two).unwrap();
    let mut leases = [lease(&a, 0), lease(&b, 0), lease(&c, 0)];
    let arrived = leases
        .each_mut()
        .map(|lease| lease.arrive(server, Timestamp(0), two));
    assert_eq!(arrived, [Ok(()), Ok(()), Err(Held::Leased)]);
    let [first, second, crowded] = leases;
    crowded.release_unasked();
    // It waits as everybody else there, under whoever's lease.
    let again = calendar.try_lease(&c, Timestamp(0), two);
    assert_eq!(again.unwrap_err(), Held::Leased);
    let laxer = calendar.try_lease(&c, Timestamp(0), DELAY);
    laxer.unwrap().release_unasked();
    first.release(Timestamp(100), Timestamp(100));
    let until = Held::Until(Timestamp(600));
    assert_eq!(calendar.held(&c, Timestamp(100), two), Some(until));
    assert!(calendar.try_lease(&c, Timestamp(600), two).is_ok());
    drop(second);
}
