//! A crawler of graphs of your own: an estimator, run beside the oracle on a generated graph.
//!
//! The lab's pages have a trait of their own, `LinkScorer`: it scores the links of a page when the
//! page is read, while an [`Estimator`] is told of every crawled node and says whose worth changed.
//!
//!     cargo run --release --example own_scorer

use std::io::{self, Write};

use apprentice::lab::graph::{
    Estimator, GraphCrawler, GraphParams, Known, NodeId, Settings, crawl, crawl_with, generate,
};

/// The best parent, where `fl_n` has the sum over all of them.
struct BestParent(Vec<f64>);

impl Estimator for BestParent {
    fn crawled(&mut self, known: &Known<'_>, node: NodeId, changed: &mut Vec<NodeId>) {
        let beta = known.beta(node);
        for edge in known.out(node) {
            let best = &mut self.0[edge.target as usize];
            *best = best.max(beta);
            changed.push(edge.target);
        }
    }

    fn estimate(&self, _: &Known<'_>, node: NodeId) -> f64 {
        self.0[node as usize]
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (graph, _) = generate(&GraphParams::default())?;
    let seeds: Vec<NodeId> = graph.scored().into_iter().take(50).collect();
    let settings = Settings {
        budget: 1000,
        seed: 0,
    };
    let own = BestParent(vec![0.0; graph.nodes() as usize]);
    let own = crawl_with(&graph, &seeds, Box::new(own), settings).score(1000);
    writeln!(io::stdout(), "best parent {own:.0}")?;
    for name in ["bfs", "fl_n", "oracle"] {
        let crawler = GraphCrawler::parse(name)?;
        let score = crawl(&graph, &seeds, &crawler, settings).score(1000);
        writeln!(io::stdout(), "{name} {score:.0}")?;
    }
    Ok(())
}
