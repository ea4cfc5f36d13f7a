//! `apprentice lab study`, as its user calls it.

use std::path::Path;
use std::process::{Command, Output};

use super::SHELF;

/// Runs studies on the archive of the generated web.
fn study(words: &str, out: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apprentice"));
    command.current_dir(SHELF.dir.path());
    command
        .args(["lab", "study"])
        .args(words.split_whitespace());
    command.args(["--archive", "web.warc.gz", "--examples", "examples.csv"]);
    command.args(["--labels", "labels.csv", "--topic", &SHELF.topic]);
    command.arg("--out").arg(out).output().unwrap()
}

fn new_out() -> tempfile::TempDir {
    tempfile::tempdir_in(SHELF.dir.path()).unwrap()
}

fn rows(out: &Path, name: &str) -> Vec<csv::StringRecord> {
    let mut reader = csv::Reader::from_path(out.join(name)).unwrap();
    reader.records().map(Result::unwrap).collect()
}

fn number(row: &csv::StringRecord, at: usize) -> f64 {
    row[at].parse().unwrap()
}

#[test]
fn studies_of_links_leave_tables_and_pictures() {
    let out = new_out();
    let run = study("accuracy gain mass histogram --budget 150", out.path());
    assert!(run.status.success(), "{run:?}");
    let said = String::from_utf8(run.stdout).unwrap();
    for words in ["accuracy: ", "gain: ", "mass: ", "histogram: ", "AUC"] {
        assert!(said.contains(words), "{said}");
    }
    // Two learners, with and without offsets, 16 windows.
    let accuracy = rows(out.path(), "accuracy.csv");
    assert_eq!(accuracy.len(), 64);
    for row in &accuracy {
        assert!(
            (4..10).all(|at| (0.0..=1.0).contains(&number(row, at))),
            "{row:?}"
        );
    }
    // With the link alone there is no offset to leave out.
    assert_eq!(accuracy[0].iter().skip(3).collect::<Vec<_>>(), {
        accuracy[16].iter().skip(3).collect::<Vec<_>>()
    });
    let gain = rows(out.path(), "gain.csv");
    assert!(gain.iter().all(|row| number(row, 3) <= number(row, 4)));
    let mass = rows(out.path(), "mass.csv");
    for side in [2, 3] {
        let sum: f64 = mass.iter().map(|row| number(row, side)).sum();
        assert!((sum - 1.0).abs() < 1e-3, "{sum}");
    }
    let pages: f64 = rows(out.path(), "histogram.csv")
        .iter()
        .map(|row| number(row, 3))
        .sum();
    assert!(pages > 100.0 && pages <= 150.0, "{pages}");
    let topic = SHELF.topic.replace('/', "_");
    for name in [
        "accuracy",
        "accuracy-auc",
        "gain",
        "mass",
        "mass-leaves",
        "histogram",
    ] {
        let svg = std::fs::read_to_string(out.path().join(format!("{name}-{topic}.svg")));
        assert!(svg.unwrap().starts_with("<svg"), "{name}");
    }
}

#[test]
fn studies_of_crawls_compare_two_crawlers() {
    let out = new_out();
    let words = "overlap switch recall --budget 120 --seed-sets 2 --crawlers baseline,ftrl";
    let run = study(words, out.path());
    assert!(run.status.success(), "{run:?}");
    for row in rows(out.path(), "overlap.csv") {
        // Each fetched n: those of both count once for each.
        assert!(
            (number(&row, 3) + number(&row, 4) - number(&row, 2)).abs() < 1e-9,
            "{row:?}"
        );
        assert!((number(&row, 4) - number(&row, 5)).abs() < 1e-9, "{row:?}");
    }
    let switch = rows(out.path(), "switch.csv");
    assert_eq!(switch.len(), 2);
    for row in &switch {
        assert_eq!((&row[2], &row[3]), ("60", "60"));
        assert!(
            number(row, 7) > 10.0 && (-1.0..=1.0).contains(&number(row, 10)),
            "{row:?}"
        );
    }
    let recall = rows(out.path(), "recall.csv");
    let all = recall.iter().filter(|row| &row[3] == "1");
    let needed = |crawler: &str| -> Vec<f64> {
        let mine = all.clone().filter(|row| &row[2] == crawler);
        mine.map(|row| number(row, 5)).collect()
    };
    // Both end with the same pages, so that the last relevant one is found by either.
    let (first, within) = (needed("baseline"), needed("ftrl within baseline"));
    assert_eq!((first.len(), within.len()), (2, 2));
    assert!(within.iter().all(|n| *n <= 120.0));
}

#[test]
fn an_ablation_leaves_each_group_out() {
    let out = new_out();
    let words =
        "ablation --budget 60 --features relevance,words,text --crawlers baseline,ftrl --json";
    let run = study(words, out.path());
    assert!(run.status.success(), "{run:?}");
    let found: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let without: Vec<&str> = found["ablation"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["without"].as_str().unwrap())
        .collect();
    assert_eq!(without, ["text", "relevance", "words"]);
}

#[test]
fn studies_are_listed_and_what_cannot_be_studied_is_told() {
    let program = || Command::new(env!("CARGO_BIN_EXE_apprentice"));
    let list = program().args(["lab", "study", "--list"]).output().unwrap();
    assert!(list.status.success(), "{list:?}");
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(
        list.contains("accuracy") && list.contains("ablation"),
        "{list}"
    );
    let out = new_out();
    let told = |words: &str, expected: &str| {
        let run = study(words, out.path());
        let complaint = String::from_utf8(run.stderr).unwrap();
        assert!(
            !run.status.success() && complaint.contains(expected),
            "{complaint}"
        );
    };
    told("acuracy", "did you mean `accuracy`?");
    told(
        "overlap --crawlers baseline --budget 20",
        "compares two crawlers",
    );
    told(
        "switch --crawlers ftrl,baseline --budget 20",
        "learns nothing",
    );
    told("gain --budget 3", "raise --budget");
    let bare = program().args(["lab", "study", "gain"]).output().unwrap();
    assert!(!bare.status.success());
}
