//! Which URLs of a table are wanted.

use std::collections::{BTreeMap, BTreeSet};

use rand::seq::SliceRandom;

use super::CollectError;
use crate::clock::chance;
use crate::taxonomy::{Example, ExampleTable, covers};
use crate::url::CanonicalUrl;

/// Which rows of a table are wanted. The same table and the same selection give the same URLs.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only rows under one of these topics; all if empty.
    pub topics: Vec<String>,
    /// At most so many rows of each topic, drawn by chance; a larger number adds to what a smaller
    /// one gives.
    pub per_topic: Option<usize>,
    /// The seed of that chance.
    pub seed: u64,
    /// At most so many URLs, the first of those that the rest of the selection gives.
    pub limit: Option<usize>,
}

/// The URLs that are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Each once, in the order of the table.
    pub urls: Vec<CanonicalUrl>,
    /// Rows whose URL is none: the row's line in the table, and what is wrong.
    pub bad: Vec<(u64, String)>,
}

impl Selection {
    /// Picks the URLs.
    ///
    /// # Errors
    /// [`CollectError::NoRows`] if no row lies under the topics.
    pub fn of(&self, table: &ExampleTable) -> Result<Wanted, CollectError> {
        let mut rows: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, example) in table.examples.iter().enumerate() {
            let topic = example.topic.as_str();
            if self.topics.is_empty() || self.topics.iter().any(|above| covers(above, topic)) {
                rows.entry(topic).or_default().push(number);
            }
        }
        if rows.is_empty() {
            return Err(CollectError::NoRows(self.topics.join(" or ")));
        }
        let mut chosen = BTreeSet::new();
        for (topic, mut numbers) in rows {
            if let Some(most) = self.per_topic {
                numbers.shuffle(&mut chance(self.seed, &format!("examples of {topic}")));
                numbers.truncate(most);
            }
            chosen.extend(numbers);
        }
        let chosen = chosen.into_iter().filter_map(|at| table.examples.get(at));
        Ok(wanted(chosen, self.limit.unwrap_or(usize::MAX)))
    }
}

fn wanted<'a>(rows: impl Iterator<Item = &'a Example>, most: usize) -> Wanted {
    let mut wanted = Wanted::default();
    let mut seen = BTreeSet::new();
    for row in rows {
        if wanted.urls.len() >= most {
            break;
        }
        match CanonicalUrl::parse(&row.url) {
            Ok(url) => {
                if seen.insert(url.id()) {
                    wanted.urls.push(url);
                }
            }
            Err(error) => wanted.bad.push((row.line, error.to_string())),
        }
    }
    wanted
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn table() -> ExampleTable {
        let text = "topic,url\n\
            a/b,http://h.test/1\na/b,http://h.test/2\na/b,http://h.test/3\na/b,http://h.test/4\n\
            a/bc,http://h.test/5\na/bc,HTTP://h.test:80/1\na/bc,mailto:x\n";
        ExampleTable::read(text.as_bytes(), Path::new("t.csv")).unwrap()
    }

    fn picked(selection: &Selection) -> String {
        let urls = selection.of(&table()).unwrap().urls;
        urls.iter()
            .map(|url| url.as_str().trim_start_matches("http://h.test/"))
            .collect()
    }

    #[test]
    fn each_url_is_wanted_once_and_what_is_none_is_told_with_its_line() {
        let wanted = Selection::default().of(&table()).unwrap();
        assert_eq!(picked(&Selection::default()), "12345");
        assert_eq!(wanted.bad.len(), 1);
        assert_eq!(wanted.bad[0].0, 8);
        assert!(wanted.bad[0].1.contains("mailto"), "{}", wanted.bad[0].1);
    }

    #[test]
    fn a_topic_takes_what_lies_under_it_and_a_limit_the_first() {
        let under = |topic: &str, limit| Selection {
            topics: vec![topic.into()],
            limit,
            ..Selection::default()
        };
        assert_eq!(picked(&under("a/b", None)), "1234");
        assert_eq!(picked(&under("a", Some(2))), "12");
        let error = under("b", None).of(&table()).unwrap_err();
        assert!(error.to_string().contains("under b"), "{error}");
    }

    #[test]
    fn a_sample_repeats_and_a_larger_one_adds_to_it() {
        let sample = |per_topic, seed| {
            picked(&Selection {
                topics: vec!["a/b".into()],
                per_topic: Some(per_topic),
                seed,
                ..Selection::default()
            })
        };
        assert_eq!(sample(2, 7), sample(2, 7));
        assert_eq!(sample(2, 7).len(), 2);
        for seed in 0..20 {
            let large = sample(3, seed);
            assert!(sample(2, seed).chars().all(|url| large.contains(url)));
        }
        assert!((0..20).any(|seed| sample(2, seed) != sample(2, 7)));
    }
}
