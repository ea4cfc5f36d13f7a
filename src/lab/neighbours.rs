//! The second task of the exploration paper (Pant, Srinivasan, Menczer 2002): crawls start a few links
//! before pages that they do not know, and are to find them.

use std::collections::BTreeSet;

use rand::seq::SliceRandom;

use super::web_graph::WebGraph;
use crate::clock::Chance;
use crate::url::{CanonicalUrl, UrlId};

/// Of the pages that link to a page so many count: as a search engine would list them, here by `PageRank`.
const INLINKS: usize = 20;

/// Where a crawl starts and what it is to find.
pub(super) struct Task {
    pub(super) seeds: Vec<CanonicalUrl>,
    pub(super) targets: Vec<UrlId>,
}

/// For each of `targets` the 20 best pages that link to it, for each of those the 20 best that link to
/// it; of these, without the targets, `seeds` are drawn. Targets that cannot be reached from
/// them are none. `None` if nothing leads to the targets.
pub(super) fn task(
    web: &WebGraph,
    ranks: &[f64],
    targets: &[CanonicalUrl],
    seeds: usize,
    luck: &mut Chance,
) -> Option<Task> {
    let targets: BTreeSet<u32> = targets
        .iter()
        .filter_map(|url| web.place(url.id()))
        .collect();
    let before = |pages: &BTreeSet<u32>| -> BTreeSet<u32> {
        let best = pages.iter().flat_map(|page| best(web.into(*page), ranks));
        best.collect()
    };
    let near = before(&before(&targets));
    let mut near: Vec<u32> = near.difference(&targets).copied().collect();
    near.shuffle(luck);
    near.truncate(seeds);
    if near.is_empty() {
        return None;
    }
    let seeds: Vec<CanonicalUrl> = near.iter().map(|page| web.url(*page).clone()).collect();
    let reachable = web.reachable(&seeds);
    let targets = targets.intersection(&reachable);
    let mut targets: Vec<UrlId> = targets.map(|page| web.url(*page).id()).collect();
    targets.sort();
    Some(Task { seeds, targets })
}

/// Whether a page lies two links before this one.
pub(super) fn has_neighbours(web: &WebGraph, url: &CanonicalUrl) -> bool {
    web.place(url.id()).is_some_and(|page| {
        let mut before = web.into(page).iter().flat_map(|parent| web.into(*parent));
        before.any(|other| *other != page)
    })
}

/// The pages of highest rank.
fn best(pages: &[u32], ranks: &[f64]) -> Vec<u32> {
    let mut pages = pages.to_vec();
    let rank = |page: &u32| ranks.get(*page as usize).copied().unwrap_or(0.0);
    pages.sort_by(|a, b| rank(b).total_cmp(&rank(a)).then(a.cmp(b)));
    pages.truncate(INLINKS);
    pages
}
