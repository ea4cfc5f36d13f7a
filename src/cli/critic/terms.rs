//! `apprentice critic terms`

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use crate::cli::output::{say, say_json, table};
use crate::cli::words::count;
use crate::critic::CriticModel;
use crate::taxonomy::Focus;

/// Of which model and topic.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The model; `general` is the one that comes with the program
    model: PathBuf,

    /// The topic; of one that has topics under it, the words of each
    topic: String,

    /// How many words, a topic
    #[arg(short, long, value_name = "N", default_value_t = 20)]
    number: usize,

    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let model = CriticModel::open_or_general(&args.model)?;
    let members = Focus::new([args.topic.clone()])?.members(model.class_names())?;
    let classes = (0..=u16::MAX).zip(model.class_names()).zip(members);
    let of: Vec<_> = classes
        .filter(|(_, inside)| *inside)
        .map(|((class, topic), _)| (topic, model.telling_terms(class, args.number)))
        .collect();
    if args.json {
        let topics = of
            .iter()
            .map(|(topic, terms)| json!({ "topic": topic, "terms": terms }));
        say_json(&topics.collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    for (topic, terms) in &of {
        if of.len() > 1 {
            say(topic)?;
        }
        let rows = terms.iter().map(|term| {
            vec![
                term.term.clone(),
                count(term.count),
                format!("{:.1}", term.log_ratio.exp()),
            ]
        });
        say(&table(
            &["WORD", "OCCURS", "TIMES AS OFTEN AS ELSEWHERE"],
            rows,
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
