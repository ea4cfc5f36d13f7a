//! The loop: sends requests out to hosts whose time has come, and takes what comes back.
//!
//! One task a request, holding the lease of its host. The loop itself owns archive, notes and agenda
//! and writes between two waits, a record at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::CollectError;
use super::agenda::{Agenda, Job};
use super::ledger::{Fate, Standing};
use super::notes::Note;
use super::output::Output;
use super::params::CollectParams;
use super::report::{Progress, Report};
use crate::clock::{Clock, Timestamp};
use crate::crawl::{Asked, RobotsWays, ask_robots, delay_owed, finds_room};
use crate::fetch::robots::{Origin, RobotsAnswer, RobotsCache};
use crate::fetch::{Outcome, Source};
use crate::frontier::{Held, HostCalendar, HostLease, Spacing};
use crate::url::{CanonicalUrl, HostKey};

/// Collects URLs into an archive.
pub struct Collector<S, C> {
    pub(super) source: Arc<S>,
    pub(super) clock: C,
    pub(super) params: CollectParams,
    pub(super) output: Output,
    wanted: Vec<CanonicalUrl>,
    pub(super) agenda: Agenda,
    pub(super) calendar: HostCalendar,
    pub(super) robots: RobotsCache,
    /// Origins that nothing more is asked of, for this cause; `true` for good.
    pub(super) given_up: BTreeMap<Origin, (Arc<str>, bool)>,
    pub(super) report: Report,
    pub(super) settled: usize,
    closing: watch::Receiver<bool>,
    tasks: JoinSet<Done>,
}

/// What came of one lease.
pub(super) struct Done {
    pub(super) lease: HostLease,
    pub(super) job: Job,
    pub(super) came: Came,
    pub(super) at: Timestamp,
}

/// What was asked for came, or not.
pub(super) enum Came {
    Robots(Asked),
    Answer(Outcome),
    /// Where the host stands there was no room for one more request: nothing was sent.
    Crowded,
}

impl<S: Source, C: Clock> Collector<S, C> {
    /// A collector of `wanted` into `output`. When `closing` becomes true it ends after the requests
    /// under way; its sender has to live until then.
    pub fn new(
        source: Arc<S>,
        clock: C,
        params: CollectParams,
        output: Output,
        wanted: Vec<CanonicalUrl>,
        closing: watch::Receiver<bool>,
    ) -> Self {
        Self {
            source,
            clock,
            params,
            output,
            wanted,
            agenda: Agenda::default(),
            calendar: HostCalendar::default(),
            robots: RobotsCache::default(),
            given_up: BTreeMap::new(),
            report: Report::default(),
            settled: 0,
            closing,
            tasks: JoinSet::new(),
        }
    }

    /// Collects until nothing is left that can be had now. `watch` is told of every change. Writes to
    /// disk in between, so that it blocks its thread for moments.
    ///
    /// # Errors
    /// [`CollectError`], if the archive or the notes cannot be written, or the proxy fails. What was
    /// written is whole.
    pub async fn run(mut self, mut watch: impl FnMut(&Progress)) -> Result<Report, CollectError> {
        self.hold_hosts();
        self.plan();
        self.settled = self.wanted.len().saturating_sub(self.agenda.len());
        watch(&self.progress());
        self.rest_after_earlier_start().await;
        loop {
            let is_closing = *self.closing.borrow();
            if !is_closing {
                self.send_out()?;
            }
            if self.tasks.is_empty() {
                if is_closing {
                    break;
                }
                // Redirects may have come to be followed from nearer than was known.
                if self.agenda.len() == 0 && !self.plan() {
                    break;
                }
            }
            watch(&self.progress());
            if let Some(done) = self.next_done(is_closing).await? {
                self.take(done)?;
            }
        }
        self.output.sync()?;
        self.report.stopped = *self.closing.borrow();
        self.output.ledger.count(&self.wanted, &mut self.report);
        watch(&self.progress());
        Ok(self.report)
    }

    /// Waits for the next outcome, the next host's time or the end; `None` unless an outcome came.
    async fn next_done(&mut self, is_closing: bool) -> Result<Option<Done>, CollectError> {
        let has_room = self.tasks.len() < self.params.parallel;
        let wake = self.agenda.next_at().filter(|_| has_room && !is_closing);
        let clock = self.clock.clone();
        tokio::select! {
            biased;
            Ok(_) = self.closing.wait_for(|closing| *closing), if !is_closing => Ok(None),
            Some(joined) = self.tasks.join_next() => match joined {
                Ok(done) => Ok(Some(done)),
                Err(error) => Err(CollectError::Task(error.to_string())),
            },
            () = clock.sleep_until(wake.unwrap_or_default()), if wake.is_some() => Ok(None),
            else => Ok(None),
        }
    }

    /// Hosts that asked an earlier start to be left alone still are.
    fn hold_hosts(&self) {
        for (host, until) in &self.output.holds {
            self.calendar.hold_until(host, *until);
        }
    }

    /// An earlier start may have asked any host a moment ago: the delay is owed to all of them.
    async fn rest_after_earlier_start(&mut self) {
        if self.output.is_resumed() && self.agenda.len() > 0 {
            let rested = self.clock.now().after(self.params.delay);
            tokio::select! {
                biased;
                Ok(_) = self.closing.wait_for(|closing| *closing) => {}
                () = self.clock.sleep_until(rested) => {}
            }
        }
    }

    /// Takes up every URL that has to be asked for; whether there are any.
    fn plan(&mut self) -> bool {
        let now = self.clock.now();
        let ledger = &self.output.ledger;
        for url in &self.wanted {
            if let Standing::Open(url, hops) = ledger.standing(url) {
                self.agenda.add(url.clone(), hops, now);
            }
        }
        self.agenda.len() > 0
    }

    fn send_out(&mut self) -> Result<(), CollectError> {
        while self.tasks.len() < self.params.parallel {
            let now = self.clock.now();
            let Some(host) = self.agenda.take_host(now) else {
                return Ok(());
            };
            self.send_to(host, now)?;
        }
        Ok(())
    }

    /// Starts the host's next request, or says when to look at it again.
    fn send_to(&mut self, host: HostKey, now: Timestamp) -> Result<(), CollectError> {
        let Some((url, answer)) = self.next_permitted(&host, now)? else {
            self.agenda.return_host(host, now);
            return Ok(());
        };
        if let Some(RobotsAnswer::Unreachable { .. }) = answer {
            self.wait_for_robots(host, &url, now);
            return Ok(());
        }
        let delay = self.delay_owed(&url);
        let spacing = self.params.spacing(delay);
        match self.calendar.try_lease(&host, now, spacing) {
            Ok(lease) => self.start(lease, answer.is_some(), spacing),
            Err(Held::Leased) => self.agenda.block(host),
            Err(Held::Until(until)) if self.is_too_long(until, delay, now) => {
                self.leave_host(&host, "asked to wait", now)?;
                self.agenda.return_host(host, now);
            }
            Err(Held::Until(until)) => self.agenda.return_host(host, until),
        }
        Ok(())
    }

    /// The host's next URL that robots.txt does not forbid, and what is known of its robots.txt.
    fn next_permitted(
        &mut self,
        host: &HostKey,
        now: Timestamp,
    ) -> Result<Option<(CanonicalUrl, Option<RobotsAnswer>)>, CollectError> {
        while let Some(job) = self.agenda.front(host) {
            let url = job.url.clone();
            let answer = self.robots.lookup(&url, now);
            if let Some((cause, for_good)) = self.given_up.get(&Origin::of(&url)).cloned() {
                self.agenda.pop(host);
                self.lose(url, &cause, &cause, for_good, now)?;
                continue;
            }
            match &answer {
                Some(RobotsAnswer::Rules(rules)) if !rules.allows(&url) => {
                    self.agenda.pop(host);
                    let cause = "robots.txt forbids";
                    self.lose(url, cause, cause, true, now)?;
                }
                _ => return Ok(Some((url, answer))),
            }
        }
        Ok(None)
    }

    /// A robots.txt that could not be had is asked for again when its time has come.
    fn wait_for_robots(&mut self, host: HostKey, url: &CanonicalUrl, now: Timestamp) {
        let until = self.robots.standing(url).map_or(now, |(until, _)| until);
        self.agenda.return_host(host, until);
    }

    fn start(&mut self, mut lease: HostLease, knows_robots: bool, spacing: Spacing) {
        let Some(job) = self.agenda.pop(lease.host()) else {
            return;
        };
        let request = self.params.request(job.url.clone());
        let source = Arc::clone(&self.source);
        let clock = self.clock.clone();
        if knows_robots {
            self.tasks.spawn(async move {
                let came = if finds_room(&*source, &clock, &mut lease, &request, spacing).await {
                    Came::Answer(source.fetch(request).await)
                } else {
                    Came::Crowded
                };
                let at = clock.now();
                Done {
                    lease,
                    job,
                    came,
                    at,
                }
            });
            return;
        }
        let ways = RobotsWays {
            calendar: self.calendar.clone(),
            cache: self.robots.clone(),
            delay: self.params.delay,
            per_address: self.params.per_address,
            closing: self.closing.clone(),
        };
        self.tasks.spawn(async move {
            let came = if finds_room(&*source, &clock, &mut lease, &request, spacing).await {
                let home = lease.host();
                Came::Robots(ask_robots(&*source, &clock, home, &request, ways).await)
            } else {
                Came::Crowded
            };
            let at = clock.now();
            Done {
                lease,
                job,
                came,
                at,
            }
        });
    }

    pub(super) fn delay_owed(&self, url: &CanonicalUrl) -> Duration {
        delay_owed(&self.robots, self.params.delay, url, self.clock.now())
    }

    /// Whether `until` is not waited for; the host's own `delay` always is.
    pub(super) fn is_too_long(&self, until: Timestamp, delay: Duration, now: Timestamp) -> bool {
        until.since(now) > self.params.patience.saturating_add(delay)
    }

    /// Leaves what is queued at a host to the next start.
    pub(super) fn leave_host(
        &mut self,
        host: &HostKey,
        cause: &str,
        now: Timestamp,
    ) -> Result<(), CollectError> {
        for job in self.agenda.drop_jobs(host, None) {
            self.lose(job.url, cause, cause, false, now)?;
        }
        Ok(())
    }

    /// Writes down that `url` failed, for good or for now.
    pub(super) fn lose(
        &mut self,
        url: CanonicalUrl,
        cause: &str,
        detail: &str,
        for_good: bool,
        at: Timestamp,
    ) -> Result<(), CollectError> {
        tracing::info!(%url, cause, detail, for_good, "not had");
        self.settled += 1;
        let fate = if for_good {
            let note = Note::failed(url.as_str(), cause, detail, at);
            self.output.write_note(&note)?;
            Fate::Failed(Arc::from(cause))
        } else {
            Fate::Deferred(Arc::from(cause))
        };
        self.output.ledger.set(url, fate);
        Ok(())
    }

    fn progress(&self) -> Progress {
        let in_flight = self.tasks.len();
        Progress {
            settled: self.settled,
            open: self.agenda.len() + in_flight,
            pages: self.report.pages,
            requests: self.report.requests,
            in_flight,
            next_at: self.agenda.next_at(),
        }
    }
}
