//! Writes WARC/1.1 (ISO 28500:2017): one gzip member a record, so that any can be read alone.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::error::ArchiveError;
use super::member::{digest, format_date, one_line, record_id, record_text, zip};
use crate::clock::Timestamp;
use crate::url::CanonicalUrl;

/// Headers that describe how the body travelled; the body is written as it is now.
const DROPPED: &[&str] = &["content-encoding", "content-length", "transfer-encoding"];

/// An answer to be written.
#[derive(Clone, Copy, Debug)]
pub struct StoredAnswer<'a> {
    /// The URL that was asked for.
    pub url: &'a CanonicalUrl,
    /// When the answer came.
    pub fetched: Timestamp,
    /// The status, 100..=999.
    pub status: u16,
    /// The headers as they came. Content-Length is written anew; Content-Encoding and
    /// Transfer-Encoding are left out, since the body is written without them.
    pub headers: &'a [(String, String)],
    /// The body, decoded.
    pub body: &'a [u8],
}

/// A WARC file that grows record by record.
///
/// Each record is handed to the system in one write. If that fails, the file is cut back to its
/// last whole record. Nothing is sure to outlive a crash of the machine before
/// [`sync`](Self::sync).
#[derive(Debug)]
pub struct WarcWriter {
    path: PathBuf,
    file: File,
    offset: u64,
}

impl WarcWriter {
    /// Begins a new file with a `warcinfo` record; `software` says who writes, and `now` when.
    ///
    /// # Errors
    /// [`ArchiveError::Write`], also if the file exists.
    pub fn create(path: &Path, software: &str, now: Timestamp) -> Result<Self, ArchiveError> {
        Self::create_about(path, software, &[], now)
    }

    /// As [`create`](Self::create); `about` are more fields of the `warcinfo` record.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub(super) fn create_about(
        path: &Path,
        software: &str,
        about: &[(&str, String)],
        now: Timestamp,
    ) -> Result<Self, ArchiveError> {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let mut writer = Self::over(path, file, "create")?;
        let mut fields = format!(
            "software: {}\r\nformat: WARC File Format 1.1\r\n",
            one_line(software)
        );
        for (name, value) in about {
            let _ = write!(fields, "{name}: {}\r\n", one_line(value));
        }
        let head = [
            ("WARC-Type", "warcinfo".to_owned()),
            ("Content-Type", "application/warc-fields".to_owned()),
        ];
        writer.append(&head, now, fields.as_bytes())?;
        Ok(writer)
    }

    /// Goes on with a file of which `length` bytes are known to be whole records (the
    /// [`offset`](Self::offset) that was kept); what a crash left beyond them is cut off.
    ///
    /// # Errors
    /// [`ArchiveError::Shortened`] if the file is shorter, [`ArchiveError::Write`].
    pub fn resume(path: &Path, length: u64) -> Result<Self, ArchiveError> {
        let file = OpenOptions::new().write(true).open(path);
        let mut writer = Self::over(path, file, "open")?;
        let found = writer.file.seek(SeekFrom::End(0));
        let found = found.map_err(|cause| writer.failed("read", cause))?;
        if found < length {
            return Err(ArchiveError::Shortened {
                path: writer.path,
                found,
                expected: length,
            });
        }
        writer.offset = length;
        writer
            .cut_back()
            .map_err(|cause| writer.failed("cut back", cause))?;
        Ok(writer)
    }

    fn over(
        path: &Path,
        file: io::Result<File>,
        action: &'static str,
    ) -> Result<Self, ArchiveError> {
        let path = path.to_path_buf();
        match file {
            Ok(file) => Ok(Self {
                path,
                file,
                offset: 0,
            }),
            Err(cause) => Err(ArchiveError::Write {
                path,
                action,
                cause,
            }),
        }
    }

    /// Appends a `response` record and returns the offset at which it begins.
    ///
    /// # Errors
    /// [`ArchiveError::Write`]; the file then ends with the record before.
    pub fn write_answer(&mut self, answer: &StoredAnswer<'_>) -> Result<u64, ArchiveError> {
        let head = [
            ("WARC-Type", "response".to_owned()),
            ("WARC-Target-URI", answer.url.as_str().to_owned()),
            ("WARC-Payload-Digest", digest(answer.body)),
            (
                "Content-Type",
                "application/http; msgtype=response".to_owned(),
            ),
        ];
        self.append(&head, answer.fetched, &http_block(answer))
    }

    /// The length of the file: where the next record will begin.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Makes all that was written outlive a crash of the machine.
    ///
    /// # Errors
    /// [`ArchiveError::Write`].
    pub fn sync(&mut self) -> Result<(), ArchiveError> {
        self.file
            .sync_data()
            .map_err(|cause| self.failed("sync", cause))
    }

    /// The open file, to be synced elsewhere.
    ///
    /// # Errors
    /// [`ArchiveError::Write`].
    pub(super) fn handle(&self) -> Result<File, ArchiveError> {
        let handle = self.file.try_clone();
        handle.map_err(|cause| self.failed("sync", cause))
    }

    fn append(
        &mut self,
        head: &[(&str, String)],
        date: Timestamp,
        block: &[u8],
    ) -> Result<u64, ArchiveError> {
        let start = self.offset;
        let date = format_date(date);
        let block_digest = digest(block);
        let id = record_id(head, &date, &block_digest, start);
        let text = record_text(head, &id, &date, &block_digest, block.len());
        let member = zip(&[text.as_bytes(), block, b"\r\n\r\n"]);
        let member = member.map_err(|cause| self.failed("zip a record for", cause))?;
        self.append_members(&member)
    }

    /// Appends whole gzip members, in one write, and returns the offset at which they begin.
    ///
    /// # Errors
    /// [`ArchiveError::Write`]; the file then ends with the record before.
    pub(super) fn append_members(&mut self, members: &[u8]) -> Result<u64, ArchiveError> {
        let start = self.offset;
        match self.file.write_all(members) {
            Ok(()) => {
                self.offset += members.len() as u64;
                Ok(start)
            }
            Err(cause) => {
                if let Err(error) = self.cut_back() {
                    tracing::warn!("cannot cut {} back: {error}", self.path.display());
                }
                Err(self.failed("append to", cause))
            }
        }
    }

    fn cut_back(&mut self) -> io::Result<()> {
        self.file.set_len(self.offset)?;
        self.file.seek(SeekFrom::Start(self.offset)).map(|_| ())
    }

    fn failed(&self, action: &'static str, cause: io::Error) -> ArchiveError {
        ArchiveError::Write {
            path: self.path.clone(),
            action,
            cause,
        }
    }
}

/// The answer as HTTP/1.1 would have sent it, whole.
fn http_block(answer: &StoredAnswer<'_>) -> Vec<u8> {
    let reason = hyper::StatusCode::from_u16(answer.status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or_default();
    let mut head = format!("HTTP/1.1 {} {reason}\r\n", answer.status);
    for (name, value) in answer.headers {
        let dropped = DROPPED
            .iter()
            .any(|dropped| name.eq_ignore_ascii_case(dropped));
        if !dropped {
            let _ = write!(head, "{}: {}\r\n", one_line(name), one_line(value));
        }
    }
    let _ = write!(head, "Content-Length: {}\r\n\r\n", answer.body.len());
    let mut block = head.into_bytes();
    block.extend_from_slice(answer.body);
    block
}
