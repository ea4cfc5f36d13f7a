//! Opening sled 0.34.7 with its known faults in mind.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use super::OpenError;

/// Name of sled's folder within the store.
pub(super) const FOLDER_NAME: &str = "sled";

/// How often the lock of sled's file is asked for: a database that this process has just closed may
/// hold it for a moment, until sled's last thread lets go. The store's own lock says that no other
/// process has it.
const LOCK_TRIES: u32 = 100;

/// Opens the database in `folder`.
pub(super) fn open(folder: &Path, cache_bytes: u64) -> Result<sled::Db, OpenError> {
    forget_half_made(folder)?;
    set_aside(folder, "delete", |name| {
        name.starts_with("snap.") && name.ends_with(".generating")
    })?;
    let config = sled::Config::new()
        .path(folder)
        .cache_capacity(cache_bytes)
        .mode(sled::Mode::HighThroughput)
        // Flushed by the caller's clock; nothing of sled's runs in the background.
        .flush_every_ms(None);
    let opened = match open_when_let_go(&config) {
        Err(sled::Error::Corruption { at, .. }) => {
            // The snapshot only shortens the reading of the log: without it, all is read again.
            let moved = set_aside(folder, "move", |name| name.starts_with("snap."))?;
            tracing::warn!(
                folder = %folder.display(), ?at, ?moved,
                "sled calls the database corrupt: its snapshots were set aside, reading its log"
            );
            open_when_let_go(&config)
        }
        other => other,
    };
    let database = opened.map_err(|error| open_error(folder, error))?;
    sync_conf(folder).map_err(|cause| OpenError::from_io(folder, cause))?;
    Ok(database)
}

/// sled writes `conf` when it makes a database, and leaves it to the system: without it, which a power cut
/// might take for half a minute, nothing of the database can be read.
fn sync_conf(folder: &Path) -> std::io::Result<()> {
    File::open(folder.join("conf"))?.sync_all()?;
    File::open(folder)?.sync_all()
}

/// Does `work` with sled; a panic within becomes an error.
///
/// sled 0.34.7 checks what it reads with assertions: of 120 databases with one flipped byte or a cut
/// end, opening 55 panicked ("tried to serialize Uninitialized"). Damage on one crawl's disk must
/// not take down a daemon.
pub(super) fn guarded<T>(work: impl FnOnce() -> sled::Result<T>) -> sled::Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let words = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        let words = format!("sled panicked: {}", words.unwrap_or("no words"));
        Err(sled::Error::ReportableBug(words))
    })
}

/// A kill within the first milliseconds leaves a folder with a half-written `conf` and no data.
fn forget_half_made(folder: &Path) -> Result<(), OpenError> {
    let data_bytes = folder.join("db").metadata().map_or(0, |data| data.len());
    let conf = folder.join("conf");
    if data_bytes == 0 && conf.exists() {
        std::fs::remove_file(&conf).map_err(|e| OpenError::from_io(&conf, e))?;
    }
    Ok(())
}

/// Deletes or renames the files of `folder` whose name is `chosen`.
fn set_aside(
    folder: &Path,
    how: &str,
    chosen: impl Fn(&str) -> bool,
) -> Result<Vec<PathBuf>, OpenError> {
    let mut done = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(done); // not made yet
    };
    for entry in entries {
        let path = entry.map_err(|e| OpenError::from_io(folder, e))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        if !chosen(name) {
            continue;
        }
        let result = if how == "delete" {
            std::fs::remove_file(&path)
        } else {
            std::fs::rename(&path, folder.join(format!("aside.{name}")))
        };
        result.map_err(|e| OpenError::from_io(&path, e))?;
        done.push(path);
    }
    Ok(done)
}

#[allow(
    clippy::disallowed_methods,
    reason = "waits for threads of this process to end, which no simulated clock can hasten"
)]
fn open_when_let_go(config: &sled::Config) -> sled::Result<sled::Db> {
    let mut tries = 0;
    loop {
        match guarded(|| config.open()) {
            Err(sled::Error::Io(cause))
                if tries < LOCK_TRIES && cause.to_string().contains("could not acquire lock") =>
            {
                tries += 1;
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            other => return other,
        }
    }
}

fn open_error(folder: &Path, error: sled::Error) -> OpenError {
    match error {
        sled::Error::Io(cause) if cause.to_string().contains("could not acquire lock") => {
            OpenError::Locked {
                folder: folder.to_owned(),
            }
        }
        sled::Error::Io(cause) => OpenError::from_io(folder, cause),
        other => damaged(folder, &other),
    }
}

/// What sled cannot read.
pub(super) fn damaged(folder: &Path, error: &sled::Error) -> OpenError {
    let what = match error {
        sled::Error::ReportableBug(words) | sled::Error::Unsupported(words) => words.clone(),
        sled::Error::Corruption { .. } => "sled finds bytes that it did not write".into(),
        other => other.to_string(),
    };
    OpenError::Corrupt {
        path: folder.to_owned(),
        detail: format!("{what}; take the store from a backup"),
    }
}
