use std::path::{Path, PathBuf};

use super::*;
use crate::lab::start::Start;

fn read(text: &str) -> Result<Experiment, String> {
    let path = Path::new("dir/near.toml");
    let read = file::read(text, Path::new("dir"), "near");
    read.map_err(|wrong| wrong.of(path).to_string())
}

const WORLD: &str = "
topics = ['stars', 'birds']
crawlers = ['breadth-first', 'baseline', 'best-n-first:16']
[world]
archive = ['web.warc.gz']
examples = 'examples.csv'
labels = '/data/labels.csv'
";

#[test]
fn a_short_file_says_enough() {
    let experiment = read(WORLD).unwrap();
    assert_eq!(experiment.title, "near");
    assert_eq!(experiment.checkpoints, [50, 100, 250, 500, 1000]);
    let Subject::Archive {
        files,
        settings,
        against,
    } = &experiment.on
    else {
        panic!("{experiment:?}");
    };
    assert_eq!(files.archive, [PathBuf::from("dir/web.warc.gz")]);
    assert_eq!(files.labels, Some(PathBuf::from("/data/labels.csv")));
    assert_eq!(against, "baseline");
    assert_eq!(settings.len(), 1);
    let spec = &settings[0].spec;
    assert_eq!(
        (spec.budget, spec.seed_sets, spec.start_pages),
        (1000, 1, 10)
    );
    assert_eq!(spec.start, Start::Examples);
    assert!(spec.closed_world && spec.host_cap.is_none());
}

#[test]
fn each_start_world_and_cap_is_a_contest_of_its_own() {
    let lists = "starts = ['far', ['http://a.test/'], ['http://b.test/', 'http://c.test/']]
                 worlds = ['closed', 'open']\nhost_caps = [0, 10]\n";
    let experiment = read(&format!("{lists}{WORLD}")).unwrap();
    let Subject::Archive { settings, .. } = &experiment.on else {
        panic!("{experiment:?}");
    };
    let names: Vec<&str> = settings
        .iter()
        .map(|setting| setting.name.as_str())
        .collect();
    assert_eq!(names.len(), 12);
    assert_eq!(
        names[..5],
        [
            "far-closed",
            "far-closed-cap10",
            "far-open",
            "far-open-cap10",
            "urls1-closed"
        ]
    );
    assert_eq!(names[11], "urls2-open-cap10");
    let last = &settings[11].spec;
    assert_eq!(last.host_cap, Some(10));
    assert!(!last.closed_world);
    assert!(matches!(&last.start, Start::Urls(urls) if urls.len() == 2));
}

#[test]
fn a_graph_has_fields_of_its_own() {
    let text = "crawlers = ['bfs', 'fl_ne/b=32']\nbudget = 20\n[graph]\ngenerate = [1, 2]";
    let experiment = read(text).unwrap();
    let Subject::Graphs { files, contest, .. } = &experiment.on else {
        panic!("{experiment:?}");
    };
    assert_eq!(files.generate, [1, 2]);
    assert_eq!((contest.budget, contest.seeds), (20, 50));
    assert_eq!(experiment.crawlers(), ["bfs", "fl_ne/b=32"]);
    let idle = read(&format!("host_caps = [1]\n{text}")).unwrap_err();
    assert!(
        idle.contains("line 1: host_caps: means nothing on a graph"),
        "{idle}"
    );
}

#[test]
fn what_is_wrong_is_named_with_line_and_field_and_what_would_be_right() {
    let told = |field: &str| format!("seed = 1\n{field}\n{WORLD}");
    for (text, expected) in [
        (told("budgte = 3"), "line 2: TOML: unknown field `budgte`"),
        (
            told("budget = 'much'"),
            "line 2: budget: invalid type: string",
        ),
        (
            told("budget = 0"),
            "line 2: budget: 0 is not 1 to 100000000",
        ),
        (told("starts = ['exampels']"), "did you mean `examples`?"),
        (told("starts = ['fra']"), "line 2: starts: no start"),
        (told("worlds = ['flat']"), "line 2: worlds: no world"),
        (
            told("against = 'oracle'"),
            "line 2: against: not one of the crawlers",
        ),
        (
            told("within = 'basline'"),
            "line 2: within: no crawler `basline`",
        ),
        (
            told("budget = 100\ncheckpoints = [50, 500]"),
            "line 3: checkpoints: 500 is not 1 to 100",
        ),
        (
            WORLD.replace("'baseline'", "'breadth-first'"),
            "line 3: crawlers: `breadth-first` stands there twice",
        ),
        (
            WORLD.replace("'birds'", "'stars'"),
            "line 2: topics: `stars` stands there twice",
        ),
        (
            told("host_caps = [5, 5]"),
            "starts, worlds, host_caps: `examples-cap5` is there twice",
        ),
        (told("seed_sets = -1"), "line 2: seed_sets: invalid value"),
        (
            WORLD.replace("'baseline'", "'best'"),
            "line 3: crawlers: no crawler `best`",
        ),
        (
            WORLD.replace("examples =", "critic = 'm'\nexamples ="),
            "line 4: world: examples and critic",
        ),
        (
            "topics = ['a']\ncrawlers = ['nb']".to_owned(),
            "line 1: world: on what?",
        ),
        (
            format!("{WORLD}[graph]\ngenerate = [1]"),
            "line 8: graph: an experiment is made on a [world] or on a [graph]",
        ),
        ("x = [".to_owned(), "near.toml, line 1"),
        (
            told("apprentice = 'x.apprentice'"),
            "line 2: apprentice: invalid type: string \"x.apprentice\", expected",
        ),
        (
            "crawlers = ['bfs', 'bfs']\n[graph]\ngenerate = [1]".to_owned(),
            "line 1: crawlers: `bfs` stands there twice",
        ),
    ] {
        assert_told(&text, expected);
    }
}

fn assert_told(text: &str, expected: &str) {
    let problem = read(text).unwrap_err();
    assert!(problem.contains(expected), "{problem:?} lacks {expected:?}");
    assert!(problem.starts_with("dir/near.toml, line "), "{problem}");
    assert_eq!(problem.lines().count(), 1, "{problem}");
}

#[test]
fn a_crawler_that_cannot_be_is_named_and_why() {
    for (text, expected) in [
        (
            WORLD.replace("'best-n-first:16'", "'best-n-first:16+buffer:64'"),
            "line 3: crawlers: `best-n-first:16+buffer:64`: `64` is no bound on what waits; the N of \
             CRAWLER+buffer:N is 100 to",
        ),
        (
            WORLD.replace("'baseline'", "{ crawler = 'auto', apprentice = 'gone' }"),
            "line 3: crawlers: apprentice: dir/gone",
        ),
        (
            WORLD.replace(
                "'baseline'",
                "{ crawler = 'auto', apprentice = 'gone', carry = 'half' }",
            ),
            "line 3: crawlers: carry: no way to carry `half`",
        ),
        (
            WORLD.replace("'baseline'", "{ crawler = 'atuo', apprentice = 'gone' }"),
            "line 3: crawlers: no crawler `atuo`; did you mean `auto`?",
        ),
        (
            WORLD.replace("'baseline'", "{ crawler = 'auto' }"),
            "expected the name of a crawler, or { crawler = NAME, apprentice = FILE }",
        ),
    ] {
        assert_told(&text, expected);
    }
}

#[test]
fn the_experiment_that_comes_with_the_program_can_be_read() {
    let experiment = read(include_str!("../../../examples/uci-ics.toml")).unwrap();
    assert_eq!(experiment.crawlers().len(), 16);
    assert!(experiment.has_ranks);
    let names: Vec<_> = experiment.specs().map(|spec| &spec.start).collect();
    assert_eq!(names, [&Start::Examples, &Start::Neighbours]);
}

#[test]
fn keywords_and_measures_are_those_that_there_are() {
    for (field, expected) in [
        (
            "keywords = 'names'",
            "line 1: keywords: no source `names`; did you mean `name`?",
        ),
        (
            "measures = ['rank']",
            "line 1: measures: no measure beside the usual ones `rank`",
        ),
    ] {
        let problem = read(&format!("{field}{WORLD}")).unwrap_err();
        assert!(problem.contains(expected), "{problem:?} lacks {expected:?}");
    }
    assert!(!read(&format!("measures = []{WORLD}")).unwrap().has_ranks);
}
