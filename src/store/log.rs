//! The open store: groups of records in, records and payloads out.

use std::fs::File;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use sled::transaction::TransactionError;

use super::flushed::{self, FlushedMark};
use super::place::Place;
use super::segment_reader::SegmentReader;
use super::segments::SegmentWriter;
use super::{StoreError, database, space};

/// Records in one transaction of sled. A longer group is several, in order: a crash between them
/// leaves a prefix.
const TRANSACTION_RECORDS_MAX: usize = 1_000;

/// What sled writes for a byte of records, at most (docs/decisions/0002: measured 1.3 to 3).
const DATABASE_GROWTH: u64 = 4;

/// One record to be kept.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Its number: one more than that of the record before it; the first is 1.
    pub key: u64,
    /// Its bytes; small.
    pub record: &'a [u8],
    /// What is kept beside it; empty for nothing.
    pub payload: &'a [u8],
}

/// An open store. One writer at a time (others wait), readers on any thread at any time.
pub struct Store {
    pub(super) folder: PathBuf,
    pub(super) log: sled::Tree,
    pub(super) database: sled::Db,
    /// sled's file. On Linux sled flushes with `sync_file_range`, which leaves the disk's own cache
    /// and the file's length behind, so it is synced once more through this handle.
    pub(super) data: File,
    pub(super) mark: FlushedMark,
    pub(super) writer: Mutex<SegmentWriter>,
    pub(super) reader: SegmentReader,
    pub(super) last: AtomicU64,
    pub(super) free_bytes_min: AtomicU64,
    /// A write to sled failed. Its own error is sticky; a failed sync is not, and the system may call
    /// the next one good though the bytes are gone.
    pub(super) broken: AtomicBool,
    /// Held until everything above is closed: fields are dropped in this order.
    pub(super) _lock: File,
}

impl Store {
    /// The last record that is on disk; 0 if there is none.
    pub fn last(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }

    /// The folder that it lies in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sets the bytes that must remain free after a write.
    pub fn set_free_bytes_min(&self, bytes: u64) {
        self.free_bytes_min.store(bytes, Ordering::Relaxed);
    }

    /// Keeps a group of records; all of it is on disk when this returns. Blocks.
    ///
    /// After an error none of the group counts as written and the same group may be given again; a
    /// crash in the middle leaves a prefix of it.
    ///
    /// # Errors
    /// [`StoreError`]; with [`StoreError::Database`] only a new start helps.
    pub fn commit(&self, group: &[Entry<'_>]) -> Result<(), StoreError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut last = self.last();
        for entry in group {
            if Some(entry.key) != last.checked_add(1) {
                let key = entry.key;
                return Err(StoreError::Order { key, last });
            }
            last = entry.key;
        }
        if group.is_empty() {
            return Ok(());
        }
        if self.broken.load(Ordering::Relaxed) {
            let words = "an earlier write to it failed".to_owned();
            return Err(self.database_error(sled::Error::Unsupported(words)));
        }
        self.check_space(group)?;
        // What an earlier call appended and could not finish is appended anew.
        writer.rewind();
        let mut values = Vec::with_capacity(group.len());
        for entry in group {
            let place = writer.append(entry.payload)?;
            let value = [&place.to_bytes()[..], entry.record].concat();
            values.push((entry.key.to_be_bytes(), value));
        }
        writer.sync()?;
        self.write_database(&values)
            .inspect_err(|_| self.broken.store(true, Ordering::Relaxed))
            .map_err(|cause| self.database_error(cause))?;
        self.mark.set(last).map_err(|cause| StoreError::Io {
            path: self.folder.join(flushed::FILE_NAME),
            cause,
        })?;
        writer.commit();
        self.last.store(last, Ordering::Release);
        Ok(())
    }

    fn check_space(&self, group: &[Entry<'_>]) -> Result<(), StoreError> {
        let records: usize = group.iter().map(|entry| entry.record.len()).sum();
        let payloads: usize = group.iter().map(|entry| entry.payload.len()).sum();
        let needed = (records as u64)
            .saturating_mul(DATABASE_GROWTH)
            .saturating_add(payloads as u64)
            .saturating_add(self.free_bytes_min.load(Ordering::Relaxed));
        let free = space::free_bytes(&self.folder).map_err(|cause| StoreError::Io {
            path: self.folder.clone(),
            cause,
        })?;
        if free < needed {
            let folder = self.folder.clone();
            return Err(StoreError::NoSpace {
                folder,
                free,
                needed,
            });
        }
        Ok(())
    }

    /// Records into sled, durably.
    ///
    /// Written in transactions: atomic, and within sled's cache limit, which a plain `apply_batch` at
    /// random keys ignores (at rising keys no difference was seen).
    fn write_database(&self, values: &[([u8; 8], Vec<u8>)]) -> sled::Result<()> {
        for values in values.chunks(TRANSACTION_RECORDS_MAX) {
            database::guarded(|| {
                let outcome = self.log.transaction(|log| {
                    for (key, value) in values {
                        log.insert(key, value.as_slice())?;
                    }
                    Ok::<_, sled::transaction::ConflictableTransactionError<()>>(())
                });
                match outcome {
                    Ok(()) | Err(TransactionError::Abort(())) => Ok(()), // it never aborts
                    Err(TransactionError::Storage(cause)) => Err(cause),
                }
            })?;
        }
        database::guarded(|| self.database.flush())?;
        Ok(self.data.sync_data()?)
    }

    fn database_error(&self, cause: sled::Error) -> StoreError {
        StoreError::Database {
            folder: self.folder.join(database::FOLDER_NAME),
            cause,
        }
    }

    /// The bytes of a record; `None` if there is none of this number.
    ///
    /// # Errors
    /// [`StoreError`] if it is unreadable.
    pub fn record(&self, key: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.value(key)?;
        found
            .map(|value| self.split(key, &value).map(|(_, record)| record.to_vec()))
            .transpose()
    }

    /// The payload of a record, checked; empty if it was given none, `None` if there is no record of
    /// this number.
    ///
    /// # Errors
    /// [`StoreError`] if it is unreadable or not what was written; it names file and byte.
    pub fn payload(&self, key: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(value) = self.value(key)? else {
            return Ok(None);
        };
        let (place, _) = self.split(key, &value)?;
        match place.length {
            0 => Ok(Some(Vec::new())),
            _ => self.reader.read(place).map(Some),
        }
    }

    /// Calls `visit` with the records of these numbers, in order, until it says false.
    ///
    /// # Errors
    /// [`StoreError`] at the first that is unreadable.
    pub fn scan(
        &self,
        keys: RangeInclusive<u64>,
        visit: &mut dyn FnMut(u64, &[u8]) -> bool,
    ) -> Result<(), StoreError> {
        let (mut expected, end) = ((*keys.start()).max(1), (*keys.end()).min(self.last()));
        let mut found = self.log.range(expected.to_be_bytes()..);
        while expected <= end {
            let (key, value) = database::guarded(|| found.next().transpose())
                .map_err(|cause| self.database_error(cause))?
                .ok_or_else(|| self.missing(expected))?;
            if *key != expected.to_be_bytes() {
                return Err(self.missing(expected));
            }
            let (_, record) = self.split(expected, &value)?;
            if !visit(expected, record) {
                break;
            }
            expected += 1;
        }
        Ok(())
    }

    /// `None` behind the last record. Before it there is no gap: a damaged sled may have one.
    fn value(&self, key: u64) -> Result<Option<sled::IVec>, StoreError> {
        if key == 0 || key > self.last() {
            return Ok(None);
        }
        database::guarded(|| self.log.get(key.to_be_bytes()))
            .map_err(|cause| self.database_error(cause))?
            .map_or_else(|| Err(self.missing(key)), |value| Ok(Some(value)))
    }

    fn missing(&self, key: u64) -> StoreError {
        StoreError::Record {
            folder: self.folder.clone(),
            key,
            detail: "it is missing, though later ones are there",
        }
    }

    fn split<'a>(&self, key: u64, value: &'a [u8]) -> Result<(Place, &'a [u8]), StoreError> {
        Place::split(value).ok_or_else(|| StoreError::Record {
            folder: self.folder.clone(),
            key,
            detail: "it is too short to name the place of its payload",
        })
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("folder", &self.folder)
            .field("last", &self.last())
            .finish_non_exhaustive()
    }
}
