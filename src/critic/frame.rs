//! What surrounds a packed record in a file: magic, format, lengths, the deflated record, checksum.
//!
//! [`packed_file`](super::packed_file) has the table of it.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use xxhash_rust::xxh3::xxh3_64;

use super::model_file::number;

const HEAD_BYTES: usize = 28;
const TAIL_BYTES: usize = 8;
/// What a file without a record would have.
pub(crate) const BYTES_MIN: u64 = (HEAD_BYTES + TAIL_BYTES) as u64;
/// Deflate packs no better than this (258 bytes in two bits), so nothing can unpack to more.
const UNPACKED_RATIO_MAX: u64 = 1_032;

/// Why there is no record in a file.
#[derive(Debug)]
pub(crate) enum FrameError {
    /// It should have this many bytes.
    Truncated(u64),
    /// In words.
    Damaged(String),
}

/// The content of a file that holds `record`.
pub(crate) fn pack(
    magic: &[u8],
    format: u32,
    record: &[u8],
    level: Compression,
) -> io::Result<Vec<u8>> {
    let mut bytes = magic.to_vec();
    bytes.extend(format.to_le_bytes());
    // The packed length is filled in when it is known.
    bytes.extend([0; 8]);
    bytes.extend((record.len() as u64).to_le_bytes());
    let mut packer = ZlibEncoder::new(bytes, level);
    packer.write_all(record)?;
    let mut bytes = packer.finish()?;
    let packed = (bytes.len() - HEAD_BYTES) as u64;
    bytes[12..20].copy_from_slice(&packed.to_le_bytes());
    let checksum = xxh3_64(&bytes);
    bytes.extend(checksum.to_le_bytes());
    Ok(bytes)
}

/// The record in the content of a file, of at most `record_bytes_max` bytes.
pub(crate) fn unpack(bytes: &[u8], record_bytes_max: u64) -> Result<Vec<u8>, FrameError> {
    let damaged = |problem: String| FrameError::Damaged(problem);
    let (Some(packed), Some(unpacked)) = (number(bytes, 12), number(bytes, 20)) else {
        return Err(FrameError::Truncated(BYTES_MIN));
    };
    let wanted = packed.saturating_add(BYTES_MIN);
    if (bytes.len() as u64) < wanted {
        return Err(FrameError::Truncated(wanted));
    }
    if bytes.len() as u64 > wanted {
        return Err(damaged("it is longer than it says".to_owned()));
    }
    let (before, checksum) = bytes.split_at(bytes.len() - TAIL_BYTES);
    if number(checksum, 0) != Some(xxh3_64(before)) {
        return Err(damaged("its checksum is another".to_owned()));
    }
    let packed = &before[HEAD_BYTES..];
    if unpacked > record_bytes_max
        || unpacked > (packed.len() as u64).saturating_mul(UNPACKED_RATIO_MAX)
    {
        return Err(damaged(format!("it claims to hold {unpacked} bytes")));
    }
    let mut record = Vec::new();
    // One byte more than claimed shows a record that is longer than that.
    ZlibDecoder::new(packed)
        .take(unpacked + 1)
        .read_to_end(&mut record)
        .map_err(|error| damaged(error.to_string()))?;
    if record.len() as u64 != unpacked {
        return Err(damaged(format!("it does not hold {unpacked} bytes")));
    }
    Ok(record)
}
