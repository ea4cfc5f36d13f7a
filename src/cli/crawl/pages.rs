//! `apprentice crawl pages`

use std::io::{self, Write};
use std::process::ExitCode;

use clap::ValueEnum;

use crate::cli::connect::DaemonArgs;
use crate::cli::output::say_json;
use crate::cli::words::moment;
use crate::proto::v1;

/// Which pages, and how they are written.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Name of the crawl
    name: String,

    /// How rows are written
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,

    /// Same as --format jsonl
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Only pages of at least this relevance
    #[arg(long, value_name = "R", default_value_t = 0.0)]
    relevance_min: f64,

    /// Only what was booked after this event (the `event` column of an earlier export)
    #[arg(long, value_name = "EVENT", default_value_t = 0)]
    after: u64,

    /// Final failures as well
    #[arg(long)]
    failures: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Comma-separated, with a head
    Csv,
    /// One JSON object a line
    Jsonl,
}

const COLUMNS: [&str; 20] = [
    "event",
    "n",
    "url",
    "relevance",
    "log_odds",
    "best_class",
    "best_posterior",
    "seed",
    "depth",
    "status",
    "content_type",
    "body_bytes",
    "title",
    "priority",
    "fetched_at",
    "links",
    "found_on",
    "failure",
    "critic_version",
    "calibrated_relevance",
];

pub(super) async fn run(daemon: &DaemonArgs, args: Args) -> anyhow::Result<ExitCode> {
    let mut client = daemon.connect().await?;
    let request = v1::ExportPagesRequest {
        name: args.name,
        relevance_min: args.relevance_min,
        after: args.after,
        failures: args.failures,
    };
    let mut rows = client.export_pages(request).await?.into_inner();
    if args.json || matches!(args.format, Format::Jsonl) {
        while let Some(row) = rows.message().await? {
            say_json(&row)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut csv = csv::Writer::from_writer(io::stdout().lock());
    csv.write_record(COLUMNS).map_err(io::Error::from)?;
    while let Some(row) = rows.message().await? {
        csv.write_record(cells(&row)).map_err(io::Error::from)?;
    }
    csv.into_inner()
        .map_err(csv::IntoInnerError::into_error)?
        .flush()?;
    Ok(ExitCode::SUCCESS)
}

fn cells(row: &v1::PageRow) -> [String; COLUMNS.len()] {
    [
        row.event.to_string(),
        row.n.to_string(),
        row.url.clone(),
        format!("{:.6}", row.relevance),
        format!("{:.4}", row.log_odds),
        row.best_class.clone(),
        format!("{:.6}", row.best_posterior),
        row.seed.to_string(),
        row.depth.to_string(),
        row.status.to_string(),
        row.content_type.clone(),
        row.body_bytes.to_string(),
        row.title.clone(),
        format!("{:.4}", row.priority),
        moment(row.fetched_at_ms),
        row.links.to_string(),
        row.found_on.clone(),
        row.failure.clone(),
        row.critic_version.to_string(),
        format!("{:.6}", row.calibrated_relevance),
    ]
}
