//! The pages of an archive and the links between them.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use super::runs::work;
use super::start::page_of;
use crate::archive::Archive;
use crate::url::{CanonicalUrl, UrlId};

/// Share of a page's rank that its links hand on (Page et al. 1998).
const DAMPING: f64 = 0.85;
/// Ranks that change by less than this, all together, have settled.
const SETTLED: f64 = 1e-8;
/// Rounds at most: each takes at least 15 % of what is left, so that 120 are enough for [`SETTLED`].
const ROUNDS_MAX: usize = 200;

/// See the module. Pages are numbered by their URLs in order.
pub(super) struct WebGraph {
    urls: Vec<CanonicalUrl>,
    places: HashMap<UrlId, u32>,
    out: Vec<Vec<u32>>,
    into: Vec<Vec<u32>>,
    ranks: OnceLock<Vec<f64>>,
}

impl WebGraph {
    /// Reads the whole archive, several pages at once.
    pub(super) fn read(archive: &Archive, workers: usize) -> Self {
        let mut urls: Vec<CanonicalUrl> = archive.urls().collect();
        urls.sort();
        urls.dedup();
        let numbers = (0..).zip(&urls);
        let places: HashMap<UrlId, u32> = numbers.map(|(place, url)| (url.id(), place)).collect();
        let links_of = |url: &CanonicalUrl| {
            let page = page_of(archive, url);
            let links = page.iter().flat_map(|page| &page.links);
            let own = places.get(&url.id());
            let targets = links.filter_map(|link| place_of(&places, &link.target));
            let targets: BTreeSet<u32> = targets.filter(|to| own != Some(to)).collect();
            Ok::<Vec<u32>, Infallible>(targets.into_iter().collect())
        };
        let Ok(out) = work(&urls, workers, &AtomicBool::new(false), &links_of);
        let out: Vec<Vec<u32>> = out.into_iter().map(Option::unwrap_or_default).collect();
        let mut into = vec![Vec::new(); urls.len()];
        for (from, targets) in (0_u32..).zip(&out) {
            for to in targets {
                into[*to as usize].push(from);
            }
        }
        Self {
            urls,
            places,
            out,
            into,
            ranks: OnceLock::new(),
        }
    }

    /// How many pages and links there are.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.urls.len(), self.out.iter().map(Vec::len).sum())
    }

    /// The number of a page.
    pub(super) fn place(&self, url: UrlId) -> Option<u32> {
        self.places.get(&url).copied()
    }

    /// The page of a number.
    pub(super) fn url(&self, place: u32) -> &CanonicalUrl {
        &self.urls[place as usize]
    }

    /// The pages that link to a page.
    pub(super) fn into(&self, place: u32) -> &[u32] {
        &self.into[place as usize]
    }

    /// This, with the rank of every page of the archive.
    pub(super) fn with_ranks(&self) -> (&Self, &[f64]) {
        (self, self.ranks.get_or_init(|| page_ranks(&self.out)))
    }

    /// The ranks of `pages`, sorted, by the links among them alone.
    pub(super) fn ranks_among(&self, pages: &[u32]) -> Vec<f64> {
        let numbers: HashMap<u32, u32> = pages.iter().copied().zip(0..).collect();
        let links = pages.iter().map(|page| {
            let targets = self.out[*page as usize].iter();
            targets.filter_map(|to| numbers.get(to).copied()).collect()
        });
        page_ranks(&links.collect::<Vec<Vec<u32>>>())
    }

    /// Every page that can be reached from `starts`, these with them.
    pub(super) fn reachable(&self, starts: &[CanonicalUrl]) -> BTreeSet<u32> {
        let mut waiting: Vec<u32> = starts
            .iter()
            .filter_map(|url| place_of(&self.places, url))
            .collect();
        let mut seen: BTreeSet<u32> = waiting.iter().copied().collect();
        while let Some(page) = waiting.pop() {
            for to in &self.out[page as usize] {
                if seen.insert(*to) {
                    waiting.push(*to);
                }
            }
        }
        seen
    }
}

/// The place of a page, or of the same page under the other scheme (docs/decisions/0003).
fn place_of(places: &HashMap<UrlId, u32>, url: &CanonicalUrl) -> Option<u32> {
    if let Some(place) = places.get(&url.id()) {
        return Some(*place);
    }
    let text = url.as_str();
    let twin = match text.strip_prefix("http://") {
        Some(rest) => format!("https://{rest}"),
        None => format!("http://{}", text.strip_prefix("https://")?),
    };
    places.get(&CanonicalUrl::parse(&twin).ok()?.id()).copied()
}

/// `PageRank`: damping 0.85; pages without links hand their rank to all alike. The sum is 1.
fn page_ranks(out: &[Vec<u32>]) -> Vec<f64> {
    let count = out.len().max(1) as f64;
    let mut ranks = vec![1.0 / count; out.len()];
    for _ in 0..ROUNDS_MAX {
        let idle = ranks.iter().zip(out).filter(|(_, links)| links.is_empty());
        let idle: f64 = idle.map(|(rank, _)| rank).sum();
        let base = (1.0 - DAMPING + DAMPING * idle) / count;
        let mut next = vec![base; out.len()];
        for (rank, links) in ranks.iter().zip(out) {
            let share = DAMPING * rank / links.len().max(1) as f64;
            for to in links {
                next[*to as usize] += share;
            }
        }
        let changes = ranks.iter().zip(&next).map(|(was, is)| (was - is).abs());
        let change: f64 = changes.sum();
        ranks = next;
        if change < SETTLED {
            break;
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_worked_by_hand() {
        // 0 -> 1, 1 -> 0, 2 -> 0: with d = 0.85, r2 = 0.05, r1 = 0.05 + d r0, r0 = 0.05 + d (r1 + r2).
        let ranks = page_ranks(&[vec![1], vec![0], vec![0]]);
        let r0 = (0.05 + 0.85 * 0.1) / (1.0 - 0.85 * 0.85);
        for (rank, expected) in ranks.iter().zip([r0, 0.05 + 0.85 * r0, 0.05]) {
            assert!((rank - expected).abs() < 1e-7, "{ranks:?}");
        }
        // One that leads nowhere: r0 = 0.075 + d/2 r1, r1 = r0 + d r0, and both make 1.
        let ranks = page_ranks(&[vec![1], Vec::new()]);
        assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!((ranks[1] / ranks[0] - 1.85).abs() < 1e-6, "{ranks:?}");
        assert!(page_ranks(&[]).is_empty());
    }
}
