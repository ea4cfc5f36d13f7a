//! `apprentice crawl watch`

use std::io::{self, Write};
use std::process::ExitCode;

use crate::cli::connect::DaemonArgs;
use crate::cli::exit::FAILED;
use crate::cli::output::{is_terminal, one_row, say, say_json};
use crate::cli::words::count;
use crate::proto::v1;

/// Which crawl, and how often.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Name of the crawl
    name: String,

    /// Milliseconds between two lines
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    interval_ms: u32,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(daemon: &DaemonArgs, args: Args) -> anyhow::Result<ExitCode> {
    let mut client = daemon.connect().await?;
    let request = v1::WatchCrawlRequest {
        name: args.name.clone(),
        interval_ms: args.interval_ms,
    };
    let mut stream = client.watch_crawl(request).await?.into_inner();
    let in_place = is_terminal() && !args.json;
    let mut last = None;
    while let Some(crawl) = stream.message().await? {
        if args.json {
            say_json(&crawl)?;
        } else if in_place {
            // The line is drawn over the one before; \x1b[K clears what is left of that.
            write!(io::stdout().lock(), "\r{}\x1b[K", one_row(&line(&crawl)))?;
            io::stdout().flush()?;
        } else {
            say(&line(&crawl))?;
        }
        last = Some(crawl);
    }
    if in_place {
        say("")?;
    }
    let Some(crawl) = last else {
        anyhow::bail!("the daemon said nothing about crawl {}", args.name);
    };
    if crawl.state() == v1::CrawlState::Failed {
        return Ok(ExitCode::from(FAILED));
    }
    Ok(ExitCode::SUCCESS)
}

/// One line on a crawl.
pub(in crate::cli) fn line(crawl: &v1::Crawl) -> String {
    if crawl.state() == v1::CrawlState::Opening {
        return format!("opening | {}", crawl.idle);
    }
    let errors: u64 = crawl.failures_by_cause.iter().map(|c| c.count).sum();
    let mut line = format!(
        "{} {} | {:.1}/s | harvest {:.3} | loss {:.1} | {} waiting | {} hosts ready | {} errors",
        super::status::state_name(crawl),
        count(crawl.fetched),
        crawl.fetches_per_second,
        crawl.harvest_last,
        crawl.loss,
        count(crawl.links_waiting),
        count(crawl.hosts_ready),
        count(errors)
    );
    if !crawl.idle.is_empty() {
        line = format!("{line} | {}", crawl.idle);
    }
    line
}
