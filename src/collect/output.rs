//! The archive that is written, with what is known from it and from the notes beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::CollectError;
use super::ledger::{Fate, Ledger};
use super::notes::{Note, Notes};
use crate::archive::{ArchiveError, ArchivedResponse, StoredAnswer, WarcWriter, recover};
use crate::clock::Timestamp;
use crate::url::{CanonicalUrl, HostKey};

/// After so many records the file is synced.
const RECORDS_BETWEEN_SYNCS: u32 = 256;

/// A WARC file to collect into, new or begun by an earlier start.
#[derive(Debug)]
pub struct Output {
    writer: WarcWriter,
    notes: Notes,
    pub(super) ledger: Ledger,
    /// Hosts that asked to be left alone, and until when.
    pub(super) holds: Vec<(HostKey, Timestamp)>,
    is_resumed: bool,
    torn: u64,
    unsynced: u32,
}

impl Output {
    /// Opens the archive at `path` or begins it, with the notes at `path` + `.notes`. What a crash
    /// left torn is cut off. With `retry_failed` what failed for good counts as never asked for.
    ///
    /// # Errors
    /// [`CollectError`], also if the archive was begun by another program than `software` or is
    /// being written by another process.
    pub fn open(
        path: &Path,
        software: &str,
        retry_failed: bool,
        now: Timestamp,
    ) -> Result<Self, CollectError> {
        let notes_path = Self::notes_path(path);
        let has_notes = notes_path.exists();
        let (notes, noted) = Notes::open(&notes_path)?;
        let mut ledger = Ledger::default();
        let mut holds = Vec::new();
        for note in noted {
            match note {
                Note::Failed { url, cause, .. } => {
                    if !retry_failed {
                        let fate = Fate::Failed(Arc::from(cause));
                        ledger.set(CanonicalUrl::from_stored(url), fate);
                    }
                }
                Note::Held { host, until_ms, .. } => {
                    holds.push((HostKey::from_stored(&host), Timestamp(until_ms)));
                }
            }
        }
        let is_resumed = fs::metadata(path).is_ok_and(|file| file.len() > 0);
        if !is_resumed {
            begin(path, software, now)?;
        }
        // After the notes: what is in the archive is not failed, whatever a note says.
        let found = recover(path, software, |url, answer| {
            if let Some(fate) = fate_of(&url, &answer) {
                ledger.set(url, fate);
            }
        })
        .map_err(|error| {
            if !has_notes {
                // Nothing is left beside a file that is none of ours.
                let _ = fs::remove_file(&notes_path);
            }
            CollectError::Archive(error)
        })?;
        let writer = WarcWriter::resume(path, found.whole).map_err(CollectError::Write)?;
        Ok(Self {
            writer,
            notes,
            ledger,
            holds,
            is_resumed,
            torn: found.torn,
            unsynced: 0,
        })
    }

    /// Where the notes on failures lie for an archive at `path`.
    pub fn notes_path(path: &Path) -> PathBuf {
        beside(path, ".notes")
    }

    /// Whether an earlier start has begun the archive.
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// Bytes of a torn last record that were cut off.
    pub fn torn(&self) -> u64 {
        self.torn
    }

    pub(super) fn write_answer(&mut self, answer: &StoredAnswer<'_>) -> Result<(), CollectError> {
        self.writer
            .write_answer(answer)
            .map_err(CollectError::Write)?;
        self.unsynced += 1;
        if self.unsynced >= RECORDS_BETWEEN_SYNCS {
            self.sync()?;
        }
        Ok(())
    }

    pub(super) fn write_note(&mut self, note: &Note) -> Result<(), CollectError> {
        self.notes.write(note)
    }

    pub(super) fn sync(&mut self) -> Result<(), CollectError> {
        self.unsynced = 0;
        self.writer.sync().map_err(CollectError::Write)
    }
}

/// Begins the archive beside its place and renames it: it is never there without its first record.
fn begin(path: &Path, software: &str, now: Timestamp) -> Result<(), CollectError> {
    let part = beside(path, ".part");
    // A crash may have left one.
    let _ = fs::remove_file(&part);
    let mut writer = WarcWriter::create(&part, software, now).map_err(CollectError::Write)?;
    writer.sync().map_err(CollectError::Write)?;
    fs::rename(&part, path).map_err(|cause| {
        CollectError::Write(ArchiveError::Write {
            path: path.to_owned(),
            action: "create",
            cause,
        })
    })
}

/// What a stored answer says of its URL; `None` for one that this module does not write.
fn fate_of(url: &CanonicalUrl, answer: &ArchivedResponse) -> Option<Fate> {
    match answer.redirect_target(url) {
        Some(target) => target.ok().map(Fate::Redirect),
        None => (200..300).contains(&answer.status).then_some(Fate::Page),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
