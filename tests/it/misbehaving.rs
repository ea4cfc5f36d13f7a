//! One crawl over a site that misbehaves in every way that we know of: it survives all of them, calls
//! each by its name, keeps to its delays, and gets the good pages between.

mod hosts;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, Mutex};

use apprentice::booking::{CrawlState, Event, HostFacts, SeedsEvent, Seq, StateEvent};
use apprentice::clock::{Clock, SimulatedClock, Timestamp};
use apprentice::crawl::{Engine, EngineParts, Judge, Pace, Progress, RobotsPolicy, SEED_PRIORITY};
use apprentice::critic::{ClassId, ClassScore, PageJudge, Verdict};
use apprentice::fetch::robots::RobotsCache;
use apprentice::fetch::{FixedResolver, HttpSettings, HttpSource};
use apprentice::frontier::{FrontierStore, HostCalendar, MemoryStore};
use apprentice::page::Page;
use apprentice::proto::v1;
use apprentice::url::CanonicalUrl;
use prost::Message;

use crate::support::site::Site;
use crate::support::tls::{Manner, TlsSite};
use hosts::{Ends, HOSTS, Robots};

const DELAY_MS: i64 = 1_000;
/// 90 s before the date in `/busy-date`.
const START: Timestamp = Timestamp(784_111_777_000 - 90_000);

/// Judges every page alike.
struct AnyJudge;

static CLASSES: LazyLock<Vec<String>> = LazyLock::new(|| vec!["any".into()]);

impl PageJudge for AnyJudge {
    fn judge_batch(&self, pages: &[&Page]) -> Vec<Verdict> {
        let verdict = |_: &&Page| Verdict {
            log_odds: 0.0,
            calibrated_log_odds: 0.0,
            best: vec![ClassScore {
                class: ClassId(0),
                log_posterior: 0.0,
            }],
            near_focus: true,
            version: 1,
        };
        pages.iter().map(verdict).collect()
    }

    fn class_names(&self) -> &[String] {
        &CLASSES
    }
}

/// Hosts that speak TLS, and how.
const TLS_HOSTS: [(&str, Manner); 6] = [
    ("h2", Manner::Well),
    ("expired", Manner::Expired),
    ("self-signed", Manner::SelfSigned),
    ("wrong-name", Manner::Well),
    ("reset", Manner::Reset),
    ("goaway", Manner::GoAway),
];

/// What a site was asked for, and when by the crawl's own clock.
type Asked = Arc<Mutex<Vec<(String, String, Timestamp)>>>;

/// Everything that the crawl can go to.
struct World {
    names: Vec<(String, Vec<SocketAddr>)>,
    authorities: String,
    seeds: Vec<CanonicalUrl>,
    asked: Asked,
    site: Site,
}

impl World {
    async fn start(clock: &SimulatedClock) -> Self {
        let asked = Asked::default();
        let (log, watch) = (asked.clone(), clock.clone());
        let site = Site::start_with(Arc::new(move |host, path| {
            let request = (host.to_owned(), path.to_owned(), watch.now());
            log.lock().unwrap().push(request);
            hosts::answer(host, path)
        }));
        let site = site.await;
        let mut world = Self {
            names: Vec::new(),
            authorities: String::new(),
            seeds: Vec::new(),
            asked,
            site,
        };
        for host in &HOSTS {
            world.add(host.name, "http", world.site.address);
        }
        let closed = {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            listener.local_addr().unwrap()
        };
        world.add("closed", "http", closed);
        world.add("inside", "http", "10.0.0.1:80".parse().unwrap());
        world.seeds.push(seed("http", "nameless"));
        for (name, manner) in TLS_HOSTS {
            let certified = match name {
                "wrong-name" => "other.test".to_owned(),
                name => format!("{name}.test"),
            };
            let site = TlsSite::start_as(&certified, &["h2"], manner).await;
            world.authorities += &site.authority_pem;
            world.add(name, "https", site.address);
        }
        world
    }

    fn add(&mut self, name: &str, scheme: &str, address: SocketAddr) {
        self.names.push((format!("{name}.test"), vec![address]));
        self.seeds.push(seed(scheme, name));
    }
}

fn seed(scheme: &str, name: &str) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("{scheme}://{name}.test/")).unwrap()
}

fn spec() -> v1::CrawlSpec {
    v1::CrawlSpec {
        name: "misbehaving".into(),
        topics: vec!["any".into()],
        critic: "given".into(),
        order: "breadth-first".into(),
        scope: Some(v1::Scope {
            allow_addresses: vec!["127.0.0.0/8".into()],
            ..Default::default()
        }),
        limits: Some(v1::Limits {
            in_flight_max: 64,
            delay_ms_min: Some(u64::try_from(DELAY_MS).unwrap()),
            delay_factor: Some(0),
            connect_ms_max: 2_000,
            first_byte_ms_max: 1_000,
            fetch_ms_max: 2_000,
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// The log of the crawl, what its figures say, and what was asked.
struct Crawled {
    events: Vec<Event>,
    progress: Progress,
    asked: Vec<(String, String, Timestamp)>,
    most_at_once: BTreeMap<String, usize>,
}

async fn crawl() -> Crawled {
    let clock = SimulatedClock::starting_at(START);
    let world = World::start(&clock).await;
    let store = Arc::new(MemoryStore::new());
    store.append(Event::SpecChange(spec().encode_to_vec()));
    store.append(Event::State(StateEvent {
        state: CrawlState::Running,
        reason: "created".into(),
        at: clock.now(),
    }));
    store.append(Event::Seeds(SeedsEvent {
        urls: world.seeds.clone(),
        priority: SEED_PRIORITY,
        at: clock.now(),
    }));
    let settings = HttpSettings {
        extra_roots_pem: world.authorities.clone().into_bytes(),
        resolver: Some(Arc::new(FixedResolver::new(world.names.clone()))),
        ..HttpSettings::default()
    };
    let parts = EngineParts {
        source: Arc::new(HttpSource::new(settings, clock.clone()).unwrap()),
        clock,
        judge: Judge::near(AnyJudge),
        store: Arc::clone(&store) as _,
        calendar: HostCalendar::default(),
        robots: RobotsPolicy::Obey(RobotsCache::default()),
        // Waits only when nothing is in flight, and then by the clock that nobody waits for.
        pace: Pace::Replay,
        world: None,
        parsers: 2,
        guard_note: String::new(),
        needs_contact: false,
        scorer: None,
        start: None,
        learned: None,
        opening: Arc::default(),
    };
    let (engine, _handle) = Engine::open(parts).unwrap();
    let progress = engine.run().await.unwrap();
    let mut events = Vec::new();
    store
        .scan(Seq(1), store.last(), &mut |_, event| {
            events.push(event);
            true
        })
        .unwrap();
    let asked = world.asked.lock().unwrap().clone();
    Crawled {
        events,
        progress,
        asked,
        most_at_once: world.site.most_at_once(),
    }
}

impl Crawled {
    /// How each URL ended: `page`, a cause, `moved` or `refused`.
    fn ends(&self) -> BTreeMap<String, String> {
        let ends = self.events.iter().filter_map(|event| match event {
            Event::Page(page) => Some((&page.lease.url, "page".to_owned())),
            Event::Failure(failure) if failure.is_final => {
                Some((&failure.lease.url, failure.cause.clone()))
            }
            Event::Redirect(redirect) => Some((&redirect.lease.url, "moved".to_owned())),
            Event::Refused(refused) => Some((&refused.url, refused.refusal.name().to_owned())),
            _ => None,
        });
        ends.map(|(url, end)| (url.as_str().to_owned(), end))
            .collect()
    }

    /// The last facts that were booked of a host.
    fn facts_of(&self, host: &str) -> &HostFacts {
        let facts = self.events.iter().rev().find_map(|event| match event {
            Event::HostFacts(facts) if facts.host.as_str() == host => Some(facts),
            _ => None,
        });
        facts.unwrap_or_else(|| panic!("nothing is known of {host}"))
    }

    /// When the host was asked for `path`, or for anything.
    fn times(&self, host: &str, path: Option<&str>) -> Vec<Timestamp> {
        let asked = self
            .asked
            .iter()
            .filter(|(to, at, _)| to == host && path.is_none_or(|path| path == at));
        asked.map(|(_, _, when)| *when).collect()
    }
}

#[tokio::test]
async fn a_crawl_survives_every_misbehaviour_and_names_it() {
    let crawled = crawl().await;
    assert_eq!(crawled.progress.state.0, CrawlState::Finished);
    let ends = crawled.ends();
    let end = |url: String| ends.get(&url).map_or("nothing", String::as_str);
    for host in &HOSTS {
        let at = |path: &str| end(format!("http://{}.test{path}", host.name));
        let reached = !matches!(host.robots, Robots::Unreachable);
        let page = if reached { "page" } else { "host-given-up" };
        assert_eq!(at("/"), page, "{}", host.name);
        if !reached {
            continue;
        }
        match host.ends {
            Ends::As(cause) => {
                assert_eq!(at(&format!("/{}", host.name)), cause, "{}", host.name);
                let seen = crawled.progress.failures_by_cause.contains_key(cause);
                assert!(seen || ["page", "moved"].contains(&cause), "{cause}");
            }
            Ends::Unasked => {
                let name = format!("{}.test", host.name);
                assert!(
                    crawled.times(&name, Some("/forbidden")).is_empty(),
                    "{name}"
                );
            }
        }
        // The good page after it.
        assert_eq!(at("/after"), "page", "{}", host.name);
    }
    assert_eq!(end("http://inside.test/".into()), "address");
    assert_eq!(end("https://h2.test/".into()), "page");
    for (host, words) in [
        ("nameless", "no address"),
        ("closed", "cannot connect"),
        ("expired", "TLS failed"),
        ("self-signed", "TLS failed"),
        ("wrong-name", "TLS failed"),
        ("reset", "connection broke"),
        ("goaway", "connection broke"),
        ("robots-500", "status 500"),
        ("robots-503", "status 503"),
        ("robots-429", "status 429"),
        ("robots-hang", "no answer within"),
        ("robots-drop", "connection broke"),
    ] {
        let facts = crawled.facts_of(&format!("{host}.test"));
        assert!(
            facts.given_up && facts.robots.contains(words),
            "{host}: {}",
            facts.robots
        );
    }
    assert_eq!(
        crawled.progress.failures_by_cause["robots-unreachable"],
        3 * 12
    );
    keeps_to_its_delays(&crawled);
}

/// What the site itself saw.
fn keeps_to_its_delays(crawled: &Crawled) {
    for (host, most) in &crawled.most_at_once {
        // All hosts together stand behind one address.
        let allowed = if host.is_empty() { 4 } else { 1 };
        assert!(*most <= allowed, "{most} requests to {host:?} at once");
    }
    assert!(crawled.most_at_once.len() > HOSTS.len());
    for host in &HOSTS {
        let name = format!("{}.test", host.name);
        let times = crawled.times(&name, None);
        for pair in times.windows(2) {
            let gap = pair[1].0 - pair[0].0;
            assert!(gap >= DELAY_MS, "{name}: {gap} ms between two requests");
        }
    }
    let gaps = |host: &str, path: &str| {
        let times = crawled.times(&format!("{host}.test"), Some(path));
        let gaps = times.windows(2).map(|pair| (pair[1].0 - pair[0].0) / 1_000);
        gaps.collect::<Vec<_>>()
    };
    // As stated, and the table's own waits where the statement is garbage or names a date gone by.
    assert_eq!(gaps("busy", "/busy"), [7, 7, 7]);
    assert_eq!(gaps("busy-garbage", "/busy-garbage"), [30, 60, 120]);
    let date = Timestamp(784_111_777_000);
    let dated = crawled.times("busy-date.test", Some("/busy-date"));
    assert!(dated[0] < date && dated[1] >= date, "{dated:?}");
    // A stated time is kept to at first; a server that does not keep its word waits for longer.
    assert_eq!(gaps("robots-503", "/robots.txt"), [3_600, 3_600]);
    assert_eq!(gaps("robots-500", "/robots.txt"), [600, 1_200]);
}
