//! A crawl whose daemon is killed with SIGKILL, again and again, comes to the same end as one that
//! was left in peace, and asks for nothing twice that it has booked.
//!
//! `APPRENTICE_CRASH_KILLS` is how often it is killed, `APPRENTICE_CRASH_SEED` the seed of the moments.

mod watched;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apprentice::booking::{Event, Kept, PageBooking, Reference, Seq};
use apprentice::clock::{Clock, SystemClock, Timestamp, chance};
use apprentice::control::client::Client;
use apprentice::frontier::{
    Combine, Frontier, FrontierParams, FrontierStore, HOSTS_PER_ADDRESS, HostCalendar, LinkState,
    SledStore,
};
use apprentice::lab::toyweb::{BROKEN_HOST, ToyParams, ToyWeb};
use apprentice::proto::v1;
use apprentice::store::StoreOptions;
use apprentice::url::{CanonicalUrl, UrlId};
use rand::RngExt;
use tokio::task::JoinHandle;
use watched::Watched;

use crate::support::daemon::{Home, Web, create, loss, rows, status};

/// Kills in every test run.
const KILLS: u32 = 20;
const KILLS_VARIABLE: &str = "APPRENTICE_CRASH_KILLS";
/// Of so many kills some are to hit a retraining, or the frontier on its way into a new order.
const KILLS_AMID: u32 = 100;
/// Pages of the web for each kill, up to so many kills.
const PAGES_A_KILL: usize = 25;
const KILLS_A_WEB: u32 = 200;
/// Between two requests to a host: some forty pages a host make a crawl that outlives [`KILLS`].
const DELAY_MS: u64 = 350;
/// A daemon lives at most this long (ms): it has to open the store, to ask for robots.txt, to wait
/// for the delay and to flush before anything is booked, so some lives leave nothing behind.
const LIFE_MS_MAX: u64 = 1_600;
/// Set it to the seed of a run that failed.
const SEED_VARIABLE: &str = "APPRENTICE_CRASH_SEED";

/// What became of a URL, comparable between crawls.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    Page { links: Vec<UrlId>, digest: u64 },
    Failure(String),
    Redirect(String),
    Refused(&'static str),
}

/// The seed of the moments at which the daemon is killed.
fn moments_seed() -> u64 {
    match std::env::var(SEED_VARIABLE) {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => SystemClock::new().now().0.unsigned_abs(),
    }
}

/// How often the daemon is killed.
fn kills() -> u32 {
    let given = std::env::var(KILLS_VARIABLE).ok();
    given.map_or(KILLS, |text| text.parse().unwrap())
}

fn spec(home: &Home, web: &ToyWeb) -> v1::CrawlSpec {
    let mut spec = home.spec("crawl", web);
    spec.scope = None;
    spec.warc = true;
    let limits = spec.limits.get_or_insert_default();
    limits.delay_ms_min = Some(DELAY_MS);
    // On a busy machine hosts are slow, and the crawl would last for hours with a delay that follows them.
    limits.delay_factor = Some(0);
    limits.in_flight_max = 16;
    spec
}

/// What a crawl left, as its daemon says and as its log has it.
struct Remains {
    rows: Vec<v1::PageRow>,
    fates: BTreeMap<CanonicalUrl, Fate>,
    /// The URL of each request that was booked, and when it had ended.
    booked: Vec<(CanonicalUrl, Timestamp)>,
    kills: Kills,
}

/// What is to be told of the kills.
#[derive(Default)]
struct Kills {
    at: Vec<Timestamp>,
    /// Those while a retraining was going on.
    amid: u32,
    fetched: BTreeSet<u64>,
    epochs: BTreeSet<u64>,
}

impl Remains {
    fn of(rows: Vec<v1::PageRow>, home: &Home, kills: Kills) -> Self {
        let (fates, booked) = fates(&home.data().join("crawls/crawl"));
        Self {
            rows,
            fates,
            booked,
            kills,
        }
    }

    fn pages(&self) -> BTreeSet<&CanonicalUrl> {
        let pages = self.fates.iter();
        pages
            .filter_map(|(url, fate)| matches!(fate, Fate::Page { .. }).then_some(url))
            .collect()
    }
}

/// A crawl that nobody disturbs.
async fn undisturbed(toy: &Arc<ToyWeb>) -> Remains {
    let watched = Watched::new(toy);
    let web = Web::serve(watched.clone()).await;
    let home = Home::new();
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    create(&mut client, spec(&home, toy)).await;
    let rows = account(&mut client).await;
    daemon.stop().await;
    let remains = Remains::of(rows, &home, Kills::default());
    watched.assert_asked_once(&remains.booked, &[], DELAY_MS.cast_signed());
    remains
}

/// Asks for a retraining, whose answer the daemon may not live to give: its epoch goes through the frontier
/// while the crawl goes on.
fn retrain(mut client: Client, kill: usize) -> JoinHandle<bool> {
    let request = v1::RetrainRequest {
        name: "crawl".into(),
        learner: ["ftrl", "nb"][kill % 2].into(),
        from_scratch: kill.is_multiple_of(3),
        ..Default::default()
    };
    tokio::spawn(async move { client.retrain(request).await.is_ok() })
}

/// A crawl whose daemon is killed again and again, `kills` times or until it has ended.
async fn disturbed(toy: &Arc<ToyWeb>, seed: u64, kills: usize) -> Remains {
    let watched = Watched::new(toy);
    let web = Web::serve(watched.clone()).await;
    let home = Home::new();
    let mut moments = chance(seed, "moments to kill at");
    let mut daemon = home.daemon_on(&web).await;
    create(&mut daemon.client().await, spec(&home, toy)).await;
    let mut done = Kills::default();
    let mut retraining = None;
    while done.at.len() < kills {
        let mut life = Duration::from_millis(moments.random_range(0..LIFE_MS_MAX));
        // Every other retraining has hardly begun when its daemon dies.
        if retraining.is_some() && moments.random_bool(0.5) {
            life = Duration::from_millis(moments.random_range(0..LIFE_MS_MAX / 10));
        }
        tokio::time::sleep(life).await;
        // Some are stopped first, and go on for a moment, or die asleep.
        if moments.random_bool(0.2) {
            daemon.signal("STOP");
            tokio::time::sleep(life / 4).await;
            if moments.random_bool(0.5) {
                daemon.signal("CONT");
                tokio::time::sleep(life / 4).await;
            }
        }
        let amid = retraining
            .take()
            .is_some_and(|asked: JoinHandle<bool>| !asked.is_finished());
        daemon.kill();
        done.at.push(watched.now());
        done.amid += u32::from(amid);
        // Some daemons are killed while they start.
        if moments.random_bool(0.2) {
            daemon = home.spawn(&["--archive-proxy", &web.proxy]);
            continue;
        }
        daemon = home.daemon_on(&web).await;
        let mut client = daemon.client().await;
        let crawl = status(&mut client, "crawl").await;
        if crawl.state() != v1::CrawlState::Running {
            assert_eq!(crawl.state(), v1::CrawlState::Finished, "{}", crawl.reason);
            break;
        }
        done.fetched.insert(crawl.fetched);
        done.epochs.insert(crawl.epoch);
        retraining = Some(retrain(client, done.at.len()));
    }
    // The last one may have been one of those that nobody waited for.
    daemon.kill();
    done.at.push(watched.now());
    let daemon = home.daemon_on(&web).await;
    let rows = account(&mut daemon.client().await).await;
    daemon.stop().await;
    let remains = Remains::of(rows, &home, done);
    let kills = &remains.kills.at;
    watched.assert_asked_once(&remains.booked, kills, DELAY_MS.cast_signed());
    remains
}

/// Waits for the end of the crawl and compares its curve with its rows, which it gives back.
async fn account(client: &mut Client) -> Vec<v1::PageRow> {
    // As long as the kills take, and longer.
    let patience = Duration::from_secs(60 + 6 * u64::from(kills()));
    let running = async {
        while status(client, "crawl").await.state() == v1::CrawlState::Running {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let ended = tokio::time::timeout(patience, running).await;
    assert!(ended.is_ok(), "the crawl does not end");
    let crawl = status(client, "crawl").await;
    assert_eq!(crawl.state(), v1::CrawlState::Finished, "{}", crawl.reason);
    assert_eq!(crawl.reason, "out of links");
    let rows = rows(client, "crawl", true).await;
    let points = loss(client, "crawl").await;
    assert_eq!(rows.len() as u64, crawl.fetched);
    assert_eq!(rows.len(), points.len());
    let mut sum = 0.0;
    for (n, (row, point)) in (1..).zip(rows.iter().zip(&points)) {
        sum += 1.0 - row.relevance;
        assert_eq!((row.n, point.n), (n, n));
        assert!((point.loss - sum).abs() < 1e-6, "{point:?}, rows say {sum}");
    }
    rows
}

/// What was booked stands where its booking says: an answer, a request and what was found of it, each a
/// gzip member of its own.
pub(crate) fn assert_kept(
    kept: &Kept,
    url: &CanonicalUrl,
    files: &mut BTreeMap<u32, Vec<u8>>,
    folder: &Path,
) {
    let file = files.entry(kept.file).or_insert_with(|| {
        let name = format!("crawl-{:05}.warc.gz", kept.file);
        fs::read(folder.join(name)).unwrap()
    });
    let range = usize::try_from(kept.offset).unwrap()..usize::try_from(kept.end).unwrap();
    let mut members = &file[range];
    let target = format!("WARC-Target-URI: {url}\r\n");
    for kind in ["response", "request", "metadata"] {
        let mut record = Vec::new();
        let mut decoder = flate2::bufread::GzDecoder::new(members);
        decoder.read_to_end(&mut record).unwrap();
        members = decoder.into_inner();
        let record = String::from_utf8_lossy(&record);
        assert!(record.contains(&target), "{record}");
        let revisit = kind == "response" && record.contains("WARC-Type: revisit");
        assert!(revisit || record.contains(&format!("WARC-Type: {kind}")));
    }
    assert!(members.is_empty());
}

/// Opens the log of a crawl that has ended and looks up what became of every URL in it; gives as well the
/// requests that it tells of.
fn fates(folder: &Path) -> (BTreeMap<CanonicalUrl, Fate>, Vec<(CanonicalUrl, Timestamp)>) {
    let log = folder.join("log");
    let store = SledStore::open(&log, &StoreOptions::default()).unwrap();
    let params = FrontierParams {
        combine: Combine::Best,
        pages_per_host_max: None,
        pages_per_domain_max: None,
        references_max: 8,
        links_max: None,
        delay: Duration::ZERO,
        per_address: HOSTS_PER_ADDRESS,
        keeps_baseline: false,
    };
    let mut frontier = Frontier::new(params, HostCalendar::default());
    let mut urls = BTreeMap::new();
    let mut booked: Vec<(Seq, PageBooking)> = Vec::new();
    let mut moved = Vec::new();
    let mut requests = Vec::new();
    let visit = &mut |seq, event: Event| {
        frontier.admit(seq, &event);
        let lease = match &event {
            Event::Page(page) => Some(&page.lease),
            Event::Failure(failure) => Some(&failure.lease),
            Event::Redirect(redirect) => Some(&redirect.lease),
            _ => None,
        };
        requests.extend(lease.map(|lease| (lease.url.clone(), lease.finished_at)));
        match event {
            Event::Page(page) => booked.push((seq, page)),
            Event::Redirect(redirect) => {
                moved.push((redirect.kept.unwrap(), redirect.lease.url));
                urls.insert(redirect.target.id(), redirect.target);
            }
            Event::Seeds(seeds) => urls.extend(seeds.urls.into_iter().map(|url| (url.id(), url))),
            _ => {}
        }
        true
    };
    store.scan(Seq(1), store.durable(), visit).unwrap();
    let mut files = BTreeMap::new();
    assert!(!moved.is_empty());
    for (kept, url) in &moved {
        assert_kept(kept, url, &mut files, &folder.join("warc"));
    }
    for (seq, page) in &booked {
        let kept = page.kept.as_ref().unwrap();
        assert_kept(kept, &page.lease.url, &mut files, &folder.join("warc"));
        for (link, fact) in (0..).zip(&page.links) {
            let url = store.link_url(Reference { seq: *seq, link }).unwrap();
            assert_eq!(url.id(), fact.target, "link {link} of {}", page.lease.url);
            urls.insert(url.id(), url);
        }
    }
    let fate = |url: CanonicalUrl| {
        let known = frontier.lookup(url.id(), Timestamp(0));
        let state = known.unwrap_or_else(|| panic!("{url} was lost")).state;
        let fate = match state {
            LinkState::Fetched(seq) => fate_of(store.event(seq).unwrap().unwrap(), &url),
            LinkState::Refused(refusal, _) => Fate::Refused(refusal.name()),
            LinkState::Waiting | LinkState::Leased => panic!("{url} still waits"),
        };
        (url, fate)
    };
    (urls.into_values().map(fate).collect(), requests)
}

fn fate_of(event: Event, url: &CanonicalUrl) -> Fate {
    let (of, fate) = match event {
        Event::Page(page) => {
            let digest = page.body_digest;
            let links = page.links.iter().map(|link| link.target).collect();
            (page.lease.url, Fate::Page { links, digest })
        }
        Event::Failure(failure) => {
            assert!(failure.is_final);
            (failure.lease.url, Fate::Failure(failure.message))
        }
        Event::Redirect(redirect) => {
            let target = redirect.target.as_str().to_owned();
            (redirect.lease.url, Fate::Redirect(target))
        }
        other => panic!("{url} is said to have ended with {other:?}"),
    };
    assert_eq!(&of, url);
    fate
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_killed_again_and_again_ends_like_one_left_in_peace() {
    let seed = moments_seed();
    println!("moments: {SEED_VARIABLE}={seed}");
    let wanted = kills() as usize;
    let pages = PAGES_A_KILL * kills().clamp(KILLS, KILLS_A_WEB) as usize;
    let toy = Arc::new(ToyWeb::generate(3, ToyParams::finite(pages)));
    let (peace, first) = tokio::join!(undisturbed(&toy), disturbed(&toy, seed, wanted));
    let mut crawls = vec![first];
    let done = |crawls: &[Remains]| -> usize {
        let kills = crawls.iter().map(|crawl| crawl.kills.at.len() - 1);
        kills.sum()
    };
    // One that came to its end before it was killed so often is followed by another one.
    while done(&crawls) < wanted {
        let seed = seed + crawls.len() as u64;
        crawls.push(disturbed(&toy, seed, wanted - done(&crawls)).await);
    }
    for crawl in &crawls {
        let Kills {
            at,
            amid,
            fetched,
            epochs,
        } = &crawl.kills;
        println!(
            "{} kills, {amid} of them amid a retraining; fetched by then: {fetched:?}, epochs: {epochs:?}",
            at.len() - 1
        );
        assert_same(&peace, crawl);
    }
    let most = |count: &dyn Fn(&Kills) -> usize| crawls.iter().map(|c| count(&c.kills)).max();
    assert!(
        most(&|kills| kills.fetched.len()) > Some(3),
        "hardly a life booked anything"
    );
    assert!(
        most(&|kills| kills.epochs.len()) > Some(1),
        "no epoch outlived a kill"
    );
    let amid: u32 = crawls.iter().map(|crawl| crawl.kills.amid).sum();
    assert!(
        kills() < KILLS_AMID || amid > kills() / 20,
        "{amid} amid a retraining"
    );

    // The web has all that can become of a link, and all of it that can be had was had.
    let crawlable = toy.pages().iter().filter(|page| page.is_crawlable());
    for page in crawlable {
        let fate = peace.fates.get(&page.url);
        assert!(matches!(fate, Some(Fate::Page { .. })), "{}", page.url);
    }
    let broken = format!("http://{BROKEN_HOST}/");
    for wanted in ["Failure", "Redirect", "Refused"] {
        let fates = || peace.fates.values().map(|fate| format!("{fate:?}"));
        assert!(fates().any(|fate| fate.starts_with(wanted)), "{wanted}");
    }
    assert!(
        peace
            .fates
            .keys()
            .any(|url| url.as_str().starts_with(&broken))
    );
}

/// The killed crawl has what the other one has, and nothing twice.
fn assert_same(peace: &Remains, killed: &Remains) {
    let mut seen = BTreeSet::new();
    for row in &killed.rows {
        assert!(seen.insert(&row.url), "{} is booked twice", row.url);
    }
    assert_eq!(killed.pages(), peace.pages());
    assert_eq!(killed.rows.len(), peace.rows.len());
    for (url, fate) in &peace.fates {
        assert_eq!(killed.fates.get(url), Some(fate), "{url}");
    }
    assert_eq!(killed.fates.len(), peace.fates.len());
}
