//! Sitemaps of a seed's host, as a source of more seeds.
//!
//! They are asked for under a lease of that host, one after another at the host's delay, and counted
//! nowhere. A sitemap may lie at another host if the robots.txt names it (that is how a site says that
//! it speaks for it); it is asked for under that host's own robots.txt and with a lease of that host. The
//! pages that are taken are those of the seed's host alone, wherever they are named.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use super::first_contact::note_where_it_stands;
use super::lease_task::{Done, Finished, Workbench};
use super::robots_task::{
    Asked, CRAWL_DELAY_MAX, PATIENCE, RobotsWays, ask_robots, delay_owed, unless_closing,
};
use crate::clock::Clock;
use crate::fetch::robots::{Origin, RobotsAnswer};
use crate::fetch::sitemap::{SITEMAP_BYTES_MAX, SITEMAP_URLS_MAX, Sitemap};
use crate::fetch::{Kinds, Outcome, Request, Source};
use crate::frontier::{HostLease, Lease, Spacing};
use crate::url::{CanonicalUrl, HostKey};

/// Sitemaps of one host, and redirects on the way to them, that are asked for.
const SITEMAPS_MAX: usize = 50;

impl<S: Source, C: Clock> Workbench<S, C> {
    /// Gets the sitemaps for a leased link whose robots.txt is known; the link is not asked for itself.
    pub(super) async fn sitemaps(
        self,
        lease: Lease,
        request: Request,
        answer: RobotsAnswer,
        ways: RobotsWays,
    ) -> Finished {
        let search = Search {
            source: self.source.as_ref(),
            clock: &self.clock,
            home: lease.host.host(),
            request: &request,
        };
        let pages = search.pages_of(&answer, ways).await;
        Finished {
            done: Done::Sitemaps(pages),
            at: self.clock.now(),
            url: request.url,
            lease,
        }
    }
}

/// A search through the sitemaps of a host.
pub(super) struct Search<'a, S, C> {
    pub(super) source: &'a S,
    pub(super) clock: &'a C,
    /// The leased host.
    pub(super) home: &'a HostKey,
    /// The request that the robots.txt was asked for.
    pub(super) request: &'a Request,
}

/// A sitemap to ask for.
struct Named {
    url: CanonicalUrl,
    /// The host of the index, or of the redirect, that names it; `None` if robots.txt does.
    by: Option<HostKey>,
}

impl<S: Source, C: Clock> Search<'_, S, C> {
    /// The pages that the sitemaps of `answer` name, each once, as far as they lie at the leased host.
    pub(super) async fn pages_of(
        &self,
        answer: &RobotsAnswer,
        mut ways: RobotsWays,
    ) -> Vec<CanonicalUrl> {
        let mut known = HashSet::new();
        let named = answer.sitemaps().into_iter();
        let mut waiting: VecDeque<Named> = named.map(|url| Named { url, by: None }).collect();
        let mut pages = Vec::new();
        let mut seen = HashSet::new();
        let mut asked = 0;
        while let Some(Named { url, by }) = waiting.pop_front() {
            let host = url.host_key();
            let is_home = host == *self.home;
            let speaks_for_us = by.is_none_or(|by| is_home || by == host);
            if !speaks_for_us || !known.insert(url.id()) {
                tracing::debug!(%url, "no sitemap that the site has named, or known");
                continue;
            }
            if asked == SITEMAPS_MAX || pages.len() >= SITEMAP_URLS_MAX {
                break;
            }
            asked += 1;
            let outcome = if is_home {
                self.at_home(&url, answer, &mut ways).await
            } else {
                self.elsewhere(&url, &host, &mut ways).await
            };
            if *ways.closing.borrow() {
                break;
            }
            match outcome {
                Some(Outcome::Response(response)) => {
                    let sitemap = Sitemap::parse(&response.body);
                    let more = sitemap.sitemaps.into_iter();
                    waiting.extend(more.map(|url| named_by(&host, url)));
                    let own = sitemap.pages.into_iter();
                    let own = own.filter(|page| page.host_key() == *self.home);
                    pages.extend(own.filter(|page| seen.insert(page.id())));
                }
                Some(Outcome::Redirect(redirect)) => {
                    waiting.push_front(named_by(&host, redirect.target));
                }
                Some(Outcome::Failure(failure)) => {
                    tracing::debug!(%url, %failure, "no sitemap");
                }
                None => tracing::debug!(%url, "no sitemap: it may not be asked for"),
            }
        }
        pages.truncate(SITEMAP_URLS_MAX);
        pages
    }

    /// Asks the leased host; `None` if it may not be asked.
    async fn at_home(
        &self,
        url: &CanonicalUrl,
        answer: &RobotsAnswer,
        ways: &mut RobotsWays,
    ) -> Option<Outcome> {
        if !answer.allows(url) {
            return None;
        }
        let asked_for = answer.crawl_delay().unwrap_or_default();
        let delay = ways.delay.max(asked_for.min(CRAWL_DELAY_MAX));
        self.rest(delay, ways).await?;
        Some(self.source.fetch(self.sitemap_request(url)).await)
    }

    /// Asks another host, as it wishes to be asked; `None` if it may not be asked, or not soon enough.
    async fn elsewhere(
        &self,
        url: &CanonicalUrl,
        host: &HostKey,
        ways: &mut RobotsWays,
    ) -> Option<Outcome> {
        let request = self.sitemap_request(url);
        note_where_it_stands(self.source, &ways.calendar, host, &request).await;
        let delay = delay_owed(&ways.cache, ways.delay, url, self.clock.now());
        let spacing = Spacing {
            delay,
            per_address: ways.per_address,
        };
        let patience = delay.saturating_add(PATIENCE);
        let leased = (ways.calendar).lease_within(host, self.clock, spacing, patience);
        let lease = unless_closing(&mut ways.closing, leased).await??;
        let outcome = self.under(&lease, &request, ways).await;
        let ended_at = self.clock.now();
        let delay = delay_owed(&ways.cache, ways.delay, url, ended_at);
        lease.release(ended_at, ended_at.after(delay));
        outcome
    }

    /// Asks another host that is leased, if its robots.txt, which may have to be asked for first, allows
    /// that.
    async fn under(
        &self,
        lease: &HostLease,
        request: &Request,
        ways: &mut RobotsWays,
    ) -> Option<Outcome> {
        let url = &request.url;
        let known = ways.cache.lookup(url, self.clock.now());
        let answer = if let Some(answer) = known {
            answer
        } else {
            let asked =
                ask_robots(self.source, self.clock, lease.host(), request, ways.clone()).await;
            let Asked::Answer(answer) = asked else {
                return None;
            };
            let now = self.clock.now();
            ways.cache.insert(Origin::of(url), answer.clone(), now);
            let delay = delay_owed(&ways.cache, ways.delay, url, now);
            self.rest(delay, ways).await?;
            answer
        };
        if !answer.allows(url) {
            return None;
        }
        Some(self.source.fetch(request.clone()).await)
    }

    async fn rest(&self, delay: Duration, ways: &mut RobotsWays) -> Option<()> {
        let rested = self.clock.sleep_until(self.clock.now().after(delay));
        unless_closing(&mut ways.closing, rested).await
    }

    fn sitemap_request(&self, url: &CanonicalUrl) -> Request {
        let mut request = self.request.clone();
        request.url = url.clone();
        request.kinds = Kinds::Any;
        request.recorder = None;
        request.limits.body_bytes_max = SITEMAP_BYTES_MAX;
        request.limits.refuse_large = false;
        request
    }
}

fn named_by(host: &HostKey, url: CanonicalUrl) -> Named {
    Named {
        url,
        by: Some(host.clone()),
    }
}
