//! `apprentice crawl start`

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;

use super::judge::{JudgeArgs, absolute};
use super::scope::{LimitArgs, ScopeArgs};
use super::steer::read_url_file;
use crate::cli::apprentice_args::ApprenticeArgs;
use crate::cli::connect::DaemonArgs;
use crate::cli::output::{say, say_json};
use crate::proto::v1;

/// What a crawl is told: flags go before the spec file.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Name of the crawl: letters, digits, `-`, `_`, `.` [default: the last part of its first topic]
    name: Option<String>,

    /// Seed URLs
    seeds: Vec<String>,

    /// Read the spec from a TOML file; flags go before it
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,

    /// Topic of the focus, as the critic or the judge names it (again for more)
    #[arg(short, long, value_name = "TOPIC")]
    topic: Vec<String>,

    /// Topic under one of those that is taken out of the focus again (again for more)
    #[arg(long, value_name = "TOPIC")]
    without: Vec<String>,

    /// The critic's model file [default: the general critic that comes with the program;
    /// `apprentice critic info general` lists its topics]
    #[arg(short, long, value_name = "FILE", conflicts_with = "judge")]
    critic: Option<PathBuf>,

    /// File of seed URLs, one a line, `#` for comments
    #[arg(long, value_name = "FILE")]
    seeds_file: Option<PathBuf>,

    /// Take this many of the topics' example URLs (from the model) as seeds as well
    #[arg(long, value_name = "N")]
    example_seeds: Option<u32>,

    /// Fetches that count: pages and final failures (0: without end)
    #[arg(short, long, value_name = "N")]
    budget: Option<u64>,

    /// Who answers for the crawl: e-mail address or URL, sent in the User-Agent
    #[arg(long, env = "APPRENTICE_CONTACT", value_name = "CONTACT")]
    contact: Option<String>,

    /// Order of the frontier [default: auto], alone or with how it is steered: `ftrl+best-n-first:16`,
    /// `ftrl+altered-greedy:0.8:0.2`
    #[arg(
        long,
        value_name = "auto|ftrl|nb|baseline|baseline-first|breadth-first[+STEERING]"
    )]
    order: Option<String>,

    /// Fetch only what this other crawl of the daemon has fetched so far; takes its seeds unless some
    /// are given
    #[arg(long, value_name = "CRAWL")]
    within: Option<String>,

    #[command(flatten)]
    start: StartArgs,

    /// Seed URL (again for more); or a number: the seed of all chance in the crawl
    #[arg(long, value_name = "URL|N")]
    seed: Vec<String>,

    /// Keep the pages as WARC 1.1 (requests, answers, judgements) in the folder `warc` of the crawl
    #[arg(long)]
    warc: bool,

    /// Print the crawl as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    judge: JudgeArgs,

    #[command(flatten)]
    apprentice: ApprenticeArgs,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    limits: LimitArgs,
}

/// What the apprentice begins with.
#[derive(Debug, clap::Args)]
struct StartArgs {
    /// Begin with a saved apprentice (`crawl export-apprentice`) of the same focus, instead of nothing; looks at
    /// what that one looked at
    #[arg(
        long = "apprentice",
        value_name = "FILE",
        conflicts_with = "instances_of"
    )]
    file: Option<PathBuf>,

    /// Begin with what is learned from the pages of this other crawl of the daemon, of the same focus and
    /// critic
    #[arg(long, value_name = "CRAWL")]
    instances_of: Option<String>,

    /// topic-free: take only what belongs to no topic, from a crawl of whatever focus [default: all]
    #[arg(long, value_name = "all|topic-free")]
    carry: Option<String>,
}

impl StartArgs {
    fn put_over(self, start: &mut Option<v1::Start>) -> anyhow::Result<()> {
        if let Some(path) = self.file {
            let start = start.get_or_insert_default();
            start.apprentice = absolute(&path)?;
            start.instances_of.clear();
        }
        if let Some(name) = self.instances_of {
            let start = start.get_or_insert_default();
            start.instances_of = name;
            start.apprentice.clear();
        }
        if let Some(carry) = self.carry {
            start.get_or_insert_default().carry = carry;
        }
        Ok(())
    }
}

pub(super) async fn run(daemon: &DaemonArgs, args: Args) -> anyhow::Result<ExitCode> {
    let json = args.json;
    let spec = spec_of(args)?;
    let mut client = daemon.connect().await?;
    let request = v1::CreateCrawlRequest { spec: Some(spec) };
    let crawl = client.create_crawl(request).await?.into_inner();
    if json {
        say_json(&crawl)?;
    } else {
        say(&format!(
            "crawl {} runs; look in with `apprentice crawl watch {}`",
            crawl.name, crawl.name
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn spec_of(args: Args) -> anyhow::Result<v1::CrawlSpec> {
    let mut spec = match &args.spec {
        Some(path) => read_spec(path)?,
        None => v1::CrawlSpec::default(),
    };
    let mut seeds = args.seeds;
    let name = match args.name {
        // A URL cannot be a name: it is the first seed of a crawl without one.
        Some(url) if url.contains("://") => {
            seeds.insert(0, url);
            None
        }
        name => name,
    };
    for seed in args.seed {
        match seed.parse() {
            Ok(number) => spec.seed = number,
            Err(_) => seeds.push(seed),
        }
    }
    if !args.topic.is_empty() {
        spec.topics = args.topic;
    }
    if !args.without.is_empty() {
        spec.without = args.without;
    }
    if let Some(path) = args.critic {
        spec.critic = absolute(&path)?;
        spec.judge = None;
    }
    if args.judge.names_one() {
        spec.critic.clear();
    }
    if args.judge.is_given() {
        args.judge.put_over(spec.judge.get_or_insert_default())?;
    }
    spec.name = name.unwrap_or_else(|| name_of(&spec.topics));
    args.apprentice.put_over(&mut spec.apprentice);
    spec.seeds.extend(seeds);
    if let Some(path) = &args.seeds_file {
        spec.seeds.extend(read_url_file(path)?);
    }
    spec.example_seeds = args.example_seeds.unwrap_or(spec.example_seeds);
    spec.budget = args.budget.unwrap_or(spec.budget);
    spec.contact = args.contact.unwrap_or(spec.contact);
    spec.order = args.order.unwrap_or(spec.order);
    args.start.put_over(&mut spec.start)?;
    spec.within = args.within.unwrap_or(spec.within);
    spec.warc |= args.warc;
    args.scope.put_over(spec.scope.get_or_insert_default());
    args.limits.put_over(spec.limits.get_or_insert_default());
    Ok(spec)
}

/// A name for a crawl on `topics`: the last part of the first one, of what a name may hold.
fn name_of(topics: &[String]) -> String {
    let topic = topics.first().map_or("", |topic| topic.trim_matches('/'));
    let last = topic.rsplit('/').next().unwrap_or_default();
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let name: String = last
        .chars()
        .map(|letter| if fits(letter) { letter } else { '-' })
        .take(60)
        .collect();
    name.to_lowercase()
}

/// A spec file: the fields of `apprentice.v1.CrawlSpec` in TOML. Paths in it are relative to it.
fn read_spec(path: &Path) -> anyhow::Result<v1::CrawlSpec> {
    let text = fs::read_to_string(path).with_context(|| format!("spec {}", path.display()))?;
    let mut spec: v1::CrawlSpec = toml::from_str(&text).map_err(|error| {
        let line = error
            .span()
            .map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        anyhow::anyhow!("spec {}, line {line}: {}", path.display(), error.message())
    })?;
    let mut files = vec![&mut spec.critic];
    files.extend(spec.start.as_mut().map(|start| &mut start.apprentice));
    if let Some(judge) = &mut spec.judge {
        files.extend([&mut judge.ca_file, &mut judge.token_file]);
    }
    for file in files.into_iter().filter(|file| !file.is_empty()) {
        let beside = path.parent().unwrap_or(Path::new("")).join(&file);
        *file = absolute(&beside)?;
    }
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> anyhow::Result<v1::CrawlSpec> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("spec.toml");
        fs::write(&path, text)?;
        read_spec(&path)
    }

    #[test]
    fn a_spec_file_has_the_fields_of_the_api() {
        let spec = spec(
            "topics = ['databases']\ncritic = 'c.model'\nbudget = 50\n[scope]\ndeny = ['x']\n[limits]\ndelay_ms_min = 0\n",
        )
        .unwrap();
        assert_eq!(spec.topics, ["databases"]);
        assert!(Path::new(&spec.critic).is_absolute());
        assert_eq!(spec.scope.unwrap().deny, ["x"]);
        assert_eq!(spec.limits.unwrap().delay_ms_min, Some(0));
    }

    #[test]
    fn an_unknown_field_is_named_with_its_line() {
        let error = spec("budget = 1\n[scope]\nalow = ['x']\n")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("line 3") && error.contains("alow"),
            "{error}"
        );
    }
}
