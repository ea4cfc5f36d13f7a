//! An experiment: many contests in one file, each of its runs kept, so that it can be stopped and taken
//! up again.

mod change;
mod file;
mod settings;
mod wrong;

use std::path::{Path, PathBuf};

use super::contest::{ContestSpec, Setting};
use super::graph::{GraphContest, GraphCrawler};

pub use change::changes;
pub use file::usual_checkpoints;
pub use wrong::ExperimentError;

/// An experiment as its file describes it. Paths in it are relative to the file.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// What it is called: the file's name unless it says something else.
    pub title: String,
    /// The file, as it is.
    pub text: String,
    /// On what, and what is compared.
    pub on: Subject,
    /// Fetches after which crawlers are compared, rising.
    pub checkpoints: Vec<u64>,
    /// The ranks of the pages in the pool of all crawlers are to be found as well.
    pub has_ranks: bool,
    /// Crawls at once, if the file says.
    pub workers: Option<usize>,
}

/// What an experiment is made on.
#[derive(Clone, Debug)]
pub enum Subject {
    /// An archived web.
    Archive {
        /// Its files.
        files: BenchFiles,
        /// What is compared.
        settings: Vec<Setting>,
        /// The crawler that the others are compared with.
        against: String,
    },
    /// Graphs.
    Graphs {
        /// Their files.
        files: GraphFiles,
        /// What is compared.
        contest: GraphContest,
        /// The crawler that the others are compared with.
        against: String,
    },
}

/// The files of an archived web with its critic and its labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchFiles {
    /// WARC files.
    pub archive: Vec<PathBuf>,
    /// A table of examples to train the critic on.
    pub examples: Option<PathBuf>,
    /// A trained critic; `general` is the one that comes with the program.
    pub critic: Option<PathBuf>,
    /// A table of labels to judge by.
    pub labels: Option<PathBuf>,
    /// A table of pages that are left out of the loss beside.
    pub exclude: Option<PathBuf>,
}

/// Where graphs come from; every one that is named is taken.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraphFiles {
    /// A table of nodes.
    pub nodes: Option<PathBuf>,
    /// The table of their edges.
    pub edges: Option<PathBuf>,
    /// Articles as JSON lines.
    pub articles: Option<PathBuf>,
    /// WARC files.
    pub archive: Vec<PathBuf>,
    /// Words: a graph for each.
    pub keyword: Vec<String>,
    /// Categories of the articles: a graph for each.
    pub category: Vec<String>,
    /// Labels that say what the pages of the archive are worth.
    pub labels: Option<PathBuf>,
    /// Seeds of generated graphs.
    pub generate: Vec<u64>,
    /// Nodes of a generated graph.
    pub generate_nodes: u32,
    /// Edges of a generated node, on average.
    pub generate_degree: f64,
    /// Share of the generated communities that are about the topic.
    pub generate_topical: f64,
}

impl Default for GraphFiles {
    fn default() -> Self {
        Self {
            nodes: None,
            edges: None,
            articles: None,
            archive: Vec::new(),
            keyword: Vec::new(),
            category: Vec::new(),
            labels: None,
            generate: Vec::new(),
            generate_nodes: 100_000,
            generate_degree: 17.5,
            generate_topical: 0.02,
        }
    }
}

impl Experiment {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`ExperimentError`] names the file, the line and the field, and what may stand there.
    pub fn open(path: &Path) -> Result<Self, ExperimentError> {
        let text = std::fs::read_to_string(path).map_err(|error| ExperimentError::Read {
            path: path.to_path_buf(),
            error,
        })?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let folder = path.parent().unwrap_or(Path::new(""));
        file::read(&text, folder, &stem).map_err(|wrong| wrong.of(path))
    }

    /// The archive crawls that it holds; none for graphs.
    pub fn specs(&self) -> impl Iterator<Item = &ContestSpec> {
        let settings = match &self.on {
            Subject::Archive { settings, .. } => settings.as_slice(),
            Subject::Graphs { .. } => &[],
        };
        settings.iter().map(|setting| &setting.spec)
    }

    /// Names of its crawlers.
    pub fn crawlers(&self) -> Vec<String> {
        match &self.on {
            Subject::Archive { settings, .. } => {
                let spec = settings.first().map(|setting| &setting.spec);
                let crawlers = spec.map_or(&[][..], |spec| &spec.crawlers);
                crawlers.iter().map(|one| one.name().into_owned()).collect()
            }
            Subject::Graphs { contest, .. } => {
                let crawlers = contest.crawlers.iter();
                crawlers.map(|one| one.label().to_owned()).collect()
            }
        }
    }
}

/// The crawler that others are compared with where nobody says: the baseline, or else the first.
pub fn usual_reference(names: &[String]) -> String {
    let baseline = names.iter().find(|name| *name == "baseline");
    let oracle = GraphCrawler::oracle();
    let first = names.iter().find(|name| *name != oracle.label());
    baseline.or(first).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests;
