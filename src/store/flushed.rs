//! The file `flushed`: the number of the last record that is known to be on disk.
//!
//! sled takes whatever it cannot read at the end of its log for a write that a crash cut short, and
//! goes on without it. That is right for a torn tail and wrong for a damaged file: this number tells
//! the two apart.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Name of the file within the store.
pub(super) const FILE_NAME: &str = "flushed";

/// Number, then CRC-32 of the number, both little-endian.
const BYTES: usize = 12;

/// The open file.
pub(super) struct FlushedMark {
    file: File,
}

impl FlushedMark {
    /// Opens or creates the mark; the number that it holds, or `None` if it is new or torn.
    pub(super) fn open(folder: &Path) -> io::Result<(Self, Option<u64>)> {
        let path = folder.join(FILE_NAME);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let mut bytes = [0; BYTES];
        let number = match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => parse(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(error) => return Err(error),
        };
        Ok((Self { file }, number))
    }

    /// Writes the number; on disk when this returns.
    pub(super) fn set(&self, number: u64) -> io::Result<()> {
        let number = number.to_le_bytes();
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&number);
        bytes[8..].copy_from_slice(&crc32fast::hash(&number).to_le_bytes());
        // 12 bytes at the start of a sector: written whole or not at all on any real disk.
        self.file.write_all_at(&bytes, 0)?;
        self.file.sync_data()
    }
}

fn parse(bytes: [u8; BYTES]) -> Option<u64> {
    let (number, crc) = bytes.split_first_chunk::<8>()?;
    let matches = crc32fast::hash(number).to_le_bytes() == *crc;
    matches.then_some(u64::from_le_bytes(*number))
}
