//! The file beside the archive: what failed for good, and which hosts asked to be left alone.
//!
//! JSON lines, appended one by one; a later line of a URL or host goes before an earlier one. A
//! crash leaves a torn last line at most, which is cut off.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::CollectError;
use crate::clock::Timestamp;

/// A longer line is none of ours.
const LINE_BYTES_MAX: usize = 64 << 10;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Note {
    /// A URL failed for good.
    Failed {
        url: String,
        /// As counted.
        cause: String,
        /// In words.
        detail: String,
        /// Milliseconds since 1970.
        at_ms: i64,
    },
    /// A host is to be left alone.
    Held {
        host: String,
        /// Milliseconds since 1970.
        until_ms: i64,
        cause: String,
    },
}

/// The open file. It is locked, so that one process at a time writes to the archive.
#[derive(Debug)]
pub(super) struct Notes {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Notes {
    /// Opens the file, made if need be, and reads what is in it.
    pub(super) fn open(path: &Path) -> Result<(Self, Vec<Note>), CollectError> {
        let failed = |cause| CollectError::Notes {
            path: path.to_owned(),
            cause,
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(CollectError::Busy(path.to_owned())),
            Err(TryLockError::Error(cause)) => return Err(failed(cause)),
        }
        let mut notes = Self {
            path: path.to_owned(),
            file,
            length: 0,
        };
        let read = notes.read()?;
        notes.cut_back().map_err(failed)?;
        Ok((notes, read))
    }

    /// Reads all whole lines and leaves `length` at their end.
    fn read(&mut self) -> Result<Vec<Note>, CollectError> {
        let mut notes = Vec::new();
        let mut lines = BufReader::new(&self.file);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            lines
                .read_until(b'\n', &mut line)
                .map_err(|cause| CollectError::Notes {
                    path: self.path.clone(),
                    cause,
                })?;
            if line.last() != Some(&b'\n') {
                break;
            }
            let problem = match serde_json::from_slice(&line) {
                _ if line.len() > LINE_BYTES_MAX => "the line is too long".to_owned(),
                Ok(note) => {
                    notes.push(note);
                    self.length += line.len() as u64;
                    continue;
                }
                Err(error) => format!("no note ({error})"),
            };
            return Err(CollectError::Note {
                path: self.path.clone(),
                line: number,
                problem,
            });
        }
        Ok(notes)
    }

    /// Appends a line.
    pub(super) fn write(&mut self, note: &Note) -> Result<(), CollectError> {
        let appended = serde_json::to_vec(note)
            .map_err(io::Error::from)
            .and_then(|mut line| {
                line.push(b'\n');
                self.file.write_all(&line).map(|()| line.len())
            });
        match appended {
            Ok(length) => {
                self.length += length as u64;
                Ok(())
            }
            Err(cause) => {
                if let Err(error) = self.cut_back() {
                    tracing::warn!("cannot cut {} back: {error}", self.path.display());
                }
                Err(CollectError::Notes {
                    path: self.path.clone(),
                    cause,
                })
            }
        }
    }

    fn cut_back(&mut self) -> io::Result<()> {
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::Start(self.length)).map(|_| ())
    }
}

impl Note {
    pub(super) fn failed(url: &str, cause: &str, detail: &str, at: Timestamp) -> Self {
        Self::Failed {
            url: url.to_owned(),
            cause: cause.to_owned(),
            detail: detail.chars().take(300).collect(),
            at_ms: at.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn notes_come_back_without_a_torn_last_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        let one = Note::failed("http://a.test/", "status 404", "status 404", Timestamp(5));
        let two = Note::Held {
            host: "a.test".into(),
            until_ms: 9,
            cause: "status 503".into(),
        };
        let (mut notes, read) = Notes::open(&path).unwrap();
        assert!(read.is_empty());
        notes.write(&one).unwrap();
        drop(notes);
        let mut torn = OpenOptions::new().append(true).open(&path).unwrap();
        torn.write_all(b"{\"url\":\"http://b").unwrap();
        drop(torn);
        let (mut notes, read) = Notes::open(&path).unwrap();
        assert_eq!(read, std::slice::from_ref(&one));
        notes.write(&two).unwrap();
        drop(notes);
        assert_eq!(Notes::open(&path).unwrap().1, [one, two]);
    }

    #[test]
    fn a_line_that_is_no_note_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        fs::write(
            &path,
            "{\"host\":\"a\",\"until_ms\":1,\"cause\":\"x\"}\nhello\n",
        )
        .unwrap();
        let error = Notes::open(&path).unwrap_err().to_string();
        assert!(error.contains("notes:2: no note"), "{error}");
    }

    #[test]
    fn one_process_at_a_time_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        let _first = Notes::open(&path).unwrap();
        let error = Notes::open(&path).unwrap_err().to_string();
        assert!(error.contains("another process"), "{error}");
    }
}
