//! The file of an experiment, field by field.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;

use super::wrong::Wrong;
use super::{BenchFiles, Experiment, GraphFiles, Subject, settings, usual_reference};
use crate::apprentice::Carry;
use crate::lab::begin::{Begin, Begun, NAME_MOST};
use crate::lab::contest::{ContestSpec, Keywords, SEEDS_A_SET};
use crate::lab::crawler::Crawler;
use crate::lab::graph::{GraphContest, GraphCrawler};
use crate::proto::v1;

/// Fetches at most, a crawl.
const BUDGET_MOST: u64 = 100_000_000;
/// Compared after so many fetches, where the budget reaches that far and the file says nothing.
const CHECKPOINTS: [u64; 9] = [50, 100, 250, 500, 1_000, 2_000, 5_000, 10_000, 100_000];
/// The measure that reads all fetched pages again, and so is made where it is asked for.
const RANKS: &str = "ranks";
/// Seeds of a crawl of a graph, as in HT 2014.
const GRAPH_SEEDS: u64 = 50;

/// Fetches after which crawls of `budget` are compared where nobody says: the budget is the last.
pub fn usual_checkpoints(budget: u64) -> Vec<u64> {
    let mut usual: Vec<u64> = CHECKPOINTS.into_iter().filter(|n| *n < budget).collect();
    usual.push(budget);
    usual
}

/// The fields that there are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    title: Option<String>,
    world: Option<Spanned<BenchFiles>>,
    graph: Option<Spanned<GraphFiles>>,
    pub(super) topics: Option<Vec<String>>,
    pub(super) without: Option<Vec<String>>,
    crawlers: Option<Vec<Spanned<CrawlerName>>>,
    keywords: Option<Spanned<String>>,
    pub(super) starts: Option<Vec<Spanned<StartName>>>,
    start_pages: Option<Spanned<u64>>,
    seed_sets: Option<Spanned<u64>>,
    budget: Option<Spanned<u64>>,
    checkpoints: Option<Vec<Spanned<u64>>>,
    against: Option<Spanned<String>>,
    measures: Option<Vec<Spanned<String>>>,
    within: Option<Spanned<String>>,
    pub(super) worlds: Option<Vec<Spanned<String>>>,
    pub(super) host_caps: Option<Vec<u64>>,
    in_flight: Option<Spanned<u64>>,
    pub(super) delay_ms: Option<u64>,
    pub(super) seed: Option<u64>,
    workers: Option<Spanned<u64>>,
    pub(super) apprentice: Option<v1::Apprentice>,
}

/// A kind of start, or URLs.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected the name of a start, or a list of URLs"
)]
pub(super) enum StartName {
    Kind(String),
    Urls(Vec<String>),
}

/// The name of a crawler, or one that begins with a saved apprentice.
#[derive(Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "expected the name of a crawler, or { crawler = NAME, apprentice = FILE } with `carry` and `name` if need be"
)]
pub(super) enum CrawlerName {
    Plain(String),
    Begun(BegunName),
}

/// A crawler with a saved apprentice.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BegunName {
    crawler: String,
    apprentice: PathBuf,
    #[serde(default)]
    carry: String,
    name: Option<String>,
}

/// A file with its text, so that a line can be named.
pub(super) struct Given<'a> {
    text: &'a str,
    /// Paths in it are relative to this.
    folder: &'a Path,
    pub(super) file: File,
}

/// Reads `text`; paths are relative to `folder`.
pub(super) fn read(text: &str, folder: &Path, stem: &str) -> Result<Experiment, Wrong> {
    let file = toml::from_str(text).map_err(|error| Wrong::of_toml(text, &error))?;
    let given = Given { text, folder, file };
    let on = match (&given.file.world, &given.file.graph) {
        (Some(world), None) => archive(&given, world)?,
        (None, Some(graph)) => graphs(&given, graph)?,
        (Some(_), Some(graph)) => {
            let problem = "an experiment is made on a [world] or on a [graph], not on both";
            return Err(given.wrong(&graph.span(), "graph", problem.to_owned()));
        }
        (None, None) => {
            let problem = "on what? give a [world] with its archive, or a [graph]";
            return Err(given.wrong(&(0..0), "world", problem.to_owned()));
        }
    };
    Ok(Experiment {
        title: given.file.title.clone().unwrap_or_else(|| stem.to_owned()),
        text: text.to_owned(),
        on,
        checkpoints: given.checkpoints()?,
        has_ranks: given.has_ranks()?,
        workers: given.number(given.file.workers.as_ref(), "workers", 1, 1024)?,
    })
}

fn archive(given: &Given<'_>, world: &Spanned<BenchFiles>) -> Result<Subject, Wrong> {
    let folder = given.folder;
    let wrong = |problem: &str| Err(given.wrong(&world.span(), "world", problem.to_owned()));
    let mut files = world.get_ref().clone();
    if files.archive.is_empty() {
        return wrong("archive: name at least one WARC file");
    }
    match (&files.examples, &files.critic) {
        (None, None) => return wrong("no critic; give examples (a table) or critic (a model)"),
        (Some(_), Some(_)) => return wrong("examples and critic: give one of the two"),
        _ => {}
    }
    let tables = [&mut files.examples, &mut files.labels, &mut files.exclude];
    let tables = tables.into_iter().flatten();
    for path in files.archive.iter_mut().chain(tables) {
        *path = folder.join(&path);
    }
    // `general` is a critic's name, unless there is such a file.
    files.critic = files.critic.map(|path| {
        let beside = folder.join(&path);
        if beside.exists() { beside } else { path }
    });
    let spec = settings::common(given)?;
    given.check_begins(&spec)?;
    let names: Vec<String> = spec
        .crawlers
        .iter()
        .map(|one| one.name().into_owned())
        .collect();
    Ok(Subject::Archive {
        files,
        settings: settings::settings(given, &spec)?,
        against: given.against(&names)?,
    })
}

fn graphs(given: &Given<'_>, graph: &Spanned<GraphFiles>) -> Result<Subject, Wrong> {
    let (file, folder) = (&given.file, given.folder);
    let idle = [
        ("topics", file.topics.is_some()),
        ("without", file.without.is_some()),
        ("keywords", file.keywords.is_some()),
        ("measures", file.measures.is_some()),
        ("starts", file.starts.is_some()),
        ("within", file.within.is_some()),
        ("worlds", file.worlds.is_some()),
        ("host_caps", file.host_caps.is_some()),
        ("in_flight", file.in_flight.is_some()),
        ("delay_ms", file.delay_ms.is_some()),
        ("apprentice", file.apprentice.is_some()),
    ];
    if let Some((field, _)) = idle.iter().find(|(_, is_there)| *is_there) {
        let problem = "means nothing on a graph; take it out".to_owned();
        return Err(given.wrong_field(field, problem));
    }
    let mut files = graph.get_ref().clone();
    let tables = [
        &mut files.nodes,
        &mut files.edges,
        &mut files.articles,
        &mut files.labels,
    ];
    for path in files.archive.iter_mut().chain(tables.into_iter().flatten()) {
        *path = folder.join(&path);
    }
    let mut crawlers: Vec<GraphCrawler> = Vec::new();
    for told in given.crawler_names()? {
        let crawler = match told.get_ref() {
            CrawlerName::Plain(name) => GraphCrawler::parse(name),
            CrawlerName::Begun(_) => Err("no crawler of a graph has an apprentice".to_owned()),
        };
        let crawler =
            crawler.and_then(|crawler| new_among(crawler, &crawlers, |one| one.label().to_owned()));
        crawlers.push(crawler.map_err(|words| given.wrong(&told.span(), "crawlers", words))?);
    }
    let names: Vec<String> = crawlers.iter().map(|one| one.label().to_owned()).collect();
    let seeds = given.number(file.start_pages.as_ref(), "start_pages", 1, 100_000)?;
    Ok(Subject::Graphs {
        files,
        against: given.against(&names)?,
        contest: GraphContest {
            crawlers,
            budget: given.budget()?,
            points: match &file.checkpoints {
                Some(_) => given.checkpoints()?,
                None => Vec::new(),
            },
            seed_sets: given.seed_sets()?,
            seeds: seeds.unwrap_or(usize::try_from(GRAPH_SEEDS).unwrap_or(1)),
            seed: file.seed.unwrap_or(0),
            workers: 1,
        },
    })
}

/// `one`, if none of `others` has its name.
fn new_among<T>(one: T, others: &[T], name: impl Fn(&T) -> String) -> Result<T, String> {
    let own = name(&one);
    if others.iter().any(|other| name(other) == own) {
        return Err(format!("`{own}` stands there twice"));
    }
    Ok(one)
}

impl Given<'_> {
    /// Something wrong with a field as a whole: at its line, or at the first if it is not there.
    pub(super) fn wrong_field(&self, field: &str, problem: String) -> Wrong {
        let key = |line: &str| line.split('=').next().unwrap_or_default().trim() == field;
        let mut lines = self.text.split_inclusive('\n');
        let mut start = 0;
        let place = lines.find_map(|line| {
            let place = key(line).then_some(start);
            start += line.len();
            place
        });
        let place = place.unwrap_or(0);
        self.wrong(&(place..place), field, problem)
    }

    pub(super) fn wrong(&self, span: &Range<usize>, field: &str, problem: String) -> Wrong {
        Wrong::at(self.text, span, field, problem)
    }

    /// A list that has to be there and to hold something.
    pub(super) fn needed<T>(
        &self,
        list: Option<Vec<T>>,
        field: &str,
        problem: &str,
    ) -> Result<Vec<T>, Wrong> {
        let list = list.filter(|list| !list.is_empty());
        list.ok_or_else(|| self.wrong_field(field, problem.to_owned()))
    }

    /// A number within bounds.
    fn number<T: TryFrom<u64>>(
        &self,
        told: Option<&Spanned<u64>>,
        field: &str,
        least: u64,
        most: u64,
    ) -> Result<Option<T>, Wrong> {
        let Some(told) = told else { return Ok(None) };
        let value = Some(*told.get_ref()).filter(|value| (least..=most).contains(value));
        let value = value.and_then(|value| T::try_from(value).ok());
        value.map(Some).ok_or_else(|| {
            let problem = format!("{} is not {least} to {most}", told.get_ref());
            self.wrong(&told.span(), field, problem)
        })
    }

    pub(super) fn budget(&self) -> Result<u64, Wrong> {
        let told = self.number(self.file.budget.as_ref(), "budget", 1, BUDGET_MOST)?;
        Ok(told.unwrap_or(1_000))
    }

    pub(super) fn seed_sets(&self) -> Result<u32, Wrong> {
        let told = self.number(self.file.seed_sets.as_ref(), "seed_sets", 1, 1_000)?;
        Ok(told.unwrap_or(1))
    }

    pub(super) fn start_pages(&self) -> Result<usize, Wrong> {
        let told = self.number(self.file.start_pages.as_ref(), "start_pages", 1, 100_000)?;
        Ok(told.unwrap_or(SEEDS_A_SET))
    }

    pub(super) fn in_flight(&self) -> Result<u32, Wrong> {
        let told = self.number(self.file.in_flight.as_ref(), "in_flight", 1, 1_024)?;
        Ok(told.unwrap_or(1))
    }

    fn crawler_names(&self) -> Result<Vec<&Spanned<CrawlerName>>, Wrong> {
        let names = self.file.crawlers.iter().flatten();
        self.needed(
            Some(names.collect()),
            "crawlers",
            "name at least one crawler",
        )
    }

    pub(super) fn crawlers(&self) -> Result<Vec<Crawler>, Wrong> {
        let mut crawlers: Vec<Crawler> = Vec::new();
        for told in self.crawler_names()? {
            let crawler = match told.get_ref() {
                CrawlerName::Plain(name) => Crawler::from_name(name),
                CrawlerName::Begun(begun) => self.begun(begun),
            };
            let crawler = crawler
                .and_then(|crawler| new_among(crawler, &crawlers, |one| one.name().into_owned()));
            crawlers.push(crawler.map_err(|words| self.wrong(&told.span(), "crawlers", words))?);
        }
        Ok(crawlers)
    }

    /// A crawler that begins with a saved apprentice, as it is written.
    fn begun(&self, told: &BegunName) -> Result<Crawler, String> {
        let crawler = Crawler::from_name(&told.crawler)?;
        let names = Carry::ALL.map(Carry::name);
        let carry = Carry::from_name(&told.carry).ok_or_else(|| {
            let unknown = crate::text::unknown_name(&told.carry, &names);
            format!("carry: no way to carry {unknown}")
        })?;
        let begin = Begin::open(&self.folder.join(&told.apprentice), carry);
        let begin = begin.map_err(|error| format!("apprentice: {error}"))?;
        let stem = told.apprentice.file_stem().unwrap_or_default();
        let usual = || format!("{} from {}", crawler.name(), stem.to_string_lossy());
        let name = told.name.clone().unwrap_or_else(usual);
        let letters = name.chars().count();
        if name.trim().is_empty() || letters > NAME_MOST || name.chars().any(char::is_control) {
            return Err(format!(
                "name: {name:?} is no name; give a word or a few, {NAME_MOST} letters at most"
            ));
        }
        Ok(Crawler::Begun(Arc::new(Begun {
            name,
            crawler,
            begin: Arc::new(begin),
        })))
    }

    /// Whether each crawler can begin with what it is to begin with.
    fn check_begins(&self, spec: &ContestSpec) -> Result<(), Wrong> {
        for (told, crawler) in self.crawler_names()?.into_iter().zip(&spec.crawlers) {
            spec.check_begin(crawler).map_err(|error| {
                // The words of `crawl start` in those of a file.
                let words = error.to_string();
                let words = words.replace("--carry topic-free", "carry = \"topic-free\"");
                let flags = "--d-max, --features and --without-features";
                let words = words.replace(flags, "what [apprentice] says of features");
                self.wrong(&told.span(), "crawlers", format!("apprentice: {words}"))
            })?;
        }
        Ok(())
    }

    pub(super) fn within(&self) -> Result<Option<Crawler>, Wrong> {
        let name = self.file.within.as_ref();
        name.map(|name| self.crawler(name, "within")).transpose()
    }

    pub(super) fn keywords(&self) -> Result<Keywords, Wrong> {
        let Some(name) = &self.file.keywords else {
            return Ok(Keywords::default());
        };
        let keywords = Keywords::from_name(name.get_ref());
        keywords.map_err(|words| self.wrong(&name.span(), "keywords", words))
    }

    fn crawler(&self, name: &Spanned<String>, field: &str) -> Result<Crawler, Wrong> {
        let crawler = Crawler::from_name(name.get_ref());
        crawler.map_err(|words| self.wrong(&name.span(), field, words))
    }

    /// How many lists of URLs stand before this one.
    pub(super) fn url_lists_before(&self, start: &Spanned<StartName>) -> usize {
        let lists = self.file.starts.iter().flatten();
        let before = lists.filter(|other| other.span().start < start.span().start);
        before
            .filter(|other| matches!(other.get_ref(), StartName::Urls(_)))
            .count()
    }

    fn against(&self, names: &[String]) -> Result<String, Wrong> {
        let Some(told) = &self.file.against else {
            return Ok(usual_reference(names));
        };
        if names.contains(told.get_ref()) {
            return Ok(told.get_ref().clone());
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let problem = crate::text::unknown_name(told.get_ref(), &names);
        let problem = format!("not one of the crawlers: {problem}");
        Err(self.wrong(&told.span(), "against", problem))
    }

    /// Whether the measures beyond the usual ones are asked for: there is one.
    fn has_ranks(&self) -> Result<bool, Wrong> {
        let asked = self.file.measures.iter().flatten();
        if let Some(other) = asked.clone().find(|name| name.get_ref() != RANKS) {
            let problem = crate::text::unknown_name(other.get_ref(), &[RANKS]);
            let problem = format!("no measure beside the usual ones {problem}");
            return Err(self.wrong(&other.span(), "measures", problem));
        }
        Ok(asked.count() > 0)
    }

    fn checkpoints(&self) -> Result<Vec<u64>, Wrong> {
        let budget = self.budget()?;
        let Some(told) = &self.file.checkpoints else {
            return Ok(usual_checkpoints(budget));
        };
        let mut points = Vec::new();
        for point in told {
            let point: Option<u64> = self.number(Some(point), "checkpoints", 1, budget)?;
            points.extend(point);
        }
        points.sort_unstable();
        points.dedup();
        self.needed(
            Some(points),
            "checkpoints",
            "name at least one, or leave it out",
        )
    }
}
