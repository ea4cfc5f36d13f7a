//! Model files: written, opened, told apart.
//!
//! Two formats, both whole models with a checksum. Packed ([`packed_file`], format 1) is
//! small: for handing on. Mapped ([`mapped_file`], format 2) holds the
//! weights as the judge uses them and is read in place: for starting at once. Both begin with
//! `APPRCRIT` and the number of the format, 4 bytes, little-endian.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::critic::mapping::Mapping;
use crate::critic::model::CriticModel;
use crate::critic::{frame, mapped_file, packed_file};

/// What a model file begins with.
pub(crate) const MAGIC: &[u8; 8] = b"APPRCRIT";
/// The newest format that is read.
const FORMAT_MAX: u32 = mapped_file::FORMAT;
/// The longest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// How a model is laid out in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Weights as they are judged with, mapped into memory when the file is opened.
    #[default]
    Mapped,
    /// Counts alone, deflated: a tenth of the size or less; the weights are derived anew.
    Packed,
}

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
        "{}: format {format} of model files, this program reads up to {FORMAT_MAX}; \
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
    /// the old file or the new one and nothing between, and one who has the old file mapped keeps it.
    pub fn save(&self, path: &Path) -> Result<(), ModelFileError> {
        self.save_as(path, Layout::default())
    }

    /// Writes the model in a layout of one's choice; else as [`CriticModel::save`].
    pub fn save_as(&self, path: &Path, layout: Layout) -> Result<(), ModelFileError> {
        let write = |source| ModelFileError::Write {
            path: path.to_owned(),
            source,
        };
        let bytes = self.to_bytes_as(layout).map_err(write)?;
        write_beside(path, &bytes).map_err(write)
    }

    /// Reads the model at `path`; one in the mapped layout is read in place, and the file must not
    /// be changed in place as long as the model lives ([`CriticModel::save`] never does that).
    pub fn open(path: &Path) -> Result<Self, ModelFileError> {
        let read = |source| ModelFileError::Read {
            path: path.to_owned(),
            source,
        };
        let mut file = File::open(path).map_err(read)?;
        let bytes = file.metadata().map_err(read)?.len();
        if bytes > FILE_BYTES_MAX {
            return Err(ModelFileError::TooLarge {
                path: path.to_owned(),
                bytes,
            });
        }
        let mut head = Vec::new();
        Read::by_ref(&mut file)
            .take(mapped_file::HEAD_BYTES as u64)
            .read_to_end(&mut head)
            .map_err(read)?;
        if format_of(&head, path)? == mapped_file::FORMAT {
            let mapping = Arc::new(Mapping::of(&file).map_err(read)?);
            return mapped_file::read(&mapping, Some(&mapping), path);
        }
        let mut content = head;
        file.take(FILE_BYTES_MAX)
            .read_to_end(&mut content)
            .map_err(read)?;
        Self::from_bytes(&content, path)
    }

    /// The content of a model file in the packed layout.
    ///
    /// # Errors
    /// If the model is larger than a file may be.
    pub fn to_bytes(&self) -> std::io::Result<Vec<u8>> {
        self.to_bytes_as(Layout::Packed)
    }

    /// The content of a model file.
    pub(super) fn to_bytes_as(&self, layout: Layout) -> std::io::Result<Vec<u8>> {
        match layout {
            Layout::Mapped => mapped_file::write(self),
            Layout::Packed => packed_file::write(self),
        }
    }

    /// The model in the content of a model file; `path` is its name in errors.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, ModelFileError> {
        if format_of(bytes, path)? == mapped_file::FORMAT {
            mapped_file::read(bytes, None, path)
        } else {
            packed_file::read(bytes, path)
        }
    }
}

/// The format that the first bytes of a file name.
fn format_of(bytes: &[u8], path: &Path) -> Result<u32, ModelFileError> {
    let path = || path.to_owned();
    if !bytes.starts_with(MAGIC) {
        return Err(ModelFileError::NotAModel { path: path() });
    }
    let Some(format) = bytes.get(8..12).and_then(|field| field.try_into().ok()) else {
        return Err(ModelFileError::Truncated {
            path: path(),
            bytes: bytes.len() as u64,
            wanted: frame::BYTES_MIN,
        });
    };
    match u32::from_le_bytes(format) {
        0 => Err(ModelFileError::Damaged {
            path: path(),
            problem: "format 0".to_owned(),
        }),
        format if format > FORMAT_MAX => Err(ModelFileError::Newer {
            path: path(),
            format,
        }),
        format => Ok(format),
    }
}

/// The 8 bytes from `start` on as a number.
pub(super) fn number(bytes: &[u8], start: usize) -> Option<u64> {
    let field = bytes.get(start..start.checked_add(8)?)?;
    Some(u64::from_le_bytes(field.try_into().ok()?))
}

/// Writes a file beside `path`, then renames it.
pub(crate) fn write_beside(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(name);
    let written = write_durably(&beside, path, bytes);
    if written.is_err() {
        // Nothing is lost with it, and the first error is the one that matters.
        let _ = fs::remove_file(&beside);
    }
    written
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
