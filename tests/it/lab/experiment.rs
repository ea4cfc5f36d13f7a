//! `apprentice lab experiment` on an archive of the generated web.

use std::path::Path;
use std::process::{Command, Output};

use super::SHELF;

/// Writes the experiment beside the archive and runs it into `out`.
fn experiment(text: &str, out: &Path, more: &[&str]) -> Output {
    let file = SHELF.dir.path().join(format!(
        "{}.toml",
        out.file_name().unwrap().to_string_lossy()
    ));
    std::fs::write(&file, text.replace("TOPIC", &SHELF.topic)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_apprentice"));
    command.args(["lab", "experiment"]).arg(file);
    command.arg("--out").arg(out).args(more);
    command.output().unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn out_dir() -> std::path::PathBuf {
    tempfile::tempdir_in(SHELF.dir.path()).unwrap().keep()
}

fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let files = std::fs::read_dir(dir).unwrap().flatten();
    let mut files: Vec<_> = files.map(|file| file.path()).collect();
    files.sort();
    files
}

const NEAR: &str = "
topics = ['TOPIC']
crawlers = ['breadth-first', 'baseline', 'ftrl', 'oracle']
budget = 60
seed_sets = 2
[world]
archive = ['web.warc.gz']
examples = 'examples.csv'
labels = 'labels.csv'
";

#[test]
fn an_experiment_gives_the_curves_of_a_run_whatever_the_workers() {
    let run = SHELF.compare(
        "--labels labels.csv --crawlers breadth-first,baseline,ftrl,oracle --budget 60 --seed-sets 2",
    );
    for workers in ["1", "3"] {
        let out = out_dir();
        let output = experiment(NEAR, &out, &["--workers", workers]);
        assert!(output.status.success(), "{}", words(&output));
        let curves = std::fs::read(out.join("curves.csv")).unwrap();
        assert!(curves == run.curves(), "{workers} workers");
        let summary = |dir: &Path| std::fs::read_to_string(dir.join("summary.json")).unwrap();
        assert_eq!(summary(&out), summary(&run.out));
    }
}

#[test]
fn what_is_missing_is_run_and_what_is_there_is_not() {
    let out = out_dir();
    assert!(experiment(NEAR, &out, &[]).status.success());
    let outputs = ["curves.csv", "summary.json"].map(|name| out.join(name));
    let before = outputs.clone().map(|path| std::fs::read(path).unwrap());
    let runs = files(&out.join("runs"));
    assert_eq!(runs.len(), 8);
    // One is lost, one was cut in the middle of writing, one is of a crash.
    std::fs::remove_file(&runs[0]).unwrap();
    let text = std::fs::read(&runs[1]).unwrap();
    std::fs::write(&runs[1], &text[..text.len() / 2]).unwrap();
    std::fs::write(out.join("runs/x.part"), "half").unwrap();
    let partial = experiment(NEAR, &out, &["--report-only"]);
    assert!(partial.status.success());
    assert!(
        words(&partial).contains("2 runs are missing"),
        "{}",
        words(&partial)
    );
    let again = experiment(NEAR, &out, &[]);
    assert!(
        words(&again).contains("6 of 8 crawls were made before"),
        "{}",
        words(&again)
    );
    let after = outputs.map(|path| std::fs::read(path).unwrap());
    assert!(before == after);
}

#[test]
fn a_changed_experiment_is_told_and_takes_over_what_is_the_same() {
    let out = out_dir();
    assert!(experiment(NEAR, &out, &[]).status.success());
    let fewer = NEAR
        .replace("'ftrl', ", "")
        .replace("budget = 60", "budget = 60\nstarts = ['examples', 'far']");
    let output = experiment(&fewer, &out, &[]);
    let said = words(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("has changed") && said.contains("crawlers, starts"),
        "{said}"
    );
    assert!(said.contains("6 of 12 crawls were made before"), "{said}");
    for setting in ["examples", "far"] {
        assert!(out.join(setting).join("curves.csv").exists(), "{setting}");
    }
}

#[test]
fn a_graph_is_an_experiment_as_well() {
    let text = "crawlers = ['bfs', 'fl_ne']\nbudget = 50\nseed_sets = 2\n[graph]\ngenerate = [1]\ngenerate_nodes = 500";
    let out = out_dir();
    let first = experiment(text, &out, &[]);
    assert!(first.status.success(), "{}", words(&first));
    let scores = std::fs::read(out.join("scores.csv")).unwrap();
    let again = experiment(text, &out, &["--workers", "1"]);
    assert!(
        words(&again).contains("6 of 6 crawls were made before"),
        "{}",
        words(&again)
    );
    assert!(scores == std::fs::read(out.join("scores.csv")).unwrap());
}

#[test]
fn a_wrong_experiment_is_refused_in_one_line() {
    for (text, expected) in [
        (
            NEAR.replace("'ftrl'", "'ftlr'"),
            "line 3: crawlers: no crawler `ftlr`",
        ),
        (NEAR.replace("TOPIC", "nothing"), ", line 2: topics: "),
        (NEAR.replace("web.warc.gz", "no.warc.gz"), ": archive: "),
    ] {
        let output = experiment(&text, &out_dir(), &[]);
        let said = words(&output);
        assert!(!output.status.success());
        assert!(said.contains(expected), "{said:?} lacks {expected:?}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    }
}

#[test]
fn the_crawlers_of_the_papers_find_targets_and_are_ranked_in_the_pool() {
    // No page links to the examples of the generated web: others are taken.
    let pages = SHELF.web.pages().iter().step_by(2);
    let rows = pages.map(|page| format!("{},{}\n", page.topic, page.url));
    let table = format!("topic,url\n{}", rows.collect::<String>());
    std::fs::write(SHELF.dir.path().join("linked.csv"), table).unwrap();
    let text = NEAR
        .replace("examples.csv", "linked.csv")
        .replace(
            "crawlers = ['breadth-first', 'baseline', 'ftrl', 'oracle']",
            "crawlers = ['breadth-first+buffer:256', 'random', 'cosine', 'cosine+best-n-first:16+buffer:256', 'shark', 'oracle']
             starts = ['neighbours']\nmeasures = ['ranks']\nstart_pages = 4\ncheckpoints = [20, 60]",
        );
    let out = out_dir();
    let output = experiment(&text, &out, &[]);
    assert!(output.status.success(), "{}", words(&output));
    let rows = |name: &str| -> Vec<csv::StringRecord> {
        let mut csv = csv::Reader::from_path(out.join(name)).unwrap();
        csv.records().map(Result::unwrap).collect()
    };
    let share = |text: &str| {
        let value: f64 = text.parse().unwrap();
        assert!((0.0..=1.0).contains(&value), "{value}");
        value
    };
    // topic, crawler, n and the four ranks: one topic, and the mean over it.
    let ranks = rows("pool_ranks.csv");
    assert_eq!(ranks.len(), 2 * 6 * 2);
    for row in &ranks {
        for at in 3..7 {
            share(&row[at]);
        }
    }
    let recalls = rows("measures.csv");
    let recall = |crawler: &str, n: &str| {
        let mut mine = recalls
            .iter()
            .filter(|row| &row[1] == crawler && &row[2] == n);
        share(&mine.next().unwrap()[12])
    };
    for crawler in ["random", "shark", "oracle"] {
        assert!(recall(crawler, "20") <= recall(crawler, "60"), "{crawler}");
    }
    // Seeds are no targets, and nobody starts at what is to be found.
    let summary = std::fs::read_to_string(out.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["spec"]["start"], "neighbours");
    assert_eq!(summary["spec"]["keywords"], "critic");
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("Dynamic linkage rank") && page.contains("targets found"));
    let again = experiment(&text, &out_dir(), &["--workers", "1"]);
    assert!(again.status.success());
}

#[test]
fn a_report_says_what_it_was_made_with_and_what_is_missing() {
    let out = out_dir();
    let text = NEAR.replace("budget = 60", "budget = 60\ntitle = 'Birds & <others>'");
    assert!(experiment(&text, &out, &[]).status.success());
    let report = || std::fs::read_to_string(out.join("report.html")).unwrap();
    let whole = report();
    let archive = std::fs::read(SHELF.dir.path().join("web.warc.gz")).unwrap();
    let digest = {
        use sha1::{Digest, Sha1};
        data_encoding::HEXLOWER.encode(&Sha1::digest(&archive))
    };
    for words in [
        "Birds &amp; &lt;others&gt;",
        &digest,
        "apprentice lab experiment",
        "budget = 60",
        env!("CARGO_PKG_VERSION"),
    ] {
        assert!(whole.contains(words), "{words}");
    }
    // Folders are nobody's business.
    let folder = SHELF.dir.path().display().to_string();
    assert!(!whole.contains(&folder));
    assert!(!whole.contains("Partial"));
    std::fs::remove_file(&files(&out.join("runs"))[0]).unwrap();
    assert!(experiment(&text, &out, &["--report-only"]).status.success());
    assert!(report().contains("Partial: 1 runs are missing"));
}

/// Runs it one crawl at a time, and sends the signal once some crawls are done.
fn interrupted(text: &str, out: &Path, signal: rustix::process::Signal) -> Output {
    let file = out.with_extension("toml");
    std::fs::write(&file, text.replace("TOPIC", &SHELF.topic)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_apprentice"));
    command
        .args(["lab", "experiment", "--workers", "1"])
        .arg(file);
    command.arg("--out").arg(out);
    command.stdout(std::process::Stdio::null());
    command.stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let runs = out.join("runs");
    let done = || std::fs::read_dir(&runs).map_or(0, Iterator::count);
    while done() < 2 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_run_that_is_stopped_or_killed_goes_on_and_comes_to_the_same() {
    let many = NEAR.replace("seed_sets = 2", "seed_sets = 10");
    let whole = out_dir();
    assert!(experiment(&many, &whole, &[]).status.success());
    let stopped = out_dir();
    let output = interrupted(&many, &stopped, rustix::process::Signal::INT);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(
        words(&output).contains("the same command goes on"),
        "{}",
        words(&output)
    );
    let report = std::fs::read_to_string(stopped.join("report.html")).unwrap();
    assert!(report.contains("Partial: "));
    let killed = out_dir();
    interrupted(&many, &killed, rustix::process::Signal::KILL);
    for out in [stopped, killed] {
        let again = experiment(&many, &out, &[]);
        assert!(again.status.success(), "{}", words(&again));
        assert!(
            words(&again).contains("crawls were made before"),
            "{}",
            words(&again)
        );
        for name in ["curves.csv", "summary.json", "measures.csv", "paired.csv"] {
            let read = |dir: &Path| std::fs::read(dir.join(name)).unwrap();
            assert!(read(&out) == read(&whole), "{name}");
        }
    }
}
