//! `apprentice lab experiment`

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};

use super::bench::{bench_of, sources_of};
use super::graph;
use super::publish::{Told, publish};
use super::render;
use super::worlds::worlds_of;
use crate::cli::exit::FAILED;
use crate::cli::output::{complain, say};
use crate::clock::{Clock, SystemClock};
use crate::lab::experiment::{BenchFiles, Experiment, GraphFiles, Subject, changes};
use crate::lab::graph::GraphContest;
use crate::lab::{
    Bench, ContestError, Held, PoolRanks, RunFolder, Setting, Watch, pool_ranks, run_all,
};

/// The file that an experiment's folder was last used with.
const LAST: &str = "experiment.toml";
/// What a shell says of a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// Which experiment, and where its results go.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The experiment (TOML; docs/experiments.md has its fields)
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Folder for its runs and reports; what is there already is not run again
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Crawls at once [default: as many as cores, or what the file says]; the results are the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,

    /// Run nothing; report what is there
    #[arg(long)]
    report_only: bool,
}

/// What happens around the runs.
struct Around<'a> {
    args: &'a Args,
    experiment: &'a Experiment,
    folder: RunFolder,
    stop: &'a AtomicBool,
    workers: usize,
}

pub(super) fn run(args: &Args, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let experiment = Experiment::open(&args.file)?;
    let folder = RunFolder::open(&args.out)?;
    tell_changes(&args.out, &experiment.text, &folder)?;
    stop.fetch_or(args.report_only, Ordering::Relaxed);
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let told = args.workers.map(usize::from).or(experiment.workers);
    let around = Around {
        args,
        experiment: &experiment,
        folder,
        stop,
        workers: told.unwrap_or_else(cores),
    };
    let missing = match &experiment.on {
        Subject::Archive {
            files,
            settings,
            against,
        } => around.archive(files, settings, against)?,
        Subject::Graphs {
            files,
            contest,
            against,
        } => around.graphs(files, contest, against)?,
    };
    if missing == 0 {
        complain(&format!("the report is in {}", args.out.display()));
        return Ok(ExitCode::SUCCESS);
    }
    complain(&format!(
        "{missing} runs are missing: the report in {} is partial; the same command goes on",
        args.out.display()
    ));
    let code = if args.report_only { 0 } else { FAILED };
    Ok(ExitCode::from(code))
}

impl Around<'_> {
    /// Runs contests on an archive and reports; how many runs are missing.
    fn archive(
        &self,
        files: &BenchFiles,
        settings: &[Setting],
        against: &str,
    ) -> anyhow::Result<usize> {
        let bench = bench_of(files, &SystemClock::new()).with_context(|| self.place("archive"))?;
        let bar = bar();
        let held = run_all(
            &bench,
            settings,
            self.workers,
            &Watch {
                folder: Some(&self.folder),
                stop: self.stop,
                begun: &|all, found| begin(&bar, all, found),
                done: &|_| bar.inc(1),
            },
        );
        bar.finish_and_clear();
        let held = held.map_err(|error| match field_of(&error) {
            Some(field) => anyhow::Error::new(error).context(self.place(field)),
            None => error.into(),
        })?;
        let sources = sources_of(files, bench.model.version());
        let ranks = if self.experiment.has_ranks {
            self.ranks(&bench, settings, &held)?
        } else {
            Vec::new()
        };
        let told = Told {
            ranks: &ranks,
            title: &self.experiment.title,
            spec: Some(&self.experiment.text),
            sources: &sources,
            digests: &bench.digests,
            checkpoints: &self.experiment.checkpoints,
            against,
        };
        let summaries = publish(&self.args.out, &told, settings, &held)?;
        for (setting, summary) in settings.iter().zip(&summaries) {
            if settings.len() > 1 {
                say(&setting.name)?;
            }
            say(&render(summary))?;
        }
        Ok(held.iter().map(|held| held.missing).sum())
    }

    /// Where a field stands that something is wrong with.
    fn place(&self, field: &str) -> String {
        let (file, text) = (self.args.file.display(), &self.experiment.text);
        let is_there = |line: &str| {
            let rest = line.trim_start().strip_prefix(field);
            rest.is_some_and(|rest| rest.trim_start().starts_with('='))
        };
        match text.lines().position(is_there) {
            Some(before) => format!("{file}, line {}: {field}", before + 1),
            None => format!("{file}: {field}"),
        }
    }

    /// The ranks in the pool of each contest; says how long they took.
    fn ranks(
        &self,
        bench: &Bench,
        settings: &[Setting],
        held: &[Held],
    ) -> anyhow::Result<Vec<Vec<PoolRanks>>> {
        let clock = SystemClock::new();
        let since = |started| clock.now().since(started).as_secs_f64();
        let started = clock.now();
        let (pages, links) = bench.read_links(self.workers);
        let reading = since(started);
        let started = clock.now();
        bench.rank_links(self.workers);
        let ranking = since(started);
        let started = clock.now();
        let points = &self.experiment.checkpoints;
        let ranks = settings.iter().zip(held).map(|(setting, held)| {
            pool_ranks(bench, &setting.spec, &held.entries, points, self.workers)
        });
        let ranks: Vec<Vec<PoolRanks>> = ranks.collect::<Result<_, _>>()?;
        complain(&format!(
            "ranks: {pages} pages with {links} links among them read in {reading:.1} s, PageRank of all {ranking:.2} s, \
             pools of {} crawls ranked in {:.1} s",
            held.iter().map(|held| held.entries.len()).sum::<usize>(),
            since(started)
        ));
        Ok(ranks)
    }

    /// Runs contests on graphs and reports; how many runs are missing.
    fn graphs(
        &self,
        files: &GraphFiles,
        contest: &GraphContest,
        against: &str,
    ) -> anyhow::Result<usize> {
        let contest = GraphContest {
            workers: self.workers,
            ..contest.clone()
        };
        let (summary, missing) = graph::ToHold {
            worlds: &worlds_of(files)?,
            contest: &contest,
            against,
            out: &self.args.out,
            folder: &self.folder,
            stop: self.stop,
            title: &self.experiment.title,
            spec: Some(&self.experiment.text),
        }
        .hold()?;
        say(&graph::render(&summary, &contest.shown_points()))?;
        Ok(missing)
    }
}

/// The field that such an error comes from.
fn field_of(error: &ContestError) -> Option<&'static str> {
    match error {
        ContestError::Focus(_) | ContestError::Judge(_) | ContestError::Labels(_) => Some("topics"),
        ContestError::NoSeeds { .. } | ContestError::NoLabels => Some("starts"),
        ContestError::NoOracle | ContestError::Begin(_) => Some("crawlers"),
        ContestError::Engine(_)
        | ContestError::Store(_)
        | ContestError::Spec(_)
        | ContestError::Keep(_) => None,
    }
}

/// Says how the experiment differs from the one that the folder was last used with, and writes down
/// what it is now.
fn tell_changes(out: &Path, text: &str, folder: &RunFolder) -> anyhow::Result<()> {
    let path = out.join(LAST);
    if let Ok(before) = fs::read_to_string(&path) {
        let changed = changes(&before, text);
        if !changed.is_empty() {
            complain(&format!(
                "the experiment has changed since {} was last used: {}; of the {} runs that it holds those \
                 that are the same are taken over, the others stay for the day it is changed back",
                out.display(),
                changed.join(", "),
                folder.count()
            ));
        }
    }
    fs::write(&path, text).with_context(|| format!("{}", path.display()))
}

/// A bar for a person at a terminal; a log gets none.
pub(super) fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    let template = "{elapsed_precise} {bar:30} {pos} of {len} crawls, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

/// What was found before says nothing of how fast it goes.
pub(super) fn begin(bar: &ProgressBar, all: usize, found: usize) {
    bar.set_length(all as u64);
    bar.set_position(found as u64);
    bar.reset_eta();
    if found > 0 {
        complain(&format!("{found} of {all} crawls were made before"));
    }
}

/// Set when the person or the system says that it is enough. Whoever says it twice is not kept waiting
/// for the crawls that are under way.
pub(super) fn stop_when_told() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    tokio::spawn(async move {
        let mut terminate =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
        loop {
            match &mut terminate {
                Ok(terminate) => tokio::select! {
                    _ = tokio::signal::ctrl_c() => {}
                    _ = terminate.recv() => {}
                },
                Err(_) => drop(tokio::signal::ctrl_c().await),
            }
            if told.swap(true, Ordering::Relaxed) {
                #[allow(
                    clippy::exit,
                    reason = "crawls under way cannot be abandoned otherwise"
                )]
                std::process::exit(INTERRUPTED);
            }
            complain("stopping: the crawls under way are finished and kept; again to abandon them");
        }
    });
    stop
}
