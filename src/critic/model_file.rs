//! Model files.
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

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use prost::Message;
use xxhash_rust::xxh3::xxh3_64;

use crate::critic::model::CriticModel;
use crate::critic::record::{from_record, to_record};
use crate::proto::v1;

const MAGIC: &[u8; 8] = b"APPRCRIT";
/// The format that is written, and the newest that is read.
const FORMAT: u32 = 1;
const HEAD_BYTES: usize = 28;
const TAIL_BYTES: usize = 8;
/// The longest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// The longest record that is unpacked.
const RECORD_BYTES_MAX: u64 = 1 << 31;
/// Deflate packs no better than this (258 bytes in two bits), so nothing can unpack to more.
const UNPACKED_RATIO_MAX: u64 = 1_032;

/// Why a model file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ModelFileError {
    /// The file system refused to read.
    #[error("{}: cannot be read: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// The file system refused to write; what was there before is unharmed.
    #[error("{}: cannot be written: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// Something else than a model.
    #[error(
        "{}: not a model file; `apprentice critic train --out MODEL` makes one",
        .path.display()
    )]
    NotAModel {
        /// The file.
        path: PathBuf,
    },
    /// Made by a later program.
    #[error(
        "{}: format {format} of model files, this program reads up to {FORMAT}; \
         update it or train again",
        .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// What the file says.
        format: u32,
    },
    /// The end is missing.
    #[error(
        "{}: truncated: {bytes} bytes of {wanted}; copy it again or train again",
        .path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// What there is.
        bytes: u64,
        /// What there should be.
        wanted: u64,
    },
    /// Bytes were changed.
    #[error("{}: damaged ({problem}); copy it again or train again", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How that is known.
        problem: String,
    },
    /// Larger than is read.
    #[error("{}: {bytes} bytes; model files have at most {FILE_BYTES_MAX}", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
}

impl CriticModel {
    /// Writes the model to `path`: beside it first, then synced and renamed, so that a reader sees
    /// the old file or the new one and nothing between.
    pub fn save(&self, path: &Path) -> Result<(), ModelFileError> {
        let write = |source| ModelFileError::Write {
            path: path.to_owned(),
            source,
        };
        let bytes = self.to_bytes().map_err(write)?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.new", std::process::id()));
        let beside = path.with_file_name(name);
        let written = write_durably(&beside, path, &bytes);
        if written.is_err() {
            // Nothing is lost with it, and the first error is the one that matters.
            let _ = fs::remove_file(&beside);
        }
        written.map_err(write)
    }

    /// Reads the model at `path`.
    pub fn open(path: &Path) -> Result<Self, ModelFileError> {
        let read = |source| ModelFileError::Read {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(read)?;
        let bytes = file.metadata().map_err(read)?.len();
        if bytes > FILE_BYTES_MAX {
            return Err(ModelFileError::TooLarge {
                path: path.to_owned(),
                bytes,
            });
        }
        let mut content = Vec::new();
        file.take(FILE_BYTES_MAX)
            .read_to_end(&mut content)
            .map_err(read)?;
        Self::from_bytes(&content, path)
    }

    /// The content of a model file.
    ///
    /// # Errors
    /// If the model is larger than a file may be.
    pub fn to_bytes(&self) -> std::io::Result<Vec<u8>> {
        let record = to_record(self).encode_to_vec();
        if record.len() as u64 > RECORD_BYTES_MAX {
            return Err(std::io::Error::other("the model is too large for a file"));
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend(FORMAT.to_le_bytes());
        // The packed length is filled in when it is known.
        bytes.extend([0; 8]);
        bytes.extend((record.len() as u64).to_le_bytes());
        let mut packer = ZlibEncoder::new(bytes, Compression::default());
        packer.write_all(&record)?;
        let mut bytes = packer.finish()?;
        let packed = (bytes.len() - HEAD_BYTES) as u64;
        bytes[12..20].copy_from_slice(&packed.to_le_bytes());
        let checksum = xxh3_64(&bytes);
        bytes.extend(checksum.to_le_bytes());
        Ok(bytes)
    }

    /// The model in the content of a model file; `path` is its name in errors.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, ModelFileError> {
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
        let record = v1::CriticRecord::decode(record.as_slice())
            .map_err(|error| damaged(error.to_string()))?;
        from_record(record).map_err(damaged)
    }
}

/// Checks what surrounds the record; gives the packed record and its unpacked length.
fn check_frame<'a>(bytes: &'a [u8], path: &Path) -> Result<(&'a [u8], u64), ModelFileError> {
    let path = || path.to_owned();
    if !bytes.starts_with(MAGIC) {
        return Err(ModelFileError::NotAModel { path: path() });
    }
    let truncated = |wanted| ModelFileError::Truncated {
        path: path(),
        bytes: bytes.len() as u64,
        wanted,
    };
    let Some(format) = bytes.get(8..12).and_then(|field| field.try_into().ok()) else {
        return Err(truncated((HEAD_BYTES + TAIL_BYTES) as u64));
    };
    let format = u32::from_le_bytes(format);
    if format > FORMAT {
        return Err(ModelFileError::Newer {
            path: path(),
            format,
        });
    }
    let (Some(packed), Some(unpacked)) = (number(bytes, 12), number(bytes, 20)) else {
        return Err(truncated((HEAD_BYTES + TAIL_BYTES) as u64));
    };
    let wanted = packed.saturating_add((HEAD_BYTES + TAIL_BYTES) as u64);
    if (bytes.len() as u64) < wanted {
        return Err(truncated(wanted));
    }
    let damaged = |problem: &str| ModelFileError::Damaged {
        path: path(),
        problem: problem.to_owned(),
    };
    if bytes.len() as u64 > wanted {
        return Err(damaged("it is longer than it says"));
    }
    let (before, checksum) = bytes.split_at(bytes.len() - TAIL_BYTES);
    if number(checksum, 0) != Some(xxh3_64(before)) {
        return Err(damaged("its checksum is another"));
    }
    if format == 0 {
        return Err(damaged("format 0"));
    }
    Ok((&before[HEAD_BYTES..], unpacked))
}

/// The 8 bytes from `start` on as a number.
fn number(bytes: &[u8], start: usize) -> Option<u64> {
    let field = bytes.get(start..start + 8)?;
    Some(u64::from_le_bytes(field.try_into().ok()?))
}

fn write_durably(beside: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    fs::rename(beside, path)?;
    // The rename itself is durable once the folder is.
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
