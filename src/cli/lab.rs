//! `apprentice lab`

mod bench;
mod experiment;
mod graph;
mod publish;
mod study;
mod worlds;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::{Subcommand, ValueEnum};

use self::bench::{bench_of, sources_of};
use self::publish::{Told, publish};
use super::output::{complain, say, say_json, table};
use crate::apprentice::Carry;
use crate::cli::apprentice_args::ApprenticeArgs;
use crate::clock::{Clock, SystemClock};
use crate::lab::experiment::{BenchFiles, usual_checkpoints, usual_reference};
use crate::lab::report::{self, Summary};
use crate::lab::{
    Begin, ContestSpec, Crawler, Held, Keywords, SEEDS_A_SET, Setting, Start, run as run_contest,
};
use crate::text::unknown_name;
use crate::url::CanonicalUrl;

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Replay an archived web with several crawlers side by side
    Run(Box<Args>),
    /// Make all runs that a file describes, several at once; goes on where it was stopped
    Experiment(experiment::Args),
    /// Make the studies of the paper on an archived web: tables, CSV and pictures
    Study(Box<study::StudyArgs>),
    /// Crawl graphs: the crawlers and measures of HT 2014
    #[command(subcommand)]
    Graph(graph::Command),
}

/// What is compared, on what.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// WARC files: the archived web
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    archive: Vec<PathBuf>,

    /// Train the critic on this table of examples (CSV: topic,url); their pages are in the archive
    #[arg(long, value_name = "TABLE", required_unless_present = "critic")]
    examples: Option<PathBuf>,

    /// A trained critic; `general` is the one that comes with the program
    #[arg(long, value_name = "MODEL", conflicts_with = "examples")]
    critic: Option<PathBuf>,

    /// Judge independently by this table (CSV: url,topic and, if there is one, column `p_TOPIC`)
    #[arg(long, value_name = "TABLE")]
    labels: Option<PathBuf>,

    /// Topics, each a focus of its own
    #[arg(long, value_name = "TOPIC", num_args = 1.., required = true)]
    topic: Vec<String>,

    /// Topics under those that are taken out of the focus again; labels still judge the whole topic
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    without: Vec<String>,

    /// Crawlers: baseline, baseline-first, breadth-first, random, nb, ftrl, auto, cosine (of keywords and page), shark or
    /// shark:DELTA:BETA:GAMMA, and oracle (greedy by the labels); most also steered and bounded, as in `best-n-first:16`,
    /// `nb+altered-greedy:0.8:0.2` or `cosine+best-n-first:64+buffer:256`
    /// [default: breadth-first,baseline; of a study: baseline,ftrl]
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    crawlers: Vec<String>,

    /// What `cosine` and `shark` go by: critic (the words by which it tells the topic best) or name (the words
    /// of the topic's name)
    #[arg(long, value_name = "critic|name", default_value = "critic", value_parser = Keywords::from_name)]
    keywords: Keywords,

    /// The other crawlers may fetch only what this one fetched from the same seeds (recall study)
    #[arg(long, value_name = "CRAWLER")]
    within: Option<String>,

    /// Beside the critic's own examples, leave these pages (CSV: topic,url) out of `loss_unseen`
    #[arg(long, value_name = "TABLE")]
    exclude: Option<PathBuf>,

    /// Fetches, a crawl
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    budget: u64,

    /// Sets of seeds, a topic
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seed_sets: u32,

    /// examples (of the topic), labelled (pages that the labels find relevant, no examples), far (pages two
    /// links or more before any relevant one), neighbours (pages two links before examples, which are the targets
    /// then), or URLs
    #[arg(long, value_name = "examples|labelled|far|neighbours|URL", num_args = 1.., default_values = ["examples"])]
    start: Vec<String>,

    /// Seeds drawn for each set
    #[arg(long, value_name = "N", default_value_t = SEEDS_A_SET, value_parser = start_pages)]
    start_pages: usize,

    /// closed: links that leave the archive are dropped; open: they count as fetched and lost
    #[arg(long, value_enum, default_value_t = WorldArg::Closed)]
    world: WorldArg,

    /// Fetches of one host at most
    #[arg(long, value_name = "N")]
    host_cap: Option<u64>,

    /// Fetches at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    in_flight: u32,

    /// Simulated delay between two requests to a host
    #[arg(long, value_name = "MS", default_value_t = 0)]
    delay_ms: u64,

    /// Seed of all chance
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// Crawls replayed at once [default: as many as cores]; the results are the same
    #[arg(long, value_name = "N")]
    workers: Option<usize>,

    /// Folder for curves.csv, summary.json, measures.csv, paired.csv, a picture for each topic and report.html
    #[arg(long, value_name = "DIR", required = true)]
    out: Option<PathBuf>,

    /// Print the summary as JSON
    #[arg(long)]
    json: bool,

    /// Let the apprentices begin with a saved one (`crawl export-apprentice`) instead of nothing
    #[arg(long = "apprentice", value_name = "FILE")]
    begin: Option<PathBuf>,

    /// topic-free: take only what belongs to no topic of the saved one [default: all]
    #[arg(long, value_name = "all|topic-free", requires = "begin")]
    carry: Option<String>,

    #[command(flatten)]
    apprentice: ApprenticeArgs,
}

impl Args {
    /// The files that were named.
    fn files(&self) -> BenchFiles {
        BenchFiles {
            archive: self.archive.clone(),
            examples: self.examples.clone(),
            critic: self.critic.clone(),
            labels: self.labels.clone(),
            exclude: self.exclude.clone(),
        }
    }

    /// Where to; `study --list` alone goes without.
    fn out(&self) -> anyhow::Result<&Path> {
        self.out.as_deref().context("give a folder with --out DIR")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WorldArg {
    Closed,
    Open,
}

pub(super) async fn run(command: Command) -> anyhow::Result<ExitCode> {
    let stop = match &command {
        Command::Experiment(_) | Command::Graph(graph::Command::Run(_)) => {
            experiment::stop_when_told()
        }
        _ => Arc::default(),
    };
    tokio::task::spawn_blocking(move || match command {
        Command::Run(args) => compare(&args),
        Command::Experiment(args) => experiment::run(&args, &stop),
        Command::Study(args) => study::run(&args),
        Command::Graph(command) => graph::run(&command, &stop),
    })
    .await?
}

fn compare(args: &Args) -> anyhow::Result<ExitCode> {
    let clock = SystemClock::new();
    let spec = spec_of(args, "breadth-first,baseline")?;
    let bench = bench_of(&args.files(), &clock)?;
    let started = clock.now();
    let entries = run_contest(&bench, &spec, &|entry| {
        tracing::info!(
            crawler = &*entry.crawler.name(),
            topic = entry.topic,
            seed_set = entry.seed_set,
            loss = entry.by_critic.loss(),
            "replayed"
        );
    })?;
    let seconds = clock.now().since(started).as_secs_f64();
    let sources = sources_of(&args.files(), bench.model.version());
    let names: Vec<String> = spec
        .crawlers
        .iter()
        .map(|one| one.name().into_owned())
        .collect();
    let told = Told {
        title: &format!("{} on {}", names.join(", "), sources.archive.join(", ")),
        spec: None,
        sources: &sources,
        digests: &bench.digests,
        checkpoints: &usual_checkpoints(spec.budget),
        against: &usual_reference(&names),
        ranks: &[],
    };
    let held = Held {
        entries,
        missing: 0,
    };
    let setting = Setting {
        name: "run".to_owned(),
        spec,
    };
    let mut summaries = publish(args.out()?, &told, &[setting], &[held])?;
    let summary = summaries.pop().context("a contest has a summary")?;
    let fetched: u64 = summary.entries.iter().map(|entry| entry.n).sum();
    complain(&format!(
        "{fetched} fetches in {seconds:.1} s, {:.0} a second; curves and pictures are in {}",
        fetched as f64 / seconds.max(0.001),
        args.out()?.display()
    ));
    if args.json {
        say_json(&summary)?;
    } else {
        say(&render(&summary))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn spec_of(args: &Args, usual: &str) -> anyhow::Result<ContestSpec> {
    let usual = usual.split(',').map(str::to_owned).collect();
    let names = if args.crawlers.is_empty() {
        usual
    } else {
        args.crawlers.clone()
    };
    let crawlers = names.iter().map(|name| crawler(name, "--crawlers"));
    let within = args.within.as_deref();
    let mut apprentice = None;
    args.apprentice.clone().put_over(&mut apprentice);
    Ok(ContestSpec {
        apprentice,
        begin: begin_of(args)?,
        crawlers: crawlers.collect::<anyhow::Result<_>>()?,
        topics: args.topic.clone(),
        without: args.without.clone(),
        budget: args.budget,
        seed_sets: args.seed_sets,
        keywords: args.keywords,
        start: start_of(&args.start)?,
        start_pages: args.start_pages,
        within: within.map(|name| crawler(name, "--within")).transpose()?,
        closed_world: args.world == WorldArg::Closed,
        host_cap: args.host_cap,
        in_flight: args.in_flight,
        delay: Duration::from_millis(args.delay_ms),
        seed: args.seed,
        workers: args
            .workers
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
    })
}

/// What the apprentices begin with.
fn begin_of(args: &Args) -> anyhow::Result<Option<Arc<Begin>>> {
    let Some(path) = &args.begin else {
        return Ok(None);
    };
    let carry = args.carry.as_deref().unwrap_or_default();
    let names = Carry::ALL.map(Carry::name);
    let carry = Carry::from_name(carry)
        .with_context(|| format!("--carry: no way to carry {}", unknown_name(carry, &names)))?;
    Ok(Some(Arc::new(Begin::open(path, carry)?)))
}

/// At least one page, and not so many that a set of seeds is no set.
fn start_pages(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(pages @ 1..=100_000) => Ok(pages),
        _ => Err("give a number from 1 to 100000".to_owned()),
    }
}

fn crawler(name: &str, flag: &str) -> anyhow::Result<Crawler> {
    Crawler::from_name(name.trim()).map_err(|words| anyhow::anyhow!("{flag}: {words}"))
}

fn start_of(words: &[String]) -> anyhow::Result<Start> {
    if let [word] = words
        && let Ok(start) = Start::from_name(word)
    {
        return Ok(start);
    }
    let urls = words.iter().map(|url| {
        CanonicalUrl::parse(url).with_context(|| {
            format!("--start {url:?}: use examples, labelled, far, neighbours, or URLs")
        })
    });
    Ok(Start::Urls(urls.collect::<anyhow::Result<_>>()?))
}

fn render(summary: &Summary) -> String {
    let head = [
        "TOPIC",
        "CRAWLER",
        "N",
        "SETS",
        "LOSS BY CRITIC",
        "(MIN - MAX)",
        "LOSS BY LABELS",
        "(MIN - MAX)",
    ];
    let rows = summary.means.iter().map(|row| {
        let range = |of: &report::MeanOf| format!("{:.1} - {:.1}", of.min, of.max);
        vec![
            row.topic.clone(),
            row.crawler.clone().into_owned(),
            row.n.to_string(),
            row.seed_sets.to_string(),
            format!("{:.1}", row.loss_critic.mean),
            range(&row.loss_critic),
            row.loss_judge
                .map_or("-".to_owned(), |of| format!("{:.1}", of.mean)),
            row.loss_judge.as_ref().map_or(String::new(), range),
        ]
    });
    table(&head, rows)
}
