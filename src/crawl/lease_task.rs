//! What happens away from the engine: a fetch in flight, then parsing and judging on the blocking pool.
//!
//! A task holds its lease and nothing else of the crawl; what it finds out comes back as [`Finished`].

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::booking::evidence;
use crate::clock::Clock;
use crate::clock::Timestamp;
use crate::critic::{PageJudge, Verdict};
use crate::features::{PageSketch, SourceFacts, TermWeights};
use crate::fetch::robots::RobotsAnswer;
use crate::fetch::{FetchError, Outcome, Redirect, Request, Response, Source};
use crate::frontier::Lease;
use crate::page::{DocumentKind, Page, PageLimits, PageSource};
use crate::url::{CanonicalUrl, HostKey, UrlId};

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
    Redirect(Redirect),
    Failure(FetchError),
    /// robots.txt of the link's host; the link itself was not asked for.
    Robots(RobotsAnswer),
    /// The crawl was closed while redirects of robots.txt waited for their hosts.
    NotAsked,
}

/// A page, with all that is computed from it alone.
pub(super) struct JudgedPage {
    pub(super) response: Response,
    pub(super) page: Page,
    pub(super) verdict: Verdict,
    pub(super) evidence: Vec<u8>,
    pub(super) body_digest: u64,
    /// Fingerprint and host (index into `hosts`) of each link's target.
    pub(super) targets: Vec<(UrlId, u32)>,
    pub(super) hosts: Vec<HostKey>,
    /// For a scorer that looks at pages.
    pub(super) sketch: Option<Arc<PageSketch>>,
}

/// What a task needs besides its lease.
pub(super) struct Workbench<S, C> {
    pub(super) source: Arc<S>,
    pub(super) clock: C,
    pub(super) judge: Arc<dyn PageJudge>,
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
            judge: Arc::clone(&self.judge),
            parsers: Arc::clone(&self.parsers),
            weights: self.weights.clone(),
        }
    }
}

impl<S: Source, C: Clock> Workbench<S, C> {
    /// Fetches the leased URL and reads what comes.
    pub(super) async fn fetch(
        self,
        lease: Lease,
        request: Request,
        limits: PageLimits,
    ) -> Finished {
        let url = request.url.clone();
        let outcome = self.source.fetch(request).await;
        let at = self.clock.now();
        let done = match outcome {
            Outcome::Response(response) => self.read(&url, response, limits, lease.depth).await,
            Outcome::Redirect(redirect) => Done::Redirect(redirect),
            Outcome::Failure(error) => Done::Failure(error),
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
        limits: PageLimits,
        depth: u16,
    ) -> Done {
        let kind = DocumentKind::of(response.content_type.as_deref(), &response.body);
        let Some(kind) = kind else {
            let content_type = response.content_type.unwrap_or_default();
            return Done::Failure(FetchError::ContentType(content_type));
        };
        // The semaphore is never closed, so that there is always a permit in the end.
        let _permit = self.parsers.acquire().await;
        let judge = Arc::clone(&self.judge);
        let url = url.clone();
        let hashed = self.weights.clone().map(|weights| (weights, depth));
        let work = move || judge_page(&url, response, kind, &limits, judge.as_ref(), hashed);
        match tokio::task::spawn_blocking(work).await {
            Ok(page) => Done::Page(Box::new(page)),
            // A panic in the parser or the judge is a fault of ours: it ends the crawl with words.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime goes down: nobody will take what came of it.
            Err(_) => Done::NotAsked,
        }
    }
}

fn judge_page(
    url: &CanonicalUrl,
    response: Response,
    kind: DocumentKind,
    limits: &PageLimits,
    judge: &dyn PageJudge,
    hashed: Option<(Arc<TermWeights>, u16)>,
) -> JudgedPage {
    let source = PageSource {
        url,
        content_type: response.content_type.as_deref(),
        body: &response.body,
    };
    let page = Page::parse(&source, kind, limits);
    let verdict = judge.judge(&page);
    let (targets, hosts) = targets_of(&page);
    let sketch = hashed.map(|(weights, depth)| {
        let best = verdict.best.first();
        let class = best.and_then(|best| judge.class_names().get(usize::from(best.class.0)));
        let facts = SourceFacts::new(verdict.log_odds, class.map(String::as_str), depth);
        Arc::new(PageSketch::new(url, &page, facts, &weights))
    });
    JudgedPage {
        body_digest: xxhash_rust::xxh3::xxh3_64(&response.body),
        evidence: evidence::encode(&page),
        response,
        page,
        verdict,
        targets,
        hosts,
        sketch,
    }
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
