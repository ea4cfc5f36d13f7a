//! What the engine does when it is told something.

use std::collections::HashSet;
use std::sync::Arc;

use prost::Message;

use super::engine::Engine;
use super::handle::{Command, CrawlError};
use super::judging::Judge;
use super::readmit;
use super::spec::Spec;
use super::update::merged;
use super::waiters::Answer;
use crate::booking::{CrawlState, Event, SeedsEvent, Seq};
use crate::clock::Clock;
use crate::fetch::Source;
use crate::proto::v1;
use crate::url::CanonicalUrl;

/// Seeds come before everything that was scored.
pub const SEED_PRIORITY: f32 = 1e9;

impl<S: Source, C: Clock> Engine<S, C> {
    pub(super) fn obey(&mut self, command: Command) {
        // A caller who has hung up wants no answer: what `send` says is of no interest.
        match command {
            Command::Status(reply) => {
                let _ = reply.send(Ok(self.report()));
            }
            Command::SetState(state, reason, reply) => match self.change_state(state, &reason) {
                Ok(seq) => self.waiters.push(seq, Answer::Status(reply)),
                Err(error) => {
                    let _ = reply.send(Err(error));
                }
            },
            Command::AddSeeds(urls, reply) => {
                let (seq, counts) = self.add_seeds(urls);
                self.waiters.push(seq, Answer::Seeds(reply, counts));
            }
            Command::Update(update, reply) => match self.update(&update) {
                Ok(seq) => self.waiters.push(seq, Answer::Status(reply)),
                Err(error) => {
                    let _ = reply.send(Err(error));
                }
            },
            Command::Head(k, reply) => {
                let _ = reply.send(Ok(self.frontier.head(k, self.bench.clock.now())));
            }
            Command::Lookup(id, reply) => {
                let _ = reply.send(Ok(self.frontier.lookup(id, self.bench.clock.now())));
            }
            Command::Explain(id, reply) => {
                let _ = reply.send(self.explain(id).map_err(CrawlError::Store));
            }
            Command::Loss(points_max, copies_lost, reply) => {
                let curve = self.progress.loss_curve(copies_lost);
                let _ = reply.send(Ok(curve.points(points_max)));
            }
            Command::Learners(reply) => {
                let _ = reply.send(Ok(self.learners_report()));
            }
            Command::Feedback(request, reply) => match self.feedback(&request) {
                Ok((seq, counts)) => self.waiters.push(seq, Answer::Feedback(reply, counts)),
                Err(error) => {
                    let _ = reply.send(Err(error));
                }
            },
            Command::Retrain(request, reply) => self.retrain(&request, reply),
            Command::UseEpoch(number, reply) => self.use_epoch(number, reply),
            Command::Epochs(reply) => {
                let _ = reply.send(Ok(self.list_epochs()));
            }
            Command::Critic(reply) => match &self.bench.judge {
                Judge::Near(judge) => {
                    let judge = Arc::clone(judge);
                    self.waiters
                        .push(self.store.last(), Answer::Critic(reply, judge));
                }
                Judge::Far(judge) => {
                    let words = format!(
                        "this crawl is judged at {}; it has no critic of its own",
                        judge.place()
                    );
                    let _ = reply.send(Err(CrawlError::State(words)));
                }
            },
            Command::Apprentice(reply) => self.answer_saved(reply),
            Command::Shutdown => {
                self.closing.send_replace(true);
            }
        }
        // What needs no new event may be durable already.
        self.answer_waiters();
    }

    /// Answers those whose event is durable and in the figures that they are answered with.
    pub(super) fn answer_waiters(&mut self) {
        for answer in self.waiters.take(self.folded) {
            match answer {
                Answer::Status(reply) => {
                    let _ = reply.send(Ok(self.report()));
                }
                Answer::Seeds(reply, counts) => {
                    let _ = reply.send(Ok(counts));
                }
                Answer::Feedback(reply, marks) => {
                    let _ = reply.send(Ok(marks));
                }
                Answer::Epoch(reply, number) => {
                    let _ = reply.send(self.epoch(number));
                }
                Answer::Apprentice(reply, saved) => {
                    let _ = reply.send(Ok(saved));
                }
                Answer::Critic(reply, judge) => {
                    let _ = reply.send(Ok(judge));
                }
            }
        }
    }

    fn change_state(&mut self, to: CrawlState, reason: &str) -> Result<Seq, CrawlError> {
        let from = self.state.0;
        if from == to {
            return Ok(self.store.last());
        }
        let allowed = match to {
            CrawlState::Paused => from == CrawlState::Running,
            CrawlState::Stopped => from != CrawlState::Failed,
            CrawlState::Running => true,
            CrawlState::Finished | CrawlState::Failed => false,
        };
        if !allowed {
            return Err(CrawlError::State(format!(
                "crawl {:?} is {} ({}) and cannot become {}",
                self.spec.name,
                from.name(),
                self.state.1,
                to.name()
            )));
        }
        if to == CrawlState::Running
            && let Some(budget) = self.spec.tuning.budget
            && self.booked >= budget
        {
            return Err(CrawlError::State(format!(
                "the budget of {budget} fetches is spent; raise it with `crawl set {} --budget N`",
                self.spec.name
            )));
        }
        if to == CrawlState::Running && self.owes_contact() {
            return Err(CrawlError::State(self.no_contact()));
        }
        Ok(self.enter(to, reason))
    }

    fn add_seeds(&mut self, urls: Vec<CanonicalUrl>) -> (Seq, v1::AddSeedsResponse) {
        let total = urls.len() as u64;
        let mut taken = HashSet::new();
        let new: Vec<CanonicalUrl> = urls
            .into_iter()
            .filter(|url| self.frontier.takes(url) && taken.insert(url.id()))
            .collect();
        let added = new.len() as u64;
        let counts = v1::AddSeedsResponse {
            added,
            known: total - added,
        };
        if added == 0 {
            return (self.store.last(), counts);
        }
        let at = self.bench.clock.now();
        let mut seq = self.append(Event::Seeds(SeedsEvent {
            urls: new,
            priority: SEED_PRIORITY,
            at,
        }));
        // Out of links is no end: new seeds set the crawl going again.
        let spent = self
            .spec
            .tuning
            .budget
            .is_some_and(|budget| self.booked >= budget);
        if self.state.0 == CrawlState::Finished && !spent {
            seq = self.enter(CrawlState::Running, "seeds were added");
        }
        (seq, counts)
    }

    fn update(&mut self, update: &v1::UpdateCrawlRequest) -> Result<Seq, CrawlError> {
        let raw = merged(&self.raw_spec, update);
        let spec = Spec::check(&raw)?;
        if update.contact.is_some() && self.contact_owed_by(&spec) {
            return Err(CrawlError::State(self.no_contact()));
        }
        let more = spec.tuning.budget.is_none_or(|budget| self.booked < budget);
        self.set_spec(raw.clone(), spec)?;
        let mut seq = self.append(Event::SpecChange(raw.encode_to_vec()));
        if update.scope.is_some() {
            let scope = self.spec.tuning.scope.clone();
            self.search = Some(readmit::start(Arc::clone(&self.store), scope, seq));
        }
        let spent = self.state.1.starts_with("budget");
        if self.state.0 == CrawlState::Finished && more && (spent || update.scope.is_some()) {
            seq = self.enter(CrawlState::Running, "the spec was changed");
        }
        Ok(seq)
    }
}
