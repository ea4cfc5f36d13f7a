//! `apprentice taxonomy`: works on files; no daemon is needed.

mod fetch;
mod find;
mod import;
mod prune;
mod reading;
mod show;
mod stats;

use std::process::ExitCode;

use clap::Subcommand;

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Turn a DMOZ dump, JSON lines, tables or folders into one taxonomy file
    Import(import::Args),
    /// Fold topics with too few examples into those above them
    Prune(prune::Args),
    /// The tree of topics, with their numbers of examples
    Show(show::Args),
    /// Topics by a part of their name
    Find(find::Args),
    /// Topics and examples by level, and how large the topics are
    Stats(stats::Args),
    /// Get the example pages of a table into a WARC file; start it again to go on
    Fetch(fetch::Args),
}

pub(super) async fn run(command: Command, verbose: u8) -> anyhow::Result<ExitCode> {
    let work: Box<dyn FnOnce() -> anyhow::Result<ExitCode> + Send> = match command {
        Command::Fetch(args) => return fetch::run(args).await,
        Command::Import(args) => Box::new(move || import::run(&args)),
        Command::Prune(args) => Box::new(move || prune::run(&args, verbose > 0)),
        Command::Show(args) => Box::new(move || show::run(&args)),
        Command::Find(args) => Box::new(move || find::run(&args)),
        Command::Stats(args) => Box::new(move || stats::run(&args)),
    };
    tokio::task::spawn_blocking(work).await?
}
