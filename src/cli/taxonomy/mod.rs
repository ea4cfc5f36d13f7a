//! `apprentice taxonomy`: works on files; no daemon is needed.

mod fetch;
mod fetch_progress;

use std::process::ExitCode;

use clap::Subcommand;

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Get the example pages of a table into a WARC file; start it again to go on
    Fetch(fetch::Args),
}

pub(super) async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Fetch(args) => fetch::run(args).await,
    }
}
