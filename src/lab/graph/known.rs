//! What a crawl has seen of a graph: the only thing that an estimator may look at.

use super::model::{Edge, Graph, NodeId};

/// No place, no reference.
const NONE: u32 = u32::MAX;

/// What is known: crawled nodes with their scores and edges, waiting nodes with their known parents.
#[derive(Debug)]
pub struct Known<'g> {
    graph: &'g Graph,
    state: Vec<State>,
    crawled: Vec<NodeId>,
    /// Waiting nodes in no order, and each node's place among them.
    waiting: Vec<NodeId>,
    place: Vec<u32>,
    /// When a node was first seen.
    found: Vec<u32>,
    found_next: u32,
    /// The last reference to each node; references form a list.
    last: Vec<u32>,
    references: Vec<Reference>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unknown,
    Waiting,
    Leased,
    Crawled,
}

#[derive(Clone, Copy, Debug)]
struct Reference {
    parent: NodeId,
    alpha: f32,
    before: u32,
}

impl<'g> Known<'g> {
    /// Nothing yet.
    pub fn new(graph: &'g Graph) -> Self {
        let nodes = graph.nodes() as usize;
        Self {
            graph,
            state: vec![State::Unknown; nodes],
            crawled: Vec::new(),
            waiting: Vec::new(),
            place: vec![NONE; nodes],
            found: vec![NONE; nodes],
            found_next: 0,
            last: vec![NONE; nodes],
            references: Vec::new(),
        }
    }

    /// How many nodes the graph has: an estimator's arrays are as long.
    pub fn nodes(&self) -> usize {
        self.state.len()
    }

    /// Whether the node was seen as a target and neither crawled nor leased.
    pub fn is_waiting(&self, node: NodeId) -> bool {
        self.state[node as usize] == State::Waiting
    }

    /// Whether the node was crawled.
    pub fn is_crawled(&self, node: NodeId) -> bool {
        self.state[node as usize] == State::Crawled
    }

    /// The score of a crawled node; 0 for any other, whose score nobody knows.
    pub fn beta(&self, node: NodeId) -> f64 {
        if self.is_crawled(node) {
            f64::from(self.graph.beta(node))
        } else {
            0.0
        }
    }

    /// The edges of a crawled node; none for any other.
    pub fn out(&self, node: NodeId) -> &'g [Edge] {
        if self.is_crawled(node) {
            self.graph.out(node)
        } else {
            &[]
        }
    }

    /// The crawled nodes that lead to `node`, with the score of the edge; latest first.
    pub fn parents(&self, node: NodeId) -> impl Iterator<Item = (NodeId, f64)> + '_ {
        let mut at = self.last[node as usize];
        std::iter::from_fn(move || {
            let reference = self.references.get(at as usize)?;
            at = reference.before;
            Some((reference.parent, f64::from(reference.alpha)))
        })
    }

    /// The crawled nodes, in their order.
    pub fn crawled(&self) -> &[NodeId] {
        &self.crawled
    }

    /// The waiting nodes, in no order that means anything.
    pub fn waiting(&self) -> &[NodeId] {
        &self.waiting
    }

    /// How many edges are known.
    pub fn edges(&self) -> usize {
        self.references.len()
    }

    /// When a node was first seen, counted over all nodes: the tie-breaker of every queue.
    pub fn found(&self, node: NodeId) -> u32 {
        self.found[node as usize]
    }

    /// Takes a node out of those that wait, before it is crawled.
    pub(super) fn lease(&mut self, node: NodeId) {
        if self.is_waiting(node) {
            self.leave(node);
        }
        if !self.is_crawled(node) {
            self.state[node as usize] = State::Leased;
        }
    }

    /// Crawls a node: its score and edges become known. Does nothing the second time.
    pub(super) fn reveal(&mut self, node: NodeId) -> bool {
        if self.is_crawled(node) {
            return false;
        }
        self.lease(node);
        self.state[node as usize] = State::Crawled;
        self.crawled.push(node);
        for edge in self.graph.out(node) {
            self.refer(node, *edge);
        }
        true
    }

    fn refer(&mut self, parent: NodeId, edge: Edge) {
        let target = edge.target as usize;
        // More than u32::MAX references cannot be listed; the graph's edges are far fewer.
        let number = u32::try_from(self.references.len()).unwrap_or(NONE);
        self.references.push(Reference {
            parent,
            alpha: edge.alpha,
            before: self.last[target],
        });
        self.last[target] = number;
        if self.state[target] == State::Unknown {
            self.state[target] = State::Waiting;
            self.found[target] = self.found_next;
            self.found_next += 1;
            self.place[target] = u32::try_from(self.waiting.len()).unwrap_or(NONE);
            self.waiting.push(edge.target);
        }
    }

    fn leave(&mut self, node: NodeId) {
        let place = self.place[node as usize] as usize;
        self.waiting.swap_remove(place);
        if let Some(moved) = self.waiting.get(place) {
            self.place[*moved as usize] = u32::try_from(place).unwrap_or(NONE);
        }
        self.place[node as usize] = NONE;
    }
}
