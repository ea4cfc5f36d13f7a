//! Crawlers that go by the words of the topic: naive best-first by the cosine of its keywords and the page
//! (Pant, Srinivasan, Menczer: Exploration versus exploitation in topic driven crawlers, 2002), and
//! `SharkSearch` (Hersovici et al.: The shark-search algorithm, WWW 1998).

use std::collections::{BTreeMap, HashMap};

use super::contest::Keywords;
use crate::apprentice::{LinkScorer, SourceView};
use crate::booking::Event;
use crate::critic::CriticModel;
use crate::features::{PageSketch, term_hash};
use crate::taxonomy::{Focus, FocusError};
use crate::text::is_stop_word;
use crate::url::UrlId;

/// Keywords that are taken from the critic, a topic.
const KEYWORDS: usize = 10;
/// Leaves around a link that `SharkSearch` calls its context: the window of the apprentice.
const CONTEXT: u8 = 5;

/// The keywords of a topic.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TopicWords {
    /// The words, for people.
    pub(super) words: Vec<String>,
    /// How often each is among them, by hash.
    counts: BTreeMap<u64, f64>,
    norm: f64,
}

impl TopicWords {
    /// The keywords of a topic: the words of its name, or what the critic goes by most. A name none of
    /// whose words says anything has the critic's.
    pub(super) fn of(
        kind: Keywords,
        topic: &str,
        focus: &Focus,
        model: &CriticModel,
    ) -> Result<Self, FocusError> {
        let named: Vec<String> = crate::text::words(&topic.replace('_', " "))
            .filter(|word| !is_stop_word(word))
            .collect();
        if kind == Keywords::Name && !named.is_empty() {
            return Ok(Self::new(named));
        }
        Ok(Self::new(telling(focus, model, KEYWORDS)?))
    }

    pub(super) fn new(words: Vec<String>) -> Self {
        let mut counts = BTreeMap::new();
        for word in &words {
            *counts.entry(term_hash(word)).or_insert(0.0) += 1.0;
        }
        let norm = norm(counts.values());
        Self {
            words,
            counts,
            norm,
        }
    }

    /// The cosine of the keywords and a text, by counts of words; 0 of no words.
    fn cosine(&self, text: impl IntoIterator<Item = u64>) -> f64 {
        let mut counts: BTreeMap<u64, f64> = BTreeMap::new();
        for word in text {
            *counts.entry(word).or_default() += 1.0;
        }
        let products = self
            .counts
            .iter()
            .filter_map(|(word, count)| Some(count * counts.get(word)?));
        let dot: f64 = products.sum();
        if dot > 0.0 {
            dot / (self.norm * norm(counts.values()))
        } else {
            0.0
        }
    }
}

/// The words by which the critic tells the focus from the rest, at most `most`, those of each class in
/// turn.
pub(super) fn telling(
    focus: &Focus,
    model: &CriticModel,
    most: usize,
) -> Result<Vec<String>, FocusError> {
    let members = focus.members(model.class_names())?;
    let inside = (0..=u16::MAX).zip(members).filter(|(_, inside)| *inside);
    let lists: Vec<Vec<String>> = inside
        .map(|(class, _)| {
            let terms = model.telling_terms(class, most).into_iter();
            terms.map(|term| term.term).collect()
        })
        .collect();
    let mut words: Vec<String> = Vec::new();
    for place in 0..most {
        for word in lists.iter().filter_map(|list| list.get(place)) {
            if words.len() < most && !words.contains(word) {
                words.push(word.clone());
            }
        }
    }
    Ok(words)
}

fn norm<'a>(counts: impl Iterator<Item = &'a f64>) -> f64 {
    counts.map(|count| count * count).sum::<f64>().sqrt()
}

#[allow(clippy::cast_possible_truncation, reason = "a score lies in [0, 1]")]
fn score(value: f64) -> f32 {
    value as f32
}

/// Every link is worth the cosine of the keywords and its page.
pub(super) struct CosineScorer(pub(super) TopicWords);

impl LinkScorer for CosineScorer {
    fn needs_sketches(&self) -> bool {
        true
    }

    fn score(&mut self, source: &SourceView<'_>) -> Vec<f32> {
        let similarity = source
            .sketch
            .map_or(0.0, |page| self.0.cosine(page.words()));
        vec![score(similarity); source.links]
    }

    fn observe(&mut self, _event: &Event) {}
}

/// The three weights of `SharkSearch`, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharkParams {
    /// delta: what a link inherits of its page's similarity, or of what its page has inherited.
    pub decay: u16,
    /// beta: the share of the anchor in the score of the neighbourhood; the rest is its context.
    pub anchor: u16,
    /// gamma: the share of what is inherited in the score; the rest is the neighbourhood.
    pub inherited: u16,
}

impl Default for SharkParams {
    /// 0.5, 0.8 and 0.1. The form of the score is the paper's; no source for these values was found.
    fn default() -> Self {
        Self {
            decay: 500,
            anchor: 800,
            inherited: 100,
        }
    }
}

/// See the module.
pub(super) struct SharkScorer {
    topic: TopicWords,
    decay: f64,
    anchor: f64,
    inherited: f64,
    /// What each URL inherits from the best of the pages that link to it.
    heirs: HashMap<UrlId, f64>,
}

impl SharkScorer {
    pub(super) fn new(topic: TopicWords, params: SharkParams) -> Self {
        let share = |thousandths: u16| f64::from(thousandths) / 1000.0;
        Self {
            topic,
            decay: share(params.decay),
            anchor: share(params.anchor),
            inherited: share(params.inherited),
            heirs: HashMap::new(),
        }
    }

    fn of_page(&mut self, page: &PageSketch) -> Vec<f32> {
        let own = self.topic.cosine(page.words());
        let before = self.heirs.get(&page.id).copied().unwrap_or(0.0);
        let inherited = self.decay * if own > 0.0 { own } else { before };
        let mut scores = Vec::with_capacity(page.links.len());
        for (at, link) in page.links.iter().enumerate() {
            let heir = self.heirs.entry(link.target).or_insert(0.0);
            *heir = heir.max(inherited);
            let (inside, around) = page.words_near(at, CONTEXT);
            let anchor = self.topic.cosine(inside);
            let context = if anchor > 0.0 {
                1.0
            } else {
                self.topic.cosine(around)
            };
            let near = self.anchor * anchor + (1.0 - self.anchor) * context;
            scores.push(score(
                self.inherited * inherited + (1.0 - self.inherited) * near,
            ));
        }
        scores
    }
}

impl LinkScorer for SharkScorer {
    fn needs_sketches(&self) -> bool {
        true
    }

    fn score(&mut self, source: &SourceView<'_>) -> Vec<f32> {
        source.sketch.map_or(Vec::new(), |page| self.of_page(page))
    }

    fn observe(&mut self, _event: &Event) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{SourceFacts, TermWeights};
    use crate::page::{DocumentKind, Page, PageLimits, PageSource};
    use crate::url::CanonicalUrl;

    fn sketch(url: &str, html: &str) -> PageSketch {
        let url = CanonicalUrl::parse(url).unwrap();
        let source = PageSource {
            url: &url,
            content_type: Some("text/html"),
            body: html.as_bytes(),
        };
        let page = Page::parse(&source, DocumentKind::Html, &PageLimits::default());
        PageSketch::new(&url, &page, SourceFacts::default(), &TermWeights::default())
    }

    fn topic() -> TopicWords {
        TopicWords::new(vec!["red".to_owned(), "bird".to_owned()])
    }

    fn scores(scorer: &mut dyn LinkScorer, page: &PageSketch) -> Vec<f32> {
        scorer.score(&SourceView {
            log_odds: 0.0,
            links: page.links.len(),
            sketch: Some(page),
        })
    }

    fn near(found: &[f32], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (f64::from(*found) - expected).abs() < 1e-6,
                "{found} for {expected}"
            );
        }
    }

    #[test]
    fn the_cosine_of_a_page_is_that_of_its_words_counted() {
        let page = sketch(
            "http://a.test/",
            "red red <a href=/x>bird</a> <a href=/y>sea</a>",
        );
        // Counts red 2, bird 1, sea 1 against red 1, bird 1: 3 / (sqrt 6 sqrt 2).
        let cosine = 3.0 / 12.0_f64.sqrt();
        near(&scores(&mut CosineScorer(topic()), &page), &[cosine; 2]);
        let none = sketch("http://a.test/", "<a href=/x>sea</a>");
        near(&scores(&mut CosineScorer(topic()), &none), &[0.0]);
    }

    #[test]
    fn a_shark_goes_by_anchor_context_and_what_is_inherited() {
        let mut shark = SharkScorer::new(topic(), SharkParams::default());
        // Own cosine: bird 1, sea 1, hill 1 against two keywords: 1 / (sqrt 3 sqrt 2).
        let html = "<p><a href=/x>bird</a></p><p>sea</p><p></p><p></p><p></p><p></p><p><a href=/y>hill</a></p>";
        let page = sketch("http://a.test/", html);
        let inherited = 0.5 / 6.0_f64.sqrt();
        let anchor = 1.0 / 2.0_f64.sqrt();
        let found = scores(&mut shark, &page);
        let first = 0.1 * inherited + 0.9 * (0.8 * anchor + 0.2);
        // Six leaves lie between the two: the bird is no context of the hill.
        near(&found, &[first, 0.1 * inherited]);
        // A page without a keyword hands half of its inheritance on.
        let child = sketch("http://a.test/y", "<a href=/z>stone</a>");
        near(&scores(&mut shark, &child), &[0.1 * 0.5 * inherited]);
        let stranger = sketch("http://a.test/s", "<a href=/z>stone</a>");
        near(&scores(&mut shark, &stranger), &[0.0]);
    }
}
