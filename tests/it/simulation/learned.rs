//! What an apprentice is after a death: what its log makes of it.

use std::future::pending;
use std::sync::Arc;

use apprentice::booking::{CrawlState, EpochEvent, Event, Seq, StateEvent};
use apprentice::clock::{Clock, SimulatedClock, Timestamp};
use apprentice::crawl::{Engine, LearnedFile, Pace};
use apprentice::fetch::{Outcome, Request, Source};
use apprentice::frontier::{FrontierStore, KnownLink, MemoryStore};
use apprentice::proto::v1;
use apprentice::url::CanonicalUrl;

use super::check;
use super::clock::WallClock;
use super::crawl::Crawl;
use super::life::{all_known, parts};
use super::web::Web;

/// A crawl as it stands right after it was opened.
struct Opened {
    links: Vec<(CanonicalUrl, Option<KnownLink>)>,
    epochs: v1::ListEpochsResponse,
    learners: v1::GetLearnersResponse,
}

/// A web of which nothing is asked.
struct Nothing;

impl Source for Nothing {
    async fn fetch(&self, _request: Request) -> Outcome {
        pending().await
    }
}

/// Opens the log as a crawl that is paused, so that it does nothing.
fn open(web: &Web, at: Timestamp, log: &MemoryStore, learned: Option<LearnedFile>) -> Opened {
    let store = Arc::new(log.after_crash());
    store.append(Event::State(StateEvent {
        state: CrawlState::Paused,
        reason: "looked at".to_owned(),
        at,
    }));
    let clock = SimulatedClock::starting_at(at);
    let parts = parts(Nothing, clock, store, Pace::Live, learned);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (engine, handle) = Engine::open(parts).unwrap();
        let looks = async {
            let opened = Opened {
                links: all_known(web, &handle).await.unwrap(),
                epochs: handle.epochs().await.unwrap(),
                learners: handle.learners().await.unwrap(),
            };
            handle.shutdown().await;
            opened
        };
        let (ended, opened) = tokio::join!(engine.run(), looks);
        ended.unwrap();
        opened
    })
}

/// A crawl that is opened after a death: by its log alone, and by what was learned as well.
pub(super) fn reopened(crawl: &Crawl, web: &Web, clock: &WallClock) -> Vec<String> {
    let at = clock.now();
    let mut by_log = open(web, at, &crawl.store, None);
    let mut wrongs = Vec::new();
    if let Some(file) = crawl.learned_file() {
        let kept = open(web, at, &crawl.store, Some(file));
        let figures = |opened: &Opened| {
            let learners = opened
                .learners
                .learners
                .iter()
                .map(|row| format!("{row:?}"));
            let epochs = opened.epochs.epochs.iter().map(|row| format!("{row:?}"));
            let exploration = format!("{:?}", opened.learners.exploration);
            learners
                .chain(epochs)
                .chain([exploration])
                .collect::<Vec<_>>()
        };
        let (of_file, of_log) = (figures(&kept), figures(&by_log));
        if of_file.len() != of_log.len() {
            wrongs.push(format!("learned {of_file:?}, log {of_log:?}"));
        }
        let rows = of_file.iter().zip(&of_log);
        wrongs.extend(
            rows.filter(|(of_file, of_log)| of_file != of_log)
                .map(|(of_file, of_log)| format!("learned {of_file}, log {of_log}")),
        );
        // Of epochs between two retrainings the log alone does not say how the learners stood.
        let mut stood = kept.learners.epochs.iter();
        let missing = |at: &&v1::LearnersAt| !stood.any(|kept| kept == *at);
        let missing = by_log.learners.epochs.iter().find(missing);
        wrongs.extend(missing.map(|at| format!("learned does not know {at:?}")));
        let links = kept.links.iter().zip(&by_log.links);
        wrongs.extend(
            links
                .filter(|(kept, by_log)| kept != by_log)
                .map(|(kept, by_log)| format!("what was learned: {kept:?}, log {by_log:?}")),
        );
    }
    let links = std::mem::take(&mut by_log.links);
    wrongs.extend(check::memory(crawl, &crawl.store, links));
    wrongs.extend(epochs_of_log(&by_log.epochs, &crawl.store));
    wrongs
}

/// The epochs that a crawl tells of against those of its log.
pub(super) fn epochs_of_log(told: &v1::ListEpochsResponse, log: &MemoryStore) -> Vec<String> {
    let events = check::events_of(log);
    let epochs = events.iter().filter_map(|event| match event {
        Event::Epoch(epoch) => Some(epoch),
        _ => None,
    });
    let epochs: Vec<&EpochEvent> = epochs.collect();
    let mut wrongs = Vec::new();
    if told.epochs.len() != epochs.len() {
        wrongs.push(format!("{} epochs of {}", told.epochs.len(), epochs.len()));
    }
    for (told, epoch) in told.epochs.iter().zip(&epochs) {
        let is_last = epoch.number == epochs.len() as u64;
        let same = told.number == epoch.number
            && told.cause == epoch.cause.name()
            && told.learner == epoch.recipe.order
            && (told.instances, told.pages) == (epoch.instances, epoch.pages)
            && told.fetched == epoch.fetched
            && (told.log_loss, told.auc) == (epoch.log_loss, epoch.auc)
            && told.in_force == is_last;
        if !same {
            wrongs.push(format!("epoch {told:?}, in the log {epoch:?}"));
        }
    }
    wrongs.extend(lessons(&events));
    wrongs
}

/// No epoch says that it has learned what comes after it.
fn lessons(events: &[Event]) -> Vec<String> {
    let mut wrongs = Vec::new();
    let mut pages = 0;
    for (seq, event) in (1..).zip(events) {
        match event {
            Event::Page(_) => pages += 1,
            Event::Epoch(epoch) => {
                let ahead = epoch.recipe.ranges.iter().any(|(_, end)| *end >= Seq(seq));
                if ahead || epoch.pages > pages {
                    wrongs.push(format!("event {seq}: {epoch:?} after {pages} pages"));
                }
            }
            _ => {}
        }
    }
    wrongs
}
