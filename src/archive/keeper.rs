//! The WARC files of one crawl: a folder of them, one after another, each up to a size.
//!
//! Whoever keeps pages also keeps, in a log of its own, where each ended ([`KeptAt`]). At the next
//! opening the folder is cut to the last of those ends: what lies beyond was never booked.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;

use super::error::{ArchiveError, Flaw};
use super::kept::KeptPage;
use super::member::digest_text;
use super::record::{Head, read_head};
use super::writer::WarcWriter;
use crate::clock::Timestamp;
use crate::url::CanonicalUrl;

/// A file is ended when it has this many bytes.
const FILE_BYTES_MAX: u64 = 1_000_000_000;

/// Payloads that are remembered to be referred to; the oldest is forgotten first.
const PAYLOADS_MAX: usize = 100_000;

/// No record that is written here has longer headers.
const HEAD_BYTES_MAX: u64 = 64 << 10;

/// Where the records of a page stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptAt {
    /// The number of the file; the first is 1.
    pub file: u32,
    /// Where the answer's record begins, in bytes.
    pub offset: u64,
    /// Where the last of its records ends.
    pub end: u64,
}

/// The WARC files of one crawl, being written.
#[derive(Debug)]
pub struct Keeper {
    folder: PathBuf,
    /// Before the number in a file's name.
    name: String,
    software: String,
    /// More fields for each `warcinfo`.
    about: Vec<(&'static str, String)>,
    file_bytes_max: u64,
    /// The number of the file that is written to, or was last.
    number: u32,
    writer: Option<WarcWriter>,
    /// Files that have been written to since they were last synced.
    unsynced: Vec<File>,
    payloads: Payloads,
}

/// Where a payload was seen first.
#[derive(Debug, Default)]
struct Payloads {
    known: HashMap<[u8; 20], (CanonicalUrl, String)>,
    order: VecDeque<[u8; 20]>,
}

impl Payloads {
    fn remember(&mut self, payload: [u8; 20], url: &CanonicalUrl, date: &str) {
        if self.order.len() >= PAYLOADS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.order.push_back(payload);
        self.known.insert(payload, (url.clone(), date.to_owned()));
    }
}

impl Keeper {
    /// Opens the folder of a crawl named `name`, made if need be, and cuts it to `last`, the end that
    /// was booked last. A file is begun when the first page is kept; `about` are fields of its
    /// `warcinfo` record, such as the crawl's spec.
    ///
    /// # Errors
    /// [`ArchiveError::Shortened`] if the file ends before `last`, [`ArchiveError::Write`].
    pub fn open(
        folder: &Path,
        name: &str,
        software: &str,
        about: Vec<(&'static str, String)>,
        last: Option<KeptAt>,
    ) -> Result<Self, ArchiveError> {
        let mut keeper = Self {
            folder: folder.to_path_buf(),
            name: name.to_owned(),
            software: software.to_owned(),
            about,
            file_bytes_max: FILE_BYTES_MAX,
            number: last.map_or(0, |last| last.file),
            writer: None,
            unsynced: Vec::new(),
            payloads: Payloads::default(),
        };
        let failed = |action, cause| ArchiveError::Write {
            path: folder.to_path_buf(),
            action,
            cause,
        };
        fs::create_dir_all(folder).map_err(|cause| failed("create", cause))?;
        keeper
            .remove_unbooked()
            .map_err(|cause| failed("clear", cause))?;
        if let Some(last) = last {
            keeper.writer = Some(WarcWriter::resume(&keeper.path(last.file), last.end)?);
        }
        Ok(keeper)
    }

    /// Ends files at this size.
    #[cfg(test)]
    pub(super) fn with_file_bytes_max(mut self, bytes: u64) -> Self {
        self.file_bytes_max = bytes;
        self
    }

    /// Removes files beyond the one that was booked last.
    fn remove_unbooked(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if self
                .number_of(&path)
                .is_some_and(|number| number > self.number)
            {
                tracing::warn!("removing {}: nothing in it was booked", path.display());
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    fn number_of(&self, path: &Path) -> Option<u32> {
        let name = path.file_name()?.to_str()?;
        let number = name.strip_prefix(&self.name)?.strip_prefix('-')?;
        number.strip_suffix(".warc.gz")?.parse().ok()
    }

    /// The path of file `number`.
    pub fn path(&self, number: u32) -> PathBuf {
        self.folder
            .join(format!("{}-{number:05}.warc.gz", self.name))
    }

    /// Remembers the payload of `page` if it is that of the page kept `at` somewhere: what was kept before
    /// the process began is not in memory. A place that cannot be read makes it no error: the page is kept
    /// whole then.
    pub fn recall(&mut self, page: &KeptPage, at: KeptAt) {
        let Some(payload) = page.payload else { return };
        if self.payloads.known.contains_key(&payload) {
            return;
        }
        match self.head_at(at) {
            Ok(head) if head.payload_digest() == Some(&*digest_text(&payload)) => {
                let original = head.original();
                if let Some((Ok(url), date)) =
                    original.map(|(url, date)| (CanonicalUrl::parse(url), date))
                {
                    self.payloads.remember(payload, &url, date);
                }
            }
            Ok(_) => {}
            Err(flaw) => tracing::debug!(?at, %flaw, "no record to refer to"),
        }
    }

    /// The headers of the first record of a page.
    fn head_at(&self, at: KeptAt) -> Result<Head, Flaw> {
        let mut file = File::open(self.path(at.file))?;
        file.seek(SeekFrom::Start(at.offset))?;
        let member = GzDecoder::new(BufReader::new(file));
        read_head(&mut BufReader::new(member.take(HEAD_BYTES_MAX)))
    }

    /// Appends a page with its judgement, given as fields. Nothing is sure to outlive a crash of the
    /// machine before [`unsynced`](Self::unsynced) was synced.
    ///
    /// # Errors
    /// [`ArchiveError::Write`]; the file then ends with the record before.
    pub fn keep(
        &mut self,
        page: KeptPage,
        judgement: &[(&str, String)],
        now: Timestamp,
    ) -> Result<KeptAt, ArchiveError> {
        let payload = page.payload;
        let earlier = payload.and_then(|payload| self.payloads.known.get(&payload).cloned());
        let (url, date) = (page.url.clone(), page.date.clone());
        let members = page.members(earlier.as_ref(), judgement);
        let members = members.map_err(|cause| ArchiveError::Write {
            path: self.path(self.number),
            action: "zip a record for",
            cause,
        })?;
        let writer = self.writer(now)?;
        let offset = writer.append_members(&members)?;
        let end = writer.offset();
        if let (Some(payload), None) = (payload, earlier) {
            self.payloads.remember(payload, &url, &date);
        }
        if self.unsynced.is_empty()
            && let Some(writer) = &self.writer
        {
            self.unsynced.push(writer.handle()?);
        }
        Ok(KeptAt {
            file: self.number,
            offset,
            end,
        })
    }

    /// The writer of the present file, begun if need be.
    fn writer(&mut self, now: Timestamp) -> Result<&mut WarcWriter, ArchiveError> {
        let full = |writer: &WarcWriter| writer.offset() >= self.file_bytes_max;
        let open = self.writer.take().filter(|writer| !full(writer));
        let writer = match open {
            Some(writer) => writer,
            None => self.begin(now)?,
        };
        Ok(self.writer.insert(writer))
    }

    fn begin(&mut self, now: Timestamp) -> Result<WarcWriter, ArchiveError> {
        let number = self.number + 1;
        let path = self.path(number);
        let writer = WarcWriter::create_about(&path, &self.software, &self.about, now)?;
        // The name of a new file is synced with its folder.
        let folder = File::open(&self.folder).map_err(|cause| ArchiveError::Write {
            path: self.folder.clone(),
            action: "sync",
            cause,
        })?;
        self.unsynced.extend([folder, writer.handle()?]);
        self.number = number;
        Ok(writer)
    }

    /// The files that have been written to since this was last called: whoever takes them syncs them,
    /// before what was kept is called durable.
    pub fn unsynced(&mut self) -> Vec<File> {
        std::mem::take(&mut self.unsynced)
    }
}
