//! A second reading of pages for the tests: `markup5ever_rcdom` for the tree, and the definition of
//! leaves and links taken word by word.
//!
//! First a copy of the tree is made without what is dropped; then the leaves are counted; then every
//! link is asked which leaves stand below it. Recursive and slow: for test pages only.

use html5ever::tendril::TendrilSink;
use html5ever::tokenizer::TokenizerOpts;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, QualName, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

use super::Page;
use crate::text::words;
use crate::url::CanonicalUrl;

/// What both readings must agree on.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// The words of each leaf.
    pub(super) leaves: Vec<Vec<String>>,
    /// Target, first and last leaf of each link that is an element of the body.
    pub(super) links: Vec<(String, usize, usize)>,
}

impl Reading {
    /// What `page` holds.
    pub(super) fn of(page: &Page) -> Self {
        let leaf = |leaf| {
            let words = page.leaf_words(leaf).iter();
            words
                .map(|word| page.vocabulary[*word as usize].clone())
                .collect()
        };
        Self {
            leaves: (0..page.leaf_ends.len()).map(leaf).collect(),
            links: page
                .links
                .iter()
                .filter(|link| link.element != super::LinkElement::Refresh)
                .map(|link| {
                    (
                        link.target.to_string(),
                        link.first_leaf as usize,
                        link.last_leaf as usize,
                    )
                })
                .collect(),
        }
    }

    /// What the page `html` at `url` should hold.
    pub(super) fn expected(html: &str, url: &CanonicalUrl) -> Self {
        let options = ParseOpts {
            tree_builder: TreeBuilderOpts {
                scripting_enabled: false,
                ..TreeBuilderOpts::default()
            },
            // html5ever would also drop one after each script, as the first of what it is fed then.
            tokenizer: TokenizerOpts {
                discard_bom: false,
                ..TokenizerOpts::default()
            },
        };
        let text = html.strip_prefix('\u{feff}').unwrap_or(html);
        let dom = parse_document(RcDom::default(), options).one(text);
        let page = url.to_url().unwrap();
        let base = first_base(&dom.document)
            .and_then(|href| page.join(&href).ok())
            .filter(|base| base.scheme().starts_with("http"))
            .unwrap_or(page);
        let mut reading = Self::default();
        for child in dom.document.children.borrow().iter().filter_map(pruned) {
            reading.add(&child, &base, &mut Vec::new());
        }
        reading
    }

    fn add(&mut self, node: &Pruned, base: &::url::Url, pending: &mut Vec<String>) {
        pending.extend(node.words.iter().cloned());
        if node.children.is_empty() {
            self.leaves.push(std::mem::take(pending));
        }
        let before = self.leaves.len() - usize::from(node.children.is_empty());
        let link = node
            .href
            .as_ref()
            .and_then(|href| CanonicalUrl::resolve(base, href).ok());
        let place = self.links.len();
        if let Some(link) = &link {
            self.links.push((link.to_string(), before, 0));
        }
        for child in &node.children {
            self.add(child, base, pending);
        }
        if link.is_some() {
            self.links[place].2 = self.leaves.len() - 1;
        }
    }
}

/// A node that counts.
struct Pruned {
    words: Vec<String>,
    href: Option<String>,
    children: Vec<Pruned>,
}

fn pruned(node: &Handle) -> Option<Pruned> {
    match &node.data {
        NodeData::Text { contents } => {
            let text = contents.borrow();
            (!text.trim().is_empty()).then(|| Pruned {
                words: words(&text).collect(),
                href: None,
                children: Vec::new(),
            })
        }
        NodeData::Element { name, .. } => {
            let tag = if is_html(name) {
                &*name.local
            } else {
                "foreign"
            };
            if matches!(
                tag,
                "head" | "title" | "script" | "style" | "template" | "noframes" | "noembed"
            ) {
                return None;
            }
            let alt = attribute(node, "alt").unwrap_or_default();
            let title = attribute(node, "title").unwrap_or_default();
            let texts = if alt == title {
                vec![alt]
            } else {
                vec![alt, title]
            };
            let children = node.children.borrow();
            Some(Pruned {
                words: texts.iter().flat_map(|text| words(text)).collect(),
                href: match tag {
                    "a" | "area" => attribute(node, "href"),
                    "frame" | "iframe" => {
                        attribute(node, "src").filter(|src| !src.trim().is_empty())
                    }
                    _ => None,
                },
                children: if tag == "iframe" {
                    Vec::new()
                } else {
                    children.iter().filter_map(pruned).collect()
                },
            })
        }
        _ => None,
    }
}

fn first_base(node: &Handle) -> Option<String> {
    let own = match &node.data {
        NodeData::Element { name, .. } if is_html(name) && &*name.local == "base" => {
            attribute(node, "href")
        }
        _ => None,
    };
    own.or_else(|| node.children.borrow().iter().find_map(first_base))
}

fn is_html(name: &QualName) -> bool {
    &*name.ns == "http://www.w3.org/1999/xhtml"
}

fn attribute(node: &Handle, wanted: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else {
        return None;
    };
    let attributes = attrs.borrow();
    let found = attributes
        .iter()
        .find(|attribute| &*attribute.name.local == wanted && attribute.name.ns.is_empty());
    found.map(|attribute| attribute.value.to_string())
}
