//! What is to be known of a topic that was added.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::critic::evaluation::Share;
use crate::critic::extend::Extension;
use crate::critic::extend::candidate::Candidate;
use crate::critic::extend::check::Checked;
use crate::critic::extend::findings::{self, Finding};
use crate::critic::params::Skipped;

/// Classes that are named as the nearest ones.
const NEAREST_SHOWN: usize = 3;

/// What is to be known of a topic that was added.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExtendReport {
    /// The topic.
    pub topic: String,
    /// Examples that were counted.
    pub examples: u64,
    /// Examples that were there already, by URL or by words.
    pub duplicates: u64,
    /// Examples that are no pages.
    pub skipped: Vec<Skipped>,
    /// Words that became terms for this topic.
    pub new_terms: u64,
    /// Of the examples, each judged by a class made of the others, those that were taken for the topic.
    pub recall: Share,
    /// What the others were taken for, most frequent first.
    pub taken_for: Vec<TopicCount>,
    /// Pages of the other topics, if there were any to judge.
    pub rest: Option<RestFigures>,
    /// The classes whose words are told from the topic's the least, nearest first.
    pub nearest: Vec<NearClass>,
    /// What somebody should know before using it.
    pub findings: Vec<Finding>,
}

/// How many pages of which topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopicCount {
    /// The topic.
    pub topic: String,
    /// Pages.
    pub pages: u64,
    /// Of how many.
    pub of: u64,
}

/// What became of the pages that the other classes were trained on; each was judged with its own words
/// taken out of its class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RestFigures {
    /// Pages judged.
    pub pages: u64,
    /// Of all pages taken for the topic, examples and these, the examples: precision at the shares that
    /// the topics have here, which are not those of a crawl.
    pub precision: Share,
    /// Of these pages those taken for the topic.
    pub taken: Share,
    /// Those that an existing topic had taken before it got more examples; 0 for a new one.
    pub taken_before: u64,
    /// By their topics, most frequent first.
    pub taken_of: Vec<TopicCount>,
    /// Pages judged right without the topic.
    pub right_before: Share,
    /// Pages judged right with it.
    pub right_after: Share,
}

/// A class, and how far the topic is from it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NearClass {
    /// The class.
    pub topic: String,
    /// By how much a word of the class speaks for it and against the new topic, in nats on the mean.
    pub nats_a_word: f64,
}

impl Extension<'_> {
    pub(super) fn report(&self, candidate: &Candidate, checked: &Checked) -> ExtendReport {
        let name = |class: u16| {
            let name = self.model.class_names().get(usize::from(class));
            name.map_or(self.topic.clone(), Clone::clone)
        };
        let all = checked.cells.values().sum();
        let missed = checked
            .cells
            .iter()
            .filter(|((truth, said), _)| truth != said);
        let missed = missed
            .map(|((_, said), pages)| (*said, *pages, all))
            .collect();
        let counts = |counts: Vec<(u16, u64, u64)>| most_first(counts, name);
        let rest = &checked.rest;
        let taken: u64 = rest.taken.values().sum();
        let recall = checked.recall();
        let of = |class: &u16| rest.of.get(class).copied().unwrap_or(0);
        let figures = RestFigures {
            pages: rest.pages,
            precision: Share::new(recall.count, recall.count + taken),
            taken: Share::new(taken, rest.pages),
            taken_before: rest.taken_before,
            taken_of: counts(
                rest.taken
                    .iter()
                    .map(|(class, n)| (*class, *n, of(class)))
                    .collect(),
            ),
            right_before: Share::new(rest.right_before, rest.pages),
            right_after: Share::new(rest.right_after, rest.pages),
        };
        let mut report = ExtendReport {
            topic: self.topic.clone(),
            examples: self.pages.len() as u64,
            duplicates: self.duplicates,
            skipped: self.skipped.clone(),
            new_terms: candidate.new_terms.len() as u64,
            recall,
            taken_for: counts(missed),
            rest: (rest.pages > 0).then_some(figures),
            nearest: self.nearest(candidate),
            findings: Vec::new(),
        };
        let shared: BTreeMap<u16, u64> =
            self.shared.iter().map(|(class, n)| (*class, *n)).collect();
        let shared = shared
            .into_iter()
            .map(|(class, n)| (class, n, report.examples));
        let shared = most_first(shared.collect(), name);
        report.findings = findings::of(&report, shared, checked, self);
        report
    }

    /// The divergence of the topic's words from those of each class, over the words of the class.
    fn nearest(&self, candidate: &Candidate) -> Vec<NearClass> {
        let bayes = &candidate.bayes;
        let of_topic = candidate.weights_of_topic();
        let smoothed = bayes.alpha * bayes.terms as f64;
        let classes = self
            .model
            .class_names()
            .iter()
            .zip(&bayes.classes)
            .zip(0_u16..);
        let mut near: Vec<NearClass> = classes
            .filter(|(_, class)| *class != candidate.class)
            .filter_map(|((name, counts), _)| {
                let total: f64 = counts.terms.iter().map(|(_, n)| *n as f64).sum();
                let excess = counts.terms.iter().map(|(term, n)| {
                    let n = *n as f64;
                    let own = ((n + bayes.alpha) / (total + smoothed)).ln();
                    n * (own - of_topic[*term as usize])
                });
                (total > 0.0).then(|| NearClass {
                    topic: name.clone(),
                    nats_a_word: excess.sum::<f64>() / total,
                })
            })
            .collect();
        near.sort_by(|a, b| a.nats_a_word.total_cmp(&b.nats_a_word));
        near.truncate(NEAREST_SHOWN);
        near
    }
}

fn most_first(mut counts: Vec<(u16, u64, u64)>, name: impl Fn(u16) -> String) -> Vec<TopicCount> {
    counts.sort_by_key(|(class, pages, _)| (std::cmp::Reverse(*pages), *class));
    let named = counts.into_iter().map(|(class, pages, of)| TopicCount {
        topic: name(class),
        pages,
        of,
    });
    named.collect()
}
