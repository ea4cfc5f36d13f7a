//! `apprentice lab graph`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;

use crate::cli::output::{complain, say, say_json, table};
use crate::clock::SystemClock;
use crate::lab::Labels;
use crate::lab::experiment::GraphFiles;
use crate::lab::graph::{
    Dropped, Graph, GraphContest, GraphCrawler, GraphParams, GraphSummary, Worth, crawler_names,
    generate, global_scores, read_archive, read_tables, read_wikispeedia, run as run_contest,
    write, write_precision,
};

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Command {
    /// Crawl graphs with several crawlers; prints each one's score by that of the oracle
    Run(Box<RunArgs>),
    /// Ask each estimator at every step of the oracle's crawl how good it is
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

    /// Folder for scores.csv, summary.json and pictures
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

pub(super) fn run(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Run(args) => compare(args),
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

fn compare(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let mut contest = contest_of(&args.world)?;
    contest.seed_sets = args.seed_sets;
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    contest.workers = args.workers.unwrap_or_else(cores);
    let graphs = graphs_of(&args.world.files())?;
    let crawls = graphs.len() as u64 * u64::from(args.seed_sets) * contest.crawlers.len() as u64;
    let bar = super::experiment::bar();
    bar.set_length(crawls);
    let entries = run_contest(&graphs, &contest, &SystemClock::new(), &|_| bar.inc(1));
    bar.finish_and_clear();
    let entries = entries?;
    let summary = global_scores(&contest, &entries);
    write(&args.out, &contest, &summary, &entries)
        .with_context(|| format!("--out {}", args.out.display()))?;
    let short = entries.iter().filter(|e| e.fetched < contest.budget);
    let short = short.count();
    if short > 0 {
        complain(&format!(
            "{short} of {} crawls ended before the budget: nothing more could be reached",
            entries.len()
        ));
    }
    if args.world.json {
        say_json(&summary)?;
    } else {
        say(&render(&summary))?;
    }
    complain(&format!("data and pictures are in {}", args.out.display()));
    Ok(ExitCode::SUCCESS)
}

fn precise(args: &WorldArgs, out: Option<&Path>) -> anyhow::Result<ExitCode> {
    let contest = contest_of(args)?;
    let graphs = graphs_of(&args.files())?;
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
        seed_sets: 1,
        seeds: args.seeds as usize,
        seed: args.seed,
        workers: 1,
    })
}

pub(super) fn graphs_of(args: &GraphFiles) -> anyhow::Result<Vec<(String, Graph)>> {
    let mut graphs = Vec::new();
    if let (Some(nodes), Some(edges)) = (&args.nodes, &args.edges) {
        graphs.push(told(file_name(edges), read_tables(nodes, edges)?));
    }
    if let Some(path) = &args.articles {
        for word in &args.keyword {
            graphs.push(told(word.clone(), read_wikispeedia(path, word, None)?));
        }
        for category in &args.category {
            let word = category.rsplit(['/', '_']).next().unwrap_or_default();
            let made = read_wikispeedia(path, word, Some(category))?;
            graphs.push(told(category.clone(), made));
        }
    }
    if !args.archive.is_empty() {
        let archive = crate::cli::archive::open(&args.archive)?;
        let labels = args.labels.as_deref().map(Labels::open).transpose()?;
        for word in &args.keyword {
            let worth = match &labels {
                Some(labels) => Worth::Labels {
                    labels,
                    topic: word,
                },
                None => Worth::Keyword,
            };
            graphs.push(told(word.clone(), read_archive(&archive, word, worth)?));
        }
    }
    for seed in &args.generate {
        let params = GraphParams {
            nodes: args.generate_nodes,
            degree: args.generate_degree,
            topical: args.generate_topical,
            seed: *seed,
            ..GraphParams::default()
        };
        graphs.push(told(format!("generated-{seed}"), generate(&params)?));
    }
    anyhow::ensure!(
        !graphs.is_empty(),
        "no graph; give --nodes FILE --edges FILE, --articles FILE --keyword WORD, --archive FILE --keyword WORD, or --generate SEED \
         (in a file: nodes and edges, articles and keyword, archive and keyword, or generate)"
    );
    Ok(graphs)
}

/// Says what the graph is.
fn told(name: String, (graph, dropped): (Graph, Dropped)) -> (String, Graph) {
    let scored = graph.scored().len();
    complain(&format!(
        "{name}: {} nodes ({scored} with a score), {} edges; left out {} self loops, {} double edges",
        graph.nodes(),
        graph.edges(),
        dropped.self_loops,
        dropped.doubles
    ));
    (name, graph)
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// A row a crawler; of the checkpoints, the powers of ten and the last.
pub(super) fn render(summary: &[GraphSummary]) -> String {
    let points: Vec<u64> = summary
        .first()
        .map(|of| of.global.iter().map(|(n, _)| *n).collect())
        .unwrap_or_default();
    let last = points.last().copied();
    let kept = |n: u64| (n >= 100 && n.to_string().trim_end_matches('0') == "1") || Some(n) == last;
    let mut head = vec!["CRAWLER".to_owned()];
    let shown = points.iter().filter(|n| kept(**n));
    head.extend(shown.map(ToString::to_string));
    head.push("US A STEP".to_owned());
    let rows = summary.iter().map(|of| {
        let scores = of.global.iter().filter(|(n, _)| kept(*n));
        let mut row = vec![of.crawler.clone()];
        row.extend(scores.map(|(_, score)| format!("{score:.3}")));
        row.push(format!("{:.0}", of.step_us));
        row
    });
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    table(&head, rows)
}
