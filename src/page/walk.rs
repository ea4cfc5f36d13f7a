//! From the tree to the page: leaves, words and links, in one pass without recursion.

use std::cell::OnceCell;

use html5ever::{LocalName, local_name};
use url::Url;

use super::arena::{DOCUMENT, Element, NodeKind, Tree};
use super::context::Surroundings;
use super::markup;
use super::writer::{Writer, count};
use super::{Link, LinkContext, LinkElement, Page, PageLimits, TAG_PATH_MAX};
use crate::url::CanonicalUrl;

/// The longest title that is kept, in bytes.
const TITLE_BYTES_MAX: usize = 1024;

/// The longest part (tag, id, class) of an entry of a tag path, in bytes.
const TAG_PART_BYTES_MAX: usize = 40;

/// Reads the tree of an HTML document found at `url`.
pub(super) fn read_tree(tree: &Tree, url: &CanonicalUrl, limits: &PageLimits) -> Page {
    let mut reader = Reader {
        tree,
        base: base_of(tree, url),
        writer: Writer::new(limits.leaves_max),
        links_max: limits.links_max,
        open: Vec::new(),
        surroundings: Surroundings::default(),
        has_title: false,
    };
    reader.walk();
    reader.writer.finish()
}

/// What links are resolved against: the first `base` with a target, else the page itself.
fn base_of(tree: &Tree, url: &CanonicalUrl) -> Option<Url> {
    let page = url.to_url().ok()?;
    let href = tree
        .descendants(DOCUMENT)
        .filter_map(|node| tree.element(node))
        .filter(|element| element.is_html && element.name == local_name!("base"))
        .find_map(|element| element.attribute(&local_name!("href")));
    let base = href.and_then(|href| page.join(href).ok());
    Some(match base {
        Some(base) if matches!(base.scheme(), "http" | "https") => base,
        _ => page,
    })
}

/// An element that the walk is inside of.
struct Open {
    node: u32,
    /// Leaves before it.
    leaves: usize,
    /// Its place among the links.
    link: Option<usize>,
    /// Its entry in tag paths, once a link asked for it.
    entry: OnceCell<String>,
}

struct Reader<'a> {
    tree: &'a Tree,
    base: Option<Url>,
    writer: Writer,
    links_max: usize,
    open: Vec<Open>,
    surroundings: Surroundings,
    has_title: bool,
}

impl<'a> Reader<'a> {
    fn walk(&mut self) {
        let mut next = self.tree.first_child(DOCUMENT);
        loop {
            if let Some(node) = next {
                next = if self.enter(node) {
                    self.tree.first_child(node)
                } else {
                    self.tree.next_sibling(node)
                };
            } else if let Some(open) = self.open.pop() {
                self.leave(&open);
                next = self.tree.next_sibling(open.node);
            } else {
                break;
            }
        }
    }

    /// Reads a node on the way down; true if its children come next.
    fn enter(&mut self, node: u32) -> bool {
        let tree = self.tree;
        let element = match tree.kind(node) {
            NodeKind::Other => return false,
            NodeKind::Text(text) => {
                if !text.trim().is_empty() {
                    self.writer.add_words(text);
                    self.writer.end_leaf();
                }
                return false;
            }
            NodeKind::Element(element) => element,
        };
        match role(element) {
            Role::Dropped => return false,
            Role::Head => {
                self.read_head(node);
                return false;
            }
            Role::Title => {
                self.read_title(node);
                return false;
            }
            Role::About => self.read_about(element),
            Role::Other => {}
        }
        let leaves = self.writer.leaves();
        self.surroundings.enter(element);
        let link = self.read_link(element);
        self.add_attribute_texts(element);
        if element.is_html && element.name == local_name!("iframe") {
            // What it holds is for browsers without frames, unparsed.
            self.writer.end_leaf();
            return false;
        }
        self.open.push(Open {
            node,
            leaves,
            link,
            entry: OnceCell::new(),
        });
        true
    }

    /// Ends an element: without a leaf inside it is one itself.
    fn leave(&mut self, open: &Open) {
        if self.writer.leaves() == open.leaves {
            self.writer.end_leaf();
        }
        if let Some(link) = open.link
            && let Some(link) = self.writer.page.links.get_mut(link)
        {
            link.last_leaf = count(self.writer.page.leaf_ends.len()).saturating_sub(1);
        }
        if let Some(element) = self.tree.element(open.node) {
            let (first, end) = (count(open.leaves), count(self.writer.leaves()));
            self.surroundings.leave(element, first, end);
        }
    }

    /// Of what the head holds, only the title has words; the rest is about the page.
    fn read_head(&mut self, head: u32) {
        let tree = self.tree;
        for node in tree.descendants(head) {
            let Some(element) = tree.element(node) else {
                continue;
            };
            match role(element) {
                Role::Title => self.read_title(node),
                Role::About => self.read_about(element),
                _ => {}
            }
        }
    }

    fn read_title(&mut self, node: u32) {
        if self.has_title {
            return;
        }
        self.has_title = true;
        let mut title = String::new();
        for child in self.tree.descendants(node) {
            let NodeKind::Text(text) = self.tree.kind(child) else {
                continue;
            };
            for word in text.split_whitespace() {
                if !title.is_empty() {
                    title.push(' ');
                }
                title.push_str(word);
                if title.len() > TITLE_BYTES_MAX {
                    title.truncate(title.floor_char_boundary(TITLE_BYTES_MAX));
                    break;
                }
            }
        }
        self.writer.set_title(title);
    }

    /// `meta` and `link`: what the page says about itself.
    fn read_about(&mut self, element: &Element) {
        if element.name == local_name!("link") {
            let rel = element.attribute(&local_name!("rel")).unwrap_or_default();
            if self.writer.page.meta.canonical.is_none()
                && markup::has_token(rel, &["canonical"])
                && let Some(href) = element.attribute(&local_name!("href"))
            {
                self.writer.page.meta.canonical = self.resolve(href);
            }
            return;
        }
        let Some(content) = element.attribute(&local_name!("content")) else {
            return;
        };
        let name = element.attribute(&local_name!("name")).unwrap_or_default();
        if markup::is_robots(name) {
            let meta = &mut self.writer.page.meta;
            meta.noindex |= markup::forbids(content, "noindex");
            meta.nofollow |= markup::forbids(content, "nofollow");
            meta.noarchive |= markup::says(content, "noarchive");
        }
        let is_refresh = element
            .attribute(&local_name!("http-equiv"))
            .is_some_and(|name| name.trim().eq_ignore_ascii_case("refresh"));
        if is_refresh
            && let Some(href) = markup::refresh_target(content)
            && let Some(target) = self.resolve(href)
        {
            self.add_link(Link {
                target,
                first_leaf: 0,
                last_leaf: 0,
                nofollow: false,
                element: LinkElement::Refresh,
                tag_path: Vec::new(),
                context: LinkContext::default(),
            });
        }
    }

    /// Adds the link that an element is, if it is one; its last leaf is known when it ends.
    fn read_link(&mut self, element: &Element) -> Option<usize> {
        if !element.is_html {
            return None;
        }
        let (kind, attribute) = match element.name {
            local_name!("a") => (LinkElement::Anchor, local_name!("href")),
            local_name!("area") => (LinkElement::Area, local_name!("href")),
            local_name!("frame") | local_name!("iframe") => {
                (LinkElement::Frame, local_name!("src"))
            }
            _ => return None,
        };
        let href = element.attribute(&attribute)?;
        if kind == LinkElement::Frame && href.trim().is_empty() {
            return None;
        }
        let target = self.resolve(href)?;
        let rel = element.attribute(&local_name!("rel")).unwrap_or_default();
        let leaf = count(self.writer.leaves());
        if self.writer.is_full() {
            self.writer.page.links_dropped += 1;
            return None;
        }
        self.add_link(Link {
            target,
            first_leaf: leaf,
            last_leaf: leaf,
            nofollow: markup::is_nofollow(rel),
            element: kind,
            tag_path: self.tag_path(),
            context: self.surroundings.of(element),
        })
    }

    fn add_link(&mut self, link: Link) -> Option<usize> {
        let takes_no_leaf = self.writer.takes_no_leaf();
        let page = &mut self.writer.page;
        if page.links.len() >= self.links_max || takes_no_leaf {
            page.links_dropped += 1;
            return None;
        }
        page.links.push(link);
        Some(page.links.len() - 1)
    }

    /// One bad target loses this link only.
    fn resolve(&self, href: &str) -> Option<CanonicalUrl> {
        CanonicalUrl::resolve(self.base.as_ref()?, href).ok()
    }

    /// `alt` and `title` are words of the first leaf of their element (there is always one).
    fn add_attribute_texts(&mut self, element: &Element) {
        let alt = element.attribute(&local_name!("alt"));
        let title = element.attribute(&local_name!("title"));
        for text in [alt, title.filter(|title| alt != Some(*title))] {
            self.writer.add_words(text.unwrap_or_default());
        }
    }

    fn tag_path(&self) -> Vec<String> {
        let tree: &'a Tree = self.tree;
        let mut path = Vec::with_capacity(self.open.len().min(TAG_PATH_MAX));
        for open in self.open.iter().rev().take(TAG_PATH_MAX) {
            if let Some(element) = tree.element(open.node) {
                path.push(open.entry.get_or_init(|| tag_entry(element)).clone());
            }
        }
        path
    }
}

/// How an element is read.
enum Role {
    /// With all that it holds, it is not there.
    Dropped,
    Head,
    Title,
    /// `meta` or `link`
    About,
    Other,
}

fn role(element: &Element) -> Role {
    if !element.is_html {
        return Role::Other;
    }
    match element.name {
        // The last two hold markup for browsers without frames, which html5ever leaves unparsed.
        local_name!("script")
        | local_name!("style")
        | local_name!("template")
        | local_name!("noframes")
        | local_name!("noembed") => Role::Dropped,
        local_name!("head") => Role::Head,
        local_name!("title") => Role::Title,
        local_name!("meta") | local_name!("link") => Role::About,
        _ => Role::Other,
    }
}

/// `tag#id.class`.
fn tag_entry(element: &Element) -> String {
    let mut entry = cut(&element.name).to_owned();
    let parts: [(char, LocalName); 2] = [('#', local_name!("id")), ('.', local_name!("class"))];
    for (mark, attribute) in parts {
        let value = element.attribute(&attribute).unwrap_or_default();
        if let Some(first) = value.split_ascii_whitespace().next() {
            entry.push(mark);
            entry.push_str(cut(first));
        }
    }
    entry
}

fn cut(part: &str) -> &str {
    &part[..part.floor_char_boundary(TAG_PART_BYTES_MAX)]
}
