//! `apprentice crawl frontier`

use std::process::ExitCode;

use crate::cli::connect::DaemonArgs;
use crate::cli::output::{say, say_json, table};
use crate::proto::v1;

/// Which crawl, and how many links.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Name of the crawl
    name: String,

    /// How many
    #[arg(short, long, value_name = "K", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    k: u32,

    /// Print one JSON object a link and line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(daemon: &DaemonArgs, args: Args) -> anyhow::Result<ExitCode> {
    let mut client = daemon.connect().await?;
    let request = v1::GetFrontierRequest {
        name: args.name,
        k: args.k,
    };
    let links = client.get_frontier(request).await?.into_inner().links;
    if args.json {
        for link in &links {
            say_json(link)?;
        }
    } else if links.is_empty() {
        say("no link waits")?;
    } else {
        let head = ["PRIORITY", "DEPTH", "PARENTS", "URL", "WHY IT WAITS"];
        say(&table(&head, links.iter().map(row)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(link: &v1::WaitingLink) -> Vec<String> {
    vec![
        priority(link.priority),
        link.depth.to_string(),
        link.parents.to_string(),
        link.url.clone(),
        link.why.clone(),
    ]
}

/// Seeds stand before everything that was scored; their number would say nothing.
pub(super) fn priority(priority: f64) -> String {
    if priority >= 1e8 {
        "seed".to_owned()
    } else {
        format!("{priority:.2}")
    }
}
