//! One crawl of a simulation: what it is told, its log, and what its deaths have cost.

use std::sync::LazyLock;

use apprentice::booking::{CrawlState, Event, SeedsEvent, Seq, StateEvent};
use apprentice::clock::{Chance, Timestamp, chance};
use apprentice::crawl::{CrawlOrder, LearnedFile, Pace, Progress, SEED_PRIORITY};
use apprentice::critic::{ClassId, ClassScore, PageJudge, Verdict};
use apprentice::frontier::{FrontierStore, MemoryStore};
use apprentice::page::Page;
use apprentice::proto::v1;
use prost::Message;
use rand::RngExt;
use tempfile::TempDir;

use super::check::Lost;
use super::web::{Web, url};

/// The learners that a crawl may have.
const LEARNERS: [&str; 3] = ["nb", "ftrl", "auto"];

/// Judges by the words that the web is made of.
pub(super) struct WordJudge;

static CLASSES: LazyLock<Vec<String>> = LazyLock::new(|| vec!["reef".into(), "sand".into()]);

impl PageJudge for WordJudge {
    fn judge_batch(&self, pages: &[&Page]) -> Vec<Verdict> {
        let verdict = |page: &&Page| {
            let says = |word: &str| page.vocabulary.iter().any(|known| known == word);
            let log_odds = 3.0 * (f32::from(says("reef")) - f32::from(says("sand")));
            Verdict {
                log_odds,
                calibrated_log_odds: log_odds,
                best: vec![ClassScore {
                    class: ClassId(u16::from(log_odds < 0.0)),
                    log_posterior: -0.05,
                }],
                near_focus: log_odds >= 0.0,
                version: 1,
            }
        };
        pages.iter().map(verdict).collect()
    }

    fn class_names(&self) -> &[String] {
        &CLASSES
    }
}

/// A crawl, and what is left of it between two lives.
pub(super) struct Crawl {
    pub(super) number: usize,
    pub(super) spec: v1::CrawlSpec,
    pub(super) pace: Pace,
    pub(super) store: MemoryStore,
    /// Its order has learned, or may have been told to.
    pub(super) learns: bool,
    /// Where what was learned is written down, if it is.
    folder: Option<TempDir>,
    pub(super) lost: Lost,
    /// The last events of its lives.
    pub(super) cuts: Vec<Seq>,
    pub(super) progress: Progress,
}

impl Crawl {
    /// Crawl `number` of a seed's.
    pub(super) fn draw(seed: u64, number: usize, web: &Web, delay_ms: u64, pace: Pace) -> Self {
        let told = spec(seed, number, web, delay_ms);
        let learns = LEARNERS
            .iter()
            .any(|learner| told.order.starts_with(learner));
        let hat = &mut chance(seed, &format!("folder of crawl {number}"));
        let folder = (learns && hat.random_bool(0.5)).then(|| TempDir::new().unwrap());
        Self {
            number,
            spec: told,
            pace,
            store: MemoryStore::new(),
            learns,
            folder,
            lost: Lost::default(),
            cuts: Vec::new(),
            progress: Progress::default(),
        }
    }

    pub(super) fn begin(&self, web: &Web, at: Timestamp) {
        let hosts = web.hosts.len().min(3);
        self.store
            .append(Event::SpecChange(self.spec.encode_to_vec()));
        self.runs("simulated", at);
        self.store.append(Event::Seeds(SeedsEvent {
            urls: (0..hosts).map(|host| url(host, 0)).collect(),
            priority: SEED_PRIORITY,
            at,
        }));
        self.store.flush().unwrap();
    }

    pub(super) fn learned_file(&self) -> Option<LearnedFile> {
        self.folder.as_ref().map(|folder| LearnedFile {
            path: folder.path().join("learned"),
            every: 10,
        })
    }

    /// The learner of a retraining in this life, and after how many events it is ordered.
    pub(super) fn draw_retraining(&mut self, hat: &mut Chance) -> Option<(Seq, &'static str)> {
        if self.pace == Pace::Replay || !hat.random_bool(0.3) {
            return None;
        }
        self.learns = true;
        let at = Seq(self.store.last().0 + hat.random_range(1..60));
        Some((at, LEARNERS[hat.random_range(0..LEARNERS.len())]))
    }

    /// A crawl that failed is set going again.
    pub(super) fn mend(&self, at: Timestamp) {
        let mut state = CrawlState::Running;
        let mut take = |_, event| {
            if let Event::State(event) = event {
                state = event.state;
            }
            true
        };
        (self.store.scan(Seq(1), self.store.last(), &mut take)).unwrap();
        if state == CrawlState::Failed {
            self.runs("there is room again", at);
            self.store.flush().unwrap();
        }
    }

    /// Somebody changes the spec of the finished crawl and sets it going again.
    pub(super) fn change(&mut self, at: Timestamp, hat: &mut Chance) {
        if self.spec.budget > 0 {
            self.spec.budget = self.progress.fetched() + hat.random_range(1..20);
        }
        let scope = self.spec.scope.get_or_insert_default();
        scope.pages_per_host_max = [0, 2, 8][hat.random_range(0..3)];
        scope.deny.clear();
        if hat.random_bool(0.5) {
            scope.deny.push("p[2-5]$".to_owned());
        }
        self.store
            .append(Event::SpecChange(self.spec.encode_to_vec()));
        self.runs("changed", at);
        self.store.flush().unwrap();
    }

    fn runs(&self, reason: &str, at: Timestamp) {
        self.store.append(Event::State(StateEvent {
            state: CrawlState::Running,
            reason: reason.to_owned(),
            at,
        }));
    }
}

fn spec(seed: u64, number: usize, web: &Web, delay_ms: u64) -> v1::CrawlSpec {
    let stream = |name: &str| match number {
        0 => chance(seed, name),
        number => chance(seed, &format!("{name} of crawl {number}")),
    };
    let hat = &mut stream("spec");
    let in_flight_max = [1, 4][hat.random_range(0..2)];
    let mut order = CrawlOrder::ALL[hat.random_range(0..3)].name();
    let mut or_none = |max: u64| {
        if hat.random_bool(0.5) {
            0
        } else {
            hat.random_range(1..max)
        }
    };
    let budget = or_none(if web.is_large() { 200 } else { 40 });
    let scope = v1::Scope {
        pages_per_host_max: or_none(if web.is_large() { 60 } else { 6 }),
        depth_max: u32::try_from(or_none(5)).unwrap(),
        ..Default::default()
    };
    let hat = &mut stream("learner");
    if hat.random_bool(if web.is_large() { 0.6 } else { 0.25 }) {
        order = LEARNERS[hat.random_range(0..LEARNERS.len())];
    }
    let steering = ["", "", "+best-n-first:5", "+altered-greedy:0.5:0.3"];
    let steering = steering[stream("steering").random_range(0..4)];
    let hat = &mut stream("bound");
    let is_bounded = web.is_large() && hat.random_bool(0.7);
    v1::CrawlSpec {
        name: format!("simulated-{number}"),
        topics: vec!["reef".into()],
        critic: "given".into(),
        order: format!("{order}{steering}"),
        seed,
        budget,
        scope: Some(scope),
        limits: Some(v1::Limits {
            in_flight_max,
            delay_ms_min: Some(delay_ms),
            redirects_max: 2,
            links_waiting_max: is_bounded.then(|| hat.random_range(100..140)),
            ..Default::default()
        }),
        ..Default::default()
    }
}
