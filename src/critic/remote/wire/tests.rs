use proptest::prelude::*;

use super::*;
use crate::page::{DocumentKind, PageLimits, PageSource};

fn page(html: &str) -> Page {
    let url = CanonicalUrl::parse("http://a.test/").unwrap();
    let source = PageSource {
        url: &url,
        content_type: Some("text/html"),
        body: html.as_bytes(),
    };
    Page::parse(&source, DocumentKind::Html, &PageLimits::default())
}

fn judged(relevance: Relevance, best: &[(&str, f64)]) -> v1::Verdict {
    v1::Verdict {
        relevance: Some(relevance),
        best: best
            .iter()
            .map(|(name, log_posterior)| v1::JudgedClass {
                name: (*name).to_owned(),
                log_posterior: *log_posterior,
            })
            .collect(),
        near_focus: None,
    }
}

/// What is made of `verdict` by somebody who knows the classes `reef` and `sand`.
fn take(verdict: v1::Verdict) -> Result<Verdict, JudgeAway> {
    let classes = Numbers::from([("reef".to_owned(), 0), ("sand".to_owned(), 4)]);
    let response = v1::JudgeBatchResponse {
        verdicts: vec![verdict],
        version: 7,
    };
    let page = v1::JudgePage {
        url: "http://a.test/".to_owned(),
        ..Default::default()
    };
    verdicts_of(&response, &[&page], &classes).map(|mut all| all.remove(0))
}

#[test]
fn a_page_goes_out_as_its_words_a_leaf_a_line() {
    let page =
        page("<title>Of  Reefs</title><p>Corals <b>Bleach</b> fast</p><hr><p>in warm Water</p>");
    let (text, is_cut) = text_of(&page, 1000);
    assert_eq!(text, "corals\nbleach\nfast\nin warm water");
    assert!(!is_cut);
    let (text, is_cut) = text_of(&page, 14);
    assert_eq!((text.as_str(), is_cut), ("corals\nbleach", true));
}

#[test]
fn a_page_that_is_too_long_loses_the_end_of_its_text() {
    let url = CanonicalUrl::parse("http://a.test/").unwrap();
    let facts = PageFacts {
        url: &url,
        content_type: None,
        body_digest: u64::MAX,
        truncated: false,
    };
    // Two bytes a letter: no cut may fall between them.
    let page = page(&format!("<p>{}</p>", "\u{e4} ".repeat(5000)));
    let whole = page_to_judge(&page, &facts);
    assert!(!whole.truncated);
    let mut titled = page.clone();
    titled.title = "\u{e4}".repeat(1_000_000);
    let titled = page_to_judge(&titled, &facts);
    assert_eq!(titled.title.len(), 16 << 10);
    for bytes_max in [1000, 1001, 1002, 8000] {
        let cut = cut_to(&whole, bytes_max);
        assert!(cut.encoded_len() <= bytes_max, "{}", cut.encoded_len());
        assert!(cut.truncated && whole.text.starts_with(&cut.text));
    }
    assert_eq!(cut_to(&whole, 1 << 20), whole);
}

#[test]
fn a_good_verdict_is_taken_as_it_is() {
    let verdict = take(judged(
        Relevance::LogOdds(-700.5),
        &[("sand", -0.25), ("reef", -1.5)],
    ));
    let verdict = verdict.unwrap();
    assert_eq!(verdict.log_odds.to_bits(), (-700.5_f32).to_bits());
    assert_eq!(verdict.version, 7);
    let best: Vec<u16> = verdict.best.iter().map(|score| score.class.0).collect();
    assert_eq!(best, [4, 0]);
    assert!(!verdict.near_focus);
    let near = v1::Verdict {
        near_focus: Some(true),
        ..judged(Relevance::LogOdds(-1.0), &[])
    };
    assert!(take(near).unwrap().near_focus);
}

#[test]
fn a_probability_becomes_finite_log_odds() {
    // ln(0.8 / 0.2) = 1.3862944
    let odds = |p| {
        take(judged(Relevance::Probability(p), &[]))
            .unwrap()
            .log_odds
    };
    assert!((odds(0.8) - 1.386_294_4).abs() < 1e-6);
    // ln(1e-15) = -34.538776
    assert!((odds(0.0) + 34.538_776).abs() < 1e-3);
    assert!((odds(1.0) - 34.5).abs() < 0.2);
}

#[test]
fn what_breaks_the_contract_is_refused_with_the_page_and_the_cause() {
    let wrong = |verdict| take(verdict).unwrap_err().to_string();
    let odds = |odds| judged(Relevance::LogOdds(odds), &[]);
    assert!(wrong(odds(f64::NAN)).contains("http://a.test/: the log odds are NaN"));
    assert!(wrong(odds(f64::INFINITY)).contains("inf"));
    assert!(wrong(odds(1.1e6)).contains("1100000"));
    for p in [f64::NAN, -0.1, 1.1] {
        let words = wrong(judged(Relevance::Probability(p), &[]));
        assert!(
            words.contains(&format!("the probability is {p}")),
            "{words}"
        );
    }
    let none = v1::Verdict::default();
    assert!(wrong(none).contains("no relevance"));
    let best = |best: &[(&str, f64)]| judged(Relevance::LogOdds(0.0), best);
    assert!(wrong(best(&[("shark", -1.0)])).contains("\"shark\" is not among"));
    assert!(wrong(best(&[("reef", 0.1)])).contains("0.1"));
    assert!(wrong(best(&[("reef", f64::NAN)])).contains("NaN"));
    assert!(wrong(best(&[("reef", -2.0), ("sand", -1.0)])).contains("better"));
    let response = v1::JudgeBatchResponse::default();
    let page = v1::JudgePage::default();
    let error = verdicts_of(&response, &[&page, &page], &Numbers::new()).unwrap_err();
    assert!(error.to_string().contains("0 verdicts on 2 pages"));
}

fn any_relevance() -> impl Strategy<Value = Option<Relevance>> {
    let number = prop_oneof![any::<f64>(), -10.0..10.0_f64, 0.0..=1.0_f64];
    let odds = number.clone().prop_map(|n| Some(Relevance::LogOdds(n)));
    let probability = number.prop_map(|n| Some(Relevance::Probability(n)));
    prop_oneof![Just(None), odds, probability]
}

proptest! {
    #[test]
    fn whatever_a_judge_says_what_is_taken_of_it_is_a_verdict(
        relevance in any_relevance(),
        best in prop::collection::vec(
            (prop_oneof![Just("reef"), Just("sand"), Just("shark")],
             prop_oneof![4 => -9.0..1e-7_f64, 1 => any::<f64>()]),
            0..8,
        ),
    ) {
        let mut verdict = judged(Relevance::LogOdds(0.0), &best);
        verdict.best.sort_by(|a, b| b.log_posterior.total_cmp(&a.log_posterior));
        verdict.relevance = relevance;
        if let Ok(taken) = take(verdict) {
            prop_assert!(taken.log_odds.is_finite());
            prop_assert!(taken.best.len() <= BEST_CLASSES_MAX);
            for score in &taken.best {
                prop_assert!(score.log_posterior.is_finite() && score.log_posterior <= 0.0);
                prop_assert!([0, 4].contains(&score.class.0));
            }
            prop_assert!(taken.best.is_sorted_by(|a, b| a.log_posterior >= b.log_posterior));
        }
    }
}
