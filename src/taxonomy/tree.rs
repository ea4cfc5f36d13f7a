//! The tree of topics with their numbers of examples.

use std::collections::BTreeMap;

use crate::taxonomy::focus::similarity;
use crate::taxonomy::topic::{covers, parent};

/// Below this similarity (0 to 1) a name is no near match.
const SIMILARITY_MIN: f64 = 0.85;

/// A topic in its tree.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TopicNode {
    /// The path.
    pub topic: String,
    /// Its level: 1 right below the root.
    pub level: usize,
    /// Examples of the topic itself.
    pub own: u64,
    /// Examples of the topic and all topics under it.
    pub examples: u64,
    /// How many topics are under it.
    pub topics: u64,
}

impl TopicNode {
    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.topic.rsplit('/').next().unwrap_or_default()
    }
}

/// Topics and all topics above them; a topic stands right before those under it, and topics of one
/// parent are sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicTree {
    nodes: Vec<TopicNode>,
}

impl TopicTree {
    /// The tree of topics with their own numbers of examples.
    pub fn of<T: Into<String>>(counts: impl IntoIterator<Item = (T, u64)>) -> Self {
        let mut own: BTreeMap<String, u64> = BTreeMap::new();
        for (topic, count) in counts {
            let topic = topic.into();
            let mut above = parent(&topic);
            while let Some(name) = above.filter(|name| !own.contains_key(*name)) {
                own.insert(name.to_owned(), 0);
                above = parent(name);
            }
            *own.entry(topic).or_default() += count;
        }
        let mut nodes: Vec<TopicNode> = own
            .into_iter()
            .map(|(topic, own)| TopicNode {
                level: topic.split('/').count(),
                topic,
                own,
                examples: own,
                topics: 0,
            })
            .collect();
        nodes.sort_by(|a, b| a.topic.split('/').cmp(b.topic.split('/')));
        let mut tree = Self { nodes };
        tree.add_up();
        tree
    }

    /// Adds what each topic has to the one above it, from the end on.
    fn add_up(&mut self) {
        // The sums of the open levels, deepest last.
        let mut sums: Vec<(u64, u64)> = Vec::new();
        for node in self.nodes.iter_mut().rev() {
            sums.resize(sums.len().max(node.level + 1), (0, 0));
            let (examples, topics) = std::mem::take(&mut sums[node.level]);
            node.examples += examples;
            node.topics = topics;
            let above = &mut sums[node.level - 1];
            above.0 += node.examples;
            above.1 += node.topics + 1;
        }
    }

    /// All topics, each before those under it.
    pub fn nodes(&self) -> &[TopicNode] {
        &self.nodes
    }

    /// Examples of all topics.
    pub fn examples(&self) -> u64 {
        self.nodes.iter().map(|node| node.own).sum()
    }

    /// A topic and those under it; empty if there is no such topic.
    pub fn subtree(&self, topic: &str) -> &[TopicNode] {
        let start = self.nodes.iter().position(|node| node.topic == topic);
        let from = &self.nodes[start.unwrap_or(self.nodes.len())..];
        let end = from.iter().position(|node| !covers(topic, &node.topic));
        &from[..end.unwrap_or(from.len())]
    }

    /// Topics that `wanted` stands in, without regard to case or to `_` for a space: in the name
    /// first, then in the path; the larger first. If there are none, topics of a name like it, the
    /// most alike first.
    pub fn find(&self, wanted: &str) -> Vec<&TopicNode> {
        let wanted = plain(wanted);
        let mut found: Vec<(bool, &TopicNode)> = self
            .nodes
            .iter()
            .filter(|node| plain(&node.topic).contains(&wanted))
            .map(|node| (!plain(node.name()).contains(&wanted), node))
            .collect();
        found.sort_by_key(|(path_only, node)| (*path_only, std::cmp::Reverse(node.examples)));
        if !found.is_empty() {
            return found.into_iter().map(|(_, node)| node).collect();
        }
        let mut near: Vec<(f64, &TopicNode)> = self
            .nodes
            .iter()
            .map(|node| (similarity(&wanted, &plain(&node.topic)), node))
            .filter(|(score, _)| *score >= SIMILARITY_MIN)
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        near.into_iter().map(|(_, node)| node).collect()
    }
}

fn plain(text: &str) -> String {
    text.to_lowercase().replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> TopicTree {
        TopicTree::of([
            ("A", 1),
            ("A/B/C", 4),
            ("A/B-x", 8),
            ("A B", 16),
            ("D/Sea_Birds", 32),
        ])
    }

    fn lines(nodes: &[TopicNode]) -> Vec<String> {
        let line = |node: &TopicNode| {
            format!(
                "{} {} {} {} {}",
                node.level, node.topic, node.own, node.examples, node.topics
            )
        };
        nodes.iter().map(line).collect()
    }

    #[test]
    fn topics_stand_before_those_under_them_and_count_them_in() {
        assert_eq!(
            lines(tree().nodes()),
            [
                "1 A 1 13 3",
                "2 A/B 0 4 1",
                "3 A/B/C 4 4 0",
                "2 A/B-x 8 8 0",
                "1 A B 16 16 0",
                "1 D 0 32 1",
                "2 D/Sea_Birds 32 32 0",
            ]
        );
        assert_eq!(tree().examples(), 61);
    }

    #[test]
    fn a_subtree_ends_where_its_topic_does() {
        let tree = tree();
        assert_eq!(lines(tree.subtree("A/B")), ["2 A/B 0 4 1", "3 A/B/C 4 4 0"]);
        assert_eq!(tree.subtree("D").len(), 2);
        assert!(tree.subtree("E").is_empty());
    }

    #[test]
    fn topics_are_found_by_a_part_of_their_name_or_by_a_name_like_theirs() {
        let tree = tree();
        let names = |wanted| -> Vec<String> {
            let found = tree.find(wanted).into_iter();
            found.map(|node| node.topic.clone()).collect()
        };
        assert_eq!(names("sea birds"), ["D/Sea_Birds"]);
        assert_eq!(names("b"), ["D/Sea_Birds", "A B", "A/B-x", "A/B", "A/B/C"]);
        assert_eq!(names("see-birds"), ["D/Sea_Birds"]);
        assert!(names("zymurgy").is_empty());
    }
}
