//! The figures of a crawl: the fold of its events into counters and the loss curve.
//!
//! Booked means flushed (DESIGN.md 4.6): the figures that people see are folded when the events are
//! durable, so that no curve ever shows what a crash could take back. What waits for the disk is
//! kept as a [`Tally`] an event.

use std::collections::{BTreeMap, BTreeSet};

use crate::booking::{CrawlState, Event, PageBooking, Refusal, Seq, Withheld};
use crate::clock::Timestamp;
use crate::critic::relevance_of;
use crate::measure::LossCurve;

/// What one event adds to the figures.
#[derive(Clone, Debug, PartialEq)]
pub enum Tally {
    /// A judged page.
    Page {
        /// R(v).
        relevance: f32,
        /// HTTP requests of its lease.
        requests: u32,
        /// When it was there.
        at: Timestamp,
        /// Links that were not taken in, by reason.
        refused: Vec<(Refusal, u32)>,
        /// It has the bytes of a page booked before.
        is_copy: bool,
        /// It has nearly the text of a page booked before.
        is_near_copy: bool,
        /// Why it is not to be kept.
        withheld: Option<Withheld>,
    },
    /// A failed fetch.
    Failure {
        /// The cause.
        cause: String,
        /// It counts as a lost page.
        is_final: bool,
        /// HTTP requests of its lease.
        requests: u32,
        /// When it was there.
        at: Timestamp,
    },
    /// A redirect.
    Redirect {
        /// HTTP requests of its lease.
        requests: u32,
    },
    /// A waiting link struck off.
    Refused(Refusal),
    /// So many waiting links had to go.
    Evicted(u64),
    /// The crawl's state.
    State(CrawlState, String),
    /// A robots.txt that could not be had: no fetch of a link, but a trouble that people look for.
    RobotsUnreachable,
    /// Marks of pages (whether each is in force), and the critic's version with them.
    Feedback(u64, Vec<(Seq, bool)>),
    /// An event that changes no figure.
    Nothing,
}

impl Tally {
    /// What `event` adds.
    pub fn of(event: &Event) -> Self {
        match event {
            Event::Page(page) => Self::of_page(page),
            Event::Failure(failure) => Self::Failure {
                cause: failure.cause.clone(),
                is_final: failure.is_final,
                requests: failure.lease.requests,
                at: failure.lease.finished_at,
            },
            Event::Redirect(redirect) => Self::Redirect {
                requests: redirect.lease.requests,
            },
            Event::Refused(refused) => Self::Refused(refused.refusal),
            Event::Evicted(evicted) => Self::Evicted(evicted.links.len() as u64),
            Event::State(state) => Self::State(state.state, state.reason.clone()),
            Event::HostFacts(facts) if facts.robots.starts_with("unreachable") => {
                Self::RobotsUnreachable
            }
            Event::Feedback(event) => {
                let marks = event.marks.iter();
                let marks = marks.map(|mark| (mark.page, mark.class.is_some()));
                Self::Feedback(event.version, marks.collect())
            }
            Event::HostFacts(_)
            | Event::Seeds(_)
            | Event::SpecChange(_)
            | Event::Readmitted(_)
            | Event::Epoch(_) => Self::Nothing,
        }
    }

    fn of_page(page: &PageBooking) -> Self {
        let mut refused: Vec<(Refusal, u32)> = Vec::new();
        for refusal in page.links.iter().filter_map(|link| link.refusal) {
            match refused.iter_mut().find(|(known, _)| *known == refusal) {
                Some((_, count)) => *count += 1,
                None => refused.push((refusal, 1)),
            }
        }
        #[allow(
            clippy::cast_possible_truncation,
            reason = "a relevance lies in [0, 1]; the curve keeps f32"
        )]
        Self::Page {
            relevance: relevance_of(page.judgement.log_odds) as f32,
            requests: page.lease.requests,
            at: page.lease.finished_at,
            refused,
            is_copy: page.likeness.copy_of.is_some(),
            is_near_copy: page.likeness.near_copy_of.is_some(),
            withheld: page.withheld,
        }
    }
}

/// The figures of a crawl.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// L(n).
    pub curve: LossCurve,
    /// Judged pages.
    pub pages: u64,
    /// Final failures.
    pub failures: u64,
    /// HTTP requests for links: redirect hops and retries included, robots.txt not.
    pub requests: u64,
    /// Redirects.
    pub redirects: u64,
    /// Pages with R >= 0.5.
    pub relevant: u64,
    /// Pages with the bytes of a page booked before.
    pub copies: u64,
    /// Pages with nearly the text of a page booked before, copies left out.
    pub near_copies: u64,
    /// L(n) with both counted as lost: what is had already is worth nothing.
    pub distinct: LossCurve,
    /// Failures by cause, those to be tried again and unreachable robots.txt files included.
    pub failures_by_cause: BTreeMap<String, u64>,
    /// Links not taken in or struck off, by reason.
    pub refused_by_reason: BTreeMap<&'static str, u64>,
    /// Pages that say that they are not to be kept, by what they say.
    pub withheld: BTreeMap<&'static str, u64>,
    /// The state last booked, and its reason.
    pub state: (CrawlState, String),
    /// When the last counted fetch was there.
    pub last_at: Option<Timestamp>,
    /// The version of the critic that marks have made; `None` before the first one.
    pub critic_version: Option<u64>,
    /// Pages whose marks are in force.
    pub marks: BTreeSet<Seq>,
}

impl Progress {
    /// L(n), with copies counted as lost or not.
    pub fn loss_curve(&self, copies_lost: bool) -> &LossCurve {
        if copies_lost {
            &self.distinct
        } else {
            &self.curve
        }
    }

    /// Takes in one event.
    pub fn add(&mut self, tally: &Tally) {
        match tally {
            Tally::Page {
                relevance,
                requests,
                at,
                refused,
                is_copy,
                is_near_copy,
                withheld,
            } => {
                if let Some(withheld) = withheld {
                    *self.withheld.entry(withheld.name()).or_default() += 1;
                }
                self.copies += u64::from(*is_copy);
                self.near_copies += u64::from(*is_near_copy);
                let is_had = *is_copy || *is_near_copy;
                self.distinct.push(if is_had { 0.0 } else { *relevance });
                self.curve.push(*relevance);
                self.pages += 1;
                self.relevant += u64::from(*relevance >= 0.5);
                // `requests` of a lease counts those before a retry as well; retries were added
                // when they were booked.
                self.requests += u64::from(*requests > 0);
                self.last_at = Some(*at);
                for (refusal, count) in refused {
                    *self.refused_by_reason.entry(refusal.name()).or_default() += u64::from(*count);
                }
            }
            Tally::Failure {
                cause,
                is_final,
                requests,
                at,
            } => {
                self.requests += u64::from(*requests > 0);
                *self.failures_by_cause.entry(cause.clone()).or_default() += 1;
                if *is_final {
                    self.curve.push(0.0);
                    self.distinct.push(0.0);
                    self.failures += 1;
                    self.last_at = Some(*at);
                }
            }
            Tally::Redirect { requests } => {
                self.redirects += 1;
                self.requests += u64::from(*requests > 0);
            }
            Tally::Refused(refusal) => {
                *self.refused_by_reason.entry(refusal.name()).or_default() += 1;
            }
            Tally::Evicted(links) => {
                let name = Refusal::Evicted.name();
                *self.refused_by_reason.entry(name).or_default() += links;
            }
            Tally::State(state, reason) => self.state = (*state, reason.clone()),
            Tally::RobotsUnreachable => {
                let cause = "robots-unreachable".to_owned();
                *self.failures_by_cause.entry(cause).or_default() += 1;
            }
            Tally::Feedback(version, marks) => {
                self.critic_version = Some(*version);
                for (page, in_force) in marks {
                    if *in_force {
                        self.marks.insert(*page);
                    } else {
                        self.marks.remove(page);
                    }
                }
            }
            Tally::Nothing => {}
        }
    }

    /// Fetches that count.
    pub fn fetched(&self) -> u64 {
        self.pages + self.failures
    }
}
