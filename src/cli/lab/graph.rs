//! `apprentice lab graph`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use clap::Subcommand;

use super::publish::publish_graphs;
use super::worlds::{Worlds, worlds_of};
use crate::cli::exit::FAILED;
use crate::cli::output::{complain, say, say_json, table};
use crate::clock::SystemClock;
use crate::lab::RunFolder;
use crate::lab::experiment::{GraphFiles, usual_reference};
use crate::lab::graph::{
    GraphContest, GraphCrawler, GraphShown, GraphSummary, GraphWatch, arm_names, crawler_names,
    global_scores, notes, run_kept, write, write_precision,
};

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Command {
    /// Crawl graphs with several crawlers; prints each one's score by that of the oracle. Goes on where it was
    /// stopped
    Run(Box<RunArgs>),
    /// Ask each estimator at every step of the oracle's crawl how good it is. Bandits have no estimate of
    /// their own: ask for the estimators that they choose among (`fl_n`, `fl_e`, `fl_ne`, `lr_fl`)
    Precision(Box<PrecisionArgs>),
    /// List the crawlers
    Crawlers,
}

/// The graphs, and what all crawls have in common.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct WorldArgs {
    /// Table of nodes: node,beta (CSV or TSV, also gzip or zstd)
    #[arg(long, value_name = "FILE", requires = "edges")]
    nodes: Option<PathBuf>,

    /// Table of edges: source,target,alpha
    #[arg(long, value_name = "FILE", requires = "nodes")]
    edges: Option<PathBuf>,

    /// Articles as JSON lines (title, topics, links, text); a graph for each --keyword and --category
    #[arg(long, value_name = "FILE")]
    articles: Option<PathBuf>,

    /// WARC files; a graph for each --keyword
    #[arg(long, value_name = "FILE", num_args = 1..)]
    archive: Vec<PathBuf>,

    /// One word: beta and alpha are log(1 + how often it stands on a page, near a link)
    #[arg(long, value_name = "WORD", num_args = 1..)]
    keyword: Vec<String>,

    /// Articles in these categories have beta 1; alpha counts the last word of the category
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "articles")]
    category: Vec<String>,

    /// The pages of the archive are worth what this table says of the topic that the keyword names
    #[arg(long, value_name = "TABLE", requires = "archive")]
    labels: Option<PathBuf>,

    /// Generate graphs, one for each of these seeds
    #[arg(long, value_name = "SEED", num_args = 1..)]
    generate: Vec<u64>,

    /// Nodes of a generated graph
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100_000,
        requires = "generate"
    )]
    generate_nodes: u32,

    /// Edges of a generated node, on average
    #[arg(long, value_name = "X", default_value_t = 17.5, requires = "generate")]
    generate_degree: f64,

    /// Share of the generated communities that are about the topic
    #[arg(long, value_name = "X", default_value_t = 0.02, requires = "generate")]
    generate_topical: f64,

    /// Crawlers: names of `lab graph crawlers`, each with /b=32 (batch), /q=0.8/zeta=0.2 (altered greedy)
    /// [default: all]
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    crawlers: Vec<String>,

    /// Nodes fetched, a crawl; the seeds are known beforehand and do not count
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    budget: u64,

    /// Nodes with a score above 0 that are drawn to start from
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seeds: u32,

    /// Seed of all chance
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// What is compared.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct RunArgs {
    #[command(flatten)]
    world: WorldArgs,

    /// Sets of seeds, a graph
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seed_sets: u32,

    /// Crawls at once [default: as many as cores]; the results are the same
    #[arg(long, value_name = "N")]
    workers: Option<usize>,

    /// Folder for report.html, scores.csv, global.csv, paired.csv, summary.json and pictures; crawls that are
    /// kept in it are not made again
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// What estimators are asked.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct PrecisionArgs {
    #[command(flatten)]
    world: WorldArgs,

    /// Folder for gap.csv, precision.json and pictures
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn run(command: &Command, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    match command {
        Command::Run(args) => compare(args, stop),
        Command::Precision(args) => precise(&args.world, args.out.as_deref()),
        Command::Crawlers => {
            for name in crawler_names() {
                say(name)?;
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

impl WorldArgs {
    fn files(&self) -> GraphFiles {
        GraphFiles {
            nodes: self.nodes.clone(),
            edges: self.edges.clone(),
            articles: self.articles.clone(),
            archive: self.archive.clone(),
            keyword: self.keyword.clone(),
            category: self.category.clone(),
            labels: self.labels.clone(),
            generate: self.generate.clone(),
            generate_nodes: self.generate_nodes,
            generate_degree: self.generate_degree,
            generate_topical: self.generate_topical,
        }
    }
}

/// A contest on graphs that is to be held.
pub(super) struct ToHold<'a> {
    pub(super) worlds: &'a Worlds,
    pub(super) contest: &'a GraphContest,
    pub(super) against: &'a str,
    pub(super) out: &'a Path,
    pub(super) folder: &'a RunFolder,
    pub(super) stop: &'a AtomicBool,
    pub(super) title: &'a str,
    /// The specification; that of the contest if there is no file.
    pub(super) spec: Option<&'a str>,
}

impl ToHold<'_> {
    /// Makes the crawls that are not there yet and reports on all; the scores, and how many crawls are
    /// missing because it was stopped.
    pub(super) fn hold(&self) -> anyhow::Result<(Vec<GraphSummary>, usize)> {
        let bar = super::experiment::bar();
        let watch = GraphWatch {
            folder: Some(self.folder),
            stop: self.stop,
            begun: &|all, found| super::experiment::begin(&bar, all, found),
            done: &|_| bar.inc(1),
        };
        let graphs = &self.worlds.graphs;
        let run = run_kept(graphs, self.contest, &SystemClock::new(), &watch);
        bar.finish_and_clear();
        let (entries, missing) = run?;
        let shown = GraphShown {
            worlds: &self.worlds.told,
            contest: self.contest,
            entries: &entries,
            against: self.against,
            missing,
        };
        write(self.out, &shown).with_context(|| format!("--out {}", self.out.display()))?;
        publish_graphs(self.out, self.title, self.spec, &shown)?;
        for note in notes(&shown) {
            complain(&note);
        }
        Ok((global_scores(self.contest, &entries), missing))
    }
}

fn compare(args: &RunArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let mut contest = contest_of(&args.world)?;
    contest.seed_sets = args.seed_sets;
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    contest.workers = args.workers.unwrap_or_else(cores);
    let worlds = worlds_of(&args.world.files())?;
    let labels = contest.crawlers.iter().map(GraphCrawler::label);
    let names: Vec<String> = labels.map(str::to_owned).collect();
    let (summary, missing) = ToHold {
        worlds: &worlds,
        contest: &contest,
        against: &usual_reference(&names),
        out: &args.out,
        folder: &RunFolder::open(&args.out)?,
        stop,
        title: &title(&names, &worlds),
        spec: None,
    }
    .hold()?;
    if args.world.json {
        say_json(&summary)?;
    } else {
        say(&render(&summary, &contest.shown_points()))?;
    }
    let out = args.out.display();
    if missing == 0 {
        complain(&format!("the report is in {out}"));
        return Ok(ExitCode::SUCCESS);
    }
    complain(&format!(
        "{missing} crawls are missing: the report in {out} is partial; the same command goes on"
    ));
    Ok(ExitCode::from(FAILED))
}

/// What the report is called: the crawlers if they are few, and the graphs.
fn title(crawlers: &[String], worlds: &Worlds) -> String {
    let graphs: Vec<&str> = worlds.told.iter().map(|of| of.name.as_str()).collect();
    let short = |names: &[&str], what: &str| match names.len() {
        ..=6 => names.join(", "),
        many => format!("{many} {what}"),
    };
    let crawlers: Vec<&str> = crawlers.iter().map(String::as_str).collect();
    format!(
        "{} on {}",
        short(&crawlers, "crawlers"),
        short(&graphs, "graphs")
    )
}

fn precise(args: &WorldArgs, out: Option<&Path>) -> anyhow::Result<ExitCode> {
    let mut contest = contest_of(args)?;
    let bandit = contest.crawlers.iter().find(|crawler| crawler.is_bandit());
    if let Some(bandit) = bandit.filter(|_| !args.crawlers.is_empty()) {
        anyhow::bail!(
            "--crawlers: {} is a bandit and has no estimate of its own; ask for what it chooses among: {}",
            bandit.label(),
            arm_names().join(", ")
        );
    }
    contest.crawlers.retain(|crawler| !crawler.is_bandit());
    let graphs = worlds_of(&args.files())?.graphs;
    let mut rows = Vec::new();
    let mut all = Vec::new();
    for (name, graph) in &graphs {
        let found = contest.precision(name, graph)?;
        rows.extend(found.iter().map(|of| {
            vec![
                name.clone(),
                of.crawler.clone(),
                format!("{:.3}", of.gap_mean),
                format!("{:.3}", of.waiting.pearson_unsmoothed),
                format!("{:.3}", of.waiting.pearson),
                r2(of.waiting.r2),
                format!("{:.3}", of.fetched.pearson_unsmoothed),
                format!("{:.3}", of.fetched.pearson),
                r2(of.fetched.r2),
            ]
        }));
        all.push((name.clone(), found));
    }
    if let Some(out) = out {
        write_precision(out, &all).with_context(|| format!("--out {}", out.display()))?;
    }
    if args.json {
        let by_graph: BTreeMap<_, _> = all.into_iter().collect();
        say_json(&by_graph)?;
    } else {
        let head = [
            "GRAPH",
            "ESTIMATOR",
            "BELOW ORACLE",
            "WAITING: PEARSON",
            "OF LOG",
            "R2",
            "FETCHED: PEARSON",
            "OF LOG",
            "R2",
        ];
        say(&table(&head, rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Sums that are no predictions are far off the score.
fn r2(value: f64) -> String {
    if value < -1.0 {
        "-".to_owned()
    } else {
        format!("{value:.3}")
    }
}

fn contest_of(args: &WorldArgs) -> anyhow::Result<GraphContest> {
    let names: Vec<String> = if args.crawlers.is_empty() {
        crawler_names().map(str::to_owned).collect()
    } else {
        args.crawlers.clone()
    };
    let crawlers = names.iter().map(|name| {
        GraphCrawler::parse(name).map_err(|words| anyhow::anyhow!("--crawlers: {words}"))
    });
    Ok(GraphContest {
        crawlers: crawlers.collect::<anyhow::Result<_>>()?,
        budget: args.budget,
        points: Vec::new(),
        seed_sets: 1,
        seeds: args.seeds as usize,
        seed: args.seed,
        workers: 1,
    })
}

/// A row a crawler, a column a point.
pub(super) fn render(summary: &[GraphSummary], points: &[u64]) -> String {
    let mut head = vec!["CRAWLER".to_owned()];
    head.extend(points.iter().map(ToString::to_string));
    head.push("US A STEP".to_owned());
    let rows = summary.iter().map(|of| {
        let scores = of.global.iter().filter(|(n, _)| points.contains(n));
        let mut row = vec![of.crawler.clone()];
        row.extend(
            scores.map(|(_, score)| score.map_or("-".to_owned(), |score| format!("{score:.3}"))),
        );
        row.push(format!("{:.0}", of.step_us));
        row
    });
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    table(&head, rows)
}
