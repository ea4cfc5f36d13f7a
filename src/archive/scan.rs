//! One pass over an archive file: every stored answer with its place, and every damaged place.
//!
//! Damage costs as little as it can: after a bad record in a zipped file the pass goes on at the
//! next gzip member, found in the bytes themselves if need be. In a file that is not zipped nothing
//! tells where the next record begins, so there the pass ends.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use sha1::{Digest, Sha1};

use super::error::Flaw;
use super::headers;
use super::limits::{RECORD_BYTES_MAX, RESYNC_COUNT_MAX};
use super::record::{self, Head, Kind};
use super::response;
use super::stream::{Place, Stream};

/// Bytes that are read from the file at a time.
const READ_BYTES: usize = 128 << 10;

/// A stored answer.
pub(super) struct Answer {
    pub(super) place: Place,
    pub(super) head: Head,
    pub(super) status: u16,
    /// The content type of the answer (not of the record).
    pub(super) content_type: Option<String>,
    /// Of the payload, if the record lacks it and it was asked for.
    pub(super) digest: Option<[u8; 20]>,
}

/// What a pass works out beside what stands in the headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Digests {
    /// Nothing.
    AsStored,
    /// The SHA-1 of each payload whose record does not name it.
    Complete,
}

/// What a pass meets.
pub(super) enum Event {
    /// A whole record that holds an answer.
    Answer(Answer),
    /// A whole record that refers to an earlier answer.
    Revisit(Answer),
    /// A whole record of another kind.
    Other(Place),
    /// A place that cannot be used.
    Damage(Place, Flaw),
    /// Bytes of the file that were read so far; about every megabyte.
    Progress(u64),
}

/// What is known of the file after the pass.
pub(super) struct Passed {
    pub(super) zipped: bool,
    /// Bytes of the file that were read.
    pub(super) bytes: u64,
}

/// Goes over the whole file.
///
/// # Errors
/// What opening the file fails with; everything later is an [`Event::Damage`].
pub(super) fn scan(
    path: &Path,
    digests: Digests,
    report: &mut dyn FnMut(Event),
) -> io::Result<Passed> {
    let mut start = 0;
    let mut resyncs = 0;
    loop {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(start))?;
        let mut stream = Stream::new(file, start, READ_BYTES)?;
        let zipped = stream.is_zipped();
        let broken = pass(&mut stream, digests, report);
        let passed = Passed {
            zipped: zipped || start > 0,
            bytes: stream.position(),
        };
        let Some(place) = broken else {
            return Ok(passed);
        };
        resyncs += 1;
        let next = if zipped && resyncs <= RESYNC_COUNT_MAX {
            find_member(path, place.offset + 1)?
        } else {
            None
        };
        match next {
            Some(next) => start = next,
            None => return Ok(passed),
        }
    }
}

/// Reads records until the end (`None`) or until the stream itself is broken (the place).
fn pass<R: Read>(
    stream: &mut Stream<R>,
    digests: Digests,
    report: &mut dyn FnMut(Event),
) -> Option<Place> {
    let mut reported = stream.position();
    loop {
        let (place, flaw) = match record::next_record(stream) {
            Ok(None) => return None,
            Ok(Some((place, head))) => match take_record(stream, digests, place, head) {
                Ok(event) => {
                    report(event);
                    if stream.position() - reported >= 1 << 20 {
                        reported = stream.position();
                        report(Event::Progress(reported));
                    }
                    continue;
                }
                Err(flaw) => (place, flaw),
            },
            Err(broken) => broken,
        };
        let unreadable = matches!(flaw, Flaw::Gzip(_) | Flaw::UnexpectedEnd | Flaw::Io(_));
        report(Event::Damage(place, flaw));
        if unreadable || !stream.is_zipped() {
            return Some(place);
        }
        match stream.skip_member() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(_) => return Some(place),
        }
    }
}

/// Reads the rest of a record. A flaw means that what follows is not to be trusted either.
fn take_record<R: Read>(
    stream: &mut Stream<R>,
    digests: Digests,
    place: Place,
    head: Head,
) -> Result<Event, Flaw> {
    let length = head.length;
    let mut block = stream.by_ref().take(length);
    let http = match head.kind {
        Kind::Response | Kind::Revisit => Some(response::read_http_head(&mut block)),
        Kind::Resource | Kind::Other => None,
    };
    let is_missing = digests == Digests::Complete
        && matches!(head.kind, Kind::Response | Kind::Resource)
        && head.payload_digest().is_none();
    let digest = if is_missing {
        Some(read_digest(&mut block)?)
    } else {
        None
    };
    let left = block.limit();
    let passed = stream.skip(left)?;
    if passed < left {
        return Err(Flaw::CutOff {
            missing: left - passed,
            expected: length,
        });
    }
    if head.kind == Kind::Other || head.kind == Kind::Revisit && !matches!(http, Some(Ok(_))) {
        return Ok(Event::Other(place));
    }
    if length > RECORD_BYTES_MAX {
        return Ok(Event::Damage(place, Flaw::TooLong(length)));
    }
    let (status, content_type) = match http {
        None => (200, head.content_type().map(str::to_owned)),
        Some(Ok(http)) => {
            let content_type = headers::find(&http.headers, "Content-Type");
            (http.status, content_type.map(str::to_owned))
        }
        // The record is whole, only its block is foreign: the next one follows in its place.
        Some(Err(flaw)) => return Ok(Event::Damage(place, flaw)),
    };
    let is_revisit = head.kind == Kind::Revisit;
    let answer = Answer {
        place,
        head,
        status,
        content_type,
        digest,
    };
    Ok(if is_revisit {
        Event::Revisit(answer)
    } else {
        Event::Answer(answer)
    })
}

/// The SHA-1 of all that is left.
fn read_digest<R: BufRead>(block: &mut R) -> io::Result<[u8; 20]> {
    let mut hash = Sha1::new();
    loop {
        let ahead = block.fill_buf()?;
        if ahead.is_empty() {
            return Ok(hash.finalize().into());
        }
        hash.update(ahead);
        let length = ahead.len();
        block.consume(length);
    }
}

/// The offset of the next gzip member at or after `from` (RFC 1952, 2.3.1: its magic, method
/// deflate, no reserved flags).
pub(super) fn find_member(path: &Path, from: u64) -> io::Result<Option<u64>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut input = BufReader::with_capacity(READ_BYTES, file);
    let mut window = [0_u8; 4];
    let mut end = from;
    loop {
        let ahead = input.fill_buf()?;
        if ahead.is_empty() {
            return Ok(None);
        }
        for &byte in ahead {
            window = [window[1], window[2], window[3], byte];
            end += 1;
            if matches!(window, [0x1f, 0x8b, 8, flags] if flags & 0xe0 == 0) && end >= from + 4 {
                return Ok(Some(end - 4));
            }
        }
        let length = ahead.len();
        input.consume(length);
    }
}
