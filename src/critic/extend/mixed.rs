//! Are the examples about one thing? They are cut in two by their words (spherical 2-means), and each
//! part is judged by a class made of the other alone. Parts of one topic know each other, at least one
//! way; two topics under one name do not.

use std::collections::{BTreeMap, HashMap};

use crate::critic::evaluation::Share;
use crate::critic::extend::report::TopicCount;
use crate::critic::extend::{Extension, NewPage};

/// Parts smaller than this say nothing, nor do parts below a fifth of the examples.
const PART_MIN: usize = 4;
/// Examples that are looked at: pairs are compared.
const EXAMPLES_MAX: usize = 400;
const ROUNDS_MAX: usize = 20;
/// Words that are shown of a part.
const WORDS_SHOWN: usize = 5;

/// The two parts of the examples.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mixture {
    pub(super) parts: [Part; 2],
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) examples: u64,
    /// Words that set it apart from the other part.
    pub(super) words: Vec<String>,
    /// Of its pages those that a class made of the other part takes.
    pub(super) recalled: Share,
    /// The class that most of its pages fall into without the topic.
    pub(super) falls_into: Option<TopicCount>,
}

/// By word: sums run in this order, and so are the same each time.
type Vector = BTreeMap<u32, f64>;

impl Mixture {
    /// The share of the examples that a class made of the other part takes.
    pub(super) fn recalled(&self) -> f64 {
        let recalled = self.parts.iter().map(|part| part.recalled);
        let (count, of) = recalled.fold((0, 0), |(count, of), share| {
            (count + share.count, of + share.of)
        });
        Share::new(count, of).value
    }
}

/// Cuts the examples in two; `None` if there is no such cut.
pub(super) fn look(extension: &Extension<'_>) -> Option<Mixture> {
    let pages: Vec<&NewPage> = extension.pages.iter().take(EXAMPLES_MAX).collect();
    let vectors = vectors(&pages);
    let second = cut(&vectors)?;
    let side = |wanted: bool| {
        let both = pages.iter().zip(&second);
        let side = both.filter(move |(_, second)| **second == wanted);
        side.map(|(page, _)| *page).collect::<Vec<&NewPage>>()
    };
    let (a, b) = (side(false), side(true));
    if a.len().min(b.len()) < PART_MIN.max(pages.len() / 5) {
        return None;
    }
    let words = extension.all_words();
    let part = |mine: &[&NewPage], other: &[&NewPage]| Part {
        examples: mine.len() as u64,
        words: telling(mine, other, &words),
        recalled: extension.recalled(other, mine),
        falls_into: extension.falls_into(mine),
    };
    let parts = [part(&a, &b), part(&b, &a)];
    Some(Mixture { parts })
}

/// (1 + ln tf) ln (n / df), of length 1, without words of one page alone.
fn vectors(pages: &[&NewPage]) -> Vec<Vector> {
    let mut documents: HashMap<u32, f64> = HashMap::new();
    for (word, _) in pages.iter().flat_map(|page| &page.bag) {
        *documents.entry(*word).or_default() += 1.0;
    }
    let all = pages.len() as f64;
    let weigh = |page: &&NewPage| {
        let weights = page.bag.iter().filter_map(|(word, n)| {
            let n_documents = documents[word];
            let weight = (1.0 + f64::from(*n).ln()) * (all / n_documents).ln();
            (n_documents >= 2.0 && weight > 0.0).then_some((*word, weight))
        });
        unit(weights.collect())
    };
    pages.iter().map(weigh).collect()
}

fn unit(mut vector: Vector) -> Vector {
    let length: f64 = vector.values().map(|weight| weight * weight).sum();
    if length > 0.0 {
        for weight in vector.values_mut() {
            *weight /= length.sqrt();
        }
    }
    vector
}

fn cosine(a: &Vector, b: &Vector) -> f64 {
    a.iter()
        .filter_map(|(word, weight)| Some(weight * b.get(word)?))
        .sum()
}

/// For each vector whether it lies in the second part; begins with the two that are least alike.
fn cut(vectors: &[Vector]) -> Option<Vec<bool>> {
    let usable: Vec<usize> = (0..vectors.len())
        .filter(|at| !vectors[*at].is_empty())
        .collect();
    let mut apart: Option<(f64, usize, usize)> = None;
    for (place, a) in usable.iter().enumerate() {
        for b in &usable[place + 1..] {
            let alike = cosine(&vectors[*a], &vectors[*b]);
            if apart.is_none_or(|(least, ..)| alike < least) {
                apart = Some((alike, *a, *b));
            }
        }
    }
    let (_, a, b) = apart?;
    let mut centres = [vectors[a].clone(), vectors[b].clone()];
    let mut second = Vec::new();
    for _ in 0..ROUNDS_MAX {
        let nearer: Vec<bool> = vectors
            .iter()
            .map(|vector| cosine(vector, &centres[1]) > cosine(vector, &centres[0]))
            .collect();
        if nearer == second {
            break;
        }
        second = nearer;
        for (wanted, centre) in [false, true].into_iter().zip(&mut centres) {
            let mut sum = Vector::new();
            for (vector, _) in vectors
                .iter()
                .zip(&second)
                .filter(|(_, side)| **side == wanted)
            {
                for (word, weight) in vector {
                    *sum.entry(*word).or_default() += weight;
                }
            }
            *centre = unit(sum);
        }
    }
    Some(second)
}

/// The words that more pages of `mine` have than of `other`, those that differ most first.
fn telling(mine: &[&NewPage], other: &[&NewPage], words: &HashMap<u32, &str>) -> Vec<String> {
    let mut difference = Vector::new();
    for (pages, sign) in [(mine, 1.0), (other, -1.0)] {
        let share = sign / (pages.len() as f64).max(1.0);
        for (word, _) in pages.iter().flat_map(|page| &page.bag) {
            *difference.entry(*word).or_default() += share;
        }
    }
    let mut ranked: Vec<(u32, f64)> = difference.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let told = ranked.iter().filter(|(_, difference)| *difference > 0.0);
    let told = told.filter_map(|(word, _)| words.get(word));
    told.take(WORDS_SHOWN)
        .map(|word| (*word).to_owned())
        .collect()
}
