//! Every estimator on a hand-made graph, with numbers worked out by hand, and what always holds.

mod contests;
mod worlds;

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
use contests::contest;

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
