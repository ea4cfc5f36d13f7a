//! Would another crawler have done better? Archives replayed, crawlers side by side, reports.

mod begin;
mod by_words;
mod contest;
mod crawler;
pub mod experiment;
pub mod graph;
mod html;
mod labels;
mod mean_curves;
pub mod measures;
mod neighbours;
mod page;
mod pool_ranks;
mod replay;
pub mod report;
mod runs;
mod shelf;
mod sources;
mod start;
pub mod study;
pub mod toyweb;
mod web_graph;

pub use begin::{Begin, BeginError, Begun};
pub use by_words::SharkParams;
pub use contest::{
    Bench, ContestError, ContestSpec, Held, Keywords, SEEDS_A_SET, Setting, Watch, run, run_all,
};
pub use crawler::{Crawler, Guide};
pub use labels::{Labels, LabelsError, TableJudge};
pub use page::{About, Shown, contest_page, write_page};
pub use pool_ranks::{PoolRanks, pool_ranks, write_pool_ranks};
pub use replay::{Entry, Fetched};
pub use report::{ReportError, Summary};
pub use runs::{RunFolder, RunFolderError};
pub use shelf::ArchiveShelf;
pub use sources::{DigestError, Digests};
pub use start::Start;
