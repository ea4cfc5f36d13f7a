//! The contract of [`FrontierStore`](crate::frontier::FrontierStore), one function a sentence.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Step, Subject, assert_holds, bare, booking, fill, sample, scanned, url};
use crate::booking::{Reference, Seq, evidence};
use crate::page::{Link, LinkContext, LinkElement, Page};

pub(super) fn what_was_appended_can_be_read_at_once<S: Subject>() {
    let (_home, store) = S::fresh();
    assert_holds(&store, 0);
    fill(&store, 12);
    assert_eq!(store.durable(), Seq(0));
    assert_holds(&store, 12);
    assert_eq!(store.flush().unwrap(), Seq(12));
    assert_eq!(store.durable(), Seq(12));
    fill(&store, 17);
    assert_holds(&store, 17);
}

pub(super) fn a_crash_leaves_a_prefix_with_all_that_was_flushed<S: Subject>() {
    let (home, store) = S::fresh();
    fill(&store, 7);
    store.flush().unwrap();
    fill(&store, 11);
    let store = store.crashed(&home);
    let left = store.last().0;
    assert!((7..=11).contains(&left));
    assert_eq!(store.durable(), Seq(left));
    assert_holds(&store, left);
    fill(&store, 20);
    store.flush().unwrap();
    assert_holds(&store.crashed(&home), 20);
}

pub(super) fn a_flush_of_nothing_is_no_harm<S: Subject>() {
    let (home, store) = S::fresh();
    assert_eq!(store.flush().unwrap(), Seq(0));
    fill(&store, 3);
    store.flush().unwrap();
    assert_eq!(store.flush().unwrap(), Seq(3));
    assert_holds(&store.crashed(&home), 3);
}

pub(super) fn a_flush_stops_where_it_was_told_and_never_goes_back<S: Subject>() {
    let (home, store) = S::fresh();
    assert_eq!(store.flush_to(Seq(3)).unwrap(), Seq(0));
    fill(&store, 9);
    assert_eq!(store.flush_to(Seq(0)).unwrap(), Seq(0));
    assert_eq!(store.flush_to(Seq(4)).unwrap(), Seq(4));
    assert_eq!(store.durable(), Seq(4));
    assert_holds(&store, 9);
    for earlier in [4, 2, 0] {
        assert_eq!(store.flush_to(Seq(earlier)).unwrap(), Seq(4));
    }
    // Nothing after it survives: what it names may not be there.
    let store = store.crashed(&home);
    assert_eq!(store.durable(), Seq(4));
    assert_holds(&store, 4);
    fill(&store, 8);
    assert_eq!(store.flush_to(Seq(6)).unwrap(), Seq(6));
    fill(&store, 10);
    assert_eq!(store.flush_to(Seq(99)).unwrap(), Seq(10));
    fill(&store, 12);
    assert_eq!(store.flush_to(Seq(11)).unwrap(), Seq(11));
    assert_eq!(store.flush().unwrap(), Seq(12));
    assert_holds(&store.crashed(&home), 12);
}

pub(super) fn a_scan_keeps_its_bounds_and_stops_when_told<S: Subject>() {
    let (_home, store) = S::fresh();
    fill(&store, 6);
    store.flush().unwrap();
    fill(&store, 10);
    let numbers = |from: u64, to: u64, at_most: usize| {
        let mut seen = Vec::new();
        store
            .scan(Seq(from), Seq(to), &mut |seq, _| {
                seen.push(seq.0);
                seen.len() < at_most
            })
            .unwrap();
        seen
    };
    assert_eq!(numbers(2, 4, 99), [2, 3, 4]);
    assert_eq!(numbers(5, 8, 99), [5, 6, 7, 8]);
    assert_eq!(numbers(8, 99, 99), [8, 9, 10]);
    assert_eq!(numbers(4, 99, 2), [4, 5]);
    assert_eq!(numbers(4, 99, 4), [4, 5, 6, 7]);
    assert!(numbers(11, 99, 99).is_empty());
    assert!(numbers(5, 4, 99).is_empty());
}

pub(super) fn a_reference_leads_to_its_url<S: Subject>() {
    let (_home, store) = S::fresh();
    fill(&store, 6);
    for _pending_then_durable in 0..2 {
        let at = |seq, link| {
            let url = store.link_url(Reference {
                seq: Seq(seq),
                link,
            });
            url.map(|url| url.to_string())
                .map_err(|error| error.to_string())
        };
        assert_eq!(at(5, 0).unwrap(), "http://a.test/");
        assert_eq!(at(5, 1).unwrap(), "http://seed.test/5");
        assert_eq!(at(1, 0).unwrap(), "http://c.test/1");
        for (seq, link) in [(5, 2), (1, 1), (2, 0)] {
            let error = at(seq, link).unwrap_err();
            let words = format!("event {seq} has no link {link}");
            assert!(error.contains(&words), "{error}");
        }
        assert_eq!(at(7, 0).unwrap_err(), "there is no event 7");
        // The evidence of sample 3 is none: the error is of that page.
        assert!(at(3, 0).unwrap_err().starts_with("page of event 3: "));
        store.flush().unwrap();
    }
}

pub(super) fn a_page_is_read_from_its_evidence<S: Subject>() {
    let (_home, store) = S::fresh();
    let page = Page {
        title: "A title".into(),
        vocabulary: vec!["word".into()],
        words: vec![0, 0],
        leaf_ends: vec![1, 2],
        links: vec![Link {
            target: url("http://b.test/1/0"),
            first_leaf: 0,
            last_leaf: 1,
            nofollow: false,
            element: LinkElement::Anchor,
            tag_path: vec!["p".into()],
            context: LinkContext::default(),
        }],
        charset: "UTF-8",
        ..Page::default()
    };
    let seq = store.append(booking(1, evidence::encode(&page)));
    fill(&store, 2);
    for _pending_then_durable in 0..2 {
        assert_eq!(store.page(seq).unwrap(), page);
        let at = Reference { seq, link: 0 };
        assert_eq!(store.link_url(at).unwrap(), page.links[0].target);
        let none = Reference { seq, link: 1 };
        assert!(store.link_url(none).is_err());
        let error = store.page(Seq(2)).unwrap_err().to_string();
        assert!(error.contains("event 2 is no page"), "{error}");
        assert!(store.page(Seq(3)).is_err());
        store.flush().unwrap();
    }
}

/// One thread appends, one flushes, and readers see every event from the moment it has a number.
pub(super) fn readers_see_every_event_while_it_is_flushed<S: Subject>() {
    let (home, store) = S::fresh();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            fill(&store, 400);
            done.store(true, Ordering::Release);
        });
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                let before = store.last();
                assert!(store.flush().unwrap() >= before);
            }
        });
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                for n in [store.durable().0, store.durable().0 + 1, store.last().0] {
                    if n != 0 && n <= store.last().0 {
                        assert_eq!(store.event(Seq(n)).unwrap(), Some(bare(sample(n))));
                    }
                }
            }
        });
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                let least = store.last().0;
                let seen = scanned(&store).len() as u64;
                assert!(seen >= least, "{seen} of {least}");
            }
        });
    });
    store.flush().unwrap();
    assert_holds(&store.crashed(&home), 400);
}

/// Any order of appending, flushing and crashing gives what a plain vector would.
pub(super) fn it_is_a_vector_that_crashes<S: Subject>(steps: &[Step]) {
    let (home, mut store) = S::fresh();
    let (mut last, mut durable) = (0, 0);
    for step in steps {
        match step {
            Step::Append(count) => {
                last += u64::from(*count);
                fill(&store, last);
            }
            Step::Flush => {
                assert_eq!(store.flush().unwrap(), Seq(last));
                durable = last;
            }
            Step::FlushTo(to) => {
                durable = durable.max(last.min(*to));
                assert_eq!(store.flush_to(Seq(*to)).unwrap(), Seq(durable));
            }
            Step::Crash => {
                store = store.crashed(&home);
                last = durable;
            }
        }
        assert_eq!(store.durable(), Seq(durable));
        assert_eq!(store.last(), Seq(last));
    }
    assert_holds(&store, last);
}
