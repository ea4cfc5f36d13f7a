//! What a graph was made from, in words that another person can make it again with.

use std::path::Path;

use super::generate::GraphParams;
use super::model::{Dropped, Graph};
use crate::lab::sources::{DigestError, Digests};

/// A file that a graph was read from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SourceFile {
    /// Its name, without its folder.
    pub file: String,
    /// SHA-1 of what is in it, as `sha1sum` prints it.
    pub sha1: String,
}

impl SourceFile {
    /// The file at `path`, which is read once.
    ///
    /// # Errors
    /// [`DigestError`] names it.
    pub fn of(path: &Path) -> Result<Self, DigestError> {
        let name = path.file_name().unwrap_or_default();
        Ok(Self {
            file: name.to_string_lossy().into_owned(),
            sha1: Digests::of(path)?,
        })
    }
}

/// What a graph was made from.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "reader", rename_all = "snake_case")]
pub enum GraphSource {
    /// A table of nodes and one of edges.
    Tables {
        /// The nodes.
        nodes: SourceFile,
        /// The edges.
        edges: SourceFile,
    },
    /// Articles as JSON lines.
    Articles {
        /// The articles.
        articles: SourceFile,
        /// The word that is counted.
        keyword: String,
        /// The category that is worth 1, if beta goes by that.
        category: Option<String>,
    },
    /// Archived pages.
    Archive {
        /// The WARC files.
        archive: Vec<SourceFile>,
        /// The word that is counted.
        keyword: String,
        /// The table that says what a page is worth, if beta goes by that.
        labels: Option<SourceFile>,
    },
    /// The generator.
    Generator(GraphParams),
}

impl GraphSource {
    fn words(&self) -> String {
        match self {
            Self::Tables { nodes, edges } => format!("tables {} and {}", said(nodes), said(edges)),
            Self::Articles {
                articles,
                keyword,
                category,
            } => {
                let worth = category.as_ref().map_or(String::new(), |category| {
                    format!(", beta 1 in category {category}")
                });
                format!("articles {}, keyword {keyword}{worth}", said(articles))
            }
            Self::Archive {
                archive,
                keyword,
                labels,
            } => {
                let files: Vec<String> = archive.iter().map(said).collect();
                let worth = labels.as_ref().map_or(String::new(), |labels| {
                    format!(", beta by the labels {}", said(labels))
                });
                format!("archive {}, keyword {keyword}{worth}", files.join(", "))
            }
            Self::Generator(of) => format!(
                "generator, seed {}: {} nodes, {} edges a node, communities of {}, locality {}, topical {}",
                of.seed, of.nodes, of.degree, of.community, of.locality, of.topical
            ),
        }
    }
}

fn said(file: &SourceFile) -> String {
    format!("{} (SHA-1 {})", file.file, file.sha1)
}

/// A graph as the reports of its crawls name it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct GraphWorld {
    /// Its name.
    pub name: String,
    /// What it was made from.
    #[serde(flatten)]
    pub source: GraphSource,
    /// Nodes.
    pub nodes: u32,
    /// Nodes with a score above 0.
    pub scored: usize,
    /// Edges.
    pub edges: usize,
    /// Edges with a score above 0.
    pub scored_edges: usize,
    /// What was left out of it.
    pub dropped: Dropped,
    /// [`Graph::digest`].
    pub digest: String,
}

impl GraphWorld {
    /// What there is to say of `graph`.
    pub fn of(name: &str, source: GraphSource, graph: &Graph, dropped: Dropped) -> Self {
        Self {
            name: name.to_owned(),
            source,
            nodes: graph.nodes(),
            scored: graph.scored().len(),
            edges: graph.edges(),
            scored_edges: graph.scored_edges(),
            dropped,
            digest: graph.digest(),
        }
    }

    /// What it was made from, for a person.
    pub fn made_from(&self) -> String {
        self.source.words()
    }
}
