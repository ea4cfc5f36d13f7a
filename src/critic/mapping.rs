//! A file in memory as it lies on the disk.
#![allow(
    unsafe_code,
    reason = "mapping a file is unsafe, since another process may change or cut it meanwhile; see Mapping"
)]

use std::fs::File;
use std::ops::Deref;

/// A file mapped into memory, read only.
///
/// The map shows the file that was opened, whatever its name stands for later: a file that is
/// written beside it and renamed over it (as models are saved) changes nothing here. One that is
/// written in place would change under the eyes of the judge, whose verdicts would then be wrong, and
/// one that is cut in place ends the process with SIGBUS. Nothing in this program does either; a
/// crawl maps a copy of its own that lies in its data directory.
#[derive(Debug)]
pub(super) struct Mapping(memmap2::Mmap);

impl Mapping {
    pub(super) fn of(file: &File) -> std::io::Result<Self> {
        // SAFETY: the bytes are read as bytes and f32 only, for which any content is valid; that
        // they stay as they are is what the comment above is about.
        unsafe { memmap2::Mmap::map(file) }.map(Self)
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
