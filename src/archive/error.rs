//! What can go wrong with an archive, with the file and the byte where it did.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::limits::{HEADER_COUNT_MAX, LINE_BYTES_MAX, RECORD_BYTES_MAX};

/// Why an archive cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// No file was named.
    #[error("no archive file given; name at least one .warc or .warc.gz file")]
    NoFiles,
    /// More files than an index numbers.
    #[error("{0} archive files; at most 65,535 are read as one archive")]
    TooManyFiles(usize),
    /// The file cannot be opened.
    #[error("cannot open archive {}: {cause}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The file has no record that can be read.
    #[error(
        "{} is no WARC archive: {flaw}; give a .warc or .warc.gz file (WARC 1.0 or 1.1)",
        path.display()
    )]
    NotWarc {
        /// The file.
        path: PathBuf,
        /// What stands at its beginning instead.
        flaw: Flaw,
    },
    /// The file was begun by another program, or is no archive.
    #[error(
        "{}: {flaw}; the file is left as it is: name a new one to write to",
        path.display()
    )]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What stands at its beginning.
        flaw: Flaw,
    },
    /// Whole records follow a damaged one: no torn end that could be cut off.
    #[error(
        "{damage}; whole records follow it from byte {next}, so that nothing is written to this file; move it away"
    )]
    Damaged {
        /// The damaged place.
        damage: Damage,
        /// Where the next whole record begins.
        next: u64,
    },
    /// A record cannot be read again.
    #[error("{0}; was the file changed after it was opened?")]
    Record(Damage),
    /// Writing failed; the file was cut back to its last whole record where that was possible.
    #[error("cannot {action} archive {}: {cause}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// The file is shorter than the length at which writing was to go on.
    #[error(
        "archive {} has {found} bytes, {expected} were written before; it was cut or replaced",
        path.display()
    )]
    Shortened {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        found: u64,
        /// The length that it had in bytes.
        expected: u64,
    },
}

/// A place in an archive that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// The byte of the file at which the record begins (with gzip: the member that it begins in).
    pub offset: u64,
    /// What is wrong there.
    pub flaw: Flaw,
}

impl Damage {
    pub(super) fn new(path: &Path, offset: u64, flaw: Flaw) -> Self {
        Self {
            path: path.to_path_buf(),
            offset,
            flaw,
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, offset, flaw } = self;
        write!(f, "archive {}, byte {offset}: {flaw}", path.display())
    }
}

impl serde::Serialize for Damage {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, thiserror::Error)]
pub enum Flaw {
    /// Nothing at all.
    #[error("the file is empty")]
    Empty,
    /// No `WARC/1.x` line where a record has to begin.
    #[error("no WARC/1.0 or WARC/1.1 record begins here but {0:?}")]
    Version(String),
    /// A header line without end.
    #[error("a header line of more than {LINE_BYTES_MAX} bytes")]
    LineTooLong,
    /// Headers without end.
    #[error("more than {HEADER_COUNT_MAX} headers")]
    TooManyHeaders,
    /// No Content-Length, or one that is no number.
    #[error("a record without a valid Content-Length")]
    NoLength,
    /// A record that is not taken.
    #[error("a record of {0} bytes; at most {RECORD_BYTES_MAX} are taken")]
    TooLong(u64),
    /// The file ends within the record.
    #[error("the record is cut off: {missing} of its {expected} bytes are missing")]
    CutOff {
        /// Bytes of the block that are missing.
        missing: u64,
        /// Bytes that the block should have.
        expected: u64,
    },
    /// The file ends within a record's headers, or within compressed data.
    #[error("the file ends within a record")]
    UnexpectedEnd,
    /// The compressed data is damaged.
    #[error("damaged gzip data: {0}")]
    Gzip(String),
    /// The system cannot read on.
    #[error("cannot read: {0}")]
    Io(String),
    /// The block of a `response` record is no HTTP answer.
    #[error("the stored answer does not begin with an HTTP status line but with {0:?}")]
    NotHttp(String),
    /// A gzip member that is no record of this program.
    #[error("it was not written by this program, one record a gzip member")]
    Foreign,
    /// Another record, or none, stands where the index says.
    #[error("the record that was indexed is no longer here")]
    Moved,
}

impl From<io::Error> for Flaw {
    fn from(cause: io::Error) -> Self {
        match cause.kind() {
            io::ErrorKind::UnexpectedEof => Self::UnexpectedEnd,
            // flate2 reports bad data under both kinds.
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                Self::Gzip(cause.to_string())
            }
            _ => Self::Io(cause.to_string()),
        }
    }
}

/// The first bytes of something foreign, for an error message: short and printable.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    let head = bytes.get(..bytes.len().min(40)).unwrap_or_default();
    String::from_utf8_lossy(head).trim_end().to_owned()
}
