//! `apprentice critic calibration`

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::json;

use crate::cli::output::{complain, say, say_json, table};
use crate::cli::words::count;
use crate::critic::examples::read_table;
use crate::critic::{BayesJudge, Bin, CriticModel, FocusCalibration, PageJudge, Verdict};
use crate::lab::Labels;
use crate::taxonomy::{ExampleTable, Focus};
use crate::url::CanonicalUrl;

/// Which critic, and on which pages.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The model; `general` is the one that comes with the program
    model: PathBuf,

    /// WARC files that hold the pages
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    archive: Vec<PathBuf>,

    /// What the pages are (CSV: url,topic and, if there is one, column `p_TOPIC`); pages that the
    /// model was trained on are left out
    #[arg(long, value_name = "TABLE")]
    labels: PathBuf,

    /// Topics, each a focus of its own [default: all of the model that the labels know]
    #[arg(short, long, value_name = "TOPIC", num_args = 1..)]
    topic: Vec<String>,

    /// Topics under those that are taken out of the focus again; labels still judge the whole topic
    #[arg(long, value_name = "TOPIC", num_args = 1.., requires = "topic")]
    without: Vec<String>,

    /// Print what was said against what was so, bin by bin
    #[arg(long)]
    bins: bool,

    /// Print the figures and all bins as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let model = Arc::new(CriticModel::open_or_general(&args.model)?);
    let labels = Labels::open(&args.labels)?;
    let judges = judges(args, &model, &labels)?;
    let figures = figures(args, &model, &labels, &judges)?;
    if args.json {
        let rows = judges.iter().zip(&figures);
        let rows = rows.map(|((topic, _), figures)| {
            json!({
                "topic": topic,
                "ece_raw": figures.raw.ece(),
                "ece_calibrated": figures.calibrated.ece(),
                "ece_shifted": figures.shifted.ece(),
                "figures": figures,
            })
        });
        say_json(&rows.collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    say(&render(&judges, &figures))?;
    if args.bins {
        for ((topic, _), figures) in judges.iter().zip(&figures) {
            say(&render_bins(topic, figures))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

type TopicJudge = (String, BayesJudge);

fn judges(
    args: &Args,
    model: &Arc<CriticModel>,
    labels: &Labels,
) -> anyhow::Result<Vec<TopicJudge>> {
    let topics: Vec<String> = if args.topic.is_empty() {
        let names = model.class_names().iter();
        let known = names.filter(|name| labels.judge(name).is_ok());
        known.cloned().collect()
    } else {
        args.topic.clone()
    };
    anyhow::ensure!(
        !topics.is_empty(),
        "{}: knows none of the model's topics",
        args.labels.display()
    );
    let foci = Focus::each(&topics, &args.without)?;
    topics
        .into_iter()
        .zip(foci)
        .map(|(topic, focus)| Ok((topic, BayesJudge::new(Arc::clone(model), &focus)?)))
        .collect()
}

fn figures(
    args: &Args,
    model: &CriticModel,
    labels: &Labels,
    judges: &[TopicJudge],
) -> anyhow::Result<Vec<FocusCalibration>> {
    let id = |url: &String| CanonicalUrl::parse(url).ok().map(|url| url.id());
    let examples = model.classes().iter().flat_map(|class| &class.examples);
    let trained_on: HashSet<_> = examples.filter_map(id).collect();
    let mut table = ExampleTable::open(&args.labels)?;
    let rows = table.examples.len();
    table
        .examples
        .retain(|example| !id(&example.url).is_some_and(|id| trained_on.contains(&id)));
    let apart = rows - table.examples.len();
    let archive = crate::cli::archive::open(&args.archive)?;
    let known = judges
        .iter()
        .map(|(topic, _)| Ok(labels.judge(topic)?))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut pages: Vec<Vec<(Verdict, f64)>> = vec![Vec::new(); judges.len()];
    let mut failed = 0_u64;
    read_table(&table, Some(&archive), |example| -> anyhow::Result<()> {
        let (Ok(page), Ok(url)) = (example.page, CanonicalUrl::parse(&example.url)) else {
            failed += 1;
            return Ok(());
        };
        for ((pages, (_, judge)), known) in pages.iter_mut().zip(judges).zip(&known) {
            pages.push((judge.judge(&page), f64::from(known.relevance(url.id()))));
        }
        Ok(())
    })?;
    complain(&format!(
        "{} pages judged; left out: {} that the model was trained on, {} that cannot be read",
        count(pages.first().map_or(0, Vec::len) as u64),
        count(apart as u64),
        count(failed),
    ));
    let of = judges.iter().zip(pages);
    Ok(of
        .map(|((_, judge), pages)| FocusCalibration::of(judge.focus_share(), &pages))
        .collect())
}

fn render(judges: &[TopicJudge], figures: &[FocusCalibration]) -> String {
    let head = [
        "TOPIC",
        "PAGES",
        "SHARE",
        "ESTIMATED",
        "ECE RAW",
        "CALIBRATED",
        "AND SHIFTED",
        "EQUAL MASS: RAW",
        "CALIBRATED",
        "AND SHIFTED",
    ];
    let rows = judges.iter().zip(figures).map(|((topic, _), of)| {
        let mut row = vec![topic.clone(), count(of.pages as u64)];
        let tables = [&of.raw, &of.calibrated, &of.shifted];
        let values = [of.share_seen, of.share_estimated].into_iter();
        let values = values
            .chain(tables.map(crate::critic::Reliability::ece))
            .chain(tables.map(crate::critic::Reliability::ece_equal_mass));
        row.extend(values.map(|value| format!("{value:.3}")));
        row
    });
    table(&head, rows)
}

fn render_bins(topic: &str, of: &FocusCalibration) -> String {
    let head = ["R", "RAW", "SO", "SHIFTED", "SO"];
    let bins = of.raw.equal_width.iter().zip(&of.shifted.equal_width);
    let rows = bins.enumerate().map(|(number, (raw, shifted))| {
        let low = number as f64 / of.raw.equal_width.len() as f64;
        let seen = |bin: &Bin| match bin.pages {
            0 => "-".to_owned(),
            pages => format!("{:.3}", bin.seen / pages as f64),
        };
        vec![
            format!("{low:.2}"),
            count(raw.pages),
            seen(raw),
            count(shifted.pages),
            seen(shifted),
        ]
    });
    format!(
        "\n{topic}: pages by R, and the share of them that is of the topic\n{}",
        table(&head, rows)
    )
}
