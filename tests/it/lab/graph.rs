//! `apprentice lab graph` as a person would run it.

use std::fs;
use std::process::{Command, Output};

fn graph(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_apprentice"))
        .args(["lab", "graph"])
        .args(args)
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_generated_graph_is_crawled_and_reported() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let graphs = [
        "--generate",
        "1",
        "2",
        "--generate-nodes",
        "3000",
        "--budget",
        "200",
    ];
    let crawlers = ["--crawlers", "bfs,fl_ne/b=8,mab_first", "--seeds", "5"];
    let run = ["run", "--json", "--out", out.to_str().unwrap()];
    let done = graph(&[&run[..], &graphs[..], &crawlers[..]].concat());
    assert!(done.status.success(), "{}", stderr(&done));
    assert!(stderr(&done).contains("generated-2: 3000 nodes"));
    let summary: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let names: Vec<_> = summary
        .as_array()
        .unwrap()
        .iter()
        .map(|of| &of["crawler"])
        .collect();
    assert_eq!(names, ["bfs", "fl_ne/b=8", "mab_first", "oracle"]);
    let csv = fs::read_to_string(out.join("scores.csv")).unwrap();
    assert!(csv.starts_with("graph,crawler,seed_set,n,score\ngenerated-1,bfs,0,1,"));
    assert!(
        fs::read_to_string(out.join("global-1.svg"))
            .unwrap()
            .contains("mab_first")
    );
    let summary = fs::read_to_string(out.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let world = &summary["graphs"][1];
    assert_eq!(
        (&world["reader"], &world["seed"], &world["nodes"]),
        (&"generator".into(), &2.into(), &3000.into())
    );
    assert_eq!(world["locality"], 0.6);
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    for words in [
        "fl_ne/b=8, mab_first on generated-1, generated-2",
        "generator, seed 2: 3000 nodes",
        "Score more than that of bfs",
        "--crawlers bfs,fl_ne/b=8,mab_first",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let paired = fs::read_to_string(out.join("paired.csv")).unwrap();
    assert!(paired.contains("\nmab_first,bfs,200,2,2,"), "{paired}");
    let gaps = dir.path().join("gaps");
    let precise = ["precision", "--crawlers", "fl_e", "--out"];
    let precise = graph(&[&precise[..], &[gaps.to_str().unwrap()], &graphs[..]].concat());
    assert!(
        String::from_utf8(precise.stdout)
            .unwrap()
            .contains("generated-2  fl_e")
    );
    let csv = fs::read_to_string(gaps.join("gap.csv")).unwrap();
    assert!(
        csv.starts_with("graph,estimator,steps,gap\ngenerated-1,fl_e,1000.0,"),
        "{csv}"
    );
    assert!(gaps.join("precision.json").exists());
}

#[test]
fn what_cannot_be_crawled_is_told_on_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let (nodes, edges) = (dir.path().join("n.csv"), dir.path().join("e.csv"));
    fs::write(&nodes, "node,beta\na,1\n").unwrap();
    fs::write(&edges, "source,target,alpha\na,b,1\n").unwrap();
    let tables = [
        "--nodes",
        nodes.to_str().unwrap(),
        "--edges",
        edges.to_str().unwrap(),
    ];
    let world = &["precision", "--generate", "1", "--generate-nodes", "1"][..];
    for (args, words) in [
        (
            &[&["precision"], &tables[..]].concat()[..],
            "e.csv:2: node \"b\" has no row",
        ),
        (world, "nodes is 1, but has to be 2 or more"),
        (&["precision"], "no graph; give --nodes"),
        (
            &["precision", "--generate", "1", "--crawlers", "fl_e,mab_eps"],
            "mab_eps is a bandit and has no estimate of its own; ask for what it chooses among: fl_n, fl_e",
        ),
        (
            &[
                "precision",
                "--generate",
                "1",
                "1",
                "--generate-nodes",
                "50",
            ],
            "two graphs are called \"generated-1\"",
        ),
        (
            &["precision", "--crawlers", "fl_x"],
            "--crawlers: no crawler `fl_x`; did you mean",
        ),
    ] {
        let failed = graph(args);
        let line = stderr(&failed);
        assert_eq!(failed.status.code(), Some(1), "{line}");
        let graphs = line.lines().filter(|line| line.starts_with("generated-"));
        assert!(
            line.contains(words) && line.lines().count() == 1 + graphs.count(),
            "{line}"
        );
    }
}

#[test]
fn a_run_that_was_cut_off_goes_on_and_comes_to_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let run = || {
        let done = graph(&[
            "run",
            "--generate",
            "1",
            "--generate-nodes",
            "2000",
            "--budget",
            "100",
            "--crawlers",
            "bfs,mab_eps",
            "--seeds",
            "5",
            "--seed-sets",
            "2",
            "--out",
            out.to_str().unwrap(),
        ]);
        assert!(done.status.success(), "{}", stderr(&done));
        stderr(&done)
    };
    run();
    let read = |name: &str| fs::read(out.join(name)).unwrap();
    let before = [read("scores.csv"), read("paired.csv")];
    let mut runs: Vec<_> = fs::read_dir(out.join("runs")).unwrap().flatten().collect();
    runs.sort_by_key(fs::DirEntry::path);
    assert_eq!(runs.len(), 6);
    // One run is gone, another was being written.
    fs::remove_file(runs[0].path()).unwrap();
    let cut = fs::read(runs[1].path()).unwrap();
    fs::write(runs[1].path(), &cut[..cut.len() / 2]).unwrap();
    let said = run();
    assert!(said.contains("4 of 6 crawls were made before"), "{said}");
    assert!(before == [read("scores.csv"), read("paired.csv")]);
}

#[test]
fn the_report_of_a_stopped_experiment_on_a_graph_is_marked_as_partial() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (dir.path().join("x.toml"), dir.path().join("out"));
    let experiment = |crawlers: &str, more: &[&str]| {
        let text = format!(
            "crawlers = {crawlers}\nbudget = 50\nstart_pages = 5\nseed_sets = 2\ncheckpoints = [20, 50]\nagainst = 'fl_ne'\n\
             [graph]\ngenerate = [1]\ngenerate_nodes = 500\ngenerate_topical = 1.0"
        );
        fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_apprentice"));
        command.args(["lab", "experiment"]).arg(&file);
        let done = command.arg("--out").arg(&out).args(more).output().unwrap();
        let page = fs::read_to_string(out.join("report.html")).unwrap();
        (stderr(&done), page)
    };
    let (_, whole) = experiment("['bfs', 'fl_ne']", &[]);
    assert!(!whole.contains("Partial") && whole.contains("Score more than that of fl_ne"));
    assert!(whole.contains("n = 20<") && !whole.contains("n = 10<"));
    let (said, partial) = experiment("['bfs', 'fl_n', 'fl_ne']", &["--report-only"]);
    assert!(
        said.contains("2 runs are missing") && said.contains("partial"),
        "{said}"
    );
    assert!(partial.contains("Partial: 2 runs are missing"));
    let summary = fs::read_to_string(out.join("summary.json")).unwrap();
    assert!(summary.contains("\"missing\": 2"));
    // Figures of what is there are those of before.
    let row = |page: &str| {
        let at = page.find("<th scope=\"row\">bfs</th>").unwrap();
        page[at..].split("</tr>").next().unwrap().to_owned()
    };
    assert_eq!(row(&partial), row(&whole));
}
