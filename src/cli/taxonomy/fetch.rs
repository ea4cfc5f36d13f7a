//! `apprentice taxonomy fetch`

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

use crate::cli::exit::FAILED;
use crate::cli::fetching::FetchArgs;
use crate::cli::output::{say, say_json, table};
use crate::cli::words::count;
use crate::collect::{Output, Report, Selection, Wanted};
use crate::taxonomy::ExampleTable;

/// What is fetched, and how.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Table of examples (CSV with a head: topic,url and maybe title,description)
    table: PathBuf,

    /// The archive that is written (.warc.gz); if it is there, what it lacks is fetched
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,

    /// Only examples of this topic and of those under it (again for more)
    #[arg(short, long, value_name = "TOPIC")]
    topic: Vec<String>,

    /// At most this many examples of each topic, drawn by chance
    #[arg(long, value_name = "N")]
    per_topic: Option<usize>,

    /// Seed of that chance
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// At most this many URLs, the first ones
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Ask again for what failed for good in an earlier start
    #[arg(long)]
    retry_failed: bool,

    #[command(flatten)]
    fetching: FetchArgs,

    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let fetching = args.fetching.ready()?;
    let wanted = selection_of(&args).of(&ExampleTable::open(&args.table)?)?;
    let urls = wanted.urls.clone();
    let report = fetching.run(&args.out, args.retry_failed, urls).await?;
    tell(&args, &wanted, &report)
}

fn selection_of(args: &Args) -> Selection {
    let topics = args.topic.iter().map(|topic| topic.trim_matches('/'));
    Selection {
        topics: topics.map(str::to_owned).collect(),
        per_topic: args.per_topic,
        seed: args.seed,
        limit: args.limit,
    }
}

/// The summary as JSON.
#[derive(Serialize)]
struct Summary<'a> {
    archive: String,
    #[serde(flatten)]
    report: &'a Report,
    /// Rows of the table whose URL is none.
    bad_urls: usize,
}

fn tell(args: &Args, wanted: &Wanted, report: &Report) -> anyhow::Result<ExitCode> {
    for (line, problem) in &wanted.bad {
        tracing::info!("{}:{line}: {problem}", args.table.display());
    }
    if args.json {
        say_json(&Summary {
            archive: args.out.display().to_string(),
            report,
            bad_urls: wanted.bad.len(),
        })?;
    } else {
        say(&render(args, wanted, report))?;
    }
    if report.stopped || report.had == 0 {
        return Ok(ExitCode::from(FAILED));
    }
    Ok(ExitCode::SUCCESS)
}

fn render(args: &Args, wanted: &Wanted, report: &Report) -> String {
    let number = |n: usize| count(n as u64);
    let mut parts = vec![format!(
        "{}: {} of {} URLs have their page; this time {} pages and {} redirects in {} requests",
        args.out.display(),
        number(report.had),
        number(report.urls),
        count(report.pages),
        count(report.redirects),
        count(report.requests)
    )];
    let mut rows: Vec<(String, usize, &str)> = Vec::new();
    let mut add = |counts: &std::collections::BTreeMap<String, usize>, again| {
        rows.extend(counts.iter().map(|(cause, n)| (cause.clone(), *n, again)));
    };
    add(&report.failed, "with --retry-failed");
    add(&report.deferred, "by the next start");
    if !wanted.bad.is_empty() {
        let cause = "not a URL (-v names the lines)".to_owned();
        rows.push((cause, wanted.bad.len(), "never"));
    }
    rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    if !rows.is_empty() {
        let rows = rows
            .into_iter()
            .map(|(cause, n, again)| vec![cause, number(n), again.to_owned()]);
        parts.push(table(&["COULD NOT BE HAD", "URLS", "ASKED AGAIN"], rows));
    }
    if !report.failed.is_empty() {
        let notes = Output::notes_path(&args.out);
        parts.push(format!(
            "URL by URL, what failed for good: {}",
            notes.display()
        ));
    }
    if report.open > 0 {
        parts.push(format!(
            "{} URLs were not come to; the same command goes on",
            number(report.open)
        ));
    }
    parts.join("\n")
}
