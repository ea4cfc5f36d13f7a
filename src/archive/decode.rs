//! Undoes what HTTP did to a stored body: the chunked transfer-encoding and the content-encodings.
//!
//! Many archives hold bodies that were decoded before they were stored, while the headers still
//! speak of the encoding. So a body that does not look as the header says is taken as decoded.

use async_compression::tokio::bufread::{BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder};
use futures_util::FutureExt;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::limits::RECORD_BYTES_MAX;

/// Joins the chunks of a chunked body (RFC 9112, 7.1); what is cut off at the end is given as far
/// as it goes. `None` if the body does not begin with a chunk.
pub(super) fn unchunk(body: &[u8]) -> Option<Vec<u8>> {
    let mut joined = Vec::with_capacity(body.len());
    let mut rest = body;
    let mut first = true;
    while let Some((size, after)) = chunk_size(rest) {
        first = false;
        if size == 0 {
            return Some(joined);
        }
        let Some((chunk, after)) = after.split_at_checked(size) else {
            joined.extend_from_slice(after);
            return Some(joined);
        };
        joined.extend_from_slice(chunk);
        rest = after
            .strip_prefix(b"\r\n")
            .or_else(|| after.strip_prefix(b"\n"))
            .unwrap_or(after);
    }
    (!first).then_some(joined)
}

/// The size in a chunk's first line, and what follows the line.
fn chunk_size(text: &[u8]) -> Option<(usize, &[u8])> {
    let end = text.iter().take(256).position(|&byte| byte == b'\n')?;
    let (line, after) = text.split_at_checked(end + 1)?;
    let line = str::from_utf8(line).ok()?;
    let size = line.split(';').next()?.trim();
    let hex = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_hexdigit());
    let size = hex.then(|| usize::from_str_radix(size, 16).ok())??;
    Some((size, after))
}

/// What came of undoing a content-encoding.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decoded {
    /// The body without the encoding; cut at [`RECORD_BYTES_MAX`], or where the data is damaged.
    Plain(Vec<u8>),
    /// Not encoded at all, whatever the header says.
    Already,
    /// In an encoding that is not known here (zstd, dictionaries): passed on as it is.
    Unknown,
}

/// Undoes one content-encoding, named as in the header.
pub(super) fn undo(encoding: &str, body: &[u8]) -> Decoded {
    let decoded = match encoding.trim().to_ascii_lowercase().as_str() {
        "" | "identity" | "none" => return Decoded::Already,
        "gzip" | "x-gzip" => {
            let mut decoder = GzipDecoder::new(body);
            decoder.multiple_members(true);
            read_all(decoder)
        }
        // The standard means zlib; some servers sent bare deflate.
        "deflate" => match read_all(ZlibDecoder::new(body)) {
            plain if plain.is_empty() => read_all(DeflateDecoder::new(body)),
            plain => plain,
        },
        "br" => read_all(BrotliDecoder::new(body)),
        _ => return Decoded::Unknown,
    };
    if decoded.is_empty() && !body.is_empty() && !is_empty_member(encoding, body) {
        return Decoded::Already;
    }
    Decoded::Plain(decoded)
}

/// An empty document in gzip, which decodes to nothing without being damaged.
fn is_empty_member(encoding: &str, body: &[u8]) -> bool {
    encoding.to_ascii_lowercase().contains("gzip") && body.starts_with(&[0x1f, 0x8b])
}

/// Everything that a decoder gives before it ends or fails. The input lies in memory, so that the
/// future never waits.
fn read_all<D: AsyncRead + Unpin>(decoder: D) -> Vec<u8> {
    let mut plain = Vec::new();
    let read = async {
        // An error keeps what was decoded before it, as browsers do.
        let _ = decoder.take(RECORD_BYTES_MAX).read_to_end(&mut plain).await;
    };
    // `None` could only come of a decoder that waits for more than its input.
    let _ = read.now_or_never();
    plain
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    #[test]
    fn chunks_are_joined_with_extensions_trailers_and_bare_line_feeds() {
        let body = b"4;name=x\r\nWiki\r\n5\npedia\nE\r\n in\r\n\r\nchunks.\r\n0\r\nA: b\r\n\r\n";
        assert_eq!(unchunk(body).unwrap(), b"Wikipedia in\r\n\r\nchunks.");
    }

    #[test]
    fn a_cut_chunk_is_kept_and_a_body_without_chunks_is_told_apart() {
        assert_eq!(unchunk(b"a\r\n01234").unwrap(), b"01234");
        assert_eq!(unchunk(b"<html>\r\n"), None);
        assert_eq!(unchunk(b"-5\r\nhello"), None);
        assert_eq!(unchunk(b"ffffffffffffffff\r\nab").unwrap(), b"ab");
        assert_eq!(unchunk(b""), None);
    }

    #[test]
    fn every_known_encoding_is_undone() {
        let text = b"body ".repeat(1000);
        let plain = Decoded::Plain(text.clone());
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&text).unwrap();
        assert_eq!(undo("GZIP", &gzip.finish().unwrap()), plain);
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(&text).unwrap();
        assert_eq!(undo("deflate", &zlib.finish().unwrap()), plain);
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::fast());
        raw.write_all(&text).unwrap();
        assert_eq!(undo("deflate", &raw.finish().unwrap()), plain);
        // brotli -q 0: an uncompressed meta-block of "hello" (RFC 7932, 9.2), worked by hand.
        let brotli = b"\x0b\x02\x80hello\x03";
        assert_eq!(undo("br", brotli), Decoded::Plain(b"hello".to_vec()));
    }

    #[test]
    fn a_body_that_was_decoded_before_is_left_alone() {
        for encoding in ["gzip", "deflate", "identity"] {
            assert_eq!(undo(encoding, b"<html>plain</html>"), Decoded::Already);
        }
        assert_eq!(undo("zstd", b"\x28\xb5\x2f\xfd"), Decoded::Unknown);
    }

    #[test]
    fn a_bomb_is_cut_at_the_bound() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        let block = vec![0; 1 << 20];
        for _ in 0..40 {
            gzip.write_all(&block).unwrap();
        }
        let Decoded::Plain(plain) = undo("gzip", &gzip.finish().unwrap()) else {
            panic!("not decoded");
        };
        assert_eq!(plain.len() as u64, RECORD_BYTES_MAX);
    }
}
