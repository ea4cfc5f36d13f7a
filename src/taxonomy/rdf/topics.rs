//! The topics that a dump names, and circles in the links between them.

use std::collections::HashMap;
use std::sync::Arc;

/// The most topics that a dump may name; DMOZ had a million.
pub(super) const TOPICS_MAX: usize = 8_000_000;
/// The most links to narrower topics that are kept.
const LINKS_MAX: usize = 32_000_000;
/// Circles that are named.
const CIRCLES_MAX: usize = 3;
/// Topics that are named of one circle.
const CIRCLE_NAMES_MAX: usize = 8;

/// Names of topics with numbers in the order of their first use.
#[derive(Default)]
pub(super) struct Topics {
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    /// Whether the dump has a `Topic` element of it.
    declared: Vec<bool>,
    /// Links to narrower topics: from, to, line.
    narrow: Vec<(u32, u32, u32)>,
}

/// A circle of links to narrower topics.
pub(super) struct Circle {
    /// The line of the link that closes it.
    pub(super) line: u64,
    /// `A > B > A`.
    pub(super) path: String,
}

impl Topics {
    /// The number of a topic; `None` when there are too many.
    pub(super) fn number(&mut self, name: &str) -> Option<u32> {
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        if self.names.len() == TOPICS_MAX {
            return None;
        }
        let number = u32::try_from(self.names.len()).ok()?;
        let name: Arc<str> = Arc::from(name);
        self.names.push(Arc::clone(&name));
        self.declared.push(false);
        self.numbers.insert(name, number);
        Some(number)
    }

    /// The name of a number that [`Topics::number`] gave.
    pub(super) fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", |name| name)
    }

    /// Books the `Topic` element of a topic.
    pub(super) fn declare(&mut self, number: u32) {
        if let Some(declared) = self.declared.get_mut(number as usize) {
            *declared = true;
        }
    }

    /// Books a link to a narrower topic.
    pub(super) fn link(&mut self, from: u32, to: u32, line: u64) {
        if self.narrow.len() < LINKS_MAX {
            let line = u32::try_from(line).unwrap_or(u32::MAX);
            self.narrow.push((from, to, line));
        }
    }

    /// The topics with a `Topic` element.
    pub(super) fn declared(&self) -> impl Iterator<Item = &str> {
        let named = self.names.iter().zip(&self.declared);
        named
            .filter(|(_, declared)| **declared)
            .map(|(name, _)| &**name)
    }

    /// How many links close a circle, and the first circles.
    ///
    /// A depth-first walk; a link back to a topic that the walk came through closes one.
    pub(super) fn circles(&mut self) -> (u64, Vec<Circle>) {
        // By topic, in the order of the file.
        self.narrow.sort_by_key(|(from, _, _)| *from);
        let starts = starts(&self.narrow, self.names.len());
        let mut state = vec![State::New; self.names.len()];
        let (mut count, mut first) = (0, Vec::new());
        for root in 0..self.names.len() {
            if state[root] != State::New {
                continue;
            }
            state[root] = State::Open;
            let mut path = vec![(root, starts[root])];
            while let Some((topic, next)) = path.last_mut() {
                if *next == starts[*topic + 1] {
                    state[*topic] = State::Done;
                    path.pop();
                    continue;
                }
                let (_, to, line) = self.narrow[*next];
                *next += 1;
                let to = to as usize;
                match state[to] {
                    State::Done => {}
                    State::New => {
                        state[to] = State::Open;
                        path.push((to, starts[to]));
                    }
                    State::Open => {
                        count += 1;
                        if first.len() < CIRCLES_MAX {
                            first.push(self.circle(&path, to, line));
                        }
                    }
                }
            }
        }
        (count, first)
    }

    /// The end of `path` from `to` on, and back to it.
    fn circle(&self, path: &[(usize, usize)], to: usize, line: u32) -> Circle {
        let begin = path.iter().position(|(topic, _)| *topic == to).unwrap_or(0);
        let mut names: Vec<&str> = path[begin..]
            .iter()
            .map(|(topic, _)| &*self.names[*topic])
            .collect();
        if names.len() > CIRCLE_NAMES_MAX {
            names.truncate(CIRCLE_NAMES_MAX);
            names.push("..");
        }
        names.push(&self.names[to]);
        Circle {
            line: u64::from(line),
            path: names.join(" > "),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

/// Where the links of each topic begin among the sorted `links`, and where the last ones end.
fn starts(links: &[(u32, u32, u32)], topics: usize) -> Vec<usize> {
    let mut starts = vec![0; topics + 1];
    for (from, _, _) in links {
        starts[*from as usize + 1] += 1;
    }
    for topic in 0..topics {
        starts[topic + 1] += starts[topic];
    }
    starts
}
