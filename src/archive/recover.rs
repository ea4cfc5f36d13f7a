//! Finds where an archive that was being written ends: after its last whole record.
//!
//! [`WarcWriter`](super::WarcWriter) writes a gzip member a record. A process killed in the middle
//! leaves a torn last member, which unzips to nothing whole, or fails its checksum.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::bufread::GzDecoder;

use super::counted::Counted;
use super::error::{ArchiveError, Damage, Flaw};
use super::limits::RECORD_BYTES_MAX;
use super::record::{self, Kind};
use super::response::ArchivedResponse;
use super::scan::find_member;
use crate::url::CanonicalUrl;

/// Bytes that are read from the file at a time.
const READ_BYTES: usize = 128 << 10;
/// Bytes that a record's own headers may have on top of its block.
const HEAD_BYTES_MAX: u64 = 1 << 20;

/// What was found in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Bytes up to the end of the last whole record.
    pub whole: u64,
    /// Bytes beyond them, of a record that was never finished.
    pub torn: u64,
}

/// Goes over an archive that [`WarcWriter`](super::WarcWriter) wrote and gives `visit` each answer in
/// it. Every byte is checked: gzip's checksums, and that each member is one record.
///
/// # Errors
/// [`ArchiveError::NotOurs`] if the file does not begin with a `warcinfo` record by `software`
/// (the text before the first `/` counts), [`ArchiveError::Damaged`] if whole records follow a
/// damaged one: then it is no torn end, and cutting would lose them.
pub fn recover(
    path: &Path,
    software: &str,
    mut visit: impl FnMut(CanonicalUrl, ArchivedResponse),
) -> Result<Recovered, ArchiveError> {
    let failed = |cause| ArchiveError::Open {
        path: path.to_path_buf(),
        cause,
    };
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let mut input = Counted::new(&file, READ_BYTES, 0);
    let mut whole = 0;
    let flaw = loop {
        if whole == size {
            return Ok(Recovered { whole, torn: 0 });
        }
        let record = match read_member(&mut input) {
            Ok(record) => record,
            // What the system cannot read is not torn.
            Err(Flaw::Io(words)) => return Err(failed(io::Error::other(words))),
            Err(flaw) => break flaw,
        };
        if whole == 0 && !is_info_by(&record, software) {
            break Flaw::Foreign;
        }
        match read_record(&record) {
            Ok(Some((url, answer))) => visit(url, answer),
            Ok(None) => {}
            Err(flaw) => break flaw,
        }
        whole = input.position;
    };
    if whole == 0 {
        let path = path.to_path_buf();
        return Err(ArchiveError::NotOurs { path, flaw });
    }
    if let Some(next) = next_whole(path, &file, whole + 1).map_err(failed)? {
        let damage = Damage::new(path, whole, flaw);
        return Err(ArchiveError::Damaged { damage, next });
    }
    Ok(Recovered {
        whole,
        torn: size - whole,
    })
}

/// Unzips the member that begins here.
fn read_member<R: Read>(input: &mut Counted<R>) -> Result<Vec<u8>, Flaw> {
    let bytes_max = RECORD_BYTES_MAX + HEAD_BYTES_MAX;
    let mut record = Vec::new();
    GzDecoder::new(input)
        .take(bytes_max + 1)
        .read_to_end(&mut record)?;
    if record.len() as u64 > bytes_max {
        return Err(Flaw::TooLong(record.len() as u64));
    }
    Ok(record)
}

/// Reads the one record of a member; `None` if it is no answer for a URL.
fn read_record(mut record: &[u8]) -> Result<Option<(CanonicalUrl, ArchivedResponse)>, Flaw> {
    let head = record::read_head(&mut record)?;
    let block = record::read_block(&mut record, head.length)?;
    if record != b"\r\n\r\n" {
        return Err(Flaw::Foreign);
    }
    let url = head.target().map(CanonicalUrl::parse).and_then(Result::ok);
    match (head.kind, url) {
        (Kind::Response, Some(url)) => Ok(Some((url, ArchivedResponse::from_http(block)?))),
        _ => Ok(None),
    }
}

/// Whether it is a `warcinfo` record that `software` wrote, of whichever version.
fn is_info_by(record: &[u8], software: &str) -> bool {
    let name = software.split('/').next().unwrap_or_default();
    let text = String::from_utf8_lossy(record);
    text.contains("WARC-Type: warcinfo\r\n") && text.contains(&format!("\r\nsoftware: {name}"))
}

/// The offset of the first whole record at or after `from`.
fn next_whole(path: &Path, mut file: &File, mut from: u64) -> io::Result<Option<u64>> {
    while let Some(offset) = find_member(path, from)? {
        file.seek(SeekFrom::Start(offset))?;
        let found = read_member(&mut Counted::new(file, READ_BYTES, 0))
            .and_then(|record| read_record(&record));
        if found.is_ok() {
            return Ok(Some(offset));
        }
        from = offset + 1;
    }
    Ok(None)
}
