//! `apprentice crawl feedback` and `export-critic`

use std::path::PathBuf;
use std::process::ExitCode;

use super::steer::read_url_file;
use crate::cli::connect::DaemonArgs;
use crate::cli::output::{say, say_json, table};
use crate::critic::CriticModel;
use crate::proto::v1;

/// Which pages, and what is said of them.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Name of the crawl
    name: String,

    /// URLs of judged pages
    #[arg(required_unless_present = "file")]
    urls: Vec<String>,

    /// File of URLs, one a line, `#` for comments
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    opinion: OpinionArgs,

    /// The topic that they are about [default: the best one of those that the opinion leaves]
    #[arg(short, long, value_name = "TOPIC", conflicts_with = "forget")]
    topic: Option<String>,

    /// Print the marks as JSON
    #[arg(long)]
    json: bool,
}

/// Exactly one; of several marks of a page the last one counts.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct OpinionArgs {
    /// They were judged right
    #[arg(long)]
    right: bool,

    /// They were judged wrong: relevant ones are not, and the others are
    #[arg(long)]
    wrong: bool,

    /// They are relevant, however they were judged
    #[arg(long)]
    relevant: bool,

    /// They are irrelevant, however they were judged
    #[arg(long)]
    irrelevant: bool,

    /// Take the marks back
    #[arg(long)]
    forget: bool,
}

impl OpinionArgs {
    fn opinion(&self) -> v1::Opinion {
        let given = [
            (self.right, v1::Opinion::Right),
            (self.wrong, v1::Opinion::Wrong),
            (self.relevant, v1::Opinion::Relevant),
            (self.irrelevant, v1::Opinion::Irrelevant),
            (self.forget, v1::Opinion::Forget),
        ];
        let given = given.into_iter().find(|(given, _)| *given);
        given.map_or(v1::Opinion::Unspecified, |(_, opinion)| opinion)
    }
}

pub(super) async fn run(daemon: &DaemonArgs, args: Args) -> anyhow::Result<ExitCode> {
    let mut urls = args.urls;
    if let Some(path) = &args.file {
        urls.extend(read_url_file(path)?);
    }
    let request = v1::FeedbackRequest {
        name: args.name.clone(),
        urls,
        opinion: args.opinion.opinion() as i32,
        topic: args.topic.unwrap_or_default(),
    };
    let marks = daemon
        .connect()
        .await?
        .feedback(request)
        .await?
        .into_inner();
    if args.json {
        say_json(&marks)?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows = marks.pages.iter().map(|page| {
        vec![
            page.url.clone(),
            if page.topic.is_empty() {
                "-".to_owned()
            } else {
                page.topic.clone()
            },
            format!("{:.3}", page.relevance_booked),
            format!("{:.3}", page.relevance_now),
        ]
    });
    say(&table(&["PAGE", "COUNTED AS", "R BOOKED", "R NOW"], rows))?;
    say(&format!(
        "critic of {}: version {}, {} marked pages; pages fetched from now on are judged by it",
        args.name, marks.critic_version, marks.marks
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Which crawl, and where to.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Export {
    /// Name of the crawl
    name: String,

    /// Where the model goes
    #[arg(short, long, value_name = "MODEL")]
    out: PathBuf,
}

pub(super) async fn export(daemon: &DaemonArgs, args: Export) -> anyhow::Result<ExitCode> {
    let request = v1::ExportCriticRequest {
        name: args.name.clone(),
    };
    let mut chunks = daemon
        .connect()
        .await?
        .export_critic(request)
        .await?
        .into_inner();
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.message().await? {
        bytes.extend(chunk.data);
    }
    let model = CriticModel::from_bytes(&bytes, &args.out)?;
    model.save(&args.out)?;
    say(&format!(
        "{}: version {}, {} topics",
        args.out.display(),
        model.version(),
        model.class_names().len()
    ))?;
    Ok(ExitCode::SUCCESS)
}
