//! Pages that somebody marks: the critic learns, later pages carry its version, the log remembers.

use super::*;
use crate::booking::Mark;
use crate::critic::{BayesJudge, CriticModel, Origin, TrainParams, Trainer};
use crate::page::{DocumentKind, PageLimits, PageSource};
use crate::proto::v1::Opinion;
use crate::taxonomy::Focus;

fn page_of(words: &str) -> Page {
    let at = url("nowhere/");
    let source = PageSource {
        url: &at,
        content_type: None,
        body: words.as_bytes(),
    };
    Page::parse(&source, DocumentKind::Text, &PageLimits::default())
}

/// Tells `reef` from `sand/dune` and `sand/shore`; version 7. A lagoon is of the shore.
pub(super) fn critic() -> Arc<dyn PageJudge> {
    let params = TrainParams {
        documents_min: Some(1),
        ..TrainParams::default()
    };
    let mut trainer = Trainer::new(params).unwrap();
    let topics = [
        (
            "reef",
            [
                "coral polyp",
                "coral anemone",
                "polyp anemone",
                "coral fish",
            ],
        ),
        (
            "sand/dune",
            ["desert camel", "desert wind", "camel wind", "desert dry"],
        ),
        (
            "sand/shore",
            ["lagoon beach", "lagoon tide", "beach tide", "lagoon wave"],
        ),
    ];
    for (topic, pages) in topics {
        for (number, words) in pages.into_iter().enumerate() {
            let at = format!("http://{topic}.test/{number}");
            trainer.add(topic, &at, &page_of(words)).unwrap();
        }
    }
    let origin = Origin {
        version: 7,
        ..Origin::default()
    };
    let model = Arc::new(trainer.ready().unwrap().train(origin).unwrap());
    Arc::new(BayesJudge::new(model, &Focus::new(["reef"]).unwrap()).unwrap())
}

/// s/ leads to a/ and that to b/; a budget of two fetches ends before b/.
fn lagoons() -> Crawl {
    let mut crawl = Crawl::new(&["s/"]);
    crawl.judge = critic();
    crawl.spec.budget = 2;
    crawl
        .page("s/", "coral polyp", &["a/"])
        .page("a/", &"lagoon ".repeat(20), &["b/"])
        .page("b/", "lagoon lagoon", &[]);
    crawl
}

pub(super) fn request(at: &str, opinion: Opinion) -> v1::FeedbackRequest {
    v1::FeedbackRequest {
        urls: vec![url(at).as_str().to_owned()],
        opinion: opinion as i32,
        ..Default::default()
    }
}

async fn go_on(handle: &Handle, budget: u64) {
    let update = v1::UpdateCrawlRequest {
        budget: Some(budget),
        ..Default::default()
    };
    handle.update(update).await.unwrap();
    until_finished(handle).await;
}

/// Relevant or not, and judged by which version.
fn judged(crawl: &Crawl) -> Vec<(String, bool, u64)> {
    let events = crawl.events().into_iter();
    let pages = events.filter_map(|event| match event {
        Event::Page(page) => Some((
            short(&page.lease.url),
            page.judgement.log_odds > 0.0,
            page.judgement.version,
        )),
        _ => None,
    });
    pages.collect()
}

fn marks(crawl: &Crawl) -> Vec<(u64, Option<u16>)> {
    let events = crawl.events().into_iter();
    let marks = events.filter_map(|event| match event {
        Event::Feedback(event) => Some((event.version, event.marks[0].class)),
        _ => None,
    });
    marks.collect()
}

#[tokio::test]
async fn pages_after_a_mark_are_judged_by_the_critic_that_has_learned_it() {
    let crawl = lagoons();
    crawl
        .live(async |handle| {
            until_finished(&handle).await;
            let said = handle
                .feedback(request("a/", Opinion::Wrong))
                .await
                .unwrap();
            assert_eq!((said.critic_version, said.marks), (8, 1));
            assert_eq!(said.pages[0].topic, "reef");
            assert!(said.pages[0].relevance_booked < 0.5, "{said:?}");
            assert!(said.pages[0].relevance_now > 0.5, "{said:?}");
            go_on(&handle, 3).await;
            let status = handle.status().await.unwrap();
            assert_eq!((status.critic_version, status.marks), (8, 1));
        })
        .await;
    let judged = judged(&crawl);
    let expected = [("s/", true, 7), ("a/", false, 7), ("b/", true, 8)];
    let expected = expected.map(|(at, relevant, version)| (at.to_owned(), relevant, version));
    assert_eq!(judged, expected, "what was booked before stays");
}

#[tokio::test]
async fn marks_are_in_force_again_when_the_crawl_is_opened_anew() {
    let crawl = lagoons();
    crawl
        .live(async |handle| {
            until_finished(&handle).await;
            handle
                .feedback(request("a/", Opinion::Relevant))
                .await
                .unwrap();
        })
        .await;
    crawl
        .live(async |handle| {
            let status = handle.status().await.unwrap();
            assert_eq!((status.critic_version, status.marks), (8, 1));
            go_on(&handle, 3).await;
        })
        .await;
    assert_eq!(judged(&crawl)[2], ("b/".to_owned(), true, 8));
}

#[tokio::test]
async fn the_last_mark_of_a_page_counts_and_a_forgotten_one_leaves_nothing() {
    let crawl = lagoons();
    let critic = critic();
    let page = page_of("lagoon lagoon");
    crawl
        .live(async |handle| {
            until_finished(&handle).await;
            handle
                .feedback(request("a/", Opinion::Wrong))
                .await
                .unwrap();
            let said = handle
                .feedback(request("a/", Opinion::Right))
                .await
                .unwrap();
            assert_eq!((said.critic_version, said.marks), (9, 1));
            assert_eq!(said.pages[0].topic, "sand/shore");
            // One that changes nothing is no event.
            let said = handle
                .feedback(request("a/", Opinion::Right))
                .await
                .unwrap();
            assert_eq!(said.critic_version, 9);
            let said = handle
                .feedback(request("a/", Opinion::Forget))
                .await
                .unwrap();
            assert_eq!((said.critic_version, said.marks), (10, 0));
            let now = handle.critic().await.unwrap().judge(&page);
            let before = critic.judge(&page);
            assert_eq!(now.log_odds.to_bits(), before.log_odds.to_bits());
            assert_eq!(now.version, 10);
        })
        .await;
    // Classes by name: reef 0, sand/dune 1, sand/shore 2.
    assert_eq!(marks(&crawl), [(8, Some(0)), (9, Some(2)), (10, None)]);
}

#[tokio::test]
async fn a_topic_that_is_named_is_taken_if_it_lies_on_the_side_of_the_opinion() {
    let crawl = lagoons();
    let with_topic = |at, opinion, topic: &str| v1::FeedbackRequest {
        topic: topic.to_owned(),
        ..request(at, opinion)
    };
    crawl
        .live(async |handle| {
            until_finished(&handle).await;
            let ask = async |at, opinion, topic| {
                let said = handle.feedback(with_topic(at, opinion, topic)).await;
                said.map(|said| said.pages[0].topic.clone())
                    .map_err(|error| error.to_string())
            };
            let dune = ask("a/", Opinion::Irrelevant, "sand/dune").await;
            assert_eq!(dune.unwrap(), "sand/dune");
            let wrong = ask("a/", Opinion::Relevant, "sand/dune").await.unwrap_err();
            assert!(wrong.contains("lies outside of the focus"), "{wrong}");
            let above = ask("a/", Opinion::Irrelevant, "sand").await.unwrap_err();
            assert!(above.contains("has topics below it"), "{above}");
            let unknown = ask("a/", Opinion::Irrelevant, "sand/shor")
                .await
                .unwrap_err();
            assert!(unknown.contains("did you mean `sand/shore`"), "{unknown}");
        })
        .await;
    assert_eq!(marks(&crawl), [(8, Some(1))]);
}

#[tokio::test]
async fn what_is_no_booked_page_is_refused_with_the_reason_and_nothing_is_booked() {
    let mut crawl = Crawl::new(&["s/"]);
    crawl.judge = critic();
    crawl.spec.budget = 2;
    crawl
        .page("s/", "coral", &["moved/", "gone/", "later/"])
        .redirect("moved/", "there/")
        .fail("gone/", status(404))
        .page("there/", "coral", &[]);
    crawl
        .live(async |handle| {
            until_finished(&handle).await;
            let refusal = async |at, opinion| {
                let said = handle.feedback(request(at, opinion)).await;
                said.unwrap_err().to_string()
            };
            for (at, why) in [
                ("unseen/", "it is not known"),
                ("moved/", "it led to http://there.test/; mark that"),
                ("gone/", "its fetch failed: status-404"),
                ("later/", "it waits to be fetched"),
            ] {
                let words = refusal(at, Opinion::Right).await;
                assert!(
                    words.contains("is no page of this crawl") && words.ends_with(why),
                    "{words}"
                );
            }
            let words = refusal("s/", Opinion::Forget).await;
            assert!(words.ends_with("has no mark to forget"), "{words}");
            let words = refusal("s/", Opinion::Unspecified).await;
            assert!(words.starts_with("no opinion"), "{words}");
            // Of two URLs one is none: nothing is taken.
            let mut two = request("s/", Opinion::Right);
            two.urls.push(url("unseen/").as_str().to_owned());
            handle.feedback(two).await.unwrap_err();
        })
        .await;
    assert_eq!(marks(&crawl), []);
}

#[tokio::test]
async fn the_critic_that_is_exported_is_a_model_with_the_marks_in_it() {
    let crawl = lagoons();
    let model = crawl
        .live(async |handle| {
            until_finished(&handle).await;
            handle
                .feedback(request("a/", Opinion::Relevant))
                .await
                .unwrap();
            let judge = handle.critic().await.unwrap();
            let bytes = judge.teachable().unwrap().model_bytes().unwrap();
            CriticModel::from_bytes(&bytes, std::path::Path::new("exported")).unwrap()
        })
        .await;
    let reef = &model.classes()[0];
    assert_eq!((model.version(), reef.documents), (8, 5));
    assert_eq!(reef.examples.last().unwrap(), "http://a.test/");
    let notes = &model.training().notes;
    assert!(
        notes.ends_with("version 7 + 1 pages marked in a crawl"),
        "{notes}"
    );
}

#[tokio::test]
async fn a_judge_that_cannot_learn_says_so() {
    let crawl = Crawl::new(&["s/"]);
    crawl.page("s/", "reef", &[]);
    crawl
        .live(async |handle| {
            until_finished(&handle).await;
            let said = handle.feedback(request("s/", Opinion::Right)).await;
            assert!(matches!(said, Err(CrawlError::State(_))), "{said:?}");
        })
        .await;
}

#[tokio::test]
async fn a_log_with_a_mark_of_a_class_that_the_critic_has_not_is_not_opened() {
    let crawl = lagoons();
    crawl.replay().await;
    let page = crawl
        .events()
        .iter()
        .position(|event| matches!(event, Event::Page(_)));
    let mark = Mark {
        page: Seq(page.unwrap() as u64 + 1),
        class: Some(3),
    };
    crawl
        .store
        .append(Event::Feedback(crate::booking::FeedbackEvent {
            marks: vec![mark],
            version: 8,
            at: Timestamp(0),
        }));
    let parts = crawl.parts(crawl.source.clone(), Pace::Live);
    let error = Engine::open(parts).err().unwrap().to_string();
    assert!(error.contains("a class that the critic has not"), "{error}");
}
