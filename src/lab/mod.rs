//! Would another crawler have done better? Archives replayed, crawlers side by side, reports.

mod contest;
mod crawler;
pub mod graph;
mod labels;
mod replay;
pub mod report;
mod shelf;
mod start;
pub mod study;
pub mod toyweb;

pub use contest::{Begin, Bench, ContestError, ContestSpec, SEEDS_A_SET, run};
pub use crawler::Crawler;
pub use labels::{Labels, LabelsError, TableJudge};
pub use replay::{Entry, Fetched};
pub use report::{ReportError, Summary};
pub use shelf::ArchiveShelf;
pub use start::Start;
