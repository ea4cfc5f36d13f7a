//! What a crawl's apprentice begins with, if not with nothing: a saved one, or what one learns from the
//! pages of another crawl.
//!
//! Either way it becomes a file in the crawl's folder, named with its checksum in the spec, so that every
//! fold of the log (a restart, a retraining, the way back to an epoch) begins with the same weights.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::oneshot;
use xxhash_rust::xxh3::Xxh3;

use super::engine::Engine;
use super::error::EngineError;
use super::handle::{CrawlError, Handle};
use super::judging::Judge;
use super::log_spec::first_spec;
use super::order::{CrawlOrder, check_features};
use super::page_reader::PageReader;
use super::spec::{Spec, SpecError, check_name};
use super::trainee::{Heed, Lessons, Settings, Trainee};
use super::waiters::Answer;
use crate::apprentice::{Carry, LinkScorer, Provenance, SavedApprentice, SavedError};
use crate::booking::Seq;
use crate::clock::{Clock, Timestamp};
use crate::critic::Teachable;
use crate::features::{FeatureSpec, TermWeights};
use crate::fetch::Source;
use crate::frontier::{FrontierStore, StoreFailure};
use crate::proto::v1;
use crate::text::unknown_name;

type SavedReply = oneshot::Sender<Result<Box<SavedApprentice>, CrawlError>>;

/// What an apprentice begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartSpec {
    /// Where it comes from.
    pub from: StartFrom,
    /// How much of it is taken.
    pub carry: Carry,
    /// XXH3 of the file in the crawl's folder, in hexadecimal digits; empty until the crawl is made.
    pub checksum: String,
}

/// Where a start comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartFrom {
    /// This file.
    Apprentice(PathBuf),
    /// The pages of the crawl of this name.
    InstancesOf(String),
}

/// Why a crawl cannot begin with what it is told to.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Nothing learns in it.
    #[error(
        "the order `{0}` learns nothing that could begin with something; take auto, ftrl or nb"
    )]
    Idle(&'static str),
    /// It was trained for something else.
    #[error(
        "{from} learned for the focus {theirs}, and this crawl has the focus {ours}; with --carry \
         topic-free it takes what belongs to no topic"
    )]
    Focus {
        /// What was given.
        from: String,
        /// Its focus.
        theirs: String,
        /// That of the crawl.
        ours: String,
    },
    /// The labels are another critic's.
    #[error(
        "crawl {0:?} is judged by another critic than this one is to be, so that its pages are labelled \
         otherwise; give the critic of that crawl, or --carry topic-free"
    )]
    Critic(String),
    /// It looked at something else.
    #[error(
        "{from} looked at other features than this crawl is told to: {differ}; leave --d-max, --features \
         and --without-features out to take its own"
    )]
    Features {
        /// What was given.
        from: String,
        /// How they differ.
        differ: String,
    },
    /// The learner of this order has learned nothing in it.
    #[error(
        "{from} holds nothing for the learner of the order `{order}` to begin with; take {others}"
    )]
    Learner {
        /// What was given.
        from: String,
        /// The order of the crawl.
        order: &'static str,
        /// The orders that can begin with it.
        others: String,
    },
    /// The other crawl has no pages to learn from.
    #[error(
        "crawl {0:?} has no instances to learn from yet: no page was fetched that was found through a link \
         of another page"
    )]
    NoInstances(String),
    /// The file cannot be used.
    #[error(transparent)]
    Saved(#[from] SavedError),
    /// The spec cannot be taken with it.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The other crawl cannot be folded.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The other crawl cannot be read.
    #[error(transparent)]
    Store(#[from] StoreFailure),
}

/// What is said of a start, without a look at what it names.
pub(super) fn check_start(start: Option<&v1::Start>) -> Result<Option<StartSpec>, SpecError> {
    let Some(start) = start.filter(|start| **start != v1::Start::default()) else {
        return Ok(None);
    };
    let wrong = |field: &str, problem: String| SpecError::new(format!("start.{field}"), problem);
    let carry = Carry::from_name(&start.carry).ok_or_else(|| {
        let names = Carry::ALL.map(Carry::name);
        wrong(
            "carry",
            format!("no way to carry {}", unknown_name(&start.carry, &names)),
        )
    })?;
    let from = match (start.apprentice.as_str(), start.instances_of.as_str()) {
        ("", "") => {
            let problem =
                "nothing to begin with; give a saved apprentice, or the instances of a crawl";
            return Err(wrong("apprentice", problem.to_owned()));
        }
        (path, "") => StartFrom::Apprentice(PathBuf::from(path)),
        ("", name) => {
            check_name(name).map_err(|error| wrong("instances_of", error.problem))?;
            StartFrom::InstancesOf(name.to_owned())
        }
        _ => {
            let problem =
                "there is a saved apprentice as well, and a crawl begins with one; leave one out";
            return Err(wrong("instances_of", problem.to_owned()));
        }
    };
    Ok(Some(StartSpec {
        from,
        carry,
        checksum: start.checksum.clone(),
    }))
}

/// The scorer of a crawl at its beginning.
pub(super) fn first_scorer(spec: &Spec, start: Option<&SavedApprentice>) -> Box<dyn LinkScorer> {
    let settings = Settings {
        order: spec.order,
        features: spec.features,
        cut: None,
        labels: spec.labels,
        from_start: start.is_some(),
    };
    settings.scorer(spec.seed, start)
}

/// The topics of a focus in words.
fn focus_words(topics: &[String], without: &[String]) -> String {
    let topics = topics.join(", ");
    match without {
        [] => format!("{topics:?}"),
        without => format!("{topics:?} without {:?}", without.join(", ")),
    }
}

fn sorted(names: &[String]) -> Vec<String> {
    let mut names = names.to_vec();
    names.sort();
    names.dedup();
    names
}

/// How two sets of features differ: the window, and the groups of one alone.
fn difference(saved: &FeatureSpec, told: &FeatureSpec) -> String {
    let mut words = Vec::new();
    if saved.d_max() != told.d_max() {
        words.push(format!(
            "its d_max is {}, here it is {}",
            saved.d_max(),
            told.d_max()
        ));
    }
    let alone = |a: &FeatureSpec, b: &FeatureSpec| {
        let other = b.groups();
        let groups = a.groups().into_iter();
        let alone: Vec<_> = groups.filter(|group| !other.contains(group)).collect();
        alone.join(", ")
    };
    for (groups, side) in [
        (alone(saved, told), "it has and this crawl has not"),
        (alone(told, saved), "this crawl has and it has not"),
    ] {
        if !groups.is_empty() {
            words.push(format!("{groups} {side}"));
        }
    }
    words.join("; ")
}

impl StartSpec {
    /// Takes a saved apprentice for the crawl of `raw`: the spec is given its features if it names none.
    ///
    /// # Errors
    /// [`StartError`] if it is of another focus, or looked at other features, or if nothing in this crawl can
    /// begin with it.
    pub fn fit(
        &self,
        saved: SavedApprentice,
        from: &str,
        raw: &mut v1::CrawlSpec,
    ) -> Result<SavedApprentice, StartError> {
        let spec = Spec::check(raw)?;
        if !spec.order.learns() {
            return Err(StartError::Idle(spec.order.name()));
        }
        if self.carry == Carry::All {
            same_focus(&saved.provenance, &spec, from)?;
        }
        let told = raw.apprentice.get_or_insert_default();
        told.d_max = told.d_max.or(Some(i32::from(saved.features.d_max())));
        if told.features.is_empty() && told.without.is_empty() {
            let groups = saved.features.groups();
            told.features = groups.into_iter().map(str::to_owned).collect();
        }
        let features = check_features(spec.order, raw.apprentice.as_ref())?;
        if features != saved.features {
            return Err(StartError::Features {
                from: from.to_owned(),
                differ: difference(&saved.features, &features),
            });
        }
        let saved = saved.carrying(self.carry);
        if !holds(&saved, spec.order) {
            let others = [CrawlOrder::Auto, CrawlOrder::Ftrl, CrawlOrder::Nb];
            let others = others.into_iter().filter(|order| holds(&saved, *order));
            let names: Vec<_> = others.map(CrawlOrder::name).collect();
            return Err(StartError::Learner {
                from: from.to_owned(),
                order: spec.order.name(),
                others: if names.is_empty() {
                    "another one".to_owned()
                } else {
                    format!("the order {}", names.join(" or "))
                },
            });
        }
        Ok(saved)
    }
}

/// Whether the learner that an order begins with has learned something in it.
fn holds(saved: &SavedApprentice, order: CrawlOrder) -> bool {
    let first = match order {
        CrawlOrder::Nb => "nb",
        CrawlOrder::Auto | CrawlOrder::Ftrl => "ftrl",
        _ => return false,
    };
    let mut learners = saved.panel.learners();
    learners.any(|(name, text_only, weights)| name == first && !text_only && weights.count() > 0)
}

fn same_focus(theirs: &Provenance, ours: &Spec, from: &str) -> Result<(), StartError> {
    let (topics, without) = (sorted(&ours.topics), sorted(&ours.without));
    if (&theirs.topics, &theirs.without) == (&topics, &without) {
        return Ok(());
    }
    Err(StartError::Focus {
        from: from.to_owned(),
        theirs: focus_words(&theirs.topics, &theirs.without),
        ours: focus_words(&topics, &without),
    })
}

/// What tells critics apart: their classes, and what the words are worth to them for their focus.
fn fingerprint(judge: &Judge) -> u64 {
    let mut hash = Xxh3::new();
    if let Judge::Far(judge) = judge {
        hash.update(judge.place().as_bytes());
        return hash.digest();
    }
    for name in judge.class_names().iter() {
        hash.update(name.as_bytes());
        hash.update(&[0]);
    }
    let mut weights = judge.term_weights();
    weights.sort_by(|a, b| a.0.cmp(&b.0));
    for (word, weight) in weights {
        hash.update(word.as_bytes());
        hash.update(&weight.to_le_bytes());
    }
    hash.digest()
}

/// What the apprentice of a crawl with `spec` would know if it had fetched what the crawl of
/// `other` has fetched by now. The judge of that one has to be `judge`, and the focus the same; `None` asks
/// for neither. Reads the other's log: blocks.
///
/// # Errors
/// [`StartError`] if the other is of another focus or critic, or has no instances.
pub fn learned_from(
    other: &Handle,
    spec: &Spec,
    judge: Option<&Judge>,
    now: Timestamp,
) -> Result<SavedApprentice, StartError> {
    if !spec.order.learns() {
        return Err(StartError::Idle(spec.order.name()));
    }
    let store = Arc::clone(other.store());
    let (_, theirs) = first_spec(store.as_ref())?;
    let provenance = Provenance {
        crawl: other.name().to_owned(),
        topics: sorted(&theirs.topics),
        without: sorted(&theirs.without),
        critic_version: other.judge().teachable().map_or(0, Teachable::version),
        order: spec.order.name().to_owned(),
        at: now,
        ..Provenance::default()
    };
    if let Some(judge) = judge {
        let from = format!("crawl {:?}", other.name());
        same_focus(&provenance, spec, &from)?;
        if fingerprint(judge) != fingerprint(other.judge()) {
            return Err(StartError::Critic(other.name().to_owned()));
        }
    }
    let weights = Arc::new(TermWeights::new(other.judge().term_weights()));
    let trainee = studied(&store, other.judge(), weights, spec)?;
    let panel = trainee.scorer.save();
    let panel = panel.filter(|_| trainee.instances > 0);
    let Some(panel) = panel else {
        return Err(StartError::NoInstances(other.name().to_owned()));
    };
    Ok(SavedApprentice {
        provenance: Provenance {
            instances: trainee.instances,
            pages: trainee.pages,
            ..provenance
        },
        features: spec.features,
        carried: Carry::All,
        panel,
    })
}

/// The apprentice of `spec` after all pages of a log.
fn studied(
    store: &Arc<dyn FrontierStore>,
    judge: &Judge,
    weights: Arc<TermWeights>,
    spec: &Spec,
) -> Result<Trainee, StoreFailure> {
    let settings = Settings {
        order: spec.order,
        features: spec.features,
        cut: None,
        labels: spec.labels,
        from_start: false,
    };
    let everything = Lessons {
        ranges: Vec::new(),
        after: Seq(0),
    };
    let reader = PageReader::new(Arc::clone(store), judge.clone(), weights);
    let mut trainee = Trainee::new(settings, everything, reader, spec.seed, None);
    let to = store.durable();
    trainee.find_cut(store.as_ref(), to)?;
    trainee.study(store.as_ref(), to, &Heed::default())?;
    trainee.scorer.publish();
    Ok(trainee)
}

impl<S: Source, C: Clock> Engine<S, C> {
    /// Whether a learner with these settings can begin with what the crawl was given.
    pub(super) fn may_start(&self, order: CrawlOrder, features: FeatureSpec) -> bool {
        let start = self.learning.start.as_ref();
        start.is_some_and(|start| order.learns() && start.features == features)
    }

    /// Answers with what was learned when that is durable.
    pub(super) fn answer_saved(&mut self, reply: SavedReply) {
        match self.saved_apprentice() {
            Ok(saved) => {
                let answer = Answer::Apprentice(reply, Box::new(saved));
                self.waiters.push(self.store.last(), answer);
            }
            Err(error) => {
                // A caller who has hung up wants no answer.
                let _ = reply.send(Err(error));
            }
        }
    }

    /// All that the apprentice has learned.
    pub(super) fn saved_apprentice(&self) -> Result<SavedApprentice, CrawlError> {
        let name = &self.spec.name;
        let Some(panel) = self.scorer.save() else {
            return Err(CrawlError::State(format!(
                "the order `{}` of crawl {name:?} learns nothing that could be saved; retrain it with \
                 `crawl retrain {name} --learner ftrl`",
                self.spec.order.name()
            )));
        };
        let epochs = &self.learning.epochs;
        if epochs.number() == 0 && !self.learning.from_start {
            return Err(CrawlError::State(format!(
                "the apprentice of crawl {name:?} has learned nothing yet that could be saved; wait for \
                 its first epoch (`crawl epochs {name}`)"
            )));
        }
        Ok(SavedApprentice {
            provenance: Provenance {
                crawl: name.clone(),
                topics: sorted(&self.spec.topics),
                without: sorted(&self.spec.without),
                critic_version: self.bench.judge.teachable().map_or(0, Teachable::version),
                order: self.spec.order.name().to_owned(),
                instances: epochs.instances,
                pages: epochs.pages,
                epoch: epochs.number(),
                at: self.bench.clock.now(),
            },
            features: self.spec.features,
            carried: Carry::All,
            panel,
        })
    }
}
