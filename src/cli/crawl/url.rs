//! `apprentice crawl url`

use std::process::ExitCode;

use crate::cli::connect::DaemonArgs;
use crate::cli::exit::NOT_FOUND;
use crate::cli::output::{say, say_json};
use crate::cli::words::{count, moment};
use crate::proto::v1;

/// Which URL of which crawl.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Name of the crawl
    name: String,

    /// The URL
    url: String,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(daemon: &DaemonArgs, args: Args) -> anyhow::Result<ExitCode> {
    let mut client = daemon.connect().await?;
    let request = v1::GetUrlRequest {
        name: args.name,
        url: args.url,
    };
    let report = client.get_url(request).await?.into_inner();
    if args.json {
        say_json(&report)?;
    } else {
        say(&render(&report))?;
    }
    Ok(match report.state() {
        v1::UrlState::Unknown => ExitCode::from(NOT_FOUND),
        _ => ExitCode::SUCCESS,
    })
}

pub(super) fn render(report: &v1::UrlReport) -> String {
    let state = match report.state() {
        v1::UrlState::Waiting => "waiting",
        v1::UrlState::Leased => "being fetched",
        v1::UrlState::Fetched => "fetched",
        v1::UrlState::Failed => "failed",
        v1::UrlState::Redirected => "redirected",
        v1::UrlState::Refused => "refused",
        v1::UrlState::Unknown | v1::UrlState::Unspecified => "unknown",
    };
    let mut lines = vec![
        ("url", report.url.clone()),
        ("state", state.to_owned()),
        ("why", report.why.clone()),
    ];
    if !report.redirected_to.is_empty() {
        lines.push(("led to", report.redirected_to.clone()));
    }
    if let Some(waiting) = &report.waiting {
        let priority = super::frontier::priority(waiting.priority);
        let v1::WaitingLink { depth, parents, .. } = waiting;
        lines.push((
            "priority",
            format!("{priority}; depth {depth}; {parents} pages link to it"),
        ));
    }
    if let Some(page) = report.page.as_ref().filter(|page| page.failure.is_empty()) {
        lines.push(("title", page.title.clone()));
        lines.push((
            "judged",
            format!(
                "relevance {:.4} (log odds {:.1}); best class {} ({:.3})",
                page.relevance, page.log_odds, page.best_class, page.best_posterior
            ),
        ));
        lines.push((
            "page",
            format!(
                "status {}, {}, {} bytes, {} links, {}{}",
                page.status,
                page.content_type,
                count(page.body_bytes),
                page.links,
                moment(page.fetched_at_ms),
                if page.seed { ", a seed" } else { "" }
            ),
        ));
    }
    for page in &report.found_on {
        lines.push(("found on", page.clone()));
    }
    let lines = lines
        .into_iter()
        .map(|(name, value)| format!("{name:<9} {value}"));
    lines.collect::<Vec<_>>().join("\n")
}
