//! `apprentice critic info`

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use crate::cli::output::{say, say_json, table};
use crate::cli::words::{count, moment};
use crate::critic::{ClassRecord, CriticModel};

/// Words that are shown for each class.
const TERMS_SHOWN: usize = 6;

/// Which model.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The model; `general` is the one that comes with the program
    model: PathBuf,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let model = CriticModel::open_or_general(&args.model)?;
    let training = model.training();
    let classes: Vec<_> = model.classes().iter().zip(0..).collect();
    if args.json {
        let classes: Vec<_> = classes
            .iter()
            .map(|(class, number)| {
                json!({
                    "topic": class.topic,
                    "documents": class.documents,
                    "terms": terms(&model, *number),
                })
            })
            .collect();
        say_json(&json!({
            "version": model.version(),
            "classes": classes,
            "vocabulary": model.vocabulary().len(),
            "alpha": model.bayes().alpha(),
            "documents_min": training.documents_min,
            "share_max": training.share_max,
            "terms_max": training.terms_max,
            "sources": training.sources,
            "notes": training.notes,
            "trained_at": moment(training.trained_at.0),
            "skipped": training.skipped,
            "held_out": training.held_out.figures(10),
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    say(&format!(
        "version {}, trained {} from {}; {} words, smoothing {}; held-out accuracy {:.3} on {} pages",
        model.version(),
        moment(training.trained_at.0),
        training.sources.join(", "),
        count(model.vocabulary().len() as u64),
        model.bayes().alpha(),
        training.held_out.accuracy().value,
        training.held_out.pages(),
    ))?;
    let rows = classes
        .iter()
        .map(|(class, number)| row(&model, class, *number));
    say(&table(
        &["TOPIC", "EXAMPLES", "WORDS THAT SPEAK FOR IT"],
        rows,
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn row(model: &CriticModel, class: &ClassRecord, number: u16) -> Vec<String> {
    vec![
        class.topic.clone(),
        count(class.documents),
        terms(model, number).join(" "),
    ]
}

fn terms(model: &CriticModel, class: u16) -> Vec<String> {
    let terms = model.telling_terms(class, TERMS_SHOWN).into_iter();
    terms.map(|term| term.term).collect()
}
