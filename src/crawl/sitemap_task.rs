//! Sitemaps of a seed's host, as a source of more seeds.
//!
//! They are asked for in the lease that asked for the host's robots.txt, one after another at the host's
//! delay, and counted nowhere. Only the host's own are: another host has rules of its own, which
//! nobody has asked for.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use tokio::sync::watch;

use super::robots_task::unless_closing;
use crate::clock::Clock;
use crate::fetch::robots::RobotsAnswer;
use crate::fetch::sitemap::{SITEMAP_BYTES_MAX, SITEMAP_URLS_MAX, Sitemap};
use crate::fetch::{Kinds, Outcome, Request, Source};
use crate::url::{CanonicalUrl, HostKey};

/// Sitemaps of one host, and redirects on the way to them, that are asked for.
const SITEMAPS_MAX: usize = 50;

/// What is known when the robots.txt is there.
pub(super) struct SitemapWays {
    /// The leased host.
    pub(super) home: HostKey,
    /// Between two requests.
    pub(super) delay: Duration,
    /// Becomes true when the crawl is shut down.
    pub(super) closing: watch::Receiver<bool>,
}

/// The pages that the sitemaps of `answer` name, each once, as far as they lie at the leased host.
/// `request` is the one that the robots.txt was asked for.
pub(super) async fn pages_of<S: Source, C: Clock>(
    source: &S,
    clock: &C,
    answer: &RobotsAnswer,
    request: &Request,
    mut ways: SitemapWays,
) -> Vec<CanonicalUrl> {
    let mut known = HashSet::new();
    let mut waiting = VecDeque::from(answer.sitemaps());
    let mut pages = Vec::new();
    let mut seen = HashSet::new();
    let mut asked = 0;
    while let Some(url) = waiting.pop_front() {
        let is_ours = url.host_key() == ways.home && answer.allows(&url);
        if !is_ours || !known.insert(url.id()) {
            tracing::debug!(%url, "no sitemap of the host's own, or known");
            continue;
        }
        if asked == SITEMAPS_MAX || pages.len() >= SITEMAP_URLS_MAX {
            break;
        }
        asked += 1;
        let rested = clock.sleep_until(clock.now().after(ways.delay));
        if unless_closing(&mut ways.closing, rested).await.is_none() {
            break;
        }
        match source.fetch(sitemap_request(&url, request)).await {
            Outcome::Response(response) => {
                let sitemap = Sitemap::parse(&response.body);
                waiting.extend(sitemap.sitemaps);
                let own = sitemap.pages.into_iter();
                let own = own.filter(|page| page.host_key() == ways.home);
                pages.extend(own.filter(|page| seen.insert(page.id())));
            }
            Outcome::Redirect(redirect) => waiting.push_front(redirect.target),
            Outcome::Failure(failure) => tracing::debug!(%url, %failure, "no sitemap"),
        }
    }
    pages.truncate(SITEMAP_URLS_MAX);
    pages
}

fn sitemap_request(url: &CanonicalUrl, template: &Request) -> Request {
    let mut request = template.clone();
    request.url = url.clone();
    request.kinds = Kinds::Any;
    request.limits.body_bytes_max = SITEMAP_BYTES_MAX;
    request.limits.refuse_large = false;
    request
}
