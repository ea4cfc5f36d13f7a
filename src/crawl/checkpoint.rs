//! What was learned, written down beside the log: a crawl that is opened again reads it and learns from the
//! events after it, instead of from all of them.
//!
//! It hangs on the log and says nothing that the log does not: a checkpoint that is missing, damaged, of
//! another program or of other events is left aside, and all is learned again. It is taken where an epoch
//! begins, for there all that was learned is in force; a copy is made at once, and written by another thread
//! when the epoch itself is durable.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use flate2::Compression;
use tokio::task::JoinHandle;

use super::engine::Engine;
use super::learners::LearnersAt;
use super::page_reader::PageReader;
use super::parts::LearnedFile;
use super::trainee::Settings;
use crate::apprentice::{self, CheckpointLater, LinkScorer};
use crate::booking::{self, EpochEvent, Event, Seq};
use crate::clock::Clock;
use crate::critic::frame::{self, FrameError};
use crate::critic::{Teachable, write_beside};
use crate::features::FEATURES_VERSION;
use crate::fetch::Source;
use crate::store::free_bytes;

const MAGIC: &[u8; 8] = b"APPRCHKP";
/// Goes up when a record means something else, also when the same events would teach something else.
const FORMAT: u32 = 1;
/// The longest record; one of a million pages has some 100 MB.
const RECORD_BYTES_MAX: u64 = 1 << 30;
/// A large crawl is written down each time that this part of its pages has come anew.
const SHARE: u64 = 32;
/// Bytes that must be free beyond the file's own: the log needs them more.
const ROOM: u64 = 256 << 20;

/// What is in the file.
#[derive(serde::Serialize, serde::Deserialize)]
struct Record {
    program: String,
    features: u32,
    /// Of the names of the judge's classes and its version.
    judge: u64,
    /// The event that booked the epoch, and its digest.
    seq: u64,
    event: u64,
    validated: Vec<LearnersAt>,
    learned: apprentice::Checkpoint,
}

/// A copy that waits until its epoch is durable.
struct Copied {
    seq: Seq,
    event: u64,
    judge: u64,
    learned: CheckpointLater,
    validated: Vec<LearnersAt>,
}

/// What the file gave, until the log has come to its epoch.
struct Restored {
    scorer: Box<dyn LinkScorer>,
    reader: PageReader,
    validated: Vec<LearnersAt>,
}

/// The checkpoints of a crawl.
#[derive(Default)]
pub(super) struct Checkpoints {
    file: Option<LearnedFile>,
    /// The event of the epoch that the crawl was opened with.
    restored: Option<Seq>,
    to_put: Option<Restored>,
    /// Judged pages when the last copy was made.
    pages: u64,
    waiting: Option<Copied>,
    writing: Option<JoinHandle<()>>,
}

impl Checkpoints {
    pub(super) fn in_file(file: Option<LearnedFile>) -> Self {
        Self {
            file,
            ..Self::default()
        }
    }

    /// The event of the epoch that the crawl was opened with, if it was.
    pub(super) fn restored(&self) -> Option<Seq> {
        self.restored
    }
}

impl<S: Source, C: Clock> Engine<S, C> {
    /// Reads what was learned, if it was written down and is of this log.
    pub(super) fn restore_learned(&mut self) {
        let Some(path) = self.learning.checkpoints.file.as_ref() else {
            return;
        };
        let path = path.path.clone();
        let crawl = &self.spec.name;
        match read(&path) {
            Ok(None) => {}
            Ok(Some(record)) => {
                let (seq, pages) = (Seq(record.seq), record.validated.last());
                let pages = pages.map_or(0, |at| at.pages);
                match self.restored(record) {
                    Ok(restored) => {
                        tracing::info!(crawl, event = seq.0, pages, "what was learned is read");
                        self.learning.checkpoints.restored = Some(seq);
                        self.learning.checkpoints.to_put = Some(restored);
                    }
                    Err(why) => leave_aside(crawl, &path, &why),
                }
            }
            Err(why) => leave_aside(crawl, &path, &why),
        }
    }

    fn restored(&self, record: Record) -> Result<Restored, String> {
        if record.program != PROGRAM || record.features != FEATURES_VERSION {
            return Err(format!("it was written by {}", record.program));
        }
        if record.judge != self.judge_digest() {
            return Err("it is of another judge".to_owned());
        }
        let event = self.store.event(Seq(record.seq));
        let epoch = match event.map_err(|error| error.to_string())? {
            Some(event) if digest(&event) == record.event => match event {
                Event::Epoch(epoch) => epoch,
                _ => return Err("it is of no epoch".to_owned()),
            },
            _ => return Err(format!("event {} of the log is another", record.seq)),
        };
        let settings =
            Settings::of(&epoch.recipe, self.spec.labels).map_err(|error| error.to_string())?;
        let mut scorer = settings.scorer(self.spec.seed, None);
        scorer.restore(record.learned)?;
        let reader = PageReader::new(
            Arc::clone(&self.store),
            self.bench.judge.clone(),
            self.weights_of(settings.order),
        );
        Ok(Restored {
            scorer,
            reader,
            validated: record.validated,
        })
    }

    /// The log has come to the epoch of the checkpoint.
    pub(super) fn put_restored(&mut self, epoch: &EpochEvent) {
        let Some(restored) = self.learning.checkpoints.to_put.take() else {
            return;
        };
        self.exchange_learner(restored.scorer, restored.reader);
        self.learning.validated = restored.validated;
        self.learning.from_start = epoch.recipe.from_start;
        self.learning.epochs.instances = epoch.instances;
        self.learning.checkpoints.pages = epoch.pages;
    }

    /// The epoch that event `seq` booked begins: a copy is made for the file if it is time, or `now`.
    pub(super) fn note_checkpoint(&mut self, seq: Seq, now: bool) {
        let Some(file) = &self.learning.checkpoints.file else {
            return;
        };
        let pages = self.learning.epochs.pages;
        let new = pages.saturating_sub(self.learning.checkpoints.pages);
        if !now && new < file.every.max(pages / SHARE) {
            return;
        }
        let (Some(learned), Ok(Some(event))) =
            (self.scorer.checkpoint_later(), self.store.event(seq))
        else {
            return;
        };
        self.learning.checkpoints.pages = pages;
        self.learning.checkpoints.waiting = Some(Copied {
            seq,
            event: digest(&event),
            judge: self.judge_digest(),
            learned,
            validated: self.learning.validated.clone(),
        });
    }

    /// Writes the copy down if its epoch is durable, and no other one is being written.
    pub(super) fn write_checkpoint_if_due(&mut self) {
        let checkpoints = &mut self.learning.checkpoints;
        let Some(waiting) = &checkpoints.waiting else {
            return;
        };
        let is_writing = checkpoints.writing.as_ref();
        if is_writing.is_some_and(|writing| !writing.is_finished())
            || waiting.seq > self.store.durable()
        {
            return;
        }
        if let (Some(copied), Some(file)) = (checkpoints.waiting.take(), &checkpoints.file) {
            let (path, crawl) = (file.path.clone(), self.spec.name.clone());
            checkpoints.writing = Some(tokio::task::spawn_blocking(move || {
                let seq = copied.seq;
                match write(copied, &path) {
                    Ok(bytes) => {
                        tracing::debug!(crawl, event = seq.0, bytes, "what was learned is kept");
                    }
                    // The crawl goes on; only the next start takes longer.
                    Err(error) => tracing::warn!(
                        crawl,
                        "{}: what was learned cannot be kept: {error}",
                        path.display()
                    ),
                }
            }));
        }
    }

    /// The same at the end of all work; returns when nothing is being written.
    pub(super) async fn end_checkpoints(&mut self) {
        for _ in 0..2 {
            if let Some(writing) = self.learning.checkpoints.writing.take() {
                // It has told of its own failures; a panic in it has been printed.
                let _ = writing.await;
            }
            self.write_checkpoint_if_due();
        }
    }

    fn judge_digest(&self) -> u64 {
        let judge = self.teaching.base();
        let version = judge.teachable().map_or(0, Teachable::version);
        let names = judge.class_names().join("\n");
        xxhash_rust::xxh3::xxh3_64_with_seed(names.as_bytes(), version)
    }
}

const PROGRAM: &str = concat!("apprentice ", env!("CARGO_PKG_VERSION"));

fn leave_aside(crawl: &str, path: &Path, why: &str) {
    tracing::warn!(
        crawl,
        "{}: {why}; all is learned again from the log, and written anew",
        path.display()
    );
}

fn digest(event: &Event) -> u64 {
    xxhash_rust::xxh3::xxh3_64(&booking::encode(event))
}

/// What is in the file; `None` if there is none.
fn read(path: &Path) -> Result<Option<Record>, String> {
    match fs::metadata(path) {
        Ok(about) if about.len() > RECORD_BYTES_MAX => {
            return Err(format!("{} bytes are too many", about.len()));
        }
        _ => {}
    }
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if !bytes.starts_with(MAGIC) {
        return Err("it is no checkpoint".to_owned());
    }
    if bytes.get(MAGIC.len()..MAGIC.len() + 4) != Some(&FORMAT.to_le_bytes()) {
        return Err("its format is another".to_owned());
    }
    let record = frame::unpack(&bytes, RECORD_BYTES_MAX).map_err(|error| match error {
        FrameError::Truncated(wanted) => format!("truncated: {} bytes of {wanted}", bytes.len()),
        FrameError::Damaged(problem) => format!("damaged ({problem})"),
    })?;
    drop(bytes);
    match postcard::from_bytes(&record) {
        Ok(record) => Ok(Some(record)),
        Err(error) => Err(format!("damaged ({error})")),
    }
}

/// Writes the file; gives its size.
fn write(copied: Copied, path: &Path) -> Result<u64, String> {
    let record = Record {
        program: PROGRAM.to_owned(),
        features: FEATURES_VERSION,
        judge: copied.judge,
        seq: copied.seq.0,
        event: copied.event,
        validated: copied.validated,
        learned: (copied.learned)(),
    };
    let packed = postcard::to_stdvec(&record).map_err(|error| error.to_string())?;
    drop(record);
    if packed.len() as u64 > RECORD_BYTES_MAX {
        return Err(format!("{} bytes are too many", packed.len()));
    }
    let bytes = frame::pack(MAGIC, FORMAT, &packed, Compression::fast());
    let bytes = bytes.map_err(|error| error.to_string())?;
    let size = bytes.len() as u64;
    let folder = path.parent().unwrap_or(Path::new("."));
    let free = free_bytes(folder).map_err(|error| error.to_string())?;
    if free < size.saturating_add(ROOM) {
        return Err(format!(
            "{free} bytes are free on the disk, and the log comes first"
        ));
    }
    write_beside(path, &bytes).map_err(|error| error.to_string())?;
    Ok(size)
}
