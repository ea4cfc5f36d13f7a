//! Payloads in append-only segment files, `payload-000001.seg` and up: the writing side.
//!
//! A segment starts with [`MAGIC`]; then come payloads, each as length and CRC-32 (both u32,
//! little-endian) and its bytes. A [`Place`] stands in the record and says the same once more, so
//! that a read notices when either of the two is wrong.

use std::cmp::Ordering;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::place::{MAGIC, Place, number_of, path_of};
use super::{OpenError, StoreError};

/// Bytes gathered before they go to the file.
const BUFFER_BYTES: usize = 1 << 20;

/// Appends payloads; knows the end of what is committed and can go back to it.
pub(super) struct SegmentWriter {
    folder: PathBuf,
    segment_bytes_max: u64,
    /// Behind the last committed payload.
    committed: Place,
    /// Behind the last appended payload.
    end: Place,
    /// The file of `end.segment`, once something is written to it.
    file: Option<File>,
    /// The last segment that is known to be entered in the folder durably. That its file is there says
    /// nothing: the first try may have failed just there.
    entered: Option<u32>,
    /// Makes the names in a folder durable.
    sync_folder: fn(&Path) -> io::Result<()>,
    /// Bytes for the file that end at `end`.
    buffer: Vec<u8>,
}

impl SegmentWriter {
    /// A writer behind `committed`. Cuts the segment there and deletes those beyond.
    pub(super) fn open(
        folder: &Path,
        committed: Place,
        segment_bytes_max: u64,
    ) -> Result<Self, OpenError> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(|e| OpenError::from_io(folder, e))? {
            let entry = entry.map_err(|e| OpenError::from_io(folder, e))?;
            found.extend(entry.file_name().to_str().and_then(number_of));
        }
        let nothing_committed = committed == Place::START;
        for segment in 1..=committed.segment {
            if !found.contains(&segment) && !nothing_committed {
                return Err(OpenError::Corrupt {
                    path: path_of(folder, segment),
                    detail: "it is missing, and records name it; take it from a backup".into(),
                });
            }
        }
        found.sort_unstable();
        for segment in found {
            let path = path_of(folder, segment);
            match segment.cmp(&committed.segment) {
                Ordering::Greater => {
                    std::fs::remove_file(&path).map_err(|e| OpenError::from_io(&path, e))?;
                }
                Ordering::Equal => cut(&path, committed.offset, nothing_committed)?,
                Ordering::Less => {}
            }
        }
        Ok(Self {
            folder: folder.to_owned(),
            segment_bytes_max,
            committed,
            end: committed,
            file: None,
            entered: None,
            sync_folder: |folder| File::open(folder)?.sync_all(),
            buffer: Vec::new(),
        })
    }

    /// Forgets what was appended since the last [`commit`](Self::commit); its bytes are overwritten.
    pub(super) fn rewind(&mut self) {
        self.buffer.clear();
        if self.end.segment != self.committed.segment {
            self.file = None;
        }
        self.end = self.committed;
    }

    /// Adds a payload. On disk after [`sync`](Self::sync).
    pub(super) fn append(&mut self, payload: &[u8]) -> Result<Place, StoreError> {
        if payload.is_empty() {
            return Ok(self.end);
        }
        let length =
            u32::try_from(payload.len()).map_err(|_| StoreError::TooLong(payload.len()))?;
        let mut place = Place {
            length,
            crc: crc32fast::hash(payload),
            ..self.end
        };
        if place.end() > self.segment_bytes_max && place.offset > Place::START.offset {
            self.sync()?;
            self.file = None;
            place.segment += 1;
            place.offset = Place::START.offset;
        }
        self.buffer.extend(place.length.to_le_bytes());
        self.buffer.extend(place.crc.to_le_bytes());
        self.buffer.extend(payload);
        self.end = place.after();
        if self.buffer.len() >= BUFFER_BYTES {
            self.write_buffer()?;
        }
        Ok(place)
    }

    /// Puts all that was appended on disk.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        if self.end == self.committed {
            return Ok(());
        }
        self.write_buffer()?;
        match &self.file {
            Some(file) => file.sync_data().map_err(|cause| self.io(cause)),
            None => Ok(()),
        }
    }

    /// What was appended is now named by records: the end to go back to.
    pub(super) fn commit(&mut self) {
        self.committed = self.end;
    }

    fn write_buffer(&mut self) -> Result<(), StoreError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => self.open_segment().map_err(|cause| self.io(cause))?,
        };
        let start = self.end.offset - self.buffer.len() as u64;
        let written = file.write_all_at(&self.buffer, start);
        self.file = Some(file);
        written.map_err(|cause| self.io(cause))?;
        self.buffer.clear();
        Ok(())
    }

    /// The file of `end.segment`, with its magic; entered in the folder durably.
    fn open_segment(&mut self) -> io::Result<File> {
        let path = path_of(&self.folder, self.end.segment);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        file.write_all_at(&MAGIC, 0)?;
        if self.entered != Some(self.end.segment) {
            (self.sync_folder)(&self.folder)?;
            self.entered = Some(self.end.segment);
        }
        Ok(file)
    }

    fn io(&self, cause: io::Error) -> StoreError {
        StoreError::Io {
            path: path_of(&self.folder, self.end.segment),
            cause,
        }
    }
}

/// Cuts a segment behind its last committed payload.
fn cut(path: &Path, end: u64, nothing_committed: bool) -> Result<(), OpenError> {
    let work = || -> io::Result<Option<u64>> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let length = file.metadata()?.len();
        if length < end && !nothing_committed {
            return Ok(Some(length));
        }
        if length > end {
            tracing::info!(
                path = %path.display(), from = length, to = end,
                "cut off payloads that no record names"
            );
            file.set_len(end)?;
            file.sync_all()?;
        }
        Ok(None)
    };
    match work().map_err(|e| OpenError::from_io(path, e))? {
        None => Ok(()),
        Some(length) => Err(OpenError::Corrupt {
            path: path.to_owned(),
            detail: format!(
                "it ends at byte {length}, and records name payloads up to byte {end}; take it \
                 from a backup"
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static SYNCED: Cell<u32> = const { Cell::new(0) };
    }

    /// Fails the first time.
    fn sync_second(_: &Path) -> io::Result<()> {
        let before = SYNCED.replace(SYNCED.get() + 1);
        match before {
            0 => Err(io::Error::other("for this test")),
            _ => Ok(()),
        }
    }

    #[test]
    fn a_folder_that_could_not_be_synced_is_synced_by_the_next_try() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = SegmentWriter::open(folder.path(), Place::START, 1 << 20).unwrap();
        writer.sync_folder = sync_second;
        writer.append(b"payload").unwrap();
        writer.sync().unwrap_err();
        // The file is there, its name perhaps not for good.
        assert!(path_of(folder.path(), 1).exists());
        writer.sync().unwrap();
        assert_eq!(SYNCED.get(), 2);
        writer.commit();
        // It is asked for once a segment.
        writer.append(b"more").unwrap();
        writer.sync().unwrap();
        assert_eq!(SYNCED.get(), 2);
    }
}
