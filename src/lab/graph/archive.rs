//! Graphs from archives of web pages.

use std::collections::HashMap;

use super::model::{Dropped, Edge, Graph, GraphSizeError, NodeId};
use crate::archive::Archive;
use crate::lab::labels::{Labels, LabelsError};
use crate::lab::start::page_of;
use crate::page::{Link, Page};
use crate::url::CanonicalUrl;

/// Words on each side of a link that are near it: about 100 characters.
const NEAR_WORDS: usize = 16;

/// What a page is worth.
#[derive(Clone, Copy, Debug)]
pub enum Worth<'a> {
    /// log(1 + how often the keyword stands on it).
    Keyword,
    /// What a table of labels says of this topic.
    Labels {
        /// The table.
        labels: &'a Labels,
        /// The topic.
        topic: &'a str,
    },
}

/// Why an archive gives no graph.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveGraphError {
    /// The table lacks the topic.
    #[error(transparent)]
    Labels(#[from] LabelsError),
    /// Too many pages.
    #[error(transparent)]
    Size(#[from] GraphSizeError),
}

/// Reads the pages of an archive and the links among them. alpha is log(1 + count of `keyword` among
/// the words of the link and 16 on each side).
///
/// # Errors
/// [`ArchiveGraphError`].
pub fn read_archive(
    archive: &Archive,
    keyword: &str,
    worth: Worth<'_>,
) -> Result<(Graph, Dropped), ArchiveGraphError> {
    let judge = match worth {
        Worth::Keyword => None,
        Worth::Labels { labels, topic } => Some(labels.judge(topic)?),
    };
    let keyword = keyword.to_lowercase();
    let urls: Vec<CanonicalUrl> = archive.urls().collect();
    let numbers: HashMap<_, NodeId> = urls
        .iter()
        .zip(0..)
        .map(|(url, number)| (url.id(), number))
        .collect();
    let mut beta = Vec::with_capacity(urls.len());
    let mut edges = Vec::new();
    for (url, node) in urls.iter().zip(0..) {
        let page = page_of(archive, url);
        beta.push(match (&judge, &page) {
            (Some(judge), _) => judge.relevance(url.id()),
            (None, Some(page)) => Near::new(page, &keyword).log_count(&page.words),
            (None, None) => 0.0,
        });
        let Some(page) = page else { continue };
        let near = Near::new(&page, &keyword);
        for link in &page.links {
            if let Some(target) = numbers.get(&link.target.id()) {
                let alpha = near.log_count(around(&page, link));
                let edge = Edge {
                    target: *target,
                    alpha,
                };
                edges.push((node, edge));
            }
        }
    }
    Ok(Graph::from_edges(beta, edges)?)
}

/// The keyword on one page.
struct Near(Option<u32>);

impl Near {
    fn new(page: &Page, keyword: &str) -> Self {
        let mut numbers = page.vocabulary.iter().zip(0..);
        Self(numbers.find(|(word, _)| *word == keyword).map(|(_, n)| n))
    }

    fn log_count(&self, words: &[u32]) -> f32 {
        let count = words.iter().filter(|word| Some(**word) == self.0).count();
        #[allow(clippy::cast_possible_truncation, reason = "a logarithm is small")]
        let log = (count as f64).ln_1p() as f32;
        log
    }
}

/// The words of the link and those near it.
fn around<'a>(page: &'a Page, link: &Link) -> &'a [u32] {
    let end_of = |leaf: Option<u32>| {
        let end = leaf.and_then(|leaf| page.leaf_ends.get(leaf as usize));
        end.map_or(0, |end| *end as usize)
    };
    let start = end_of(link.first_leaf.checked_sub(1));
    let end = end_of(Some(link.last_leaf)).max(start);
    let from = start.saturating_sub(NEAR_WORDS);
    let to = (end + NEAR_WORDS).min(page.words.len());
    page.words.get(from..to).unwrap_or_default()
}
