//! The graph itself: scores at nodes and edges, in compressed rows.

/// A node: its number, from 0.
pub type NodeId = u32;

/// An edge as it stands in its source's row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Where it leads.
    pub target: NodeId,
    /// Its score, seen once the source is crawled; finite and not negative.
    pub alpha: f32,
}

/// A directed graph with scores. 8 bytes an edge and 12 a node.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    beta: Vec<f32>,
    starts: Vec<usize>,
    edges: Vec<Edge>,
}

/// Edges that were left out when a graph was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Dropped {
    /// Edges from a node to itself.
    pub self_loops: u64,
    /// Edges between two nodes that already had one; the greater alpha stays.
    pub doubles: u64,
}

/// More nodes than numbers for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} nodes are more than the {max} that a graph can hold", max = Graph::NODES_MAX)]
pub struct GraphSizeError(pub usize);

impl Graph {
    /// The most nodes.
    pub const NODES_MAX: usize = (u32::MAX - 1) as usize;

    /// A graph whose rows are appended node by node: `rows` fills in the edges of the next node.
    ///
    /// # Errors
    /// [`GraphSizeError`].
    pub fn from_rows(
        beta: Vec<f32>,
        mut row_of: impl FnMut(NodeId, &mut Vec<Edge>),
    ) -> Result<(Self, Dropped), GraphSizeError> {
        if beta.len() > Self::NODES_MAX {
            return Err(GraphSizeError(beta.len()));
        }
        let mut graph = Self {
            starts: Vec::with_capacity(beta.len() + 1),
            beta,
            edges: Vec::new(),
        };
        graph.starts.push(0);
        let mut dropped = Dropped::default();
        let mut row = Vec::new();
        for node in 0..graph.nodes() {
            row.clear();
            row_of(node, &mut row);
            tidy(node, &mut row, &mut dropped);
            graph.edges.extend_from_slice(&row);
            graph.starts.push(graph.edges.len());
        }
        graph.edges.shrink_to_fit();
        Ok((graph, dropped))
    }

    /// A graph from loose edges (source, edge), in any order.
    ///
    /// # Errors
    /// [`GraphSizeError`].
    pub fn from_edges(
        beta: Vec<f32>,
        mut edges: Vec<(NodeId, Edge)>,
    ) -> Result<(Self, Dropped), GraphSizeError> {
        edges.sort_unstable_by_key(|(source, edge)| (*source, edge.target));
        let mut rest = edges.as_slice();
        Self::from_rows(beta, |node, row| {
            let here = rest.partition_point(|(source, _)| *source <= node);
            row.extend(rest[..here].iter().map(|(_, edge)| *edge));
            rest = &rest[here..];
        })
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> NodeId {
        NodeId::try_from(self.beta.len()).unwrap_or(NodeId::MAX)
    }

    /// How many edges there are.
    pub fn edges(&self) -> usize {
        self.edges.len()
    }

    /// The score of a node.
    pub fn beta(&self, node: NodeId) -> f32 {
        self.beta[node as usize]
    }

    /// The edges of a node, by rising target.
    pub fn out(&self, node: NodeId) -> &[Edge] {
        let node = node as usize;
        &self.edges[self.starts[node]..self.starts[node + 1]]
    }

    /// A fingerprint of all scores and edges: XXH3-128 in hexadecimal.
    pub fn digest(&self) -> String {
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        for beta in &self.beta {
            hash.update(&beta.to_le_bytes());
        }
        for node in 0..self.nodes() {
            hash.update(&(self.out(node).len() as u64).to_le_bytes());
            for edge in self.out(node) {
                hash.update(&edge.target.to_le_bytes());
                hash.update(&edge.alpha.to_le_bytes());
            }
        }
        format!("{:032x}", hash.digest128())
    }

    /// How many edges have a score above 0.
    pub fn scored_edges(&self) -> usize {
        self.edges.iter().filter(|edge| edge.alpha > 0.0).count()
    }

    /// The nodes with a score above 0, by number.
    pub fn scored(&self) -> Vec<NodeId> {
        let all = 0..self.nodes();
        all.filter(|node| self.beta(*node) > 0.0).collect()
    }
}

/// Sorts a row and takes out what a graph does not have.
fn tidy(node: NodeId, row: &mut Vec<Edge>, dropped: &mut Dropped) {
    let before = row.len();
    row.retain(|edge| edge.target != node);
    let without_loops = row.len();
    row.sort_unstable_by(|a, b| a.target.cmp(&b.target).then(b.alpha.total_cmp(&a.alpha)));
    row.dedup_by_key(|edge| edge.target);
    dropped.self_loops += (before - without_loops) as u64;
    dropped.doubles += (without_loops - row.len()) as u64;
}
