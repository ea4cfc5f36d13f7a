//! A tree sink that keeps nothing but names: what html5ever costs without anybody's tree.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, ExpandedName, QualName};

/// A node: its number, and its name if it is an element.
#[derive(Clone)]
pub(crate) struct Node(u32, Option<Rc<QualName>>);

/// The sink.
#[derive(Default)]
pub(crate) struct Nothing(Cell<u32>);

impl Nothing {
    fn node(&self, name: Option<Rc<QualName>>) -> Node {
        self.0.set(self.0.get() + 1);
        Node(self.0.get(), name)
    }
}

impl TreeSink for Nothing {
    type Handle = Node;
    type Output = u32;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> u32 {
        self.0.get()
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> Node {
        Node(0, None)
    }

    fn elem_name<'a>(&'a self, target: &'a Node) -> ExpandedName<'a> {
        target.1.as_deref().expect("an element").expanded()
    }

    fn create_element(&self, name: QualName, _: Vec<Attribute>, _: ElementFlags) -> Node {
        self.node(Some(Rc::new(name)))
    }

    fn create_comment(&self, _text: StrTendril) -> Node {
        self.node(None)
    }

    fn create_pi(&self, _target: StrTendril, _text: StrTendril) -> Node {
        self.node(None)
    }

    fn append(&self, _parent: &Node, _child: NodeOrText<Node>) {}

    fn append_based_on_parent_node(&self, _: &Node, _: &Node, _: NodeOrText<Node>) {}

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, _target: &Node) -> Node {
        self.node(None)
    }

    fn same_node(&self, x: &Node, y: &Node) -> bool {
        x.0 == y.0
    }

    fn set_quirks_mode(&self, _mode: QuirksMode) {}

    fn append_before_sibling(&self, _sibling: &Node, _child: NodeOrText<Node>) {}

    fn add_attrs_if_missing(&self, _target: &Node, _attributes: Vec<Attribute>) {}

    fn remove_from_parent(&self, _target: &Node) {}

    fn reparent_children(&self, _node: &Node, _new_parent: &Node) {}
}
