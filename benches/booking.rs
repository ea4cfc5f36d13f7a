//! Booking and commit: how many pages a second can be appended and made durable?
//!
//! `cargo bench --bench booking`. A page has 27 links and 6 kB of evidence, the mean of uci-ics
//! (DESIGN.md 4.3); it is flushed with a thousand others, as a crawl does. `cargo bench --bench booking --
//! 1000_pages` sets beside it the same work in a plain layout, which has one record a link and one for its
//! place in its host's queue.

#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on fails by panicking"
)]
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use std::hint::black_box;

use apprentice::booking::{
    Event, Judgement, LeaseFacts, LinkFact, PageBooking, Reference, Seq, decode, encode,
};
use apprentice::clock::{Timestamp, chance};
use apprentice::frontier::{FrontierStore, SledStore};
use apprentice::store::StoreOptions;
use apprentice::url::{CanonicalUrl, HostKey, UrlId};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use rand::{Rng, RngExt};

const LINKS: usize = 27;
const EVIDENCE_BYTES: usize = 6_000;
const PAGES_A_FLUSH: usize = 1_000;

fn page(n: u64) -> Event {
    let mut random = chance(n, "bench-booking");
    let at = Timestamp(1_795_000_000_000);
    let mut evidence = vec![0; EVIDENCE_BYTES];
    random.fill_bytes(&mut evidence);
    let link = |_| LinkFact {
        target: UrlId(random.random()),
        host: random.random_range(0..4),
        priority: 3.25,
        refusal: None,
    };
    Event::Page(PageBooking {
        lease: LeaseFacts {
            url: CanonicalUrl::parse(&format!("https://www.example.org/department/{n}.html"))
                .unwrap(),
            references: vec![
                Reference {
                    seq: Seq(n),
                    link: 9
                };
                4
            ],
            depth: 3,
            is_seed: false,
            priority: 3.25,
            leased_at: at,
            finished_at: at,
            requests: 1,
            host_next_at: at,
        },
        status: 200,
        content_type: "text/html; charset=utf-8".into(),
        body_bytes: 20_000,
        body_digest: n,
        truncated: false,
        title: "Department of Computer Science: People".into(),
        judgement: Judgement {
            log_odds: 3.25,
            calibrated_log_odds: 3.25,
            best: vec![(3, -0.1), (4, -2.0), (5, -4.0)],
            near_focus: true,
            version: 1,
        },
        links: (0..LINKS).map(link).collect(),
        hosts: (0..4)
            .map(|host| HostKey::from_stored(&format!("host{host}.example.org")))
            .collect(),
        links_dropped: 0,
        frozen: None,
        evidence,
        kept: None,
        likeness: apprentice::booking::Likeness::default(),
        withheld: None,
    })
}

fn encoding(c: &mut Criterion) {
    let event = page(1);
    let bytes = encode(&event);
    let mut group = c.benchmark_group("event");
    group.throughput(Throughput::Elements(1));
    group.bench_function("encode", |b| b.iter(|| encode(black_box(&event))));
    group.bench_function("decode", |b| b.iter(|| decode(black_box(&bytes)).unwrap()));
    group.finish();
}

fn commit(c: &mut Criterion) {
    let pages: Vec<Event> = (1..=PAGES_A_FLUSH as u64).map(page).collect();
    let folder = tempfile::tempdir_in(".").unwrap();
    let sled = SledStore::open(folder.path(), &StoreOptions::default()).unwrap();
    let mut group = c.benchmark_group("booking");
    group.throughput(Throughput::Elements(PAGES_A_FLUSH as u64));
    group.sample_size(20);
    group.bench_function("append_and_flush_1000_pages", |b| {
        b.iter_batched(
            || pages.clone(),
            |pages| {
                for page in pages {
                    sled.append(page);
                }
                sled.flush().unwrap()
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

/// A frontier without a log: a link's record is found, changed and written for each page that links to it.
struct Plain {
    links: sled::Tree,
    queues: sled::Tree,
    pages: sled::Tree,
}

impl Plain {
    fn book(&self, seq: u64, page: &PageBooking) {
        let (mut links, mut queues) = (sled::Batch::default(), sled::Batch::default());
        for (place, link) in (0_u32..).zip(&page.links) {
            let id = link.target.0.to_be_bytes();
            let parent = [&seq.to_be_bytes()[..], &place.to_be_bytes()].concat();
            let record = if let Some(old) = self.links.get(id).unwrap() {
                [&old[..], &parent].concat()
            } else {
                let url = format!("https://www.example.org/department/{}.html", link.target);
                let facts = [link.priority.to_bits(), link.host, 3].map(u32::to_be_bytes);
                [&facts.concat()[..], &parent, url.as_bytes()].concat()
            };
            links.insert(&id, record);
            let worse = !link.priority.to_bits();
            let place = [&link.host.to_be_bytes()[..], &worse.to_be_bytes(), &id].concat();
            queues.insert(place, &[]);
        }
        self.links.apply_batch(links).unwrap();
        self.queues.apply_batch(queues).unwrap();
        let record = [&page.evidence[..], page.lease.url.as_str().as_bytes()].concat();
        self.pages.insert(seq.to_be_bytes(), record).unwrap();
    }
}

fn plain(c: &mut Criterion) {
    let folder = tempfile::tempdir_in(".").unwrap();
    let config = sled::Config::new().path(folder.path());
    let database = config
        .cache_capacity(StoreOptions::default().cache_bytes)
        .flush_every_ms(None)
        .open()
        .unwrap();
    let tree = |name| database.open_tree(name).unwrap();
    let (links, queues, pages) = (tree("links"), tree("queues"), tree("pages"));
    let plain = Plain {
        links,
        queues,
        pages,
    };
    let mut group = c.benchmark_group("plain");
    group.throughput(Throughput::Elements(PAGES_A_FLUSH as u64));
    group.sample_size(10);
    let mut seq = 0;
    group.bench_function("book_and_flush_1000_pages", |b| {
        b.iter_batched(
            || {
                seq += PAGES_A_FLUSH as u64;
                let numbers = seq..seq + PAGES_A_FLUSH as u64;
                numbers.map(|n| (n, page(n))).collect::<Vec<_>>()
            },
            |pages| {
                for (seq, page) in &pages {
                    if let Event::Page(page) = page {
                        plain.book(*seq, page);
                    }
                }
                database.flush().unwrap()
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

fn reading(c: &mut Criterion) {
    let folder = tempfile::tempdir_in(".").unwrap();
    let store = SledStore::open(folder.path(), &StoreOptions::default()).unwrap();
    let pages = 10_000;
    for n in 1..=pages {
        store.append(page(n));
        if n % PAGES_A_FLUSH as u64 == 0 {
            store.flush().unwrap();
        }
    }
    let mut group = c.benchmark_group("read");
    group.throughput(Throughput::Elements(pages));
    group.sample_size(20);
    group.bench_function("scan", |b| {
        b.iter(|| {
            let mut links = 0;
            store
                .scan(Seq(1), Seq(pages), &mut |_, event| {
                    if let Event::Page(page) = event {
                        links += page.links.len();
                    }
                    true
                })
                .unwrap();
            links
        });
    });
    group.throughput(Throughput::Elements(1));
    let mut random = chance(1, "bench-read");
    group.bench_function("evidence", |b| {
        b.iter(|| store.evidence(Seq(random.random_range(1..=pages))).unwrap());
    });
    group.finish();
}

criterion_group!(benches, encoding, commit, plain, reading);
criterion_main!(benches);
