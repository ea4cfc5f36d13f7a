//! `apprentice taxonomy find`

use std::path::PathBuf;
use std::process::ExitCode;

use super::reading;
use crate::cli::exit;
use crate::cli::output::{complain, say, say_json, table};
use crate::cli::words::count;

/// Where to look, and for what.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The taxonomy: any file or folder that import takes, or a model
    taxonomy: PathBuf,

    /// A part of a topic's name or path, in any case; or a name like it
    name: String,

    /// At most so many topics
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,

    /// Print each topic as JSON, one a line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let tree = reading::count(&args.taxonomy)?.tree;
    let found = tree.find(&args.name);
    let shown = found.iter().take(args.limit);
    if args.json {
        for node in shown {
            say_json(node)?;
        }
    } else if !found.is_empty() {
        let rows = shown.map(|node| {
            vec![
                node.topic.clone(),
                count(node.examples),
                count(node.own),
                count(node.topics),
            ]
        });
        say(&table(
            &["TOPIC", "EXAMPLES", "OWN", "TOPICS UNDER IT"],
            rows,
        ))?;
        if found.len() > args.limit {
            let more = count((found.len() - args.limit) as u64);
            say(&format!("and {more} more (--limit)"))?;
        }
    }
    if found.is_empty() {
        complain(&format!("error: no topic like `{}`", args.name));
        return Ok(ExitCode::from(exit::NOT_FOUND));
    }
    Ok(ExitCode::SUCCESS)
}
