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

    /// About how many rows or points a crawl (0: one a fetch); a plot has its own [default: 20 for a table, else 0]
    #[arg(long, value_name = "N")]
    points: Option<u32>,

    /// Count copies of earlier pages, and what is nearly one, as lost
    #[arg(long)]
    copies_lost: bool,
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
    // A table has one grid for all crawls, so it is thinned here, from all points.
    let asked = if format == Format::Table {
        0
    } else {
        args.points.unwrap_or(0)
    };
    let curves = curves(&mut client, &args.names, asked, args.copies_lost).await?;
    match format {
        Format::Table => say(&loss_table(&on_one_grid(curves, args.points.unwrap_or(20))))?,
        Format::Csv => write_csv(&curves, io::stdout().lock())?,
        Format::Jsonl => write_json_lines(&curves, io::stdout().lock())?,
    }
    if let Some(path) = &args.plot {
        let curves = self::curves(&mut client, &args.names, PLOT_POINTS, args.copies_lost).await?;
        let svg = loss_svg("Expected page loss", &curves)?;
        fs::write(path, svg).with_context(|| format!("plot {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Points of a curve in a picture: more cannot be seen.
const PLOT_POINTS: u32 = 1000;

/// The points at every multiple of one round step, and each curve's last.
fn on_one_grid(mut curves: Vec<NamedCurve>, rows: u32) -> Vec<NamedCurve> {
    let last = |curve: &NamedCurve| curve.points.last().map_or(0, |point| point.n);
    let longest = curves.iter().map(last).max().unwrap_or(0);
    if rows == 0 {
        return curves;
    }
    let step = round_step(longest.div_ceil(u64::from(rows)));
    for curve in &mut curves {
        let last = last(curve);
        curve
            .points
            .retain(|point| point.n % step == 0 || point.n == last);
    }
    curves
}

/// The smallest of 1, 2, 5, 10, 20, 50 ... that is at least `least`.
fn round_step(least: u64) -> u64 {
    let mut power = 1_u64;
    loop {
        for factor in [1, 2, 5] {
            if power.saturating_mul(factor) >= least {
                return power.saturating_mul(factor);
            }
        }
        power = power.saturating_mul(10);
    }
}

/// The curves of these crawls.
pub(in crate::cli) async fn curves(
    client: &mut Client,
    names: &[String],
    points_max: u32,
    copies_lost: bool,
) -> anyhow::Result<Vec<NamedCurve>> {
    let mut curves = Vec::with_capacity(names.len());
    for name in names {
        let request = v1::GetLossRequest {
            name: name.clone(),
            points_max,
            copies_lost,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_of_different_length_share_the_rows_of_a_table() {
        let curve = |name: &str, n: u64| NamedCurve {
            name: name.to_owned(),
            points: (1..=n).map(|n| LossPoint::new(n, 0.0)).collect(),
        };
        let curves = on_one_grid(vec![curve("a", 44), curve("b", 30)], 5);
        let rows = |curve: &NamedCurve| curve.points.iter().map(|p| p.n).collect::<Vec<_>>();
        assert_eq!(rows(&curves[0]), [10, 20, 30, 40, 44]);
        assert_eq!(rows(&curves[1]), [10, 20, 30]);
    }

    #[test]
    fn steps_are_round() {
        let steps: Vec<_> = [0, 1, 3, 7, 11, 51, 130].map(round_step).into();
        assert_eq!(steps, [1, 1, 5, 10, 20, 100, 200]);
    }
}
