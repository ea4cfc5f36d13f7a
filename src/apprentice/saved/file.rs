//! The file of a saved apprentice.
//!
//! | bytes | what (numbers are little-endian) |
//! |---|---|
//! | 8 | `APPRSAVE` |
//! | 4 | version of the format, 1 |
//! | 8 | length of the record, packed |
//! | 8 | length of the record, unpacked |
//! | n | the record: `SavedApprentice` of saved.proto, packed with deflate |
//! | 8 | XXH3 (64 bits) of everything before |

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::Compression;
use prost::Message;

use super::{SavedApprentice, record};
use crate::critic::frame::{self, FrameError};
use crate::critic::{MODEL_MAGIC, write_beside};
use crate::features::FEATURES_VERSION;
use crate::proto::v1;

const MAGIC: &[u8; 8] = b"APPRSAVE";
/// The format that is written, and the newest one that is read.
const FORMAT: u32 = 1;
const HEAD_BYTES: usize = 28;
const TAIL_BYTES: usize = 8;
/// The longest record: 2 million features of naive Bayes and 4 million slots are some 100 MB.
const RECORD_BYTES_MAX: u64 = 256 << 20;
/// The longest file that is read.
const FILE_BYTES_MAX: u64 = RECORD_BYTES_MAX;
/// Why a saved apprentice could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
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
    /// Something else.
    #[error(
        "{}: not a saved apprentice; `apprentice crawl export-apprentice` makes one",
        .path.display()
    )]
    NotSaved {
        /// The file.
        path: PathBuf,
    },
    /// A critic.
    #[error(
        "{}: a critic, not a saved apprentice; a critic is given with --critic",
        .path.display()
    )]
    Critic {
        /// The file.
        path: PathBuf,
    },
    /// Made by a later program.
    #[error(
        "{}: format {format} of saved apprentices, this program reads up to {FORMAT}; update it",
        .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// What the file says.
        format: u32,
    },
    /// Its features mean something else here.
    #[error(
        "{}: its features are of version {version}, those of this program of version \
         {FEATURES_VERSION}: they do not mean the same; train it again, by this program \
         (--instances-of CRAWL)",
        .path.display()
    )]
    Features {
        /// The file.
        path: PathBuf,
        /// What the file says.
        version: u32,
    },
    /// The end is missing.
    #[error("{}: truncated: {bytes} bytes of {wanted}; copy or export it again", .path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// What there is.
        bytes: u64,
        /// What there should be.
        wanted: u64,
    },
    /// Bytes were changed.
    #[error("{}: damaged ({problem}); copy or export it again", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How that is known.
        problem: String,
    },
    /// Larger than is read.
    #[error("{}: {bytes} bytes; saved apprentices have at most {FILE_BYTES_MAX}", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
}

impl SavedApprentice {
    /// Writes it to `path`: beside it first, then synced and renamed, so that a reader sees the old file or
    /// the new one and nothing between.
    pub fn save(&self, path: &Path) -> Result<(), SavedError> {
        let write = |source| SavedError::Write {
            path: path.to_owned(),
            source,
        };
        write_beside(path, &self.to_bytes().map_err(write)?).map_err(write)
    }

    /// Reads the file at `path`.
    pub fn open(path: &Path) -> Result<Self, SavedError> {
        Self::from_bytes(&Self::read(path)?, path)
    }

    /// The bytes of the file at `path`, unless there are too many; what they are is not looked at.
    pub fn read(path: &Path) -> Result<Vec<u8>, SavedError> {
        let refused = |source| SavedError::Read {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(refused)?;
        let bytes = file.metadata().map_err(refused)?.len();
        if bytes > FILE_BYTES_MAX {
            return Err(SavedError::TooLarge {
                path: path.to_owned(),
                bytes,
            });
        }
        let mut content = Vec::new();
        file.take(FILE_BYTES_MAX)
            .read_to_end(&mut content)
            .map_err(refused)?;
        Ok(content)
    }

    /// The content of its file.
    ///
    /// # Errors
    /// If it is larger than a file may be.
    pub fn to_bytes(&self) -> std::io::Result<Vec<u8>> {
        let record = record::to_record(self).encode_to_vec();
        if record.len() as u64 > RECORD_BYTES_MAX {
            return Err(std::io::Error::other(
                "the apprentice is too large for a file",
            ));
        }
        frame::pack(MAGIC, FORMAT, &record, Compression::default())
    }

    /// The apprentice in the content of a file; `path` is its name in errors.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, SavedError> {
        check_format(bytes, path)?;
        let record = unpacked(bytes, path)?;
        let damaged = |problem: String| SavedError::Damaged {
            path: path.to_owned(),
            problem,
        };
        let record = v1::SavedApprentice::decode(record.as_slice())
            .map_err(|error| damaged(error.to_string()))?;
        if record.features_version != FEATURES_VERSION {
            return Err(SavedError::Features {
                path: path.to_owned(),
                version: record.features_version,
            });
        }
        record::from_record(record).map_err(damaged)
    }
}

fn check_format(bytes: &[u8], path: &Path) -> Result<(), SavedError> {
    let path = || path.to_owned();
    if bytes.starts_with(MODEL_MAGIC) {
        return Err(SavedError::Critic { path: path() });
    }
    if !bytes.starts_with(MAGIC) {
        return Err(SavedError::NotSaved { path: path() });
    }
    match bytes.get(8..12).and_then(|field| field.try_into().ok()) {
        None => Err(SavedError::Truncated {
            path: path(),
            bytes: bytes.len() as u64,
            wanted: (HEAD_BYTES + TAIL_BYTES) as u64,
        }),
        Some(field) => match u32::from_le_bytes(field) {
            0 => Err(SavedError::Damaged {
                path: path(),
                problem: "format 0".to_owned(),
            }),
            format if format > FORMAT => Err(SavedError::Newer {
                path: path(),
                format,
            }),
            _ => Ok(()),
        },
    }
}

/// The record of a file whose frame is whole.
fn unpacked(bytes: &[u8], path: &Path) -> Result<Vec<u8>, SavedError> {
    frame::unpack(bytes, RECORD_BYTES_MAX).map_err(|error| match error {
        FrameError::Truncated(wanted) => SavedError::Truncated {
            path: path.to_owned(),
            bytes: bytes.len() as u64,
            wanted,
        },
        FrameError::Damaged(problem) => SavedError::Damaged {
            path: path.to_owned(),
            problem,
        },
    })
}
