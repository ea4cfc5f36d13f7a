//! `apprentice crawl list`

use std::process::ExitCode;

use crate::cli::connect::DaemonArgs;
use crate::cli::output::{say, say_json, table};
use crate::cli::words::count;
use crate::proto::v1;

/// How they are listed.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Print one JSON object a crawl and line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(daemon: &DaemonArgs, args: Args) -> anyhow::Result<ExitCode> {
    let mut client = daemon.connect().await?;
    let crawls = client.list_crawls(v1::ListCrawlsRequest {}).await?;
    let crawls = crawls.into_inner().crawls;
    if args.json {
        for crawl in &crawls {
            say_json(crawl)?;
        }
    } else if crawls.is_empty() {
        say("no crawls yet; `apprentice crawl start` makes one")?;
    } else {
        let head = [
            "NAME", "STATE", "FETCHED", "HARVEST", "LOSS", "WAITING", "WHY",
        ];
        say(&table(&head, crawls.iter().map(row)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(crawl: &v1::Crawl) -> Vec<String> {
    if crawl.state() == v1::CrawlState::Opening {
        let nothing = std::iter::repeat_n(String::new(), 4);
        let name = [crawl.name.clone(), "opening".to_owned()].into_iter();
        return name.chain(nothing).chain([crawl.idle.clone()]).collect();
    }
    vec![
        crawl.name.clone(),
        super::status::state_name(crawl).to_owned(),
        count(crawl.fetched),
        format!("{:.3}", crawl.harvest),
        format!("{:.1}", crawl.loss),
        count(crawl.links_waiting),
        // Why nothing is fetched says more of a crawl that runs.
        if crawl.state() == v1::CrawlState::Running && !crawl.idle.is_empty() {
            crawl.idle.clone()
        } else {
            crawl.reason.clone()
        },
    ]
}
