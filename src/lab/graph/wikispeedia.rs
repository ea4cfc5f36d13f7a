//! Graphs from JSON lines of articles: `title`, `topics`, `links` (titles) and `text`.

use std::collections::HashMap;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use super::model::{Dropped, Edge, Graph, GraphSizeError, NodeId};
use crate::taxonomy::open_input;
use crate::text::words;

/// The longest line, in bytes.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// How far from a link its neighbourhood reaches, in characters.
const NEAR_CHARS: usize = 100;

/// Why articles are no graph.
#[derive(Debug, thiserror::Error)]
pub enum WikispeediaError {
    /// The file cannot be read.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A line is no article.
    #[error("{}:{line}: {problem}; each line has to be an object with title, links and text", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// What is wrong.
        problem: String,
    },
    /// Too many nodes.
    #[error(transparent)]
    Size(#[from] GraphSizeError),
}

#[derive(serde::Deserialize)]
struct Article {
    title: String,
    #[serde(default)]
    topics: Vec<String>,
    #[serde(default)]
    links: Vec<String>,
    #[serde(default)]
    text: String,
}

/// Reads articles. beta is log(1 + count of `keyword` in the text), or with `category` 1 for the
/// articles in it or below; alpha is log(1 + count of `keyword` within 100 characters of the first
/// place that names the target). Links to titles that no line has are left out.
///
/// # Errors
/// [`WikispeediaError`] names the file and the line.
pub fn read_wikispeedia(
    path: &Path,
    keyword: &str,
    category: Option<&str>,
) -> Result<(Graph, Dropped), WikispeediaError> {
    let articles = read(path)?;
    let mut numbers = HashMap::new();
    for (at, article) in articles.iter().enumerate() {
        let number = NodeId::try_from(at).unwrap_or(NodeId::MAX);
        numbers.entry(article.title.as_str()).or_insert(number);
    }
    let keyword = keyword.to_lowercase();
    let beta = articles.iter().map(|article| match category {
        Some(category) => f32::from(u8::from(is_in(article, category))),
        None => log_count(&article.text, &keyword),
    });
    let beta = beta.collect();
    let made = Graph::from_rows(beta, |node, row| {
        let article = &articles[node as usize];
        let text = article.text.to_lowercase();
        for link in &article.links {
            if let Some(target) = numbers.get(link.as_str()) {
                row.push(Edge {
                    target: *target,
                    alpha: log_count(around(&text, link), &keyword),
                });
            }
        }
    });
    Ok(made?)
}

fn is_in(article: &Article, category: &str) -> bool {
    let under = |topic: &String| {
        let rest = topic.strip_prefix(category);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    article.topics.iter().any(under)
}

/// log(1 + how often `keyword`, one word in lower case, stands in `text`).
pub(super) fn log_count(text: &str, keyword: &str) -> f32 {
    let count = words(text).filter(|word| word == keyword).count();
    #[allow(clippy::cast_possible_truncation, reason = "a logarithm is small")]
    let log = (count as f64).ln_1p() as f32;
    log
}

/// What stands around the first place in `text` (lower case) that names `title`; nothing if none does.
fn around<'a>(text: &'a str, title: &str) -> &'a str {
    let name = title.replace('_', " ").to_lowercase();
    let Some(at) = text.find(&name) else {
        return "";
    };
    let before = text[..at].char_indices().rev().nth(NEAR_CHARS - 1);
    let after_name = &text[at + name.len()..];
    let after = after_name.char_indices().nth(NEAR_CHARS);
    let start = before.map_or(0, |(at, _)| at);
    let end = after.map_or(text.len(), |(length, _)| at + name.len() + length);
    &text[start..end]
}

fn read(path: &Path) -> Result<Vec<Article>, WikispeediaError> {
    let io = |error| WikispeediaError::Io {
        path: path.to_owned(),
        error,
    };
    let (_, mut input) = open_input(path).map_err(io)?;
    let mut articles = Vec::new();
    let mut buffer = Vec::new();
    for line in 1.. {
        buffer.clear();
        let mut bounded = input.by_ref().take(LINE_BYTES_MAX);
        if bounded.read_until(b'\n', &mut buffer).map_err(io)? == 0 {
            break;
        }
        if buffer.trim_ascii().is_empty() {
            continue;
        }
        let article = serde_json::from_slice(&buffer);
        articles.push(article.map_err(|error| WikispeediaError::Line {
            path: path.to_owned(),
            line,
            problem: error.to_string(),
        })?);
    }
    Ok(articles)
}
