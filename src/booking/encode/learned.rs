//! Records of what an apprentice leaves in the log, written and read.

use super::DecodeError;
use crate::booking::{EpochCause, EpochEvent, Frozen, FrozenPair, Pick, Recipe, Seq};
use crate::clock::Timestamp;
use crate::proto::v1;

pub(super) fn frozen_record(frozen: &Frozen) -> v1::FrozenRecord {
    let pair = |pair: &FrozenPair| v1::FrozenPairRecord {
        reference: pair.reference,
        numbers: pair.numbers.clone(),
        neighbours: pair
            .neighbours
            .iter()
            .map(|(distance, relevant)| i32::from(*distance) * 2 + i32::from(*relevant))
            .collect(),
        logits: pair.logits.clone(),
    };
    v1::FrozenRecord {
        epoch: frozen.epoch,
        propensity: frozen.propensity,
        pick: frozen.pick as u32,
        learners: frozen.learners.clone(),
        pairs: frozen.pairs.iter().map(pair).collect(),
    }
}

pub(super) fn frozen(record: v1::FrozenRecord) -> Result<Frozen, DecodeError> {
    let learners = record.learners.len();
    let pair = |record: v1::FrozenPairRecord| {
        if record.logits.len() != learners {
            return Err(DecodeError::Damaged(
                "predictions and learners of two lengths",
            ));
        }
        let neighbours = record.neighbours.iter().map(|packed| {
            let distance = i8::try_from(packed >> 1);
            distance
                .map(|distance| (distance, packed & 1 == 1))
                .map_err(|_| DecodeError::Damaged("a neighbour lies beyond the widest window"))
        });
        Ok(FrozenPair {
            reference: record.reference,
            neighbours: neighbours.collect::<Result<_, _>>()?,
            numbers: record.numbers,
            logits: record.logits,
        })
    };
    Ok(Frozen {
        epoch: record.epoch,
        propensity: record.propensity,
        pick: Pick::from_number(record.pick).ok_or(DecodeError::Unknown {
            field: "pick",
            value: u64::from(record.pick),
        })?,
        pairs: record
            .pairs
            .into_iter()
            .map(pair)
            .collect::<Result<_, _>>()?,
        learners: record.learners,
    })
}

pub(super) fn epoch_record(event: &EpochEvent) -> v1::EpochRecord {
    let recipe = &event.recipe;
    v1::EpochRecord {
        number: event.number,
        cause: event.cause as u32,
        returned_to: event.returned_to,
        order: recipe.order.clone(),
        d_max: u32::from(recipe.d_max),
        groups: recipe.groups.clone(),
        cut: recipe.cut,
        from_start: recipe.from_start,
        first: recipe.ranges.iter().map(|(first, _)| first.0).collect(),
        last: recipe.ranges.iter().map(|(_, last)| last.0).collect(),
        instances: event.instances,
        pages: event.pages,
        fetched: event.fetched,
        log_loss: event.log_loss,
        auc: event.auc,
        at_ms: event.at.0,
    }
}

pub(super) fn epoch(record: v1::EpochRecord) -> Result<EpochEvent, DecodeError> {
    if record.first.len() != record.last.len() {
        return Err(DecodeError::Damaged("ranges of an epoch of two lengths"));
    }
    let unknown = |field, value: u32| DecodeError::Unknown {
        field,
        value: u64::from(value),
    };
    let ranges = record.first.into_iter().zip(record.last);
    Ok(EpochEvent {
        number: record.number,
        cause: EpochCause::from_number(record.cause)
            .ok_or_else(|| unknown("cause of an epoch", record.cause))?,
        returned_to: record.returned_to,
        recipe: Recipe {
            order: record.order,
            d_max: u8::try_from(record.d_max).map_err(|_| unknown("d_max", record.d_max))?,
            groups: record.groups,
            cut: record.cut,
            from_start: record.from_start,
            ranges: ranges
                .map(|(first, last)| (Seq(first), Seq(last)))
                .collect(),
        },
        instances: record.instances,
        pages: record.pages,
        fetched: record.fetched,
        log_loss: record.log_loss,
        auc: record.auc,
        at: Timestamp(record.at_ms),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::booking::{Event, decode, encode};

    #[test]
    fn an_epoch_comes_back_as_it_was() {
        let event = Event::Epoch(EpochEvent {
            number: 7,
            cause: EpochCause::Returned,
            returned_to: 3,
            recipe: Recipe {
                order: "nb".to_owned(),
                d_max: 15,
                groups: vec!["text".to_owned()],
                cut: Some(0.5),
                from_start: true,
                ranges: vec![(Seq(1), Seq(9)), (Seq(20), Seq(31))],
            },
            instances: 99,
            pages: 40,
            fetched: 44,
            log_loss: Some(0.25),
            auc: None,
            at: Timestamp(5),
        });
        assert_eq!(decode(&encode(&event)).unwrap(), event);
    }

    #[test]
    fn what_was_frozen_comes_back_to_the_bit() {
        let whole = Frozen {
            epoch: 2,
            propensity: 0.04,
            pick: Pick::Baseline,
            learners: vec!["ftrl".to_owned()],
            pairs: vec![FrozenPair {
                reference: 1,
                numbers: vec![0.1, -0.0, 3.5],
                neighbours: vec![(-15, true), (-1, false), (0, true), (15, false)],
                logits: vec![-0.3],
            }],
        };
        let back = frozen(frozen_record(&whole)).unwrap();
        assert_eq!(back, whole);
        assert_eq!(back.pairs[0].numbers[1].to_bits(), (-0.0_f32).to_bits());
    }

    #[test]
    fn predictions_without_their_learner_are_damage() {
        let mut record = frozen_record(&Frozen::default());
        record.pairs.push(v1::FrozenPairRecord {
            logits: vec![1.0],
            ..v1::FrozenPairRecord::default()
        });
        assert!(frozen(record).is_err());
    }
}
