//! Where the crawls of a contest start.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::convert::Infallible;
use std::sync::atomic::AtomicBool;

use super::labels::TableJudge;
use super::runs::work;
use crate::archive::Archive;
use crate::critic::{BayesJudge, PageJudge};
use crate::page::{DocumentKind, Page, PageLimits, PageSource};
use crate::text::unknown_name;
use crate::url::{CanonicalUrl, UrlId};

/// Relevant is what the judge gives at least this.
const RELEVANT_FROM: f32 = 0.5;
/// A far seed lies at least this many links before the nearest relevant page.
const FAR_LINKS: u32 = 2;

/// Where crawls start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// A few of the topic's examples that are in the archive, others for each seed set.
    Examples,
    /// These.
    Urls(Vec<CanonicalUrl>),
    /// Pages two links before examples of the topic, which are to be found: the examples are the targets.
    Neighbours,
    /// Pages from which the nearest relevant page is at least two links away, and can be reached.
    Far,
    /// Pages that the labels find relevant and that the critic was not trained on.
    Labelled,
}

impl Start {
    /// The kinds of starts that a name is enough for.
    const NAMES: [&'static str; 4] = ["examples", "labelled", "far", "neighbours"];

    /// The kind of this name.
    ///
    /// # Errors
    /// Lists the names that there are.
    pub fn from_name(name: &str) -> Result<Self, String> {
        match name {
            "examples" => Ok(Self::Examples),
            "labelled" => Ok(Self::Labelled),
            "far" => Ok(Self::Far),
            "neighbours" => Ok(Self::Neighbours),
            _ => Err(format!("no start {}", unknown_name(name, &Self::NAMES))),
        }
    }
}

/// All pages of the archive that `table` finds relevant and that are not in `known`, sorted.
pub(super) fn labelled_seeds(
    archive: &Archive,
    table: &TableJudge<'_>,
    known: &HashSet<UrlId>,
) -> Vec<CanonicalUrl> {
    let urls = archive.urls();
    let mut labelled: Vec<_> = urls
        .filter(|url| table.relevance(url.id()) >= RELEVANT_FROM && !known.contains(&url.id()))
        .collect();
    labelled.sort();
    labelled
}

/// Who says which pages are relevant: the table where there is one, else the critic.
pub(super) struct Says<'a> {
    pub(super) critic: &'a BayesJudge,
    pub(super) table: Option<&'a TableJudge<'a>>,
}

/// What is known of an archived page: nothing more if it cannot be read.
struct Known {
    links: Option<Vec<UrlId>>,
    /// By each of those who were asked.
    is_relevant: Vec<bool>,
}

/// For each of `topics` all pages of the archive that are far from it, sorted. Reads the whole archive once,
/// several pages at a time.
pub(super) fn far_seeds(
    archive: &Archive,
    topics: &[Says<'_>],
    workers: usize,
) -> Vec<Vec<CanonicalUrl>> {
    let urls: Vec<CanonicalUrl> = archive.urls().collect();
    let read = |url: &CanonicalUrl| Ok::<_, Infallible>(known(archive, url, topics));
    let Ok(read) = work(&urls, workers, &AtomicBool::new(false), &read);
    let mut parents: BTreeMap<UrlId, Vec<UrlId>> = BTreeMap::new();
    let pages: Vec<(&CanonicalUrl, Known)> = urls
        .iter()
        .zip(read)
        .filter_map(|(url, known)| Some((url, known?)))
        .collect();
    for (url, known) in &pages {
        for target in known.links.iter().flatten() {
            parents.entry(*target).or_default().push(url.id());
        }
    }
    let far_from = |topic: usize| {
        let is_relevant = |known: &Known| known.is_relevant.get(topic) == Some(&true);
        let relevant = pages.iter().filter(|(_, known)| is_relevant(known));
        let relevant = relevant.map(|(url, _)| url.id()).collect();
        let distance = links_to_relevant(&relevant, &parents);
        // A page that cannot be read leads nowhere: no seed.
        let readable = pages.iter().filter(|(_, known)| known.links.is_some());
        let is_far = |url: &CanonicalUrl| {
            let links = distance.get(&url.id());
            links.is_some_and(|links| *links >= FAR_LINKS)
        };
        let mut far: Vec<CanonicalUrl> = readable
            .filter(|(url, _)| is_far(url))
            .map(|(url, _)| (*url).clone())
            .collect();
        far.sort();
        far
    };
    (0..topics.len()).map(far_from).collect()
}

fn known(archive: &Archive, url: &CanonicalUrl, topics: &[Says<'_>]) -> Known {
    let page = page_of(archive, url);
    let is_relevant = topics.iter().map(|topic| {
        let relevance = match (topic.table, &page) {
            (Some(table), _) => table.relevance(url.id()),
            #[allow(
                clippy::cast_possible_truncation,
                reason = "a relevance lies in [0, 1]; it is held against a half"
            )]
            (None, Some(page)) => topic.critic.judge(page).relevance() as f32,
            (None, None) => 0.0,
        };
        relevance >= RELEVANT_FROM
    });
    Known {
        is_relevant: is_relevant.collect(),
        links: page.map(|page| page.links.iter().map(|link| link.target.id()).collect()),
    }
}

/// For every page from which a relevant one can be reached, the links to the nearest.
fn links_to_relevant(
    relevant: &BTreeSet<UrlId>,
    parents: &BTreeMap<UrlId, Vec<UrlId>>,
) -> BTreeMap<UrlId, u32> {
    let mut distance: BTreeMap<UrlId, u32> = relevant.iter().map(|id| (*id, 0)).collect();
    let mut ring: Vec<UrlId> = relevant.iter().copied().collect();
    let mut links = 0;
    while !ring.is_empty() {
        links += 1;
        let before = ring.iter().filter_map(|id| parents.get(id)).flatten();
        let mut next = Vec::new();
        for page in before {
            if !distance.contains_key(page) {
                distance.insert(*page, links);
                next.push(*page);
            }
        }
        ring = next;
    }
    distance
}

/// The page stored for `url`, if one can be read.
pub(super) fn page_of(archive: &Archive, url: &CanonicalUrl) -> Option<Page> {
    let answer = match archive.get(url) {
        Ok(answer) => answer?,
        Err(error) => {
            tracing::warn!(%url, %error, "left out");
            return None;
        }
    };
    let content_type = answer.content_type.as_deref();
    let kind = DocumentKind::of(content_type, &answer.body)?;
    let source = PageSource {
        url,
        content_type,
        body: &answer.body,
    };
    Some(Page::parse(&source, kind, &PageLimits::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_is_counted_against_the_links() {
        // 3 -> 2 -> 1 -> 0, 4 -> 0, 5 leads nowhere.
        let id = UrlId;
        let parents = BTreeMap::from([
            (id(0), vec![id(1), id(4)]),
            (id(1), vec![id(2)]),
            (id(2), vec![id(3)]),
        ]);
        let distance = links_to_relevant(&BTreeSet::from([id(0)]), &parents);
        let links = |n| distance.get(&id(n)).copied();
        assert_eq!(
            [links(0), links(1), links(2), links(3), links(4), links(5)],
            [Some(0), Some(1), Some(2), Some(3), Some(1), None]
        );
    }
}
