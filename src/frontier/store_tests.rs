//! What every [`FrontierStore`] owes, run on each of them, and what only the one on disk can suffer.

mod contract;
mod old_versions;

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use proptest::prelude::*;
use tempfile::TempDir;

use super::{FrontierStore, MemoryStore, SledStore};
use crate::booking::{
    CrawlState, Event, HostFacts, Judgement, LeaseFacts, LinkFact, PageBooking, RedirectBooking,
    Reference, SeedsEvent, Seq, StateEvent,
};
use crate::clock::Timestamp;
use crate::store::StoreOptions;
use crate::url::{CanonicalUrl, HostKey};

/// A kind of store, with a crash.
trait Subject: FrontierStore + Sized {
    /// Where it lives.
    type Home;
    fn fresh() -> (Self::Home, Self);
    /// The store that the next process finds.
    fn crashed(self, home: &Self::Home) -> Self;
    fn evidence_of(&self, seq: Seq) -> Option<Vec<u8>>;
}

impl Subject for MemoryStore {
    type Home = ();
    fn fresh() -> ((), Self) {
        ((), Self::new())
    }
    fn crashed(self, (): &()) -> Self {
        self.after_crash()
    }
    fn evidence_of(&self, seq: Seq) -> Option<Vec<u8>> {
        self.evidence(seq)
    }
}

const OPTIONS: StoreOptions = StoreOptions {
    cache_bytes: 1 << 20,
    segment_bytes_max: 3_000,
    free_bytes_min: 0,
};

impl Subject for SledStore {
    type Home = TempDir;
    fn fresh() -> (TempDir, Self) {
        let home = TempDir::new().unwrap();
        let store = Self::open(home.path(), &OPTIONS).unwrap();
        (home, store)
    }
    fn crashed(self, home: &TempDir) -> Self {
        drop(self);
        Self::open(home.path(), &OPTIONS).unwrap()
    }
    fn evidence_of(&self, seq: Seq) -> Option<Vec<u8>> {
        self.evidence(seq).unwrap()
    }
}

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text).unwrap()
}

fn lease(n: u64) -> LeaseFacts {
    LeaseFacts {
        url: url(&format!("http://a.test/{n}")),
        references: vec![Reference {
            seq: Seq(n),
            link: 3,
        }],
        depth: 2,
        is_seed: false,
        priority: -1.5,
        leased_at: Timestamp(1_000),
        finished_at: Timestamp(1_200),
        requests: 1,
        host_next_at: Timestamp(3_200),
    }
}

/// A page with three links, and evidence of `evidence`.
fn booking(n: u64, evidence: Vec<u8>) -> Event {
    let links = (0..3).map(|link| LinkFact {
        target: url(&format!("http://b.test/{n}/{link}")).id(),
        host: 0,
        priority: 0.25,
        refusal: None,
    });
    Event::Page(PageBooking {
        lease: lease(n),
        status: 200,
        content_type: "text/html".into(),
        body_bytes: 9_000,
        body_digest: n,
        truncated: false,
        title: format!("page {n}"),
        judgement: Judgement {
            log_odds: 4.0,
            calibrated_log_odds: 4.0,
            best: vec![(3, -0.1)],
            near_focus: true,
            version: 1,
        },
        links: links.collect(),
        hosts: vec![HostKey::from_stored("b.test")],
        links_dropped: 0,
        frozen: None,
        evidence,
        kept: None,
        likeness: crate::booking::Likeness::default(),
        withheld: None,
    })
}

/// The `n`-th event of a log in which every kind of outcome turns up.
fn sample(n: u64) -> Event {
    match n % 5 {
        0 => Event::Seeds(SeedsEvent {
            urls: vec![url("http://a.test/"), url(&format!("http://seed.test/{n}"))],
            priority: 0.5,
            at: Timestamp(5),
        }),
        1 => Event::Redirect(RedirectBooking {
            lease: lease(n),
            status: 301,
            target: url(&format!("http://c.test/{n}")),
            hops: 1,
            refusal: None,
            kept: None,
        }),
        2 => Event::HostFacts(HostFacts {
            host: HostKey::from_stored("a.test"),
            next_at: Timestamp(9),
            robots: "rules".into(),
            crawl_delay_ms: Some(500),
            given_up: false,
            at: Timestamp(8),
        }),
        _ => booking(n, n.to_le_bytes().repeat(50)),
    }
}

fn bare(event: Event) -> Event {
    match event {
        Event::Page(mut page) => {
            page.evidence.clear();
            Event::Page(page)
        }
        other => other,
    }
}

/// What a scan of everything sees.
fn scanned(store: &impl FrontierStore) -> Vec<(u64, Event)> {
    let mut seen = Vec::new();
    store
        .scan(Seq(0), Seq(u64::MAX), &mut |seq, event| {
            seen.push((seq.0, event));
            true
        })
        .unwrap();
    seen
}

fn expected(count: u64) -> Vec<(u64, Event)> {
    (1..=count).map(|n| (n, bare(sample(n)))).collect()
}

/// Appends samples until there are `count`.
fn fill(store: &impl FrontierStore, count: u64) {
    for n in store.last().0 + 1..=count {
        assert_eq!(store.append(sample(n)), Seq(n));
    }
}

fn assert_holds(store: &impl Subject, count: u64) {
    assert_eq!(store.last(), Seq(count));
    assert_eq!(scanned(store), expected(count));
    for n in 1..=count {
        assert_eq!(store.event(Seq(n)).unwrap(), Some(bare(sample(n))));
        let evidence = match sample(n) {
            Event::Page(page) => page.evidence,
            _ => Vec::new(),
        };
        assert_eq!(store.evidence_of(Seq(n)), Some(evidence), "{n}");
    }
    for none in [0, count + 1, u64::MAX] {
        assert_eq!(store.event(Seq(none)).unwrap(), None);
        assert_eq!(store.evidence_of(Seq(none)), None);
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Append(u8),
    Flush,
    FlushTo(u64),
    Crash,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1_u8..20).prop_map(Step::Append),
        2 => Just(Step::Flush),
        2 => (0_u64..99).prop_map(Step::FlushTo),
        1 => Just(Step::Crash),
    ];
    proptest::collection::vec(step, 1..15)
}

/// The tests of [`contract`] for one kind of store.
macro_rules! conformance {
    ($name:ident, $store:ty, $cases:expr, [$($sentence:ident),* $(,)?]) => {
        mod $name {
            use super::*;
            $(
                #[test]
                fn $sentence() {
                    contract::$sentence::<$store>();
                }
            )*
            proptest! {
                #![proptest_config(ProptestConfig::with_cases($cases))]
                #[test]
                fn it_is_a_vector_that_crashes(steps in steps()) {
                    contract::it_is_a_vector_that_crashes::<$store>(&steps);
                }
            }
        }
    };
    ($name:ident, $store:ty, $cases:expr) => {
        conformance!($name, $store, $cases, [
            what_was_appended_can_be_read_at_once,
            a_crash_leaves_a_prefix_with_all_that_was_flushed,
            a_flush_of_nothing_is_no_harm,
            a_flush_stops_where_it_was_told_and_never_goes_back,
            a_scan_keeps_its_bounds_and_stops_when_told,
            a_reference_leads_to_its_url,
            a_page_is_read_from_its_evidence,
            readers_see_every_event_while_it_is_flushed,
        ]);
    };
}

conformance!(memory, MemoryStore, 64);
conformance!(sled, SledStore, 12);

#[test]
fn damaged_evidence_is_named_and_spares_the_event() {
    let (home, store) = SledStore::fresh();
    fill(&store, 5);
    store.flush().unwrap();
    let segment = home.path().join("payload-000001.seg");
    let file = OpenOptions::new().write(true).open(&segment).unwrap();
    file.write_all_at(&[0xff; 4], 40).unwrap();
    let error = store.page(Seq(3)).unwrap_err().to_string();
    assert!(
        error.contains("payload-000001.seg is damaged at byte 8"),
        "{error}"
    );
    assert_eq!(store.event(Seq(3)).unwrap(), Some(bare(sample(3))));
    assert!(store.evidence(Seq(4)).is_ok());
    assert_eq!(scanned(&store), expected(5));
}

#[test]
fn a_refused_flush_loses_nothing_and_is_tried_again() {
    let (home, store) = SledStore::fresh();
    fill(&store, 4);
    store.flush().unwrap();
    fill(&store, 9);
    store.set_free_bytes_min(u64::MAX / 2);
    let error = store.flush().unwrap_err().to_string();
    assert!(error.contains("bytes free"), "{error}");
    assert_eq!(store.durable(), Seq(4));
    fill(&store, 10);
    assert_holds(&store, 10);
    store.set_free_bytes_min(0);
    assert_eq!(store.flush().unwrap(), Seq(10));
    assert_holds(&store.crashed(&home), 10);
}

#[test]
fn an_undecodable_event_is_named() {
    let (home, store) = SledStore::fresh();
    fill(&store, 2);
    store.flush().unwrap();
    drop(store);
    let log = crate::store::Store::open(home.path(), &OPTIONS).unwrap();
    let foreign = crate::store::Entry {
        key: 3,
        record: &[0xff; 9],
        payload: &[],
    };
    log.commit(&[foreign]).unwrap();
    drop(log);
    let store = SledStore::open(home.path(), &OPTIONS).unwrap();
    let words = |error: super::StoreFailure| error.to_string();
    let error = words(store.event(Seq(3)).unwrap_err());
    assert!(error.starts_with("event 3 in "), "{error}");
    let scan = |from| store.scan(Seq(from), Seq(9), &mut |_, _| true);
    assert!(words(scan(1).unwrap_err()).starts_with("event 3 in "));
    assert!(scan(4).is_ok());
}

#[test]
fn the_pending_buffer_shows_its_size() {
    let (_home, store) = SledStore::fresh();
    assert_eq!(store.pending(), (0, 0));
    store.append(booking(1, vec![7; 6_000]));
    store.append(Event::State(StateEvent {
        state: CrawlState::Paused,
        reason: "asked".into(),
        at: Timestamp(1),
    }));
    let (events, bytes) = store.pending();
    assert_eq!(events, 2);
    assert!((6_000..9_000).contains(&bytes), "{bytes}");
    store.flush().unwrap();
    assert_eq!(store.pending(), (0, 0));
}
