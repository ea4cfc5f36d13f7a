//! A new epoch on its way through the frontier: every booked page is read again and its links are scored,
//! then the hosts change over to the new scores, all of it in slices between the bookings.

use std::cell::Cell;
use std::time::Duration;

use super::engine::Engine;
use super::learning::Learning;
use super::parts::Pace;
use crate::apprentice::SourceView;
use crate::booking::{Reference, Seq};
use crate::clock::{Clock, Timestamp};
use crate::fetch::Source;
use crate::frontier::StoreFailure;

/// Links scored again in one slice of a sweep: a few milliseconds.
pub(super) const SLICE: usize = 2_000;
/// A slice ends after so many milliseconds, however slow the disk is.
const SLICE_MS: i64 = 10;
/// So long the first sweep may take before the crawl is open; by then a small one is in order.
const AT_OPENING_MS: i64 = 200;
/// Links in a slice of a replay, a booking; small crawls are in the new order after a few bookings.
pub(super) const SLICE_OF_REPLAY: usize = 20_000;
/// Steps of the change of hosts that cost as much as scoring one link: the former take some 50 ns, the
/// latter some 3 microseconds.
const STEPS_A_LINK: usize = 32;
/// Links that are looked at and found not to wait cost as much as scoring one.
const LOOKS_A_LINK: usize = 16;
/// Among so many of the best links the oldest score is looked for.
const BEST: usize = 1_000;
/// It is not looked for again before so long, for that takes a look at every host.
const OLDEST_FOR: Duration = Duration::from_millis(250);

/// How far a sweep has come.
pub(super) struct Sweep {
    epoch: u64,
    /// The place in `pages` of the one whose links are scored next.
    next: usize,
    /// The same in `redirects`, whose turn comes after.
    next_redirect: usize,
    /// Another epoch has come while hosts changed over: the next sweep begins when they have.
    again: bool,
    /// See [`Engine::oldest_of_best`], and when it was looked for.
    oldest: Cell<Option<(Timestamp, u64)>>,
}

impl Learning {
    /// The share of the sweep's scoring that is done, if there is a sweep.
    pub(super) fn swept(&self) -> Option<f64> {
        let sweep = self.sweep.as_ref()?;
        let done = sweep.next + sweep.next_redirect;
        let all = self.pages.len() + self.redirects.len();
        Some(done as f64 / all.max(1) as f64)
    }
}

impl<S: Source, C: Clock> Engine<S, C> {
    /// Whether the frontier is being scored again.
    pub(super) fn is_sweeping(&self) -> bool {
        self.learning.sweep.is_some()
    }

    /// The last epoch goes through the frontier. A sweep that is under way ends here, so that no score is
    /// of an epoch that nobody can name; but hosts that are changing over finish that first.
    pub(super) fn begin_sweep(&mut self) {
        if let Some(sweep) = self.learning.sweep.as_mut()
            && self.frontier.is_switching()
        {
            sweep.again = true;
            return;
        }
        self.frontier.begin_rescoring();
        self.learning.sweep = Some(Sweep {
            epoch: self.learning.epochs.number(),
            next: 0,
            next_redirect: 0,
            again: false,
            oldest: Cell::new(None),
        });
    }

    /// The priorities in the log are those of many epochs: all links are scored again. What a live crawl does
    /// not get done at once it does while it fetches, as after any epoch; until then the others stand as they
    /// were booked.
    pub(super) fn sweep_at_opening(&mut self) -> Result<(), StoreFailure> {
        let until = match self.pace {
            Pace::Replay => None,
            Pace::Live => {
                let now = self.bench.clock.now();
                Some(Timestamp(now.0.saturating_add(AT_OPENING_MS)))
            }
        };
        self.sweep(usize::MAX, until)
    }

    /// One slice of a sweep in a live crawl.
    pub(super) fn sweep_slice(&mut self) -> Result<(), StoreFailure> {
        let now = self.bench.clock.now();
        self.sweep(SLICE, Some(Timestamp(now.0.saturating_add(SLICE_MS))))
    }

    /// One slice of a sweep: about `links` links are scored under the new epoch, or as many as can be until
    /// `deadline`, or hosts change over.
    pub(super) fn sweep(
        &mut self,
        links: usize,
        deadline: Option<Timestamp>,
    ) -> Result<(), StoreFailure> {
        let Some(mut sweep) = self.learning.sweep.take() else {
            return Ok(());
        };
        let mut scored = 0;
        while scored < links && !self.frontier.is_switching() {
            // A slice gets something done, however slow the machine is.
            let is_late = |deadline| scored > 0 && self.bench.clock.now() >= deadline;
            if deadline.is_some_and(is_late) {
                break;
            }
            if let Some(seq) = self.learning.pages.get(sweep.next).copied() {
                sweep.next += 1;
                scored += self.sweep_page(seq)?;
            } else if sweep.next_redirect < self.learning.redirects.len() {
                scored += self.sweep_redirect(&mut sweep)?;
            } else {
                self.change_over(sweep, links);
                return Ok(());
            }
        }
        if self.frontier.is_switching() {
            self.change_over(sweep, links);
        } else {
            self.learning.sweep = Some(sweep);
        }
        Ok(())
    }

    /// Hosts change over, in about the time in which `links` links are scored.
    fn change_over(&mut self, sweep: Sweep, links: usize) {
        if !self.frontier.switch(links.saturating_mul(STEPS_A_LINK)) {
            self.learning.sweep = Some(sweep);
            return;
        }
        self.learning.epochs.in_order_of(sweep.epoch);
        if sweep.again {
            self.begin_sweep();
        } else {
            self.report_switch();
        }
    }

    /// While there is a sweep: the oldest epoch that a score among the best 1,000 links is of, as of a moment
    /// ago.
    pub(super) fn oldest_of_best(&self) -> Option<u64> {
        let sweep = self.learning.sweep.as_ref()?;
        let now = self.bench.clock.now();
        if let Some((at, oldest)) = sweep.oldest.get()
            && at.after(OLDEST_FOR) > now
        {
            return Some(oldest);
        }
        let oldest = self.oldest_now(sweep);
        sweep.oldest.set(Some((now, oldest)));
        Some(oldest)
    }

    fn oldest_now(&self, sweep: &Sweep) -> u64 {
        let epochs = &self.learning.epochs;
        let oldest = self.frontier.oldest_of_best(BEST);
        // What was found since the last sweep was scored by the epoch of that time.
        oldest.map_or(sweep.epoch, |found| {
            epochs.at(found).max(epochs.ordered_by())
        })
    }

    /// Scores the links of one page again. Gives how many there were to score.
    fn sweep_page(&mut self, seq: Seq) -> Result<usize, StoreFailure> {
        let frontier = &self.frontier;
        let is_open = |target| frontier.is_open(target);
        let Some(sketch) = self.learning.reader.glance_if(seq, &is_open)? else {
            return Ok(1);
        };
        let links = sketch.links.iter();
        let opens: Vec<bool> = links
            .map(|link| !link.is_self && frontier.is_open(link.target))
            .collect();
        let source = SourceView {
            log_odds: sketch.facts.log_odds,
            links: sketch.links.len(),
            sketch: Some(&sketch),
        };
        let scores = self.scorer.score_where(&source, &|at| opens[at]);
        let scored = opens.iter().filter(|is_open| **is_open).count();
        let links = sketch.links.iter().zip(scores).zip(&opens);
        for (((link, score), is_open), place) in links.zip(0..) {
            if *is_open {
                let reference = Reference { seq, link: place };
                self.frontier.rescore(link.target, reference, score);
            }
        }
        Ok(scored + opens.len() / LOOKS_A_LINK + 1)
    }

    /// The target of a redirect is worth what the links to the redirecting URL are worth. One that is no
    /// longer open is forgotten.
    fn sweep_redirect(&mut self, sweep: &mut Sweep) -> Result<usize, StoreFailure> {
        let (target, references) = self.learning.redirects[sweep.next_redirect].clone();
        if !self.frontier.is_open(target) {
            self.learning.redirects.swap_remove(sweep.next_redirect);
            return Ok(1);
        }
        sweep.next_redirect += 1;
        let mut scored = 1;
        for reference in &references {
            let Some(sketch) = self.learning.reader.glance(reference.seq)? else {
                continue;
            };
            let source = SourceView {
                log_odds: sketch.facts.log_odds,
                links: sketch.links.len(),
                sketch: Some(&sketch),
            };
            let place = reference.link as usize;
            let scores = self.scorer.score_where(&source, &|at| at == place);
            if let Some(score) = scores.get(place) {
                self.frontier.rescore(target, *reference, *score);
            }
            scored += 1 + scores.len() / LOOKS_A_LINK;
        }
        Ok(scored)
    }
}
