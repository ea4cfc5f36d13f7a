//! What comes back: pages and redirects go into the archive, failures into the notes or to the next
//! try.

use std::sync::Arc;
use std::time::Duration;

use super::CollectError;
use super::agenda::Job;
use super::collector::{Came, Collector, Done};
use super::ledger::{Fate, REDIRECTS_MAX};
use super::notes::Note;
use crate::archive::StoredAnswer;
use crate::clock::{Clock, Timestamp};
use crate::crawl::Asked;
use crate::fetch::robots::{Origin, RobotsAnswer};
use crate::fetch::{FetchError, GiveUp, Outcome, Redirect, Response, Source};
use crate::frontier::HostLease;
use crate::page::DocumentKind;
use crate::url::{CanonicalUrl, HostKey};

/// So often in a row the proxy may fail one request.
const PROXY_TRIES_MAX: u32 = 4;
/// So often in a row a robots.txt may not be had; then its origin is left to the next start.
const ROBOTS_TRIES_MAX: u32 = 3;

impl<S: Source, C: Clock> Collector<S, C> {
    pub(super) fn take(&mut self, done: Done) -> Result<(), CollectError> {
        let Done {
            lease,
            job,
            came,
            at,
        } = done;
        let host = lease.host().clone();
        if let Some(address) = self.source.address_of(&host) {
            self.calendar.note_address(&host, address);
        }
        if let Came::Answer(_) = &came {
            self.report.requests += 1;
        }
        let next_at = match came {
            Came::Crowded => {
                lease.release_unasked();
                self.agenda.put_back(job);
                at
            }
            Came::Robots(asked) => self.take_robots(lease, job, asked, at)?,
            Came::Answer(Outcome::Failure(error)) => self.take_failure(lease, job, &error, at)?,
            Came::Answer(Outcome::Response(response)) => {
                let next_at = self.rest(lease, &job, at);
                self.take_page(job, &response, at)?;
                next_at
            }
            Came::Answer(Outcome::Redirect(redirect)) => {
                let next_at = self.rest(lease, &job, at);
                self.take_redirect(job, redirect, at)?;
                next_at
            }
        };
        self.agenda.return_host(host, next_at);
        self.agenda.unblock(at);
        Ok(())
    }

    /// Gives the host back after a request; when it may be asked again.
    fn rest(&self, lease: HostLease, job: &Job, at: Timestamp) -> Timestamp {
        let next_at = at.after(self.delay_owed(&job.url));
        lease.release(at, next_at);
        next_at
    }

    fn take_robots(
        &mut self,
        lease: HostLease,
        job: Job,
        asked: Asked,
        at: Timestamp,
    ) -> Result<Timestamp, CollectError> {
        let origin = Origin::of(&job.url);
        let host = lease.host().clone();
        match asked {
            Asked::NotAsked => {
                let next_at = self.rest(lease, &job, at);
                self.agenda.put_back(job);
                Ok(next_at)
            }
            Asked::Forbidden(address) => {
                // Nothing was sent.
                lease.release(at, at);
                let words = FetchError::Address(address).to_string();
                self.agenda.put_back(job);
                self.give_up(&host, origin, "address", &words, false, at)?;
                Ok(at)
            }
            Asked::Answer(answer) => {
                let next_at = self.rest(lease, &job, at);
                let url = job.url.clone();
                self.agenda.put_back(job);
                self.learn_robots(&host, &url, answer, at)?;
                Ok(next_at)
            }
        }
    }

    /// Keeps the answer, and leaves an origin to the next start whose robots.txt cannot be had soon.
    fn learn_robots(
        &mut self,
        host: &HostKey,
        url: &CanonicalUrl,
        answer: RobotsAnswer,
        at: Timestamp,
    ) -> Result<(), CollectError> {
        let origin = Origin::of(url);
        let trouble = answer.trouble().map(str::to_owned);
        let (cause, retry_after) = (cause_of_robots(&answer), answer.retry_after());
        if let Some(error @ FetchError::Proxy(_)) = answer.failure() {
            return Err(CollectError::Proxy(error.to_string()));
        }
        let until = self.robots.insert(origin.clone(), answer, at);
        let Some(trouble) = trouble else {
            return Ok(());
        };
        tracing::info!(%origin, trouble, "no robots.txt");
        let tries = self.robots.standing(url).map_or(0, |(_, times)| times);
        if tries >= ROBOTS_TRIES_MAX || self.is_too_long(until, Duration::ZERO, at) {
            self.give_up(host, origin, &cause, &trouble, false, at)?;
        }
        if let Some(wait) = retry_after {
            // It speaks of the host, not of the file alone.
            self.hold(host, &cause, at.after(wait), at)?;
        }
        Ok(())
    }

    fn take_page(
        &mut self,
        job: Job,
        response: &Response,
        at: Timestamp,
    ) -> Result<(), CollectError> {
        let content_type = response.content_type.as_deref();
        if DocumentKind::of(content_type, &response.body).is_none() {
            let error =
                FetchError::ContentType(DocumentKind::refused_as(content_type, &response.body));
            return self.lose(job.url, error.name(), &error.to_string(), true, at);
        }
        let tags = response.robots_tag.as_deref().unwrap_or_default().lines();
        let headers: Vec<(String, String)> = content_type
            .map(|content_type| ("Content-Type", content_type))
            .into_iter()
            .chain(tags.map(|tag| ("X-Robots-Tag", tag)))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        self.output.write_answer(&StoredAnswer {
            url: &job.url,
            fetched: at,
            status: response.status,
            headers: &headers,
            body: &response.body,
        })?;
        self.report.pages += 1;
        self.settled += 1;
        self.output.ledger.set(job.url, Fate::Page);
        Ok(())
    }

    /// The redirect is an answer of its own; its target is asked for like any other URL.
    fn take_redirect(
        &mut self,
        job: Job,
        redirect: Redirect,
        at: Timestamp,
    ) -> Result<(), CollectError> {
        let location = redirect.target.as_str().to_owned();
        self.output.write_answer(&StoredAnswer {
            url: &job.url,
            fetched: at,
            status: redirect.status,
            headers: &[("Location".to_owned(), location)],
            body: b"",
        })?;
        self.report.redirects += 1;
        let target = redirect.target.clone();
        self.output
            .ledger
            .set(job.url, Fate::Redirect(redirect.target));
        if job.hops < REDIRECTS_MAX && !self.output.ledger.knows(&target) {
            self.agenda.add(target, job.hops + 1, at);
        } else {
            self.settled += 1;
        }
        Ok(())
    }

    /// Acts on the table of policies; when the host may be asked again.
    fn take_failure(
        &mut self,
        lease: HostLease,
        mut job: Job,
        error: &FetchError,
        at: Timestamp,
    ) -> Result<Timestamp, CollectError> {
        if matches!(error, FetchError::Proxy(_)) && job.tries + 1 >= PROXY_TRIES_MAX {
            return Err(CollectError::Proxy(error.to_string()));
        }
        let host = lease.host().clone();
        let delay = self.delay_owed(&job.url);
        let cause = cause_of(error);
        let wait = error.retry_wait(job.tries);
        // Retry-After speaks of the host, so that it holds after the last try as well.
        let host_wait = wait.max(error.retry_after()).unwrap_or_default();
        let next_at = at.after(delay.max(host_wait));
        lease.release(at, next_at);
        let is_long = self.is_too_long(next_at, delay, at);
        if wait.is_some() && !is_long {
            job.tries += 1;
            self.agenda.put_back(job);
            return Ok(next_at);
        }
        let policy = error.policy();
        // Another start may allow the address.
        let for_good = policy.retries == 0 && !matches!(error, FetchError::Address(_));
        let origin = Origin::of(&job.url);
        self.lose(job.url, &cause, &error.to_string(), for_good, at)?;
        if wait.is_none() && policy.give_up == GiveUp::Host {
            self.give_up(&host, origin, &cause, &error.to_string(), for_good, at)?;
        }
        self.hold(&host, &cause, next_at, at)?;
        Ok(next_at)
    }

    /// Asks no more of an origin (not of a host: `https` of it may be broken and `http` not).
    fn give_up(
        &mut self,
        host: &HostKey,
        origin: Origin,
        cause: &str,
        detail: &str,
        for_good: bool,
        at: Timestamp,
    ) -> Result<(), CollectError> {
        for job in self.agenda.drop_jobs(host, Some(&origin)) {
            self.lose(job.url, cause, detail, for_good, at)?;
        }
        self.given_up.insert(origin, (Arc::from(cause), for_good));
        Ok(())
    }

    /// Leaves the host alone until then. If that is long, what is queued there is left to the next
    /// start, which is told of the hold, however soon it comes.
    fn hold(
        &mut self,
        host: &HostKey,
        cause: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), CollectError> {
        self.calendar.hold_until(host, until);
        if !self.is_too_long(until, self.params.delay, now) {
            return Ok(());
        }
        self.leave_host(host, cause, now)?;
        self.output.write_note(&Note::Held {
            host: host.as_str().to_owned(),
            until_ms: until.0,
            cause: cause.to_owned(),
        })
    }
}

/// The cause as it is counted: statuses one by one.
fn cause_of(error: &FetchError) -> String {
    match error {
        FetchError::Status { code, .. } => format!("status {code}"),
        error => error.name().to_owned(),
    }
}

/// The cause as it is counted for URLs whose robots.txt cannot be had: a dead host is called one.
fn cause_of_robots(answer: &RobotsAnswer) -> String {
    match answer.failure() {
        Some(error) if error.policy().give_up == GiveUp::Host => cause_of(error),
        Some(error) => format!("robots.txt: {}", cause_of(error)),
        None => "robots.txt: no answer".to_owned(),
    }
}
