//! Makes bookings: everything that one outcome changes, as plain data and without any I/O.

use super::lease_task::{JudgedPage, ReadPage};
use super::scope::{LinkView, Nofollow};
use super::spec::Tuning;
use crate::apprentice::{LinkScorer, SourceView};
use crate::booking::{
    Event, FailureBooking, Judgement, Kept, LeaseFacts, Likeness, LinkFact, PageBooking,
    RedirectBooking, Refusal, Withheld,
};
use crate::clock::Timestamp;
use crate::critic::Verdict;
use crate::fetch::{FetchError, Redirect, forbidden_port, robots_tag_directives};
use crate::frontier::{Frontier, Lease};
use crate::page::Link;
use crate::url::{CanonicalUrl, UrlId};

/// Whether a URL belongs to the world of this crawl (closed world of the lab).
pub(super) type WorldTest<'a> = &'a dyn Fn(&CanonicalUrl) -> bool;

/// What a link is held against when it is taken in.
pub(super) struct Intake<'a> {
    pub(super) tuning: &'a Tuning,
    pub(super) frontier: &'a Frontier,
    pub(super) in_world: WorldTest<'a>,
    /// What cached robots.txt rules say; taking a link in never fetches them.
    pub(super) robots_allow: WorldTest<'a>,
    /// Whether a path prefix of the link has brought too many copies.
    pub(super) is_worn_out: WorldTest<'a>,
}

impl Intake<'_> {
    /// Whether nothing but the scope can speak against the link.
    pub(super) fn admits(&self, url: &CanonicalUrl) -> bool {
        (self.in_world)(url) && self.refusal_beside_scope(url).is_none()
    }

    fn refusal(&self, link: &LinkView<'_>) -> Option<Refusal> {
        if !(self.in_world)(link.url) {
            return Some(Refusal::World);
        }
        self.tuning
            .scope
            .refusal(link)
            .or_else(|| self.refusal_beside_scope(link.url))
    }

    /// What speaks against a link that the scope takes.
    fn refusal_beside_scope(&self, url: &CanonicalUrl) -> Option<Refusal> {
        if url.to_url().is_ok_and(|url| forbidden_port(&url).is_some()) {
            return Some(Refusal::Address);
        }
        if self.frontier.host_given_up(&url.host_key()) {
            return Some(Refusal::HostGivenUp);
        }
        if !(self.robots_allow)(url) {
            return Some(Refusal::Robots);
        }
        (self.is_worn_out)(url).then_some(Refusal::Prefix)
    }
}

/// The facts of a lease that ended at `finished_at`.
pub(super) fn lease_facts(
    lease: &Lease,
    url: CanonicalUrl,
    finished_at: Timestamp,
    host_next_at: Timestamp,
) -> LeaseFacts {
    LeaseFacts {
        url,
        references: lease.references.clone(),
        depth: lease.depth,
        is_seed: lease.is_seed,
        priority: lease.priority,
        leased_at: lease.leased_at,
        finished_at,
        requests: lease.requests + 1,
        host_next_at,
    }
}

/// What is known of a page beside itself.
pub(super) struct Noted {
    pub(super) kept: Option<Box<Kept>>,
    pub(super) likeness: Likeness,
    pub(super) withheld: Option<Withheld>,
}

/// The booking of a judged page.
pub(super) fn of_page(
    facts: LeaseFacts,
    judged: JudgedPage,
    noted: Noted,
    scorer: &mut dyn LinkScorer,
    intake: &Intake<'_>,
) -> Event {
    let JudgedPage {
        read,
        verdict,
        sketch,
    } = judged;
    let ReadPage {
        response,
        page,
        evidence,
        body_bytes,
        body_digest,
        targets,
        hosts,
        kept: _,
        sketch: _,
    } = read;
    let scores = scorer.score(&SourceView {
        log_odds: verdict.log_odds,
        links: page.links.len(),
        sketch: sketch.as_deref(),
    });
    let tag = response.robots_tag.as_deref().unwrap_or_default();
    let by_page = page.meta.nofollow;
    let by_server = robots_tag_directives(tag).nofollow;
    let Noted {
        kept,
        likeness,
        withheld,
    } = noted;
    let is_copy = likeness.copy_of.is_some() && !intake.tuning.scope.follows_copies;
    let of_copy = is_copy.then_some(Refusal::Copy);
    let links = page.links.iter().zip(&targets).zip(&scores);
    let link = |((link, (target, host)), score): ((&Link, &(UrlId, u32)), &f32)| LinkFact {
        target: *target,
        host: *host,
        priority: *score,
        refusal: intake
            .refusal(&LinkView {
                url: &link.target,
                depth: facts.depth.saturating_add(1),
                nofollow: Nofollow {
                    by_link: link.nofollow,
                    by_page,
                    by_server,
                },
                near_focus: verdict.near_focus,
            })
            .or(of_copy),
    };
    let links = links.map(link).collect();
    Event::Page(PageBooking {
        lease: facts,
        status: response.status,
        content_type: response.content_type.unwrap_or_default(),
        body_bytes,
        body_digest,
        truncated: response.truncated,
        title: page.title,
        judgement: judgement(&verdict),
        links,
        hosts,
        links_dropped: page.links_dropped,
        frozen: None,
        evidence,
        kept,
        likeness,
        withheld,
    })
}

fn judgement(verdict: &Verdict) -> Judgement {
    let best = verdict.best.iter();
    Judgement {
        log_odds: verdict.log_odds,
        calibrated_log_odds: verdict.calibrated_log_odds,
        best: best
            .map(|score| (score.class.0, score.log_posterior))
            .collect(),
        near_focus: verdict.near_focus,
        version: verdict.version,
    }
}

/// The booking of a redirect.
pub(super) fn of_redirect(
    facts: LeaseFacts,
    redirect: Redirect,
    hops: u16,
    intake: &Intake<'_>,
) -> Event {
    let refusal = if hops > intake.tuning.redirects_max {
        Some(Refusal::Redirects)
    } else {
        intake.refusal(&LinkView {
            url: &redirect.target,
            depth: facts.depth,
            nofollow: Nofollow::default(),
            near_focus: true,
        })
    };
    // A seed was asked for by somebody: a depth of 0 is never too deep, but the scope still holds.
    Event::Redirect(RedirectBooking {
        lease: facts,
        status: redirect.status,
        target: redirect.target,
        hops,
        refusal,
        kept: None,
    })
}

/// The booking of a failure.
pub(super) fn of_failure(facts: LeaseFacts, error: &FetchError, is_final: bool) -> Event {
    Event::Failure(FailureBooking {
        lease: facts,
        cause: cause(error),
        message: error.to_string(),
        is_final,
        frozen: None,
        is_lesson: false,
        kept: None,
    })
}

/// What a failure is called: 404 and 500 are different troubles to whoever looks at the counts.
pub(super) fn cause(error: &FetchError) -> String {
    match error {
        FetchError::Status { code, .. } => format!("status-{code}"),
        error => error.name().to_owned(),
    }
}
