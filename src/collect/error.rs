//! What ends a collection, with what to do about it.

use std::io;
use std::path::PathBuf;

use crate::archive::ArchiveError;

/// Why URLs cannot be collected, or no further.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The archive cannot be gone on with.
    #[error(transparent)]
    Archive(ArchiveError),
    /// Writing failed (a full disk, most often).
    #[error(
        "{0}; what was fetched before is kept: make room and start the same command again, it goes on from there"
    )]
    Write(ArchiveError),
    /// The file of notes cannot be read or written.
    #[error("notes {}: {cause}", path.display())]
    Notes {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A line of the file of notes is none.
    #[error(
        "{}:{line}: {problem}; mend or delete the line (its URL is then asked for again)",
        path.display()
    )]
    Note {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// Another process writes to the same archive.
    #[error("{} is being written by another process; wait for it or end it", .0.display())]
    Busy(PathBuf),
    /// The proxy fails, again and again.
    #[error("{0}; what was fetched before is kept: start the proxy, then the same command again")]
    Proxy(String),
    /// Nobody answers for requests to the network.
    #[error(
        "no contact; to ask the network needs --contact (an e-mail address or a URL where a site's owner reaches you), it is sent in the User-Agent"
    )]
    NoContact,
    /// Who is to answer cannot be reached.
    #[error("--contact: {0}")]
    Contact(String),
    /// No URL of the table is asked for.
    #[error("no row of the table is under {0}; its topics are listed in its column `topic`")]
    NoRows(String),
    /// A task of a fetch broke: a fault of this program.
    #[error("a fetch ended without an outcome: {0}")]
    Task(String),
}
