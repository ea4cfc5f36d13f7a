use std::time::Duration;

use super::*;
use crate::apprentice::{LearnerFigures, LearnerReport};
use crate::crawl::Learned;
use crate::lab::crawler::Crawler;
use crate::lab::replay::Fetched;
use crate::measure::LossCurve;
use crate::url::UrlId;

/// A crawl that fetched pages 0, 1, 2, .. of these relevances.
fn crawl(crawler: &str, topic: &str, seed_set: u32, relevances: &[f32]) -> Entry {
    let fetched = (0..relevances.len() as u64).map(|id| Fetched {
        url: UrlId(id),
        is_example: false,
        is_elsewhere: false,
        is_copy: false,
        is_missing: id % 4 == 3,
    });
    Entry {
        crawler: Crawler::from_name(crawler).unwrap(),
        topic: topic.to_owned(),
        seed_set,
        seeds: Vec::new(),
        targets: vec![UrlId(1), UrlId(2), UrlId(900), UrlId(901)],
        by_critic: relevances.iter().copied().collect::<LossCurve>(),
        by_judge: None,
        fetched: fetched.collect(),
        reason: String::new(),
        learned: Learned::default(),
        took: Duration::from_micros(100 * relevances.len() as u64),
    }
}

/// `good` relevant pages, the rest of 100 irrelevant ones.
fn first_good(good: usize) -> Vec<f32> {
    (0..100)
        .map(|at| if at < good { 1.0 } else { 0.0 })
        .collect()
}

fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    for (topic, baseline, ftrl, oracle) in [("a", 10, 40, 80), ("b", 50, 45, 90)] {
        for seed_set in 0..2 {
            entries.push(crawl("baseline", topic, seed_set, &first_good(baseline)));
            entries.push(crawl("ftrl", topic, seed_set, &first_good(ftrl)));
            entries.push(crawl("oracle", topic, seed_set, &first_good(oracle)));
        }
    }
    entries
}

#[test]
fn losses_gaps_and_scores_are_those_worked_by_hand() {
    let measures = Measures::of(&entries(), &[100], "baseline", 0);
    let row = |topic: &str, crawler: &str| {
        let rows = measures.topics.iter();
        let mut rows = rows.filter(|row| row.topic == topic && row.crawler == crawler);
        rows.next().unwrap().clone()
    };
    let near = |value: Option<f64>, expected: f64| {
        let value = value.unwrap();
        assert!((value - expected).abs() < 1e-12, "{value} for {expected}");
    };
    let ftrl = row("a", "ftrl");
    assert_eq!(ftrl.seed_sets, 2);
    near(ftrl.loss.map(|loss| loss.mean), 60.0);
    near(ftrl.harvest, 0.4);
    // (90 - 60) / (90 - 20), and 40 of the oracle's 80.
    near(ftrl.gap_share, 30.0 / 70.0);
    near(ftrl.by_oracle, 0.5);
    // Pages 1 and 2 of four targets.
    near(ftrl.target_recall, 0.5);
    // 40 at 1, then 40/m for m up to 100.
    let tail: f64 = (41..=100).map(|m| 40.0 / f64::from(m)).sum();
    near(ftrl.area, (40.0 + tail) / 100.0);
    near(row("b", "ftrl").gap_share, -5.0 / 40.0);
    let overall = measures.overall.iter().find(|row| row.crawler == "ftrl");
    let overall = overall.unwrap();
    near(overall.loss, 57.5);
    near(overall.gap_share, 25.0 / 110.0);
    assert_eq!(overall.topics_with_room, 2);
    // The geometric mean of 40/80 and 45/90.
    near(overall.global_score, 0.5);
}

#[test]
fn where_the_oracle_gains_little_there_is_no_gap() {
    let entries = [
        crawl("baseline", "a", 0, &first_good(80)),
        crawl("ftrl", "a", 0, &first_good(85)),
        crawl("oracle", "a", 0, &first_good(99)),
    ];
    let measures = Measures::of(&entries, &[100], "baseline", 0);
    assert!(measures.topics.iter().all(|row| row.gap_share.is_none()));
    assert!(measures.overall.iter().all(|row| row.gap_share.is_none()));
}

#[test]
fn crawls_are_compared_with_those_from_the_same_seeds() {
    let mut entries = entries();
    // One crawl ended early: its pair is left out.
    entries[1] = crawl("ftrl", "a", 0, &first_good(40)[..60]);
    let measures = Measures::of(&entries, &[100], "baseline", 0);
    let duel = |one: &str, other: &str| {
        let mut duels = measures.duels.iter();
        let found = duels.find(|duel| duel.crawler == one && duel.against == other);
        found.unwrap().outcome.clone()
    };
    let found = duel("ftrl", "baseline");
    assert_eq!((found.pairs, found.topics), (3, 2));
    assert_eq!((found.wins, found.ties, found.losses), (1, 0, 2));
    // -30 on one topic, 5 on the other.
    assert!((found.difference + 12.5).abs() < 1e-12);
    let turned = duel("baseline", "ftrl");
    assert_eq!((turned.wins, turned.losses), (2, 1));
    assert_eq!(measures.duels.len(), 6);
}

#[test]
fn the_time_is_that_of_all_crawls_by_their_fetches() {
    let paces = paces(&entries());
    assert_eq!(paces.len(), 3);
    assert_eq!(paces[0].fetches, 400);
    assert!((paces[0].step_us - 100.0).abs() < 1e-9);
}

#[test]
fn the_files_have_a_row_for_each_place_and_say_nothing_where_nothing_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let entries = [crawl("baseline", "a, b", 0, &first_good(10))];
    let measures = Measures::of(&entries, &[50, 100, 200], "baseline", 0);
    write(dir.path(), &measures, &paces(&entries)).unwrap();
    let text = std::fs::read_to_string(dir.path().join("measures.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 3 + 3);
    assert!(lines[1].starts_with("\"a, b\",baseline,50,1,40.0000,40.0000,40.0000,0.2000,"));
    assert_eq!(lines[3], "\"a, b\",baseline,200,0,,,,,,,,,0.5000,");
    // Every fourth fetch is of a page that the archive lacks.
    assert!(lines[2].ends_with(",0.5000,0.2500"), "{}", lines[2]);
    assert!(lines[4].starts_with("*,baseline,50,,40.0000,"));
    let json = std::fs::read_to_string(dir.path().join("measures.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["topics"][2]["loss"], serde_json::Value::Null);
    for name in ["paired.csv", "timing.csv", "learners.csv"] {
        assert!(dir.path().join(name).exists(), "{name}");
    }
}

#[test]
fn what_learners_said_is_the_mean_over_seed_sets_and_topics() {
    let figures = |instances, log_loss, auc| LearnerFigures {
        instances,
        log_loss,
        log_loss_lately: log_loss,
        auc,
        auc_within_page: None,
        calibration_error: 0.25,
    };
    let mut entries = entries();
    let crawls = [
        ("a", 0, figures(10, 0.2, Some(0.8)), true),
        ("a", 1, figures(20, 0.4, None), false),
        ("b", 0, figures(40, 0.7, Some(0.6)), false),
    ];
    for (topic, seed_set, figures, is_followed) in crawls {
        let is_it = |entry: &&mut Entry| {
            entry.crawler.name() == "ftrl" && entry.topic == topic && entry.seed_set == seed_set
        };
        let entry = entries.iter_mut().find(is_it).unwrap();
        entry.learned.learners = vec![LearnerReport {
            name: "ftrl",
            is_followed,
            figures,
        }];
    }
    let rows = Measures::of(&entries, &[100], "baseline", 0).learners;
    let topics: Vec<&str> = rows.iter().map(|row| row.topic.as_str()).collect();
    assert_eq!(topics, ["a", "b", "*"]);
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}");
    near(rows[0].followed, 0.5);
    near(rows[0].instances, 15.0);
    near(rows[0].log_loss, 0.3);
    assert_eq!(rows[0].auc, Some(0.8));
    near(rows[2].instances, 27.5);
    near(rows[2].log_loss, 0.5);
    near(rows[2].auc.unwrap(), 0.7);
    assert_eq!(rows[2].auc_within_page, None);
}
