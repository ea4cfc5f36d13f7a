//! Pages as the messages of judge.proto, and what is taken of the verdicts that come back.

use prost::Message;

use super::classes::Numbers;
use crate::critic::far::JudgeAway;
use crate::critic::judge::{BEST_CLASSES_MAX, ClassId, ClassScore, Verdict};
use crate::critic::weights::narrow;
use crate::page::Page;
use crate::proto::v1;
use crate::proto::v1::verdict::Relevance;
use crate::url::CanonicalUrl;

/// The longest text that is sent; the rest of a page is cut.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// As much is sent of a title, and of a Content-Type header.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// The greatest log odds; the priority of seeds is far above.
const LOG_ODDS_MAX: f64 = 1e6;
/// A probability nearer to 0 or 1 is taken as this near: then the log odds are finite.
const PROBABILITY_STEP: f64 = 1e-15;
/// How far above 0 rounding may carry a log posterior.
const ROUNDING: f64 = 1e-6;

/// What a judge is told of a page besides its words.
#[derive(Clone, Copy, Debug)]
pub struct PageFacts<'a> {
    /// Where it is.
    pub url: &'a CanonicalUrl,
    /// The header, if there was one.
    pub content_type: Option<&'a str>,
    /// XXH3 of the body.
    pub body_digest: u64,
    /// The body was over the bound.
    pub truncated: bool,
}

/// `page` as a far judge is shown it.
pub fn page_to_judge(page: &Page, facts: &PageFacts<'_>) -> v1::JudgePage {
    let (text, is_cut) = text_of(page, TEXT_BYTES_MAX);
    let head = |text: &str| text[..text.floor_char_boundary(HEAD_BYTES_MAX)].to_owned();
    v1::JudgePage {
        url: facts.url.as_str().to_owned(),
        title: head(&page.title),
        text,
        content_type: head(facts.content_type.unwrap_or_default()),
        body_digest: facts.body_digest,
        truncated: facts.truncated || is_cut,
    }
}

/// The words, a leaf a line, and whether there were more.
fn text_of(page: &Page, bytes_max: usize) -> (String, bool) {
    let mut text = String::new();
    for leaf in 0..page.leaf_ends.len() {
        let mut separator = if text.is_empty() { "" } else { "\n" };
        for word in page.leaf_words(leaf) {
            let Some(word) = page.vocabulary.get(*word as usize) else {
                continue;
            };
            if text.len() + separator.len() + word.len() > bytes_max {
                return (text, true);
            }
            text.push_str(separator);
            text.push_str(word);
            separator = " ";
        }
    }
    (text, false)
}

/// A copy of `page` in at most `bytes_max` bytes: the end of its text goes, if need be.
pub(super) fn cut_to(page: &v1::JudgePage, bytes_max: usize) -> v1::JudgePage {
    let over = page.encoded_len().saturating_sub(bytes_max);
    if over == 0 {
        return page.clone();
    }
    // The flag below takes two bytes.
    let kept = page
        .text
        .floor_char_boundary(page.text.len().saturating_sub(over + 2));
    v1::JudgePage {
        text: page.text[..kept].to_owned(),
        truncated: true,
        ..page.clone()
    }
}

/// The verdicts of a response on `pages`, checked to the last number.
pub(super) fn verdicts_of(
    response: &v1::JudgeBatchResponse,
    pages: &[&v1::JudgePage],
    classes: &Numbers,
) -> Result<Vec<Verdict>, JudgeAway> {
    let got = response.verdicts.len();
    if got != pages.len() {
        let words = format!("{got} verdicts on {} pages", pages.len());
        return Err(JudgeAway::BadAnswer(words));
    }
    let both = response.verdicts.iter().zip(pages);
    both.map(|(verdict, page)| {
        checked(verdict, response.version, classes)
            .map_err(|words| JudgeAway::BadAnswer(format!("on {}: {words}", page.url)))
    })
    .collect()
}

fn checked(verdict: &v1::Verdict, version: u64, classes: &Numbers) -> Result<Verdict, String> {
    let log_odds = log_odds_of(verdict.relevance.as_ref())?;
    let mut best = Vec::with_capacity(verdict.best.len().min(BEST_CLASSES_MAX));
    let mut last = f64::INFINITY;
    for class in verdict.best.iter().take(BEST_CLASSES_MAX) {
        let name = &class.name;
        let Some(number) = classes.get(name) else {
            return Err(format!("class {name:?} is not among those described"));
        };
        let log_posterior = class.log_posterior;
        if !(log_posterior.is_finite() && log_posterior <= ROUNDING) {
            return Err(format!("the log posterior of {name:?} is {log_posterior}"));
        }
        if log_posterior > last {
            return Err(format!("class {name:?} is better than the one before it"));
        }
        last = log_posterior;
        best.push(ClassScore {
            class: ClassId(*number),
            log_posterior: narrow(log_posterior.min(0.0)).max(f32::MIN),
        });
    }
    Ok(Verdict {
        log_odds: narrow(log_odds),
        calibrated_log_odds: narrow(log_odds),
        best,
        near_focus: verdict.near_focus.unwrap_or(log_odds >= 0.0),
        version,
    })
}

fn log_odds_of(relevance: Option<&Relevance>) -> Result<f64, String> {
    match relevance {
        None => Err("it says no relevance".to_owned()),
        Some(Relevance::LogOdds(odds)) if odds.is_finite() && odds.abs() <= LOG_ODDS_MAX => {
            Ok(*odds)
        }
        Some(Relevance::LogOdds(odds)) => Err(format!("the log odds are {odds}")),
        Some(Relevance::Probability(p)) if (0.0..=1.0).contains(p) => {
            let p = p.clamp(PROBABILITY_STEP, 1.0 - PROBABILITY_STEP);
            Ok((p / (1.0 - p)).ln())
        }
        Some(Relevance::Probability(p)) => Err(format!("the probability is {p}")),
    }
}

#[cfg(test)]
mod tests;
