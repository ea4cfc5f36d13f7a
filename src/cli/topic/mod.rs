//! `apprentice topic`: topics of one's own; works on files, no daemon is needed.

mod add;
mod examples;
mod show;

use std::process::ExitCode;

use clap::Subcommand;

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Put a topic beside those of a critic, from 10 to 200 example pages
    Add(add::Args),
}

pub(super) async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Add(args) => add::run(args).await,
    }
}
