//! Which pages there are: hosts with two or three topics at home each, and everything else too.

use rand::RngExt;
use rand::seq::SliceRandom;

use crate::clock::Chance;
use crate::url::CanonicalUrl;

use super::lexicon::{Lexicon, draw};
use super::text;
use super::{EXAMPLES_HOST, ToyKind, ToyPage, ToyParams};

/// Lexicon that a host has a hub for.
const HUBS_A_HOST: usize = 3;
/// Articles on one page of a host's listing.
pub(super) const LISTED_A_PAGE: usize = 40;
/// Pages of a host that are neither article nor listing: front, two of `About`, the hubs.
const FIXED_A_HOST: usize = 3 + HUBS_A_HOST;
/// An article on a topic goes to a host that has it at home with this weight, to another with 1.
const HOME_WEIGHT: u32 = 3;
/// Forbidden pages on a host whose robots.txt forbids some.
const PRIVATE_A_HOST: usize = 4;

/// The pages and hosts, not yet linked.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) params: ToyParams,
    pub(super) hosts: Vec<HostPlan>,
    pub(super) pages: Vec<ToyPage>,
    /// The articles on each topic.
    pub(super) articles_on: Vec<Vec<usize>>,
}

/// One host; the numbers are places in [`Plan::pages`].
#[derive(Clone, Debug, Default)]
pub(super) struct HostPlan {
    pub(super) name: String,
    pub(super) title: String,
    /// Lexicon at home here.
    pub(super) home: Vec<usize>,
    pub(super) front: usize,
    pub(super) about: Vec<usize>,
    pub(super) hubs: Vec<usize>,
    pub(super) listings: Vec<usize>,
    pub(super) articles: Vec<usize>,
    pub(super) private: Vec<usize>,
}

/// Whether the host at this place has a robots.txt that forbids `/private/`.
pub(super) fn has_rules(host: usize) -> bool {
    host % 4 == 1
}

/// Lays out the pages of a web.
pub(super) fn plan(lexicon: &Lexicon, params: ToyParams, rng: &mut Chance) -> Plan {
    let mut plan = Plan {
        params,
        hosts: Vec::new(),
        pages: Vec::new(),
        articles_on: vec![Vec::new(); lexicon.topics.len()],
    };
    for name in choose_hosts(lexicon, params.hosts) {
        let home = home_topics(lexicon, rng);
        plan.hosts.push(HostPlan {
            name: lexicon.hosts[name].name.clone(),
            title: lexicon.hosts[name].title.clone(),
            home,
            ..HostPlan::default()
        });
    }
    for host in 0..plan.hosts.len() {
        plan.add_fixed(lexicon, host, rng);
    }
    plan.add_articles(lexicon, rng);
    for host in 0..plan.hosts.len() {
        plan.add_listings(lexicon, host);
        if params.faults && has_rules(host) {
            plan.add_private(lexicon, host, rng);
        }
    }
    plan.add_examples(lexicon, rng);
    plan
}

/// The first hosts of the file; the last of them, the slow one, is always there.
fn choose_hosts(lexicon: &Lexicon, count: usize) -> impl Iterator<Item = usize> {
    let last = lexicon.hosts.len() - 1;
    (0..count - 1).chain([last])
}

/// Different topics by their share.
fn home_topics(lexicon: &Lexicon, rng: &mut Chance) -> Vec<usize> {
    let mut home: Vec<usize> = Vec::new();
    while home.len() < HUBS_A_HOST {
        let weight = |topic: usize| {
            if home.contains(&topic) {
                0
            } else {
                lexicon.topics[topic].share
            }
        };
        let topic = lexicon.draw(weight, rng);
        home.push(topic);
    }
    home
}

impl Plan {
    fn add_fixed(&mut self, lexicon: &Lexicon, host: usize, rng: &mut Chance) {
        let general = lexicon.general();
        let title = self.hosts[host].title.clone();
        self.hosts[host].front = self.add(lexicon, host, ToyKind::Front, general, "/", title);
        for (path, title) in [("/about.html", "About us"), ("/contact.html", "Contact")] {
            let about = self.add(
                lexicon,
                host,
                ToyKind::About,
                general,
                path,
                title.to_owned(),
            );
            self.hosts[host].about.push(about);
        }
        let home = self.hosts[host].home.clone();
        for (at, &topic) in home.iter().enumerate() {
            let path = format!("/hub/{}.html", at + 1);
            let title = text::hub_title(lexicon, topic, rng);
            let hub = self.add(lexicon, host, ToyKind::Hub, topic, &path, title);
            self.pages[hub].other_topic_at = home[(at + 1) % home.len()];
            self.hosts[host].hubs.push(hub);
        }
    }

    fn add_articles(&mut self, lexicon: &Lexicon, rng: &mut Chance) {
        let hosts = self.hosts.len();
        let rest = self.params.pages.saturating_sub(hosts * FIXED_A_HOST);
        // A host's last listing page is half full on average.
        let listings = rest / (LISTED_A_PAGE + 1) + hosts / 2;
        let articles = rest - listings.min(rest);
        let shares: u32 = lexicon.topics.iter().map(|topic| topic.share).sum();
        let mut owed = 0;
        for topic in 0..lexicon.general() {
            // Rounding is carried on, so that the counts add up.
            owed += articles * lexicon.topics[topic].share as usize;
            for _ in 0..owed / shares as usize {
                self.add_article(lexicon, topic, rng);
            }
            owed %= shares as usize;
        }
        // They were made topic by topic; no list should show it.
        for host in &mut self.hosts {
            host.articles.shuffle(rng);
        }
    }

    fn add_article(&mut self, lexicon: &Lexicon, topic: usize, rng: &mut Chance) {
        let weights: Vec<u32> = self
            .hosts
            .iter()
            .map(|host| {
                if host.home.contains(&topic) {
                    HOME_WEIGHT
                } else {
                    1
                }
            })
            .collect();
        let host = draw(&weights, rng).unwrap_or(0);
        let title = text::title(lexicon, topic, rng);
        // Every other host names the topic in its paths, the others do not.
        let section = match host % 2 {
            0 => lexicon.topics[topic].name.as_str(),
            _ => "notes",
        };
        let path = format!(
            "/{section}/{}-{}.html",
            text::slug(&title),
            self.pages.len()
        );
        let article = self.add(lexicon, host, ToyKind::Article, topic, &path, title);
        self.hosts[host].articles.push(article);
        self.articles_on[topic].push(article);
    }

    fn add_listings(&mut self, lexicon: &Lexicon, host: usize) {
        let parts = self.hosts[host].articles.len().div_ceil(LISTED_A_PAGE);
        for part in 1..=parts {
            let path = format!("/all/{part}.html");
            let title = format!("Everything, part {part} of {parts}");
            let general = lexicon.general();
            let listing = self.add(lexicon, host, ToyKind::Listing, general, &path, title);
            self.hosts[host].listings.push(listing);
        }
    }

    fn add_private(&mut self, lexicon: &Lexicon, host: usize, rng: &mut Chance) {
        for _ in 0..PRIVATE_A_HOST {
            let topic = lexicon.draw(|topic| lexicon.topics[topic].share, rng);
            let title = text::title(lexicon, topic, rng);
            let path = format!("/private/{}-{}.html", text::slug(&title), self.pages.len());
            let private = self.add(lexicon, host, ToyKind::Private, topic, &path, title);
            self.hosts[host].private.push(private);
        }
    }

    /// Examples belong to no host of the plan; they look like pages of each in turn.
    fn add_examples(&mut self, lexicon: &Lexicon, rng: &mut Chance) {
        for topic in 0..lexicon.topics.len() {
            for number in 0..self.params.examples {
                let host = rng.random_range(0..self.hosts.len());
                let title = text::title(lexicon, topic, rng);
                let name = &lexicon.topics[topic].name;
                let url = format!("http://{EXAMPLES_HOST}/{name}/{number}.html");
                self.push(lexicon, host, ToyKind::Example, topic, &url, title);
            }
        }
    }

    fn add(
        &mut self,
        lexicon: &Lexicon,
        host: usize,
        kind: ToyKind,
        topic: usize,
        path: &str,
        title: String,
    ) -> usize {
        let url = format!("http://{}{path}", self.hosts[host].name);
        self.push(lexicon, host, kind, topic, &url, title)
    }

    fn push(
        &mut self,
        lexicon: &Lexicon,
        host: usize,
        kind: ToyKind,
        topic: usize,
        url: &str,
        title: String,
    ) -> usize {
        self.pages.push(ToyPage {
            url: CanonicalUrl::parse(url).expect("made of plain names and numbers"),
            topic: lexicon.topics[topic].name.clone(),
            kind,
            title,
            host,
            topic_at: topic,
            other_topic_at: topic,
            blocks: Vec::new(),
        });
        self.pages.len() - 1
    }
}
