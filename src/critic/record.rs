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
use crate::critic::reserve::Reserve;
use crate::critic::sparse::index;
use crate::proto::v1;

/// `model` as a message, without terms and counts.
pub(super) fn to_parts(model: &CriticModel) -> v1::CriticRecord {
    let classes = model.classes().iter().zip(model.skeleton().classes());
    let classes = classes.map(|(class, counts)| {
        let without_terms = ClassCounts {
            documents: counts.documents,
            background: counts.background,
            terms: Vec::new(),
        };
        class_record(class, &without_terms)
    });
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
        reserve: model.reserve().map(reserve_record),
    }
}

/// The places of `counts`, which rise: the first one, then the differences; and the counts.
fn gaps(counts: &[(u32, u64)]) -> (Vec<u32>, Vec<u64>) {
    let mut last = 0;
    let gap = |(place, n): &(u32, u64)| {
        let gap = place - last;
        last = *place;
        (gap, *n)
    };
    counts.iter().map(gap).unzip()
}

fn reserve_record(reserve: &Reserve) -> v1::CriticReserve {
    let classes = reserve.classes.iter().map(|class| {
        let (word_gaps, counts) = gaps(class);
        v1::CriticReserveCounts { word_gaps, counts }
    });
    v1::CriticReserve {
        words: reserve.words.clone(),
        documents: reserve.documents.clone(),
        classes: classes.collect(),
    }
}

fn class_record(class: &ClassRecord, counts: &ClassCounts) -> v1::CriticClass {
    let (term_gaps, term_counts) = gaps(&counts.terms);
    v1::CriticClass {
        topic: class.topic.clone(),
        documents: class.documents,
        term_gaps,
        counts: term_counts,
        examples: class.examples.clone(),
        background: counts.background,
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
    let reserve = record
        .reserve
        .map(|reserve| reserve_of(reserve, classes.len()));
    let model = CriticModel::new(record.version, classes, record.vocabulary, bayes, training);
    Ok(model.with_reserve(reserve.transpose()?))
}

fn reserve_of(record: v1::CriticReserve, classes: usize) -> Result<Reserve, String> {
    if !record.words.is_sorted_by(|a, b| a < b) {
        return Err("the reserve of words is not sorted".to_owned());
    }
    if record.documents.len() != record.words.len() || record.classes.len() != classes {
        return Err("the reserve of words does not fit the classes".to_owned());
    }
    let counts = record.classes.iter().map(|class| {
        pairs(&class.word_gaps, &class.counts, record.words.len())
            .map_err(|what| format!("a class's reserve of words {what}"))
    });
    Ok(Reserve {
        classes: counts.collect::<Result<_, _>>()?,
        words: record.words,
        documents: record.documents,
    })
}

fn class_counts(class: &v1::CriticClass, terms: usize) -> Result<ClassCounts, String> {
    let wrong = |what: &str| format!("class `{}` {what}", class.topic);
    if class.documents == 0 {
        return Err(wrong("has no documents"));
    }
    Ok(ClassCounts {
        documents: class.documents,
        terms: pairs(&class.term_gaps, &class.counts, terms).map_err(wrong)?,
        background: class.background,
    })
}

/// The reverse of [`gaps`]: places rise and lie below `end`, counts are above 0.
fn pairs(gaps: &[u32], counts: &[u64], end: usize) -> Result<Vec<(u32, u64)>, &'static str> {
    if gaps.len() != counts.len() {
        return Err("has not as many counts as terms");
    }
    let mut pairs = Vec::with_capacity(counts.len());
    let mut term = 0_u32;
    for (place, (gap, count)) in gaps.iter().zip(counts).enumerate() {
        if (place > 0 && *gap == 0) || *count == 0 {
            return Err("has a term twice or a count of 0");
        }
        term = match term.checked_add(*gap) {
            Some(term) if term < index(end) => term,
            _ => return Err("has a term that is not in the vocabulary"),
        };
        pairs.push((term, *count));
    }
    Ok(pairs)
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
