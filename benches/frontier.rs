//! The frontier at size: `next` and `admit` by the second, and memory by the link.
//!
//! `cargo bench --bench frontier` runs all sizes, `cargo bench --bench frontier -- /10000/` the quick
//! one only, `FRONTIER_MEMORY=1 cargo bench --bench frontier` measures memory alone.
//! An operation is a lease, a lease given back, or a link taken in; an admitted page has 10 links, one of
//! them new, so that the frontier keeps its size. Building the pages is not measured. The allocator holds
//! freed memory back for some milliseconds: to measure what the frontier itself needs, set
//! `MIMALLOC_PURGE_DELAY=0` as well, and `MIMALLOC_ALLOW_THP=0` so that the unused rest of a huge page does not
//! count. `FRONTIER_EVICTION=1` measures what one eviction takes, alone.

use std::hint::black_box;
use std::time::{Duration, Instant};

use apprentice::booking::{
    Event, EvictedEvent, Judgement, LeaseFacts, LinkFact, PageBooking, Reference, Refusal,
    SeedsEvent, Seq,
};
use apprentice::clock::{Chance, Timestamp, chance};
use apprentice::frontier::{
    Combine, Frontier, FrontierParams, HOSTS_PER_ADDRESS, HostCalendar, Lease, Next,
};
use apprentice::url::{CanonicalUrl, HostKey, UrlId};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use rand::RngExt;

/// That of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Waiting links, hosts.
const SIZES: [(u32, u32); 4] = [
    (10_000, 1_000),
    (100_000, 10_000),
    (1_000_000, 100_000),
    (10_000_000, 100_000),
];
/// Links whose memory is measured, on few hosts.
const MEASURED: u32 = 1_000_000;
/// Links with 1, 2, .. 8 parents or more of each 1,000 that the 27 links a page of uci-ics lead to
/// (counted by their `href`s: 604,756 links of 28,472 pages to 100,862 targets).
const PARENTS: [u32; 8] = [643, 132, 67, 37, 33, 17, 10, 61];

const SEEDS_AN_EVENT: u32 = 50;
const LINKS_A_PAGE: u32 = 10;

/// The pages of a made-up web: page `n` stands on host `n % hosts`.
struct Web {
    hosts: Vec<HostKey>,
    pages: u32,
    chance: Chance,
}

/// The links of one page, made before the clock runs.
struct Links {
    facts: Vec<LinkFact>,
    hosts: Vec<HostKey>,
}

struct Crawl {
    frontier: Frontier,
    seq: u64,
    now: Timestamp,
    filled: u32,
    filled_seq: u64,
    hosts: u32,
}

fn url(page: u32, hosts: u32) -> CanonicalUrl {
    CanonicalUrl::from_stored(format!("http://host{}.test/page/{page}", page % hosts))
}

impl Web {
    fn link(&mut self, page: u32, at: u32) -> (LinkFact, HostKey) {
        let hosts = u32::try_from(self.hosts.len()).expect("few hosts");
        let fact = LinkFact {
            target: url(page, hosts).id(),
            host: at,
            priority: self.chance.random_range(-20.0..20.0),
            refusal: None,
        };
        (fact, self.hosts[(page % hosts) as usize].clone())
    }

    /// New pages only.
    fn new_links(&mut self) -> Links {
        self.pages += LINKS_A_PAGE;
        let targets = self.pages - LINKS_A_PAGE..self.pages;
        let (facts, hosts) = (0..).zip(targets).map(|(at, to)| self.link(to, at)).unzip();
        Links { facts, hosts }
    }

    /// One new page, and others known already.
    fn links(&mut self) -> Links {
        self.pages += 1;
        let new = self.pages - 1;
        let known = (1..LINKS_A_PAGE).map(|_| self.chance.random_range(0..new));
        let targets: Vec<u32> = std::iter::once(new).chain(known).collect();
        let (facts, hosts) = (0..).zip(targets).map(|(at, to)| self.link(to, at)).unzip();
        Links { facts, hosts }
    }
}

fn params(hosts: u32) -> FrontierParams {
    FrontierParams {
        combine: Combine::Best,
        pages_per_host_max: None,
        pages_per_domain_max: None,
        references_max: 8,
        links_max: None,
        // A step takes a simulated millisecond: a hundredth of the hosts wait.
        delay: Duration::from_millis(u64::from(hosts / 100)),
        per_address: HOSTS_PER_ADDRESS,
        keeps_baseline: false,
    }
}

impl Crawl {
    fn new(hosts: u32) -> Self {
        Self {
            frontier: Frontier::new(params(hosts), HostCalendar::default()),
            seq: 0,
            now: Timestamp(0),
            filled: 0,
            filled_seq: 0,
            hosts,
        }
    }

    fn fill(&mut self, links: u32, chance: &mut Chance) {
        while self.filled < links {
            let urls =
                (self.filled..self.filled + SEEDS_AN_EVENT).map(|page| url(page, self.hosts));
            let seeds = Event::Seeds(SeedsEvent {
                urls: urls.collect(),
                priority: chance.random_range(-20.0..20.0),
                at: self.now,
            });
            self.filled += SEEDS_AN_EVENT;
            self.seq += 1;
            self.frontier.admit(Seq(self.seq), &seeds);
        }
        self.filled_seq = self.seq;
    }

    /// Takes in no more than so many links.
    fn bound(&mut self, links: u64) {
        self.frontier.set_params(FrontierParams {
            links_max: Some(links),
            ..params(self.hosts)
        });
    }

    /// Books a page that was not leased, and what has to go because of it.
    fn admit_and_evict(&mut self, links: Links) -> Event {
        let page = self.admit_new(links);
        let links = self.frontier.surplus();
        if !links.is_empty() {
            self.evict(links);
        }
        page
    }

    fn evict(&mut self, links: Vec<UrlId>) {
        self.seq += 1;
        let at = self.now;
        let evicted = Event::Evicted(EvictedEvent { links, at });
        self.frontier.admit(Seq(self.seq), &evicted);
    }

    /// Books a page that was not leased.
    fn admit_new(&mut self, links: Links) -> Event {
        self.seq += 1;
        let facts = LeaseFacts {
            url: url(u32::MAX, self.hosts),
            references: Vec::new(),
            depth: 0,
            is_seed: false,
            priority: 0.0,
            leased_at: self.now,
            finished_at: self.now,
            requests: 1,
            host_next_at: self.now,
        };
        let page = page(facts, links);
        self.frontier.admit(Seq(self.seq), &page);
        page
    }

    /// Books a page whose links are all refused.
    fn refuse(&mut self, pages: std::ops::Range<u32>) {
        let first = pages.start;
        let facts = pages.map(|page| LinkFact {
            target: url(page + MEASURED, self.hosts).id(),
            host: 0,
            priority: 0.0,
            refusal: Some(Refusal::Scope),
        });
        let lease = LeaseFacts {
            url: url(first, self.hosts),
            references: Vec::new(),
            depth: 0,
            is_seed: false,
            priority: 0.0,
            leased_at: self.now,
            finished_at: self.now,
            requests: 1,
            host_next_at: self.now,
        };
        let links = Links {
            facts: facts.collect(),
            hosts: vec![url(first, self.hosts).host_key()],
        };
        self.seq += 1;
        let page = page(lease, links);
        self.frontier.admit(Seq(self.seq), &page);
    }

    fn lease(&mut self) -> Lease {
        self.now.0 += 1;
        loop {
            match self.frontier.next(self.now) {
                Next::Lease(lease) => return lease,
                Next::NotBefore(until) => self.now = until,
                Next::AllLeased | Next::Empty => unreachable!("there is always a link"),
            }
        }
    }

    fn give_back(&mut self) {
        let lease = self.lease();
        self.frontier
            .give_back(black_box(lease), self.now, self.now);
    }

    /// The page that stands at a first reference.
    fn page_at(&self, first: Reference) -> u32 {
        let seq = u32::try_from(first.seq.0).expect("few events");
        match first.seq.0.checked_sub(self.filled_seq + 1) {
            None => (seq - 1) * SEEDS_AN_EVENT + first.link,
            Some(step) => self.filled + u32::try_from(step).expect("few steps"),
        }
    }

    fn step(&mut self, links: Links) -> Event {
        let lease = self.lease();
        let facts = LeaseFacts {
            url: url(self.page_at(lease.references[0]), self.hosts),
            references: lease.references,
            depth: 0,
            is_seed: false,
            priority: lease.priority,
            leased_at: lease.leased_at,
            finished_at: self.now,
            requests: 1,
            host_next_at: self.now,
        };
        lease.host.release(self.now, self.now);
        self.seq += 1;
        let page = page(facts, links);
        self.frontier.admit(Seq(self.seq), &page);
        page
    }
}

fn page(lease: LeaseFacts, links: Links) -> Event {
    Event::Page(PageBooking {
        lease,
        status: 200,
        content_type: String::new(),
        body_bytes: 0,
        body_digest: 0,
        truncated: false,
        title: String::new(),
        judgement: Judgement {
            log_odds: 0.0,
            calibrated_log_odds: 0.0,
            best: Vec::new(),
            near_focus: false,
            version: 1,
        },
        links: links.facts,
        hosts: links.hosts,
        links_dropped: 0,
        frozen: None,
        evidence: Vec::new(),
        kept: None,
        likeness: apprentice::booking::Likeness::default(),
        withheld: None,
    })
}

/// Resident memory of this process, where the system tells it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

#[expect(clippy::print_stderr, reason = "a figure beside criterion's own")]
fn filled(links: u32, hosts: u32) -> (Web, Crawl) {
    let mut web = Web {
        hosts: (0..hosts).map(|page| url(page, hosts).host_key()).collect(),
        pages: links,
        chance: chance(1, "bench"),
    };
    let mut crawl = Crawl::new(hosts);
    let before = resident_bytes();
    crawl.fill(links, &mut web.chance);
    if let (Some(before), Some(after)) = (before, resident_bytes()) {
        let bytes = after.saturating_sub(before);
        let each = bytes / u64::from(links);
        eprintln!("{links} waiting links on {hosts} hosts: {bytes} bytes resident, {each} a link");
    }
    (web, crawl)
}

/// Bytes that `work` leaves resident.
fn growth(work: impl FnOnce()) -> u64 {
    let before = resident_bytes().unwrap_or_default();
    work();
    resident_bytes().unwrap_or_default().saturating_sub(before)
}

/// Memory of waiting links by parents, of known URLs and of hosts, each measured alone.
#[expect(clippy::print_stderr, reason = "figures beside criterion's own")]
fn memory() {
    let each = |bytes: u64, count: u32| bytes as f64 / f64::from(count);
    let hosts = 100;
    let mut average = 0.0;
    // What is given back to the allocator would not be seen again.
    let mut kept = Vec::new();
    for (parents, links) in (1..).zip(PARENTS) {
        let mut chance = chance(1, "bench");
        let mut crawl = Crawl::new(hosts);
        let bytes = growth(|| {
            for _ in 0..parents {
                crawl.filled = 0;
                crawl.fill(MEASURED, &mut chance);
            }
        });
        let each = each(bytes, MEASURED);
        average += each * f64::from(links) / f64::from(PARENTS.iter().sum::<u32>());
        eprintln!("a waiting link with {parents} parents: {each:.1} bytes resident");
        kept.push(crawl);
    }
    eprintln!("a waiting link, averaged over uci-ics' parent counts: {average:.1} bytes");

    let mut crawl = Crawl::new(hosts);
    let bytes = growth(|| {
        for page in 0..MEASURED / LINKS_A_PAGE {
            crawl.refuse(page * LINKS_A_PAGE..(page + 1) * LINKS_A_PAGE);
        }
    });
    // The pages that they stand on are known as well.
    let known = MEASURED + MEASURED / LINKS_A_PAGE;
    eprintln!("a known URL: {:.1} bytes", each(bytes, known));
    kept.push(crawl);

    let mut crawl = Crawl::new(MEASURED);
    let mut chance = chance(1, "bench");
    let bytes = growth(|| crawl.fill(MEASURED, &mut chance));
    eprintln!(
        "a host with one waiting link: {:.0} bytes",
        each(bytes, MEASURED)
    );
    kept.push(crawl);
    black_box(&kept);
}

fn bench(criterion: &mut Criterion) {
    if std::env::var_os("FRONTIER_MEMORY").is_some() {
        memory();
        return;
    }
    if std::env::var_os("FRONTIER_EVICTION").is_some() {
        SIZES.into_iter().for_each(one_eviction);
        return;
    }
    for (links, hosts) in SIZES {
        let mut group = criterion.benchmark_group(format!("frontier/{links}"));
        group.throughput(Throughput::Elements(2));
        // Criterion calls the closures once a sample, and never those that are filtered out.
        let mut made = None;
        group.bench_function("next+give_back", |bencher| {
            let (_, crawl) = made.get_or_insert_with(|| filled(links, hosts));
            bencher.iter(|| crawl.give_back());
        });
        group.throughput(Throughput::Elements(1 + u64::from(LINKS_A_PAGE)));
        group.bench_function("next+admit", |bencher| {
            let (web, crawl) = made.get_or_insert_with(|| filled(links, hosts));
            bencher.iter_batched(
                || web.links(),
                |links| crawl.step(links),
                BatchSize::LargeInput,
            );
        });
        group.finish();
    }
}

/// A bounded frontier that is full, with one link more taken in at each step: the worst go now and then.
fn eviction(criterion: &mut Criterion) {
    for (links, hosts) in SIZES {
        let is_other = |name| std::env::var_os(name).is_some();
        if is_other("FRONTIER_MEMORY") || is_other("FRONTIER_EVICTION") {
            return;
        }
        let mut group = criterion.benchmark_group(format!("full/{links}"));
        group.throughput(Throughput::Elements(u64::from(LINKS_A_PAGE)));
        let mut made = None;
        group.bench_function("admit+evict", |bencher| {
            let (web, crawl) = made.get_or_insert_with(|| bounded(links, hosts));
            bencher.iter_batched(
                || web.new_links(),
                |links| crawl.admit_and_evict(links),
                BatchSize::LargeInput,
            );
        });
        group.finish();
    }
}

/// A full frontier takes in one page more: what finding the worst links takes, and what striking them off.
#[expect(clippy::print_stderr, reason = "figures beside criterion's own")]
#[expect(clippy::disallowed_methods, reason = "what is measured is real time")]
fn one_eviction((links, hosts): (u32, u32)) {
    let (mut web, mut crawl) = bounded(links, hosts);
    let mut worst = [Duration::ZERO; 2];
    let mut gone = 0;
    for _ in 0..5 {
        while crawl.frontier.counts(crawl.now).waiting <= u64::from(links) {
            crawl.admit_new(web.new_links());
        }
        let begun = Instant::now();
        let links = crawl.frontier.surplus();
        let found = Instant::now();
        gone = links.len();
        crawl.evict(links);
        let times = [found - begun, found.elapsed()];
        worst = std::array::from_fn(|at| worst[at].max(times[at]));
    }
    let [finding, striking] = worst.map(|time| time.as_secs_f64() * 1e3);
    eprintln!(
        "{links} waiting links: of five evictions of {gone} the longest found them in {finding:.1} ms, \
         and was admitted in {striking:.1} ms"
    );
}

fn bounded(links: u32, hosts: u32) -> (Web, Crawl) {
    let (web, mut crawl) = filled(links, hosts);
    crawl.bound(u64::from(links));
    (web, crawl)
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(4));
    targets = bench, eviction
}
criterion_main!(benches);
