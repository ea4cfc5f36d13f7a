//! What comes back: the engine turns each outcome into a booking.

use std::time::Duration;

use super::book::{self, Intake, Noted};
use super::engine::Engine;
use super::error::EngineError;
use super::judging::Unjudged;
use super::labels;
use super::lease_task::{Done, Finished, JudgedPage};
use super::parts::{Pace, RobotsPolicy};
use super::robots_task::delay_owed;
use crate::apprentice::LinkScorer;
use crate::archive::KeptPage;
use crate::booking::{Event, HostFacts, LeaseFacts, Refusal, SeedsEvent};
use crate::clock::{Clock, Timestamp};
use crate::fetch::robots::{Origin, RobotsAnswer};
use crate::fetch::{FetchError, GiveUp, Source};
use crate::frontier::Lease;
use crate::url::CanonicalUrl;

/// A fetch that brought no page.
struct Failed {
    url: CanonicalUrl,
    error: FetchError,
    /// Of its exchange, if there was one and it is kept.
    records: Option<Box<KeptPage>>,
}

/// The priority of what a sitemap names: log odds of 0, for nothing is known of it.
const SITEMAP_PRIORITY: f32 = 0.0;

impl<S: Source, C: Clock> Engine<S, C> {
    pub(super) fn take_finished(&mut self, finished: Finished) -> Result<(), EngineError> {
        if self.pace == Pace::Live {
            self.out.remove(&finished.lease.number);
            return self.book(finished);
        }
        self.early.insert(finished.lease.number, finished);
        Ok(())
    }

    /// In a replay: books the outcome whose turn it is, if it is there. One at a time, so that leases
    /// are made after each booking, however many outcomes have come by then.
    pub(super) fn book_next_in_turn(&mut self) -> Result<bool, EngineError> {
        let Some(entry) = self.early.first_entry() else {
            return Ok(false);
        };
        if self.out.first() != Some(entry.key()) {
            return Ok(false);
        }
        let (number, finished) = entry.remove_entry();
        self.out.remove(&number);
        self.book(finished)?;
        Ok(true)
    }

    fn book(&mut self, finished: Finished) -> Result<(), EngineError> {
        let Finished {
            lease,
            url,
            done,
            at: finished_at,
        } = finished;
        let host = lease.host.host();
        if let Some(address) = self.bench.source.address_of(host) {
            self.calendar.note_address(host, address);
        }
        let growth = self.spec.tuning.delay_growth;
        let delay = growth.grown(self.delay_of(&url), done.answer_time());
        let next_at = finished_at.after(delay);
        let number = lease.number;
        match done {
            Done::NotAsked => self.frontier.give_back(lease, finished_at, next_at),
            Done::Crowded => self.frontier.put_back_unasked(lease),
            Done::Robots(answer, pages) => {
                self.book_robots(lease, &url, &answer, finished_at);
                self.take_in_from_sitemaps(pages, finished_at);
            }
            Done::Sitemaps(pages) => {
                self.frontier.give_back(lease, finished_at, next_at);
                self.take_in_from_sitemaps(pages, finished_at);
            }
            Done::Page(page) => {
                let facts = book::lease_facts(&lease, url, finished_at, next_at);
                lease.host.release(finished_at, next_at);
                self.book_judged(number, facts, *page)?;
            }
            // The host goes back at once: how long the judge takes is nothing to others.
            Done::Read(page) => {
                let (read, shown) = *page;
                let facts = book::lease_facts(&lease, url, finished_at, next_at);
                lease.host.release(finished_at, next_at);
                self.judging.push(Unjudged {
                    lease: number,
                    facts,
                    read,
                    shown,
                });
                // What was prepared is learned when the verdict comes.
                return Ok(());
            }
            Done::Redirect(redirect, records) => {
                let facts = book::lease_facts(&lease, url, finished_at, next_at);
                let hops = lease.hops.saturating_add(1);
                let kept =
                    self.keep_other(records, &facts, &format!("status-{}", redirect.status))?;
                let mut event =
                    self.with_intake(|intake, _| book::of_redirect(facts, redirect, hops, intake));
                lease.host.release(finished_at, next_at);
                if let Event::Redirect(redirect) = &mut event {
                    redirect.kept = kept;
                    self.note_redirect(redirect);
                }
                self.append(event);
            }
            Done::Failure(error, records) => {
                let failed = Failed {
                    url,
                    error,
                    records,
                };
                self.book_failure(lease, failed, finished_at, next_at)?;
            }
        }
        self.forget_prepared(number);
        Ok(())
    }

    /// A page has its verdict: it is booked, and what led to it learns from it.
    pub(super) fn book_judged(
        &mut self,
        lease: u64,
        facts: LeaseFacts,
        mut judged: JudgedPage,
    ) -> Result<(), EngineError> {
        self.trouble = None;
        let sketch = judged.sketch.clone();
        let read = &judged.read;
        let likeness = (self.copies).likeness(read.body_bytes, read.body_digest, read.sketch);
        let withheld = self.withheld(read);
        let kept = self.keep(&mut judged, &facts, likeness.copy_of, withheld)?;
        let noted = Noted {
            kept,
            likeness,
            withheld,
        };
        let prepared = self.take_prepared(lease, &facts)?;
        let mut event =
            self.with_intake(|intake, scorer| book::of_page(facts, judged, noted, scorer, intake));
        let mut label = labels::LOST;
        if let Event::Page(page) = &mut event {
            page.frozen = prepared.frozen.clone().map(Box::new);
            label = self.spec.labels.of_page(&page.judgement);
        }
        let seq = self.append(event);
        Ok(self.learn(&prepared, seq, label, sketch)?)
    }

    fn book_failure(
        &mut self,
        lease: Lease,
        failed: Failed,
        finished_at: Timestamp,
        next_at: Timestamp,
    ) -> Result<(), EngineError> {
        let Failed {
            url,
            error,
            records,
        } = failed;
        if matches!(error, FetchError::Address(_)) {
            self.refuse(lease, url, Refusal::Address, finished_at);
            return Ok(());
        }
        let wait = error.retry_wait(lease.requests);
        // Retry-After speaks of the host, so that it holds after the last try as well.
        let wait_of_host = wait.max(error.retry_after());
        let next_at = wait_of_host.map_or(next_at, |wait| next_at.max(finished_at.after(wait)));
        let facts = book::lease_facts(&lease, url, finished_at, next_at);
        tracing::debug!(url = %facts.url, cause = error.name(), %error, "fetch failed");
        let prepared = match wait {
            None => Some(self.take_prepared(lease.number, &facts)?),
            Some(_) => None,
        };
        // Of what is tried again only the last answer is kept.
        let records = records.filter(|_| wait.is_none());
        let kept = self.keep_other(records, &facts, &book::cause(&error))?;
        let mut event = book::of_failure(facts, &error, wait.is_none());
        let is_lesson = prepared.is_some() && self.spec.labels.teaches(&error);
        if let Event::Failure(failure) = &mut event {
            let frozen = prepared.as_ref().and_then(|known| known.frozen.clone());
            failure.frozen = frozen.map(Box::new);
            failure.is_lesson = is_lesson && failure.frozen.is_some();
            failure.kept = kept;
        }
        let gives_up_host = wait.is_none() && error.policy().give_up == GiveUp::Host;
        let host = lease.host.host().clone();
        lease.host.release(finished_at, next_at);
        self.append(event);
        if gives_up_host {
            self.append(Event::HostFacts(HostFacts {
                host,
                next_at,
                robots: String::new(),
                crawl_delay_ms: None,
                given_up: true,
                at: finished_at,
            }));
        }
        match prepared {
            Some(prepared) => Ok(self.lose(&prepared, is_lesson)?),
            None => Ok(()),
        }
    }

    fn book_robots(
        &mut self,
        lease: Lease,
        url: &CanonicalUrl,
        answer: &RobotsAnswer,
        at: Timestamp,
    ) {
        let RobotsPolicy::Obey(cache) = &self.robots else {
            return self.frontier.give_back(lease, at, at);
        };
        cache.insert(Origin::of(url), answer.clone(), at);
        // After a month without an answer there is taken to be no file.
        let answer = &cache.lookup(url, at).unwrap_or_else(|| answer.clone());
        if let Some(cause) = answer.trouble() {
            tracing::warn!(crawl = self.spec.name, host = %lease.host.host(), cause, "no robots.txt");
        }
        let (until, failures) = cache.standing(url).unwrap_or((at, 0));
        let is_away = matches!(answer, RobotsAnswer::Unreachable { .. });
        let given_up = is_away && failures >= self.spec.tuning.robots_tries_max;
        let next_at = match answer {
            RobotsAnswer::Unreachable { .. } => until,
            RobotsAnswer::Rules(_) | RobotsAnswer::AllowAll => at.after(self.delay_of(url)),
        };
        let facts = HostFacts {
            host: lease.host.host().clone(),
            next_at,
            robots: match answer.trouble() {
                Some(cause) => format!("{}: {cause}", answer.name()),
                None => answer.name().to_owned(),
            },
            crawl_delay_ms: answer
                .crawl_delay()
                .and_then(|delay| u64::try_from(delay.as_millis()).ok()),
            given_up,
            at,
        };
        let next_at = if given_up { at } else { next_at };
        self.frontier.give_back(lease, at, next_at);
        self.note_trouble(url, answer);
        self.append(Event::HostFacts(HostFacts { next_at, ..facts }));
    }

    /// The pages of a host's sitemaps are seeds, within the scope, but nobody's first choice.
    fn take_in_from_sitemaps(&mut self, pages: Vec<CanonicalUrl>, at: Timestamp) {
        let mut urls = pages;
        let scope = self.spec.tuning.scope.clone();
        urls.retain(|url| scope.covers(url) && self.frontier.takes(url) && self.admits(url));
        if !urls.is_empty() {
            self.append(Event::Seeds(SeedsEvent {
                urls,
                priority: SITEMAP_PRIORITY,
                at,
            }));
        }
    }

    /// Keeps the words on a robots.txt that could not be had, for the status.
    pub(super) fn note_trouble(&mut self, url: &CanonicalUrl, answer: &RobotsAnswer) {
        if let Some(cause) = answer.trouble() {
            self.trouble = Some(format!("robots.txt of {}: {cause}", url.host_key()));
        }
    }

    /// The delay owed to the host of `url`: the spec's, or its robots.txt's if that is longer.
    fn delay_of(&self, url: &CanonicalUrl) -> Duration {
        let own = self.spec.tuning.delay;
        let RobotsPolicy::Obey(cache) = &self.robots else {
            return own;
        };
        delay_owed(cache, own, url, self.bench.clock.now())
    }

    /// Whether a path prefix of the URL has brought too many copies.
    pub(super) fn is_worn_out(&self, url: &CanonicalUrl) -> bool {
        let copies_max = self.spec.tuning.scope.prefix_copies_max;
        copies_max.is_some_and(|max| self.copies.prefixes.are_spent(url, max))
    }

    /// Whether nothing but the scope can speak against the URL.
    pub(super) fn admits(&mut self, url: &CanonicalUrl) -> bool {
        self.with_intake(|intake, _| intake.admits(url))
    }

    fn with_intake<T>(&mut self, make: impl FnOnce(&Intake<'_>, &mut dyn LinkScorer) -> T) -> T {
        let now = self.bench.clock.now();
        let world = self.world.as_deref();
        let robots = &self.robots;
        let prefixes = &self.copies.prefixes;
        let copies_max = self.spec.tuning.scope.prefix_copies_max;
        let intake = Intake {
            tuning: &self.spec.tuning,
            frontier: &self.frontier,
            in_world: &|url| world.is_none_or(|contains| contains(url)),
            robots_allow: &|url| match robots {
                RobotsPolicy::Obey(cache) => match cache.lookup(url, now) {
                    Some(RobotsAnswer::Rules(rules)) => rules.allows(url),
                    _ => true,
                },
                RobotsPolicy::Ignore => true,
            },
            is_worn_out: &|url| copies_max.is_some_and(|max| prefixes.are_spent(url, max)),
        };
        make(&intake, self.scorer.as_mut())
    }
}
