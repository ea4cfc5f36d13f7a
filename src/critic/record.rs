//! A model as the messages of model.proto, and back.
//!
//! A checksum guards against accidents, not against a file that was made to harm: everything that
//! the judge later indexes with is checked here.

use crate::clock::Timestamp;
use crate::critic::bayes::{CLASSES_MAX, ClassCounts, Priors, SparseNb};
use crate::critic::calibration::Calibration;
use crate::critic::evaluation::Evaluation;
use crate::critic::model::{ClassRecord, CriticModel, TrainingRecord};
use crate::critic::reliability::{BINS, Bin, Reliability};
use crate::critic::sparse::index;
use crate::proto::v1;

/// `model` as a message, without terms and counts.
pub(super) fn to_parts(model: &CriticModel) -> v1::CriticRecord {
    let classes = model.classes().iter();
    let classes = classes.map(|class| class_record(class, &ClassCounts::default()));
    v1::CriticRecord {
        classes: classes.collect(),
        ..without_classes(model)
    }
}

/// The model in a message without terms and counts.
pub(super) fn from_parts(record: v1::CriticRecord) -> Result<CriticModel, String> {
    let has_terms = |class: &v1::CriticClass| !class.term_gaps.is_empty();
    if record.classes.iter().any(has_terms) {
        return Err("terms where there should be none".to_owned());
    }
    from_record(record)
}

/// `model` as a message.
pub(super) fn to_record(model: &CriticModel) -> v1::CriticRecord {
    let classes = model.classes().iter().zip(model.bayes().classes());
    v1::CriticRecord {
        classes: classes
            .map(|(class, counts)| class_record(class, counts))
            .collect(),
        ..without_classes(model)
    }
}

fn without_classes(model: &CriticModel) -> v1::CriticRecord {
    v1::CriticRecord {
        version: model.version(),
        vocabulary: model.vocabulary().to_vec(),
        classes: Vec::new(),
        alpha: model.skeleton().alpha(),
        priors_counted: model.skeleton().priors() == Priors::Counted,
        training: Some(training_record(model.training())),
    }
}

fn class_record(class: &ClassRecord, counts: &ClassCounts) -> v1::CriticClass {
    let mut last = 0;
    let gap = |(term, _): &(u32, u64)| {
        let gap = term - last;
        last = *term;
        gap
    };
    v1::CriticClass {
        topic: class.topic.clone(),
        documents: class.documents,
        term_gaps: counts.terms.iter().map(gap).collect(),
        counts: counts.terms.iter().map(|(_, n)| *n).collect(),
        examples: class.examples.clone(),
    }
}

fn training_record(training: &TrainingRecord) -> v1::CriticTraining {
    let cells = training.held_out.cells.iter();
    v1::CriticTraining {
        trained_at_ms: training.trained_at.0,
        notes: training.notes.clone(),
        sources: training.sources.clone(),
        documents_min: training.documents_min,
        share_max: training.share_max,
        terms_max: training.terms_max as u64,
        seed: training.seed,
        skipped: training.skipped,
        held_out: Some(v1::CriticEvaluation {
            cells: cells
                .map(|((truth, taken_for), pages)| v1::CriticCell {
                    truth: u32::from(*truth),
                    taken_for: u32::from(*taken_for),
                    pages: *pages,
                })
                .collect(),
            log_loss_sum: training.held_out.log_loss_sum,
            calibrated_log_loss_sum: training.held_out.calibrated_log_loss_sum,
            raw: Some(reliability_record(&training.held_out.raw)),
            calibrated: Some(reliability_record(&training.held_out.calibrated)),
        }),
        calibration: training
            .calibration
            .as_ref()
            .map(|calibration| v1::CriticCalibration {
                log_scale: calibration.log_scale,
                exponent: calibration.exponent,
                offsets: calibration.offsets.clone(),
            }),
    }
}

fn reliability_record(table: &Reliability) -> v1::CriticReliability {
    let bins = |bins: &[Bin]| {
        let bin = |bin: &Bin| v1::CriticBin {
            pages: bin.pages,
            said: bin.said,
            seen: bin.seen,
        };
        bins.iter().map(bin).collect()
    };
    v1::CriticReliability {
        equal_width: bins(&table.equal_width),
        equal_mass: bins(&table.equal_mass),
    }
}

/// The model in `record`; the error says in words what is wrong with it.
pub(super) fn from_record(record: v1::CriticRecord) -> Result<CriticModel, String> {
    if !(2..=CLASSES_MAX).contains(&record.classes.len()) {
        return Err(format!("{} classes", record.classes.len()));
    }
    if !record.classes.is_sorted_by(|a, b| a.topic < b.topic) {
        return Err("the classes are not sorted".to_owned());
    }
    if record.vocabulary.is_empty() {
        return Err("the vocabulary is empty".to_owned());
    }
    if !record.vocabulary.is_sorted_by(|a, b| a < b) {
        return Err("the vocabulary is not sorted".to_owned());
    }
    if !(record.alpha > 0.0 && record.alpha <= 1000.0) {
        return Err(format!("alpha is {}", record.alpha));
    }
    let terms = record.vocabulary.len();
    let mut classes = Vec::with_capacity(record.classes.len());
    let mut counts = Vec::with_capacity(record.classes.len());
    for class in record.classes {
        counts.push(class_counts(&class, terms)?);
        classes.push(ClassRecord {
            topic: class.topic,
            documents: class.documents,
            examples: class.examples,
        });
    }
    let topics = classes.iter().map(|class| class.topic.clone()).collect();
    let training = training(record.training.unwrap_or_default(), topics)?;
    let bayes = SparseNb {
        alpha: record.alpha,
        priors: if record.priors_counted {
            Priors::Counted
        } else {
            Priors::Flat
        },
        terms,
        classes: counts,
    };
    Ok(CriticModel::new(
        record.version,
        classes,
        record.vocabulary,
        bayes,
        training,
    ))
}

fn class_counts(class: &v1::CriticClass, terms: usize) -> Result<ClassCounts, String> {
    let wrong = |what: &str| Err(format!("class `{}` {what}", class.topic));
    if class.documents == 0 {
        return wrong("has no documents");
    }
    if class.term_gaps.len() != class.counts.len() {
        return wrong("has not as many counts as terms");
    }
    let mut pairs = Vec::with_capacity(class.counts.len());
    let mut term = 0_u32;
    for (place, (gap, count)) in class.term_gaps.iter().zip(&class.counts).enumerate() {
        if (place > 0 && *gap == 0) || *count == 0 {
            return wrong("has a term twice or a count of 0");
        }
        term = match term.checked_add(*gap) {
            Some(term) if term < index(terms) => term,
            _ => return wrong("has a term that is not in the vocabulary"),
        };
        pairs.push((term, *count));
    }
    Ok(ClassCounts {
        documents: class.documents,
        terms: pairs,
    })
}

fn training(record: v1::CriticTraining, topics: Vec<String>) -> Result<TrainingRecord, String> {
    let evaluation = record.held_out.unwrap_or_default();
    let calibration = record.calibration.map(calibration);
    if let Some(calibration) = &calibration
        && !calibration.is_sound(topics.len())
    {
        return Err("the calibration has not one offset a class, or values beyond use".to_owned());
    }
    let mut held_out = Evaluation {
        topics,
        log_loss_sum: evaluation.log_loss_sum,
        calibrated_log_loss_sum: evaluation.calibrated_log_loss_sum,
        raw: reliability(evaluation.raw.unwrap_or_default())?,
        calibrated: reliability(evaluation.calibrated.unwrap_or_default())?,
        ..Evaluation::default()
    };
    for cell in evaluation.cells {
        let class = |number: u32| {
            let class = u16::try_from(number).ok();
            class.filter(|class| usize::from(*class) < held_out.topics.len())
        };
        let (Some(truth), Some(taken_for)) = (class(cell.truth), class(cell.taken_for)) else {
            return Err("the held-out figures name a class that is none".to_owned());
        };
        held_out.cells.insert((truth, taken_for), cell.pages);
    }
    Ok(TrainingRecord {
        trained_at: Timestamp(record.trained_at_ms),
        notes: record.notes,
        sources: record.sources,
        documents_min: record.documents_min,
        share_max: record.share_max,
        terms_max: usize::try_from(record.terms_max).unwrap_or(usize::MAX),
        seed: record.seed,
        skipped: record.skipped,
        held_out,
        calibration,
    })
}

fn calibration(record: v1::CriticCalibration) -> Calibration {
    Calibration {
        log_scale: record.log_scale,
        exponent: record.exponent,
        offsets: record.offsets,
    }
}

fn reliability(record: v1::CriticReliability) -> Result<Reliability, String> {
    let bins = |bins: Vec<v1::CriticBin>| {
        // Models made before there were tables have none.
        if !bins.is_empty() && bins.len() != BINS {
            return Err(format!("a reliability table has {} bins", bins.len()));
        }
        let bin = |bin: v1::CriticBin| Bin {
            pages: bin.pages,
            said: bin.said,
            seen: bin.seen,
        };
        Ok(bins.into_iter().map(bin).collect())
    };
    Ok(Reliability {
        equal_width: bins(record.equal_width)?,
        equal_mass: bins(record.equal_mass)?,
    })
}
