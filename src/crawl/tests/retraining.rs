//! Epochs: what a restart leaves of them, retraining in mid-crawl, and the way back.

use tokio::sync::oneshot::Receiver;

use super::learning::{hubs, sands, without_sand};
use super::*;
use crate::apprentice::SourceView;

pub(super) type TestEngine = Engine<ScriptedSource, SimulatedClock>;

/// The scores of all links of all pages, under the epoch in force and with all that was learned.
pub(super) fn scores(engine: &mut TestEngine) -> Vec<u32> {
    let mut bits = Vec::new();
    for _ in 0..2 {
        for seq in 1..=engine.store.last().0 {
            let Some(sketch) = engine.learning.reader.glance(Seq(seq)).unwrap() else {
                continue;
            };
            let scores = engine.scorer.score(&SourceView {
                log_odds: sketch.facts.log_odds,
                links: sketch.links.len(),
                sketch: Some(&sketch),
            });
            bits.extend(scores.into_iter().map(f32::to_bits));
        }
        engine.scorer.publish();
    }
    bits
}

pub(super) fn opened(crawl: &Crawl) -> TestEngine {
    let parts = crawl.parts(crawl.source.clone(), Pace::Live);
    Engine::open(parts).unwrap().0
}

pub(super) fn order(learner: &str) -> v1::RetrainRequest {
    v1::RetrainRequest {
        learner: learner.to_owned(),
        ..v1::RetrainRequest::default()
    }
}

pub(super) async fn go_on(handle: &Handle, budget: u64) {
    let more = update(|update| update.budget = Some(budget));
    handle.update(more).await.unwrap();
    handle
        .set_state(CrawlState::Running, "go on")
        .await
        .unwrap();
    until_finished(handle).await;
}

#[tokio::test]
async fn a_restart_finds_the_learner_as_it_was_with_several_fetches_in_flight() {
    // With pages that are gone among them: those are learned from and explored like others.
    let webs = ["ftrl", "nb", "auto"].map(|learner| {
        [
            (learner, hubs(learner)),
            (learner, without_sand(learner, 404)),
        ]
    });
    for (learner, mut crawl) in webs.into_iter().flatten() {
        crawl.spec.budget = 90;
        crawl.limits().in_flight_max = 4;
        let parts = crawl.parts(crawl.source.clone(), Pace::Replay);
        let (mut engine, _handle) = Engine::open(parts).unwrap();
        engine.work().await.unwrap();
        engine.flush_all().await.unwrap();
        let epochs = engine.list_epochs();
        assert!(epochs.epochs.len() >= 2, "{learner}: {epochs:?}");
        let mut again = opened(&crawl);
        assert_eq!(again.list_epochs(), epochs, "{learner}");
        assert_eq!(again.learned(), engine.learned(), "{learner}");
        assert!(
            scores(&mut again) == scores(&mut engine),
            "{learner}: other scores after the restart"
        );
    }
}

#[tokio::test]
async fn a_crawl_that_learned_nothing_is_given_a_learner_and_keeps_it() {
    let mut crawl = hubs("baseline");
    crawl.spec.budget = 60;
    let epoch = crawl
        .live(|handle| async move {
            until_finished(&handle).await;
            let epoch = handle.retrain(order("ftrl")).await.unwrap();
            go_on(&handle, 120).await;
            epoch
        })
        .await;
    assert_eq!((epoch.number, epoch.cause.as_str()), (1, "retrained"));
    assert!(epoch.instances >= 59 && epoch.in_force, "{epoch:?}");
    let links: u64 = epoch.histogram_before.iter().sum();
    assert_eq!(links, epoch.histogram_after.iter().sum::<u64>());
    assert!(links > 0 && epoch.best_changed.is_some());
    let late = sands(&crawl.pages()[60..]);
    assert!(late <= 5, "{late} lost after the switch");

    let mut again = opened(&crawl);
    assert_eq!(again.spec.order, CrawlOrder::Ftrl);
    let mut once_more = opened(&crawl);
    assert!(scores(&mut again) == scores(&mut once_more));
    crawl
        .live(|handle| async move {
            assert_eq!(handle.status().await.unwrap().spec.unwrap().order, "ftrl");
            go_on(&handle, 150).await;
        })
        .await;
    assert!(sands(&crawl.pages()[120..]) <= 3);
}

#[tokio::test]
async fn going_back_to_an_epoch_is_to_know_what_it_knew() {
    let mut crawl = hubs("ftrl");
    crawl.spec.budget = 90;
    let (epochs, back) = crawl
        .live(|handle| async move {
            until_finished(&handle).await;
            let retrained = v1::RetrainRequest {
                learner: "nb".to_owned(),
                ..v1::RetrainRequest::default()
            };
            handle.retrain(retrained).await.unwrap();
            let back = handle.use_epoch(1).await.unwrap();
            (handle.epochs().await.unwrap().epochs, back)
        })
        .await;
    assert_eq!((back.cause.as_str(), back.returned_to), ("returned", 1));
    let first = &epochs[0];
    assert_eq!(back.instances, first.instances);
    assert!(epochs[epochs.len() - 2].instances > back.instances);
    assert_eq!(
        (&back.learner, &back.apprentice),
        (&first.learner, &first.apprentice)
    );
    // The fold of its events when the crawl is opened again.
    let again = opened(&crawl);
    assert_eq!(again.spec.order, CrawlOrder::Ftrl);
    assert_eq!(again.learning.epochs.instances, first.instances);
}

/// A crawl at rest whose training has begun.
async fn being_retrained() -> (TestEngine, Receiver<Result<v1::Epoch, CrawlError>>) {
    let mut crawl = hubs("ftrl");
    crawl.spec.budget = 90;
    crawl.limits().in_flight_max = 4;
    Box::pin(crawl.replay()).await;
    let mut engine = opened(&crawl);
    let (reply, answer) = tokio::sync::oneshot::channel();
    engine.retrain(&order("nb"), reply);
    (engine, answer)
}

/// The same crawl goes on.
async fn going_on() -> (TestEngine, Receiver<Result<v1::Epoch, CrawlError>>) {
    let (mut engine, answer) = being_retrained().await;
    engine.spec.tuning.budget = None;
    engine.state.0 = CrawlState::Running;
    (engine, answer)
}

#[tokio::test]
async fn who_retrains_a_crawl_at_rest_is_answered_also_when_the_sweep_outlasts_the_flush() {
    let (mut engine, mut answer) = being_retrained().await;
    let training = engine.learning.training.as_mut().unwrap();
    let ended = (&mut training.job).await;
    engine.take_trained(ended);
    engine.flush_all().await.unwrap();
    assert!(engine.is_sweeping() && answer.try_recv().is_err());
    while engine.is_sweeping() {
        engine.sweep_slice().unwrap();
    }
    let epoch = answer.try_recv().unwrap().unwrap();
    assert_eq!((epoch.learner.as_str(), epoch.in_force), ("nb", true));
}

#[tokio::test]
async fn a_training_is_taken_also_where_outcomes_never_cease() {
    let (mut engine, _answer) = going_on().await;
    engine.lease_what_may_be().unwrap();
    while !engine.learning.training.as_ref().unwrap().job.is_finished() {
        tokio::task::yield_now().await;
    }
    let in_flight = engine.in_flight();
    assert!(in_flight > 0);
    engine.take_one().await.unwrap();
    assert!(engine.learning.training.is_none(), "it was not taken");
    assert_eq!(engine.in_flight(), in_flight);
}

#[tokio::test]
async fn a_crawl_that_its_training_cannot_catch_up_with_is_slowed_until_it_has() {
    let (mut engine, _answer) = going_on().await;
    // Each round of the training leaves so many events, and so many fetches may be under way after it.
    for (behind, in_flight) in [(1000, 4), (500, 4), (300, 2), (150, 2), (80, 1), (70, 0)] {
        let training = engine.learning.training.as_mut().unwrap();
        training.note_round(behind);
        assert_eq!(engine.learning.slowed(4), in_flight, "{behind}");
    }
    assert!(!engine.may_lease());
    let training = engine.learning.training.as_mut().unwrap();
    let ended = (&mut training.job).await;
    engine.take_trained(ended);
    assert!(engine.may_lease());
}

#[tokio::test]
async fn what_cannot_be_retrained_is_said_and_the_epoch_stays() {
    let mut crawl = hubs("ftrl");
    crawl.spec.budget = 60;
    crawl
        .live(|handle| async move {
            until_finished(&handle).await;
            let before = handle.epochs().await.unwrap();
            let twice = tokio::join!(handle.retrain(order("")), handle.retrain(order("")));
            assert!(twice.0.is_ok());
            let words = twice.1.unwrap_err().to_string();
            assert!(words.contains("being"), "{words}");
            let typo = handle.retrain(order("ftlr")).await.unwrap_err();
            assert!(typo.to_string().contains("did you mean `ftrl`?"), "{typo}");
            for d_max in [-1, 16] {
                let mut wide = order("");
                wide.apprentice.get_or_insert_default().d_max = Some(d_max);
                let error = handle.retrain(wide).await.unwrap_err().to_string();
                assert!(error.contains("d_max"), "{error}");
            }
            let unknown = handle.use_epoch(99).await.unwrap_err().to_string();
            assert!(unknown.contains("no epoch 99; there are 1 to"), "{unknown}");
            let after = handle.epochs().await.unwrap();
            assert_eq!(after.epochs.len(), before.epochs.len() + 1);
        })
        .await;
}

#[tokio::test]
async fn without_instances_there_is_nothing_to_learn() {
    let mut crawl = hubs("baseline");
    crawl.spec.budget = 1;
    crawl
        .live(|handle| async move {
            until_finished(&handle).await;
            let error = handle.retrain(order("")).await.unwrap_err().to_string();
            assert!(error.contains("learns nothing; name a learner"), "{error}");
            let error = handle.retrain(order("nb")).await.unwrap_err().to_string();
            assert!(error.contains("nothing to learn from yet"), "{error}");
            let status = handle.status().await.unwrap();
            assert_eq!(
                (status.epoch, status.spec.unwrap().order.as_str()),
                (0, "baseline")
            );
        })
        .await;
}

/// How `learner` has predicted, by its own report.
async fn figures(handle: &Handle, learner: &str) -> v1::Learner {
    let report = handle.learners().await.unwrap();
    let mut learners = report.learners.into_iter();
    learners.find(|found| found.name == learner).unwrap()
}

#[tokio::test]
async fn a_learner_is_judged_by_its_own_predictions_after_a_retraining() {
    // Nothing was predicted before: the figures are those of a fold with epochs of its own.
    let mut crawl = hubs("baseline");
    crawl.spec.budget = 100;
    let ftrl = crawl
        .live(|handle| async move {
            until_finished(&handle).await;
            handle.retrain(order("auto")).await.unwrap();
            figures(&handle, "ftrl").await
        })
        .await;
    assert!(ftrl.auc.unwrap() > 0.8 && ftrl.log_loss < 0.5, "{ftrl:?}");
    // With other features the same learner has other figures.
    let mut crawl = hubs("ftrl");
    crawl.spec.budget = 60;
    let (before, after) = crawl
        .live(|handle| async move {
            until_finished(&handle).await;
            let before = figures(&handle, "ftrl").await;
            let mut request = order("ftrl");
            request.apprentice = Some(v1::Apprentice {
                features: vec!["relevance".to_owned()],
                ..Default::default()
            });
            handle.retrain(request).await.unwrap();
            (before, figures(&handle, "ftrl").await)
        })
        .await;
    assert_eq!(before.instances, after.instances);
    assert!(
        (before.log_loss - after.log_loss).abs() > 1e-3,
        "{before:?} {after:?}"
    );
}
