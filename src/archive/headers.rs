//! Header blocks, as WARC records and HTTP answers share them: `Name: value` lines up to an empty
//! line, read leniently and within bounds.

use std::io::{BufRead, Read};

use super::error::Flaw;
use super::limits::{HEADER_COUNT_MAX, LINE_BYTES_MAX};

/// Headers in their order, names as written.
pub(super) type Headers = Vec<(String, String)>;

/// The first value of header `name`, whose case does not matter.
pub(super) fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}

/// Reads one line without its end (CR LF or a bare LF); `None` at the end of the input.
///
/// # Errors
/// [`Flaw::LineTooLong`], and what reading fails with.
pub(super) fn read_line<R: BufRead>(input: &mut R) -> Result<Option<Vec<u8>>, Flaw> {
    let mut line = Vec::new();
    let taken = input
        .by_ref()
        .take(LINE_BYTES_MAX + 1)
        .read_until(b'\n', &mut line)?;
    if taken == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    } else if line.len() as u64 > LINE_BYTES_MAX {
        return Err(Flaw::LineTooLong);
    }
    Ok(Some(line))
}

/// Reads headers up to and with the empty line, or to the end of the input.
///
/// A line that begins with a blank continues the value before it. A line without a colon is passed
/// over: old servers sent such lines, and nothing depends on them.
///
/// # Errors
/// [`Flaw::TooManyHeaders`] and those of [`read_line`].
pub(super) fn read_headers<R: BufRead>(input: &mut R) -> Result<Headers, Flaw> {
    let mut headers = Headers::new();
    let mut lines = 0_usize;
    while let Some(line) = read_line(input)? {
        if line.is_empty() {
            break;
        }
        lines += 1;
        if lines > HEADER_COUNT_MAX {
            return Err(Flaw::TooManyHeaders);
        }
        let text = to_text(line);
        if text.starts_with([' ', '\t']) {
            if let Some((_, value)) = headers.last_mut() {
                value.push(' ');
                value.push_str(text.trim());
            }
        } else if let Some((name, value)) = text.split_once(':') {
            headers.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    Ok(headers)
}

/// Bytes as text: UTF-8 where they are that, else Latin-1, as HTTP once had it.
fn to_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        error
            .as_bytes()
            .iter()
            .map(|&byte| char::from(byte))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folded_value_is_joined_by_one_blank() {
        let mut input = &b"A: one\r\n\t two\r\n  three\r\nB:4\r\n\r\nrest"[..];
        let headers = read_headers(&mut input).unwrap();
        assert_eq!(find(&headers, "a"), Some("one two three"));
        assert_eq!(find(&headers, "b"), Some("4"));
        assert_eq!(input, b"rest");
    }

    #[test]
    fn bare_line_feeds_and_lines_without_a_colon_are_borne() {
        let mut input = &b"A: 1\nnonsense\nB: 2\n\nbody"[..];
        let headers = read_headers(&mut input).unwrap();
        assert_eq!(headers.len(), 2);
        assert_eq!(input, b"body");
    }

    #[test]
    fn bytes_that_are_no_utf8_are_read_as_latin_1() {
        let headers = read_headers(&mut &b"A: caf\xe9\r\n\r\n"[..]).unwrap();
        assert_eq!(find(&headers, "A"), Some("caf\u{e9}"));
    }

    #[test]
    fn endless_lines_and_endless_headers_are_refused() {
        let long = vec![b'a'; 1 << 20];
        assert_eq!(read_headers(&mut &long[..]), Err(Flaw::LineTooLong));
        let many = b"A: 1\r\n".repeat(HEADER_COUNT_MAX + 1);
        assert_eq!(read_headers(&mut &many[..]), Err(Flaw::TooManyHeaders));
        let folds = [b"A: 1\r\n".to_vec(), b" x\r\n".repeat(HEADER_COUNT_MAX)].concat();
        assert_eq!(read_headers(&mut &folds[..]), Err(Flaw::TooManyHeaders));
    }
}
