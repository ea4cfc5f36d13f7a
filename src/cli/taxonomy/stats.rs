//! `apprentice taxonomy stats`

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::reading::{self, Counted};
use crate::cli::output::{say, say_json, table};
use crate::cli::words::count;
use crate::taxonomy::{Faults, TaxonomyStats};

/// Which taxonomy.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The taxonomy: any file or folder that import takes, or a model
    taxonomy: PathBuf,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let counted = reading::count(&args.taxonomy)?;
    let stats = TaxonomyStats::of(&counted.tree);
    if args.json {
        say_json(&json!({
            "sizes": stats,
            "repeated": counted.distinct.repeated(),
            "shared": counted.distinct.shared(),
            "shared_named": counted.distinct.shared_named(),
            "faults": counted.faults,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    say(&format!(
        "{} topics, {} of them with examples of their own; {} examples",
        count(stats.topics),
        count(stats.with_examples),
        count(stats.examples)
    ))?;
    let rows = stats.levels.iter().map(|level| {
        vec![
            level.level.to_string(),
            count(level.topics),
            count(level.leaves),
            count(level.examples),
            count(level.largest),
        ]
    });
    let head = ["LEVEL", "TOPICS", "LEAVES", "EXAMPLES", "LARGEST"];
    say(&format!("\n{}", table(&head, rows)))?;
    let rows = stats.sizes.iter().map(|quantile| {
        let share = match quantile.share {
            0.0 => "smallest".to_owned(),
            0.5 => "median".to_owned(),
            1.0 => "largest".to_owned(),
            share => format!("{:.0} %", 100.0 * share),
        };
        vec![share, count(quantile.examples)]
    });
    say(&format!(
        "\n{}",
        table(&["OF THE TOPICS", "EXAMPLES AT MOST"], rows)
    ))?;
    tell_doubts(&counted)
}

/// Repetitions, shared URLs and faults, as far as there are any.
fn tell_doubts(counted: &Counted) -> anyhow::Result<ExitCode> {
    let distinct = &counted.distinct;
    say(&format!(
        "\n{} repeated examples (counted once), {} URLs under one more topic (counted in each)",
        count(distinct.repeated()),
        count(distinct.shared())
    ))?;
    for shared in distinct.shared_named() {
        say(&reading::shared_words(shared))?;
    }
    for line in counted.faults.iter().flat_map(Faults::lines) {
        say(&line)?;
    }
    Ok(ExitCode::SUCCESS)
}
