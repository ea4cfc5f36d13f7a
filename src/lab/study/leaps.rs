//! The links that a crawl followed, with what they led to: the paper's "leaps of faith".

use std::collections::HashMap;

use rand::seq::SliceRandom;

use super::{StudyError, StudySpec, first_alone};
use crate::booking::{Event, Seq};
use crate::clock::chance;
use crate::critic::relevance_of;
use crate::features::{PageSketch, SourceFacts, TermWeights};
use crate::frontier::StoreFailure;
use crate::lab::contest::{Bench, jobs};
use crate::lab::replay::{Replayed, crawl};
use crate::page::Page;

/// Pairs that a study looks at; a larger crawl is sampled.
const PAIRS_MAX: usize = 20_000;
/// With fewer there is nothing to be said.
const PAIRS_MIN: usize = 20;
/// From here on R(v) is HIGH.
pub(super) const HIGH_FROM: f32 = 0.5;

/// A link on a fetched page, and what its target turned out to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    /// Its page, an index into [`Leaps::sources`].
    pub(super) source: usize,
    /// Its place on the page.
    pub(super) link: usize,
    /// R(v) of its target, by the critic.
    pub(super) relevance: f32,
}

impl Pair {
    pub(super) fn is_high(self) -> bool {
        self.relevance >= HIGH_FROM
    }
}

/// What a leaf is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    /// Words outside of any link.
    Text,
    /// A leaf inside of a link that has words.
    Link,
    /// An element without words: an image, a break, an empty cell.
    Empty,
}

/// A page that links were followed from.
pub(super) struct Source {
    pub(super) sketch: PageSketch,
    pub(super) leaves: Vec<Leaf>,
}

/// The leaps of one crawl.
pub(super) struct Leaps {
    pub(super) topic: String,
    pub(super) sources: Vec<Source>,
    pub(super) pairs: Vec<Pair>,
}

impl Leaps {
    /// The leaps of the first crawler from the first seed set, topic by topic.
    pub(super) fn of_topics(world: &Bench, spec: &StudySpec) -> Result<Vec<Self>, StudyError> {
        let contest = first_alone(&spec.contest);
        let mut all = Vec::new();
        for job in jobs(world, &contest)? {
            let replayed = crawl(world, &contest, &job, None)?;
            let mut leaps = Self::of(&replayed, job.topic.clone())?;
            leaps
                .pairs
                .shuffle(&mut chance(contest.seed, "pairs of a study"));
            leaps.pairs.truncate(PAIRS_MAX);
            let high = leaps.pairs.iter().filter(|pair| pair.is_high()).count();
            let found = high.min(leaps.pairs.len() - high);
            if found < PAIRS_MIN {
                return Err(StudyError::TooFew {
                    topic: job.topic.clone(),
                    what: "links to relevant pages, or to others,",
                    found,
                    least: PAIRS_MIN,
                });
            }
            all.push(leaps);
        }
        Ok(all)
    }

    fn of(replayed: &Replayed, topic: String) -> Result<Self, StoreFailure> {
        let mut found: Vec<(Seq, usize, f32)> = Vec::new();
        let mut urls = HashMap::new();
        let (store, mut at) = (&replayed.store, 0);
        replayed.scan(|event| {
            at += 1;
            if let Event::Page(page) = event {
                urls.insert(Seq(at), page.lease.url.clone());
                #[allow(clippy::cast_possible_truncation, reason = "lies in [0, 1]")]
                let relevance = relevance_of(page.judgement.log_odds) as f32;
                let links = page.lease.references.iter();
                found.extend(links.map(|at| (at.seq, at.link as usize, relevance)));
            }
        })?;
        let mut leaps = Self {
            topic,
            sources: Vec::new(),
            pairs: Vec::new(),
        };
        let mut places: HashMap<Seq, usize> = HashMap::new();
        for (seq, link, relevance) in found {
            // What a seed or a redirect led to has no link.
            let Some(url) = urls.get(&seq) else {
                continue;
            };
            let source = if let Some(place) = places.get(&seq) {
                *place
            } else {
                let page = store.page(seq)?;
                let facts = SourceFacts::default();
                leaps.sources.push(Source {
                    sketch: PageSketch::new(url, &page, facts, &TermWeights::default()),
                    leaves: leaves(&page),
                });
                let place = leaps.sources.len() - 1;
                places.insert(seq, place);
                place
            };
            leaps.pairs.push(Pair {
                source,
                link,
                relevance,
            });
        }
        Ok(leaps)
    }
}

fn leaves(page: &Page) -> Vec<Leaf> {
    let mut start = 0;
    let ends = page.leaf_ends.iter();
    let mut leaves: Vec<Leaf> = ends
        .map(|end| {
            let leaf = if *end > start {
                Leaf::Text
            } else {
                Leaf::Empty
            };
            start = *end;
            leaf
        })
        .collect();
    for link in &page.links {
        let span = link.first_leaf as usize..=link.last_leaf as usize;
        for leaf in leaves.get_mut(span).into_iter().flatten() {
            if *leaf == Leaf::Text {
                *leaf = Leaf::Link;
            }
        }
    }
    leaves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{DocumentKind, PageLimits, PageSource};
    use crate::url::CanonicalUrl;

    #[test]
    fn leaves_are_text_links_or_empty() {
        let url = CanonicalUrl::parse("http://a.test/").unwrap();
        let body = b"<p>one</p><a href='/x'>two</a><br><a href='/y'><img></a>three";
        let source = PageSource {
            url: &url,
            content_type: Some("text/html"),
            body,
        };
        let page = Page::parse(&source, DocumentKind::Html, &PageLimits::default());
        let expected = [Leaf::Text, Leaf::Link, Leaf::Empty, Leaf::Empty, Leaf::Text];
        assert_eq!(leaves(&page), expected);
    }
}
