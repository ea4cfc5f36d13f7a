//! Crawls that begin with a saved apprentice: what they know at once, and what a restart, a retraining and
//! the way back make of it.

use super::learning::{hubs, sands};
use super::retraining::{go_on, opened, order, scores};
use super::*;
use crate::apprentice::Carry;

/// What a crawl of the hubs has learned.
async fn taught(learner: &str) -> SavedApprentice {
    let crawl = hubs(learner);
    let parts = crawl.parts(crawl.source.clone(), Pace::Replay);
    let (mut engine, _handle) = Engine::open(parts).unwrap();
    engine.work().await.unwrap();
    engine.saved_apprentice().unwrap()
}

/// A crawl of the hubs that begins with it.
fn begun(learner: &str, saved: SavedApprentice) -> Crawl {
    let mut crawl = hubs(learner);
    crawl.start = Some(Arc::new(saved));
    crawl
}

#[tokio::test]
async fn a_crawl_knows_from_its_first_link_on_what_another_has_learned() {
    for learner in ["auto", "ftrl", "nb"] {
        let saved = taught(learner).await;
        let mut cold = hubs(learner);
        cold.spec.budget = 40;
        cold.replay().await;
        let mut warm = begun(learner, saved);
        warm.spec.budget = 40;
        warm.replay().await;
        let (warm, cold) = (sands(&warm.pages()), sands(&cold.pages()));
        assert!(warm <= 1 && cold > 3, "{learner}: {warm} and {cold} lost");
    }
}

#[tokio::test]
async fn a_restart_begins_with_it_again() {
    for learner in ["ftrl", "nb", "auto"] {
        let mut crawl = begun(learner, taught(learner).await);
        crawl.spec.budget = 60;
        let parts = crawl.parts(crawl.source.clone(), Pace::Replay);
        let (mut engine, _handle) = Engine::open(parts).unwrap();
        engine.work().await.unwrap();
        engine.flush_all().await.unwrap();
        let epochs = engine.list_epochs();
        assert!(epochs.epochs.iter().all(|epoch| epoch.from_start));
        let mut again = opened(&crawl);
        assert_eq!(again.list_epochs(), epochs, "{learner}");
        assert_eq!(again.learned(), engine.learned(), "{learner}");
        assert_eq!(
            again.saved_apprentice().unwrap().panel,
            engine.saved_apprentice().unwrap().panel
        );
        assert!(scores(&mut again) == scores(&mut engine), "{learner}");
        // Without it the same log gives other weights.
        crawl.start = None;
        assert!(
            scores(&mut opened(&crawl)) != scores(&mut engine),
            "{learner}"
        );
    }
}

#[tokio::test]
async fn a_retraining_begins_with_it_unless_it_is_from_scratch() {
    for learner in ["ftrl", "auto"] {
        let mut crawl = begun(learner, taught(learner).await);
        crawl.spec.budget = 60;
        let (with, without, back) = crawl
            .live(|handle| async move {
                until_finished(&handle).await;
                let with = handle.retrain(order("")).await.unwrap();
                let scratch = v1::RetrainRequest {
                    from_scratch: true,
                    ..order("")
                };
                let without = handle.retrain(scratch).await.unwrap();
                let back = handle.use_epoch(with.number).await.unwrap();
                (with, without, back)
            })
            .await;
        assert!(with.from_start && !without.from_start && back.from_start);
        assert_eq!(with.instances, back.instances);
        let mut again = opened(&crawl);
        let mut once_more = opened(&crawl);
        assert!(again.learning.from_start);
        assert!(scores(&mut again) == scores(&mut once_more));
        crawl
            .live(|handle| async move {
                let scratch = v1::RetrainRequest {
                    from_scratch: true,
                    ..order("")
                };
                handle.retrain(scratch).await.unwrap();
                go_on(&handle, 70).await;
            })
            .await;
        let mut scratch = opened(&crawl);
        assert!(!scratch.learning.from_start);
        assert!(scores(&mut scratch) != scores(&mut again), "{learner}");
        // What was left out leaves no trace in the weights.
        let with = scores(&mut opened(&crawl));
        crawl.start = None;
        assert!(scores(&mut opened(&crawl)) == with, "{learner}");
    }
}

#[tokio::test]
async fn other_features_or_another_learner_begin_with_what_they_can() {
    let mut crawl = begun("auto", taught("auto").await);
    crawl.spec.budget = 40;
    crawl
        .live(|handle| async move {
            until_finished(&handle).await;
            let mut narrow = order("");
            narrow.apprentice.get_or_insert_default().d_max = Some(0);
            assert!(!handle.retrain(narrow).await.unwrap().from_start);
            let mut wide = order("ftrl");
            wide.apprentice.get_or_insert_default().d_max = Some(5);
            assert!(handle.retrain(wide).await.unwrap().from_start);
        })
        .await;
}

#[tokio::test]
async fn nothing_is_saved_of_one_that_has_learned_nothing() {
    for (learner, words) in [
        ("ftrl", "has learned nothing yet"),
        ("baseline", "learns nothing"),
    ] {
        let mut crawl = hubs(learner);
        crawl.spec.budget = 3;
        let error = crawl
            .live(|handle| async move {
                until_finished(&handle).await;
                handle.apprentice().await.unwrap_err().to_string()
            })
            .await;
        assert!(error.contains(words), "{error}");
    }
}

fn start(change: impl FnOnce(&mut v1::Start)) -> Result<Option<StartSpec>, SpecError> {
    let mut start = v1::Start::default();
    change(&mut start);
    let mut spec = hubs("auto").spec;
    spec.start = Some(start);
    Spec::check(&spec).map(|spec| spec.start)
}

#[test]
fn a_start_that_is_none_is_named_with_its_field() {
    assert_eq!(start(|_| ()), Ok(None));
    let words = |change: fn(&mut v1::Start)| start(change).unwrap_err().to_string();
    let twice = words(|start| {
        start.apprentice = "a".into();
        start.instances_of = "b".into();
    });
    assert!(twice.contains("`start.instances_of`"), "{twice}");
    let typo = words(|start| start.carry = "topicfree".into());
    assert!(typo.contains("did you mean `topic-free`?"), "{typo}");
    let alone = words(|start| start.carry = "topic-free".into());
    assert!(alone.contains("nothing to begin with"), "{alone}");
    let name = words(|start| start.instances_of = "../x".into());
    assert!(name.contains("cannot be a crawl's name"), "{name}");
}

/// The features that a crawl is given with `saved`, and what it takes of it.
fn fitted(
    saved: &SavedApprentice,
    carry: Carry,
    change: impl FnOnce(&mut v1::CrawlSpec),
) -> Result<(v1::CrawlSpec, SavedApprentice), String> {
    let mut spec = hubs("auto").spec;
    change(&mut spec);
    let told = StartSpec {
        from: StartFrom::Apprentice("saved".into()),
        carry,
        checksum: String::new(),
    };
    let fitted = told.fit(saved.clone(), "saved", &mut spec);
    fitted
        .map(|saved| (spec, saved))
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn what_a_crawl_cannot_begin_with_is_said() {
    let mut other = hubs("auto");
    other.spec.apprentice.get_or_insert_default().d_max = Some(3);
    let parts = other.parts(other.source.clone(), Pace::Replay);
    let (mut engine, _handle) = Engine::open(parts).unwrap();
    engine.work().await.unwrap();
    let saved = engine.saved_apprentice().unwrap();

    // Its own features are taken where none are named.
    let (spec, _) = fitted(&saved, Carry::All, |_| ()).unwrap();
    let checked = Spec::check(&spec).unwrap();
    assert_eq!(checked.features, saved.features);
    assert_eq!(checked.features.d_max(), 3);

    let words = |change: fn(&mut v1::CrawlSpec)| fitted(&saved, Carry::All, change).unwrap_err();
    let wide = words(|spec| {
        let told = spec.apprentice.get_or_insert_default();
        told.d_max = Some(5);
        told.features = vec!["text".into(), "heading".into()];
    });
    assert!(wide.contains("its d_max is 3, here it is 5"), "{wide}");
    assert!(wide.contains("heading this crawl has"), "{wide}");
    assert!(wide.contains("--features"), "{wide}");
    let focus = words(|spec| spec.topics = vec!["sand".into()]);
    assert!(
        focus.contains("\"reef\"") && focus.contains("\"sand\"") && focus.contains("topic-free"),
        "{focus}"
    );
    let idle = words(|spec| spec.order = "baseline".into());
    assert!(idle.contains("learns nothing"), "{idle}");
    // Its nb saw the text alone.
    let nb = words(|spec| spec.order = "nb".into());
    assert!(nb.contains("take the order auto or ftrl"), "{nb}");

    let sand = |spec: &mut v1::CrawlSpec| spec.topics = vec!["sand".into()];
    let (_, free) = fitted(&saved, Carry::TopicFree, sand).unwrap();
    let count =
        |saved: &SavedApprentice| saved.panel.learners().map(|l| l.2.count()).sum::<usize>();
    assert!(count(&free) > 0 && count(&free) < count(&saved));
}

#[tokio::test]
async fn the_instances_of_another_crawl_teach_as_its_own_do() {
    let crawl = hubs("baseline");
    let spec = Spec::check(&hubs("ftrl").spec).unwrap();
    let judge = Judge::Near(Arc::clone(&crawl.judge));
    let learned = crawl
        .live(|handle| async move {
            until_finished(&handle).await;
            learned_from(&handle, &spec, Some(&judge), Timestamp(9)).unwrap()
        })
        .await;
    assert!(learned.provenance.instances > 100, "{learned:?}");
    assert_eq!(learned.provenance.crawl, "reefs");
    let mut warm = begun("ftrl", learned);
    warm.spec.budget = 40;
    warm.replay().await;
    assert!(sands(&warm.pages()) <= 1);
}
