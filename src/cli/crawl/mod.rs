//! `apprentice crawl`: each subcommand is a client of the daemon.

mod epochs;
mod explain;
mod feedback;
mod frontier;
mod judge;
mod learners;
mod list;
mod loss;
mod pages;
mod saved;
mod scope;
mod set;
mod start;
mod status;
mod steer;
mod url;
mod watch;

use std::process::ExitCode;

use clap::Subcommand;

use super::connect::DaemonArgs;
pub(super) use loss::curves;
pub(super) use watch::line;

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Create a crawl and start it
    Start(Box<start::Args>),
    /// All crawls of the daemon
    List(list::Args),
    /// Counts, rates, and why nothing is being fetched
    Status(status::Args),
    /// One live line a second, until the crawl ends
    Watch(watch::Args),
    /// Stop leasing; fetches in flight are booked
    Pause(steer::Name),
    /// Run again: a paused, stopped or failed crawl
    Resume(steer::Name),
    /// End a crawl; it keeps its data and can be resumed
    Stop(steer::Name),
    /// Remove a crawl with all its data
    Delete(steer::Name),
    /// Add seeds
    Seed(steer::Seed),
    /// Change budget, limits, delays or scope, also while it runs
    Set(Box<set::Args>),
    /// The expected page loss L(n): table, CSV, JSON or plot, of one crawl or several
    Loss(loss::Args),
    /// The best links waiting, and why each waits
    Frontier(frontier::Args),
    /// How the learners have predicted so far, and which one the frontier follows
    Learners(learners::Args),
    /// All that is known of one URL
    Url(url::Args),
    /// Why a link scores as it does: the features of each link to it, with their weights
    Explain(explain::Args),
    /// Say of judged pages whether they were judged right; the crawl's critic learns it
    Feedback(feedback::Args),
    /// Write the crawl's critic, with all that it has learned, to a model file
    ExportCritic(feedback::Export),
    /// Write what the crawl's apprentice has learned to a file, for other crawls to begin with
    ExportApprentice(saved::Export),
    /// What a saved apprentice is: where it comes from, what it looked at, what it has learned
    ShowApprentice(saved::Show),
    /// Train the apprentice anew from all that the crawl has fetched, while it goes on
    Retrain(epochs::Retrain),
    /// What the apprentice has gone through: epochs, figures, loss before and after
    Epochs(epochs::Args),
    /// Go back to what the apprentice knew at an epoch
    UseEpoch(epochs::Use),
    /// The judged pages as CSV or JSON lines
    Pages(pages::Args),
}

pub(super) async fn run(daemon: &DaemonArgs, command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Start(args) => start::run(daemon, *args).await,
        Command::List(args) => list::run(daemon, args).await,
        Command::Status(args) => status::run(daemon, args).await,
        Command::Watch(args) => watch::run(daemon, args).await,
        Command::Pause(args) => steer::pause(daemon, args).await,
        Command::Resume(args) => steer::resume(daemon, args).await,
        Command::Stop(args) => steer::stop(daemon, args).await,
        Command::Delete(args) => steer::delete(daemon, args).await,
        Command::Seed(args) => steer::seed(daemon, args).await,
        Command::Set(args) => set::run(daemon, *args).await,
        Command::Loss(args) => loss::run(daemon, args).await,
        Command::Frontier(args) => frontier::run(daemon, args).await,
        Command::Learners(args) => learners::run(daemon, args).await,
        Command::Url(args) => url::run(daemon, args).await,
        Command::Explain(args) => explain::run(daemon, args).await,
        Command::Feedback(args) => feedback::run(daemon, args).await,
        Command::ExportCritic(args) => feedback::export(daemon, args).await,
        Command::ExportApprentice(args) => saved::export(daemon, args).await,
        Command::ShowApprentice(args) => saved::show(&args),
        Command::Retrain(args) => epochs::retrain(daemon, args).await,
        Command::Epochs(args) => epochs::run(daemon, args).await,
        Command::UseEpoch(args) => epochs::go_back(daemon, args).await,
        Command::Pages(args) => pages::run(daemon, args).await,
    }
}
