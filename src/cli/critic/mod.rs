//! `apprentice critic`: works on files; no daemon is needed.

mod calibration;
mod counts;
mod eval;
mod examples;
mod figures;
mod info;
mod judge;
mod terms;
mod train;

use std::process::ExitCode;

use clap::Subcommand;

use super::connect::DaemonArgs;

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Train a critic from a table of example URLs with an archive, or from a folder a topic
    Train(train::Args),
    /// Judge files, URLs or standard input
    Judge(judge::Args),
    /// How often a critic is right: on held-out pages, on other examples, or by cross-validation
    Eval(eval::Args),
    /// Does relevance mean what it says? Raw and calibrated, on labelled pages of a crawl
    Calibration(calibration::Args),
    /// Write pages as the counts of words that a critic sees, to compare it with other programs
    Counts(counts::Args),
    /// What a model file holds
    Info(info::Args),
    /// The words that speak for a topic
    Terms(terms::Args),
}

pub(super) async fn run(daemon: &DaemonArgs, command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Train(args) => tokio::task::spawn_blocking(move || train::run(&args)).await?,
        Command::Judge(args) => judge::run(daemon, args).await,
        Command::Eval(args) => tokio::task::spawn_blocking(move || eval::run(&args)).await?,
        Command::Calibration(args) => {
            tokio::task::spawn_blocking(move || calibration::run(&args)).await?
        }
        Command::Counts(args) => tokio::task::spawn_blocking(move || counts::run(&args)).await?,
        Command::Info(args) => info::run(&args),
        Command::Terms(args) => terms::run(&args),
    }
}
