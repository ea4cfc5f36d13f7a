//! `apprentice crawl status`

use std::process::ExitCode;

use crate::cli::connect::DaemonArgs;
use crate::cli::output::{say, say_json};
use crate::cli::words::{count, moment};
use crate::proto::v1;

/// Which crawl.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Name of the crawl
    name: String,

    /// Print the crawl as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(daemon: &DaemonArgs, args: Args) -> anyhow::Result<ExitCode> {
    let mut client = daemon.connect().await?;
    let request = v1::GetCrawlRequest { name: args.name };
    let crawl = client.get_crawl(request).await?.into_inner();
    if args.json {
        say_json(&crawl)?;
    } else {
        say(&render(&crawl))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The name of a crawl's state.
pub(super) fn state_name(crawl: &v1::Crawl) -> &'static str {
    match crawl.state() {
        v1::CrawlState::Running => "running",
        v1::CrawlState::Paused => "paused",
        v1::CrawlState::Stopped => "stopped",
        v1::CrawlState::Finished => "finished",
        v1::CrawlState::Failed => "failed",
        v1::CrawlState::Opening => "opening",
        v1::CrawlState::Unspecified => "unknown",
    }
}

/// The topics, and what is taken out of them.
fn focus(spec: &v1::CrawlSpec) -> String {
    let topics = spec.topics.join(", ");
    if spec.without.is_empty() {
        topics
    } else {
        format!("{topics} without {}", spec.without.join(", "))
    }
}

fn render(crawl: &v1::Crawl) -> String {
    if crawl.state() == v1::CrawlState::Opening {
        // Nothing else is known of it yet.
        return format!(
            "crawl     {}\nstate     opening: {}",
            crawl.name, crawl.idle
        );
    }
    let spec = crawl.spec.clone().unwrap_or_default();
    let budget = match spec.budget {
        0 => String::new(),
        budget => format!(" of {}", count(budget)),
    };
    let mut lines = vec![
        ("crawl", crawl.name.clone()),
        ("state", format!("{} ({})", state_name(crawl), crawl.reason)),
        ("topic", focus(&spec)),
        ("critic", critic(crawl)),
        ("judge", spec.judge.unwrap_or_default().address),
        ("order", order_name(spec.order)),
        ("epoch", epoch(crawl)),
        ("began", began(&spec.start.unwrap_or_default())),
        (
            "fetched",
            format!(
                "{}{budget} ({} pages, {} failed for good); {} requests, {} redirects",
                count(crawl.fetched),
                count(crawl.pages),
                count(crawl.failures),
                count(crawl.requests),
                count(crawl.redirects)
            ),
        ),
        (
            "relevant",
            format!(
                "{} pages; harvest {:.3}, last 500: {:.3}; expected loss {:.1}",
                count(crawl.relevant),
                crawl.harvest,
                crawl.harvest_last,
                crawl.loss
            ),
        ),
        ("copies", copies(crawl)),
        ("rate", rate(crawl)),
        (
            "frontier",
            format!(
                "{} links waiting, {} held, {} refused; {} hosts, {} ready",
                count(crawl.links_waiting),
                count(crawl.links_held),
                count(crawl.links_refused),
                count(crawl.hosts),
                count(crawl.hosts_ready)
            ),
        ),
        ("failures", counts(&crawl.failures_by_cause)),
        ("refused", counts(&crawl.refused_by_reason)),
        ("withheld", counts(&crawl.withheld)),
        ("guard", crawl.guard.clone()),
        ("created", moment(crawl.created_at_ms)),
    ];
    // The state says already why nothing is fetched, unless it runs.
    if !crawl.idle.is_empty() && crawl.state() == v1::CrawlState::Running {
        lines.insert(2, ("idle", crawl.idle.clone()));
    }
    lines.retain(|(_, value)| !value.is_empty());
    let lines = lines
        .into_iter()
        .map(|(name, value)| format!("{name:<9} {value}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// What the apprentice began with; nothing if it was nothing.
fn began(start: &v1::Start) -> String {
    let with = match (start.apprentice.as_str(), start.instances_of.as_str()) {
        ("", "") => return String::new(),
        (file, "") => format!("with {file}"),
        (_, name) => format!("with the instances of {name}"),
    };
    match start.carry.as_str() {
        "" | "all" => with,
        carry => format!("{with}, {carry}"),
    }
}

fn copies(crawl: &v1::Crawl) -> String {
    if crawl.copies + crawl.near_copies == 0 {
        return String::new();
    }
    format!(
        "{} pages are copies, {} nearly; expected loss with them as lost: {:.1}",
        count(crawl.copies),
        count(crawl.near_copies),
        crawl.loss_with_copies
    )
}

fn critic(crawl: &v1::Crawl) -> String {
    match (crawl.critic_version, crawl.marks) {
        (0, _) => String::new(),
        (version, 0) => format!("version {version}"),
        (version, 1) => format!("version {version}, has learned 1 marked page"),
        (version, marks) => format!(
            "version {version}, has learned {} marked pages",
            count(marks)
        ),
    }
}

/// The apprentice's epoch, and what is on its way.
fn epoch(crawl: &v1::Crawl) -> String {
    let mut words = match crawl.epoch {
        0 => String::new(),
        epoch => epoch.to_string(),
    };
    if let Some(share) = crawl.rescored {
        let order = if crawl.order_as_booked {
            "go by the scores that they were booked with".to_owned()
        } else {
            format!("are in the order of epoch {}", crawl.epoch_of_order)
        };
        words = format!(
            "{words}; the waiting links {order}, {:.0} % scored anew",
            share * 100.0
        );
        if let Some(share) = crawl.reordered {
            words = format!("{words}, {:.0} % of the hosts reordered", share * 100.0);
        }
        if let Some(oldest) = crawl.epoch_oldest {
            words = format!("{words}; the oldest score among the best 1,000 is of epoch {oldest}");
        }
    }
    if let Some(share) = crawl.retrained {
        words = format!("{words}; retraining, {:.0} % learned", share * 100.0);
    }
    words.trim_start_matches("; ").to_owned()
}

fn order_name(order: String) -> String {
    if order.is_empty() {
        return "baseline".to_owned();
    }
    order
}

fn rate(crawl: &v1::Crawl) -> String {
    let unjudged = match crawl.unjudged {
        0 => String::new(),
        pages => format!(", {} without a verdict yet", count(pages)),
    };
    format!(
        "{:.2} fetches/s, {} in flight{unjudged}",
        crawl.fetches_per_second, crawl.in_flight
    )
}

fn counts(counts: &[v1::Count]) -> String {
    let words = counts
        .iter()
        .map(|c| format!("{} {}", c.name, count(c.count)));
    words.collect::<Vec<_>>().join(", ")
}
