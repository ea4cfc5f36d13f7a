//! Reads payloads from segment files, checked.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::StoreError;
use super::place::{HEADER_BYTES, Place, path_of};

/// Segments kept open for reading.
const READERS_MAX: usize = 32;

/// Reads payloads, from any thread.
pub(super) struct SegmentReader {
    folder: PathBuf,
    open: Mutex<BTreeMap<u32, Arc<File>>>,
}

impl SegmentReader {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            open: Mutex::default(),
        }
    }

    /// The payload at `place`, checked.
    pub(super) fn read(&self, place: Place) -> Result<Vec<u8>, StoreError> {
        let path = path_of(&self.folder, place.segment);
        let io = |cause| StoreError::Io {
            path: path.clone(),
            cause,
        };
        let corrupt = |detail: String| StoreError::Corrupt {
            path: path.clone(),
            offset: place.offset,
            detail,
        };
        let file = self.file(place.segment, &path).map_err(io)?;
        // Before memory is taken for a length that may be damaged.
        let length = file.metadata().map_err(io)?.len();
        if place.end() > length {
            return Err(corrupt(format!(
                "a payload of {} bytes should lie there, the file ends at byte {length}",
                place.length
            )));
        }
        let mut header = [0; HEADER_BYTES];
        let mut bytes = vec![0; place.length as usize];
        file.read_exact_at(&mut header, place.offset).map_err(io)?;
        file.read_exact_at(&mut bytes, place.offset + HEADER_BYTES as u64)
            .map_err(io)?;
        let expected = [place.length.to_le_bytes(), place.crc.to_le_bytes()];
        if header != *expected.as_flattened() {
            return Err(corrupt("another payload begins there".into()));
        }
        if crc32fast::hash(&bytes) != place.crc {
            return Err(corrupt("the checksum of the payload is wrong".into()));
        }
        Ok(bytes)
    }

    fn file(&self, segment: u32, path: &Path) -> io::Result<Arc<File>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = open.get(&segment) {
            return Ok(file.clone());
        }
        let file = Arc::new(File::open(path)?);
        if open.len() >= READERS_MAX {
            open.pop_first();
        }
        open.insert(segment, file.clone());
        Ok(file)
    }
}
