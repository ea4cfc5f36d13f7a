//! The focus of a crawl: the topics that count as relevant.

use std::collections::BTreeSet;

use crate::taxonomy::topic::{covers, parent};

/// How many near matches an error names.
const NEAR_MAX: usize = 3;
/// Below this similarity (0 to 1) a name is no near match: `databse` has 0.98 with `databases`,
/// unrelated words of that length lie under 0.7.
const NEAR_SIMILARITY_MIN: f64 = 0.8;

/// One or more topics, c* being the union of the classes under them.
///
/// A topic may be a class or an inner node; an inner node covers all classes under it. What lies
/// under a topic may be taken out again ([`Focus::without`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Focus {
    topics: Vec<String>,
    without: Vec<String>,
}

/// Why a focus cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FocusError {
    /// No topic was given.
    #[error("a focus needs at least one topic; `apprentice critic info MODEL` lists all")]
    Empty,
    /// Neither a class nor an inner node.
    #[error("no topic `{topic}`{} `apprentice critic info MODEL` lists all", did_you_mean(.near))]
    Unknown {
        /// As given.
        topic: String,
        /// Up to three names like it, best first.
        near: Vec<String>,
    },
    /// What is taken out was not in it.
    #[error(
        "without `{topic}` takes nothing out: no class under it lies in {}{}",
        quoted(.focus),
        did_you_mean(.near).trim_end_matches(';')
    )]
    WithoutNothing {
        /// What was to be taken out.
        topic: String,
        /// The topics of the focus.
        focus: Vec<String>,
        /// Up to three names in the focus like it, best first.
        near: Vec<String>,
    },
    /// All was taken out.
    #[error(
        "nothing is left of {} without {}; name a part of it to take out",
        quoted(.focus),
        quoted(.without)
    )]
    NothingLeft {
        /// The topics of the focus.
        focus: Vec<String>,
        /// What was taken out.
        without: Vec<String>,
    },
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() {
        return ";".to_owned();
    }
    let names: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    format!("; did you mean {}?", names.join(" or "))
}

impl Focus {
    /// A focus on `topics`, repeated ones taken once, in the order given.
    pub fn new<T: Into<String>>(topics: impl IntoIterator<Item = T>) -> Result<Self, FocusError> {
        let topics = distinct(topics);
        if topics.is_empty() {
            return Err(FocusError::Empty);
        }
        Ok(Self {
            topics,
            without: Vec::new(),
        })
    }

    /// The same focus without the classes that are one of `topics` or lie under one. Whether each
    /// takes something out and something is left is seen against the classes: [`Focus::members`].
    #[must_use]
    pub fn without<T: Into<String>>(mut self, topics: impl IntoIterator<Item = T>) -> Self {
        self.without = distinct(topics);
        self
    }

    /// A focus on each of `topics` by itself, each without those of `without` that lie under it.
    ///
    /// What lies under none of them stays with the last one, whose members then name it.
    pub fn each(topics: &[String], without: &[String]) -> Result<Vec<Self>, FocusError> {
        let without = distinct(without.iter().cloned());
        let mut foci = topics
            .iter()
            .map(|topic| Self::new([topic.clone()]))
            .collect::<Result<Vec<_>, _>>()?;
        for focus in &mut foci {
            let parts = without.iter().filter(|part| focus.is_under(part));
            focus.without = parts.cloned().collect();
        }
        let of_none = |part: &&String| !foci.iter().any(|focus| focus.is_under(part));
        let lost: Vec<String> = without.iter().filter(of_none).cloned().collect();
        if let Some(last) = foci.last_mut() {
            last.without.extend(lost);
        }
        Ok(foci)
    }

    /// What is taken out, as given.
    pub fn taken_out(&self) -> &[String] {
        &self.without
    }

    /// The topics, as given.
    pub fn topics(&self) -> &[String] {
        &self.topics
    }

    /// For each class whether it lies in the focus.
    ///
    /// Errors on the first topic that covers no class, on the first that takes none out, and if none
    /// is left.
    pub fn members(&self, classes: &[String]) -> Result<Vec<bool>, FocusError> {
        for topic in &self.topics {
            if !classes.iter().any(|class| covers(topic, class)) {
                return Err(FocusError::Unknown {
                    topic: topic.clone(),
                    near: near_matches(topic, classes),
                });
            }
        }
        for topic in &self.without {
            let takes_out = |class: &String| covers(topic, class) && self.is_under(class);
            if !classes.iter().any(takes_out) {
                let inside = classes.iter().filter(|class| self.is_under(class));
                let inside: Vec<String> = inside.cloned().collect();
                return Err(FocusError::WithoutNothing {
                    topic: topic.clone(),
                    focus: self.topics.clone(),
                    near: near_matches(topic, &inside),
                });
            }
        }
        let members: Vec<bool> = classes.iter().map(|class| self.contains(class)).collect();
        if !members.contains(&true) {
            return Err(FocusError::NothingLeft {
                focus: self.topics.clone(),
                without: self.without.clone(),
            });
        }
        Ok(members)
    }

    /// Whether `class` is one of the topics or lies under one, and is not taken out.
    pub fn contains(&self, class: &str) -> bool {
        self.is_under(class) && !self.without.iter().any(|topic| covers(topic, class))
    }

    fn is_under(&self, class: &str) -> bool {
        self.topics.iter().any(|topic| covers(topic, class))
    }

    /// Whether `class` lies in the focus or under the parent of one of its topics (hard focus).
    ///
    /// The parent of a top-level topic is the root, under which everything lies: such a topic has
    /// only itself for a family. In a flat list of topics this is therefore [`Focus::contains`].
    pub fn is_near(&self, class: &str) -> bool {
        self.topics
            .iter()
            .any(|topic| covers(parent(topic).unwrap_or(topic), class))
    }
}

/// The names without white space and `/` around them, empty and repeated ones left out.
fn distinct<T: Into<String>>(names: impl IntoIterator<Item = T>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for name in names {
        let name = name.into().trim().trim_matches('/').to_owned();
        if !name.is_empty() && !kept.contains(&name) {
            kept.push(name);
        }
    }
    kept
}

/// Names like `wanted` among the classes and the topics above them, best first.
pub(super) fn near_matches(wanted: &str, classes: &[String]) -> Vec<String> {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for class in classes {
        let mut topic = Some(class.as_str());
        while let Some(name) = topic {
            names.insert(name);
            topic = parent(name);
        }
    }
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (similarity(&wanted, &name.to_lowercase()), name))
        .filter(|(score, _)| *score >= NEAR_SIMILARITY_MIN)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored
        .into_iter()
        .take(NEAR_MAX)
        .map(|(_, name)| name.to_owned())
        .collect()
}

/// Of the whole paths or of the last parts, whichever is more alike: people leave out what stands
/// above.
pub(super) fn similarity(wanted: &str, name: &str) -> f64 {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let whole = strsim::jaro_winkler(wanted, name);
    // A whole path that fits goes before a last part that fits.
    whole.max(0.99 * strsim::jaro_winkler(&last(wanted), &last(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn an_inner_topic_covers_the_classes_under_it() {
        let classes = classes(&["arts", "science/bio", "science/bio/cells", "sciences"]);
        let focus = Focus::new(["science"]).unwrap();
        assert_eq!(focus.members(&classes).unwrap(), [false, true, true, false]);
    }

    #[test]
    fn a_misspelt_topic_is_answered_with_its_neighbours() {
        let classes = classes(&["courses", "databases", "people"]);
        let error = Focus::new(["databse"])
            .unwrap()
            .members(&classes)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "no topic `databse`; did you mean `databases`? `apprentice critic info MODEL` lists all"
        );
    }

    #[test]
    fn a_topic_without_its_ancestors_is_answered_with_the_whole_path() {
        let classes = classes(&["Computers/Databases", "Computers/Graphics"]);
        let Err(FocusError::Unknown { near, .. }) =
            Focus::new(["databases"]).unwrap().members(&classes)
        else {
            panic!("the topic is no class");
        };
        assert_eq!(near, ["Computers/Databases"]);
    }

    #[test]
    fn a_topic_like_no_other_is_answered_without_a_guess() {
        let error = Focus::new(["zymurgy"])
            .unwrap()
            .members(&classes(&["courses", "databases"]))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "no topic `zymurgy`; `apprentice critic info MODEL` lists all"
        );
    }

    #[test]
    fn siblings_of_a_focus_topic_are_near_and_top_topics_have_no_siblings() {
        let deep = Focus::new(["Computers/Databases"]).unwrap();
        assert!(deep.is_near("Computers/Graphics"));
        assert!(!deep.is_near("Arts/Music"));
        let top = Focus::new(["databases"]).unwrap();
        assert!(top.is_near("databases"));
        assert!(!top.is_near("courses"));
    }

    #[test]
    fn a_part_can_be_taken_out_of_a_subtree() {
        let classes = classes(&[
            "science/bio",
            "science/bio/birds",
            "science/maths",
            "sports",
        ]);
        let focus = Focus::new(["science"])
            .unwrap()
            .without(["science/bio/birds/"]);
        assert_eq!(focus.members(&classes).unwrap(), [true, false, true, false]);
        // With hard focus the part that was taken out is still family.
        assert!(focus.is_near("science/bio/birds"));
        let both = focus.without(["science/bio"]);
        assert_eq!(both.members(&classes).unwrap(), [false, false, true, false]);
    }

    #[test]
    fn taking_out_what_is_not_in_it_or_all_of_it_is_refused() {
        let classes = classes(&["science/bio/birds", "science/maths", "sports"]);
        let refused = |without: &str| {
            let focus = Focus::new(["science"]).unwrap().without([without]);
            focus.members(&classes).unwrap_err().to_string()
        };
        assert_eq!(
            refused("sports"),
            "without `sports` takes nothing out: no class under it lies in `science`"
        );
        assert_eq!(
            refused("birds"),
            "without `birds` takes nothing out: no class under it lies in `science`; \
             did you mean `science/bio/birds`?"
        );
        assert_eq!(
            refused("science"),
            "nothing is left of `science` without `science`; name a part of it to take out"
        );
    }

    #[test]
    fn of_several_foci_each_loses_its_own_part() {
        let classes = classes(&["arts/film", "arts/music", "science/bio", "science/maths"]);
        let topics = ["arts".to_owned(), "science".to_owned()];
        let foci = Focus::each(&topics, &["arts/film".to_owned()]).unwrap();
        assert_eq!(
            foci[0].members(&classes).unwrap(),
            [false, true, false, false]
        );
        assert_eq!(
            foci[1].members(&classes).unwrap(),
            [false, false, true, true]
        );
        let foci = Focus::each(&topics, &["sports".to_owned()]).unwrap();
        assert!(foci[1].members(&classes).is_err());
    }

    #[test]
    fn a_focus_without_topics_is_refused() {
        assert_eq!(Focus::new([" ", "/"]), Err(FocusError::Empty));
    }
}
