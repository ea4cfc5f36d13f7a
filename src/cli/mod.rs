//! What did the person ask for? One file a subcommand.
//!
//! Exit codes: 0 done; 1 it failed; 2 the command line cannot be understood; 3 no daemon answers;
//! 4 there is no such crawl, topic or URL; 5 refused as asked (a wrong spec, or a state that forbids it).

mod apprentice_args;
mod archive;
mod connect;
mod crawl;
mod critic;
mod daemon;
mod demo;
mod exit;
mod fetch_progress;
mod fetching;
mod lab;
mod output;
mod taxonomy;
mod topic;
mod usage;
mod words;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::connect::DaemonArgs;

/// A focused crawler that runs as a daemon.
#[derive(Debug, Parser)]
#[command(name = "apprentice", version, about, max_term_width = 100)]
struct Args {
    #[command(flatten)]
    daemon: DaemonArgs,

    /// Say more on standard error (-v: what happens, -vv: every fetch)
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the daemon in the foreground
    Daemon(daemon::Args),
    /// Start, watch, steer and read crawls
    #[command(subcommand)]
    Crawl(crawl::Command),
    /// Train, test and use critics
    #[command(subcommand)]
    Critic(critic::Command),
    /// Read, prune and look into topic trees, and get their example pages
    #[command(subcommand)]
    Taxonomy(taxonomy::Command),
    /// Add a topic of your own to a critic
    #[command(subcommand)]
    Topic(topic::Command),
    /// Look into WARC archives and serve them
    #[command(subcommand)]
    Archive(archive::Command),
    /// Compare crawlers on archived webs
    #[command(subcommand)]
    Lab(lab::Command),
    /// See it all at work on a small web of its own; needs nothing and no network
    Demo(demo::Args),
}

/// Runs the program: reads the command line, does it, says what went wrong.
pub fn run() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage::report(&error),
    };
    start_log(args.verbose);
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return exit::report(&anyhow::Error::new(error).context("no runtime")),
    };
    let done = runtime.block_on(dispatch(args));
    // Abandoned fetches and reads on the blocking pool are not waited for.
    runtime.shutdown_background();
    match done {
        Ok(code) => code,
        Err(error) => exit::report(&error),
    }
}

async fn dispatch(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Daemon(daemon) => daemon::run(&args.daemon, daemon).await,
        Command::Crawl(command) => crawl::run(&args.daemon, command).await,
        Command::Critic(command) => critic::run(&args.daemon, command).await,
        Command::Taxonomy(command) => taxonomy::run(command, args.verbose).await,
        Command::Topic(command) => topic::run(command).await,
        Command::Archive(command) => archive::run(command).await,
        Command::Lab(command) => lab::run(command).await,
        Command::Demo(demo) => demo::run(demo).await,
    }
}

fn start_log(verbose: u8) {
    use tracing_subscriber::EnvFilter;

    let level = match verbose {
        // html5ever warns of what every second old page has.
        0 => "warn,html5ever=error",
        1 => "info,sled=warn,html5ever=error",
        _ => "debug,sled=warn,hyper=info,hyper_util=info,h2=info,rustls=info,html5ever=error",
    };
    let filter =
        EnvFilter::try_from_env("APPRENTICE_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}
