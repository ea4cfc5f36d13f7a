//! A stored answer, ready to be given again.

use std::io::BufRead;

use bytes::Bytes;

use super::decode::{self, Decoded};
use super::error::{Flaw, excerpt};
use super::headers::{self, Headers};
use crate::url::CanonicalUrl;

/// Headers that belong to the connection over which an answer once came (RFC 9110, 7.6.1), or that
/// would steer a client past the archive.
const DROPPED: &[&str] = &[
    "alt-svc",
    "connection",
    "content-length",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// An answer from the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedResponse {
    /// The status as stored, 100..=999; 200 for a `resource` record.
    pub status: u16,
    /// The stored headers in their order, without those of the old connection (hop-by-hop headers,
    /// Content-Length), and without Content-Encoding unless the body is still encoded.
    pub headers: Vec<(String, String)>,
    /// The Content-Type header as stored.
    pub content_type: Option<String>,
    /// The body, decoded; empty for an answer that had none. An encoding that is not known here
    /// (such as zstd) is left, and the headers say so.
    pub body: Bytes,
}

/// Whether a header is about the connection and not about what was sent over it.
pub(super) fn is_of_connection(name: &str) -> bool {
    DROPPED
        .iter()
        .any(|dropped| name.eq_ignore_ascii_case(dropped))
}

/// The status and the headers of a stored HTTP answer, before anything is undone.
pub(super) struct HttpHead {
    pub(super) status: u16,
    pub(super) headers: Headers,
}

/// Reads the status line and the headers; leaves `block` at the body.
///
/// # Errors
/// [`Flaw::NotHttp`], headers beyond the bounds, and what reading fails with.
pub(super) fn read_http_head<R: BufRead>(block: &mut R) -> Result<HttpHead, Flaw> {
    let line = match headers::read_line(block) {
        Ok(line) => line.unwrap_or_default(),
        Err(Flaw::LineTooLong) => return Err(Flaw::NotHttp("an endless line".to_owned())),
        Err(flaw) => return Err(flaw),
    };
    let status = parse_status(&line).ok_or_else(|| Flaw::NotHttp(excerpt(&line)))?;
    let headers = headers::read_headers(block)?;
    Ok(HttpHead { status, headers })
}

/// `HTTP/x.y NNN reason`, the reason in any form.
fn parse_status(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(b"HTTP/")?;
    let mut words = rest
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty());
    words.next()?;
    let digits = words.next()?.get(..3)?;
    let status = str::from_utf8(digits).ok()?.parse().ok()?;
    (status >= 100).then_some(status)
}

impl ArchivedResponse {
    /// From the block of a `response` record: an HTTP/1 answer as it was sent.
    ///
    /// # Errors
    /// [`Flaw::NotHttp`], and headers beyond the bounds.
    pub fn from_http(block: Vec<u8>) -> Result<Self, Flaw> {
        let block = Bytes::from(block);
        let mut rest = &block[..];
        let HttpHead { status, headers } = read_http_head(&mut rest)?;
        let body = block.slice(block.len() - rest.len()..);
        let (body, still_encoded) = undo_encodings(&headers, body);
        let content_type = headers::find(&headers, "Content-Type").map(str::to_owned);
        let mut kept = headers.clone();
        kept.retain(|(name, _)| {
            !is_of_connection(name)
                && !is_named_by_connection(&headers, name)
                && !name.eq_ignore_ascii_case("content-encoding")
        });
        if let Some(encodings) = still_encoded {
            kept.push(("Content-Encoding".to_owned(), encodings));
        }
        Ok(Self {
            status,
            headers: kept,
            content_type,
            body,
        })
    }

    /// Where the answer redirects to, if it does: its Location against `url`, which it was stored
    /// for.
    ///
    /// # Errors
    /// In words, for a Location that is none of http or https.
    pub fn redirect_target(&self, url: &CanonicalUrl) -> Option<Result<CanonicalUrl, String>> {
        if !matches!(self.status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let location = headers::find(&self.headers, "Location")?;
        let resolved = url
            .to_url()
            .and_then(|base| CanonicalUrl::resolve(&base, location));
        Some(resolved.map_err(|error| {
            let location: String = location.chars().take(80).collect();
            format!("{url} redirects to {location:?} in the archive: {error}")
        }))
    }

    /// From the block of a `resource` record, whose content type is `content_type`.
    pub(super) fn from_resource(block: Vec<u8>, content_type: Option<&str>) -> Self {
        let content_type = content_type.map(str::to_owned);
        let headers = content_type
            .iter()
            .map(|value| ("Content-Type".to_owned(), value.clone()))
            .collect();
        Self {
            status: 200,
            headers,
            content_type,
            body: Bytes::from(block),
        }
    }
}

/// Whether a Connection header says that header `name` is for the next hop alone.
fn is_named_by_connection(headers: &Headers, name: &str) -> bool {
    headers
        .iter()
        .filter(|(header, _)| header.eq_ignore_ascii_case("connection"))
        .flat_map(|(_, value)| value.split(','))
        .any(|option| option.trim().eq_ignore_ascii_case(name))
}

/// Undoes the transfer-encoding and the content-encodings, the last applied first, and names the
/// content-encodings that are left.
fn undo_encodings(headers: &Headers, mut body: Bytes) -> (Bytes, Option<String>) {
    let chunked = headers::find(headers, "Transfer-Encoding")
        .is_some_and(|value| value.to_ascii_lowercase().contains("chunked"));
    if chunked && let Some(joined) = decode::unchunk(&body) {
        body = joined.into();
    }
    let mut encodings: Vec<&str> = headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("content-encoding"))
        .flat_map(|(_, value)| value.split(','))
        .map(str::trim)
        .collect();
    while let Some(encoding) = encodings.last() {
        match decode::undo(encoding, &body) {
            Decoded::Plain(plain) => body = plain.into(),
            Decoded::Already => {}
            Decoded::Unknown => return (body, Some(encodings.join(", "))),
        }
        encodings.pop();
    }
    (body, None)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn chunks_and_compression_are_undone_and_their_headers_dropped() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(b"<p>hello</p>").unwrap();
        let gzip = gzip.finish().unwrap();
        let mut block = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\
            Content-Encoding: gzip\r\nX-Kept: yes\r\nConnection: close, X-Hop\r\nx-hop: 1\r\n\
            content-type: text/html\r\n\r\n"
            .to_vec();
        block.extend(format!("{:x}\r\n", gzip.len()).bytes());
        block.extend(&gzip);
        block.extend(b"\r\n0\r\n\r\n");
        let response = ArchivedResponse::from_http(block).unwrap();
        assert_eq!(response.body, "<p>hello</p>");
        assert_eq!(response.content_type.as_deref(), Some("text/html"));
        let names: Vec<&str> = response.headers.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["X-Kept", "content-type"]);
    }

    #[test]
    fn an_unknown_encoding_is_passed_on_with_its_header() {
        let block = b"HTTP/2 200\r\nContent-Encoding: zstd, identity\r\n\r\n\x28\xb5\x2f\xfd";
        let response = ArchivedResponse::from_http(block.to_vec()).unwrap();
        assert_eq!(&response.body[..], b"\x28\xb5\x2f\xfd");
        assert_eq!(
            headers::find(&response.headers, "content-encoding"),
            Some("zstd")
        );
    }

    #[test]
    fn odd_status_lines_are_read_and_what_is_none_is_refused() {
        for (line, status) in [
            ("HTTP/1.1 404 Not Found", Some(404)),
            ("HTTP/1.0  200", Some(200)),
            ("HTTP/1.1 301Moved", Some(301)),
            ("HTTP/1.1 099 low", None),
            ("HTTP/1.1", None),
            ("<html>", None),
            ("", None),
        ] {
            let read = ArchivedResponse::from_http(format!("{line}\r\n\r\n").into_bytes());
            assert_eq!(read.ok().map(|response| response.status), status, "{line}");
        }
    }
}
