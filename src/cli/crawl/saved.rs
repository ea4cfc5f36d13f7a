//! `apprentice crawl export-apprentice` and `show-apprentice`

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

use crate::apprentice::{Carry, Provenance, SavedApprentice};
use crate::cli::connect::DaemonArgs;
use crate::cli::output::{say, say_json, table};
use crate::cli::words::moment;
use crate::proto::v1;

/// Which crawl, and where to.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Export {
    /// Name of the crawl, running or not
    name: String,

    /// Where the apprentice goes
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
}

pub(super) async fn export(daemon: &DaemonArgs, args: Export) -> anyhow::Result<ExitCode> {
    let request = v1::ExportApprenticeRequest {
        name: args.name.clone(),
    };
    let mut chunks = daemon
        .connect()
        .await?
        .export_apprentice(request)
        .await?
        .into_inner();
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.message().await? {
        bytes.extend(chunk.data);
    }
    let saved = SavedApprentice::from_bytes(&bytes, &args.out)?;
    saved.save(&args.out)?;
    say(&format!(
        "{}: {} bytes, learned from {} instances",
        args.out.display(),
        bytes.len(),
        saved.provenance.instances
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Which file.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Show {
    /// File of a saved apprentice
    file: PathBuf,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    provenance: &'a Provenance,
    d_max: u8,
    features: Vec<&'static str>,
    carried: &'static str,
    followed: &'a str,
    learners: Vec<ShownLearner<'a>>,
}

#[derive(Serialize)]
struct ShownLearner<'a> {
    name: &'a str,
    /// It saw <t, d> alone.
    text_only: bool,
    weights: usize,
}

pub(super) fn show(args: &Show) -> anyhow::Result<ExitCode> {
    let saved = SavedApprentice::open(&args.file)?;
    let learners = saved.panel.learners();
    let shown = Shown {
        provenance: &saved.provenance,
        d_max: saved.features.d_max(),
        features: saved.features.groups(),
        carried: saved.carried.name(),
        followed: saved.panel.followed(),
        learners: learners
            .map(|(name, text_only, weights)| ShownLearner {
                name,
                text_only,
                weights: weights.count(),
            })
            .collect(),
    };
    if args.json {
        say_json(&shown)?;
    } else {
        say(&words(&saved, &shown))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn words(saved: &SavedApprentice, shown: &Shown<'_>) -> String {
    let from = shown.provenance;
    let mut topics = from.topics.join(", ");
    if !from.without.is_empty() {
        topics = format!("{topics} without {}", from.without.join(", "));
    }
    let learned = format!(
        "{} instances, {} pages, by epoch {}",
        from.instances, from.pages, from.epoch
    );
    let mut lines = vec![
        ("crawl", from.crawl.clone()),
        ("topics", topics),
        ("critic", format!("version {}", from.critic_version)),
        ("order", from.order.clone()),
        ("learned", learned),
        ("saved", moment(from.at.0)),
        ("d_max", shown.d_max.to_string()),
        ("features", shown.features.join(", ")),
    ];
    if saved.carried != Carry::All {
        lines.push(("carried", shown.carried.to_owned()));
    }
    let lines = lines
        .into_iter()
        .map(|(name, value)| format!("{name:<10}{value}\n"));
    let rows = shown.learners.iter().map(|learner| {
        let is_followed = learner.name == shown.followed;
        vec![
            format!("{}{}", learner.name, if is_followed { " *" } else { "" }),
            if learner.text_only { "text" } else { "all" }.to_owned(),
            learner.weights.to_string(),
        ]
    });
    let learners = table(&["LEARNER", "FEATURES", "WEIGHTS"], rows);
    format!("{}{learners}", lines.collect::<String>())
}
