//! One life of a crawler: its crawls are opened and run until they end, break or die with it.

use std::cell::RefCell;
use std::pin::pin;
use std::sync::Arc;

use apprentice::booking::Seq;
use apprentice::clock::Clock;
use apprentice::crawl::{
    CrawlError, Engine, EngineParts, Handle, Judge, LearnedFile, Pace, Progress, RobotsPolicy,
};
use apprentice::fetch::Source;
use apprentice::fetch::robots::RobotsCache;
use apprentice::frontier::{FrontierStore, HostCalendar, KnownLink};
use apprentice::proto::v1;
use apprentice::url::CanonicalUrl;
use futures_util::future::{join_all, select_all};

use super::check;
use super::clock::WallClock;
use super::crawl::{Crawl, WordJudge};
use super::learned;
use super::log::Log;
use super::site::Site;
use super::web::Web;

/// How a life ended for one of its crawls.
pub(super) enum End {
    /// The whole crawler died.
    Died,
    /// In words, why its engine could not go on.
    Broke(String),
    Finished(Box<Progress>),
}

/// A crawl in this life.
pub(super) struct Living<'a> {
    pub(super) crawl: &'a Crawl,
    pub(super) log: Arc<Log>,
    /// When a retraining is ordered, and of which learner.
    pub(super) retraining: Option<(Seq, &'static str)>,
}

/// What every life has in common.
pub(super) struct World<'a> {
    pub(super) web: &'a Web,
    pub(super) site: &'a Site,
    pub(super) clock: &'a WallClock,
}

/// What an engine is made of that crawls the `source`.
pub(super) fn parts<S: Source, C: Clock>(
    source: S,
    clock: C,
    store: Arc<dyn FrontierStore>,
    pace: Pace,
    learned: Option<LearnedFile>,
) -> EngineParts<S, C> {
    EngineParts {
        source: Arc::new(source),
        clock,
        judge: Judge::near(WordJudge),
        store,
        calendar: HostCalendar::default(),
        robots: RobotsPolicy::Obey(RobotsCache::default()),
        pace,
        world: None,
        parsers: 2,
        guard_note: String::new(),
        needs_contact: false,
        scorer: None,
        start: None,
        learned,
        opening: Arc::default(),
    }
}

/// One life. Says how it ended for each crawl, and what was seen to be wrong.
pub(super) fn live(world: &World<'_>, crawls: &[Living<'_>]) -> (Vec<End>, Vec<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let wrongs = RefCell::new(Vec::new());
    let ends = runtime.block_on(async {
        let calendar = HostCalendar::default();
        let robots = RobotsCache::default();
        let mut handles = Vec::new();
        let mut runs = Vec::new();
        // A host rests for all crawls as the log of each has it: all are open before the first one runs.
        for living in crawls {
            let crawl = living.crawl;
            let parts = EngineParts {
                calendar: calendar.clone(),
                robots: RobotsPolicy::Obey(robots.clone()),
                ..parts(
                    world.site.of_crawl(crawl.number),
                    world.clock.clone(),
                    Arc::clone(&living.log) as _,
                    crawl.pace,
                    crawl.learned_file(),
                )
            };
            let (engine, handle) = Engine::open(parts).unwrap();
            handles.push(handle.clone());
            let wrongs = &wrongs;
            runs.push(async move {
                let looks_in = look_in(world, living, &handle);
                let (ended, looked) = tokio::join!(engine.run(), looks_in);
                match ended {
                    Ok(progress) => {
                        wrongs.borrow_mut().extend(looked.unwrap());
                        End::Finished(Box::new(progress))
                    }
                    Err(error) => End::Broke(error.to_string()),
                }
            });
        }
        let mut run = pin!(join_all(runs));
        let deaths = crawls.iter().map(|living| Box::pin(living.log.dies()));
        tokio::select! {
            biased;
            _ = select_all(deaths) => {}
            ends = &mut run => return ends,
        }
        world.site.falls_silent();
        let last_looks = join_all(crawls.iter().zip(&handles).map(|(living, handle)| {
            let wrongs = &wrongs;
            async move {
                // A crawl that has ended by itself before is not looked at again.
                let seen = last_look(world, living, handle).await;
                wrongs.borrow_mut().extend(seen.unwrap_or_default());
            }
        }));
        tokio::select! {
            biased;
            ends = &mut run => ends,
            _ = last_looks => crawls.iter().map(|_| End::Died).collect(),
        }
    });
    (ends, wrongs.into_inner())
}

/// Waits for the end of a crawl.
async fn finished(handle: &Handle) -> Result<v1::Crawl, CrawlError> {
    loop {
        let status = handle.status().await?;
        if status.state == v1::CrawlState::Finished as i32 {
            return Ok(status);
        }
        tokio::task::yield_now().await;
    }
}

/// What the crawl knows of every URL that there is.
pub(super) async fn all_known(
    web: &Web,
    handle: &Handle,
) -> Result<Vec<(CanonicalUrl, Option<KnownLink>)>, CrawlError> {
    let mut known = Vec::new();
    for url in web.urls() {
        let link = handle.lookup(url.id()).await?;
        known.push((url, link));
    }
    Ok(known)
}

/// Waits for the end of a live crawl and compares its memory with its log.
async fn look_in(
    world: &World<'_>,
    living: &Living<'_>,
    handle: &Handle,
) -> Result<Vec<String>, CrawlError> {
    let Living { crawl, log, .. } = living;
    if crawl.pace == Pace::Replay {
        return Ok(Vec::new());
    }
    let mut wrongs = Vec::new();
    if let Some((at, learner)) = living.retraining {
        wrongs.extend(retrain(handle, log, at, learner).await?);
    }
    // A crawl whose budget is spent stays finished, whatever else goes on.
    let goes_on = !finished(handle).await?.reason.starts_with("budget");
    if goes_on {
        // The scope may be wider than that of the last life: offer it what was refused.
        let same = v1::UpdateCrawlRequest {
            scope: crawl.spec.scope.clone(),
            ..Default::default()
        };
        handle.update(same).await?;
        finished(handle).await?;
    }
    let known = all_known(world.web, handle).await?;
    handle.shutdown().await;
    wrongs.extend(check::memory(crawl, &log.inner, known));
    if goes_on {
        wrongs.extend(check::readmissions(&crawl.spec, &log.inner));
    }
    Ok(wrongs)
}

/// Orders a retraining when the log has come to `at`, or the crawl to its end.
async fn retrain(
    handle: &Handle,
    log: &Log,
    at: Seq,
    learner: &str,
) -> Result<Vec<String>, CrawlError> {
    while log.last() < at {
        let status = handle.status().await?;
        if status.state == v1::CrawlState::Finished as i32 {
            break;
        }
        tokio::task::yield_now().await;
    }
    let request = v1::RetrainRequest {
        learner: learner.to_owned(),
        ..Default::default()
    };
    match handle.retrain(request).await {
        Ok(epoch) if epoch.learner == learner && epoch.cause == "retrained" => Ok(Vec::new()),
        Ok(epoch) => Ok(vec![format!("retrained to {epoch:?}")]),
        // There may be nothing to learn from yet.
        Err(CrawlError::State(_)) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// What a crawler that is about to die has in memory, against its log.
async fn last_look(
    world: &World<'_>,
    living: &Living<'_>,
    handle: &Handle,
) -> Result<Vec<String>, CrawlError> {
    let Living { crawl, log, .. } = living;
    let known = loop {
        let before = log.last();
        let known = all_known(world.web, handle).await?;
        if log.last() == before {
            break known;
        }
    };
    let mut wrongs = check::memory(crawl, &log.inner, known);
    if crawl.learns {
        let before = log.last();
        let epochs = handle.epochs().await?;
        if log.last() == before {
            wrongs.extend(learned::epochs_of_log(&epochs, &log.inner));
        }
    }
    Ok(wrongs)
}
