//! Graphs from a table of nodes (`node,beta`) and one of edges (`source,target,alpha`): CSV or TSV,
//! plain, gzip or zstd. A head is told by its names; `alpha` may be missing and is 1 then.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use super::model::{Dropped, Edge, Graph, GraphSizeError, NodeId};
use crate::taxonomy::open_input;

/// Why tables are no graph.
#[derive(Debug, thiserror::Error)]
pub enum GraphTableError {
    /// The file cannot be read.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A row is no CSV.
    #[error("{}: {error}", .path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line.
        error: csv::Error,
    },
    /// A row says something that a graph cannot have.
    #[error("{}:{line}: {problem}", .path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// What is wrong and what to do.
        problem: String,
    },
    /// There is no node.
    #[error("{}: no node in it; it needs rows `node,beta`", .0.display())]
    Empty(PathBuf),
    /// Too many nodes.
    #[error(transparent)]
    Size(#[from] GraphSizeError),
}

/// Reads a graph. Self loops and double edges are left out and counted; a node without a row, a
/// double node and a score that is negative or no number are errors.
///
/// # Errors
/// [`GraphTableError`] names the file and the line.
pub fn read_tables(nodes: &Path, edges: &Path) -> Result<(Graph, Dropped), GraphTableError> {
    let mut beta = Vec::new();
    let mut numbers: HashMap<String, NodeId> = HashMap::new();
    each_row(nodes, "beta", 1, |fields| {
        let score = score(fields.get(1), "beta")?;
        let next = NodeId::try_from(beta.len()).unwrap_or(NodeId::MAX);
        let name = fields.get(0).unwrap_or_default().trim();
        if name.is_empty() {
            return Err("the node has no name".to_owned());
        }
        if numbers.insert(name.to_owned(), next).is_some() {
            return Err(format!("node {name:?} has a row already; leave one out"));
        }
        beta.push(score);
        Ok(())
    })?;
    if beta.is_empty() {
        return Err(GraphTableError::Empty(nodes.to_owned()));
    }
    let mut list = Vec::new();
    each_row(edges, "target", 1, |fields| {
        let node = |at: usize| {
            let name = fields.get(at).unwrap_or_default().trim();
            numbers.get(name).copied().ok_or_else(|| {
                format!(
                    "node {name:?} has no row in {}; add one, with beta 0 if nothing is known of it",
                    nodes.display()
                )
            })
        };
        let alpha = match fields.get(2) {
            Some(_) => score(fields.get(2), "alpha")?,
            None => 1.0,
        };
        let target = node(1)?;
        list.push((node(0)?, Edge { target, alpha }));
        Ok(())
    })?;
    Ok(Graph::from_edges(beta, list)?)
}

/// Calls `take` with each row after the head, if the head's field `at` is called `head`.
fn each_row(
    path: &Path,
    head: &str,
    at: usize,
    mut take: impl FnMut(&csv::StringRecord) -> Result<(), String>,
) -> Result<(), GraphTableError> {
    let (first, input) = open_input(path).map_err(|error| GraphTableError::Io {
        path: path.to_owned(),
        error,
    })?;
    let line = first
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let delimiter = if line.contains(&b'\t') { b'\t' } else { b',' };
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(input);
    let mut record = csv::StringRecord::new();
    let mut is_first = true;
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => {
                return Err(GraphTableError::Csv {
                    path: path.to_owned(),
                    error,
                });
            }
        }
        let is_head = record.get(at).is_some_and(|field| field.trim() == head);
        if std::mem::take(&mut is_first) && is_head {
            continue;
        }
        take(&record).map_err(|problem| GraphTableError::Row {
            path: path.to_owned(),
            line: record.position().map_or(0, csv::Position::line),
            problem,
        })?;
    }
}

fn score(field: Option<&str>, name: &str) -> Result<f32, String> {
    let text = field.unwrap_or_default().trim();
    let score = text.parse::<f32>().ok();
    score
        .filter(|score| score.is_finite() && *score >= 0.0)
        .ok_or_else(|| format!("{name} is {text:?}, but has to be a number of 0 or more"))
}
