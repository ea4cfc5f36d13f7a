//! One open file of an archive, from which answers are read at any place.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::beside::Stamp;
use super::error::{ArchiveError, Flaw};
use super::record::{self, Kind};
use super::response::ArchivedResponse;
use super::stream::{Place, Stream};
use crate::url::CanonicalUrl;

/// Bytes that are read at a time to give one answer: most zipped records are shorter.
const READ_BYTES: usize = 16 << 10;

/// A file with the place up to which it was read last.
pub(super) struct ArchiveFile {
    path: PathBuf,
    file: Arc<File>,
    /// Within a gzip member there is no way but forward. A stream that stopped there is kept for
    /// the next answer, so that reading a file of one member in its order unzips it once.
    paused: Mutex<Option<Stream<At>>>,
}

impl fmt::Debug for ArchiveFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ArchiveFile").field(&self.path).finish()
    }
}

impl ArchiveFile {
    /// Opens the file; also gives its size in bytes.
    ///
    /// # Errors
    /// [`ArchiveError::Open`], also for what is no regular file.
    pub(super) fn open(path: &Path) -> Result<(Self, u64), ArchiveError> {
        let failed = |cause| ArchiveError::Open {
            path: path.to_path_buf(),
            cause,
        };
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            let what = "not a regular file, and an archive is read at any place in it";
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, what)));
        }
        let opened = Self {
            path: path.to_path_buf(),
            file: Arc::new(file),
            paused: Mutex::new(None),
        };
        Ok((opened, metadata.len()))
    }

    /// Where the file lies.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The state that the file is in.
    ///
    /// # Errors
    /// What reading it fails with.
    pub(super) fn stamp(&self) -> io::Result<Stamp> {
        Stamp::of(&self.file)
    }

    /// Reads the answer at `place`, which has to be one for `url`.
    ///
    /// # Errors
    /// [`Flaw::Moved`] if it is not, and whatever else is wrong there.
    pub(super) fn answer(
        &self,
        place: Place,
        url: &CanonicalUrl,
    ) -> Result<ArchivedResponse, Flaw> {
        if place.skip == 0 {
            return read_answer(&mut self.stream_from(place.offset)?, url);
        }
        let mut stream = self.stream_within(place)?;
        let answer = read_answer(&mut stream, url)?;
        *self.paused.lock().unwrap_or_else(PoisonError::into_inner) = Some(stream);
        Ok(answer)
    }

    fn stream_from(&self, offset: u64) -> io::Result<Stream<At>> {
        let reader = At {
            file: Arc::clone(&self.file),
            position: offset,
        };
        Stream::new(reader, offset, READ_BYTES)
    }

    /// A stream at `place`: the paused one if that has not passed it yet.
    fn stream_within(&self, place: Place) -> io::Result<Stream<At>> {
        let paused = self
            .paused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(mut stream) = paused
            && let Ok(Some(here)) = stream.place()
            && here.offset == place.offset
            && here.skip <= place.skip
        {
            stream.skip(place.skip - here.skip)?;
            return Ok(stream);
        }
        let mut stream = self.stream_from(place.offset)?;
        stream.skip(place.skip)?;
        Ok(stream)
    }
}

fn read_answer(stream: &mut Stream<At>, url: &CanonicalUrl) -> Result<ArchivedResponse, Flaw> {
    let head = record::read_head(stream)?;
    let target = head.target().map(CanonicalUrl::parse);
    if target.and_then(Result::ok).as_ref() != Some(url) {
        return Err(Flaw::Moved);
    }
    let block = record::read_block(stream, head.length)?;
    match head.kind {
        Kind::Response => ArchivedResponse::from_http(block),
        Kind::Resource => Ok(ArchivedResponse::from_resource(block, head.content_type())),
        Kind::Revisit | Kind::Other => Err(Flaw::Moved),
    }
}

/// Reads a shared file from a place on, without moving anybody's position in it.
struct At {
    file: Arc<File>,
    position: u64,
}

impl Read for At {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let taken = self.file.read_at(out, self.position)?;
        self.position += taken as u64;
        Ok(taken)
    }
}
