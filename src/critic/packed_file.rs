//! The packed layout of model files (format 1): counts alone, deflated.
//!
//! A file is, numbers being little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `APPRCRIT` |
//! | 4 | version of the format, 1 |
//! | 8 | length of the record, packed |
//! | 8 | length of the record, unpacked |
//! | n | the record: `CriticRecord` of model.proto, packed with deflate |
//! | 8 | XXH3 (64 bits) of everything before |
//!
//! Counts are varints over gaps, in the order of the terms.

use std::io::{Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use prost::Message;
use xxhash_rust::xxh3::xxh3_64;

use crate::critic::model::CriticModel;
use crate::critic::model_file::{MAGIC, ModelFileError, number};
use crate::critic::record::{from_record, to_record};
use crate::proto::v1;

pub(super) const FORMAT: u32 = 1;
const HEAD_BYTES: usize = 28;
const TAIL_BYTES: usize = 8;
/// What a file without a record would have.
pub(super) const BYTES_MIN: u64 = (HEAD_BYTES + TAIL_BYTES) as u64;
/// The longest record that is unpacked.
const RECORD_BYTES_MAX: u64 = 1 << 31;
/// Deflate packs no better than this (258 bytes in two bits), so nothing can unpack to more.
const UNPACKED_RATIO_MAX: u64 = 1_032;

/// The content of a file that holds `model`.
pub(super) fn write(model: &CriticModel) -> std::io::Result<Vec<u8>> {
    let record = to_record(model).encode_to_vec();
    if record.len() as u64 > RECORD_BYTES_MAX {
        return Err(std::io::Error::other("the model is too large for a file"));
    }
    let mut bytes = MAGIC.to_vec();
    bytes.extend(FORMAT.to_le_bytes());
    // The packed length is filled in when it is known.
    bytes.extend([0; 8]);
    bytes.extend((record.len() as u64).to_le_bytes());
    let mut packer = ZlibEncoder::new(bytes, Compression::best());
    packer.write_all(&record)?;
    let mut bytes = packer.finish()?;
    let packed = (bytes.len() - HEAD_BYTES) as u64;
    bytes[12..20].copy_from_slice(&packed.to_le_bytes());
    let checksum = xxh3_64(&bytes);
    bytes.extend(checksum.to_le_bytes());
    Ok(bytes)
}

/// The model in the content of a file.
pub(super) fn read(bytes: &[u8], path: &Path) -> Result<CriticModel, ModelFileError> {
    let damaged = |problem: String| ModelFileError::Damaged {
        path: path.to_owned(),
        problem,
    };
    let (packed, unpacked) = check_frame(bytes, path)?;
    if unpacked > RECORD_BYTES_MAX
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
    let record =
        v1::CriticRecord::decode(record.as_slice()).map_err(|error| damaged(error.to_string()))?;
    from_record(record).map_err(damaged)
}

/// Checks what surrounds the record; gives the packed record and its unpacked length.
fn check_frame<'a>(bytes: &'a [u8], path: &Path) -> Result<(&'a [u8], u64), ModelFileError> {
    let truncated = |wanted| ModelFileError::Truncated {
        path: path.to_owned(),
        bytes: bytes.len() as u64,
        wanted,
    };
    let (Some(packed), Some(unpacked)) = (number(bytes, 12), number(bytes, 20)) else {
        return Err(truncated(BYTES_MIN));
    };
    let wanted = packed.saturating_add(BYTES_MIN);
    if (bytes.len() as u64) < wanted {
        return Err(truncated(wanted));
    }
    let damaged = |problem: &str| ModelFileError::Damaged {
        path: path.to_owned(),
        problem: problem.to_owned(),
    };
    if bytes.len() as u64 > wanted {
        return Err(damaged("it is longer than it says"));
    }
    let (before, checksum) = bytes.split_at(bytes.len() - TAIL_BYTES);
    if number(checksum, 0) != Some(xxh3_64(before)) {
        return Err(damaged("its checksum is another"));
    }
    Ok((&before[HEAD_BYTES..], unpacked))
}
