//! Payloads in append-only segment files, `payload-000001.seg` and up.
//!
//! A segment starts with [`MAGIC`]; then come payloads, each as length and CRC-32 (both u32,
//! little-endian) and its bytes. A [`Place`] stands in the record and says the same once more, so
//! that a read notices when either of the two is wrong.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{OpenError, StoreError};

/// First bytes of every segment; the last one is the version.
const MAGIC: [u8; 8] = *b"apseg\0\0\x01";

/// Bytes before a payload.
const HEADER_BYTES: usize = 8;

/// Bytes gathered before they go to the file.
const BUFFER_BYTES: usize = 1 << 20;

/// Segments kept open for reading.
const READERS_MAX: usize = 32;

/// Where a payload lies. Length 0: there is none, and `offset` is where the next one would begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) segment: u32,
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) crc: u32,
}

impl Place {
    /// Bytes of a place within a record.
    pub(super) const BYTES: usize = 20;

    /// Where the first payload of a store goes.
    pub(super) const START: Self = Self {
        segment: 1,
        offset: MAGIC.len() as u64,
        length: 0,
        crc: 0,
    };

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.segment.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.offset.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.length.to_le_bytes());
        bytes[16..].copy_from_slice(&self.crc.to_le_bytes());
        bytes
    }

    /// The place at the start of a record's value, and the rest; `None` if it is too short.
    pub(super) fn split(value: &[u8]) -> Option<(Self, &[u8])> {
        let (segment, rest) = value.split_first_chunk::<4>()?;
        let (offset, rest) = rest.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (crc, rest) = rest.split_first_chunk::<4>()?;
        let place = Self {
            segment: u32::from_le_bytes(*segment),
            offset: u64::from_le_bytes(*offset),
            length: u32::from_le_bytes(*length),
            crc: u32::from_le_bytes(*crc),
        };
        Some((place, rest))
    }

    /// The first byte after it.
    pub(super) fn end(self) -> u64 {
        match self.length {
            0 => self.offset,
            length => self
                .offset
                .saturating_add(HEADER_BYTES as u64 + u64::from(length)),
        }
    }

    /// The empty place behind it.
    pub(super) fn after(self) -> Self {
        Self {
            segment: self.segment,
            offset: self.end(),
            length: 0,
            crc: 0,
        }
    }
}

/// The path of a segment.
pub(super) fn path_of(folder: &Path, segment: u32) -> PathBuf {
    folder.join(format!("payload-{segment:06}.seg"))
}

/// The number in a segment's file name; `None` for any other file.
pub(super) fn number_of(name: &str) -> Option<u32> {
    name.strip_prefix("payload-")?
        .strip_suffix(".seg")?
        .parse()
        .ok()
}

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

    /// The file of `end.segment`, with its magic; a new one is entered in the folder durably.
    fn open_segment(&self) -> io::Result<File> {
        let path = path_of(&self.folder, self.end.segment);
        let fresh = !path.exists();
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        file.write_all_at(&MAGIC, 0)?;
        if fresh {
            File::open(&self.folder)?.sync_all()?;
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
