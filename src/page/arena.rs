//! The tree that html5ever builds: nodes in one vector, linked by their numbers.
//!
//! Nothing here recurses, and dropping the tree is dropping a vector, so the depth of a page costs
//! no stack.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, ExpandedName, LocalName, Namespace, QualName, ns};

/// No node.
const NONE: u32 = u32::MAX;

/// The number of the document node.
pub(super) const DOCUMENT: u32 = 0;

/// Attributes up to which those of a second `body` or `html` are added to the first: each is compared
/// with all before it.
const ADDED_ATTRIBUTES_MAX: usize = 256;

/// A node as html5ever holds it. The name travels along, so that asking for it borrows nothing.
#[derive(Clone)]
pub(super) struct Handle {
    id: u32,
    ns: Namespace,
    local: LocalName,
}

pub(super) struct Node {
    parent: u32,
    previous: u32,
    next: u32,
    first: u32,
    last: u32,
    depth: u32,
    pub(super) kind: NodeKind,
}

pub(super) enum NodeKind {
    /// The document, the contents of a template, a comment: nothing to read, but it parts texts.
    Other,
    Text(StrTendril),
    Element(Element),
}

pub(super) struct Element {
    pub(super) name: LocalName,
    /// Of the HTML namespace, not `svg` or `math`.
    pub(super) is_html: bool,
    /// Of `MathML`, but what it holds is HTML again.
    holds_html: bool,
    attributes: Vec<Attribute>,
}

impl Element {
    /// The value of an attribute.
    pub(super) fn attribute(&self, name: &LocalName) -> Option<&str> {
        self.attributes
            .iter()
            .find(|attribute| attribute.name.local == *name && attribute.name.ns == ns!())
            .map(|attribute| &*attribute.value)
    }

    /// All attributes, in the order of the page.
    #[cfg(test)]
    pub(super) fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }
}

/// A finished tree.
pub(super) struct Tree(Vec<Node>);

impl Tree {
    pub(super) fn kind(&self, node: u32) -> &NodeKind {
        &self.0[node as usize].kind
    }

    pub(super) fn element(&self, node: u32) -> Option<&Element> {
        match self.kind(node) {
            NodeKind::Element(element) => Some(element),
            _ => None,
        }
    }

    pub(super) fn first_child(&self, node: u32) -> Option<u32> {
        some(self.0[node as usize].first)
    }

    pub(super) fn next_sibling(&self, node: u32) -> Option<u32> {
        some(self.0[node as usize].next)
    }

    /// All nodes below `root`, in document order.
    pub(super) fn descendants(&self, root: u32) -> impl Iterator<Item = u32> + '_ {
        let mut next = self.first_child(root);
        std::iter::from_fn(move || {
            let node = next?;
            next = self.first_child(node).or_else(|| {
                let mut up = node;
                while up != root {
                    if let Some(sibling) = self.next_sibling(up) {
                        return Some(sibling);
                    }
                    up = self.0[up as usize].parent;
                }
                None
            });
            Some(node)
        })
    }
}

fn some(id: u32) -> Option<u32> {
    (id != NONE).then_some(id)
}

/// The sink that html5ever builds a [`Tree`] into.
pub(super) struct Arena {
    nodes: RefCell<Nodes>,
    /// The element whose name was asked for last.
    named: Cell<u32>,
}

impl Arena {
    pub(super) fn new() -> Self {
        let mut nodes = Nodes(Vec::with_capacity(256));
        nodes.add(NodeKind::Other);
        Self {
            nodes: RefCell::new(nodes),
            named: Cell::new(DOCUMENT),
        }
    }

    /// The depth of the element whose name was asked for last.
    pub(super) fn named_depth(&self) -> usize {
        self.nodes.borrow_mut().at(self.named.get()).depth as usize
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.borrow().0.len()
    }

    fn add(&self, kind: NodeKind) -> Handle {
        Handle {
            id: self.nodes.borrow_mut().add(kind),
            ns: ns!(),
            local: LocalName::default(),
        }
    }
}

/// The links between nodes.
struct Nodes(Vec<Node>);

impl Nodes {
    fn at(&mut self, id: u32) -> &mut Node {
        &mut self.0[id as usize]
    }

    fn add(&mut self, kind: NodeKind) -> u32 {
        // The guard ends the parse long before there are as many nodes as numbers.
        let id = u32::try_from(self.0.len()).unwrap_or(NONE);
        self.0.push(Node {
            parent: NONE,
            previous: NONE,
            next: NONE,
            first: NONE,
            last: NONE,
            depth: 0,
            kind,
        });
        id
    }

    fn unlink(&mut self, id: u32) {
        let node = self.at(id);
        let (parent, previous, next) = (node.parent, node.previous, node.next);
        (node.parent, node.previous, node.next) = (NONE, NONE, NONE);
        if parent == NONE {
            return;
        }
        match some(previous) {
            Some(previous) => self.at(previous).next = next,
            None => self.at(parent).first = next,
        }
        match some(next) {
            Some(next) => self.at(next).previous = previous,
            None => self.at(parent).last = previous,
        }
    }

    /// Puts `child` under `parent` before `next` (`NONE`: at the end).
    fn link(&mut self, parent: u32, child: u32, next: u32) {
        self.unlink(child);
        let previous = match some(next) {
            Some(next) => std::mem::replace(&mut self.at(next).previous, child),
            None => std::mem::replace(&mut self.at(parent).last, child),
        };
        match some(previous) {
            Some(previous) => self.at(previous).next = child,
            None => self.at(parent).first = child,
        }
        let depth = self.at(parent).depth + 1;
        let node = self.at(child);
        (node.parent, node.previous, node.next, node.depth) = (parent, previous, next, depth);
    }

    /// Puts text or a node under `parent` before `next`; neighbouring texts become one.
    fn insert(&mut self, parent: u32, child: NodeOrText<Handle>, next: u32) {
        match child {
            NodeOrText::AppendNode(child) => self.link(parent, child.id, next),
            NodeOrText::AppendText(text) => {
                let previous = match some(next) {
                    Some(next) => self.at(next).previous,
                    None => self.at(parent).last,
                };
                if let Some(previous) = some(previous)
                    && let NodeKind::Text(before) = &mut self.at(previous).kind
                {
                    before.push_tendril(&text);
                } else {
                    let id = self.add(NodeKind::Text(text));
                    self.link(parent, id, next);
                }
            }
        }
    }
}

impl TreeSink for Arena {
    type Handle = Handle;
    type Output = Tree;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Tree {
        Tree(self.nodes.into_inner().0)
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Handle {
            id: DOCUMENT,
            ns: ns!(),
            local: LocalName::default(),
        }
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        self.named.set(target.id);
        ExpandedName {
            ns: &target.ns,
            local: &target.local,
        }
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> Handle {
        let mut nodes = self.nodes.borrow_mut();
        let id = nodes.add(NodeKind::Element(Element {
            name: name.local.clone(),
            is_html: name.ns == ns!(html),
            holds_html: flags.mathml_annotation_xml_integration_point,
            attributes,
        }));
        if flags.template {
            // The contents of a template hang nowhere; `get_template_contents` finds them here.
            nodes.add(NodeKind::Other);
        }
        Handle {
            id,
            ns: name.ns,
            local: name.local,
        }
    }

    fn create_comment(&self, _text: StrTendril) -> Handle {
        self.add(NodeKind::Other)
    }

    fn create_pi(&self, _target: StrTendril, _text: StrTendril) -> Handle {
        self.add(NodeKind::Other)
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.nodes.borrow_mut().insert(parent.id, child, NONE);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Handle,
        previous: &Handle,
        child: NodeOrText<Handle>,
    ) {
        let has_parent = self.nodes.borrow_mut().at(element.id).parent != NONE;
        if has_parent {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(
        &self,
        _name: StrTendril,
        _public: StrTendril,
        _system: StrTendril,
    ) {
    }

    fn get_template_contents(&self, target: &Handle) -> Handle {
        Handle {
            id: target.id + 1,
            ns: ns!(),
            local: LocalName::default(),
        }
    }

    fn same_node(&self, x: &Handle, y: &Handle) -> bool {
        x.id == y.id
    }

    fn set_quirks_mode(&self, _mode: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        let mut nodes = self.nodes.borrow_mut();
        if let NodeOrText::AppendNode(child) = &child {
            // It may be the neighbour itself, at its old place.
            nodes.unlink(child.id);
        }
        let parent = nodes.at(sibling.id).parent;
        if parent != NONE {
            nodes.insert(parent, child, sibling.id);
        }
    }

    fn add_attrs_if_missing(&self, target: &Handle, attributes: Vec<Attribute>) {
        let mut nodes = self.nodes.borrow_mut();
        if let NodeKind::Element(element) = &mut nodes.at(target.id).kind {
            for attribute in attributes {
                let known = &mut element.attributes;
                if known.len() >= ADDED_ATTRIBUTES_MAX {
                    break;
                }
                if known.iter().all(|old| old.name != attribute.name) {
                    known.push(attribute);
                }
            }
        }
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &Handle) -> bool {
        let mut nodes = self.nodes.borrow_mut();
        matches!(&nodes.at(handle.id).kind, NodeKind::Element(element) if element.holds_html)
    }

    fn remove_from_parent(&self, target: &Handle) {
        self.nodes.borrow_mut().unlink(target.id);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        let mut nodes = self.nodes.borrow_mut();
        while let Some(child) = some(nodes.at(node.id).first) {
            nodes.link(new_parent.id, child, NONE);
        }
    }
}
