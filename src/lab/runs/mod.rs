//! Many independent runs: done by workers, kept in a folder, taken up again.

mod folder;
mod pool;
mod record;

pub use folder::{RunFolder, RunFolderError};
pub(in crate::lab) use pool::work;
pub(in crate::lab) use record::RunRecord;
