//! The epochs of a crawl's apprentice: what was learned up to where, and how well it predicted.

use std::collections::BTreeMap;

use super::engine::Engine;
use super::handle::CrawlError;
use super::labels::LOST;
use super::trainee::Settings;
use crate::apprentice::Prepared;
use crate::booking::{EpochCause, EpochEvent, Event, Recipe, Seq};
use crate::clock::Clock;
use crate::fetch::Source;
use crate::measure::{LossCurve, roc_auc};
use crate::proto::v1;

/// Predictions kept for the figures of an epoch; of more, the first ones count.
const RECENT_MAX: usize = 50_000;
/// Fetches before and after an epoch whose loss is compared (the paper's figure).
const AROUND: usize = 500;

/// What an ordered epoch did to the frontier.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Effect {
    pub(super) before: Vec<u64>,
    pub(super) after: Vec<u64>,
    /// Share of the best links that were not among them before.
    pub(super) best_changed: f64,
}

/// See the module.
#[derive(Default)]
pub(super) struct Epochs {
    all: Vec<EpochEvent>,
    /// The events that booked them.
    began: Vec<Seq>,
    /// The number of the one that all of the frontier has been ordered by last.
    ordered_by: u64,
    /// See [`is_as_booked`](Self::is_as_booked).
    is_as_booked: bool,
    /// Ranges of events that the learner in place has learned, and the event after which it learns all.
    ranges: Vec<(Seq, Seq)>,
    after: Seq,
    pub(super) instances: u64,
    pub(super) pages: u64,
    /// Prediction (a logit) and label (log odds) of the instances since the last epoch.
    recent: Vec<(f32, f32)>,
    effects: BTreeMap<u64, Effect>,
}

impl Epochs {
    /// The number of the last one, 0 if there is none.
    pub(super) fn number(&self) -> u64 {
        self.all.last().map_or(0, |epoch| epoch.number)
    }

    /// The event that booked it.
    pub(super) fn last_at(&self) -> Seq {
        self.began.last().copied().unwrap_or_default()
    }

    /// The number of the one that was in force at event `seq`, 0 if there was none.
    pub(super) fn at(&self, seq: Seq) -> u64 {
        let before = self.began.partition_point(|began| *began < seq);
        let last = before.checked_sub(1).and_then(|at| self.all.get(at));
        last.map_or(0, |epoch| epoch.number)
    }

    /// The number of the one that all of the frontier has been ordered by last, 0 if it never was.
    pub(super) fn ordered_by(&self) -> u64 {
        self.ordered_by
    }

    /// Whether the links go by the scores that they were booked with, each of the epoch of its time: after a
    /// crawl was opened, until all are scored anew.
    pub(super) fn is_as_booked(&self) -> bool {
        self.is_as_booked
    }

    pub(super) fn get(&self, number: u64) -> Option<&EpochEvent> {
        self.all.iter().find(|epoch| epoch.number == number)
    }

    /// The frontier is in the order of that one.
    pub(super) fn in_order_of(&mut self, number: u64) {
        self.ordered_by = number;
        self.is_as_booked = false;
    }

    pub(super) fn set_effect(&mut self, number: u64, effect: Effect) {
        self.effects.insert(number, effect);
    }

    /// Takes in a judged page with what was predicted for it.
    pub(super) fn count(&mut self, prepared: &Prepared, log_odds: f32) {
        self.pages += 1;
        self.count_instances(prepared, log_odds);
    }

    /// The same for a fetch that was lost, and that was a lesson.
    pub(super) fn count_lost(&mut self, prepared: &Prepared) {
        self.count_instances(prepared, LOST);
    }

    fn count_instances(&mut self, prepared: &Prepared, log_odds: f32) {
        self.instances += prepared.instances.len() as u64;
        let room = RECENT_MAX.saturating_sub(self.recent.len());
        let scores = prepared.scores.iter().take(room);
        self.recent.extend(scores.map(|score| (*score, log_odds)));
    }

    /// Takes in one that the log tells of.
    pub(super) fn fold(&mut self, seq: Seq, epoch: EpochEvent) {
        self.add(seq, epoch);
        self.is_as_booked = true;
    }

    /// Takes in an epoch that was booked as event `seq`.
    pub(super) fn add(&mut self, seq: Seq, epoch: EpochEvent) {
        if epoch.cause != EpochCause::Automatic {
            self.ranges.clone_from(&epoch.recipe.ranges);
            self.after = seq;
            self.instances = epoch.instances;
        }
        self.pages = epoch.pages;
        self.recent.clear();
        self.began.push(seq);
        self.all.push(epoch);
    }

    /// The ranges of events that have been learned when `last` has.
    fn ranges_until(&self, last: Seq) -> Vec<(Seq, Seq)> {
        let mut ranges = self.ranges.clone();
        if last <= self.after {
            return ranges;
        }
        match ranges.last_mut() {
            // What lies between is the epoch's own event.
            Some((_, end)) if end.0 + 1 >= self.after.0 => *end = last,
            _ => ranges.push((Seq(self.after.0 + 1), last)),
        }
        ranges
    }
}

/// Mean log loss in nats of predicted logits against soft labels given as log odds.
fn log_loss(pairs: &[(f32, f32)]) -> Option<f64> {
    let loss = |(logit, log_odds): &(f32, f32)| {
        let z = f64::from(*logit);
        let label = 1.0 / (1.0 + (-f64::from(*log_odds)).exp());
        // ln (1 + e^z) - label z, without overflow.
        z.max(0.0) + (-z.abs()).exp().ln_1p() - label * z
    };
    let sum: f64 = pairs.iter().map(loss).sum();
    (!pairs.is_empty()).then(|| sum / pairs.len() as f64)
}

/// Area under the ROC curve, relevant being R >= 0.5.
fn auc(pairs: &[(f32, f32)]) -> Option<f64> {
    let mut scored: Vec<_> = pairs
        .iter()
        .map(|(logit, log_odds)| (*logit, *log_odds >= 0.0))
        .collect();
    roc_auc(&mut scored)
}

impl<S: Source, C: Clock> Engine<S, C> {
    /// Books that what was learned so far is in force.
    pub(super) fn book_epoch(&mut self, cause: EpochCause, returned_to: u64) {
        let ranges = self.learning.epochs.ranges_until(self.store.last());
        self.book_epoch_of(cause, returned_to, ranges);
    }

    pub(super) fn book_epoch_of(
        &mut self,
        cause: EpochCause,
        returned_to: u64,
        ranges: Vec<(Seq, Seq)>,
    ) {
        let settings = Settings {
            order: self.spec.order,
            features: self.spec.features,
            cut: self.scorer.cut(),
            labels: self.spec.labels,
            from_start: self.learning.from_start,
        };
        let epochs = &self.learning.epochs;
        let epoch = EpochEvent {
            number: epochs.number() + 1,
            cause,
            returned_to,
            recipe: Recipe {
                ranges,
                ..settings.recipe()
            },
            instances: epochs.instances,
            pages: epochs.pages,
            fetched: self.booked,
            log_loss: log_loss(&epochs.recent),
            auc: auc(&epochs.recent),
            at: self.bench.clock.now(),
        };
        tracing::debug!(
            crawl = self.spec.name,
            epoch = epoch.number,
            cause = cause.name(),
            "a new epoch"
        );
        let seq = self.append(Event::Epoch(epoch.clone()));
        self.learning.epochs.add(seq, epoch);
    }

    /// What the apprentice has gone through, oldest first.
    pub(super) fn list_epochs(&self) -> v1::ListEpochsResponse {
        let epochs = &self.learning.epochs;
        let rows = epochs.all.iter().map(|epoch| self.epoch_row(epoch));
        v1::ListEpochsResponse {
            epochs: rows.collect(),
        }
    }

    pub(super) fn epoch(&self, number: u64) -> Result<v1::Epoch, CrawlError> {
        let epoch = self.learning.epochs.get(number);
        epoch
            .map(|epoch| self.epoch_row(epoch))
            .ok_or_else(|| CrawlError::NoEpoch(format!("epoch {number} is gone")))
    }

    fn epoch_row(&self, epoch: &EpochEvent) -> v1::Epoch {
        let epochs = &self.learning.epochs;
        let effect = epochs.effects.get(&epoch.number);
        let recipe = &epoch.recipe;
        let (before, after) = around(&self.progress.curve, epoch.fetched);
        v1::Epoch {
            number: epoch.number,
            cause: epoch.cause.name().to_owned(),
            returned_to: epoch.returned_to,
            learner: recipe.order.clone(),
            apprentice: (!recipe.groups.is_empty()).then(|| v1::Apprentice {
                d_max: Some(i32::from(recipe.d_max)),
                features: recipe.groups.clone(),
                ..v1::Apprentice::default()
            }),
            instances: epoch.instances,
            pages: epoch.pages,
            fetched: epoch.fetched,
            log_loss: epoch.log_loss,
            auc: epoch.auc,
            at_ms: epoch.at.0,
            loss_before: mean_loss(before),
            loss_after: mean_loss(after),
            fetches_after: after.len() as u64,
            histogram_before: effect.map_or_else(Vec::new, |effect| effect.before.clone()),
            histogram_after: effect.map_or_else(Vec::new, |effect| effect.after.clone()),
            best_changed: effect.map(|effect| effect.best_changed),
            in_force: epoch.number == epochs.number(),
            from_start: recipe.from_start,
        }
    }
}

/// The relevances of the fetches before the n-th and after it.
fn around(curve: &LossCurve, n: u64) -> (&[f32], &[f32]) {
    let all = curve.relevances();
    let n = usize::try_from(n).unwrap_or(usize::MAX).min(all.len());
    let end = n.saturating_add(AROUND).min(all.len());
    (&all[n.saturating_sub(AROUND)..n], &all[n..end])
}

fn mean_loss(relevances: &[f32]) -> Option<f64> {
    let sum: f64 = relevances.iter().map(|r| 1.0 - f64::from(*r)).sum();
    (!relevances.is_empty()).then(|| sum / relevances.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_an_epoch_are_those_of_the_book() {
        // Relevant at 2 and 0, irrelevant at 0 and -1: of four pairs three are won and one is tied.
        let pairs = [(2.0, 50.0), (0.0, 50.0), (0.0, -50.0), (-1.0, -50.0)];
        assert_eq!(auc(&pairs), Some(3.5 / 4.0));
        // ln (1 + e^-2), ln 2 twice, ln (1 + e^-1).
        let expected = (0.126_928 + 2.0 * std::f64::consts::LN_2 + 0.313_262) / 4.0;
        assert!((log_loss(&pairs).unwrap() - expected).abs() < 1e-5);
        assert_eq!((auc(&pairs[..2]), log_loss(&[])), (None, None));
    }

    #[test]
    fn what_was_learned_is_told_in_ranges() {
        let mut epochs = Epochs::default();
        assert_eq!(epochs.ranges_until(Seq(9)), [(Seq(1), Seq(9))]);
        epochs.after = Seq(10);
        epochs.ranges = vec![(Seq(1), Seq(9))];
        assert_eq!(epochs.ranges_until(Seq(30)), [(Seq(1), Seq(30))]);
        epochs.ranges = vec![(Seq(1), Seq(5))];
        let expected = [(Seq(1), Seq(5)), (Seq(11), Seq(30))];
        assert_eq!(epochs.ranges_until(Seq(30)), expected);
        assert_eq!(epochs.ranges_until(Seq(10)), [(Seq(1), Seq(5))]);
    }
}
