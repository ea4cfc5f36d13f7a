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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{StoredAnswer, WarcWriter};
    use crate::clock::Timestamp;

    /// An archive of these pages of `http://a.test`, with the folder that it lies in.
    fn archive(pages: &[(&str, &str)]) -> (tempfile::TempDir, Archive) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pages.warc.gz");
        let mut warc = WarcWriter::create(&path, "test", Timestamp(0)).unwrap();
        let headers = [("content-type", "text/html")].map(|(n, v)| (n.to_owned(), v.to_owned()));
        for (url, body) in pages {
            let answer = StoredAnswer {
                url: &CanonicalUrl::parse(&format!("http://a.test/{url}")).unwrap(),
                fetched: Timestamp(0),
                status: 200,
                headers: &headers,
                body: body.as_bytes(),
            };
            warc.write_answer(&answer).unwrap();
        }
        warc.sync().unwrap();
        let archive = Archive::open(&[path]).unwrap();
        (dir, archive)
    }

    #[test]
    fn pages_are_nodes_and_the_words_around_a_link_are_worth_something() {
        let far = "far ".repeat(NEAR_WORDS);
        let first = format!(
            "fish <a href=2>fish fish</a> {far} <a href=3>other</a> {far} fish <a href=gone>x</a> \
             <a href=1>self</a>"
        );
        let (_dir, archive) = archive(&[("1", &first), ("2", "no word of it"), ("3", "Fish")]);
        let (graph, dropped) = read_archive(&archive, "Fish", Worth::Keyword).unwrap();
        let urls: Vec<String> = archive.urls().map(|url| url.to_string()).collect();
        let node = |name: &str| urls.iter().position(|url| url.ends_with(name)).unwrap();
        let node = |name: &str| NodeId::try_from(node(name)).unwrap();
        let beta = ["/1", "/2", "/3"].map(|name| graph.beta(node(name)).exp());
        // One more than the count on each page.
        assert_eq!(beta.map(|beta| format!("{beta:.0}")), ["5", "1", "2"]);
        let mut edges: Vec<(NodeId, f32)> = graph
            .out(node("/1"))
            .iter()
            .map(|edge| (edge.target, edge.alpha.exp().round()))
            .collect();
        edges.sort_by_key(|(target, _)| *target);
        let mut expected = [(node("/2"), 4.0), (node("/3"), 1.0)];
        expected.sort_by_key(|(target, _)| *target);
        assert_eq!(edges, expected);
        assert_eq!(dropped.self_loops, 1);
    }
}
