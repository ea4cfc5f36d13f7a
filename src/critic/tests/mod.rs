//! Tests of the critic as a whole: from pages to verdicts, through a file and back.

use std::sync::Arc;

use crate::clock::Timestamp;
use crate::critic::{
    BayesJudge, ClassId, CriticModel, JudgeError, Origin, PageJudge, TrainError, TrainParams,
    Trainer, evaluate,
};
use crate::page::Page;
use crate::taxonomy::{Focus, FocusError};

mod file;
mod oracle;

/// A page of these words.
fn page(text: &str) -> Page {
    let mut page = Page::default();
    for word in text.split_whitespace() {
        let known = page.vocabulary.iter().position(|known| known == word);
        let number = known.unwrap_or_else(|| {
            page.vocabulary.push(word.to_owned());
            page.vocabulary.len() - 1
        });
        page.words.push(u32::try_from(number).unwrap());
    }
    page.leaf_ends = vec![u32::try_from(page.words.len()).unwrap()];
    page
}

/// Ten pages each of three topics, two of them under one parent; half of the words are shared.
fn examples() -> Vec<(String, String, Page)> {
    let topics = [
        ("science/bio", ["cell", "gene", "enzyme", "tissue"]),
        ("science/physics", ["quark", "field", "laser", "energy"]),
        ("sports", ["goal", "team", "coach", "league"]),
    ];
    let mut examples = Vec::new();
    for (topic, words) in topics {
        for number in 0..10 {
            let text = format!(
                "page news {} {} {} unique{topic}{number}",
                words[number % 4],
                words[(number + 1) % 4],
                words[number % 4],
            );
            let url = format!("http://{topic}/{number}");
            examples.push((topic.to_owned(), url, page(&text)));
        }
    }
    examples
}

fn train(examples: &[(String, String, Page)], params: TrainParams) -> CriticModel {
    let mut trainer = Trainer::new(params).unwrap();
    for (topic, url, page) in examples {
        trainer.add(topic, url, page).unwrap();
    }
    let origin = Origin {
        trained_at: Timestamp(1_700_000_000_000),
        notes: "critic train".into(),
        sources: vec!["examples.csv".into()],
        version: 4,
    };
    trainer.ready().unwrap().train(origin).unwrap()
}

fn model() -> CriticModel {
    train(&examples(), TrainParams::default())
}

fn judge(topics: &[&str]) -> Result<BayesJudge, JudgeError> {
    let focus = Focus::new(topics.iter().copied()).unwrap();
    BayesJudge::new(Arc::new(model()), &focus)
}

#[test]
fn a_page_of_the_focus_is_relevant_and_another_is_not() {
    let judge = judge(&["science/bio"]).unwrap();
    let [inside, outside] = [page("gene gene cell"), page("team coach goal")];
    let verdicts = judge.judge_batch(&[&inside, &outside]);
    assert!(verdicts[0].relevance() > 0.99, "{verdicts:?}");
    assert!(verdicts[1].relevance() < 0.01, "{verdicts:?}");
    assert_eq!(
        judge.class_names()[usize::from(verdicts[1].best[0].class.0)],
        "sports"
    );
    assert_eq!(verdicts[0].version, 4);
}

#[test]
fn hard_focus_takes_siblings_in_and_soft_relevance_does_not() {
    let judge = judge(&["science/bio"]).unwrap();
    let sibling = judge.judge(&page("quark laser"));
    assert!(sibling.near_focus);
    assert!(sibling.relevance() < 0.01);
    assert!(!judge.judge(&page("league team")).near_focus);
}

#[test]
fn an_inner_topic_is_relevant_through_any_of_its_classes() {
    let judge = judge(&["science"]).unwrap();
    assert!(judge.judge(&page("quark laser")).relevance() > 0.99);
    assert!(judge.judge(&page("gene cell")).relevance() > 0.99);
}

#[test]
fn an_empty_page_gets_the_flat_prior() {
    let verdict = judge(&["sports"]).unwrap().judge(&Page::default());
    // One class of three: odds 1 to 2.
    assert!((f64::from(verdict.log_odds) - 0.5_f64.ln()).abs() < 1e-6);
    let classes: Vec<ClassId> = verdict.best.iter().map(|best| best.class).collect();
    assert_eq!(classes, [ClassId(0), ClassId(1), ClassId(2)]);
}

#[test]
fn a_long_page_keeps_finite_log_odds_and_posteriors_that_sum_to_one() {
    let judge = judge(&["sports"]).unwrap();
    let verdict = judge.judge(&page(&"goal team coach league ".repeat(5_000)));
    assert!(verdict.log_odds.is_finite() && verdict.log_odds > 10_000.0);
    let sum: f64 = verdict
        .best
        .iter()
        .map(|best| f64::from(best.log_posterior).exp())
        .sum();
    assert!((sum - 1.0).abs() < 1e-6, "{verdict:?}");
}

#[test]
fn a_focus_on_everything_or_on_nothing_known_is_refused() {
    assert_eq!(
        judge(&["science", "sports"]).unwrap_err(),
        JudgeError::CoversAll(3)
    );
    assert!(matches!(
        judge(&["sport"]).unwrap_err(),
        JudgeError::Focus(FocusError::Unknown { near, .. }) if near == ["sports"]
    ));
}

#[test]
fn training_does_not_depend_on_the_order_of_the_pages() {
    let mut backwards = examples();
    backwards.reverse();
    let params = TrainParams {
        seed: 3,
        ..TrainParams::default()
    };
    let path = std::path::Path::new("m");
    let folder = tempfile::tempdir().unwrap();
    let bytes = |model: &CriticModel| {
        model.save(&folder.path().join(path)).unwrap();
        std::fs::read(folder.path().join(path)).unwrap()
    };
    let forwards = train(&examples(), params.clone());
    assert_eq!(bytes(&forwards), bytes(&train(&backwards, params)));
}

#[test]
fn a_model_tells_what_it_was_trained_on() {
    let model = model();
    let focus = Focus::new(["science"]).unwrap();
    assert_eq!(model.examples_of(&focus).unwrap().len(), 20);
    assert_eq!(model.classes()[0].documents, 10);
    let held_out = &model.training().held_out;
    assert_eq!(held_out.pages(), 6, "a fifth of each class");
    assert_eq!(held_out.accuracy().count, 6);
    let telling = model.telling_terms(2, 10);
    let mut terms: Vec<&str> = telling.iter().map(|term| term.term.as_str()).collect();
    terms.retain(|term| !term.starts_with("unique"));
    terms.sort_unstable();
    assert_eq!(terms, ["coach", "goal", "league", "team"]);
}

#[test]
fn words_of_most_pages_are_no_terms() {
    let model = model();
    assert!(!model.vocabulary().contains(&"news".to_owned()));
    assert!(model.vocabulary().contains(&"goal".to_owned()));
}

#[test]
fn cross_validation_judges_each_page_once() {
    let mut trainer = Trainer::new(TrainParams::default()).unwrap();
    for (topic, url, page) in examples() {
        trainer.add(&topic, &url, &page).unwrap();
    }
    let set = trainer.ready().unwrap();
    let evaluation = set.cross_validate(5).unwrap();
    assert_eq!(evaluation.pages(), 30);
    assert!(evaluation.log_loss().is_finite());
    assert_eq!(evaluation.accuracy().count, 30);
    let error = set.cross_validate(1).unwrap_err().to_string();
    assert_eq!(error, "the number of folds is 1; it has to be 2 to 1000");
}

#[test]
fn evaluation_counts_topics_that_the_model_lacks_apart() {
    let pages = [
        ("sports", page("goal")),
        ("sports", page("gene gene")),
        ("music", page("opera")),
    ];
    let (evaluation, unknown) = evaluate(&model(), pages);
    assert_eq!(evaluation.pages(), 2);
    assert_eq!(evaluation.accuracy().count, 1);
    assert_eq!(
        unknown.into_iter().collect::<Vec<_>>(),
        [("music".to_owned(), 1)]
    );
}

#[test]
fn sets_that_are_too_small_are_refused_with_what_is_missing() {
    let ready = |pages: &[(&str, &str)]| {
        let mut trainer = Trainer::new(TrainParams::default()).unwrap();
        for (topic, text) in pages {
            trainer.add(topic, "http://x/", &page(text)).unwrap();
        }
        trainer.skip("http://gone/", "not in the archives");
        trainer.ready().unwrap_err().to_string()
    };
    assert_eq!(
        ready(&[]),
        "none of 1 examples could be used; the first left out: http://gone/ (not in the archives)"
    );
    assert_eq!(
        ready(&[("a", "x"), ("a", "y")]),
        "all examples have the topic `a`; a critic needs at least two topics"
    );
    assert_eq!(
        ready(&[("a", "x"), ("a", "y"), ("b", "z"), ("b", "")]),
        "a topic needs at least 2 usable examples: `b` has 1; give more or take the topic out; \
         the first left out: http://x/ (no words in it), http://gone/ (not in the archives)"
    );
}

#[test]
fn a_cut_that_leaves_no_word_is_an_error() {
    let params = TrainParams {
        documents_min: Some(1_000),
        ..TrainParams::default()
    };
    let mut trainer = Trainer::new(params).unwrap();
    for (topic, url, page) in examples() {
        trainer.add(&topic, &url, &page).unwrap();
    }
    let error = trainer
        .ready()
        .unwrap()
        .train(Origin::default())
        .unwrap_err();
    assert!(
        matches!(
            error,
            TrainError::NoTerms {
                documents_min: 1_000,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn parameters_out_of_bounds_name_value_and_bounds() {
    let refused = |params| Trainer::new(params).unwrap_err().to_string();
    assert_eq!(
        refused(TrainParams {
            alpha: Some(0.0),
            ..TrainParams::default()
        }),
        "alpha is 0; it has to be a number above 0 and at most 1000"
    );
    assert_eq!(
        refused(TrainParams {
            held_out_share: 1.0,
            ..TrainParams::default()
        }),
        "the held-out share is 1; it has to be above 0 and below 1"
    );
}

#[test]
fn the_model_that_ships_can_be_read_and_knows_its_topics() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("models/demo.critic");
    let model = CriticModel::open(&path).unwrap();
    assert_eq!(model.classes().len(), 10);
    assert!(model.class_of("beekeeping").is_some());
    assert!(model.training().held_out.accuracy().value > 0.9);
}
