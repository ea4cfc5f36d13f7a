//! Graphs that are generated or read.

use super::*;

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
