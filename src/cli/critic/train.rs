//! `apprentice critic train`

use std::path::PathBuf;
use std::process::ExitCode;

use super::examples::ExampleArgs;
use super::figures;
use crate::cli::output::{complain, say, say_json};
use crate::clock::{Clock, SystemClock};
use crate::critic::examples::learn;
use crate::critic::{Layout, Origin, Priors, TrainParams, Trainer};

/// What to train from, and how.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    examples: ExampleArgs,

    /// Where the model goes
    #[arg(short, long, value_name = "MODEL")]
    out: PathBuf,

    /// Write a small file to hand on: counts alone, from which the weights are derived at each start
    #[arg(long)]
    packed: bool,

    /// A word stands in at least this many pages [default: a hundredth of the pages, 1 to 5]
    #[arg(long, value_name = "N")]
    documents_min: Option<u32>,

    /// A word stands in at most this share of the pages
    #[arg(long, value_name = "SHARE", default_value_t = TrainParams::default().share_max)]
    share_max: f64,

    /// At most this many words, the most informative ones
    #[arg(long, value_name = "N", default_value_t = TrainParams::default().terms_max)]
    terms_max: usize,

    /// Lidstone smoothing [default: chosen on held-out pages]
    #[arg(long, value_name = "ALPHA")]
    alpha: Option<f64>,

    /// Larger classes are likelier before a word is read (else all are equal)
    #[arg(long)]
    size_priors: bool,

    /// Leave the addresses of the examples out of the model; a crawl cannot start from them then
    #[arg(long)]
    no_addresses: bool,

    /// Seed of the split into training and held-out pages
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut trainer = Trainer::new(TrainParams {
        documents_min: args.documents_min,
        share_max: args.share_max,
        terms_max: args.terms_max,
        alpha: args.alpha,
        priors: if args.size_priors {
            Priors::Counted
        } else {
            Priors::Flat
        },
        seed: args.seed,
        ..TrainParams::default()
    })?;
    args.examples
        .read(|example| Ok(learn(&mut trainer, &example)?))?;
    let (shared, first) = trainer.shared();
    for example in first {
        complain(&format!(
            "{} stands under {} and under {}; it trains both",
            example.example, example.first, example.second
        ));
    }
    if shared > first.len() as u64 {
        complain(&format!("{shared} examples in all stand under two topics"));
    }
    let set = trainer.ready()?;
    let model = set.train(Origin {
        trained_at: SystemClock::new().now(),
        notes: "apprentice critic train".to_owned(),
        sources: args.examples.sources(),
        version: 1,
    })?;
    let model = if args.no_addresses {
        model.without_addresses()
    } else {
        model
    };
    let layout = if args.packed {
        Layout::Packed
    } else {
        Layout::Mapped
    };
    model.save_as(&args.out, layout)?;
    let held_out = model.training().held_out.figures(10);
    if args.json {
        say_json(&held_out)?;
        return Ok(ExitCode::SUCCESS);
    }
    say(&format!(
        "{}: {} topics, {} words, smoothing {}, {} examples left out",
        args.out.display(),
        model.class_names().len(),
        model.vocabulary().len(),
        model.bayes().alpha(),
        model.training().skipped
    ))?;
    say(&figures::render("held-out pages", &held_out))?;
    Ok(ExitCode::SUCCESS)
}
