//! Index files: what a pass over an archive file found, kept so that the next opening need not read
//! the file again.
//!
//! An index is a help and never needed. One that is torn, foreign or of another state of its archive
//! is not used; one that cannot be written is not there. Layout: [`MAGIC`], the XXH3 of what follows
//! (8 bytes, little-endian), and a [`Stored`] in the encoding of Protocol Buffers.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use prost::Message;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::listing::Listing;

/// The first bytes of an index file; the digit is the version of the layout.
const MAGIC: &[u8; 8] = b"APINDEX1";

/// Bytes of an index file that are read at most.
const INDEX_BYTES_MAX: u64 = 1 << 30;

/// Answers of one file that an index is kept for at most.
pub(super) const ANSWERS_MAX: usize = 1_000_000;

/// Smaller archives are read in less time than their index is worth.
const ARCHIVE_BYTES_MIN: u64 = 1 << 20;

/// Bytes at both ends of an archive that its index knows it by.
const EDGE_BYTES: usize = 4096;

/// Where the indexes of archive files are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indexes {
    beside: bool,
    folder: Option<PathBuf>,
}

impl Indexes {
    /// Nowhere: each opening reads the whole files.
    pub fn none() -> Self {
        Self::default()
    }

    /// Beside each archive, as `NAME.index`; in `folder` for an archive that lies where nothing can
    /// be written.
    pub fn beside(folder: Option<PathBuf>) -> Self {
        Self {
            beside: true,
            folder,
        }
    }

    /// In `folder`, which is made if need be.
    pub fn within(folder: PathBuf) -> Self {
        Self {
            beside: false,
            folder: Some(folder),
        }
    }

    /// What is known of the archive at `path` in the state `stamp`.
    pub(super) fn find(&self, path: &Path, stamp: &Stamp) -> Option<Listing> {
        let places = self.places(path);
        places.iter().find_map(|place| match read(place) {
            Ok(Some(stored)) if stored.stamp.as_ref() == Some(stamp) => stored.listing,
            Ok(Some(_)) => {
                tracing::info!(
                    "index {} is of another state of the archive; reading that again",
                    place.display()
                );
                None
            }
            Ok(None) => {
                tracing::warn!(
                    "index {} is damaged or no index; reading the archive again",
                    place.display()
                );
                None
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!("cannot read index {}: {error}", place.display());
                None
            }
        })
    }

    /// Whether an index is kept for an archive of this size.
    pub(super) fn takes(&self, bytes: u64) -> bool {
        bytes >= ARCHIVE_BYTES_MIN && (self.beside || self.folder.is_some())
    }

    /// Keeps what was found in the archive at `path`, unless that has changed since `stamp` was taken.
    pub(super) fn keep(&self, path: &Path, stamp: &Stamp, listing: Listing) {
        let now = File::open(path).and_then(|file| Stamp::of(&file));
        if now.ok().as_ref() != Some(stamp) {
            return;
        }
        let stored = Stored {
            stamp: Some(stamp.clone()),
            listing: Some(listing),
        };
        let mut failures = Vec::new();
        for place in self.places(path) {
            match write(&place, &stored) {
                Ok(()) => return,
                Err(error) => failures.push(format!("{}: {error}", place.display())),
            }
        }
        tracing::warn!("no index is kept, {}", failures.join(", "));
    }

    /// In the order in which they are tried.
    fn places(&self, path: &Path) -> Vec<PathBuf> {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".index");
        let mut places = Vec::new();
        if self.beside {
            places.push(path.with_file_name(&name));
        }
        if let Some(folder) = &self.folder {
            let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
            let hash = xxh3_64(whole.as_os_str().as_bytes());
            let mut own = OsString::from(format!("{hash:016x}-"));
            own.push(&name);
            places.push(folder.join(own));
        }
        places
    }
}

/// The state of an archive file.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Stamp {
    #[prost(uint64, tag = "1")]
    bytes: u64,
    /// When it was last written, in seconds since 1970.
    #[prost(sint64, tag = "2")]
    seconds: i64,
    #[prost(sint64, tag = "3")]
    nanoseconds: i64,
    /// XXH3 of its first and its last bytes.
    #[prost(fixed64, tag = "4")]
    edges: u64,
}

impl Stamp {
    /// # Errors
    /// What reading the file fails with.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let bytes = metadata.len();
        let mut hash = Xxh3::new();
        let mut edge = [0; EDGE_BYTES];
        for offset in [0, bytes.saturating_sub(EDGE_BYTES as u64)] {
            let found = file.read_at(&mut edge, offset)?;
            hash.update(edge.get(..found).unwrap_or_default());
        }
        Ok(Self {
            bytes,
            seconds: metadata.mtime(),
            nanoseconds: metadata.mtime_nsec(),
            edges: hash.digest(),
        })
    }
}

/// What an index file holds.
#[derive(Clone, PartialEq, Message)]
struct Stored {
    #[prost(message, optional, tag = "1")]
    stamp: Option<Stamp>,
    #[prost(message, optional, tag = "2")]
    listing: Option<Listing>,
}

/// `None` for what is no whole index.
fn read(path: &Path) -> io::Result<Option<Stored>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(INDEX_BYTES_MAX).read_to_end(&mut bytes)?;
    let Some((hash, payload)) = bytes
        .strip_prefix(MAGIC)
        .and_then(<[u8]>::split_first_chunk::<8>)
    else {
        return Ok(None);
    };
    if u64::from_le_bytes(*hash) != xxh3_64(payload) {
        return Ok(None);
    }
    Ok(Stored::decode(payload).ok())
}

/// Writes the whole index or nothing.
fn write(path: &Path, stored: &Stored) -> io::Result<()> {
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs::create_dir_all(folder)?;
    }
    let payload = stored.encode_to_vec();
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    let new = path.with_file_name(name);
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&new)
        .and_then(|mut file| {
            file.write_all(MAGIC)?;
            file.write_all(&xxh3_64(&payload).to_le_bytes())?;
            file.write_all(&payload)
        })
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // It may not even be there.
        let _ = fs::remove_file(&new);
    }
    written
}
