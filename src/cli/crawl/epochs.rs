//! `apprentice crawl retrain`, `epochs` and `use-epoch`

use std::process::ExitCode;

use crate::cli::apprentice_args::ApprenticeArgs;
use crate::cli::connect::DaemonArgs;
use crate::cli::output::{say, say_json, table};
use crate::proto::v1;

/// What is to be learned, and by whom.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Retrain {
    /// Name of the crawl
    name: String,

    /// Learner, or another order of the frontier, from now on [default: the present one]
    #[arg(long, value_name = "ftrl|nb|baseline|..")]
    learner: Option<String>,

    /// Find anew where `nb` cuts relevant from irrelevant, and begin with nothing; otherwise it keeps the cut
    /// of its first epoch, and begins with the apprentice that the crawl was started with, if it was
    #[arg(long)]
    from_scratch: bool,

    /// Print the epoch as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    apprentice: ApprenticeArgs,
}

pub(super) async fn retrain(daemon: &DaemonArgs, args: Retrain) -> anyhow::Result<ExitCode> {
    let mut apprentice = None;
    args.apprentice.put_over(&mut apprentice);
    let request = v1::RetrainRequest {
        name: args.name.clone(),
        learner: args.learner.unwrap_or_default(),
        apprentice,
        from_scratch: args.from_scratch,
    };
    let mut client = daemon.connect().await?;
    let epoch = client.retrain(request).await?.into_inner();
    say_epoch(&args.name, &epoch, args.json)
}

/// Which crawl.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Name of the crawl
    name: String,

    /// Print the epochs as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(daemon: &DaemonArgs, args: Args) -> anyhow::Result<ExitCode> {
    let request = v1::ListEpochsRequest {
        name: args.name.clone(),
    };
    let mut client = daemon.connect().await?;
    let epochs = client.list_epochs(request).await?.into_inner().epochs;
    if args.json {
        say_json(&epochs)?;
    } else if epochs.is_empty() {
        say(&format!("crawl {} has no epoch yet", args.name))?;
    } else {
        say(&table(&HEAD, epochs.iter().map(row)))?;
        say(
            "* in force; LOSS: a page, over the 500 fetches before the epoch and up to 500 after it",
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Which crawl, and back to where.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Use {
    /// Name of the crawl
    name: String,

    /// Number of the epoch, see `crawl epochs`
    epoch: u64,

    /// Print the new epoch as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn go_back(daemon: &DaemonArgs, args: Use) -> anyhow::Result<ExitCode> {
    let request = v1::UseEpochRequest {
        name: args.name.clone(),
        number: args.epoch,
    };
    let mut client = daemon.connect().await?;
    let epoch = client.use_epoch(request).await?.into_inner();
    say_epoch(&args.name, &epoch, args.json)
}

const HEAD: [&str; 10] = [
    "EPOCH",
    "CAUSE",
    "LEARNER",
    "D_MAX",
    "INSTANCES",
    "PAGES",
    "LOG LOSS",
    "AUC",
    "LOSS BEFORE",
    "AFTER",
];

fn row(epoch: &v1::Epoch) -> Vec<String> {
    let figure = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    let d_max = epoch.apprentice.as_ref().and_then(|told| told.d_max);
    vec![
        format!("{}{}", epoch.number, if epoch.in_force { " *" } else { "" }),
        match epoch.returned_to {
            0 => epoch.cause.clone(),
            number => format!("{} to {number}", epoch.cause),
        },
        epoch.learner.clone(),
        d_max.map_or("-".to_owned(), |d_max| d_max.to_string()),
        epoch.instances.to_string(),
        epoch.pages.to_string(),
        figure(epoch.log_loss),
        figure(epoch.auc),
        figure(epoch.loss_before),
        figure(epoch.loss_after),
    ]
}

/// The report of an ordered epoch.
fn say_epoch(name: &str, epoch: &v1::Epoch, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        say_json(epoch)?;
        return Ok(ExitCode::SUCCESS);
    }
    say(&table(&HEAD, [row(epoch)]))?;
    let bins = epoch.histogram_before.iter().zip(&epoch.histogram_after);
    let rows = (0..).zip(bins).map(|(bin, (before, after))| {
        let from = f64::from(bin) / 10.0;
        vec![
            format!("{from:.1} to {:.1}", from + 0.1),
            before.to_string(),
            after.to_string(),
        ]
    });
    say(&table(&["PRIORITY", "LINKS BEFORE", "AFTER"], rows))?;
    say(&format!(
        "crawl {name}: epoch {} orders the waiting links; {:.0} % of the best 1,000 are new there",
        epoch.number,
        epoch.best_changed.unwrap_or(0.0) * 100.0
    ))?;
    Ok(ExitCode::SUCCESS)
}
