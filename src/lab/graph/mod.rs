//! Graphs as a second kind of world, and the crawlers of Gouriten, Maniu, Senellart: Scalable,
//! generic, and adaptive systems for focused crawling (HT 2014).
//!
//! A [`Graph`] has a score at each node (beta, seen once the node is crawled) and at each edge (alpha,
//! seen once its source is crawled). A crawl adds up the beta of what it fetches; that sum is never
//! turned into L(n), since beta has no upper end. An [`Estimator`] says what a waiting node is worth
//! from what is [`Known`]; adding one is a file with the estimator and a line in `roster.rs`.

mod archive;
mod bandit;
mod bfs;
mod contest;
mod crawl;
mod duels;
mod estimator;
mod first_level;
mod generate;
mod known;
mod least_squares;
mod model;
mod nr;
mod opic;
mod oracle;
mod page;
mod precision;
mod queue;
mod regression;
mod report;
mod roster;
mod second_level;
mod tables;
mod wikispeedia;
mod world;

pub use archive::{ArchiveGraphError, Worth, read_archive};
pub use bandit::{Bandit, Policy};
pub use contest::{GraphContest, GraphContestError, GraphEntry, GraphWatch, run, run_kept};
pub use crawl::{Settings, Steering, Trace, crawl, crawl_with};
pub use duels::{GraphDuel, graph_duels};
pub use estimator::Estimator;
pub use generate::{GraphParams, GraphParamsError, generate};
pub use known::Known;
pub use least_squares::LeastSquares;
pub use model::{Dropped, Edge, Graph, GraphSizeError, NodeId};
pub use page::{graph_page, write_page};
pub use precision::{Agreement, Precision, precision};
pub use report::{GraphShown, GraphSummary, global_scores, notes, write, write_precision};
pub use roster::{GraphCrawler, arm_names, crawler_names};
pub use tables::{GraphTableError, read_tables};
pub use wikispeedia::{WikispeediaError, read_wikispeedia};
pub use world::{GraphSource, GraphWorld, SourceFile};

#[cfg(test)]
mod tests;
