//! `apprentice crawl loss`

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;

use crate::cli::connect::DaemonArgs;
use crate::cli::output::say;
use crate::control::client::Client;
use crate::measure::{LossPoint, NamedCurve, loss_svg, loss_table, write_csv, write_json_lines};
use crate::proto::v1;

/// Which crawls, and how the curve is given.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Names of the crawls
    #[arg(required = true)]
    names: Vec<String>,

    /// How it is written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// Same as --format jsonl
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Draw all of them in one picture as well
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,

    /// About how many points a crawl (0: one a fetch) [default: 20 for a table, 1000 for a plot, else 0]
    #[arg(long, value_name = "N")]
    points: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, side by side
    Table,
    /// Columns crawl, n, loss, harvest
    Csv,
    /// One JSON object a point and line
    Jsonl,
}

pub(super) async fn run(daemon: &DaemonArgs, args: Args) -> anyhow::Result<ExitCode> {
    let mut client = daemon.connect().await?;
    let format = if args.json {
        Format::Jsonl
    } else {
        args.format
    };
    let usual = if format == Format::Table { 20 } else { 0 };
    let curves = curves(&mut client, &args.names, args.points.unwrap_or(usual)).await?;
    match format {
        Format::Table => say(&loss_table(&curves))?,
        Format::Csv => write_csv(&curves, io::stdout().lock())?,
        Format::Jsonl => write_json_lines(&curves, io::stdout().lock())?,
    }
    if let Some(path) = &args.plot {
        let curves = self::curves(&mut client, &args.names, args.points.unwrap_or(1000)).await?;
        let svg = loss_svg("Expected page loss", &curves)?;
        fs::write(path, svg).with_context(|| format!("plot {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The curves of these crawls.
pub(in crate::cli) async fn curves(
    client: &mut Client,
    names: &[String],
    points_max: u32,
) -> anyhow::Result<Vec<NamedCurve>> {
    let mut curves = Vec::with_capacity(names.len());
    for name in names {
        let request = v1::GetLossRequest {
            name: name.clone(),
            points_max,
        };
        let mut stream = client.get_loss(request).await?.into_inner();
        let mut points = Vec::new();
        while let Some(v1::LossPoint { n, loss, harvest }) = stream.message().await? {
            points.push(LossPoint { n, loss, harvest });
        }
        curves.push(NamedCurve {
            name: name.clone(),
            points,
        });
    }
    Ok(curves)
}
