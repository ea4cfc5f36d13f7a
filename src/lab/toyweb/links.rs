//! Who links to whom, block by block.

use rand::RngExt;

use crate::clock::Chance;

use super::lexicon::{Lexicon, pick};
use super::plan::{LISTED_A_PAGE, Plan};
use super::{BROKEN_HOST, REDIRECT_HOST, TRAP_HOST, ToyKind};

/// In percent: a link of the topical block leads to the page's own topic.
const RELATED_SAME_PERCENT: u32 = 90;
/// The same for a link in the text.
const INLINE_SAME_PERCENT: u32 = 75;
/// The same for a hub's topical list.
const HUB_SAME_PERCENT: u32 = 90;
/// In percent: a topical link stays on its host if it can.
const STAYS_PERCENT: u32 = 35;
/// Articles of a host that its boxes name again and again.
const POPULAR: usize = 8;
/// Front pages of the next hosts that a navigation bar names.
const RING: usize = 3;
/// In percent: a link says no more than "read more".
const MUTE_PERCENT: u32 = 12;

/// What a block of links is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// The same on each page of a host.
    Navigation,
    /// Spread over the text.
    Inline,
    /// A list under a heading, about the page's topic.
    Related,
    /// A box with whatever else there is.
    Around,
    /// A table of pages.
    Table,
}

/// A block of links.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) kind: BlockKind,
    pub(super) heading: String,
    pub(super) links: Vec<Link>,
}

/// A link as it will stand in the page.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) href: String,
    pub(super) text: String,
}

/// Gives every page its blocks.
pub(super) fn link(plan: &mut Plan, lexicon: &Lexicon, rng: &mut Chance) {
    for page in 0..plan.pages.len() {
        let linker = Linker {
            plan,
            lexicon,
            page,
        };
        let mut blocks = vec![linker.navigation()];
        match plan.pages[page].kind {
            ToyKind::Article | ToyKind::Private | ToyKind::Example => {
                blocks.extend(linker.article(rng));
            }
            ToyKind::Hub => blocks.extend(linker.hub(rng)),
            ToyKind::Front => blocks.extend(linker.front(rng)),
            ToyKind::About => blocks.extend(linker.about(rng)),
            ToyKind::Listing => blocks.push(linker.listing()),
        }
        plan.pages[page].blocks = blocks;
    }
}

/// Makes the blocks of one page.
struct Linker<'a> {
    plan: &'a Plan,
    lexicon: &'a Lexicon,
    page: usize,
}

impl Linker<'_> {
    fn host(&self) -> usize {
        self.plan.pages[self.page].host
    }

    fn topic(&self) -> usize {
        self.plan.pages[self.page].topic_at
    }

    fn navigation(&self) -> Block {
        let host = &self.plan.hosts[self.host()];
        let mut links = vec![self.named(host.front, "Home")];
        links.extend(host.hubs.first().map(|hub| self.to(*hub)));
        links.extend(
            host.listings
                .first()
                .map(|all| self.named(*all, "Everything")),
        );
        links.extend(host.about.first().map(|about| self.to(*about)));
        let hosts = self.plan.hosts.len();
        links.extend(
            (1..=RING).map(|on| self.to(self.plan.hosts[(self.host() + on) % hosts].front)),
        );
        if self.plan.params.trap && self.host().is_multiple_of(3) {
            links.push(Link::new(
                &format!("http://{TRAP_HOST}/month/1"),
                "Calendar",
            ));
        }
        block(BlockKind::Navigation, "", links)
    }

    fn article(&self, rng: &mut Chance) -> Vec<Block> {
        let inline = rng.random_range(1..=3);
        let related = rng.random_range(4..=6);
        let (heading, box_heading) = self.headings();
        vec![
            block(
                BlockKind::Inline,
                "",
                self.topical(inline, INLINE_SAME_PERCENT, self.topic(), rng),
            ),
            block(
                BlockKind::Related,
                heading,
                self.topical(related, RELATED_SAME_PERCENT, self.topic(), rng),
            ),
            block(BlockKind::Around, box_heading, self.around(rng)),
        ]
    }

    fn hub(&self, rng: &mut Chance) -> Vec<Block> {
        let other = self.plan.pages[self.page].other_topic_at;
        let own = rng.random_range(10..=16);
        let others = rng.random_range(6..=10);
        let listed = self.topical(own, HUB_SAME_PERCENT, self.topic(), rng);
        let besides = self.topical(others, HUB_SAME_PERCENT, other, rng);
        let name = |topic: usize| super::text::capital(&self.lexicon.topics[topic].name);
        vec![
            block(BlockKind::Related, &name(self.topic()), listed),
            block(BlockKind::Table, &name(other), besides),
            block(BlockKind::Around, self.headings().1, self.around(rng)),
        ]
    }

    fn front(&self, rng: &mut Chance) -> Vec<Block> {
        let host = &self.plan.hosts[self.host()];
        let fresh = (0..25).filter_map(|_| pick(&host.articles, rng).map(|page| self.to(*page)));
        let fresh = block(BlockKind::Table, "What is new", fresh.collect());
        let mut elsewhere = self.neighbours(rng);
        if self.plan.params.faults {
            // Every fault is linked from some front page at least.
            let faults = self.faults();
            for at in [self.host(), self.host() + self.plan.hosts.len()] {
                elsewhere.links.push(faults[at % faults.len()].clone());
            }
        }
        let hubs = host.hubs.iter().map(|hub| self.to(*hub)).collect();
        vec![
            block(BlockKind::Related, "Our link pages", hubs),
            fresh,
            elsewhere,
        ]
    }

    /// The rest of the host's own pages, and its neighbours.
    fn about(&self, rng: &mut Chance) -> Vec<Block> {
        let host = &self.plan.hosts[self.host()];
        let own = host.about.iter().map(|page| self.to(*page));
        vec![
            block(BlockKind::Related, "More about us", own.collect()),
            self.neighbours(rng),
        ]
    }

    fn listing(&self) -> Block {
        let host = &self.plan.hosts[self.host()];
        let part = host.listings.iter().position(|page| *page == self.page);
        let part = part.unwrap_or(0);
        let articles = host.articles.chunks(LISTED_A_PAGE).nth(part);
        let mut links: Vec<Link> = articles
            .unwrap_or_default()
            .iter()
            .map(|page| self.to(*page))
            .collect();
        links.extend(
            host.listings
                .get(part + 1)
                .map(|next| self.named(*next, "Next part")),
        );
        block(BlockKind::Table, "Everything we have", links)
    }

    /// Front pages of other hosts.
    fn neighbours(&self, rng: &mut Chance) -> Block {
        let hosts = self.plan.hosts.len();
        // The next host always, so that every host is found from every other.
        let mut links = vec![self.to(self.plan.hosts[(self.host() + 1) % hosts].front)];
        for _ in 0..2 {
            links.push(self.to(self.plan.hosts[rng.random_range(0..hosts)].front));
        }
        block(BlockKind::Around, "Neighbours", links)
    }

    /// `count` articles, `same_percent` of them on `topic`, the others on any.
    fn topical(
        &self,
        count: usize,
        same_percent: u32,
        topic: usize,
        rng: &mut Chance,
    ) -> Vec<Link> {
        let mut links = Vec::new();
        for _ in 0..count {
            let on = if rng.random_range(0..100) < same_percent {
                topic
            } else {
                self.lexicon.draw(|any| self.lexicon.topics[any].share, rng)
            };
            let there = &self.plan.articles_on[on];
            let here: Vec<usize> = there
                .iter()
                .copied()
                .filter(|page| self.plan.pages[*page].host == self.host())
                .collect();
            let stays = rng.random_range(0..100) < STAYS_PERCENT && !here.is_empty();
            let target = pick(if stays { &here } else { there }, rng);
            links.extend(target.map(|page| self.or_mute(*page, rng)));
        }
        links
    }

    /// What else the host has, and now and then what does not work.
    fn around(&self, rng: &mut Chance) -> Vec<Link> {
        let host = &self.plan.hosts[self.host()];
        let mut links = Vec::new();
        let popular = &host.articles[..host.articles.len().min(POPULAR)];
        for _ in 0..2 {
            links.extend(pick(popular, rng).map(|page| self.to(*page)));
        }
        for _ in 0..rng.random_range(1..=2) {
            links.extend(pick(&host.articles, rng).map(|page| self.or_mute(*page, rng)));
        }
        if self.plan.params.faults && rng.random_range(0..100) < 30 {
            let faults = self.faults();
            let place = rng.random_range(0..=links.len());
            links.extend(pick(&faults, rng).cloned());
            links[place..].rotate_right(1);
        }
        links
    }

    /// One link to each fault that there is.
    fn faults(&self) -> Vec<Link> {
        let host = &self.plan.hosts[self.host()].name;
        let mut faults = vec![
            Link::new(
                &format!("http://{host}/old/{}.html", self.page % 3),
                "The old page",
            ),
            Link::new(
                &format!("http://{host}/files/handbook.pdf"),
                "Handbook (PDF)",
            ),
            Link::new(
                &format!("http://{BROKEN_HOST}/{}", self.page % 4),
                "Our friends",
            ),
            Link::new(
                &format!("http://{REDIRECT_HOST}/chain/{}/1", self.page % 3),
                "Moved",
            ),
            Link::new(&format!("http://{REDIRECT_HOST}/loop/a"), "In circles"),
        ];
        let private = self.plan.hosts.iter().flat_map(|host| &host.private);
        faults.extend(private.map(|page| self.to(*page)));
        faults
    }

    /// What this host writes over its blocks.
    fn headings(&self) -> (&'static str, &'static str) {
        match self.host() % 4 {
            0 => ("Further reading", "From around the village"),
            1 => ("See also", "More from this site"),
            2 => ("Related", "Elsewhere"),
            _ => ("More on this", "You may also like"),
        }
    }

    fn to(&self, page: usize) -> Link {
        self.named(page, &self.plan.pages[page].title)
    }

    /// A link under its title, or one that says nothing.
    fn or_mute(&self, page: usize, rng: &mut Chance) -> Link {
        if rng.random_range(0..100) < MUTE_PERCENT {
            let mute = ["read more", "here", "this page"];
            return self.named(page, mute[rng.random_range(0..mute.len())]);
        }
        self.to(page)
    }

    /// Relative on the page's own host, absolute elsewhere; examples lie on no host of the plan.
    fn named(&self, page: usize, text: &str) -> Link {
        let (from, to) = (&self.plan.pages[self.page], &self.plan.pages[page]);
        let url = to.url.as_str();
        let own = format!("http://{}", self.plan.hosts[to.host].name);
        match url.strip_prefix(&own) {
            Some(path) if from.host == to.host && from.kind != ToyKind::Example => {
                Link::new(path, text)
            }
            _ => Link::new(url, text),
        }
    }
}

impl Link {
    fn new(href: &str, text: &str) -> Self {
        Self {
            href: href.to_owned(),
            text: text.to_owned(),
        }
    }
}

fn block(kind: BlockKind, heading: &str, links: Vec<Link>) -> Block {
    Block {
        kind,
        heading: heading.to_owned(),
        links,
    }
}
