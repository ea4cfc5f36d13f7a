//! `apprentice critic eval`

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use super::examples::ExampleArgs;
use super::figures;
use crate::cli::output::{complain, say, say_json};
use crate::critic::examples::learn;
use crate::critic::{
    BayesJudge, CriticModel, Figures, FocusCalibration, PageJudge, TrainParams, Trainer, evaluate,
};
use crate::page::Page;
use crate::taxonomy::Focus;

/// Which critic, and on which pages.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The model; without examples its own held-out figures are shown
    #[arg(required_unless_present = "folds")]
    model: Option<PathBuf>,

    #[command(flatten)]
    examples: ExampleArgs,

    /// Topic of a focus: precision, recall and calibration of its relevance on the examples (again
    /// for more)
    #[arg(short, long, value_name = "TOPIC", requires = "model")]
    topic: Vec<String>,

    /// Topic under one of those that is taken out of the focus again (again for more)
    #[arg(long, value_name = "TOPIC", requires = "topic")]
    without: Vec<String>,

    /// Train anew on the examples K times, each time judging the K-th part that was left out
    #[arg(long, value_name = "K", conflicts_with = "model")]
    folds: Option<usize>,

    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let (Some(model), false) = (&args.model, args.topic.is_empty()) {
        return eval_focus(args, CriticModel::open_or_general(model)?);
    }
    let (of, figures) = match (&args.model, args.folds) {
        (None, folds) => (
            "pages, each judged by a critic that was not trained on it",
            cross_validated(args, folds.unwrap_or(5))?,
        ),
        (Some(model), _) => {
            let model = CriticModel::open_or_general(model)?;
            if args.examples.are_given() {
                ("examples", judged(args, &model)?)
            } else {
                ("held-out pages", model.training().held_out.figures(10))
            }
        }
    };
    if args.json {
        say_json(&figures)?;
    } else {
        say(&figures::render(of, &figures))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn cross_validated(args: &Args, folds: usize) -> anyhow::Result<Figures> {
    let mut trainer = Trainer::new(TrainParams::default())?;
    args.examples
        .read(|example| Ok(learn(&mut trainer, &example)?))?;
    Ok(trainer.ready()?.cross_validate(folds)?.figures(10))
}

/// The examples that have a page, with their topics.
fn pages(args: &Args) -> anyhow::Result<Vec<(String, Page)>> {
    let mut pages = Vec::new();
    args.examples.read(|example| {
        if let Ok(page) = example.page {
            pages.push((example.topic, page));
        }
        Ok(())
    })?;
    Ok(pages)
}

fn judged(args: &Args, model: &CriticModel) -> anyhow::Result<Figures> {
    let (evaluation, unknown) = evaluate(model, pages(args)?);
    for (topic, count) in unknown {
        complain(&format!(
            "{count} examples of {topic:?} left out: the model has no such class"
        ));
    }
    Ok(evaluation.figures(10))
}

fn eval_focus(args: &Args, model: CriticModel) -> anyhow::Result<ExitCode> {
    let focus = Focus::new(args.topic.clone())?.without(args.without.clone());
    let judge = BayesJudge::new(Arc::new(model), &focus)?;
    let verdicts: Vec<_> = pages(args)?
        .iter()
        .map(|(topic, page)| {
            let seen = f64::from(u8::from(focus.contains(topic)));
            (judge.judge(page), seen)
        })
        .collect();
    let figures = FocusCalibration::of(judge.focus_share(), &verdicts);
    if args.json {
        say_json(&figures)?;
    } else {
        say(&figures::render_focus(&figures))?;
    }
    Ok(ExitCode::SUCCESS)
}
