//! `apprentice taxonomy fetch`

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use tokio::sync::watch;

use super::fetch_progress::Display;
use crate::cli::exit::FAILED;
use crate::cli::output::{complain, say, say_json, table};
use crate::cli::words::count;
use crate::clock::{Clock, SystemClock};
use crate::collect::{CollectError, CollectParams, Collector, Output, Report, Selection, Wanted};
use crate::daemon::{Signals, raise_open_files};
use crate::fetch::{GuardRules, HttpSettings, HttpSource, ProxyMode};
use crate::taxonomy::ExampleTable;

/// Who writes, as the archive has it.
const SOFTWARE: &str = concat!("apprentice/", env!("CARGO_PKG_VERSION"));

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

    /// Who answers for the requests: e-mail address or URL, sent in the User-Agent
    #[arg(long, env = "APPRENTICE_CONTACT", value_name = "CONTACT")]
    contact: Option<String>,

    /// Milliseconds between two requests to a host
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(..=86_400_000))]
    delay_ms: u64,

    /// Hosts asked at once, each one request at a time
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1024))]
    parallel: u16,

    /// Leave a host to the next start that is to be left alone for longer than this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(..=86_400))]
    patience: u64,

    /// Address range (CIDR) that may be asked although it is private or loopback
    #[arg(long, value_name = "CIDR")]
    allow_address: Vec<String>,

    /// Fetch through an HTTP proxy (absolute-form for http, CONNECT for https)
    #[arg(long, value_name = "URL", conflicts_with = "archive_proxy")]
    proxy: Option<String>,

    /// Fetch from an archived web: send absolute-form requests for both schemes to this loopback
    /// proxy, as `apprentice archive serve` is one; no contact is needed
    #[arg(long, value_name = "URL")]
    archive_proxy: Option<String>,

    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let clock = SystemClock::new();
    let params = params_of(&args)?;
    let source = source_of(&args, &clock)?;
    let wanted = selection_of(&args).of(&ExampleTable::open(&args.table)?)?;
    raise_open_files();
    let mut signals = Signals::listen().context("cannot wait for signals")?;
    let output = open(&args, &clock).await?;
    if output.torn() > 0 {
        tracing::warn!(
            "{}: the last record was torn; its {} bytes are cut off",
            args.out.display(),
            output.torn()
        );
    }
    let (stop, closing) = watch::channel(false);
    let urls = wanted.urls.clone();
    let collector = Collector::new(
        Arc::new(source),
        clock.clone(),
        params,
        output,
        urls,
        closing,
    );
    let mut display = Display::new(clock);
    let report = {
        let mut collecting = std::pin::pin!(collector.run(|progress| display.show(progress)));
        tokio::select! {
            report = &mut collecting => report,
            _ = signals.next() => {
                complain("stopping: waiting for the requests under way; once more abandons them");
                stop.send_replace(true);
                tokio::select! {
                    report = &mut collecting => report,
                    // Every record that was written is whole.
                    _ = signals.next() => anyhow::bail!("abandoned; the same command goes on from what is in {}", args.out.display()),
                }
            }
        }
    };
    display.end();
    tell(&args, &wanted, &report?)
}

fn params_of(args: &Args) -> anyhow::Result<CollectParams> {
    let contact = args.contact.as_deref().map(str::trim);
    let contact = contact.filter(|text| !text.is_empty());
    if contact.is_none() && args.archive_proxy.is_none() {
        return Err(CollectError::NoContact.into());
    }
    let mut params = CollectParams::new(contact)?;
    params.delay = Duration::from_millis(args.delay_ms);
    params.parallel = usize::from(args.parallel);
    params.patience = Duration::from_secs(args.patience);
    params.guard = Arc::new(GuardRules::parse(&args.allow_address).context("--allow-address")?);
    Ok(params)
}

fn source_of(args: &Args, clock: &SystemClock) -> anyhow::Result<HttpSource> {
    let proxy = match (&args.proxy, &args.archive_proxy) {
        (Some(proxy), _) => ProxyMode::Forward(proxy.parse().context("--proxy")?),
        (None, Some(proxy)) => ProxyMode::Archive(proxy.parse().context("--archive-proxy")?),
        (None, None) => ProxyMode::Direct,
    };
    let settings = HttpSettings {
        proxy,
        ..HttpSettings::default()
    };
    Ok(HttpSource::new(settings, clock.clone())?)
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

/// Opens the archive, which is read to its end.
async fn open(args: &Args, clock: &SystemClock) -> anyhow::Result<Output> {
    let (path, retry_failed, now) = (args.out.clone(), args.retry_failed, clock.now());
    let opening =
        tokio::task::spawn_blocking(move || Output::open(&path, SOFTWARE, retry_failed, now));
    Ok(opening.await??)
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
