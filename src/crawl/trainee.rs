//! A learner on its way through the log.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::labels::Labels;
use super::learners::LearnersAt;
use super::order::CrawlOrder;
use super::page_reader::PageReader;
use super::spec::SpecError;
use crate::apprentice::{LinkScorer, SavedApprentice, cut_of};
use crate::booking::{Event, Recipe, Seq};
use crate::features::FeatureSpec;
use crate::frontier::{FrontierStore, StoreFailure};

/// Which learner, and what it looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Settings {
    pub(super) order: CrawlOrder,
    pub(super) features: FeatureSpec,
    pub(super) cut: Option<f32>,
    pub(super) labels: Labels,
    /// Whether it begins with the crawl's saved apprentice.
    pub(super) from_start: bool,
}

impl Settings {
    /// For the log, without what was learned.
    pub(super) fn recipe(&self) -> Recipe {
        let learns = self.order.learns();
        Recipe {
            order: self.order.name().to_owned(),
            d_max: self.features.d_max(),
            groups: if learns {
                let groups = self.features.groups();
                groups.into_iter().map(str::to_owned).collect()
            } else {
                Vec::new()
            },
            cut: self.cut,
            from_start: self.from_start,
            ranges: Vec::new(),
        }
    }

    /// As the log has them.
    pub(super) fn of(recipe: &Recipe, labels: Labels) -> Result<Self, SpecError> {
        let wrong = |field: &str, words: String| SpecError::new(field, words);
        let order = CrawlOrder::from_name(&recipe.order).map_err(|words| wrong("order", words))?;
        let groups = recipe.groups.iter().map(String::as_str);
        let features = FeatureSpec::default()
            .with_groups(groups)
            .and_then(|features| features.with_d_max(i64::from(recipe.d_max)))
            .map_err(|error| wrong("apprentice.features", error.to_string()))?;
        Ok(Self {
            order,
            features,
            cut: recipe.cut,
            labels,
            from_start: recipe.from_start,
        })
    }

    /// What an event teaches: R(v), and for how many pairs (u, v).
    fn labels_of(&self, event: &Event) -> Option<(f32, usize)> {
        match event {
            Event::Page(page) => {
                let log_odds = self.labels.of_page(&page.judgement);
                let pairs = match &page.frozen {
                    Some(frozen) => frozen.pairs.len(),
                    None => page.lease.references.len(),
                };
                Some((1.0 / (1.0 + (-log_odds).exp()), pairs))
            }
            Event::Failure(failure) if failure.is_lesson => {
                let frozen = failure.frozen.as_ref();
                Some((0.0, frozen.map_or(0, |frozen| frozen.pairs.len())))
            }
            _ => None,
        }
    }

    /// The scorer before its first lesson.
    pub(super) fn scorer(&self, seed: u64, start: Option<&SavedApprentice>) -> Box<dyn LinkScorer> {
        let mut scorer = self.order.scorer(self.features, seed);
        if let Some(cut) = self.cut {
            scorer.set_cut(cut);
        }
        // The counts of naive Bayes hold for its own cut.
        if let Some(start) = start.filter(|_| self.from_start) {
            scorer.begin_with(&start.panel);
        }
        scorer
    }
}

/// Which events are learned.
#[derive(Clone, Debug)]
pub(super) struct Lessons {
    pub(super) ranges: Vec<(Seq, Seq)>,
    /// Everything after it is.
    pub(super) after: Seq,
}

impl Lessons {
    fn hold(&self, seq: Seq) -> bool {
        let mut ranges = self.ranges.iter();
        seq > self.after || ranges.any(|(first, last)| (*first..=*last).contains(&seq))
    }
}

/// A learner on its way through the log.
pub(super) struct Trainee {
    pub(super) settings: Settings,
    pub(super) lessons: Lessons,
    pub(super) scorer: Box<dyn LinkScorer>,
    pub(super) reader: PageReader,
    /// The last event that it has taken in.
    pub(super) upto: Seq,
    /// From this event on, booked epochs are put in force.
    pub(super) epochs_from: Seq,
    pub(super) instances: u64,
    pub(super) pages: u64,
    /// The learners' figures at the beginning of each of these epochs but the first, whose switch it was.
    pub(super) validated: Vec<LearnersAt>,
}

impl Trainee {
    /// One that knows nothing, or what `start` has learned if the settings say so.
    pub(super) fn new(
        settings: Settings,
        lessons: Lessons,
        reader: PageReader,
        seed: u64,
        start: Option<&SavedApprentice>,
    ) -> Self {
        let scorer = settings.scorer(seed, start);
        let settings = Settings {
            cut: scorer.cut().or(settings.cut),
            ..settings
        };
        Self {
            scorer,
            settings,
            lessons,
            reader,
            upto: Seq(0),
            epochs_from: Seq(u64::MAX),
            instances: 0,
            pages: 0,
            validated: Vec::new(),
        }
    }

    fn take(&mut self, seq: Seq, event: &Event) -> Result<(), StoreFailure> {
        self.scorer.observe(event);
        match event {
            Event::Page(page) => {
                self.pages += 1;
                if self.scorer.needs_sketches() {
                    let label = self.settings.labels.of_page(&page.judgement);
                    let label = self.lessons.hold(seq).then_some(label);
                    let scorer = self.scorer.as_mut();
                    // Before the switch another apprentice predicted, under epochs of its own.
                    let anew = seq < self.epochs_from;
                    let prepared = self.reader.fold(scorer, seq, page, label, anew)?;
                    self.instances += prepared.instances.len() as u64;
                    if anew {
                        self.scorer.publish_if_due();
                    }
                }
            }
            Event::Failure(failure) if self.scorer.needs_sketches() => {
                let learns = self.lessons.hold(seq);
                let anew = seq < self.epochs_from;
                let scorer = self.scorer.as_mut();
                let prepared = (self.reader).fold_failure(scorer, failure, learns, anew)?;
                self.instances += prepared.map_or(0, |prepared| prepared.instances.len() as u64);
                if anew {
                    self.scorer.publish_if_due();
                }
            }
            Event::Epoch(_) if seq >= self.epochs_from => {
                self.scorer.publish();
                if seq > self.epochs_from {
                    self.validated.push(LearnersAt {
                        pages: self.pages,
                        learners: self.scorer.learners(),
                    });
                }
            }
            _ => {}
        }
        self.upto = seq;
        Ok(())
    }

    /// Takes in the events up to `to`, unless it is told to stop.
    pub(super) fn study(
        &mut self,
        store: &dyn FrontierStore,
        to: Seq,
        heed: &Heed,
    ) -> Result<(), StoreFailure> {
        let mut broken = None;
        store.scan(Seq(self.upto.0 + 1), to, &mut |seq, event| {
            broken = self.take(seq, &event).err();
            heed.done.store(seq.0, Ordering::Relaxed);
            broken.is_none() && !heed.stop.load(Ordering::Relaxed)
        })?;
        broken.map_or(Ok(()), Err)
    }

    /// Finds where naive Bayes cuts: at the median label of all instances.
    pub(super) fn find_cut(
        &mut self,
        store: &dyn FrontierStore,
        to: Seq,
    ) -> Result<(), StoreFailure> {
        if !self.settings.order.learns() || self.settings.cut.is_some() {
            return Ok(());
        }
        let mut labels = Vec::new();
        store.scan(Seq(1), to, &mut |seq, event| {
            if self.lessons.hold(seq)
                && let Some((label, pairs)) = self.settings.labels_of(&event)
            {
                labels.extend(std::iter::repeat_n(label, pairs));
            }
            true
        })?;
        if !labels.is_empty() {
            let cut = cut_of(&mut labels);
            self.settings.cut = Some(cut);
            self.scorer.set_cut(cut);
        }
        Ok(())
    }
}

/// What a job and its engine tell each other.
#[derive(Debug, Default)]
pub(super) struct Heed {
    pub(super) stop: AtomicBool,
    /// The last event learned.
    pub(super) done: AtomicU64,
}
