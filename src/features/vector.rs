//! The sparse vector of one link.

use crate::features::key::{Key, Namespace, key};
use crate::features::sketch::{LinkSketch, PageSketch};
use crate::features::spec::FeatureSpec;
use crate::page::LeafSpan;

/// Words of one leaf that are taken, those nearest to the link: a link in a long paragraph has its
/// context within a sentence or two.
pub(super) const LEAF_WORDS_MAX: usize = 64;
/// Words of the title, of a heading or of a table head that are taken.
const TITLE_WORDS_MAX: usize = 16;
/// Enclosing elements that are taken.
const TAGS_MAX: usize = 4;

/// Features by key, with their values. A key may stand more than once: its values add up.
///
/// The values of each group are scaled so that their squares add up to about one, whatever the length
/// of the text, so that no group shouts the others down.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkVector {
    /// The keys.
    pub keys: Vec<Key>,
    /// The value of each.
    pub values: Vec<f32>,
}

impl LinkVector {
    /// Empties it, and keeps its memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
    }

    /// Adds one feature.
    pub fn push(&mut self, key: Key, value: f32) {
        self.keys.push(key);
        self.values.push(value);
    }

    /// How many features.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Keys with their values.
    pub fn iter(&self) -> impl Iterator<Item = (Key, f32)> + '_ {
        self.keys.iter().copied().zip(self.values.iter().copied())
    }
}

/// The value of each of `count` features whose squares add up to the square of `total`.
fn each(total: f32, count: usize) -> f32 {
    total / (count.max(1) as f32).sqrt()
}

/// The range that an offset falls into: inside, next to it, near, far, on either side.
fn range_of(offset: i8) -> i8 {
    let range = match offset.unsigned_abs() {
        0 => 0,
        1 => 1,
        2..=3 => 2,
        _ => 3,
    };
    if offset < 0 { -range } else { range }
}

/// The hash of a link's whole text, with one more word at its end.
pub(super) fn whole_with(whole: u64, term: u64) -> u64 {
    whole.rotate_left(9) ^ term
}

impl PageSketch {
    /// Writes the static features of link `link` to `vector`, which is emptied first.
    pub fn vector(&self, link: usize, spec: &FeatureSpec, vector: &mut LinkVector) {
        vector.clear();
        self.for_each_feature(link, spec, &mut |key, value| vector.push(key, value));
    }

    /// Calls `take` with each static feature of link `link` and its value.
    pub fn for_each_feature(
        &self,
        link: usize,
        spec: &FeatureSpec,
        take: &mut impl FnMut(Key, f32),
    ) {
        let Some(link) = self.links.get(link) else {
            return;
        };
        self.give_text(link, spec, take);
        if spec.has(Namespace::SourceClass) {
            let value = each(1.0, self.facts.classes.len());
            for class in &self.facts.classes {
                take(key(Namespace::SourceClass, 0, *class), value);
            }
        }
        self.give_title(spec, take);
        self.give_heads(link, spec, take);
        give_url(link, spec, take);
        give_markup(link, spec, take);
    }

    fn give_text(&self, link: &LinkSketch, spec: &FeatureSpec, take: &mut impl FnMut(Key, f32)) {
        let text = spec.has(Namespace::Text);
        let ranges = spec.has(Namespace::TextRange);
        let anchor = spec.has(Namespace::AnchorText);
        if !(text || ranges || anchor) {
            return;
        }
        let near = self.near_leaves(link, spec.d_max());
        let words = near.map(|(offset, leaf)| self.near_words(offset, leaf).len());
        let words: usize = words.sum();
        let (of_text, of_ranges) = (each(1.0, words), each(1.0, 2 * words));
        let mut whole = 0_u64;
        for (offset, leaf) in self.near_leaves(link, spec.d_max()) {
            let shown = if spec.has_offsets() { offset } else { 0 };
            let range = range_of(offset);
            for word in self.near_words(offset, leaf) {
                let term = self.terms[*word as usize];
                if text {
                    take(key(Namespace::Text, shown, term), of_text);
                }
                if ranges {
                    take(key(Namespace::TextRange, range, term), of_ranges);
                    take(key(Namespace::TextNear, 0, term), of_ranges);
                }
                if offset == 0 {
                    whole = whole_with(whole, term);
                }
            }
        }
        if anchor && !self.leaf_ends.is_empty() {
            take(key(Namespace::AnchorText, 0, whole), 0.5);
        }
    }

    /// The link's own leaves and those at most `d_max` away, with their offsets.
    pub(super) fn near_leaves(
        &self,
        link: &LinkSketch,
        d_max: u8,
    ) -> impl Iterator<Item = (i8, usize)> {
        let leaves = self.leaf_ends.len();
        let last = leaves.saturating_sub(1);
        let (l, r) = (
            (link.first_leaf as usize).min(last),
            (link.last_leaf as usize).min(last),
        );
        let window = 1..=d_max.cast_signed();
        let before = window.clone().zip((0..l).rev());
        let before = before.map(|(distance, leaf)| (-distance, leaf));
        let inside = (l..(r + 1).min(leaves)).map(|leaf| (0, leaf));
        before.chain(inside).chain(window.zip(r + 1..leaves))
    }

    /// The words of a leaf that count at this offset: those nearest to the link.
    pub(super) fn near_words(&self, offset: i8, leaf: usize) -> &[u32] {
        let words = self.leaf_words(leaf);
        let most = words.len().min(LEAF_WORDS_MAX);
        if offset < 0 {
            &words[words.len() - most..]
        } else {
            &words[..most]
        }
    }

    fn give_title(&self, spec: &FeatureSpec, take: &mut impl FnMut(Key, f32)) {
        if spec.has(Namespace::SourceTitle) {
            let words = &self.title[..self.title.len().min(TITLE_WORDS_MAX)];
            let value = each(0.5, words.len());
            for word in words {
                let term = self.terms[*word as usize];
                take(key(Namespace::SourceTitle, 0, term), value);
            }
        }
    }

    fn give_heads(&self, link: &LinkSketch, spec: &FeatureSpec, take: &mut impl FnMut(Key, f32)) {
        if spec.has(Namespace::Heading) {
            let words = self.span_words(link.heading);
            let value = each(0.5, words.len());
            for word in words {
                let term = self.terms[*word as usize];
                take(key(Namespace::Heading, 0, term), value);
            }
        }
        if spec.has(Namespace::TableHead) {
            let heads = link.table_heads.map(|span| self.span_words(span));
            let value = each(0.5, heads[0].len() + heads[1].len());
            for (offset, words) in (0..).zip(heads) {
                for word in words {
                    let term = self.terms[*word as usize];
                    take(key(Namespace::TableHead, offset, term), value);
                }
            }
        }
    }

    /// The first words of these leaves.
    fn span_words(&self, span: Option<LeafSpan>) -> &[u32] {
        let leaves = span.map_or(0..0, |span| span.first as usize..span.last as usize + 1);
        let leaves = leaves.start..leaves.end.min(self.leaf_ends.len());
        if leaves.is_empty() {
            return &[];
        }
        let words = &self.words[self.leaf_start(leaves.start)..self.leaf_start(leaves.end)];
        &words[..words.len().min(TITLE_WORDS_MAX)]
    }
}

fn give_url(link: &LinkSketch, spec: &FeatureSpec, take: &mut impl FnMut(Key, f32)) {
    if spec.has(Namespace::UrlToken) {
        let value = each(1.0, link.url.tokens.len());
        for token in &link.url.tokens {
            take(key(Namespace::UrlToken, 0, *token), value);
        }
    }
    if spec.has(Namespace::TargetHost) {
        let value = each(1.0, 2 + link.url.prefixes.len());
        take(key(Namespace::TargetHost, 0, link.url.host), value);
        take(key(Namespace::TargetHost, 1, link.url.domain), value);
        for prefix in &link.url.prefixes {
            take(key(Namespace::PathPrefix, 0, *prefix), value);
        }
    }
}

fn give_markup(link: &LinkSketch, spec: &FeatureSpec, take: &mut impl FnMut(Key, f32)) {
    if spec.has(Namespace::TagPath) {
        let tags = &link.tags[..link.tags.len().min(TAGS_MAX)];
        let value = each(0.5, tags.len());
        for (level, tag) in (0..).zip(tags) {
            take(key(Namespace::TagPath, level, *tag), value);
        }
    }
    if spec.has(Namespace::Attribute) {
        let value = each(0.5, link.attributes.len());
        for token in &link.attributes {
            take(key(Namespace::Attribute, 0, *token), value);
        }
    }
    if spec.has(Namespace::LinkKind) {
        let value = each(0.5, link.kinds.len() + 1);
        for kind in &link.kinds {
            take(key(Namespace::LinkKind, 0, *kind), value);
        }
        take(key(Namespace::LinkKind, 1, link.url.extension), value);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::features::{SourceFacts, TermWeights, term_hash};
    use crate::page::{DocumentKind, Page, PageLimits, PageSource};
    use crate::url::CanonicalUrl;

    fn sketch(html: &str) -> PageSketch {
        let url = CanonicalUrl::parse("http://a.test/dir/page.html").unwrap();
        let source = PageSource {
            url: &url,
            content_type: Some("text/html; charset=utf-8"),
            body: html.as_bytes(),
        };
        let page = Page::parse(&source, DocumentKind::Html, &PageLimits::default());
        let facts = SourceFacts::new(2.0, Some("Science/Biology"), 1);
        let weights = TermWeights::new([("fish", 2.0), ("cars", -1.0), ("dir", 0.5)]);
        PageSketch::new(&url, &page, facts, &weights)
    }

    fn keys(sketch: &PageSketch, link: usize, spec: FeatureSpec) -> Vec<Key> {
        let mut vector = LinkVector::default();
        sketch.vector(link, &spec, &mut vector);
        assert_eq!(vector.keys.len(), vector.values.len());
        vector.keys
    }

    fn text(word: &str, offset: i8) -> Key {
        key(Namespace::Text, offset, term_hash(word))
    }

    /// Leaves: `far`, `near`, then the link's two (`big`, `fish`), `after`, a br, `last`.
    const PAGE: &str = "<p>far<i>near</i><a href='/dir/x'>big <b>fish</b></a>after<br>last</p>";

    #[test]
    fn a_term_stands_at_its_distance_in_leaves() {
        let spec = FeatureSpec::default().with_groups(["text"]).unwrap();
        let expected = [
            text("near", -1),
            text("far", -2),
            text("big", 0),
            text("fish", 0),
            text("after", 1),
            // The br is a leaf as well.
            text("last", 3),
        ];
        assert_eq!(keys(&sketch(PAGE), 0, spec), expected);
    }

    #[test]
    fn the_window_bounds_what_is_seen() {
        let spec = FeatureSpec::default().with_groups(["text"]).unwrap();
        let inside = [text("big", 0), text("fish", 0)];
        assert_eq!(keys(&sketch(PAGE), 0, spec.with_d_max(0).unwrap()), inside);
        let bag = keys(
            &sketch(PAGE),
            0,
            spec.with_d_max(1).unwrap().without_offsets(),
        );
        let words = ["near", "big", "fish", "after"];
        assert_eq!(bag, words.map(|word| text(word, 0)));
    }

    #[test]
    fn classes_are_there_with_their_ancestors() {
        let spec = FeatureSpec::default().with_groups(["class"]).unwrap();
        let class = |name| key(Namespace::SourceClass, 0, term_hash(name));
        let expected = [class("Science/Biology"), class("Science")];
        assert_eq!(keys(&sketch(PAGE), 0, spec), expected);
    }

    #[test]
    fn the_critic_is_asked_for_the_words_in_around_and_of_the_url() {
        let sketch = sketch("<p>cars</p><a href='/dir/fish'>fish fish</a>");
        assert_eq!(sketch.critic_near(0, 5), (4.0, -1.0));
        assert_eq!(sketch.critic_near(0, 0), (4.0, 0.0));
        assert_eq!(sketch.critic_near(9, 5), (0.0, 0.0));
        assert!((sketch.links[0].url_weight - 2.5).abs() < 1e-6);
    }

    #[test]
    fn headings_table_heads_and_attributes_are_features_of_the_links_below() {
        let sketch = sketch(
            "<h2>Sea</h2><table><tr><th>Name<th>Notes<tr><td>Ada<td><a rel=next href=x>x</a></table>",
        );
        let of = |group| {
            keys(
                &sketch,
                0,
                FeatureSpec::default().with_groups([group]).unwrap(),
            )
        };
        let heading = key(Namespace::Heading, 0, term_hash("sea"));
        let column = key(Namespace::TableHead, 0, term_hash("notes"));
        let row = key(Namespace::TableHead, 1, term_hash("ada"));
        let attribute = key(Namespace::Attribute, 0, term_hash("rel:next"));
        assert_eq!(of("heading"), [heading]);
        assert_eq!(of("table"), [column, row]);
        assert_eq!(of("attributes"), [attribute]);
    }

    #[test]
    fn links_of_a_template_are_alike_and_others_are_not() {
        let block = |html| sketch(html).links[0].block;
        let menu = block("<ul class=m><li><a href=/x>home</a></ul><p>one");
        assert_eq!(
            menu,
            block("<ul class=m><li><a href=/x>home</a></ul><p>other")
        );
        assert_ne!(menu, block("<ul class=m><li><a href=/y>home</a></ul>"));
        assert_ne!(menu, block("<ul class=m><li><a href=/x>house</a></ul>"));
        assert_ne!(menu, block("<ul class=n><li><a href=/x>home</a></ul>"));
    }

    #[test]
    fn a_link_that_is_not_there_has_no_features() {
        assert!(keys(&sketch(PAGE), 1, FeatureSpec::default()).is_empty());
    }

    proptest! {
        #[test]
        fn whatever_the_page_vectors_are_bounded(
            body in "(<p>|</p>|<a href='[a-z/0-9?=.]{0,9}'>|</a>|<br>|[a-z]{1,5} ){0,60}",
            d_max in 0_i64..=15,
        ) {
            let sketch = sketch(&body);
            let spec = FeatureSpec::default().with_groups(["all"]).unwrap();
            let spec = spec.with_d_max(d_max).unwrap();
            let mut vector = LinkVector::default();
            for link in 0..sketch.links.len() {
                sketch.vector(link, &spec, &mut vector);
                // At most a unit of squares from each of five groups, a quarter from seven.
                let squares: f32 = vector.values.iter().map(|value| value * value).sum();
                prop_assert!(squares < 6.76, "{}", squares);
                for key in &vector.keys {
                    prop_assert!(Namespace::of(*key).is_some());
                }
            }
        }
    }
}
