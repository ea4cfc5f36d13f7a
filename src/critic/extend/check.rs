//! How good is the new class? Each example is judged by a class made of others, each page of another
//! class with its own words taken out of that class's counts.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::critic::bayes::{ClassCounts, best};
use crate::critic::evaluation::Share;
use crate::critic::extend::candidate::Candidate;
use crate::critic::extend::mixed::{self, Mixture};
use crate::critic::extend::report::TopicCount;
use crate::critic::extend::{Extension, NewPage};
use crate::critic::posterior::log_sum_exp;
use crate::critic::sparse::Bag;
use crate::critic::split;
use crate::critic::weights::Background;

/// What the check has found; classes by their numbers in the candidate.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// (class of the topic, class that was best) and how many examples.
    pub(super) cells: BTreeMap<(u16, u16), u64>,
    /// The sum over the examples of -ln Pr(the topic | page).
    pub(super) log_loss_sum: f64,
    /// Which class of the candidate the topic is.
    pub(super) class: u16,
    pub(super) rest: RestChecked,
    pub(super) mixture: Option<Mixture>,
}

/// What became of the pages of other classes.
#[derive(Debug, Default)]
pub(super) struct RestChecked {
    pub(super) pages: u64,
    /// Pages taken for the topic, by their class, and pages, by class.
    pub(super) taken: BTreeMap<u16, u64>,
    pub(super) of: BTreeMap<u16, u64>,
    /// Pages that the topic had before; 0 for a new one.
    pub(super) taken_before: u64,
    /// Pages whose class was best without the topic, and with it.
    pub(super) right_before: u64,
    pub(super) right_after: u64,
}

impl Checked {
    fn judge_apart(&mut self, candidate: &Candidate, pages: &[&NewPage]) {
        let mut scores = Vec::new();
        let class = candidate.class;
        for page in pages {
            candidate.score(&page.bag, &mut scores);
            let said = u16::try_from(best(scores.iter().copied())).unwrap_or(u16::MAX);
            *self.cells.entry((class, said)).or_default() += 1;
            let all = log_sum_exp(scores.iter().copied());
            self.log_loss_sum += all - scores[usize::from(class)];
        }
    }

    /// Of the examples those that were taken for the topic.
    pub(super) fn recall(&self) -> Share {
        let right = self.cells.get(&(self.class, self.class)).copied();
        Share::new(right.unwrap_or(0), self.cells.values().sum())
    }
}

impl Extension<'_> {
    pub(super) fn check(&self, candidate: &Candidate) -> Checked {
        let mut checked = Checked {
            class: candidate.class,
            rest: self.check_rest(candidate),
            mixture: mixed::look(self),
            ..Checked::default()
        };
        let fold_of = split::folds(
            &vec![0; self.pages.len()],
            &split::Twins::default(),
            self.params.folds.clamp(2, self.pages.len().max(2)),
            self.params.seed,
        );
        let folds = fold_of.iter().max().map_or(0, |last| last + 1);
        for fold in 0..folds {
            let side = |inside: bool| {
                let both = self.pages.iter().zip(&fold_of);
                let side = both.filter(move |(_, of)| (**of == fold) == inside);
                side.map(|(page, _)| page).collect::<Vec<&NewPage>>()
            };
            let (apart, rest) = (side(true), side(false));
            if rest.is_empty() && !self.params.more {
                continue;
            }
            checked.judge_apart(&self.candidate(&rest), &apart);
        }
        checked
    }

    /// How many of `pages` a class made of `of` takes.
    pub(super) fn recalled(&self, of: &[&NewPage], pages: &[&NewPage]) -> Share {
        let candidate = self.candidate(of);
        let mut scores = Vec::new();
        let taken = pages.iter().filter(|page| {
            candidate.score(&page.bag, &mut scores);
            best(scores.iter().copied()) == usize::from(candidate.class)
        });
        Share::new(taken.count() as u64, pages.len() as u64)
    }

    /// The class that takes most of `pages` while there is no such topic, and how many it takes.
    pub(super) fn falls_into(&self, pages: &[&NewPage]) -> Option<TopicCount> {
        let before = self.candidate(&[]);
        let mut scores = Vec::new();
        let mut taken: BTreeMap<usize, u64> = BTreeMap::new();
        for page in pages {
            before.score(&page.bag, &mut scores);
            scores[usize::from(before.class)] = f64::NEG_INFINITY;
            *taken.entry(best(scores.iter().copied())).or_default() += 1;
        }
        let most = taken
            .into_iter()
            .max_by_key(|(class, n)| (*n, Reverse(*class)));
        let (class, n) = most?;
        Some(TopicCount {
            topic: self.model.class_names().get(class)?.clone(),
            pages: n,
            of: pages.len() as u64,
        })
    }

    fn check_rest(&self, candidate: &Candidate) -> RestChecked {
        let mut rest = RestChecked::default();
        if self.rest.is_empty() {
            return rest;
        }
        let before = self.candidate(&[]);
        let (judge_before, judge_after) = (LeaveOut::of(&before), LeaveOut::of(candidate));
        let topic = usize::from(candidate.class);
        for page in &self.rest {
            let own = usize::from(page.class);
            let (old, new) = (
                judge_before.best(&page.bag, own),
                judge_after.best(&page.bag, own),
            );
            rest.pages += 1;
            *rest.of.entry(page.class).or_default() += 1;
            rest.right_before += u64::from(old == own);
            rest.right_after += u64::from(new == own);
            rest.taken_before += u64::from(old == topic);
            if new == topic {
                *rest.taken.entry(page.class).or_default() += 1;
            }
        }
        rest
    }
}

/// Judges pages as if they had not been counted in their class.
pub(super) struct LeaveOut<'a> {
    candidate: &'a Candidate,
    /// N(k) and b(k) + alpha T, by class.
    totals: Vec<(f64, f64)>,
}

impl<'a> LeaveOut<'a> {
    pub(super) fn of(candidate: &'a Candidate) -> Self {
        let bayes = &candidate.bayes;
        let background = Background::of(bayes);
        let smoothed = bayes.alpha * bayes.terms as f64;
        let total = |class: &ClassCounts| {
            let own = class.terms.iter().map(|(_, n)| *n as f64).sum();
            (own, background.words_of(class) + smoothed)
        };
        Self {
            candidate,
            totals: bayes.classes.iter().map(total).collect(),
        }
    }

    /// The best class for a page that was counted in class `own`.
    fn best(&self, bag: &Bag, own: usize) -> usize {
        let mut scores = Vec::new();
        self.candidate.score(bag, &mut scores);
        scores[own] += self.without(&self.candidate.terms_of(bag), own);
        best(scores.into_iter())
    }

    /// By how much the score of class `own` for a page changes when its words are taken out of the
    /// class's counts: of a page that was never in them, as much of it as there is. Exact for a class
    /// without a background.
    pub(super) fn without(&self, bag: &Bag, own: usize) -> f64 {
        let terms = &self.candidate.bayes.classes[own].terms;
        let alpha = self.candidate.bayes.alpha;
        let (mut gone, mut change, mut length) = (0.0, 0.0, 0.0);
        for (term, n) in bag {
            let place = terms.binary_search_by_key(term, |(term, _)| *term);
            let has = place.map_or(0, |place| terms[place].1) as f64;
            let n = f64::from(*n);
            let left = (has - n).max(0.0);
            gone += has - left;
            length += n;
            change += n * ((left + alpha).ln() - (has + alpha).ln());
        }
        let (total, smoothed) = self.totals[own];
        change - length * ((total - gone + smoothed).ln() - (total + smoothed).ln())
    }
}
