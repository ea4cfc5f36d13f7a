//! A data directory, held by one daemon at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock::Clock;

/// A process that was killed holds its lock until the system has taken it down, which takes moments: so
/// long is a lock waited for ..
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// .. and so often it is tried.
const LOCK_RETRY: Duration = Duration::from_millis(50);

/// A data directory with its lock. The lock is the operating system's: it goes with the process,
/// however the process ends.
#[derive(Debug)]
pub struct DataDir {
    root: PathBuf,
    _lock: File,
}

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// Another daemon has it.
    #[error(
        "data directory {root} is in use by another daemon{holder}; stop that one or give another --data"
    )]
    Locked {
        /// The directory.
        root: PathBuf,
        /// ` (process N)`, if that is known.
        holder: String,
    },
    /// It cannot be made or written.
    #[error(
        "cannot use data directory {root}: {path}: {error}; check its permissions or give another --data"
    )]
    Io {
        /// The directory.
        root: PathBuf,
        /// What failed.
        path: PathBuf,
        /// How.
        error: std::io::Error,
    },
}

impl DataDir {
    /// Makes the directory if need be, readable by its owner only, and locks it.
    ///
    /// # Errors
    /// [`DataDirError`] if another daemon has it or it cannot be written.
    pub fn open(root: &Path) -> Result<Self, DataDirError> {
        let io = |path: &Path| {
            let path = path.to_path_buf();
            let root = root.to_path_buf();
            move |error| DataDirError::Io { root, path, error }
        };
        let crawls = root.join("crawls");
        make_private(root).map_err(io(root))?;
        fs::create_dir_all(&crawls).map_err(io(&crawls))?;
        let path = root.join("lock");
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Only for the message: an unreadable holder is left out of it.
                let _ = lock.read_to_string(&mut holder);
                let holder = match holder.trim().parse::<u32>() {
                    Ok(process) => format!(" (process {process})"),
                    Err(_) => String::new(),
                };
                return Err(DataDirError::Locked {
                    root: root.to_path_buf(),
                    holder,
                });
            }
            Err(TryLockError::Error(error)) => return Err(io(&path)(error)),
        }
        lock.set_len(0)
            .and_then(|()| lock.rewind())
            .and_then(|()| writeln!(lock, "{}", std::process::id()))
            .map_err(io(&path))?;
        Ok(Self {
            root: root.to_path_buf(),
            _lock: lock,
        })
    }

    /// As [`open`](Self::open), but waits a moment (2 s) for a lock that is held: the daemon that has it
    /// may have been killed just now.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_patiently(root: &Path, clock: &impl Clock) -> Result<Self, DataDirError> {
        let deadline = clock.now().after(LOCK_PATIENCE);
        loop {
            match Self::open(root) {
                Err(DataDirError::Locked { .. }) if clock.now() < deadline => {
                    clock.sleep_until(clock.now().after(LOCK_RETRY)).await;
                }
                ended => return ended,
            }
        }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder that holds the crawls.
    pub fn crawls(&self) -> PathBuf {
        self.root.join("crawls")
    }
}

#[cfg(unix)]
fn make_private(root: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(root)
}

#[cfg(not(unix))]
fn make_private(root: &Path) -> std::io::Result<()> {
    fs::create_dir_all(root)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::clock::{SimulatedClock, Timestamp};

    #[test]
    fn a_second_daemon_is_refused_and_told_who_holds_it() {
        let root = tempfile::tempdir().unwrap();
        let first = DataDir::open(root.path()).unwrap();
        let error = DataDir::open(root.path()).unwrap_err().to_string();
        assert!(
            error.contains(&format!("process {}", std::process::id())),
            "{error}"
        );
        drop(first);
        DataDir::open(root.path()).unwrap();
    }

    /// A clock at which somebody holds a directory until a second has gone by.
    #[derive(Clone)]
    struct Holding(SimulatedClock, Arc<Mutex<Option<DataDir>>>);

    impl Clock for Holding {
        fn now(&self) -> Timestamp {
            self.0.now()
        }

        async fn sleep_until(&self, until: Timestamp) {
            self.0.sleep_until(until).await;
            if self.now() >= Timestamp(1_000) {
                self.1.lock().unwrap().take();
            }
        }
    }

    #[tokio::test]
    async fn a_lock_that_is_let_go_within_moments_is_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let first = DataDir::open(root.path()).unwrap();
        let simulated = SimulatedClock::starting_at(Timestamp(0));
        let clock = Holding(simulated, Arc::new(Mutex::new(Some(first))));
        let second = DataDir::open_patiently(root.path(), &clock).await.unwrap();
        assert_eq!(clock.now(), Timestamp(1_000));
        // One that is held for good is refused, as ever.
        let refused = DataDir::open_patiently(root.path(), &clock).await;
        assert!(matches!(refused, Err(DataDirError::Locked { .. })));
        assert_eq!(clock.now(), Timestamp(3_000));
        drop(second);
    }

    #[test]
    fn a_path_that_is_a_file_is_named() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "x").unwrap();
        let error = DataDir::open(&file).unwrap_err().to_string();
        assert!(error.contains("file"), "{error}");
    }
}
