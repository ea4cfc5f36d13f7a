//! What happens away from the engine: a fetch in flight, then parsing and, if the judge is here, judging
//! on the blocking pool.
//!
//! A task holds its lease and nothing else of the crawl; what it finds out comes back as [`Finished`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::first_contact::finds_room;
use super::judging::Judge;
use super::keeping::records_of;
use crate::archive::KeptPage;
use crate::booking::evidence;
use crate::clock::Clock;
use crate::clock::Timestamp;
use crate::critic::{PageFacts, Verdict, page_to_judge};
use crate::features::{PageSketch, SourceFacts, TermWeights};
use crate::fetch::robots::RobotsAnswer;
use crate::fetch::{Exchange, FetchError, Outcome, Redirect, Request, Response, Source};
use crate::frontier::{Lease, Spacing};
use crate::page::{DocumentKind, Link, Page, PageLimits, PageSource};
use crate::proto::v1;
use crate::text::simhash;
use crate::url::{CanonicalUrl, HostKey, UrlId, UrlRules};

/// What came of a lease.
pub(super) struct Finished {
    pub(super) lease: Lease,
    pub(super) url: CanonicalUrl,
    pub(super) done: Done,
    /// When the outcome was there.
    pub(super) at: Timestamp,
}

/// The kinds of ends.
pub(super) enum Done {
    Page(Box<JudgedPage>),
    /// A page without a verdict, for its judge is elsewhere; and as that is shown it.
    Read(Box<(ReadPage, v1::JudgePage)>),
    Redirect(Redirect, Option<Box<KeptPage>>),
    Failure(FetchError, Option<Box<KeptPage>>),
    /// robots.txt of the link's host, and the pages that its sitemaps name if they were asked for; the
    /// link itself was not.
    Robots(RobotsAnswer, Vec<CanonicalUrl>),
    /// The pages that the sitemaps of the link's host name; the link itself was not asked for.
    Sitemaps(Vec<CanonicalUrl>),
    /// The crawl was closed while redirects of robots.txt waited for their hosts.
    NotAsked,
    /// Where the host stands there is no room for one more request: nothing was sent.
    Crowded,
}

impl Done {
    /// How long the server took to answer; nothing where it did not.
    pub(super) fn answer_time(&self) -> Duration {
        match self {
            Self::Page(page) => page.read.response.answer_time,
            Self::Read(page) => page.0.response.answer_time,
            Self::Redirect(redirect, _) => redirect.answer_time,
            Self::Failure(..)
            | Self::Robots(..)
            | Self::Sitemaps(_)
            | Self::NotAsked
            | Self::Crowded => Duration::ZERO,
        }
    }
}

/// A page with its verdict.
pub(super) struct JudgedPage {
    pub(super) read: ReadPage,
    pub(super) verdict: Verdict,
    /// Hashed, for a scorer that looks at pages.
    pub(super) sketch: Option<Arc<PageSketch>>,
}

/// How a page is read.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    pub(super) limits: PageLimits,
    /// What is done to the URLs of its links.
    pub(super) urls: UrlRules,
}

/// A page, with all that is computed from it alone.
pub(super) struct ReadPage {
    /// Without its body.
    pub(super) response: Response,
    pub(super) page: Page,
    pub(super) evidence: Vec<u8>,
    pub(super) body_bytes: u64,
    pub(super) body_digest: u64,
    /// Fingerprint and host (index into `hosts`) of each link's target.
    pub(super) targets: Vec<(UrlId, u32)>,
    pub(super) hosts: Vec<HostKey>,
    /// The `SimHash` of its text, if that is long enough.
    pub(super) sketch: Option<u64>,
    /// The records of its exchange, if pages are kept.
    pub(super) kept: Option<Box<KeptPage>>,
}

/// What a task needs besides its lease.
pub(super) struct Workbench<S, C> {
    pub(super) source: Arc<S>,
    pub(super) clock: C,
    pub(super) judge: Judge,
    /// As many permits as cores: parsing more pages at once only costs memory.
    pub(super) parsers: Arc<Semaphore>,
    /// What pages are hashed with for the scorer, if it looks at them.
    pub(super) weights: Option<Arc<TermWeights>>,
}

impl<S, C: Clone> Clone for Workbench<S, C> {
    fn clone(&self) -> Self {
        Self {
            source: Arc::clone(&self.source),
            clock: self.clock.clone(),
            judge: self.judge.clone(),
            parsers: Arc::clone(&self.parsers),
            weights: self.weights.clone(),
        }
    }
}

impl<S: Source, C: Clock> Workbench<S, C> {
    /// Fetches the leased URL and reads what comes.
    pub(super) async fn fetch(
        self,
        mut lease: Lease,
        request: Request,
        reading: Reading,
        spacing: Spacing,
    ) -> Finished {
        let url = request.url.clone();
        let source = self.source.as_ref();
        if !finds_room(source, &self.clock, &mut lease.host, &request, spacing).await {
            return self.crowded(lease, url);
        }
        let recorder = request.recorder.clone();
        let outcome = self.source.fetch(request).await;
        let at = self.clock.now();
        let exchange = recorder.and_then(|recorder| recorder.take());
        let exchange = exchange.map(|exchange| (exchange, at));
        let done = match outcome {
            Outcome::Response(response) => {
                self.read(&url, response, exchange, reading, lease.depth)
                    .await
            }
            Outcome::Redirect(redirect) => Done::Redirect(redirect, records(&url, exchange).await),
            Outcome::Failure(error) => Done::Failure(error, records(&url, exchange).await),
        };
        Finished {
            lease,
            url,
            done,
            at,
        }
    }

    async fn read(
        &self,
        url: &CanonicalUrl,
        response: Response,
        exchange: Option<(Exchange, Timestamp)>,
        reading: Reading,
        depth: u16,
    ) -> Done {
        let kind = DocumentKind::of(response.content_type.as_deref(), &response.body);
        let Some(kind) = kind else {
            let content_type = response.content_type.as_deref();
            let what = DocumentKind::refused_as(content_type, &response.body);
            let kept = records(url, exchange).await;
            return Done::Failure(FetchError::ContentType(what), kept);
        };
        // The semaphore is never closed, so that there is always a permit in the end.
        let _permit = self.parsers.acquire().await;
        let judge = self.judge.clone();
        let url = url.clone();
        let weights = self.weights.clone();
        let work = move || {
            let mut read = read_page(&url, response, kind, &reading);
            read.kept = exchange.and_then(|(exchange, at)| records_of(&url, &exchange, at));
            judge_or_show(read, &url, &judge, weights.as_deref(), depth)
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(done) => done,
            // A panic in the parser or the judge is a fault of ours: it ends the crawl with words.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime goes down: nobody will take what came of it.
            Err(_) => Done::NotAsked,
        }
    }
}

/// The records of what brought no page, made off the runtime as they are zipped.
async fn records(
    url: &CanonicalUrl,
    exchange: Option<(Exchange, Timestamp)>,
) -> Option<Box<KeptPage>> {
    let (exchange, at) = exchange?;
    let url = url.clone();
    let made = tokio::task::spawn_blocking(move || records_of(&url, &exchange, at));
    // The runtime goes down: nobody will take them.
    made.await.unwrap_or_default()
}

fn read_page(
    url: &CanonicalUrl,
    mut response: Response,
    kind: DocumentKind,
    reading: &Reading,
) -> ReadPage {
    // It is not needed any more, and pages may wait long for their verdict.
    let body = std::mem::take(&mut response.body);
    let source = PageSource {
        url,
        content_type: response.content_type.as_deref(),
        body: &body,
    };
    let mut page = Page::parse(&source, kind, &reading.limits);
    let links = std::mem::take(&mut page.links).into_iter();
    page.links = links
        .map(|link| Link {
            target: reading.urls.apply(link.target),
            ..link
        })
        .collect();
    let (targets, hosts) = targets_of(&page);
    let sketch = simhash(&page.words, &page.vocabulary);
    ReadPage {
        body_bytes: body.len() as u64,
        body_digest: xxhash_rust::xxh3::xxh3_64(&body),
        evidence: evidence::encode(&page),
        response,
        page,
        targets,
        hosts,
        sketch,
        kept: None,
    }
}

fn judge_or_show(
    read: ReadPage,
    url: &CanonicalUrl,
    judge: &Judge,
    weights: Option<&TermWeights>,
    depth: u16,
) -> Done {
    match judge {
        Judge::Near(judge) => {
            let verdict = judge.judge(&read.page);
            let names = judge.class_names();
            let sketch = weights.map(|weights| {
                let facts = source_facts(verdict.log_odds, first_class(&verdict), names, depth);
                Arc::new(PageSketch::new(url, &read.page, facts, weights))
            });
            Done::Page(Box::new(JudgedPage {
                read,
                verdict,
                sketch,
            }))
        }
        Judge::Far(_) => {
            let facts = PageFacts {
                url,
                content_type: read.response.content_type.as_deref(),
                body_digest: read.body_digest,
                truncated: read.response.truncated,
            };
            let shown = page_to_judge(&read.page, &facts);
            Done::Read(Box::new((read, shown)))
        }
    }
}

/// The class that the page is most likely of.
pub(super) fn first_class(verdict: &Verdict) -> Option<u16> {
    verdict.best.first().map(|best| best.class.0)
}

/// What the scorer is told of a page with this verdict.
pub(super) fn source_facts(
    log_odds: f32,
    class: Option<u16>,
    names: &[String],
    depth: u16,
) -> SourceFacts {
    let class = class.and_then(|class| names.get(usize::from(class)));
    SourceFacts::new(log_odds, class.map(String::as_str), depth)
}

fn targets_of(page: &Page) -> (Vec<(UrlId, u32)>, Vec<HostKey>) {
    let mut hosts = Vec::new();
    let mut places: HashMap<HostKey, u32> = HashMap::new();
    let targets = page
        .links
        .iter()
        .map(|link| {
            let host = link.target.host_key();
            let place = *places.entry(host).or_insert_with_key(|host| {
                hosts.push(host.clone());
                u32::try_from(hosts.len() - 1).unwrap_or(u32::MAX)
            });
            (link.target.id(), place)
        })
        .collect();
    (targets, hosts)
}
