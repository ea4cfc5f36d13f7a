//! How does it survive a crash? Numbered records, payload segments, groups, schema version.
//!
//! Knows nobody's records: it keeps byte strings under rising numbers, each with an optional
//! payload. Small records live in a sled tree, payloads in append-only segment files beside it
//! (docs/decisions/0002), and the record names its payload's place and checksum.
//!
//! # The life of a group
//! [`Store::commit`] writes the payloads to the segment and syncs it, then the records in sled
//! transactions and flushes sled, then the number of the last one to the file `flushed`. So at every
//! instant the records on disk are a prefix of what was committed, every record's payload is on
//! disk before the record is, and a sled that comes back with less than was flushed is noticed.
//!
//! # Opening
//! Takes the folder's lock, mends what a kill leaves (a half-written snapshot of sled's, a tail of
//! the segment that no record names) and refuses what it must not touch: see [`OpenError`].
//! docs/store.md has the layout to the byte.

mod database;
mod error;
mod flushed;
mod line_file;
mod log;
mod open;
mod place;
#[cfg(test)]
mod process_tests;
mod segment_reader;
mod segments;
mod space;
#[cfg(test)]
mod tests;

pub use error::{OpenError, StoreError};
pub(crate) use line_file::LineFile;
pub use log::{Entry, Store};
pub use open::StoreOptions;
pub(crate) use space::free_bytes;
