//! A saved apprentice as a record, and back: nothing of a record is believed before it is checked.

use super::{Carry, Provenance, SavedApprentice, SavedLearner, SavedPanel, Weights};
use crate::apprentice::calibrator::Calibrator;
use crate::apprentice::dense::{DENSE, Dense};
use crate::apprentice::ftrl::{FtrlParams, FtrlWeights, Slot, Sums};
use crate::apprentice::nb::BayesCounts;
use crate::clock::Timestamp;
use crate::features::{FEATURES_VERSION, FeatureSpec};
use crate::proto::v1;

/// log2 of the most slots that are made: 12 bytes each, 48 MiB.
const BITS_MAX: u32 = 22;
/// Weights are some units at most; a sum of far larger ones would be no number.
const WEIGHT_MAX: f32 = 1e6;
/// Learners of one apprentice.
const LEARNERS_MAX: usize = 16;

pub(super) fn to_record(saved: &SavedApprentice) -> v1::SavedApprentice {
    let from = &saved.provenance;
    let groups = saved.features.groups();
    v1::SavedApprentice {
        features_version: FEATURES_VERSION,
        d_max: u32::from(saved.features.d_max()),
        groups: groups.into_iter().map(str::to_owned).collect(),
        topics: from.topics.clone(),
        without: from.without.clone(),
        critic_version: from.critic_version,
        crawl: from.crawl.clone(),
        order: from.order.clone(),
        instances: from.instances,
        pages: from.pages,
        epoch: from.epoch,
        at_ms: from.at.0,
        carried: match saved.carried {
            Carry::All => String::new(),
            Carry::TopicFree => Carry::TopicFree.name().to_owned(),
        },
        followed: saved.panel.followed.clone(),
        learners: saved.panel.learners.iter().map(learner_record).collect(),
    }
}

fn learner_record(learner: &SavedLearner) -> v1::SavedLearner {
    let (ftrl, bayes) = match &learner.weights {
        Weights::None => (None, None),
        Weights::Ftrl(weights) => (Some(ftrl_record(weights)), None),
        Weights::Bayes(counts) => (None, Some(bayes_record(counts))),
    };
    v1::SavedLearner {
        name: learner.name.clone(),
        text_only: learner.text_only,
        calibrator: learner.calibrator.to_numbers().to_vec(),
        ftrl,
        bayes,
    }
}

fn ftrl_record(weights: &FtrlWeights) -> v1::SavedFtrl {
    let FtrlWeights {
        params,
        slots,
        dense,
    } = weights;
    let mut last = 0;
    let gaps = slots.iter().map(|slot| {
        let gap = slot.at.wrapping_sub(last);
        last = slot.at;
        gap
    });
    v1::SavedFtrl {
        bits: params.bits,
        alpha: params.alpha,
        alpha_dense: params.alpha_dense,
        beta: params.beta,
        l1: params.l1,
        l2: params.l2,
        prior: params.prior.to_vec(),
        dense_z: dense.iter().map(|sums| sums.z).collect(),
        dense_n: dense.iter().map(|sums| sums.n).collect(),
        slot_gaps: gaps.collect(),
        z: slots.iter().map(|slot| slot.sums.z).collect(),
        n: slots.iter().map(|slot| slot.sums.n).collect(),
        topic_free: slots.iter().map(|slot| slot.is_topic_free).collect(),
    }
}

fn bayes_record(counts: &BayesCounts) -> v1::SavedBayes {
    let mut last = 0;
    let gaps = counts.features.iter().map(|(key, _)| {
        let gap = key.wrapping_sub(last);
        last = *key;
        gap
    });
    v1::SavedBayes {
        cut: counts.cut,
        key_gaps: gaps.collect(),
        low: counts.features.iter().map(|(_, [low, _])| *low).collect(),
        high: counts.features.iter().map(|(_, [_, high])| *high).collect(),
        instances_low: counts.instances[0],
        instances_high: counts.instances[1],
    }
}

/// What is wrong with a record.
type Problem = String;

pub(super) fn from_record(record: v1::SavedApprentice) -> Result<SavedApprentice, Problem> {
    let groups = record.groups.iter().map(String::as_str);
    let features = FeatureSpec::default()
        .with_groups(groups)
        .and_then(|features| features.with_d_max(i64::from(record.d_max)))
        .map_err(|error| error.to_string())?;
    let carried = Carry::from_name(&record.carried)
        .ok_or_else(|| format!("it carries {:?}", record.carried))?;
    if record.learners.is_empty() || record.learners.len() > LEARNERS_MAX {
        return Err(format!("it has {} learners", record.learners.len()));
    }
    let learners = record.learners.into_iter().map(learner);
    Ok(SavedApprentice {
        features,
        carried,
        panel: SavedPanel {
            followed: record.followed,
            learners: learners.collect::<Result<_, _>>()?,
        },
        provenance: Provenance {
            crawl: record.crawl,
            topics: record.topics,
            without: record.without,
            critic_version: record.critic_version,
            order: record.order,
            instances: record.instances,
            pages: record.pages,
            epoch: record.epoch,
            at: Timestamp(record.at_ms),
        },
    })
}

fn learner(record: v1::SavedLearner) -> Result<SavedLearner, Problem> {
    let of = |problem: Problem| format!("learner {:?}: {problem}", record.name);
    let calibrator = <[f32; 4]>::try_from(record.calibrator.as_slice())
        .ok()
        .and_then(Calibrator::from_numbers)
        .ok_or_else(|| of("its probabilities are none".to_owned()))?;
    let weights = match (record.ftrl, record.bayes) {
        (None, None) => Weights::None,
        (Some(ftrl), None) => Weights::Ftrl(ftrl_weights(&ftrl).map_err(of)?),
        (None, Some(bayes)) => Weights::Bayes(bayes_counts(&bayes).map_err(of)?),
        (Some(_), Some(_)) => return Err(of("it is two in one".to_owned())),
    };
    Ok(SavedLearner {
        name: record.name,
        text_only: record.text_only,
        calibrator,
        weights,
    })
}

/// Whether a table of 2^`bits` slots is one that is made.
pub(super) fn check_bits(bits: u32) -> Result<(), Problem> {
    if bits == 0 || bits > BITS_MAX {
        return Err(format!("2^{bits} slots"));
    }
    Ok(())
}

fn ftrl_weights(record: &v1::SavedFtrl) -> Result<FtrlWeights, Problem> {
    check_bits(record.bits)?;
    let rates = [record.alpha, record.alpha_dense, record.beta];
    let bounds = [record.l1, record.l2];
    let are_sound = rates.iter().all(|rate| rate.is_finite() && *rate > 0.0)
        && bounds.iter().all(|bound| is_amount(*bound));
    if !are_sound {
        return Err("its learning rates are none".to_owned());
    }
    let prior = dense_of(&record.prior)?;
    prior.iter().copied().try_for_each(check_weight)?;
    let (z, n) = (dense_of(&record.dense_z)?, dense_of(&record.dense_n)?);
    let mut dense = [Sums::default(); DENSE];
    for ((sums, z), n) in dense.iter_mut().zip(z).zip(n) {
        *sums = sums_of(z, n)?;
        check_weight(sums.weight(record.alpha_dense, record.beta, 0.0, 0.0))?;
    }
    let count = record.slot_gaps.len();
    if [record.z.len(), record.n.len(), record.topic_free.len()] != [count; 3] {
        return Err("columns of several lengths".to_owned());
    }
    let mut slots = Vec::with_capacity(count);
    let mut at = 0_u32;
    let columns = (record.z.iter().zip(&record.n)).zip(&record.topic_free);
    for (place, (gap, ((z, n), topic_free))) in record.slot_gaps.iter().zip(columns).enumerate() {
        at = rising(place, u64::from(at), u64::from(*gap))
            .and_then(|at| u32::try_from(at).ok())
            .filter(|at| *at < 1 << record.bits)
            .ok_or("a slot beyond the last, or twice")?;
        let sums = sums_of(*z, *n)?;
        check_weight(sums.weight(record.alpha, record.beta, record.l1, record.l2))?;
        slots.push(Slot {
            at,
            sums,
            is_topic_free: *topic_free,
        });
    }
    Ok(FtrlWeights {
        params: FtrlParams {
            bits: record.bits,
            alpha: record.alpha,
            alpha_dense: record.alpha_dense,
            beta: record.beta,
            l1: record.l1,
            l2: record.l2,
            prior,
        },
        slots,
        dense,
    })
}

fn bayes_counts(record: &v1::SavedBayes) -> Result<BayesCounts, Problem> {
    let count = record.key_gaps.len();
    if [record.low.len(), record.high.len()] != [count; 2] {
        return Err("columns of several lengths".to_owned());
    }
    let instances = [record.instances_low, record.instances_high];
    let counts = record.low.iter().chain(&record.high).chain(&instances);
    if !(0.0..=1.0).contains(&record.cut) || !counts.copied().all(is_amount) {
        return Err("counts that are none".to_owned());
    }
    let mut features = Vec::with_capacity(count);
    let mut key = 0;
    let sides = record.low.iter().zip(&record.high);
    for (place, (gap, (low, high))) in record.key_gaps.iter().zip(sides).enumerate() {
        key = rising(place, key, *gap).ok_or("a feature beyond the last, or twice")?;
        features.push((key, [*low, *high]));
    }
    Ok(BayesCounts {
        cut: record.cut,
        features,
        instances,
    })
}

/// The number after `last` in a column of rising ones.
fn rising(place: usize, last: u64, gap: u64) -> Option<u64> {
    last.checked_add(gap).filter(|_| place == 0 || gap > 0)
}

/// A number, and no less than 0.
fn is_amount(number: f32) -> bool {
    number.is_finite() && number >= 0.0
}

fn sums_of(z: f32, n: f32) -> Result<Sums, Problem> {
    if z.is_finite() && is_amount(n) {
        Ok(Sums { z, n })
    } else {
        Err("sums that are none".to_owned())
    }
}

fn check_weight(weight: f32) -> Result<(), Problem> {
    if weight.abs() <= WEIGHT_MAX {
        Ok(())
    } else {
        Err(format!("a weight of {weight}"))
    }
}

/// Dense features are added at the end: a file from before has fewer.
fn dense_of(numbers: &[f32]) -> Result<Dense, Problem> {
    if numbers.len() > DENSE || !numbers.iter().all(|number| number.is_finite()) {
        return Err("dense weights that are none".to_owned());
    }
    let mut dense = [0.0; DENSE];
    dense[..numbers.len()].copy_from_slice(numbers);
    Ok(dense)
}
