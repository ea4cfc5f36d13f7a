//! WARC records (ISO 28500, versions 1.0 and 1.1), one after the other.

use std::io::{BufRead, Read};

use super::error::{Flaw, excerpt};
use super::headers::{self, Headers};
use super::limits::{LINE_BYTES_MAX, RECORD_BYTES_MAX};
use super::stream::{Place, Stream};

/// Empty bytes between two records that are passed over; the standard has four.
const GAP_BYTES_MAX: u64 = 64 << 10;

/// What kind of record it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An HTTP answer as it came.
    Response,
    /// A thing without a protocol around it.
    Resource,
    /// A reference to an answer that was the same.
    Revisit,
    /// Everything else: not read here.
    Other,
}

/// The headers of a record, taken apart.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) kind: Kind,
    /// Bytes of the block.
    pub(super) length: u64,
    headers: Headers,
}

impl Head {
    /// WARC-Target-URI; without the angle brackets that old writers put around it.
    pub(super) fn target(&self) -> Option<&str> {
        let uri = headers::find(&self.headers, "WARC-Target-URI")?;
        let inner = uri.strip_prefix('<').and_then(|uri| uri.strip_suffix('>'));
        Some(inner.unwrap_or(uri))
    }

    /// WARC-Date as written.
    pub(super) fn date(&self) -> Option<&str> {
        headers::find(&self.headers, "WARC-Date")
    }

    /// WARC-Payload-Digest as written.
    pub(super) fn payload_digest(&self) -> Option<&str> {
        headers::find(&self.headers, "WARC-Payload-Digest")
    }

    /// URL and date of the answer that holds the payload: its own, or those that a revisit refers to.
    pub(super) fn original(&self) -> Option<(&str, &str)> {
        if self.kind == Kind::Revisit {
            let field = |name| headers::find(&self.headers, name);
            return field("WARC-Refers-To-Target-URI").zip(field("WARC-Refers-To-Date"));
        }
        self.target().zip(self.date())
    }

    /// The content type of the block.
    pub(super) fn content_type(&self) -> Option<&str> {
        headers::find(&self.headers, "Content-Type")
    }
}

/// Goes to the next record and reads its headers; `None` at the end.
///
/// # Errors
/// The place where the record begins, and what is wrong with it.
pub(super) fn next_record<R: Read>(
    stream: &mut Stream<R>,
) -> Result<Option<(Place, Head)>, (Place, Flaw)> {
    let found = skip_gap(stream).and_then(|()| Ok(stream.place()?));
    let place = match found {
        Ok(Some(place)) => place,
        Ok(None) => return Ok(None),
        Err(flaw) => return Err((stream.start(), flaw)),
    };
    match read_head(stream) {
        Ok(head) => Ok(Some((place, head))),
        Err(flaw) => Err((place, flaw)),
    }
}

fn skip_gap<R: Read>(stream: &mut Stream<R>) -> Result<(), Flaw> {
    let mut passed = 0;
    while passed < GAP_BYTES_MAX {
        let ahead = stream.fill_buf()?;
        let blank = ahead
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'))
            .count();
        if blank == 0 {
            break;
        }
        stream.consume(blank);
        passed += blank as u64;
    }
    Ok(())
}

/// Reads the version line and the headers of a record.
///
/// # Errors
/// What is wrong with them.
pub(super) fn read_head<R: BufRead>(input: &mut R) -> Result<Head, Flaw> {
    let version = match headers::read_line(input) {
        Ok(line) => line.unwrap_or_default(),
        Err(Flaw::LineTooLong) => {
            let found = format!("a line of more than {LINE_BYTES_MAX} bytes");
            return Err(Flaw::Version(found));
        }
        Err(flaw) => return Err(flaw),
    };
    if !version.starts_with(b"WARC/1.") {
        return Err(Flaw::Version(excerpt(&version)));
    }
    let headers = headers::read_headers(input)?;
    let length = headers::find(&headers, "Content-Length")
        .and_then(|length| length.parse().ok())
        .ok_or(Flaw::NoLength)?;
    let kind = match headers::find(&headers, "WARC-Type") {
        Some(kind) if kind.eq_ignore_ascii_case("response") => Kind::Response,
        Some(kind) if kind.eq_ignore_ascii_case("resource") => Kind::Resource,
        Some(kind) if kind.eq_ignore_ascii_case("revisit") => Kind::Revisit,
        _ => Kind::Other,
    };
    Ok(Head {
        kind,
        length,
        headers,
    })
}

/// Reads the whole block of a record.
///
/// # Errors
/// [`Flaw::TooLong`], [`Flaw::CutOff`], and what reading fails with.
pub(super) fn read_block<R: BufRead>(input: &mut R, length: u64) -> Result<Vec<u8>, Flaw> {
    if length > RECORD_BYTES_MAX {
        return Err(Flaw::TooLong(length));
    }
    let mut block = Vec::new();
    let found = input.take(length).read_to_end(&mut block)? as u64;
    if found < length {
        return Err(Flaw::CutOff {
            missing: length - found,
            expected: length,
        });
    }
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &[u8]) -> Vec<Result<(Place, Head), (Place, Flaw)>> {
        let mut stream = Stream::new(text, 0, 16).unwrap();
        let mut found = Vec::new();
        while let Some(next) = next_record(&mut stream).transpose() {
            let stop = next.is_err();
            if let Ok((_, head)) = &next {
                stream.skip(head.length).unwrap();
            }
            found.push(next);
            if stop {
                break;
            }
        }
        found
    }

    #[test]
    fn both_versions_and_both_line_ends_are_read() {
        let text = b"WARC/1.0\nWARC-Type: warcinfo\nContent-Length: 3\n\nabc\n\n\
            \r\nWARC/1.1\r\nwarc-type: Response\r\nCONTENT-LENGTH: 0\r\n\
            WARC-Target-URI: <http://a.example/>\r\n\r\n\r\n\r\n";
        let found = records(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].as_ref().unwrap().1.kind, Kind::Other);
        let (place, head) = found[1].as_ref().unwrap();
        assert_eq!(place.offset, 55, "the lengths of the lines above");
        assert_eq!(head.kind, Kind::Response);
        assert_eq!(head.target(), Some("http://a.example/"));
    }

    #[test]
    fn a_record_without_length_or_with_another_version_names_its_place() {
        let found = records(b"\r\nWARC/1.0\r\nWARC-Type: response\r\n\r\n");
        assert_eq!(found[0].as_ref().unwrap_err().1, Flaw::NoLength);
        assert_eq!(found[0].as_ref().unwrap_err().0.offset, 2);
        let found = records(b"WARC/2.0\r\n\r\n");
        let flaw = &found[0].as_ref().unwrap_err().1;
        assert_eq!(*flaw, Flaw::Version("WARC/2.0".into()));
    }

    #[test]
    fn a_block_that_is_cut_or_immense_is_an_error_and_takes_no_memory() {
        let flaw = read_block(&mut &b"abc"[..], 5).unwrap_err();
        assert_eq!(
            flaw,
            Flaw::CutOff {
                missing: 2,
                expected: 5
            }
        );
        let flaw = read_block(&mut &b"abc"[..], u64::MAX).unwrap_err();
        assert_eq!(flaw, Flaw::TooLong(u64::MAX));
    }
}
