//! Contests on graphs: scores, duels, reports, and what is said of odd ones.

use super::*;

pub(super) fn contest(names: &[&str], budget: u64) -> GraphContest {
    GraphContest {
        crawlers: names
            .iter()
            .map(|name| GraphCrawler::parse(name).unwrap())
            .collect(),
        budget,
        points: Vec::new(),
        seed_sets: 2,
        seeds: 5,
        seed: 1,
        workers: 2,
    }
}

#[test]
fn a_global_score_is_arithmetic_over_sets_and_geometric_over_graphs() {
    let entries = [
        entry("a", "bfs", 0, 1.0),
        entry("a", "bfs", 1, 3.0),
        entry("a", "oracle", 0, 2.0),
        entry("a", "oracle", 1, 6.0),
        entry("b", "bfs", 0, 2.0),
        entry("b", "oracle", 0, 16.0),
    ];
    // 4/8 and 2/16: the root of 1/16.
    let scores = global_scores(&contest(&["bfs"], 1), &entries);
    let at = |crawler: usize| scores[crawler].global[0].1.unwrap();
    assert_near(&[at(0), at(1)], &[0.25, 1.0]);
}

/// A crawl of one node with this score.
fn entry(graph: &str, crawler: &str, seed_set: u32, score: f64) -> GraphEntry {
    GraphEntry {
        graph: graph.to_owned(),
        crawler: crawler.to_owned(),
        seed_set,
        fetched: 1,
        scores: vec![(1, score)],
        step_us: 2.0,
    }
}

#[test]
fn a_graph_where_the_oracle_finds_nothing_has_no_score_and_takes_no_part() {
    let entries = [
        entry("a", "bfs", 0, 1.0),
        entry("a", "oracle", 0, 2.0),
        entry("b", "bfs", 0, 0.0),
        entry("b", "oracle", 0, 0.0),
    ];
    let contest = contest(&["bfs"], 1);
    assert_eq!(
        global_scores(&contest, &entries)[0].global,
        [(1, Some(0.5))]
    );
    assert_eq!(
        global_scores(&contest, &entries[2..])[0].global,
        [(1, None)]
    );
    assert_eq!(graph_duels(&contest, &entries[2..], "bfs"), []);
}

#[test]
fn a_stopped_contest_is_scored_over_the_seed_sets_that_the_oracle_has_as_well() {
    let entries = [
        entry("a", "bfs", 0, 1.0),
        entry("a", "bfs", 1, 9.0),
        entry("a", "oracle", 0, 4.0),
    ];
    let scores = global_scores(&contest(&["bfs"], 1), &entries);
    assert_eq!(scores[0].global, [(1, Some(0.25))]);
}

#[test]
fn duels_are_told_in_shares_of_the_oracles_score_and_more_is_better() {
    // Shares of the oracle's mean, 10 and 100: fl_n 0.8, 0.6 and 0.3; bfs 0.4, 0.6 and 0.305.
    let mut entries = Vec::new();
    for (graph, set, n, bfs, oracle) in [
        ("a", 0, 8.0, 4.0, 12.0),
        ("a", 1, 6.0, 6.0, 8.0),
        ("b", 0, 30.0, 30.5, 100.0),
    ] {
        entries.push(entry(graph, "fl_n", set, n));
        entries.push(entry(graph, "bfs", set, bfs));
        entries.push(entry(graph, "oracle", set, oracle));
    }
    let duels = graph_duels(&contest(&["fl_n", "bfs"], 1), &entries, "bfs");
    let one = |crawler: &str, against: &str| {
        let same = |duel: &&GraphDuel| duel.crawler == crawler && duel.against == against;
        duels.iter().find(same).unwrap().clone()
    };
    let duel = one("fl_n", "bfs");
    assert_eq!((duel.graphs, duel.pairs), (2, 3));
    assert_eq!((duel.wins, duel.ties, duel.losses), (1, 2, 0));
    // Means over graphs: (0.7 + 0.3) / 2 against (0.5 + 0.305) / 2.
    assert_near(
        &[duel.difference, duel.gain.unwrap()],
        &[0.5 - 0.4025, 0.5 / 0.4025 - 1.0],
    );
    let (reach, gain) = (duel.difference_in.unwrap(), duel.gain_in.unwrap());
    assert!(reach.low <= duel.difference && duel.difference <= reach.high);
    assert!(gain.low <= duel.gain.unwrap() && duel.gain.unwrap() <= gain.high);
    let turned = one("bfs", "fl_n");
    assert_eq!((turned.wins, turned.ties, turned.losses), (0, 2, 1));
    assert_near(&[turned.difference], &[-duel.difference]);
    // Each against each.
    assert_eq!(duels.len(), 6);
}

#[test]
fn tables_show_the_points_that_were_asked_for_or_the_powers_of_ten() {
    let mut contest = contest(&["bfs"], 2_500);
    assert_eq!(contest.shown_points(), [100, 1_000, 2_500]);
    contest.points = vec![70, 2_500, 9_000];
    assert_eq!(contest.shown_points(), [70, 2_500]);
    let points = contest.checkpoints();
    assert!(points.contains(&70) && points.contains(&1_000) && points.ends_with(&[2_500]));
    assert!(points.is_sorted());
}

/// What a report is told of `graph`.
fn told(graph: &Graph) -> GraphWorld {
    let source = GraphSource::Generator(GraphParams::default());
    GraphWorld::of("g", source, graph, Dropped::default())
}

/// The report of a contest on this graph, and what is said of it.
fn report_on(graph: Graph, contest: &GraphContest) -> (String, Vec<String>) {
    let graphs = [("g".to_owned(), graph)];
    let entries = run(&graphs, contest, &SystemClock::new(), &|_| ()).unwrap();
    let shown = GraphShown {
        worlds: &[told(&graphs[0].1)],
        contest,
        entries: &entries,
        against: "bfs",
        missing: 0,
    };
    let page = graph_page(&crate::lab::About::default(), &shown);
    (page, notes(&shown))
}

fn notes_on(graph: Graph, seeds: usize) -> String {
    let contest = GraphContest {
        seeds,
        ..contest(&["bfs"], 4)
    };
    let (page, notes) = report_on(graph, &contest);
    for note in &notes {
        assert!(page.contains(note.as_str()), "{note}");
    }
    notes.join("\n")
}

#[test]
fn what_is_odd_about_a_graph_is_said_and_stands_in_the_report() {
    // Both nodes with a score are seeds.
    let said = notes_on(hand_made(), 4);
    assert!(
        said.contains("all of its 4 nodes with a score are seeds"),
        "{said}"
    );
    // Two islands: whoever begins on one cannot reach the other, nor any score on its own.
    let edges = vec![(0, edge(1, 1.0)), (2, edge(3, 1.0))];
    let islands = Graph::from_edges(vec![1.0, 0.0, 1.0, 0.0], edges)
        .unwrap()
        .0;
    let said = notes_on(islands, 1);
    assert!(
        said.contains("from 2 of 2 seed sets no node with a score can be reached"),
        "{said}"
    );
    assert!(
        said.contains("4 of 4 crawls ended before the budget"),
        "{said}"
    );
    // Three nodes, four fetches.
    let edges = vec![(0, edge(1, 1.0)), (1, edge(0, 1.0)), (1, edge(2, 1.0))];
    let small = Graph::from_edges(vec![1.0, 1.0, 0.0], edges).unwrap().0;
    let said = notes_on(small, 1);
    assert!(
        said.contains("the budget of 4 is above its 3 nodes"),
        "{said}"
    );
    assert!(!said.contains("can be reached, so"), "{said}");
}

#[test]
fn no_oracle_is_marked_as_the_best_of_a_report() {
    let contest = contest(&["bfs", "fl_n", "oracle/b=2"], 40);
    let (page, _) = report_on(generate(&rich(500)).unwrap().0, &contest);
    let row = |crawler: &str| {
        let head = format!("<th scope=\"row\">{crawler}</th>");
        let from = page.find(&head).unwrap();
        page[from..].split("</tr>").next().unwrap().to_owned()
    };
    assert!(row("fl_n").contains("best"), "{}", row("fl_n"));
    assert!(!row("oracle/b=2").contains("best") && !row("oracle").contains("best"));
}

#[test]
fn bandits_have_no_precision_of_their_own() {
    let graph = generate(&rich(500)).unwrap().0;
    let contest = contest(&["mab_eps", "fl_n"], 50);
    let found = contest.precision("g", &graph).unwrap();
    let names: Vec<&str> = found.iter().map(|of| of.crawler.as_str()).collect();
    assert_eq!(names, ["fl_n"]);
    assert!(
        arm_names()
            .iter()
            .all(|arm| !GraphCrawler::parse(arm).unwrap().is_bandit())
    );
}

#[test]
fn a_contest_is_the_same_for_any_number_of_workers() {
    let graph = generate(&rich(2_000)).unwrap().0;
    let names: Vec<_> = crawler_names().collect();
    let mut contest = contest(&names, 300);
    let graphs = [("g".to_owned(), graph)];
    let mut scores = |workers| {
        contest.workers = workers;
        let entries = run(&graphs, &contest, &SystemClock::new(), &|_| ()).unwrap();
        assert_eq!(entries.len(), 2 * names.len());
        entries
            .into_iter()
            .map(|entry| (entry.crawler, entry.scores))
            .collect::<Vec<_>>()
    };
    assert_eq!(scores(1), scores(3));
    let barren = Graph::from_edges(vec![0.0; 3], Vec::new()).unwrap().0;
    let error = run(
        &[("none".to_owned(), barren)],
        &contest,
        &SystemClock::new(),
        &|_| (),
    );
    let error = error.unwrap_err();
    assert!(
        matches!(&error, GraphContestError::Barren(graph) if graph == "none"),
        "{error}"
    );
}
