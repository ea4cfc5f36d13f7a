//! Examples without their repetitions, and URLs that stand under several topics.
//!
//! The rule: a URL is an example of a topic once, and later ones are dropped and counted. A URL
//! under two topics is an example of both, since that is what the source says, unless only the
//! first is asked for; it is counted and the first few are named either way.
//! URLs are compared as they are written.

use std::collections::{HashMap, HashSet};

use crate::taxonomy::example::Example;

/// How many shared URLs are named.
const NAMED_MAX: usize = 5;

/// What becomes of a URL under a second topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SharedRule {
    /// It is an example of each.
    #[default]
    Keep,
    /// It is an example of the first only.
    First,
}

/// A URL that stands under two topics.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SharedUrl {
    /// The URL.
    pub url: String,
    /// Where it stood first.
    pub first: String,
    /// Where it stands as well.
    pub also: String,
    /// The line of the second one.
    pub line: u64,
}

/// Tells whether an example was met before. 24 bytes or so for each URL.
#[derive(Debug, Default)]
pub struct Distinct {
    rule: SharedRule,
    topics: HashMap<String, u32>,
    names: Vec<String>,
    /// The first topic of each URL, by the URL's hash.
    first: HashMap<u64, u32>,
    /// The other topics of shared URLs.
    others: HashSet<(u64, u32)>,
    repeated: u64,
    shared: u64,
    named: Vec<SharedUrl>,
}

impl Distinct {
    /// Nothing met as yet.
    pub fn new(rule: SharedRule) -> Self {
        Self {
            rule,
            ..Self::default()
        }
    }

    /// Whether `example` is to be taken; books it.
    pub fn take(&mut self, example: &Example) -> bool {
        let url = xxhash_rust::xxh3::xxh3_64(example.url.as_bytes());
        let topic = self.number(&example.topic);
        let Some(&first) = self.first.get(&url) else {
            self.first.insert(url, topic);
            return true;
        };
        if first == topic || !self.others.insert((url, topic)) {
            self.repeated += 1;
            return false;
        }
        self.shared += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push(SharedUrl {
                url: example.url.clone(),
                first: self.names.get(first as usize).cloned().unwrap_or_default(),
                also: example.topic.clone(),
                line: example.line,
            });
        }
        self.rule == SharedRule::Keep
    }

    fn number(&mut self, topic: &str) -> u32 {
        if let Some(number) = self.topics.get(topic) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(topic.to_owned());
        self.topics.insert(topic.to_owned(), number);
        number
    }

    /// Repetitions of a URL under its topic; dropped.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// URLs met under one more topic than before.
    pub fn shared(&self) -> u64 {
        self.shared
    }

    /// The first of them.
    pub fn shared_named(&self) -> &[SharedUrl] {
        &self.named
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(topic: &str, url: &str) -> Example {
        Example {
            topic: topic.to_owned(),
            url: url.to_owned(),
            line: 7,
            ..Example::default()
        }
    }

    #[test]
    fn a_url_is_an_example_of_a_topic_once_and_of_two_topics_twice() {
        let mut distinct = Distinct::new(SharedRule::Keep);
        assert!(distinct.take(&example("a", "u")));
        assert!(!distinct.take(&example("a", "u")));
        assert!(distinct.take(&example("b", "u")));
        assert!(!distinct.take(&example("b", "u")));
        assert!(distinct.take(&example("b", "v")));
        assert_eq!((distinct.repeated(), distinct.shared()), (2, 1));
        let shared = &distinct.shared_named()[0];
        assert_eq!((&*shared.first, &*shared.also, shared.line), ("a", "b", 7));
    }

    #[test]
    fn only_the_first_topic_has_it_when_that_is_the_rule() {
        let mut distinct = Distinct::new(SharedRule::First);
        assert!(distinct.take(&example("a", "u")));
        assert!(!distinct.take(&example("b", "u")));
        assert_eq!((distinct.repeated(), distinct.shared()), (0, 1));
    }
}
