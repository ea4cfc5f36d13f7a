//! What is on the page? Character set, html5ever, leaves, links, words.
//!
//! [`Page::parse`] is pure: bytes and headers in, a [`Page`] out, in bounded time and memory and
//! without recursion, whatever the bytes are. Leaves and offsets are those of DESIGN.md 4.1
//! (Chakrabarti et al., WWW 2002, section 3): any text node, or any element without children,
//! numbered left to right over the repaired tree.

mod arena;
mod charset;
mod context;
#[cfg(test)]
mod golden;
mod guard;
mod guess;
#[cfg(test)]
mod html5lib;
mod kind;
mod markup;
#[cfg(test)]
mod oracle;
mod prescan;
mod quick;
mod reference;
#[cfg(test)]
mod tests;
mod walk;
mod writer;

pub use charset::{Charset, CharsetWay};
pub use kind::DocumentKind;

use crate::url::CanonicalUrl;

/// The enclosing elements that [`Link::tag_path`] names at most.
pub const TAG_PATH_MAX: usize = 8;

/// The tokens that [`LinkContext::attributes`] holds at most.
pub const ATTRIBUTES_MAX: usize = 8;

/// A parsed page: what the critic judges and what the features of its links are made of.
///
/// `Send`, without a DOM: the text is kept as words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The text of `title`, white space folded.
    pub title: String,
    /// Words of the title, as indices into `vocabulary`; a namespace of its own, not a leaf.
    pub title_words: Vec<u32>,
    /// The distinct words of the page, in order of first appearance.
    pub vocabulary: Vec<String>,
    /// The words of all leaves one after another, as indices into `vocabulary`.
    pub words: Vec<u32>,
    /// For each leaf the end of its words in `words` (the start is the end of the leaf before);
    /// an element without children is a leaf without words, except for its `alt` and `title` text.
    pub leaf_ends: Vec<u32>,
    /// The links, in document order.
    pub links: Vec<Link>,
    /// What the page says about itself.
    pub meta: PageMeta,
    /// The name of the character set that the page was decoded with.
    pub charset: &'static str,
    /// Links that were dropped because the page had more than [`PageLimits::links_max`].
    pub links_dropped: u32,
    /// The markup nested too deep or had too many attributes or elements ([`PageLimits`]), so that
    /// some of it was passed over.
    pub flattened: bool,
}

/// One `a`, `area`, `frame` or `iframe` with a target that can be crawled.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Where it points, resolved against the page's base URL.
    pub target: CanonicalUrl,
    /// Its leaves are `first_leaf..=last_leaf`; there is always at least one.
    pub first_leaf: u32,
    /// See `first_leaf`.
    pub last_leaf: u32,
    /// `rel` contains `nofollow`, `ugc` or `sponsored`.
    pub nofollow: bool,
    /// Which element it is.
    pub element: LinkElement,
    /// Up to eight enclosing elements, innermost first, as `tag#id.class` (first class only).
    pub tag_path: Vec<String>,
    /// What stands over it, and what its own markup says.
    pub context: LinkContext,
}

/// What stands over a link, and what its own markup says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkContext {
    /// The nearest heading (`h1` to `h6`) that ends before the link.
    pub heading: Option<LeafSpan>,
    /// The cell above in the first row of the link's table, and the first cell of the link's row, where
    /// these are others than the link's own and short enough to be heads. Rows that are spanned from
    /// above are not looked for.
    pub column_head: Option<LeafSpan>,
    /// See `column_head`.
    pub row_head: Option<LeafSpan>,
    /// The tokens of `rel`, `id` and `class`, as `rel:next`, `id:item-#` (digits are `#`), `class:menu`; at
    /// most [`ATTRIBUTES_MAX`].
    pub attributes: Vec<String>,
}

/// Leaves one after another; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeafSpan {
    /// The first.
    pub first: u32,
    /// The last.
    pub last: u32,
}

/// The element that a link was found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkElement {
    /// `a`
    Anchor,
    /// `area`
    Area,
    /// `frame` or `iframe`
    Frame,
    /// `meta refresh`; its leaf is the first of the page
    Refresh,
}

/// What the page says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageMeta {
    /// `meta robots` (or the crawler's own name) contains `noindex` or `none`.
    pub noindex: bool,
    /// `meta robots` contains `nofollow` or `none`.
    pub nofollow: bool,
    /// `meta robots` contains `noarchive`.
    pub noarchive: bool,
    /// `link rel=canonical`, resolved.
    pub canonical: Option<CanonicalUrl>,
}

/// Bounds on one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLimits {
    /// Elements nested deeper than this are swallowed; their text and links stay (html5ever is
    /// quadratic in depth).
    pub depth_max: usize,
    /// Attributes kept for each tag (html5ever is quadratic in them as well).
    pub attributes_max: usize,
    /// Links kept.
    pub links_max: usize,
    /// Leaves kept; the text after the last is dropped.
    pub leaves_max: usize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self {
            depth_max: 512,
            attributes_max: 64,
            links_max: 5_000,
            leaves_max: 200_000,
        }
    }
}

/// What is parsed: a body with the facts that decide how to read it.
#[derive(Clone, Copy, Debug)]
pub struct PageSource<'a> {
    /// The URL that the body came from (after redirects).
    pub url: &'a CanonicalUrl,
    /// The Content-Type header as sent, if any; its `charset` goes before the page's own.
    pub content_type: Option<&'a str>,
    /// The body, decompressed.
    pub body: &'a [u8],
}

impl Page {
    /// Reads a page.
    ///
    /// Never fails and never panics: broken markup is repaired as the HTML standard has it.
    pub fn parse(source: &PageSource<'_>, kind: DocumentKind, limits: &PageLimits) -> Self {
        let (text, charset) = charset::decode(source, kind);
        let mut page = match kind {
            DocumentKind::Html => {
                let (tree, flattened) = guard::build(&text, limits);
                let mut page = walk::read_tree(&tree, source.url, limits);
                page.flattened = flattened;
                page
            }
            DocumentKind::Text => writer::read_text(&text, limits),
        };
        page.charset = charset.name;
        page
    }

    /// The character set that [`parse`](Self::parse) reads a page with.
    pub fn charset_of(source: &PageSource<'_>, kind: DocumentKind) -> Charset {
        charset::decode(source, kind).1
    }

    /// The words of leaf `leaf`, as indices into `vocabulary`.
    pub fn leaf_words(&self, leaf: usize) -> &[u32] {
        let start = if leaf == 0 {
            0
        } else {
            self.leaf_ends[leaf - 1]
        };
        &self.words[start as usize..self.leaf_ends[leaf] as usize]
    }
}
