//! Where a payload lies: the part of a record's value that names it, and the files' names.

use std::path::{Path, PathBuf};

/// First bytes of every segment; the last one is the version.
pub(super) const MAGIC: [u8; 8] = *b"apseg\0\0\x01";

/// Bytes before a payload: its length and CRC-32, both u32.
pub(super) const HEADER_BYTES: usize = 8;

/// Where a payload lies. Length 0: there is none, and `offset` is where the next one would begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) segment: u32,
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) crc: u32,
}

impl Place {
    /// Bytes of a place within a record.
    pub(super) const BYTES: usize = 20;

    /// Where the first payload of a store goes.
    pub(super) const START: Self = Self {
        segment: 1,
        offset: MAGIC.len() as u64,
        length: 0,
        crc: 0,
    };

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.segment.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.offset.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.length.to_le_bytes());
        bytes[16..].copy_from_slice(&self.crc.to_le_bytes());
        bytes
    }

    /// The place at the start of a record's value, and the rest; `None` if it is too short.
    pub(super) fn split(value: &[u8]) -> Option<(Self, &[u8])> {
        let (segment, rest) = value.split_first_chunk::<4>()?;
        let (offset, rest) = rest.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (crc, rest) = rest.split_first_chunk::<4>()?;
        let place = Self {
            segment: u32::from_le_bytes(*segment),
            offset: u64::from_le_bytes(*offset),
            length: u32::from_le_bytes(*length),
            crc: u32::from_le_bytes(*crc),
        };
        Some((place, rest))
    }

    /// The first byte after it.
    pub(super) fn end(self) -> u64 {
        match self.length {
            0 => self.offset,
            length => self
                .offset
                .saturating_add(HEADER_BYTES as u64 + u64::from(length)),
        }
    }

    /// The empty place behind it.
    pub(super) fn after(self) -> Self {
        Self {
            segment: self.segment,
            offset: self.end(),
            length: 0,
            crc: 0,
        }
    }
}

/// The path of a segment.
pub(super) fn path_of(folder: &Path, segment: u32) -> PathBuf {
    folder.join(format!("payload-{segment:06}.seg"))
}

/// The number in a segment's file name; `None` for any other file.
pub(super) fn number_of(name: &str) -> Option<u32> {
    name.strip_prefix("payload-")?
        .strip_suffix(".seg")?
        .parse()
        .ok()
}
