//! Every estimator on a hand-made graph, with numbers worked out by hand, and what always holds.

use proptest::prelude::*;

use super::bfs::Bfs;
use super::estimator::Estimator;
use super::first_level::{FirstLevel, Parents};
use super::known::Known;
use super::nr::NavigationalRank;
use super::opic::Opic;
use super::second_level::{SecondLevel, Siblings};
use super::*;
use crate::clock::SystemClock;

/// A small graph with enough to find.
fn rich(nodes: NodeId) -> GraphParams {
    GraphParams {
        nodes,
        community: 20,
        topical: 0.2,
        ..GraphParams::default()
    }
}

fn edge(target: NodeId, alpha: f32) -> Edge {
    Edge { target, alpha }
}

/// Two seeds, 0 (beta 1) and 1 (beta 3):
/// 0 -> 2 (alpha 2), 0 -> 3 (1), 1 -> 3 (0.5), 1 -> 4 (0); 2 (beta 5) -> 4 (1); 3 has 2, 4 has 0.
fn hand_made() -> Graph {
    let edges = vec![
        (0, edge(2, 2.0)),
        (0, edge(3, 1.0)),
        (1, edge(3, 0.5)),
        (1, edge(4, 0.0)),
        (2, edge(4, 1.0)),
    ];
    let (graph, dropped) = Graph::from_edges(vec![1.0, 3.0, 5.0, 2.0, 0.0], edges).unwrap();
    assert_eq!(dropped, Dropped::default());
    graph
}

/// What `estimator` says of each of `asked` after `order` was crawled.
fn estimates<const N: usize>(
    graph: &Graph,
    estimator: &mut dyn Estimator,
    order: &[NodeId],
    asked: [NodeId; N],
) -> [f64; N] {
    let mut known = Known::new(graph);
    for node in order {
        assert!(known.reveal(*node));
        estimator.crawled(&known, *node, &mut Vec::new());
    }
    estimator.all_changed(&known);
    asked.map(|node| estimator.estimate(&known, node))
}

fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }
}

#[test]
fn breadth_first_counts_edges_from_the_nearest_seed() {
    let graph = hand_made();
    let after = estimates(&graph, &mut Bfs::new(5), &[0, 2], [3, 4]);
    assert_near(&after, &[1.0 / 2.0, 1.0 / 3.0]);
    // With the second seed, 4 is one edge away.
    let after = estimates(&graph, &mut Bfs::new(5), &[0, 2, 1], [3, 4]);
    assert_near(&after, &[0.5, 0.5]);
}

#[test]
fn first_level_estimators_sum_over_the_parents() {
    // 3 has the parents 0 (beta 1, alpha 1) and 1 (beta 3, alpha 0.5); 2 has 0 (alpha 2).
    let expected = [
        (Parents::Degree, [1.0, 2.0]),
        (Parents::Nodes, [1.0, 4.0]),
        (Parents::Edges, [2.0, 1.5]),
        (Parents::Both, [2.0, 2.5]),
    ];
    for (of, sums) in expected {
        let mut estimator = FirstLevel::new(of, 5);
        let found = estimates(&hand_made(), &mut estimator, &[0, 1], [2, 3]);
        assert_near(&found, &sums.map(f64::ln_1p));
    }
}

#[test]
fn second_level_estimators_sum_over_the_siblings() {
    // After 0, 1, 2: the sibling of 3 under 0 is 2 (beta 5, alpha 2); 4 has none crawled.
    // After 3 as well: 4 has the sibling 3 under 1 (beta 2, alpha 0.5); under 2 it is alone.
    let expected = [
        (Siblings::Nodes, 5.0, 2.0),
        (Siblings::Edges, 2.0, 0.5),
        (Siblings::Both, 10.0, 1.0),
    ];
    for (of, of_three, of_four) in expected {
        let mut estimator = SecondLevel::new(of, 5);
        let found = estimates(&hand_made(), &mut estimator, &[0, 1, 2], [3, 4]);
        assert_near(&found, &[f64::ln_1p(of_three), 0.0]);
        // The same whether the parent or the sibling is crawled first.
        for order in [[0, 1, 2, 3], [2, 3, 0, 1], [3, 1, 2, 0]] {
            let mut estimator = SecondLevel::new(of, 5);
            let found = estimates(&hand_made(), &mut estimator, &order, [4]);
            assert_near(&found, &[f64::ln_1p(of_four)]);
        }
    }
}

#[test]
fn opic_hands_cash_on_by_alpha_or_equally() {
    // Plain: 0 gives 1/2 to 2 and 3, 1 gives 1/2 to 3 and 4.
    let found = estimates(&hand_made(), &mut Opic::new(false, 5), &[0, 1], [2, 3, 4]);
    assert_near(&found, &[0.5, 1.0, 0.5]);
    // Scored: 0 has 1 + 1 and gives 2/3 of it to 2; 1 has 1 + 3 and gives all to 3.
    let found = estimates(&hand_made(), &mut Opic::new(true, 5), &[0, 1], [2, 3, 4]);
    assert_near(&found, &[4.0 / 3.0, 2.0 / 3.0 + 4.0, 0.0]);
}

#[test]
fn navigational_rank_flows_back_and_then_on() {
    // eta 1/2, crawled 0 and 2. B(2) = 2.5, B(0) = 0.5 + 2.5 / 2 = 1.75.
    // F(0) = 0.875, F(2) = 1.25 + 0.5 * 0.875 / 2 = 1.46875, F(3) = 0.21875, F(4) = 0.734375.
    let mut rank = NavigationalRank::new(0.5, 5);
    let found = estimates(&hand_made(), &mut rank, &[0, 2], [3, 4]);
    assert_near(&found, &[0.218_75, 0.734_375]);
}

#[test]
fn batches_learn_nothing_until_they_are_whole() {
    // From 0 and 1 by the oracle: 2 (5), 3 (2), 4 (0). With b=2 the first two are the same; a batch
    // never takes a node twice.
    for name in ["oracle", "oracle/b=2", "oracle/b=1024", "mab_eps/b=3"] {
        let crawler = GraphCrawler::parse(name).unwrap();
        let settings = Settings {
            budget: 10,
            seed: 1,
        };
        let trace = crawl(&hand_made(), &[0, 1], &crawler, settings);
        let mut nodes = trace.nodes.clone();
        nodes.sort_unstable();
        assert_eq!(nodes, [2, 3, 4], "{name}");
        assert_near(&[trace.score(10), trace.score(0)], &[7.0, 0.0]);
    }
}

#[test]
fn altered_greedy_without_zeta_takes_any_node_and_with_one_only_the_best() {
    let graph = generate(&rich(500)).unwrap().0;
    let seeds = [graph.scored()[0]];
    let of = |name: &str| {
        let crawler = GraphCrawler::parse(name).unwrap();
        crawl(
            &graph,
            &seeds,
            &crawler,
            Settings {
                budget: 200,
                seed: 1,
            },
        )
    };
    // All nodes at zeta = 1 have the best score; only the order of ties may differ.
    let (greedy, best) = (of("oracle"), of("oracle/q=0/zeta=1"));
    assert!((greedy.sums[0] - best.sums[0]).abs() < 1e-9);
    assert_ne!(greedy.nodes, of("oracle/q=0").nodes);
    assert!(greedy.score(50) > 1.5 * of("oracle/q=0").score(50));
    assert_eq!(of("random").nodes.len(), 200);
}

#[test]
fn names_are_checked() {
    let words = |text: &str| GraphCrawler::parse(text).unwrap_err();
    assert!(words("fl_nn").contains("did you mean `fl_n`"));
    for text in [
        "bfs/b=0",
        "bfs/b=1025",
        "bfs/q=2",
        "bfs/zeta=NaN",
        "bfs/x=1",
        "bfs/b",
    ] {
        assert!(words(text).contains("b=1..1024"), "{text}");
    }
}

#[test]
fn a_variable_reset_waits_longer_while_the_same_arm_wins() {
    let policy = Policy::VariableReset {
        epsilon: 0.5,
        base: 20,
    };
    let mut bandit = Bandit::new(policy, 2, 3);
    let mut rounds = Vec::new();
    for _ in 0..20 + 20 + 40 + 60 {
        rounds.push(bandit.round());
        let arm = bandit.choose();
        bandit.reward(arm, if arm == 1 { 1.0 } else { 0.25 });
    }
    rounds.dedup();
    assert_eq!(rounds, [20, 40, 60]);
    assert_eq!(bandit.round(), 80);
}

#[test]
fn epsilon_first_follows_the_best_arm_after_its_first_part() {
    let policy = Policy::EpsilonFirst {
        epsilon: 0.2,
        round: 100,
    };
    let mut bandit = Bandit::new(policy, 3, 0);
    let mut arms = Vec::new();
    for _ in 0..100 {
        let arm = bandit.choose();
        arms.push(arm);
        bandit.reward(arm, if arm == 2 { 2.0 } else { 1.0 });
    }
    assert!(arms[..20].iter().any(|arm| *arm != 2));
    assert!(arms[20..].iter().all(|arm| *arm == 2));
}

#[test]
fn both_readings_of_epsilon_differ() {
    let best = |epsilon| {
        let mut bandit = Bandit::new(Policy::EpsilonGreedy { epsilon }, 4, 0);
        let mut best = 0;
        for _ in 0..1000 {
            let arm = bandit.choose();
            best += usize::from(arm == 3);
            bandit.reward(arm, if arm == 3 { 1.0 } else { 0.1 });
        }
        best
    };
    assert!(best(0.1) > 850, "{}", best(0.1));
    assert!(best(0.9) < 450, "{}", best(0.9));
}

#[test]
fn the_oracle_is_never_below_any_estimator_on_its_own_way() {
    let graph = generate(&rich(3_000)).unwrap().0;
    let contest = contest(&["bfs", "fl_ne", "lr_sl", "oracle"], 1_500);
    let found = contest.precision("g", &graph).unwrap();
    for of in &found {
        assert_eq!(of.gap.len(), 2);
        assert!(of.gap.iter().all(|gap| *gap >= 0.0), "{of:?}");
    }
    let oracle = &found[3];
    let (waiting, fetched) = (oracle.waiting, oracle.fetched);
    assert_near(&[oracle.gap_mean, waiting.pearson], &[0.0, 1.0]);
    assert_near(&[waiting.r2, fetched.r2, fetched.pearson], &[1.0; 3]);
    let learned = found[2].fetched;
    assert!(learned.r2 > 0.0 && learned.r2 < 1.0, "{learned:?}");
    assert!(found[1].gap_mean < found[0].gap_mean);
}

fn contest(names: &[&str], budget: u64) -> GraphContest {
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

fn notes_on(graph: Graph, seeds: usize) -> String {
    let contest = GraphContest {
        seeds,
        ..contest(&["bfs"], 4)
    };
    let graphs = [("g".to_owned(), graph)];
    let entries = run(&graphs, &contest, &SystemClock::new(), &|_| ()).unwrap();
    let shown = GraphShown {
        worlds: &[told(&graphs[0].1)],
        contest: &contest,
        entries: &entries,
        against: "bfs",
        missing: 0,
    };
    let page = graph_page(&crate::lab::About::default(), &shown);
    let notes = notes(&shown);
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
    let graphs = [("g".to_owned(), generate(&rich(500)).unwrap().0)];
    let entries = run(&graphs, &contest, &SystemClock::new(), &|_| ()).unwrap();
    let shown = GraphShown {
        worlds: &[told(&graphs[0].1)],
        contest: &contest,
        entries: &entries,
        against: "bfs",
        missing: 0,
    };
    let page = graph_page(&crate::lab::About::default(), &shown);
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

#[test]
fn a_generated_graph_has_rich_friends_and_a_seed() {
    let params = GraphParams {
        nodes: 20_000,
        ..GraphParams::default()
    };
    let (graph, _) = generate(&params).unwrap();
    let scored = |node: NodeId| graph.beta(node) > 0.0;
    let share = |rich: bool| {
        let nodes = (0..graph.nodes()).filter(|node| scored(*node) == rich);
        let (mut all, mut good) = (0.0, 0.0);
        for edge in nodes.flat_map(|node| graph.out(node)) {
            all += 1.0;
            good += f64::from(u8::from(scored(edge.target)));
        }
        good / all
    };
    assert!(
        share(true) > 4.0 * share(false),
        "{} {}",
        share(true),
        share(false)
    );
    let mean = graph.edges() as f64 / f64::from(graph.nodes());
    assert!((12.0..18.0).contains(&mean), "{mean}");
    let again = generate(&params).unwrap().0;
    assert!((0..graph.nodes()).all(|node| graph.out(node) == again.out(node)));
    let error = generate(&GraphParams {
        locality: f64::NAN,
        ..params
    })
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "locality is NaN, but has to be from 0 to 1"
    );
}

fn tables(nodes: &str, edges: &str) -> Result<(Graph, Dropped), String> {
    let dir = tempfile::tempdir().unwrap();
    let (n, e) = (dir.path().join("n"), dir.path().join("e.gz"));
    std::fs::write(&n, nodes).unwrap();
    let file = std::fs::File::create(&e).unwrap();
    let mut writer = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    std::io::Write::write_all(&mut writer, edges.as_bytes()).unwrap();
    writer.finish().unwrap();
    read_tables(&n, &e).map_err(|error| error.to_string())
}

#[test]
fn tables_are_read_and_their_faults_named_with_the_line() {
    let nodes = "node\tbeta\na\t1.5\nb\t0\n";
    let edges = "source,target,alpha\na,b,2\na,b,3\na,a,1\nb,a,0\n";
    let (graph, dropped) = tables(nodes, edges).unwrap();
    assert_eq!(
        dropped,
        Dropped {
            self_loops: 1,
            doubles: 1
        }
    );
    assert_eq!(graph.out(0), [edge(1, 3.0)]);
    assert_eq!(graph.scored(), [0]);
    assert_eq!(tables(nodes, "a,b\n").unwrap().0.out(0), [edge(1, 1.0)]);
    for (nodes, edges, words) in [
        (nodes, "a,b,1\na,c,1\n", ["e.gz:2", "\"c\" has no row"]),
        (nodes, "a,b,-1\n", ["e.gz:1", "alpha is \"-1\""]),
        ("a,NaN\n", "", ["n:1", "beta is \"NaN\""]),
        ("a,inf\n", "", ["n:1", "beta is \"inf\""]),
        ("a,1\nb\n", "", ["n:2", "beta is \"\""]),
        ("a,1\na,1\n", "", ["n:2", "has a row already"]),
        ("node,beta\n", "", ["n: ", "no node in it"]),
    ] {
        let error = tables(nodes, edges).unwrap_err();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
}

#[test]
fn articles_are_read_with_the_keyword_near_each_link() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let far = "x ".repeat(80);
    let lines = format!(
        "{{\"title\":\"A\",\"topics\":[\"S/T\"],\"links\":[\"B_c\",\"D\",\"gone\"],\"text\":\"The bee of B c, a bee. {far} bee {far} D\"}}\n\n\
         {{\"title\":\"B_c\",\"topics\":[\"S/Tea\"],\"text\":\"Beekeeper\"}}\n{{\"title\":\"D\"}}\n"
    );
    std::fs::write(file.path(), lines).unwrap();
    let (graph, _) = read_wikispeedia(file.path(), "Bee", None).unwrap();
    let log = |count: f32| count.ln_1p();
    assert_eq!(graph.scored(), [0]);
    assert_near(&[f64::from(graph.beta(0))], &[f64::from(log(3.0))]);
    assert_eq!(graph.out(0), [edge(1, log(2.0)), edge(2, 0.0)]);
    let (graph, _) = read_wikispeedia(file.path(), "bee", Some("S/T")).unwrap();
    assert_eq!(graph.scored(), [0]);
    std::fs::write(file.path(), "{\"title\":\"A\"}\n{\"links\":3}\n").unwrap();
    let error = read_wikispeedia(file.path(), "bee", None)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(":2: ") && error.contains("title, links and text"),
        "{error}"
    );
}

/// Any small graph: scores of nodes, and edges that may be loops and doubles.
fn any_graph() -> impl Strategy<Value = Graph> {
    (2_u32..12).prop_flat_map(|nodes| {
        let beta = proptest::collection::vec(0.0_f32..3.0, nodes as usize);
        let edges = proptest::collection::vec((0..nodes, 0..nodes, 0.0_f32..2.0), 0..40);
        (beta, edges).prop_map(|(beta, edges)| {
            let edges = edges
                .into_iter()
                .map(|(from, to, alpha)| (from, edge(to, alpha)));
            Graph::from_edges(beta, edges.collect()).unwrap().0
        })
    })
}

/// The fixed points of both passes by a dense power iteration.
fn dense_rank(graph: &Graph, crawled: &[NodeId], eta: f64) -> Vec<f64> {
    let nodes = graph.nodes() as usize;
    let is_crawled = |node: NodeId| crawled.contains(&node);
    let (mut backward, mut forward) = (vec![0.0; nodes], vec![0.0; nodes]);
    for pass in [true, false] {
        for _ in 0..2_000 {
            let mut next = vec![0.0; nodes];
            for node in 0..graph.nodes() {
                let at = node as usize;
                next[at] = if pass && is_crawled(node) {
                    let known = graph
                        .out(node)
                        .iter()
                        .filter(|edge| is_crawled(edge.target));
                    let values: Vec<f64> =
                        known.map(|edge| backward[edge.target as usize]).collect();
                    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
                    (1.0 - eta) * f64::from(graph.beta(node)) + eta * mean
                } else if pass {
                    0.0
                } else {
                    let shares = crawled.iter().filter_map(|parent| {
                        let out = graph.out(*parent);
                        let leads = out.iter().any(|edge| edge.target == node);
                        leads.then(|| forward[*parent as usize] / out.len() as f64)
                    });
                    (1.0 - eta) * backward[at] + eta * shares.sum::<f64>()
                };
            }
            if pass {
                backward = next;
            } else {
                forward = next;
            }
        }
    }
    forward
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn opic_neither_makes_nor_loses_cash(graph in any_graph(), scored in any::<bool>()) {
        let mut opic = Opic::new(scored, graph.nodes() as usize);
        let mut known = Known::new(&graph);
        for node in 0..graph.nodes() {
            known.reveal(node);
            opic.crawled(&known, node, &mut Vec::new());
            let (given, there) = opic.balance();
            prop_assert!((given - there).abs() < 1e-9, "{given} {there}");
        }
    }

    #[test]
    fn navigational_rank_is_that_of_a_dense_power_iteration(graph in any_graph(), eta in 0.1_f64..0.9) {
        let nodes = graph.nodes();
        let crawled: Vec<NodeId> = (0..nodes / 2).collect();
        let mut rank = NavigationalRank::new(eta, nodes as usize);
        estimates(&graph, &mut rank, &crawled, [0]);
        let known = Known::new(&graph);
        let dense = dense_rank(&graph, &crawled, eta);
        for node in nodes / 2..nodes {
            let found = rank.estimate(&known, node);
            prop_assert!((found - dense[node as usize]).abs() < 1e-7, "{found} {dense:?}");
        }
    }

    #[test]
    fn least_squares_one_by_one_are_those_of_all_at_once(
        rows in proptest::collection::vec((-2.0_f64..2.0, -2.0_f64..2.0, -3.0_f64..3.0), 1..40),
    ) {
        let ridge = 0.01;
        let mut fit = LeastSquares::<2>::new(ridge);
        let (mut a, mut b, mut c, mut p, mut q) = (ridge, 0.0, ridge, 0.0, 0.0);
        for (x, z, y) in &rows {
            fit.learn(&[*x, *z], *y);
            a += x * x;
            b += x * z;
            c += z * z;
            p += x * y;
            q += z * y;
        }
        // Cramer's rule for (a b; b c) w = (p q).
        let det = a * c - b * b;
        let batch = [(p * c - q * b) / det, (a * q - b * p) / det];
        for (one, all) in fit.weights().iter().zip(batch) {
            prop_assert!((one - all).abs() < 1e-6 * (1.0 + all.abs()), "{one} {all}");
        }
    }

    #[test]
    fn no_crawler_fetches_a_node_twice_and_all_reach_the_same(graph in any_graph(), b in 1_u64..5) {
        let mut reached: Option<Vec<NodeId>> = None;
        for name in crawler_names() {
            let crawler = GraphCrawler::parse(&format!("{name}/b={b}")).unwrap();
            let trace = crawl(&graph, &[0, 1], &crawler, Settings { budget: 100, seed: 7 });
            let mut nodes = trace.nodes;
            nodes.sort_unstable();
            let distinct = nodes.windows(2).all(|pair| pair[0] < pair[1]);
            prop_assert!(distinct && !nodes.contains(&0) && !nodes.contains(&1), "{name}");
            let all = reached.get_or_insert_with(|| nodes.clone());
            prop_assert_eq!(&*all, &nodes, "{}", name);
        }
    }
}
