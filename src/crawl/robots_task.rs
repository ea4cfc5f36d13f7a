//! Asking for a robots.txt, whose redirects are followed as politely as pages are fetched.
//!
//! Whoever asks holds the lease of the host that the file is for. A redirect within that host waits for
//! the host's delay; one to another host takes a lease of that host for its one request, so that
//! nowhere two requests are under way, or follow each other too soon, because of a redirect.

use std::net::IpAddr;
use std::time::Duration;

use tokio::sync::watch;

use super::first_contact::{finds_room, note_where_it_stands};
use super::lease_task::{Done, Finished, Workbench};
use super::sitemap_task::Search;
use crate::clock::{Clock, Timestamp};
use crate::fetch::robots::{
    Hop, Origin, ROBOTS_REDIRECTS_MAX, RobotsAnswer, RobotsCache, robots_hop,
};
use crate::fetch::{FetchError, Request, Source};
use crate::frontier::{HostCalendar, Lease, Spacing};
use crate::url::{CanonicalUrl, HostKey};

/// Crawl-delay is honoured up to this; a longer one is a mistake or a wish not to be crawled.
pub(super) const CRAWL_DELAY_MAX: Duration = Duration::from_mins(1);
/// Another host is waited for so much longer than its delay; then the file is unreachable. Two hosts
/// that send each other's askers to and fro would else wait for each other forever.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// The delay owed to the host of `url`: the crawl's `own`, or its robots.txt's if that is longer.
pub fn delay_owed(
    cache: &RobotsCache,
    own: Duration,
    url: &CanonicalUrl,
    now: Timestamp,
) -> Duration {
    let asked = cache
        .lookup(url, now)
        .and_then(|answer| answer.crawl_delay())
        .unwrap_or_default();
    own.max(asked.min(CRAWL_DELAY_MAX))
}

/// What following redirects takes besides a source and a clock.
#[derive(Clone)]
pub struct RobotsWays {
    /// Lends the hosts that redirects lead to.
    pub calendar: HostCalendar,
    /// Knows the delays that hosts ask for.
    pub cache: RobotsCache,
    /// The crawl's own delay.
    pub delay: Duration,
    /// Requests at once, and a delay, to all hosts behind one address together.
    pub per_address: u32,
    /// Becomes true when the crawl is shut down: then nothing is waited for any more.
    pub closing: watch::Receiver<bool>,
}

/// What came of asking for a robots.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// What holds for the origin.
    Answer(RobotsAnswer),
    /// The guard forbids the host itself: nothing was asked, and nothing is known of it.
    Forbidden(IpAddr),
    /// The crawl was shut down while redirects waited for their hosts.
    NotAsked,
}

impl<S: Source, C: Clock> Workbench<S, C> {
    /// Gets the robots.txt for the leased link, which is not asked for itself.
    /// Then, with `sitemaps`, for the sitemaps that it names.
    pub(super) async fn robots(
        self,
        mut lease: Lease,
        request: Request,
        ways: RobotsWays,
        sitemaps: bool,
    ) -> Finished {
        let spacing = Spacing {
            delay: ways.delay,
            per_address: ways.per_address,
        };
        let source = self.source.as_ref();
        if !finds_room(source, &self.clock, &mut lease.host, &request, spacing).await {
            return self.crowded(lease, request.url);
        }
        let home = lease.host.host();
        let asked = ask_robots(source, &self.clock, home, &request, ways.clone()).await;
        let done = match asked {
            Asked::Answer(answer) if sitemaps => {
                let search = Search {
                    source,
                    clock: &self.clock,
                    home,
                    request: &request,
                };
                let pages = search.pages_of(&answer, ways).await;
                Done::Robots(answer, pages)
            }
            Asked::Answer(answer) => Done::Robots(answer, Vec::new()),
            Asked::Forbidden(address) => Done::Failure(FetchError::Address(address), None),
            Asked::NotAsked => Done::NotAsked,
        };
        Finished {
            lease,
            url: request.url,
            done,
            at: self.clock.now(),
        }
    }
}

/// Gets the robots.txt that holds for the URL of `request`, which is not asked for itself, with the
/// user agent, limits and guard of `request`. The caller holds the lease of `home`, the URL's host.
pub async fn ask_robots<S: Source, C: Clock>(
    source: &S,
    clock: &C,
    home: &HostKey,
    request: &Request,
    ways: RobotsWays,
) -> Asked {
    let walk = Walk {
        source,
        clock,
        home,
        request,
    };
    walk.follow(ways).await
}

/// On the way to a robots.txt.
struct Walk<'a, S, C> {
    source: &'a S,
    clock: &'a C,
    /// The leased host.
    home: &'a HostKey,
    request: &'a Request,
}

impl<S: Source, C: Clock> Walk<'_, S, C> {
    async fn follow(&self, mut ways: RobotsWays) -> Asked {
        let Ok(robots_url) = Origin::of(&self.request.url).robots_url() else {
            return Asked::Answer(RobotsAnswer::UNREACHABLE);
        };
        let mut hop = robots_hop(self.source, robots_url, self.request).await;
        if let Hop::Forbidden(address) = hop {
            return Asked::Forbidden(address);
        }
        // When the leased host was last asked.
        let mut asked_at = self.clock.now();
        for _ in 0..ROBOTS_REDIRECTS_MAX {
            let url = match hop {
                Hop::Answer(answer) => return Asked::Answer(answer),
                Hop::Redirect(target) => target,
                // A redirect that is not permitted must not become a permission.
                Hop::Forbidden(address) => return Asked::Answer(led_astray(address)),
            };
            let next = if url.host_key() == *self.home {
                let next = self.hop_at_home(url, asked_at, &mut ways).await;
                asked_at = self.clock.now();
                next
            } else {
                self.hop_elsewhere(url, &mut ways).await
            };
            let Some(next) = next else {
                if *ways.closing.borrow() {
                    return Asked::NotAsked;
                }
                tracing::debug!(url = %self.request.url, "redirects of robots.txt lead to a busy host");
                return Asked::Answer(RobotsAnswer::UNREACHABLE);
            };
            hop = next;
        }
        Asked::Answer(match hop {
            Hop::Answer(answer) => answer,
            Hop::Redirect(_) => RobotsAnswer::AllowAll,
            Hop::Forbidden(address) => led_astray(address),
        })
    }

    /// A hop within the leased host, which was last asked at `asked_at`; `None` if it may not be made.
    async fn hop_at_home(
        &self,
        url: CanonicalUrl,
        asked_at: Timestamp,
        ways: &mut RobotsWays,
    ) -> Option<Hop> {
        let delay = delay_owed(&ways.cache, ways.delay, &url, self.clock.now());
        let rested = self.clock.sleep_until(asked_at.after(delay));
        unless_closing(&mut ways.closing, rested).await?;
        if ways.is_parked(&url, self.clock.now()) {
            return None;
        }
        Some(robots_hop(self.source, url, self.request).await)
    }

    /// A hop to a host that is leased for it; `None` if it may not be made, or not soon enough.
    async fn hop_elsewhere(&self, url: CanonicalUrl, ways: &mut RobotsWays) -> Option<Hop> {
        let delay = delay_owed(&ways.cache, ways.delay, &url, self.clock.now());
        let patience = delay.saturating_add(PATIENCE);
        let host = url.host_key();
        let spacing = Spacing {
            delay,
            per_address: ways.per_address,
        };
        let mut template = self.request.clone();
        template.url = url.clone();
        note_where_it_stands(self.source, &ways.calendar, &host, &template).await;
        let leased = (ways.calendar).lease_within(&host, self.clock, spacing, patience);
        let other = unless_closing(&mut ways.closing, leased).await??;
        if ways.is_parked(&url, self.clock.now()) {
            return None;
        }
        let hop = robots_hop(self.source, url, self.request).await;
        let ended_at = self.clock.now();
        let asked_for = match &hop {
            Hop::Answer(answer) => answer.retry_after(),
            Hop::Redirect(_) | Hop::Forbidden(_) => None,
        };
        let rest = delay.max(asked_for.unwrap_or_default());
        other.release(ended_at, ended_at.after(rest));
        Some(hop)
    }
}

/// A robots.txt that redirects to an address which the guard forbids.
fn led_astray(address: IpAddr) -> RobotsAnswer {
    let error = FetchError::Address(address);
    RobotsAnswer::Unreachable {
        retry_after: None,
        cause: Some(format!("robots.txt leads elsewhere: {error}").into()),
        failure: None,
    }
}

impl RobotsWays {
    /// Whether the own robots.txt of this URL's origin could not be had a short time ago: a host that
    /// was given up is not held by the calendar, and is to be left alone all the same.
    fn is_parked(&self, url: &CanonicalUrl, now: Timestamp) -> bool {
        let known = self.cache.lookup(url, now);
        matches!(known, Some(RobotsAnswer::Unreachable { .. }))
    }
}

/// What `wait` gives; `None` if the crawl is shut down before.
pub(super) async fn unless_closing<T>(
    closing: &mut watch::Receiver<bool>,
    wait: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        _ = closing.wait_for(|closing| *closing) => None,
        given = wait => Some(given),
    }
}
