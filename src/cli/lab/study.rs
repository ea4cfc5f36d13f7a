//! `apprentice lab study`

use std::io::IsTerminal;
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};

use super::bench::bench_of;
use super::{Args, spec_of};
use crate::cli::output::{complain, say, say_json, table};
use crate::clock::SystemClock;
use crate::lab::study::{self, Finding, Study, StudySpec};

/// Which studies, on what.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct StudyArgs {
    /// Which studies: accuracy, histogram, gain, mass, overlap, switch, recall, ablation
    #[arg(value_name = "NAME", required_unless_present = "list")]
    names: Vec<String>,

    /// List the studies and what they ask
    #[arg(long, exclusive = true)]
    list: bool,

    /// Pages after which the second crawler takes over, in the study `switch` [default: half of the
    /// budget]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    switch_at: Option<u64>,

    #[command(flatten)]
    contest: Args,
}

pub(super) fn run(args: &StudyArgs) -> anyhow::Result<ExitCode> {
    if args.list {
        let rows = Study::ALL.map(|study| vec![study.name().to_owned(), study.about().to_owned()]);
        say(&table(&["STUDY", "ASKS"], rows))?;
        return Ok(ExitCode::SUCCESS);
    }
    let studies = args.names.iter().map(|name| Study::from_name(name));
    let studies: Vec<Study> = studies
        .collect::<Result<_, String>>()
        .map_err(anyhow::Error::msg)?;
    let contest = &args.contest;
    let out = contest.out()?;
    let spec = StudySpec {
        contest: spec_of(contest, "baseline,ftrl")?,
        switch_at: args.switch_at,
    };
    let bench = bench_of(&contest.files(), &SystemClock::new())?;
    let mut found = serde_json::Map::new();
    for study in studies {
        let bar = bar(study);
        let finding = study::run(study, &bench, &spec, &|done, total| {
            bar.set_length(total);
            bar.set_position(done);
        });
        bar.finish_and_clear();
        let finding = finding?;
        study::write(study, out, &finding)?;
        if contest.json {
            found.insert(study.name().to_owned(), json(&finding));
        } else {
            say(&format!("{}: {}", study.name(), study.about()))?;
            say(&table(&finding.short.head, finding.short.rows))?;
        }
    }
    if contest.json {
        say_json(&found)?;
    }
    complain(&format!("data and pictures are in {}", out.display()));
    Ok(ExitCode::SUCCESS)
}

/// A bar for a person at a terminal; a log gets none.
fn bar(study: Study) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0).with_message(study.name());
    let template = "{msg} {elapsed_precise} {wide_bar} {human_pos}/{human_len}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.tick();
    bar
}

/// The data, a map a row.
fn json(finding: &Finding) -> serde_json::Value {
    let rows = finding.data.rows.iter().map(|row| {
        let cells = finding.data.head.iter().zip(row);
        let cells = cells.map(|(name, cell)| ((*name).to_owned(), cell.clone().into()));
        serde_json::Value::Object(cells.collect())
    });
    rows.collect()
}
