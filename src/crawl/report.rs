//! A crawl in figures and words, for those who look in.

use std::collections::BTreeMap;

use super::engine::Engine;
use super::learners::learner_to_proto;
use crate::booking::{CrawlState, Event, LeaseFacts, Seq};
use crate::clock::{Clock, Timestamp};
use crate::critic::relevance_of;
use crate::fetch::Source;
use crate::frontier::Next;
use crate::measure::LossPoint;
use crate::proto::v1;

/// The window of the recent harvest rate, in fetches (research's w = 500).
const HARVEST_WINDOW: usize = 500;

impl<S: Source, C: Clock> Engine<S, C> {
    /// The crawl as it stands; figures count what is durable.
    pub(super) fn report(&mut self) -> v1::Crawl {
        let now = self.bench.clock.now();
        let counts = self.frontier.counts(now);
        let progress = &self.progress;
        let fetched = progress.fetched();
        v1::Crawl {
            name: self.spec.name.clone(),
            state: state_to_proto(progress.state.0) as i32,
            reason: progress.state.1.clone(),
            idle: self.why_idle(now),
            spec: Some(self.raw_spec.clone()),
            fetched,
            pages: progress.pages,
            failures: progress.failures,
            requests: progress.requests,
            redirects: progress.redirects,
            relevant: progress.relevant,
            loss: progress.curve.loss(),
            harvest: match fetched {
                0 => 0.0,
                // Not summed anew: a status must not cost more the longer the crawl is.
                n => LossPoint::new(n, progress.curve.loss()).harvest,
            },
            harvest_last: progress
                .curve
                .harvest_of_last(HARVEST_WINDOW)
                .unwrap_or(0.0),
            fetches_per_second: self.rate.per_second(now),
            links_waiting: counts.waiting,
            links_held: counts.held,
            in_flight: self.tasks.len() as u64,
            links_refused: counts.refused,
            hosts: counts.hosts,
            hosts_ready: counts.hosts_ready,
            failures_by_cause: most_first(&progress.failures_by_cause),
            refused_by_reason: most_first(&progress.refused_by_reason),
            withheld: most_first(&progress.withheld),
            guard: self.guard_note.clone(),
            created_at_ms: self.created_at.0,
            now_ms: now.0,
            critic_version: progress
                .critic_version
                .unwrap_or_else(|| self.teaching.base_version()),
            marks: progress.marks.len() as u64,
            unjudged: self.judging.unjudged() as u64,
            learners: self
                .scorer
                .learners()
                .iter()
                .map(learner_to_proto)
                .collect(),
            copies: progress.copies,
            near_copies: progress.near_copies,
            loss_with_copies: progress.distinct.loss(),
            epoch: self.learning.epochs.number(),
            epoch_of_order: self.learning.epochs.ordered_by(),
            rescored: self.learning.swept(),
            reordered: self.frontier.switched(),
            epoch_oldest: self.oldest_of_best(),
            order_as_booked: self.learning.epochs.is_as_booked(),
            retrained: self.trained_share(),
        }
    }

    /// What somebody has to do before the network is asked.
    pub(super) fn no_contact(&self) -> String {
        let name = &self.spec.name;
        format!(
            "no contact, without which the network is not crawled; give one with `crawl set {name} --contact ADDRESS`"
        )
    }

    fn why_idle(&self, now: Timestamp) -> String {
        let (state, reason) = &self.progress.state;
        if *state != CrawlState::Running {
            return format!("{}: {reason}", state.name());
        }
        let judge = self.judging.why_waiting(now);
        if let (Some(words), true) = (&judge, self.judging.is_away()) {
            return words.clone();
        }
        if !self.tasks.is_empty() {
            return String::new();
        }
        if let Some(words) = judge {
            return words;
        }
        if self.owes_contact() {
            return self.no_contact();
        }
        match self.held {
            Some(Next::NotBefore(at)) => {
                let wait = at.since(now).as_secs_f64();
                let trouble = self.trouble.as_ref();
                let trouble = trouble.map_or(String::new(), |words| format!("; {words}"));
                format!(
                    "all hosts with waiting links must wait; the next may be asked in {wait:.1} s{trouble}"
                )
            }
            Some(Next::AllLeased) => {
                "every host with a waiting link is being asked by another crawl".to_owned()
            }
            Some(Next::Empty) => "out of links".to_owned(),
            _ => "waiting for the disk".to_owned(),
        }
    }
}

/// A state as the API has it.
pub(super) fn state_to_proto(state: CrawlState) -> v1::CrawlState {
    match state {
        CrawlState::Running => v1::CrawlState::Running,
        CrawlState::Paused => v1::CrawlState::Paused,
        CrawlState::Stopped => v1::CrawlState::Stopped,
        CrawlState::Finished => v1::CrawlState::Finished,
        CrawlState::Failed => v1::CrawlState::Failed,
    }
}

fn most_first<K: AsRef<str> + Ord>(counts: &BTreeMap<K, u64>) -> Vec<v1::Count> {
    let mut rows: Vec<_> = counts
        .iter()
        .map(|(name, count)| v1::Count {
            name: name.as_ref().to_owned(),
            count: *count,
        })
        .collect();
    rows.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    rows
}

/// The row of a page or of a final failure in an export; `None` for events that do not count.
///
/// `n` is its place in the order of fetches that count, `found_on` the URL of the page that it was
/// found on first, `classes` the names of the critic's classes.
pub fn page_row(
    seq: Seq,
    event: &Event,
    n: u64,
    found_on: String,
    classes: &[String],
) -> Option<v1::PageRow> {
    let base = |lease: &LeaseFacts| v1::PageRow {
        event: seq.0,
        n,
        url: lease.url.as_str().to_owned(),
        seed: lease.is_seed,
        depth: u32::from(lease.depth),
        priority: f64::from(lease.priority),
        fetched_at_ms: lease.finished_at.0,
        found_on,
        ..Default::default()
    };
    match event {
        Event::Page(page) => {
            let judgement = &page.judgement;
            // A judge need not name classes.
            let nothing = (u16::MAX, f32::NEG_INFINITY);
            let (class, log_posterior) = judgement.best.first().copied().unwrap_or(nothing);
            Some(v1::PageRow {
                relevance: relevance_of(judgement.log_odds),
                log_odds: f64::from(judgement.log_odds),
                calibrated_relevance: relevance_of(judgement.calibrated_log_odds),
                best_class: classes.get(usize::from(class)).cloned().unwrap_or_default(),
                best_posterior: f64::from(log_posterior).exp(),
                status: u32::from(page.status),
                content_type: page.content_type.clone(),
                body_bytes: page.body_bytes,
                title: page.title.clone(),
                links: u32::try_from(page.links.len()).unwrap_or(u32::MAX),
                critic_version: judgement.version,
                copy_of: page.likeness.copy_of.map_or(0, |seq| seq.0),
                near_copy_of: page.likeness.near_copy_of.map_or(0, |seq| seq.0),
                warc_file: page.kept.as_ref().map_or(0, |kept| kept.file),
                warc_offset: page.kept.as_ref().map_or(0, |kept| kept.offset),
                ..base(&page.lease)
            })
        }
        Event::Failure(failure) if failure.is_final => Some(v1::PageRow {
            failure: format!("{}: {}", failure.cause, failure.message),
            ..base(&failure.lease)
        }),
        _ => None,
    }
}
