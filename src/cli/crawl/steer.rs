//! `apprentice crawl pause`, `resume`, `stop`, `delete`, `seed`

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;

use crate::cli::connect::DaemonArgs;
use crate::cli::output::{say, say_json};
use crate::proto::v1;
use crate::url::CanonicalUrl;

/// Which crawl.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Name {
    /// Name of the crawl
    name: String,

    /// Print the crawl as JSON
    #[arg(long)]
    json: bool,
}

impl Name {
    fn answer(&self, crawl: &v1::Crawl) -> anyhow::Result<ExitCode> {
        if self.json {
            say_json(crawl)?;
        } else {
            let state = super::status::state_name(crawl);
            say(&format!(
                "crawl {} is {state} ({})",
                crawl.name, crawl.reason
            ))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

pub(super) async fn pause(daemon: &DaemonArgs, args: Name) -> anyhow::Result<ExitCode> {
    let request = v1::PauseCrawlRequest {
        name: args.name.clone(),
    };
    args.answer(
        daemon
            .connect()
            .await?
            .pause_crawl(request)
            .await?
            .get_ref(),
    )
}

pub(super) async fn resume(daemon: &DaemonArgs, args: Name) -> anyhow::Result<ExitCode> {
    let request = v1::ResumeCrawlRequest {
        name: args.name.clone(),
    };
    args.answer(
        daemon
            .connect()
            .await?
            .resume_crawl(request)
            .await?
            .get_ref(),
    )
}

pub(super) async fn stop(daemon: &DaemonArgs, args: Name) -> anyhow::Result<ExitCode> {
    let request = v1::StopCrawlRequest {
        name: args.name.clone(),
    };
    args.answer(daemon.connect().await?.stop_crawl(request).await?.get_ref())
}

pub(super) async fn delete(daemon: &DaemonArgs, args: Name) -> anyhow::Result<ExitCode> {
    let request = v1::DeleteCrawlRequest {
        name: args.name.clone(),
    };
    daemon.connect().await?.delete_crawl(request).await?;
    if args.json {
        say_json(&serde_json::json!({ "name": args.name, "deleted": true }))?;
    } else {
        say(&format!("crawl {} is gone", args.name))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Seeds for a crawl.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Seed {
    /// Name of the crawl
    name: String,

    /// URLs
    #[arg(required_unless_present = "file")]
    urls: Vec<String>,

    /// File of URLs, one a line, `#` for comments
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Print the counts as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn seed(daemon: &DaemonArgs, args: Seed) -> anyhow::Result<ExitCode> {
    let mut urls = args.urls;
    if let Some(path) = &args.file {
        urls.extend(read_url_file(path)?);
    }
    let request = v1::AddSeedsRequest {
        name: args.name.clone(),
        urls,
    };
    let counts = daemon
        .connect()
        .await?
        .add_seeds(request)
        .await?
        .into_inner();
    if args.json {
        say_json(&counts)?;
    } else {
        let v1::AddSeedsResponse { added, known } = counts;
        say(&format!(
            "{added} seeds added to {}, {known} were known",
            args.name
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// URLs from a file, one a line; blank lines and those that begin with `#` are skipped. A line that is
/// no URL is an error that names it: half a list of seeds is not what anybody asked for.
pub(super) fn read_url_file(path: &Path) -> anyhow::Result<Vec<String>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("file of URLs {}", path.display()))?;
    let lines = text.lines().map(str::trim).zip(1..);
    lines
        .filter(|(line, _)| !line.is_empty() && !line.starts_with('#'))
        .map(|(line, number)| {
            let place = || format!("{}, line {number}", path.display());
            anyhow::ensure!(
                !line.contains(char::is_whitespace),
                "{}: {line:?}: one URL a line, without spaces",
                place()
            );
            CanonicalUrl::parse(line).with_context(|| format!("{}: {line:?}", place()))?;
            Ok(line.to_owned())
        })
        .collect()
}
