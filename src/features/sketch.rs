//! A page, hashed: all that the features of its links are made of, whatever the window.

use std::collections::HashMap;

use crate::features::key::term_hash;
use crate::features::url_terms::UrlTerms;
use crate::features::vector::LEAF_WORDS_MAX;
use crate::page::{LeafSpan, Link, LinkElement, Page};
use crate::url::{CanonicalUrl, UrlId};

/// What the critic holds of single words: ln (Pr(t | focus) / Pr(t | rest)), by [`term_hash`].
///
/// With it the few words in and around a link can be judged as if they were a page (the anchor score
/// of Hersovici et al., The shark-search algorithm, WWW 1998), before anything was learned.
#[derive(Clone, Debug, Default)]
pub struct TermWeights(HashMap<u64, f32>);

impl TermWeights {
    /// Takes words with their weights.
    pub fn new<T: AsRef<str>>(words: impl IntoIterator<Item = (T, f32)>) -> Self {
        let hashed = words.into_iter();
        Self(
            hashed
                .map(|(word, weight)| (term_hash(word.as_ref()), weight))
                .collect(),
        )
    }

    /// 0 for a word that the critic does not know.
    fn of(&self, term: u64) -> f32 {
        self.0.get(&term).copied().unwrap_or(0.0)
    }
}

/// What the critic and the crawl know of the source page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceFacts {
    /// ln (R(u) / (1 - R(u))).
    pub log_odds: f32,
    /// Hashes ([`term_hash`]) of its best class's name and of the names of all topics above that.
    pub classes: Vec<u64>,
    /// Links between a seed and the page.
    pub depth: u16,
}

impl SourceFacts {
    /// The facts of a page whose best class is `class`, a path such as `Science/Biology`.
    pub fn new(log_odds: f32, class: Option<&str>, depth: u16) -> Self {
        let mut classes = Vec::new();
        let mut topic = class;
        while let Some(name) = topic {
            classes.push(term_hash(name));
            topic = name.rsplit_once('/').map(|(above, _)| above);
        }
        Self {
            log_odds,
            classes,
            depth,
        }
    }
}

/// A page without its text: about 10 bytes a word and 100 a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageSketch {
    /// What is known of the page.
    pub facts: SourceFacts,
    /// Its links, in document order.
    pub links: Vec<LinkSketch>,
    /// Fingerprint of the page's own URL.
    pub id: UrlId,
    /// Hash of each distinct word.
    pub(super) terms: Vec<u64>,
    /// The words of all leaves, as indices into `terms`.
    pub(super) words: Vec<u32>,
    /// For each leaf the end of its words.
    pub(super) leaf_ends: Vec<u32>,
    /// For each leaf what the critic holds of its first words, and of its last ones: of those that count for
    /// a link before it or after it.
    leaf_weights: Vec<[f32; 2]>,
    pub(super) title: Vec<u32>,
    host: u64,
    folder: Option<u64>,
}

/// One link of a [`PageSketch`].
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSketch {
    /// Fingerprint of its target.
    pub target: UrlId,
    /// Its leaves are `first_leaf..=last_leaf`.
    pub first_leaf: u32,
    /// See `first_leaf`.
    pub last_leaf: u32,
    /// Hash of the target's host.
    pub host: u64,
    /// Hash of the target's host and the first folders of its path, if it has any.
    pub folder: Option<u64>,
    /// It stays on the host of its page.
    pub same_host: bool,
    /// It leads to its own page.
    pub is_self: bool,
    /// What stands at this place of the page, as a hash: the target, the elements around and the text.
    /// Links of a template have it in common.
    pub block: u64,
    /// The critic's weights of the words in the target's path and query, added up.
    pub url_weight: f32,
    pub(super) url: UrlTerms,
    pub(super) heading: Option<LeafSpan>,
    /// Column and row.
    pub(super) table_heads: [Option<LeafSpan>; 2],
    pub(super) attributes: Vec<u64>,
    pub(super) tags: Vec<u64>,
    /// Element, nofollow and the like, as small numbers.
    pub(super) kinds: Vec<u64>,
}

impl PageSketch {
    /// Hashes `page`, which was found at `url`; `targets` are the fingerprints of its links' targets.
    pub fn new(url: &CanonicalUrl, page: &Page, facts: SourceFacts, weights: &TermWeights) -> Self {
        let own = UrlTerms::of(url);
        let id = url.id();
        let links = page
            .links
            .iter()
            .map(|link| link_sketch(link, id, &own, weights));
        let terms: Vec<u64> = page.vocabulary.iter().map(|word| term_hash(word)).collect();
        let mut links: Vec<LinkSketch> = links.collect();
        for link in &mut links {
            link.block = block_of(link, page, &terms);
        }
        let mut sketch = Self {
            facts,
            links,
            id,
            terms,
            words: page.words.clone(),
            leaf_ends: page.leaf_ends.clone(),
            leaf_weights: Vec::new(),
            title: page.title_words.clone(),
            host: own.host,
            folder: own.prefixes.last().copied(),
        };
        sketch.weigh_leaves(weights);
        sketch
    }

    fn weigh_leaves(&mut self, weights: &TermWeights) {
        let weights: Vec<f32> = self.terms.iter().map(|term| weights.of(*term)).collect();
        let sum = |words: &[u32]| words.iter().map(|word| weights[*word as usize]).sum();
        let leaves = 0..self.leaf_ends.len();
        let both = leaves.map(|leaf| [0, -1].map(|offset| sum(self.near_words(offset, leaf))));
        self.leaf_weights = both.collect();
    }

    /// Hash of the page's host.
    pub fn host(&self) -> u64 {
        self.host
    }

    /// Hash of the page's host and the first folders of its path, if it has any.
    pub fn folder(&self) -> Option<u64> {
        self.folder
    }

    /// What it takes in memory, in bytes, more or less.
    pub fn bytes(&self) -> usize {
        let links: usize = self
            .links
            .iter()
            .map(|link| {
                size_of::<LinkSketch>()
                    + 8 * (link.tags.len()
                        + link.kinds.len()
                        + link.attributes.len()
                        + link.url.tokens.len()
                        + link.url.prefixes.len())
            })
            .sum();
        size_of::<Self>()
            + 8 * (self.terms.len() + self.leaf_weights.len())
            + 4 * (self.words.len() + self.leaf_ends.len() + self.title.len())
            + links
    }

    /// Where the words of leaf `leaf` begin; for the leaf after the last, where they all end.
    pub(super) fn leaf_start(&self, leaf: usize) -> usize {
        let before = leaf.checked_sub(1);
        before.map_or(0, |before| self.leaf_ends[before] as usize)
    }

    /// The words of leaf `leaf`, as indices into `terms`.
    pub(super) fn leaf_words(&self, leaf: usize) -> &[u32] {
        &self.words[self.leaf_start(leaf)..self.leaf_start(leaf + 1)]
    }

    /// What the critic would say of the words inside of link `link` alone, and of those at most
    /// `d_max` leaves around it: sums of its weights.
    pub fn critic_near(&self, link: usize, d_max: u8) -> (f32, f32) {
        let (mut inside, mut around) = (0.0, 0.0);
        let leaves = self
            .links
            .get(link)
            .map(|link| self.near_leaves(link, d_max));
        for (offset, leaf) in leaves.into_iter().flatten() {
            let [first, last] = self.leaf_weights[leaf];
            match offset {
                0 => inside += first,
                1.. => around += first,
                _ => around += last,
            }
        }
        (inside, around)
    }
}

/// The kinds of a link, by number and in words: the numbers are part of keys, never renumber.
const KIND_ELEMENT: u64 = 0;
const KIND_NOFOLLOW: u64 = 10;
const KIND_SAME_HOST: u64 = 20;
const KIND_SAME_DOMAIN: u64 = 21;
const KIND_OTHER_DOMAIN: u64 = 22;
const KIND_QUERY: u64 = 30;
const KIND_DEPTH: u64 = 40;
/// Paths of this many folders or more are one kind.
const FOLDERS_MOST: u64 = 6;

/// All kinds, as the hashes that keys are made of, with words.
pub(super) fn kinds() -> impl Iterator<Item = (u64, String)> {
    let fixed = [
        (KIND_ELEMENT, "an anchor"),
        (KIND_ELEMENT + 1, "an area of an image map"),
        (KIND_ELEMENT + 2, "a frame"),
        (KIND_ELEMENT + 3, "a refresh"),
        (KIND_NOFOLLOW, "nofollow"),
        (KIND_SAME_HOST, "to the same host"),
        (KIND_SAME_DOMAIN, "to another host of the domain"),
        (KIND_OTHER_DOMAIN, "to another domain"),
        (KIND_QUERY, "the URL has a query"),
    ];
    let fixed = fixed.map(|(kind, words)| (kind, words.to_owned()));
    let folders = (0..=FOLDERS_MOST).map(|depth| {
        let more = if depth == FOLDERS_MOST {
            " or more"
        } else {
            ""
        };
        (
            KIND_DEPTH + depth,
            format!("the URL's path has {depth}{more} folders"),
        )
    });
    let all = fixed.into_iter().chain(folders);
    all.map(|(kind, words)| (kind_hash(kind), words))
}

/// Small numbers have to differ in the high bits, which a key keeps.
fn kind_hash(kind: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64(&kind.to_le_bytes())
}

/// See [`LinkSketch::block`].
fn block_of(link: &LinkSketch, page: &Page, terms: &[u64]) -> u64 {
    let leaves = link.first_leaf as usize..=link.last_leaf as usize;
    let leaves = leaves.filter(|leaf| *leaf < page.leaf_ends.len());
    let words = leaves.flat_map(|leaf| page.leaf_words(leaf).iter().take(LEAF_WORDS_MAX));
    let words = words.map(|word| terms[*word as usize]);
    let all = link.tags.iter().copied().chain(words);
    all.fold(link.target.0, |block, part| {
        (block.rotate_left(9) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

fn link_sketch(link: &Link, source: UrlId, own: &UrlTerms, weights: &TermWeights) -> LinkSketch {
    let url = UrlTerms::of(&link.target);
    let element = match link.element {
        LinkElement::Anchor => 0,
        LinkElement::Area => 1,
        LinkElement::Frame => 2,
        LinkElement::Refresh => 3,
    };
    let same_host = url.host == own.host;
    let place = match (same_host, url.domain == own.domain) {
        (true, _) => KIND_SAME_HOST,
        (false, true) => KIND_SAME_DOMAIN,
        (false, false) => KIND_OTHER_DOMAIN,
    };
    let mut kinds = vec![
        KIND_ELEMENT + element,
        place,
        KIND_DEPTH + (url.depth as u64).min(FOLDERS_MOST),
    ];
    kinds.extend(link.nofollow.then_some(KIND_NOFOLLOW));
    kinds.extend(url.has_query.then_some(KIND_QUERY));
    for kind in &mut kinds {
        *kind = kind_hash(*kind);
    }
    let target = link.target.id();
    LinkSketch {
        target,
        first_leaf: link.first_leaf,
        last_leaf: link.last_leaf,
        host: url.host,
        folder: url.prefixes.last().copied(),
        same_host,
        is_self: target == source,
        url_weight: url.tokens.iter().map(|token| weights.of(*token)).sum(),
        block: 0,
        heading: link.context.heading,
        table_heads: [link.context.column_head, link.context.row_head],
        attributes: (link.context.attributes.iter())
            .map(|token| term_hash(token))
            .collect(),
        tags: link.tag_path.iter().map(|tag| term_hash(tag)).collect(),
        kinds,
        url,
    }
}
