//! What can go wrong with a store, each cause with its place and the next step.

use std::io;
use std::path::{Path, PathBuf};

/// Why a folder could not be opened as a store.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error("{} is in use by another process; stop that one first", .folder.display())]
    Locked {
        /// The store.
        folder: PathBuf,
    },
    /// The folder holds something else.
    #[error(
        "{} is not a store: it holds {found:?}; name an empty folder or one that was made here",
        .folder.display()
    )]
    NotAStore {
        /// The folder.
        folder: PathBuf,
        /// What was found there.
        found: String,
    },
    /// Written by a later version.
    #[error(
        "{} has schema version {found}, this program reads up to {known}; use a newer program",
        .folder.display()
    )]
    Newer {
        /// The store.
        folder: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that can be read.
        known: u32,
    },
    /// The folder cannot be written.
    #[error(
        "{} cannot be written ({cause}); a store is opened for writing: give the user that runs \
         this the right to write there, or name another folder",
        .path.display()
    )]
    ReadOnly {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// No space.
    #[error(
        "{} has {free} bytes free and needs {needed}; free some space or name another folder",
        .folder.display()
    )]
    NoSpace {
        /// The store.
        folder: PathBuf,
        /// Bytes free.
        free: u64,
        /// Bytes needed.
        needed: u64,
    },
    /// Damaged.
    #[error("{} is damaged: {detail}", .path.display())]
    Corrupt {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong, and what can be done.
        detail: String,
    },
    /// The system says no.
    #[error("{}: {cause}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
}

impl OpenError {
    /// The variant that fits what the system said of `path`.
    pub(super) fn from_io(path: &Path, cause: io::Error) -> Self {
        let path = path.to_owned();
        match cause.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::ReadOnly { path, cause }
            }
            _ => Self::Io { path, cause },
        }
    }
}

/// Why an open store could not do it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is too full to write safely; nothing was written.
    #[error(
        "{} has {free} bytes free, the next write needs {needed} (with a reserve); free some \
         space, nothing is lost until then",
        .folder.display()
    )]
    NoSpace {
        /// The store.
        folder: PathBuf,
        /// Bytes free.
        free: u64,
        /// Bytes needed.
        needed: u64,
    },
    /// A file beside the database could not be written or read.
    #[error("{}: {cause}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The database refuses to go on.
    #[error(
"database in {}: {cause}; after a failed write it takes no more: look at the disk and \
         start again; what is on disk is whole",
        .folder.display()
    )]
    Database {
        /// Its folder.
        folder: PathBuf,
        /// What it said.
        cause: sled::Error,
    },
    /// Bytes are not what was written.
    #[error(
        "{} is damaged at byte {offset}: {detail}; take this file from a backup",
        .path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Where.
        offset: u64,
        /// What is wrong.
        detail: String,
    },
    /// A record is not what was written.
    #[error("record {key} in {} is damaged: {detail}; take the store from a backup", .folder.display())]
    Record {
        /// The store.
        folder: PathBuf,
        /// The record.
        key: u64,
        /// What is wrong.
        detail: &'static str,
    },
    /// Keys must rise by one.
    #[error("record {key} does not follow record {last}; keys of a store rise by one")]
    Order {
        /// The key that was given.
        key: u64,
        /// The one before it.
        last: u64,
    },
    /// A payload's length is not a 32-bit number.
    #[error("a payload of {0} bytes is too long; at most 4 GiB are kept")]
    TooLong(usize),
}
