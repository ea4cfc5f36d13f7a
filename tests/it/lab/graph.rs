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
    let world = [
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
    let done = graph(&[&run[..], &world[..], &crawlers[..]].concat());
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
    let gaps = dir.path().join("gaps");
    let precise = ["precision", "--crawlers", "fl_e", "--out"];
    let precise = graph(&[&precise[..], &[gaps.to_str().unwrap()], &world[..]].concat());
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
            &["precision", "--crawlers", "fl_x"],
            "--crawlers: no crawler `fl_x`; did you mean",
        ),
    ] {
        let failed = graph(args);
        let line = stderr(&failed);
        assert_eq!(failed.status.code(), Some(1), "{line}");
        assert!(line.contains(words) && line.lines().count() == 1, "{line}");
    }
}
