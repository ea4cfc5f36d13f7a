//! A learner trained anew from the stored instances, beside the running crawl, and put in its place.
//!
//! The weights of an epoch are the deterministic fold of the instances that it names, so nothing else is
//! kept of it: to retrain, to go back to an epoch and to open a crawl that did either are one fold of the
//! log with given settings. It runs on the blocking pool; what is booked meanwhile is folded in before the
//! switch, which is one event. Until then the old epoch is in force, whatever becomes of the training.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinHandle};

use super::engine::Engine;
use super::epochs::Effect;
use super::error::EngineError;
use super::handle::CrawlError;
use super::learning::Learning;
use super::opening::Opening;
use super::order::{CrawlOrder, check_features, order_name};
use super::page_reader::PageReader;
use super::spec::SpecError;
use super::trainee::{Heed, Lessons, Settings, Trainee};
use super::waiters::Answer;
use crate::apprentice::LinkScorer;
use crate::booking::{EpochCause, EpochEvent, Seq};
use crate::clock::Clock;
use crate::features::TermWeights;
use crate::fetch::Source;
use crate::frontier::{FrontierStore, StoreFailure};
use crate::proto::v1;
use crate::url::UrlId;

/// Links that a histogram of priorities looks at, about; of more every second is, every third and so on. A
/// bin's share is then right to about a hundredth.
const SAMPLE: usize = 20_000;

/// Events that the engine itself folds in before a switch, at most: some milliseconds. Of more, another
/// round goes to the pool.
const CATCH_UP_MAX: u64 = 16;
/// Links at the head of the order that are compared before and after.
const BEST: usize = 1_000;
/// Bins of a histogram of priorities.
const BINS: usize = 10;

pub(super) type Reply = oneshot::Sender<Result<v1::Epoch, CrawlError>>;
type Job = JoinHandle<Result<Trainee, StoreFailure>>;

/// A training that is going on.
pub(super) struct Training {
    pub(super) job: Job,
    heed: Arc<Heed>,
    cause: EpochCause,
    returned_to: u64,
    /// Taken when it is answered.
    reply: Option<Reply>,
    /// Events that the last round left, and the rounds that left more than half of those before them.
    behind: u64,
    slow_rounds: u32,
}

impl Training {
    /// A round has ended, and so many events have come meanwhile.
    pub(super) fn note_round(&mut self, behind: u64) {
        if behind > self.behind / 2 {
            self.slow_rounds += 1;
        }
        self.behind = behind;
    }
}

impl Learning {
    /// Of so many fetches under way, how many may be: a crawl that is about as fast as its training is slowed
    /// down, by half each time, for it would never be caught up with.
    pub(super) fn slowed(&self, in_flight_max: usize) -> usize {
        let slow_rounds = self
            .training
            .as_ref()
            .map_or(0, |training| training.slow_rounds);
        in_flight_max.checked_shr(slow_rounds).unwrap_or(0)
    }
}

impl Drop for Training {
    fn drop(&mut self) {
        self.heed.stop.store(true, Ordering::Relaxed);
    }
}

/// An ordered epoch on its way through the frontier, and whoever waits for its report.
pub(super) struct Reporting {
    number: u64,
    reply: Reply,
    before: (Vec<u64>, Vec<UrlId>),
}

fn start(
    trainee: impl FnOnce() -> Trainee + Send + 'static,
    store: Arc<dyn FrontierStore>,
    to: Seq,
    heed: Arc<Heed>,
) -> Job {
    tokio::task::spawn_blocking(move || {
        // It is made here, for its tables take longer than a crawl should pause.
        let mut trainee = trainee();
        if trainee.upto == Seq(0) {
            trainee.find_cut(store.as_ref(), to)?;
        }
        trainee.study(store.as_ref(), to, &heed)?;
        Ok(trainee)
    })
}

impl<S: Source, C: Clock> Engine<S, C> {
    /// Starts a retraining with all instances.
    pub(super) fn retrain(&mut self, request: &v1::RetrainRequest, reply: Reply) {
        let everything = Lessons {
            ranges: Vec::new(),
            after: Seq(0),
        };
        match self.retrain_settings(request) {
            Ok(settings) => {
                self.start_training(settings, everything, EpochCause::Retrained, 0, reply);
            }
            Err(error) => {
                let _ = reply.send(Err(error));
            }
        }
    }

    /// Starts the way back to an epoch.
    pub(super) fn use_epoch(&mut self, number: u64, reply: Reply) {
        let Some(epoch) = self.learning.epochs.get(number) else {
            let words = match self.learning.epochs.number() {
                0 => "this crawl has no epoch yet".to_owned(),
                last => format!("no epoch {number}; there are 1 to {last} (`crawl epochs`)"),
            };
            let _ = reply.send(Err(CrawlError::NoEpoch(words)));
            return;
        };
        let lessons = Lessons {
            ranges: epoch.recipe.ranges.clone(),
            after: Seq(u64::MAX),
        };
        match Settings::of(&epoch.recipe, self.spec.labels) {
            Ok(settings) => {
                self.start_training(settings, lessons, EpochCause::Returned, number, reply);
            }
            Err(error) => {
                let _ = reply.send(Err(error.into()));
            }
        }
    }

    fn retrain_settings(&self, request: &v1::RetrainRequest) -> Result<Settings, CrawlError> {
        let now = self.spec.order;
        let order = match request.learner.as_str() {
            "" => now,
            name => CrawlOrder::from_name(name)
                .map_err(|words| SpecError::new("learner", words.replace("order", "learner")))?,
        };
        if request.learner.is_empty() && !now.learns() {
            return Err(CrawlError::State(format!(
                "the order `{}` of crawl {:?} learns nothing; name a learner, such as `--learner ftrl`",
                now.name(),
                self.spec.name
            )));
        }
        let asked = request.apprentice.as_ref();
        let told = if order == now {
            let mut told = self.raw_spec.apprentice.clone().unwrap_or_default();
            if let Some(asked) = asked {
                told.d_max = asked.d_max.or(told.d_max);
                if !asked.features.is_empty() {
                    told.features.clone_from(&asked.features);
                }
                if !asked.without.is_empty() {
                    told.without.clone_from(&asked.without);
                }
            }
            Some(told)
        } else {
            asked.cloned()
        };
        let features = check_features(order, told.as_ref())?;
        let keeps_cut = order == now && !request.from_scratch;
        Ok(Settings {
            order,
            features,
            cut: self.scorer.cut().filter(|_| keeps_cut),
            labels: self.spec.labels,
            from_start: !request.from_scratch && self.may_start(order, features),
        })
    }

    fn start_training(
        &mut self,
        settings: Settings,
        lessons: Lessons,
        cause: EpochCause,
        returned_to: u64,
        reply: Reply,
    ) {
        if let Some(share) = self.trained_share() {
            let _ = reply.send(Err(CrawlError::State(format!(
                "crawl {:?} is being retrained already ({:.0} % done); wait for its end",
                self.spec.name,
                share * 100.0
            ))));
            return;
        }
        if self.learning.reporting.is_some() {
            let _ = reply.send(Err(CrawlError::State(format!(
                "crawl {:?} is being put into the order of its last retraining; wait for its end",
                self.spec.name
            ))));
            return;
        }
        let reader = PageReader::new(
            Arc::clone(&self.store),
            self.bench.judge.clone(),
            self.weights_of(settings.order),
        );
        let seed = self.spec.seed;
        let begin = self.learning.start.clone();
        let trainee = move || Trainee::new(settings, lessons, reader, seed, begin.as_deref());
        let heed = Arc::new(Heed::default());
        let to = self.store.last();
        self.learning.training = Some(Training {
            job: start(trainee, Arc::clone(&self.store), to, Arc::clone(&heed)),
            heed,
            cause,
            returned_to,
            reply: Some(reply),
            behind: u64::MAX,
            slow_rounds: 0,
        });
    }

    /// The critic's words for features; they cost nothing where nothing learns.
    pub(super) fn weights_of(&self, order: CrawlOrder) -> Arc<TermWeights> {
        match &self.bench.weights {
            Some(weights) => Arc::clone(weights),
            None if order.learns() => {
                Arc::new(TermWeights::new(self.teaching.base().term_weights()))
            }
            None => Arc::default(),
        }
    }

    /// The share of the log that a training has learned, if there is one.
    pub(super) fn trained_share(&self) -> Option<f64> {
        let training = self.learning.training.as_ref()?;
        let done = training.heed.done.load(Ordering::Relaxed);
        Some(done as f64 / self.store.last().0.max(1) as f64)
    }

    /// A job of a training has ended: the rest is folded in, and the switch is made.
    pub(super) fn take_trained(&mut self, ended: Result<Result<Trainee, StoreFailure>, JoinError>) {
        let Some(mut training) = self.learning.training.take() else {
            return;
        };
        let last = self.store.last();
        let trainee = match ended {
            Ok(Ok(trainee)) if last.0 - trainee.upto.0 > CATCH_UP_MAX => {
                training.note_round(last.0 - trainee.upto.0);
                let heed = Arc::clone(&training.heed);
                training.job = start(move || trainee, Arc::clone(&self.store), last, heed);
                self.learning.training = Some(training);
                return;
            }
            Ok(Ok(trainee)) => self.caught_up(trainee),
            Ok(Err(error)) => Err(format!("the training failed: {error}")),
            Err(error) => Err(format!(
                "the training broke: {}",
                EngineError::from_join(error)
            )),
        };
        match trainee {
            Ok(trainee) => self.switch(&mut training, trainee),
            Err(words) => {
                let stays = match self.learning.epochs.number() {
                    0 => "the order stays as it was".to_owned(),
                    number => format!("epoch {number} stays in force"),
                };
                tracing::warn!(crawl = self.spec.name, words, "no retraining");
                if let Some(reply) = training.reply.take() {
                    let _ = reply.send(Err(CrawlError::State(format!("{words}; {stays}"))));
                }
            }
        }
    }

    /// Folds in what was booked since the job looked; in words, why there is nothing to switch to.
    fn caught_up(&self, mut trainee: Trainee) -> Result<Trainee, String> {
        let store = self.store.as_ref();
        trainee
            .study(store, store.last(), &Heed::default())
            .map_err(|error| format!("the training failed: {error}"))?;
        if trainee.settings.order.learns() && trainee.instances == 0 {
            return Err(
                "there is nothing to learn from yet: no page was fetched that was found through a \
                 link of another page"
                    .to_owned(),
            );
        }
        Ok(trainee)
    }

    fn switch(&mut self, training: &mut Training, mut trainee: Trainee) {
        trainee.scorer.publish();
        let ranges = match training.cause {
            EpochCause::Returned => trainee.lessons.ranges.clone(),
            _ => vec![(Seq(1), trainee.upto)],
        };
        let before = self.order_image();
        self.put_in_place(trainee);
        self.book_epoch_of(training.cause, training.returned_to, ranges);
        self.note_checkpoint(self.learning.epochs.last_at(), true);
        self.learning.reporting = training.reply.take().map(|reply| Reporting {
            number: self.learning.epochs.number(),
            reply,
            before,
        });
        self.begin_sweep();
    }

    /// The other learner is in place; the order of the crawl is what it was.
    pub(super) fn exchange_learner(&mut self, scorer: Box<dyn LinkScorer>, reader: PageReader) {
        self.bench.weights = scorer
            .needs_sketches()
            .then(|| Arc::clone(reader.weights()));
        let old_scorer = std::mem::replace(&mut self.scorer, scorer);
        let old_reader = std::mem::replace(&mut self.learning.reader, reader);
        // Up to half a gigabyte of tables and cached pages: who waits for the engine does not wait for that.
        std::thread::spawn(move || drop((old_scorer, old_reader)));
        self.learning.scorers += 1;
    }

    fn put_in_place(&mut self, trainee: Trainee) {
        let Trainee {
            settings,
            scorer,
            reader,
            instances,
            pages,
            validated,
            ..
        } = trainee;
        self.exchange_learner(scorer, reader);
        self.learning.from_start = settings.from_start;
        self.learning.epochs.instances = instances;
        self.learning.epochs.pages = pages;
        self.learning.validated.extend(validated);
        self.set_order(&settings);
    }

    /// The crawl's spec says from now on what the order is.
    fn set_order(&mut self, settings: &Settings) {
        let recipe = settings.recipe();
        self.spec.order = settings.order;
        self.spec.features = settings.features;
        self.raw_spec.order = order_name(settings.order, self.spec.steering).into_owned();
        // How several pages are combined is the frontier's business and stays, where it can.
        let combine = if settings.order.learns() {
            self.spec.combine
        } else {
            settings.order.combine()
        };
        self.spec.combine = combine;
        self.raw_spec.apprentice = settings.order.learns().then(|| v1::Apprentice {
            d_max: Some(i32::from(recipe.d_max)),
            features: recipe.groups,
            combine: combine.name().to_owned(),
            ..self.spec.labels.told()
        });
        let params = self.spec.tuning.frontier_params(settings.order, combine);
        self.frontier.set_params(params);
    }

    /// The same when the log is folded. An order that this version does not know is an error at its end.
    pub(super) fn set_order_of(&mut self, epoch: &EpochEvent) {
        if let Ok(settings) = Settings::of(&epoch.recipe, self.spec.labels) {
            self.set_order(&settings);
        }
    }

    /// The log has been folded up to its end; the learner of its last ordered epoch is made again.
    pub(super) fn fold_ordered(&mut self, opening: &Opening) -> Result<(), EngineError> {
        let Some((seq, epoch)) = self.learning.ordered.take() else {
            return Ok(());
        };
        if Some(seq) <= self.learning.checkpoints.restored() {
            return Ok(());
        }
        let settings = Settings::of(&epoch.recipe, self.spec.labels)?;
        let lessons = Lessons {
            ranges: epoch.recipe.ranges,
            after: seq,
        };
        let reader = PageReader::new(
            Arc::clone(&self.store),
            self.bench.judge.clone(),
            self.weights_of(settings.order),
        );
        let mut trainee = Trainee::new(
            settings,
            lessons,
            reader,
            self.spec.seed,
            self.learning.start.as_deref(),
        );
        trainee.epochs_from = seq;
        let store = Arc::clone(&self.store);
        trainee.study(store.as_ref(), store.last(), &opening.heed)?;
        self.put_in_place(trainee);
        Ok(())
    }

    /// How the frontier is ordered: a histogram, and the best links.
    fn order_image(&self) -> (Vec<u64>, Vec<UrlId>) {
        let mut bins = vec![0; BINS];
        // A million links one by one were a pause of the crawl.
        let step = self.frontier.places().div_ceil(SAMPLE).max(1);
        for priority in self.frontier.priorities(step) {
            let share = 1.0 / (1.0 + f64::from(-priority).exp());
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of 1 is at most the number of bins"
            )]
            let bin = (share * BINS as f64) as usize;
            bins[bin.min(BINS - 1)] += step as u64;
        }
        let head = self.frontier.head(BEST, self.bench.clock.now());
        (bins, head.into_iter().map(|link| link.id).collect())
    }

    /// The frontier is in a new order: whoever ordered it is told.
    pub(super) fn report_switch(&mut self) {
        let Some(reporting) = self.learning.reporting.take() else {
            return;
        };
        let (before, best_before) = reporting.before;
        let (after, best_after) = self.order_image();
        let same: HashSet<UrlId> = best_before.into_iter().collect();
        let new = best_after.iter().filter(|id| !same.contains(id)).count();
        let effect = Effect {
            before,
            after,
            best_changed: new as f64 / best_after.len().max(1) as f64,
        };
        self.learning.epochs.set_effect(reporting.number, effect);
        let answer = Answer::Epoch(reporting.reply, reporting.number);
        self.waiters.push(self.store.last(), answer);
        // In a crawl at rest nothing may be left to flush, and no flush would answer.
        self.answer_waiters();
    }
}
