//! A generated web: some hundred pages on a dozen hosts, for the demo and for tests.
//!
//! The words are invented (`taxonomy/demo/topics.toml`), the structure is that of small sites:
//! navigation bars, hubs with a topical block beside others, blocks of links to whatever else the
//! host has, listings, footers, and what goes wrong on the way: dead links, redirects, a server that
//! fails, robots rules, an endless calendar, a slow host, a document that is no HTML. A page links to
//! its own topic more often than chance would, most of all in its topical block; so following good
//! pages pays, and telling the blocks apart pays more.
//!
//! A web is a function of its seed and its parameters: every page is rendered when it is asked for,
//! and is the same bytes each time and on every machine.

mod answer;
mod html;
mod lexicon;
mod library;
mod links;
mod params;
mod plan;
mod text;

use std::collections::HashMap;

use crate::clock::chance;
use crate::url::CanonicalUrl;

use lexicon::Lexicon;
use links::Block;
use plan::HostPlan;

pub use answer::ToyAnswer;
pub use library::ToyLibrary;
pub use params::ToyParams;

/// The host whose pages are the examples that a critic learns from; no page links to it.
pub const EXAMPLES_HOST: &str = "examples.example";
/// The host with a page for every month there will ever be.
pub const TRAP_HOST: &str = "calendar.example";
/// The host that only redirects, once in a circle.
pub const REDIRECT_HOST: &str = "moved.example";
/// The host that answers 500 to everything but robots.txt.
pub const BROKEN_HOST: &str = "broken.example";
/// The host that takes 50 to 150 ms for an answer.
pub const SLOW_HOST: &str = "slow-ferry.example";
/// The topic of pages about nothing: fronts, listings, contact pages.
pub const GENERAL_TOPIC: &str = "general";

/// What a page is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToyKind {
    /// A text about a topic.
    Article,
    /// Links to pages of a topic, beside links to pages of others.
    Hub,
    /// The front page of a host.
    Front,
    /// Who runs the host, and how to reach them.
    About,
    /// Part of the list of everything on the host.
    Listing,
    /// A text that robots.txt forbids.
    Private,
    /// A text set apart for training; it links into the web, nothing links to it.
    Example,
}

/// One page of the web.
#[derive(Clone, Debug)]
pub struct ToyPage {
    /// Where it is.
    pub url: CanonicalUrl,
    /// What it is truly about.
    pub topic: String,
    /// What it is for.
    pub kind: ToyKind,
    /// Its heading.
    pub title: String,
    host: usize,
    topic_at: usize,
    /// The topic that its second block, if it is a hub, is about.
    other_topic_at: usize,
    blocks: Vec<Block>,
}

impl ToyPage {
    /// Whether a polite crawler that starts at a seed can come to it.
    pub fn is_crawlable(&self) -> bool {
        !matches!(self.kind, ToyKind::Private | ToyKind::Example)
    }
}

/// A generated web.
#[derive(Clone, Debug)]
pub struct ToyWeb {
    seed: u64,
    params: ToyParams,
    lexicon: Lexicon,
    hosts: Vec<HostPlan>,
    pages: Vec<ToyPage>,
    by_url: HashMap<CanonicalUrl, usize>,
}

impl ToyWeb {
    /// Makes the web of `seed`.
    pub fn generate(seed: u64, params: ToyParams) -> Self {
        let lexicon = Lexicon::embedded();
        let params = params.within_bounds(lexicon.hosts.len());
        let mut plan = plan::plan(&lexicon, params, &mut chance(seed, "toy web: pages"));
        links::link(&mut plan, &lexicon, &mut chance(seed, "toy web: links"));
        let urls = plan.pages.iter().map(|page| page.url.clone());
        let by_url = urls.zip(0..).collect();
        Self {
            seed,
            params,
            lexicon,
            hosts: plan.hosts,
            pages: plan.pages,
            by_url,
        }
    }

    /// Every page, also those that no crawler should reach ([`ToyPage::is_crawlable`]).
    pub fn pages(&self) -> &[ToyPage] {
        &self.pages
    }

    /// The page at `url`.
    pub fn page(&self, url: &CanonicalUrl) -> Option<&ToyPage> {
        self.by_url.get(url).and_then(|at| self.pages.get(*at))
    }

    /// The topics, the greatest first, [`GENERAL_TOPIC`] last.
    pub fn topics(&self) -> Vec<&str> {
        let topics = self.lexicon.topics.iter();
        topics.map(|topic| topic.name.as_str()).collect()
    }

    /// The hosts of the web, the faulty ones among them; [`EXAMPLES_HOST`], to which nothing links, is
    /// not.
    pub fn hosts(&self) -> Vec<&str> {
        let mut hosts: Vec<_> = self.hosts.iter().map(|host| host.name.as_str()).collect();
        if self.params.trap {
            hosts.push(TRAP_HOST);
        }
        if self.params.faults {
            hosts.extend([REDIRECT_HOST, BROKEN_HOST]);
        }
        hosts
    }

    /// Three articles on `topic`, on three hosts where there are as many; none for a topic that does
    /// not exist or has no articles.
    pub fn seeds(&self, topic: &str) -> Vec<CanonicalUrl> {
        let mut seeds: Vec<&ToyPage> = Vec::new();
        let articles = || {
            self.pages
                .iter()
                .filter(|page| page.kind == ToyKind::Article && page.topic == topic)
        };
        // Not the first ones, which the listings of a host show first.
        let middle = articles().count() / 2;
        for fresh_hosts_only in [true, false] {
            for page in articles().skip(middle).chain(articles().take(middle)) {
                let taken = |seed: &&ToyPage| {
                    seed.url == page.url || (fresh_hosts_only && seed.host == page.host)
                };
                if seeds.len() < 3 && !seeds.iter().any(taken) {
                    seeds.push(page);
                }
            }
        }
        seeds.into_iter().map(|page| page.url.clone()).collect()
    }

    /// Training examples: each topic's pages that were set apart ([`ToyParams::examples`] of each).
    pub fn examples(&self) -> Vec<(&str, CanonicalUrl)> {
        self.pages
            .iter()
            .filter(|page| page.kind == ToyKind::Example)
            .map(|page| (page.topic.as_str(), page.url.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests;
