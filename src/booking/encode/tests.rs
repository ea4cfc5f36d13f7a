//! Round trips of every kind of event, and bytes that are none.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use prost::Message;

use super::{DecodeError, decode, encode};
use crate::booking::{
    CrawlState, Event, EvictedEvent, FailureBooking, FeedbackEvent, HostFacts, Judgement, Kept,
    LeaseFacts, Likeness, LinkFact, Mark, PageBooking, ReadmittedEvent, ReadmittedLink,
    RedirectBooking, Reference, Refusal, RefusedBooking, SeedsEvent, Seq, StateEvent,
};
use crate::clock::Timestamp;
use crate::proto::v1;
use crate::url::{CanonicalUrl, HostKey, UrlId};

fn url() -> impl Strategy<Value = CanonicalUrl> {
    "http://[a-z]{1,8}\\.test/\\PC{0,12}".prop_map(CanonicalUrl::from_stored)
}

fn moment() -> impl Strategy<Value = Timestamp> {
    any::<i64>().prop_map(Timestamp)
}

fn references() -> impl Strategy<Value = Vec<Reference>> {
    let one = any::<(u64, u32)>().prop_map(|(seq, link)| Reference {
        seq: Seq(seq),
        link,
    });
    vec(one, 0..5)
}

fn refusal() -> impl Strategy<Value = Refusal> {
    proptest::sample::select(Refusal::ALL.to_vec())
}

/// Every float but NaN, which equals nothing, also not itself.
fn number() -> impl Strategy<Value = f32> {
    any::<f32>().prop_filter("not NaN", |number| !number.is_nan())
}

prop_compose! {
    fn lease()(
        url in url(),
        references in references(),
        (depth, is_seed, requests) in any::<(u16, bool, u32)>(),
        priority in number(),
        leased_at in moment(),
        finished_at in moment(),
        host_next_at in moment(),
    ) -> LeaseFacts {
        LeaseFacts {
            url, references, depth, is_seed, priority, leased_at, finished_at, requests,
            host_next_at,
        }
    }
}

prop_compose! {
    fn links()(hosts in vec("[a-z]{1,9}(:[0-9]{2})?", 1..4))(
        links in vec((any::<u64>(), 0..hosts.len(), number(), option::of(refusal())), 0..30),
        shared in option::of(number()),
        hosts in Just(hosts),
    ) -> (Vec<LinkFact>, Vec<HostKey>) {
        let links = links.into_iter().map(|(target, host, priority, refusal)| LinkFact {
            target: UrlId(target),
            host: u32::try_from(host).unwrap(),
            priority: shared.unwrap_or(priority),
            refusal,
        });
        (links.collect(), hosts.iter().map(|host| HostKey::from_stored(host)).collect())
    }
}

prop_compose! {
    fn page()(
        lease in lease(),
        (status, body_bytes, body_digest, truncated, links_dropped)
            in any::<(u16, u64, u64, bool, u32)>(),
        (near_focus, version) in any::<(bool, u64)>(),
        (log_odds, calibrated_log_odds) in (number(), number()),
        best in vec((any::<u16>(), number()), 0..4),
        content_type in "\\PC{0,20}",
        title in "\\PC{0,20}",
        (links, hosts) in links(),
        kept in kept(),
        (sketch, copy_of, near_copy_of)
            in (option::of(any::<u64>()), option::of(1..u64::MAX), option::of(1..u64::MAX)),
        withheld in 0..3_u32,
    ) -> Event {
        Event::Page(PageBooking {
            lease, status, content_type, body_bytes, body_digest, truncated, title,
            judgement: Judgement { log_odds, calibrated_log_odds, best, near_focus, version },
            links, hosts, links_dropped,
            frozen: None,
            evidence: Vec::new(),
            likeness: Likeness {
                sketch,
                copy_of: copy_of.map(Seq),
                near_copy_of: near_copy_of.map(Seq),
            },
            kept,
            withheld: crate::booking::Withheld::from_number(withheld),
        })
    }
}

fn kept() -> impl Strategy<Value = Option<Box<Kept>>> {
    let kept = (1..9_u32, any::<u64>(), any::<u64>());
    option::of(kept.prop_map(|(file, offset, end)| Box::new(Kept { file, offset, end })))
}

fn outcome() -> impl Strategy<Value = Event> {
    let failure = (
        lease(),
        "[a-z-]{0,9}",
        "\\PC{0,20}",
        any::<[bool; 3]>(),
        kept(),
    )
        .prop_map(
            |(lease, cause, message, [is_final, is_frozen, is_lesson], kept)| {
                Event::Failure(FailureBooking {
                    lease,
                    cause,
                    message,
                    is_final,
                    frozen: is_frozen.then(Box::default),
                    is_lesson,
                    kept,
                })
            },
        );
    let redirect = (
        lease(),
        any::<(u16, u16)>(),
        url(),
        option::of(refusal()),
        kept(),
    )
        .prop_map(|(lease, (status, hops), target, refusal, kept)| {
            Event::Redirect(RedirectBooking {
                lease,
                status,
                target,
                hops,
                refusal,
                kept,
            })
        });
    let refused =
        (url(), references(), refusal(), moment()).prop_map(|(url, references, refusal, at)| {
            Event::Refused(RefusedBooking {
                url,
                references,
                refusal,
                at,
            })
        });
    prop_oneof![page(), failure, redirect, refused]
}

fn happening() -> impl Strategy<Value = Event> {
    let facts = (
        ("[a-z]{0,9}", "[a-z-]{0,9}"),
        option::of(any::<u64>()),
        any::<bool>(),
        moment(),
        moment(),
    )
        .prop_map(|((host, robots), crawl_delay_ms, given_up, next_at, at)| {
            Event::HostFacts(HostFacts {
                host: HostKey::from_stored(&host),
                next_at,
                robots,
                crawl_delay_ms,
                given_up,
                at,
            })
        });
    let seeds = (vec(url(), 0..5), number(), moment())
        .prop_map(|(urls, priority, at)| Event::Seeds(SeedsEvent { urls, priority, at }));
    let spec = vec(any::<u8>(), 0..40).prop_map(Event::SpecChange);
    let state = (
        proptest::sample::select(CrawlState::ALL.to_vec()),
        "\\PC{0,20}",
        moment(),
    )
        .prop_map(|(state, reason, at)| Event::State(StateEvent { state, reason, at }));
    let link = (any::<u64>(), any::<u64>(), 0_u32..3, number(), any::<u16>());
    let link = link.prop_map(|(target, seq, host, priority, depth)| ReadmittedLink {
        target: UrlId(target),
        reference: Reference {
            seq: Seq(seq),
            link: host,
        },
        host,
        priority,
        depth,
    });
    let hosts = vec("[a-z]{1,8}\\.test", 3);
    let readmitted = (vec(link, 0..5), hosts, moment()).prop_map(|(links, hosts, at)| {
        let hosts = hosts.iter().map(|host| HostKey::from_stored(host));
        Event::Readmitted(ReadmittedEvent {
            links,
            hosts: hosts.collect(),
            at,
        })
    });
    let evicted = (vec(any::<u64>(), 0..5), moment()).prop_map(|(links, at)| {
        let links = links.into_iter().map(UrlId).collect();
        Event::Evicted(EvictedEvent { links, at })
    });
    let mark = (any::<u64>(), option::of(any::<u16>()));
    let mark = mark.prop_map(|(page, class)| Mark {
        page: Seq(page),
        class,
    });
    let feedback = (vec(mark, 0..5), any::<u64>(), moment())
        .prop_map(|(marks, version, at)| Event::Feedback(FeedbackEvent { marks, version, at }));
    prop_oneof![facts, seeds, spec, state, readmitted, evicted, feedback]
}

proptest! {
    #[test]
    fn every_event_comes_back_as_it_was(event in prop_oneof![outcome(), happening()]) {
        prop_assert_eq!(decode(&encode(&event)).unwrap(), event);
    }

    #[test]
    fn the_evidence_of_a_page_is_not_in_its_bytes(event in page(), evidence in vec(any::<u8>(), 1..50)) {
        let bare = encode(&event);
        let Event::Page(mut page) = event else { unreachable!("page() makes pages") };
        page.evidence = evidence;
        prop_assert_eq!(encode(&Event::Page(page)), bare);
    }

    #[test]
    fn random_bytes_are_an_error_or_an_event_but_no_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
    }

    #[test]
    fn a_damaged_record_does_not_panic(
        event in prop_oneof![outcome(), happening()],
        at in any::<proptest::sample::Index>(),
        flip in 1_u8..,
        cut in any::<bool>(),
    ) {
        let mut bytes = encode(&event);
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= flip }
        if let Ok(Event::Page(page)) = decode(&bytes) {
            // What was let through can be used without looking again.
            prop_assert!(page.links.iter().all(|link| (link.host as usize) < page.hosts.len()));
        }
    }
}

fn record(event: v1::event_record::Event) -> Vec<u8> {
    let record = v1::EventRecord {
        schema: 1,
        event: Some(event),
    };
    record.encode_to_vec()
}

#[test]
fn a_newer_schema_is_refused() {
    let newer = v1::EventRecord {
        schema: 2,
        event: Some(v1::event_record::Event::SpecChange(vec![1])),
    };
    let error = decode(&newer.encode_to_vec()).unwrap_err();
    assert!(matches!(
        error,
        DecodeError::Unknown {
            field: "schema version",
            value: 2
        }
    ));
}

#[test]
fn nothing_is_no_event() {
    assert!(matches!(decode(&[]), Err(DecodeError::Damaged(_))));
}

#[test]
fn unknown_numbers_are_named() {
    let state = record(v1::event_record::Event::State(v1::StateRecord {
        state: 6,
        ..Default::default()
    }));
    assert_eq!(
        decode(&state).unwrap_err().to_string(),
        "record has an unknown state 6; it was written by a newer version"
    );
    let refused = record(v1::event_record::Event::Refused(v1::RefusedRecord {
        refusal: 99,
        ..Default::default()
    }));
    assert_eq!(
        decode(&refused).unwrap_err().to_string(),
        "record has an unknown refusal 99; it was written by a newer version"
    );
}

#[test]
fn columns_of_different_lengths_are_damage() {
    let links = |hosts: usize, targets: usize, indices: Vec<u32>, priorities: usize| {
        record(v1::event_record::Event::Page(v1::PageRecord {
            lease: Some(v1::LeaseRecord::default()),
            judgement: Some(v1::JudgementRecord::default()),
            links: Some(v1::LinksRecord {
                hosts: vec![String::new(); hosts],
                targets: vec![0; targets],
                host_indices: indices,
                priorities: vec![0.5; priorities],
                refusals: Vec::new(),
            }),
            ..Default::default()
        }))
    };
    assert!(decode(&links(1, 3, vec![0; 3], 3)).is_ok());
    assert!(decode(&links(1, 3, vec![0; 3], 1)).is_ok());
    assert!(decode(&links(1, 3, vec![0; 3], 2)).is_err());
    assert!(decode(&links(1, 3, vec![0; 2], 3)).is_err());
    assert!(decode(&links(1, 3, vec![0, 1, 0], 3)).is_err());
}

#[test]
fn the_sign_of_a_zero_priority_survives() {
    // Orders may use total_cmp, where -0 is less than 0.
    let seeds = Event::Seeds(SeedsEvent {
        urls: Vec::new(),
        priority: -0.0,
        at: Timestamp(0),
    });
    let Event::Seeds(back) = decode(&encode(&seeds)).unwrap() else {
        panic!("seeds came back as something else");
    };
    assert!(back.priority.is_sign_negative());
}

#[test]
fn a_link_costs_nine_bytes_where_all_have_one_priority_and_none_is_refused() {
    let page = |count: u32| {
        let link = |n| LinkFact {
            target: UrlId(u64::from(n) << 40),
            host: n % 4,
            priority: 3.25,
            refusal: None,
        };
        let moment = Timestamp(1_795_000_000_000);
        let event = Event::Page(PageBooking {
            lease: LeaseFacts {
                url: CanonicalUrl::from_stored("https://www.example.org/department/7.html".into()),
                references: vec![
                    Reference {
                        seq: Seq(40_000),
                        link: 9
                    };
                    4
                ],
                depth: 3,
                is_seed: false,
                priority: 3.25,
                leased_at: moment,
                finished_at: moment,
                requests: 1,
                host_next_at: moment,
            },
            status: 200,
            content_type: "text/html; charset=utf-8".into(),
            body_bytes: 20_000,
            body_digest: 7,
            truncated: false,
            title: "Department of Computer Science: People".into(),
            judgement: Judgement {
                log_odds: 3.25,
                calibrated_log_odds: 1.5,
                best: vec![(3, -0.1), (4, -2.0), (5, -4.0)],
                near_focus: true,
                version: 1,
            },
            links: (0..count).map(link).collect(),
            hosts: vec![HostKey::from_stored("host1.example.org"); 4],
            links_dropped: 0,
            frozen: None,
            evidence: Vec::new(),
            kept: None,
            likeness: Likeness::default(),
            withheld: None,
        });
        encode(&event).len()
    };
    // 8 for the target, 1 for the host; lengths of the columns are those of protobuf.
    assert_eq!(page(28) - page(27), 9);
    assert!(page(27) < 600, "{}", page(27));
}
