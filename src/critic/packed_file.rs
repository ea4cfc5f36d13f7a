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

use std::path::Path;

use flate2::Compression;
use prost::Message;

use crate::critic::frame::{self, FrameError};
use crate::critic::model::CriticModel;
use crate::critic::model_file::{MAGIC, ModelFileError};
use crate::critic::record::{from_record, to_record};
use crate::proto::v1;

pub(super) const FORMAT: u32 = 1;
/// The longest record that is unpacked.
const RECORD_BYTES_MAX: u64 = 1 << 31;
/// The content of a file that holds `model`.
pub(super) fn write(model: &CriticModel) -> std::io::Result<Vec<u8>> {
    let record = to_record(model).encode_to_vec();
    if record.len() as u64 > RECORD_BYTES_MAX {
        return Err(std::io::Error::other("the model is too large for a file"));
    }
    frame::pack(MAGIC, FORMAT, &record, Compression::best())
}

/// The model in the content of a file.
pub(super) fn read(bytes: &[u8], path: &Path) -> Result<CriticModel, ModelFileError> {
    let damaged = |problem: String| ModelFileError::Damaged {
        path: path.to_owned(),
        problem,
    };
    let record = frame::unpack(bytes, RECORD_BYTES_MAX).map_err(|error| match error {
        FrameError::Truncated(wanted) => ModelFileError::Truncated {
            path: path.to_owned(),
            bytes: bytes.len() as u64,
            wanted,
        },
        FrameError::Damaged(problem) => damaged(problem),
    })?;
    let record =
        v1::CriticRecord::decode(record.as_slice()).map_err(|error| damaged(error.to_string()))?;
    from_record(record).map_err(damaged)
}
