//! Opening a store: lock, mend, check, refuse.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::flushed::{self, FlushedMark};
use super::place::{self, Place};
use super::segment_reader::SegmentReader;
use super::segments::SegmentWriter;
use super::{OpenError, Store, database, space};

/// The version of the layout in docs/store.md.
const SCHEMA: u32 = 1;

/// Where sled keeps the version, in the tree `meta`.
const SCHEMA_KEY: &[u8] = b"schema";

const LOCK_NAME: &str = "lock";

/// Bounds of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// Bytes that sled may keep in memory. Reading is by number and mostly of what is new, so little
    /// does (docs/decisions/0002 has the measurement).
    pub cache_bytes: u64,
    /// A segment file is closed before it would pass this many bytes.
    pub segment_bytes_max: u64,
    /// Bytes that must remain free on the disk after a write, or it is refused.
    pub free_bytes_min: u64,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            cache_bytes: 16 << 20,
            segment_bytes_max: 256_000_000,
            free_bytes_min: 64 << 20,
        }
    }
}

impl Store {
    /// Opens the store in `folder`, or makes one if the folder is missing or empty.
    ///
    /// # Errors
    /// [`OpenError`] names the cause, the path and the next step.
    pub fn open(folder: &Path, options: &StoreOptions) -> Result<Self, OpenError> {
        let io = |cause| OpenError::from_io(folder, cause);
        std::fs::create_dir_all(folder).map_err(io)?;
        refuse_foreign(folder)?;
        let lock = lock(folder)?;
        let free = space::free_bytes(folder).map_err(io)?;
        if free < options.free_bytes_min {
            return Err(OpenError::NoSpace {
                folder: folder.to_owned(),
                free,
                needed: options.free_bytes_min,
            });
        }
        refuse_headless(folder)?;
        let database_folder = folder.join(database::FOLDER_NAME);
        let database = database::open(&database_folder, options.cache_bytes)?;
        let (log, checked) = database::guarded(|| {
            let log = database.open_tree("log")?;
            let checked = check_schema(folder, &database, log.is_empty())?;
            Ok((log, checked))
        })
        .map_err(|error| database::damaged(&database_folder, &error))?;
        checked?;
        let (last, end) = database::guarded(|| last_record(&log))
            .map_err(|error| database::damaged(&database_folder, &error))?;
        let end = end.ok_or_else(|| OpenError::Corrupt {
            path: database_folder.clone(),
            detail: format!(
                "record {last}, the last, is none of ours; take the store from a backup"
            ),
        })?;
        let mark = check_flushed(folder, last)?;
        let writer = SegmentWriter::open(folder, end, options.segment_bytes_max)?;
        let data_path = database_folder.join("db");
        let data = File::open(&data_path).map_err(|e| OpenError::from_io(&data_path, e))?;
        Ok(Self {
            folder: folder.to_owned(),
            log,
            database,
            data,
            mark,
            writer: Mutex::new(writer),
            reader: SegmentReader::new(folder),
            last: AtomicU64::new(last),
            free_bytes_min: AtomicU64::new(options.free_bytes_min),
            broken: AtomicBool::new(false),
            _lock: lock,
        })
    }
}

/// A folder with anything in it that no store would have is not touched.
fn refuse_foreign(folder: &Path) -> Result<(), OpenError> {
    for entry in std::fs::read_dir(folder).map_err(|e| OpenError::from_io(folder, e))? {
        let name = entry
            .map_err(|e| OpenError::from_io(folder, e))?
            .file_name();
        let name = name.to_string_lossy();
        let ours = matches!(
            &*name,
            LOCK_NAME | flushed::FILE_NAME | database::FOLDER_NAME
        );
        if !ours && place::number_of(&name).is_none() {
            return Err(OpenError::NotAStore {
                folder: folder.to_owned(),
                found: name.into_owned(),
            });
        }
    }
    Ok(())
}

fn lock(folder: &Path) -> Result<File, OpenError> {
    let path = folder.join(LOCK_NAME);
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|e| OpenError::from_io(&path, e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked {
            folder: folder.to_owned(),
        }),
        Err(TryLockError::Error(cause)) => Err(OpenError::from_io(&path, cause)),
    }
}

/// Payloads without a database are somebody's data, not rubbish: a new database would delete them.
fn refuse_headless(folder: &Path) -> Result<(), OpenError> {
    let data = folder.join(database::FOLDER_NAME).join("db");
    let segment = place::path_of(folder, 1);
    if segment.exists() && !data.exists() {
        return Err(OpenError::Corrupt {
            path: data,
            detail: format!(
                "it is missing beside {}; take it from a backup",
                segment.display()
            ),
        });
    }
    Ok(())
}

/// Reads the schema version, or writes it into a new database.
fn check_schema(
    folder: &Path,
    database: &sled::Db,
    is_new: bool,
) -> sled::Result<Result<(), OpenError>> {
    let meta = database.open_tree("meta")?;
    let Some(stored) = meta.get(SCHEMA_KEY)? else {
        if !is_new {
            return Ok(Err(OpenError::NotAStore {
                folder: folder.to_owned(),
                found: "a database without a schema version".into(),
            }));
        }
        meta.insert(SCHEMA_KEY, &SCHEMA.to_be_bytes())?;
        meta.flush()?;
        return Ok(Ok(()));
    };
    let found = <[u8; 4]>::try_from(&*stored).map_or(0, u32::from_be_bytes);
    Ok(match found {
        SCHEMA => Ok(()),
        0 => Err(OpenError::Corrupt {
            path: folder.join(database::FOLDER_NAME),
            detail: "its schema version is no version; take the store from a backup".into(),
        }),
        found => Err(OpenError::Newer {
            folder: folder.to_owned(),
            found,
            known: SCHEMA,
        }),
    })
}

/// The last key (0: no record), and the place behind its payload; `None` for a record that
/// names none.
fn last_record(log: &sled::Tree) -> sled::Result<(u64, Option<Place>)> {
    let Some((key, value)) = log.last()? else {
        return Ok((0, Some(Place::START)));
    };
    let Ok(key) = <[u8; 8]>::try_from(&*key) else {
        return Ok((u64::MAX, None));
    };
    let place = Place::split(&value).map(|(place, _)| place.after());
    Ok((u64::from_be_bytes(key), place))
}

/// What was flushed must be there.
fn check_flushed(folder: &Path, last: u64) -> Result<FlushedMark, OpenError> {
    let path = folder.join(flushed::FILE_NAME);
    let (mark, number) = FlushedMark::open(folder).map_err(|e| OpenError::from_io(&path, e))?;
    match number {
        Some(number) if number > last => Err(OpenError::Corrupt {
            path: folder.join(database::FOLDER_NAME),
            detail: format!(
                "records up to {number} were flushed, only those up to {last} are there; take \
                 the store from a backup, or delete {} to go on with what is left",
                path.display()
            ),
        }),
        _ => Ok(mark),
    }
}
