//! Topics added to small models of made-up words.

use super::check::LeaveOut;
use super::*;
use crate::clock::Timestamp;
use crate::critic::bayes::SparseNb;
use crate::critic::weights::Postings;
use crate::critic::{TrainParams, Trainer};
use crate::page::Page;

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
    page
}

/// Page `number` of a topic with these words: three of them, one twice, and what every page has.
fn text(words: &[&str], number: usize) -> String {
    let word = |shift: usize| words[(number + shift) % words.len()];
    let (once, again, first) = (word(0), number / words.len(), words[0]);
    let rest = format!("{} {} {once}", word(1), word(2));
    format!("page site {once} {rest} {first}{again}x{number}")
}

const BIRDS: &[&str] = &["finch", "wren", "plumage", "nest", "beak"];
const FISH: &[&str] = &["trout", "gill", "river", "scale", "salmon"];
const STARS: &[&str] = &["orbit", "nebula", "comet", "lens", "galaxy"];

/// Twenty pages each of fish and stars; `page` and `site` stand on all of them.
fn model() -> CriticModel {
    let mut trainer = Trainer::new(TrainParams::default()).unwrap();
    for (topic, words) in [("fish", FISH), ("stars", STARS)] {
        for number in 0..20 {
            let url = format!("http://{topic}.test/{number}");
            trainer
                .add(topic, &url, &page(&text(words, number)))
                .unwrap();
        }
    }
    trainer.ready().unwrap().train(origin()).unwrap()
}

fn origin() -> Origin {
    Origin {
        trained_at: Timestamp(1_700_000_000_000),
        notes: "test".to_owned(),
        sources: vec!["list.txt".to_owned()],
        version: 4,
    }
}

fn with<'a>(model: &'a CriticModel, words: &[&str], pages: usize) -> Extension<'a> {
    let mut extension = Extension::new(model, "birds", ExtendParams::default()).unwrap();
    for number in 0..pages {
        let url = format!("http://birds.test/{number}");
        extension.add(&url, &page(&text(words, number))).unwrap();
    }
    extension
}

#[test]
fn pages_of_an_added_topic_are_recognised_and_the_other_classes_keep_their_counts() {
    let old = model();
    let (new, report) = with(&old, BIRDS, 20).finish(&origin()).unwrap();
    assert_eq!(new.class_names(), ["birds", "fish", "stars"]);
    assert_eq!((new.version(), report.recall.count), (5, 20));
    assert_eq!(report.new_terms, 5, "the words of birds were no terms");
    let seen = crate::critic::evaluate(
        &new,
        [
            ("birds", page("wren nest page")),
            ("fish", page("salmon gill page")),
            ("stars", page("comet orbit page")),
        ],
    );
    assert_eq!(seen.0.accuracy().count, 3);
    for (topic, words) in [("fish", FISH), ("stars", STARS)] {
        for word in words {
            let count = |model: &CriticModel| {
                let class = usize::from(model.class_of(topic).unwrap());
                let term = model.term_of(word).unwrap();
                let terms = &model.bayes().classes()[class].terms;
                terms.iter().find(|(t, _)| *t == term).unwrap().1
            };
            assert_eq!(count(&new), count(&old), "{topic} {word}");
        }
    }
    let notes = &new.training().notes;
    assert!(
        notes.contains("version 4 + test: `birds`, 20 examples"),
        "{notes}"
    );
    assert_eq!(new.training().sources, ["list.txt"]);
    assert_eq!(
        new.training().held_out.pages(),
        old.training().held_out.pages() + 20
    );
}

#[test]
fn an_added_topic_comes_back_from_a_file_with_its_background_and_the_reserve() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let old = model();
    let (new, _) = with(&old, BIRDS, 20).finish(&origin()).unwrap();
    new.save(&path).unwrap();
    let read = CriticModel::open(&path).unwrap();
    assert_eq!(read.bayes(), new.bayes());
    // 200 words in two classes: a tenth of the mean.
    assert_eq!(read.bayes().classes()[0].background, 10);
    assert_eq!(read.reserve(), new.reserve());
}

#[test]
fn words_of_most_pages_stay_no_terms_and_their_counts_stay_in_the_reserve() {
    let old = model();
    let (new, _) = with(&old, BIRDS, 20).finish(&origin()).unwrap();
    let reserve = new.reserve().unwrap();
    assert_eq!(reserve.words, ["page", "site"]);
    assert_eq!(reserve.documents, [60, 60]);
    assert!(
        reserve
            .classes
            .iter()
            .all(|class| *class == [(0, 20), (1, 20)])
    );
    assert_eq!(new.term_of("page"), None);
}

#[test]
fn a_word_that_the_cut_left_out_becomes_a_term_with_the_counts_of_the_others() {
    // Four terms at most: of ten informative words six go to the reserve.
    let params = TrainParams {
        terms_max: 4,
        ..TrainParams::default()
    };
    let mut trainer = Trainer::new(params).unwrap();
    for (topic, words) in [("fish", FISH), ("stars", STARS)] {
        for number in 0..20 {
            let url = format!("http://{topic}.test/{number}");
            trainer
                .add(topic, &url, &page(&text(words, number)))
                .unwrap();
        }
    }
    let old = trainer.ready().unwrap().train(origin()).unwrap();
    let left_out = FISH
        .iter()
        .find(|word| old.term_of(word).is_none())
        .unwrap();
    let words = [left_out, "finch", "wren", "nest", "beak"];
    let (new, _) = with(&old, &words, 20).finish(&origin()).unwrap();
    let term = new.term_of(left_out).unwrap();
    let fish = usize::from(new.class_of("fish").unwrap());
    let counts = &new.bayes().classes()[fish].terms;
    // Twelve of twenty pages have a given word; four of them twice.
    assert!(counts.contains(&(term, 16)), "{counts:?}");
    assert!(
        !new.reserve()
            .unwrap()
            .words
            .contains(&(*left_out).to_owned())
    );
}

#[test]
fn a_topic_that_exists_gets_more_examples_only_when_that_is_asked_for() {
    let old = model();
    let error = Extension::new(&old, "fish", ExtendParams::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("20 examples; add to it with --more"),
        "{error}"
    );
    let more = ExtendParams {
        more: true,
        ..ExtendParams::default()
    };
    let error = Extension::new(&old, "birds", more).unwrap_err();
    assert!(error.to_string().contains("leave --more out"), "{error}");
    let mut extension = Extension::new(&old, "fish", more).unwrap();
    extension
        .add("http://fish.test/3", &page("trout again"))
        .unwrap();
    extension
        .add("http://fish.test/new", &page("trout gill gill"))
        .unwrap();
    let (new, report) = extension.finish(&origin()).unwrap();
    assert_eq!((report.examples, report.duplicates), (1, 1));
    assert_eq!(new.classes()[0].documents, 21);
    assert_eq!(new.bayes().classes()[0].background, 0);
    assert_eq!(new.vocabulary(), old.vocabulary());
}

#[test]
fn too_few_examples_are_refused_unless_forced_and_few_are_warned_of() {
    let old = model();
    let mut extension = with(&old, BIRDS, 9);
    extension.skip("http://birds.test/gone", "not in the archive");
    let error = extension.finish(&origin()).unwrap_err().to_string();
    assert!(
        error.starts_with("9 usable examples; 1 left out: http://birds.test/gone"),
        "{error}"
    );
    let mut extension = with(&old, BIRDS, 9);
    extension.params.force = true;
    let (_, report) = extension.finish(&origin()).unwrap();
    assert_eq!(report.findings, [Finding::Few { examples: 9 }]);
    let none = with(&old, BIRDS, 0).finish(&origin());
    assert!(matches!(none, Err(ExtendError::None(_))));
}

#[test]
fn examples_that_are_there_already_or_are_no_pages_are_left_out_and_said() {
    let old = model();
    let mut extension = with(&old, BIRDS, 20);
    extension
        .add("http://birds.test/3", &page("another text"))
        .unwrap();
    extension
        .add("http://mirror.test/", &page(&text(BIRDS, 3)))
        .unwrap();
    extension.add("http://birds.test/empty", &page("")).unwrap();
    extension
        .add("http://fish.test/7", &page("wren beak nest"))
        .unwrap();
    let (_, report) = extension.finish(&origin()).unwrap();
    assert_eq!((report.examples, report.duplicates), (21, 2));
    let notes: Vec<String> = report.findings.iter().map(Finding::to_string).collect();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(notes[0].starts_with("1 of 21 examples are examples of `fish` as well"));
    assert!(notes[1].starts_with("2 duplicates left out"));
    assert!(notes[2].contains("http://birds.test/empty (no words in it)"));
}

#[test]
fn two_topics_under_one_name_are_told_apart_and_one_topic_is_not_called_mixed() {
    let old = model();
    let mut extension = with(&old, BIRDS, 10);
    for number in 0..10 {
        let bread = ["flour", "oven", "yeast", "dough", "crust"];
        let url = format!("http://bread.test/{number}");
        extension.add(&url, &page(&text(&bread, number))).unwrap();
    }
    let (_, report) = extension.finish(&origin()).unwrap();
    let mixed = report.findings.iter().find_map(|finding| match finding {
        Finding::Mixed {
            examples,
            words,
            falls_into,
            ..
        } => Some((examples, words, falls_into)),
        _ => None,
    });
    let (examples, words, falls_into) = mixed.unwrap();
    assert_eq!(examples, &[10, 10]);
    // Without the topic each page falls into one of the two classes, so that one has five or more.
    for class in falls_into.iter().flatten() {
        assert!((5..=10).contains(&class.pages) && class.of == 10);
        assert!(["fish", "stars"].contains(&class.topic.as_str()));
    }
    let bread = |words: &[String]| words.contains(&"flour".to_owned());
    assert!(bread(&words[0]) != bread(&words[1]), "{words:?}");
    let (_, report) = with(&old, BIRDS, 20).finish(&origin()).unwrap();
    assert_eq!(report.findings, []);
}

#[test]
fn examples_that_belong_elsewhere_are_named_with_the_class_that_takes_them() {
    let old = model();
    let mut extension = with(&old, BIRDS, 12);
    for number in 0..8 {
        let url = format!("http://angler.test/{number}");
        let text = text(FISH, number) + " trout gill fin";
        extension.add(&url, &page(&text)).unwrap();
    }
    let pages: Vec<&NewPage> = extension.pages.iter().collect();
    let class = extension.falls_into(&pages[12..]).unwrap();
    assert_eq!(
        (class.topic.as_str(), class.pages, class.of),
        ("fish", 8, 8)
    );
    assert_eq!(extension.falls_into(&[]), None);
}

#[test]
fn examples_of_a_class_that_is_there_are_called_the_same_as_it() {
    let old = model();
    let mut extension = Extension::new(&old, "birds", ExtendParams::default()).unwrap();
    for number in 0..20 {
        // Pages of fish in another order: other URLs, other words, nothing new.
        let text = text(FISH, number).replace(&format!("x{number}"), "y") + " trout gill";
        extension
            .add(&format!("http://angler.test/{number}"), &page(&text))
            .unwrap();
    }
    for number in 0..20 {
        extension.judge_also("fish", &page(&text(FISH, number)));
        extension.judge_also("stars", &page(&text(STARS, number)));
    }
    let (_, report) = extension.finish(&origin()).unwrap();
    let of_fish = report.findings.iter().any(|finding| match finding {
        Finding::SameAs(class) | Finding::Takes(class) => class.topic == "fish",
        _ => false,
    });
    assert!(of_fish, "{:?}", report.findings);
    assert_eq!(report.nearest[0].topic, "fish");
}

#[test]
fn pages_of_the_rest_give_precision_and_what_the_others_lose() {
    let old = model();
    let mut extension = with(&old, BIRDS, 20);
    for number in 0..20 {
        extension.judge_also("fish", &page(&text(FISH, number)));
    }
    // A page of stars that is all about birds.
    extension.judge_also("stars", &page("wren nest finch beak"));
    extension.judge_also("unknown", &page("wren"));
    let (_, report) = extension.finish(&origin()).unwrap();
    let rest = report.rest.unwrap();
    assert_eq!((rest.pages, rest.taken.count), (21, 1));
    assert_eq!((rest.precision.count, rest.precision.of), (20, 21));
    assert_eq!(
        (rest.taken_of[0].topic.as_str(), rest.taken_of[0].of),
        ("stars", 1)
    );
    assert_eq!(rest.right_after.count, 20);
}

#[test]
fn a_page_left_out_scores_as_if_its_words_had_never_been_counted() {
    let old = model();
    let mut extension = with(&old, BIRDS, 20);
    let bag = extension.bag(&page(&text(FISH, 7)));
    let all: Vec<&NewPage> = extension.pages.iter().collect();
    let candidate = extension.candidate(&all);
    let terms = candidate.terms_of(&bag);
    let fish = usize::from(old.class_of("fish").unwrap());
    let mut without: SparseNb = candidate.bayes.clone();
    // The background is of the words that there are, with or without this page.
    without.classes[usize::from(candidate.class)].background = 0;
    for (term, n) in &mut without.classes[fish].terms {
        let own = terms.iter().find(|(own, _)| own == term);
        *n -= own.map_or(0, |(_, own)| u64::from(*own));
    }
    without.classes[fish].terms.retain(|(_, n)| *n > 0);
    let mut scores = Vec::new();
    Postings::of(&without).score(&terms, &mut scores);
    let wanted = scores[fish];
    candidate.score(&bag, &mut scores);
    let change = LeaveOut::of(&candidate).without(&terms, fish);
    assert!(change < -0.5, "{change}");
    assert!(
        (scores[fish] + change - wanted).abs() < 1e-3,
        "{} {wanted}",
        scores[fish] + change
    );
}

#[test]
fn a_model_without_a_reserve_gets_no_new_terms_and_that_is_said() {
    let old = model().with_reserve(None);
    let (new, report) = with(&old, BIRDS, 20).finish(&origin()).unwrap();
    assert_eq!(report.new_terms, 0);
    assert_eq!(new.vocabulary(), old.vocabulary());
    assert!(report.findings.contains(&Finding::NoReserve));
}
