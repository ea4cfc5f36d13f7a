//! The topics as a tree, while it is being pruned.

use std::collections::HashMap;

use super::steps::{PruneStep, TaxonomySize};
use super::{FOCUS_EXAMPLES_MIN, OTHER};
use crate::taxonomy::topic::TOPIC_BYTES_MAX;

/// The root's number.
const ROOT: usize = 0;

/// The tree; a parent always has a smaller number than its children.
pub(super) struct Forest {
    nodes: Vec<Node>,
    by_name: HashMap<String, usize>,
}

#[derive(Default)]
struct Node {
    /// The path; empty for the root.
    name: String,
    /// The root is its own.
    parent: usize,
    /// Topics under it that are still there.
    children: usize,
    /// Its own examples, and those that came to it.
    members: Vec<u32>,
    protected: bool,
    /// Its examples went to its parent: as a leaf, or those of its `Other`.
    given_up: bool,
}

/// A focus topic that was folded away.
pub(super) struct Lost {
    pub(super) node: usize,
    pub(super) examples: usize,
}

impl Forest {
    /// The tree of `topics`, with the examples in it.
    pub(super) fn of(topics: &[String], examples: &[u32]) -> Self {
        let mut forest = Self {
            nodes: vec![Node::default()],
            by_name: HashMap::from([(String::new(), ROOT)]),
        };
        let nodes: Vec<usize> = topics.iter().map(|topic| forest.insert(topic)).collect();
        for (number, topic) in (0..).zip(examples) {
            let node = nodes.get(*topic as usize).or(nodes.first());
            let node = node.copied().unwrap_or(ROOT);
            forest.nodes[node].members.push(number);
        }
        forest
    }

    /// The node of a path, made if need be, parts `Other` left out.
    fn insert(&mut self, topic: &str) -> usize {
        let mut node = ROOT;
        let mut path = String::new();
        for part in topic.split('/').filter(|part| *part != OTHER) {
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(part);
            if let Some(known) = self.by_name.get(&path) {
                node = *known;
                continue;
            }
            let number = self.nodes.len();
            self.nodes[node].children += 1;
            self.nodes.push(Node {
                name: path.clone(),
                parent: node,
                ..Node::default()
            });
            self.by_name.insert(path.clone(), number);
            node = number;
        }
        node
    }

    /// Marks a topic as protected; false if there is none of that name.
    pub(super) fn protect(&mut self, topic: &str) -> bool {
        match self.by_name.get(topic) {
            Some(&node) if node != ROOT => {
                self.nodes[node].protected = true;
                true
            }
            _ => false,
        }
    }

    /// The names of all topics.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().skip(1).map(|node| &*node.name)
    }

    pub(super) fn name(&self, node: usize) -> &str {
        &self.nodes[node].name
    }

    /// Topics, leaves and examples, as they are now.
    pub(super) fn size(&self) -> TaxonomySize {
        let topics = &self.nodes[1..];
        TaxonomySize {
            topics: topics.len(),
            leaves: topics.iter().filter(|node| node.children == 0).count(),
            examples: self.nodes.iter().map(|node| node.members.len()).sum(),
        }
    }

    /// Folds leaves with fewer than `k` examples into their parents, from the bottom up: whatever
    /// the order, the same leaves remain. Gives the first protected topic that had to go.
    pub(super) fn fold(&mut self, k: usize, steps: &mut Vec<PruneStep>) -> Option<Lost> {
        let mut lost = None;
        for node in (1..self.nodes.len()).rev() {
            let (leaf, examples) = (&self.nodes[node], self.nodes[node].members.len());
            if leaf.children > 0 || examples >= k {
                continue;
            }
            if leaf.protected && examples >= FOCUS_EXAMPLES_MIN {
                steps.push(PruneStep::Protected {
                    class: leaf.name.clone(),
                    examples,
                });
                continue;
            }
            if leaf.protected {
                lost.get_or_insert(Lost { node, examples });
            }
            steps.push(PruneStep::Folded {
                topic: leaf.name.clone(),
                into: self.nodes[leaf.parent].name.clone(),
                examples,
            });
            let parent = self.give_up(node);
            self.nodes[parent].children -= 1;
        }
        lost
    }

    /// Moves the examples of topics that keep topics under them to leaves `Other`, and those of small
    /// ones upwards.
    pub(super) fn settle_others(&mut self, k: usize, steps: &mut Vec<PruneStep>) {
        for node in (0..self.nodes.len()).rev() {
            let inner = &self.nodes[node];
            let examples = inner.members.len();
            if inner.children == 0 || examples == 0 {
                continue;
            }
            let class = self.class_name(node);
            let protected = inner.protected && examples >= FOCUS_EXAMPLES_MIN;
            let stays = node == ROOT || examples >= k || protected;
            // The reader of a table refuses longer names.
            if stays && class.len() <= TOPIC_BYTES_MAX {
                if protected && examples < k {
                    let class = class.clone();
                    steps.push(PruneStep::Protected { class, examples });
                }
                steps.push(PruneStep::Other { class, examples });
            } else {
                let into = self.class_name(inner.parent);
                steps.push(PruneStep::MovedUp {
                    class,
                    into,
                    examples,
                });
                self.give_up(node);
            }
        }
    }

    /// Moves the examples of a node to its parent, which is given.
    fn give_up(&mut self, node: usize) -> usize {
        let members = std::mem::take(&mut self.nodes[node].members);
        self.nodes[node].given_up = true;
        let parent = self.nodes[node].parent;
        let above = &mut self.nodes[parent].members;
        // The longer list is kept: a long chain of topics costs no more than its examples.
        if above.len() < members.len() {
            let short = std::mem::replace(above, members);
            above.extend(short);
        } else {
            above.extend(members);
        }
        parent
    }

    /// Where the examples of a node went.
    pub(super) fn taker(&self, node: usize) -> usize {
        let mut node = node;
        while self.nodes[node].given_up {
            node = self.nodes[node].parent;
        }
        node
    }

    /// The name of the class that holds a node's examples: its own as a leaf, else its `Other`.
    pub(super) fn class_name(&self, node: usize) -> String {
        let Node { name, children, .. } = &self.nodes[node];
        match (name.is_empty(), *children) {
            (true, _) => OTHER.to_owned(),
            (false, 0) => name.clone(),
            (false, _) => format!("{name}/{OTHER}"),
        }
    }

    /// The classes with their examples.
    pub(super) fn classes(&self) -> impl Iterator<Item = (String, Vec<u32>)> {
        let filled = (0..self.nodes.len()).filter(|node| !self.nodes[*node].members.is_empty());
        filled.map(|node| (self.class_name(node), self.nodes[node].members.clone()))
    }
}
