//! An apprentice at work: what it learns in a crawl, and what a restart leaves of it.

use super::*;

/// Hubs in a row, each about reefs itself. Each has two links that say `coral` and lead to reefs, and
/// two that say `dunes` and lead to sand.
pub(super) fn hubs(order: &str) -> Crawl {
    hubs_with(order, |_| false, None)
}

fn answered(code: u16) -> FetchError {
    FetchError::Status {
        code,
        retry_after: None,
    }
}

/// The same, but the server answers with `code` for the sand.
pub(super) fn without_sand(order: &str, code: u16) -> Crawl {
    let mut crawl = hubs_with(order, |_| false, Some(code));
    crawl.spec.budget = 200;
    crawl
}

/// The same; the first reef of a hub for which `moved` is true has gone elsewhere, and the server may have
/// another answer than a page for the sand.
fn hubs_with(order: &str, moved: impl Fn(u32) -> bool, no_sand: Option<u16>) -> Crawl {
    let mut crawl = Crawl::new(&["hub/0"]);
    // More leaves than a window holds, so that no link sees its neighbours.
    let apart = "<hr>".repeat(8);
    for hub in 0..120 {
        let next = url(&format!("hub/{}", hub + 1));
        let mut body = format!("<p>reef</p><a href='{next}'>onwards</a>{apart}");
        for link in 0..2 {
            let (reef, sand) = (format!("r{hub}/{link}"), format!("s{hub}/{link}"));
            for (target, words) in [(&sand, "dunes"), (&reef, "coral")] {
                let target = url(target);
                body = format!("{body}<a href='{target}'>{words}</a>{apart}");
            }
            if link == 0 && moved(hub) {
                crawl.redirect(&reef, &format!("moved{hub}/"));
                crawl.page(&format!("moved{hub}/"), "reef", &[]);
            } else {
                crawl.page(&reef, "reef", &[]);
            }
            match no_sand {
                Some(code) => crawl.fail(&sand, answered(code)),
                None => crawl.page(&sand, "sand", &[]),
            };
        }
        crawl.html(&format!("hub/{hub}"), &body);
    }
    crawl.spec.order = order.into();
    crawl.spec.budget = 150;
    crawl
}

pub(super) fn sands(pages: &[String]) -> usize {
    pages.iter().filter(|page| page.starts_with('s')).count()
}

#[tokio::test]
async fn learners_come_to_prefer_the_links_that_lead_to_relevant_pages() {
    let baseline = hubs("baseline");
    baseline.replay().await;
    for order in ["nb", "ftrl"] {
        let crawl = hubs(order);
        crawl.replay().await;
        let (learned, before) = (sands(&crawl.pages()), sands(&baseline.pages()));
        assert!(
            learned * 2 < before,
            "{order}: {learned} of {before} fetches lost"
        );
        // What is lost is lost before the first epoch or two.
        let late = sands(&crawl.pages()[75..]);
        assert!(late <= 5, "{order}: {late} lost of the last 75");
    }
}

#[tokio::test]
async fn a_replay_with_a_learner_is_the_same_each_time() {
    let mut first = hubs("ftrl");
    first.limits().in_flight_max = 4;
    first.replay().await;
    for parsers in [1, 4] {
        let mut again = hubs("ftrl");
        again.limits().in_flight_max = 4;
        again.parsers = parsers;
        again.replay().await;
        assert_eq!(again.pages(), first.pages(), "{parsers} parsers");
    }
}

#[tokio::test]
async fn what_was_learned_is_there_after_a_restart() {
    let mut crawl = hubs("ftrl");
    crawl.spec.budget = 60;
    crawl
        .live(|handle| async move {
            until_finished(&handle).await;
        })
        .await;
    let before = crawl.pages().len();
    assert_eq!(before, 60);
    crawl
        .live(|handle| async move {
            let more = update(|update| update.budget = Some(120));
            handle.update(more).await.unwrap();
            handle
                .set_state(CrawlState::Running, "go on")
                .await
                .unwrap();
            until_finished(&handle).await;
        })
        .await;
    let after = crawl.pages().split_off(before);
    assert_eq!(after.len(), 60);
    assert!(
        sands(&after) <= 5,
        "{} lost after the restart",
        sands(&after)
    );
}

#[tokio::test]
async fn the_target_of_a_redirect_is_learned_from_and_ordered_like_the_link() {
    let mut crawl = hubs_with("ftrl", |hub| hub % 2 == 0, None);
    // Of hubs and reefs there are 361.
    crawl.spec.budget = 330;
    crawl.replay().await;
    let pages = crawl.pages();
    let moved = pages.iter().filter(|page| page.starts_with("moved"));
    let (moved, lost) = (moved.count(), sands(&pages));
    assert!(moved >= 30 && lost <= 20, "{moved} moved, {lost} lost");
}

#[tokio::test]
async fn a_score_is_explained_in_parts_that_add_up_to_it() {
    for order in ["baseline", "baseline-first", "breadth-first", "nb", "ftrl"] {
        let crawl = hubs(order);
        crawl
            .live(|handle| async move {
                until_finished(&handle).await;
                let waiting = handle.head(8).await.unwrap();
                let mut ids: Vec<_> = waiting.iter().map(|link| link.id).collect();
                ids.push(url("hub/2").id());
                ids.push(url("r0/0").id());
                for id in ids {
                    let reasons = handle.explain(id).await.unwrap().unwrap();
                    assert_eq!(reasons.order, order);
                    assert_eq!(reasons.epoch > 0, matches!(order, "nb" | "ftrl"));
                    assert_eq!(
                        reasons.leased_priority.is_some(),
                        reasons.known.waiting.is_none()
                    );
                    let (_, said) = &reasons.parents[0];
                    let said = said.as_ref().unwrap();
                    let sum: f32 = said.parts.iter().map(|(_, part)| part).sum();
                    assert!((sum - said.score).abs() < 1e-4, "{order}: {said:?}");
                }
                let seed = handle.explain(url("hub/0").id()).await.unwrap().unwrap();
                assert_eq!(seed.parents[0].1, None, "nobody scored a seed");
                let unknown = handle.explain(url("x/y").id()).await.unwrap();
                assert!(unknown.is_none());
            })
            .await;
    }
}

/// Fetches of sand that brought no page, and those of them that were lessons.
fn lost(crawl: &Crawl) -> (usize, usize) {
    let mut counts = (0, 0);
    for event in crawl.events() {
        if let Event::Failure(failure) = event
            && failure.lease.url.as_str().starts_with("http://s")
        {
            counts.0 += 1;
            counts.1 += usize::from(failure.is_lesson);
        }
    }
    counts
}

#[tokio::test]
async fn what_is_gone_is_learned_as_worth_nothing_unless_it_is_told_otherwise() {
    for order in ["nb", "ftrl", "auto"] {
        let crawl = without_sand(order, 404);
        crawl.replay().await;
        let (fell, lessons) = lost(&crawl);
        assert!(fell == lessons && fell < 20, "{order}: {fell} lost of 200");
        let mut deaf = without_sand(order, 404);
        deaf.spec.apprentice = Some(v1::Apprentice {
            failures: "none".to_owned(),
            ..v1::Apprentice::default()
        });
        deaf.replay().await;
        let (more, lessons) = lost(&deaf);
        assert_eq!(lessons, 0, "{order}");
        assert!(more > fell, "{order}: {more} lost, {fell} with lessons");
    }
}

#[tokio::test]
async fn a_trouble_of_the_server_is_no_lesson() {
    let crawl = without_sand("ftrl", 403);
    crawl.replay().await;
    let (fell, lessons) = lost(&crawl);
    assert!(fell > 0 && lessons == 0, "{fell} {lessons}");
}

#[tokio::test]
async fn a_crawl_learns_the_calibrated_relevance_if_it_is_told_to() {
    let learned = |labels: &str| {
        let mut crawl = hubs("ftrl");
        crawl.spec.apprentice = Some(v1::Apprentice {
            labels: labels.to_owned(),
            ..v1::Apprentice::default()
        });
        crawl
    };
    let (raw, calibrated) = (learned("raw"), learned("calibrated"));
    raw.replay().await;
    calibrated.replay().await;
    let losses = |crawl: &Crawl| -> Vec<f64> {
        let epochs = crawl.events().into_iter().filter_map(|event| match event {
            Event::Epoch(epoch) => epoch.log_loss,
            _ => None,
        });
        epochs.collect()
    };
    assert_ne!(losses(&raw), losses(&calibrated));
}
