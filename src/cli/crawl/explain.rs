//! `apprentice crawl explain`

use std::fmt::Write as _;
use std::process::ExitCode;

use crate::cli::connect::DaemonArgs;
use crate::cli::exit::NOT_FOUND;
use crate::cli::output::{say, say_json};
use crate::proto::v1;

/// Which URL of which crawl.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Name of the crawl
    name: String,

    /// The URL of the link
    url: String,

    /// Features named for each page that links to it; the others are added up
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,

    /// Print the explanation as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(daemon: &DaemonArgs, args: Args) -> anyhow::Result<ExitCode> {
    let mut client = daemon.connect().await?;
    let request = v1::ExplainLinkRequest {
        name: args.name,
        url: args.url,
        top: args.top,
    };
    let explanation = client.explain_link(request).await?.into_inner();
    if args.json {
        say_json(&explanation)?;
    } else {
        say(render(&explanation).trim_end())?;
    }
    let report = explanation.report.unwrap_or_default();
    Ok(match report.state() {
        v1::UrlState::Unknown => ExitCode::from(NOT_FOUND),
        _ => ExitCode::SUCCESS,
    })
}

fn render(explanation: &v1::LinkExplanation) -> String {
    let mut report = explanation.report.clone().unwrap_or_default();
    // Each page has a paragraph of its own below.
    report.found_on.clear();
    let mut text = super::url::render(&report);
    if explanation.order.is_empty() {
        return text;
    }
    let v1::LinkExplanation {
        order,
        combine,
        epoch,
        ..
    } = explanation;
    let epoch = match epoch {
        0 => "before the first epoch".to_owned(),
        epoch => format!("epoch {epoch}"),
    };
    let _ = write!(
        text,
        "\norder     {order}, {epoch}; of several pages the {combine} one counts"
    );
    if explanation.rescoring {
        text += "\n          (a new epoch is being put in force: the priority may be of the one before)";
    }
    if report.waiting.is_some() {
        text += "\n          (scores are of now; the priority is as it was scored last)";
    }
    if let Some(leased) = explanation.leased_priority {
        let leased = super::frontier::priority(leased);
        let _ = write!(
            text,
            "\nleased    with priority {leased}; below: how it would score now, its own outcome left out"
        );
    }
    for parent in &explanation.parents {
        text += "\n\n";
        add_parent(&mut text, parent, &report.url);
    }
    text
}

fn add_parent(text: &mut String, parent: &v1::ParentExplanation, url: &str) {
    if parent.found_on.is_empty() {
        let _ = write!(text, "a seed, or the target of one: nobody scored it");
        return;
    }
    let v1::ParentExplanation {
        found_on,
        link,
        links,
        score,
        anchor,
        ..
    } = parent;
    let _ = write!(
        text,
        "{score:+.2}  on {found_on}\n       link {link} of {links}"
    );
    if !anchor.is_empty() {
        let _ = write!(text, " \"{anchor}\"");
    }
    if !parent.inside_of.is_empty() {
        let _ = write!(text, " in {}", parent.inside_of.join(" < "));
    }
    if parent.url != url {
        let _ = write!(text, "\n       to {}, which led here", parent.url);
    }
    for feature in &parent.features {
        let _ = write!(text, "\n{:+8.2}  {}", feature.weight, feature.name);
    }
    if parent.others > 0 {
        let others = match parent.others {
            1 => "1 other feature".to_owned(),
            others => format!("{others} other features"),
        };
        let _ = write!(text, "\n{:+8.2}  {others}", parent.others_weight);
    }
}
