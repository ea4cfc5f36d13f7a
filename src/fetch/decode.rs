//! Undoing Content-Encoding, within a bound.
//!
//! Servers lie: a body may be plain although the header says gzip, compressed twice, cut in the
//! middle, or a bomb. What can be read is kept; only a body of which nothing can be read fails.

use std::io::{self, Read as _};

use async_compression::tokio::bufread::BrotliDecoder;
use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use tokio::io::AsyncReadExt as _;

use super::FetchError;

/// More codings in one header than any honest server applies.
const CODINGS_MAX: usize = 3;

/// So much is decoded at a time.
const BLOCK_BYTES: usize = 16 << 10;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A body without its codings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    /// What could be read, at most the bound.
    pub(super) body: Bytes,
    /// Something lies or lay beyond it.
    pub(super) truncated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
}

/// Undoes the codings that `header` names, the last first, and keeps at most `bytes_max` bytes.
pub(super) async fn decode(
    raw: Bytes,
    header: Option<&str>,
    bytes_max: usize,
) -> Result<Decoded, FetchError> {
    let codings = codings(header.unwrap_or_default())?;
    let mut truncated = false;
    let mut body = raw;
    for (coding, name) in codings.iter().rev() {
        // No content, no coding: some servers send the header with an empty body.
        if body.is_empty() {
            break;
        }
        let step = undo(*coding, name, body, bytes_max).await?;
        truncated |= step.truncated;
        body = step.body;
    }
    // Compressed once more than the header says: by the header first, then by the magic.
    let was_gzip = codings.iter().any(|(coding, _)| *coding == Coding::Gzip);
    if was_gzip && body.starts_with(&GZIP_MAGIC) {
        let (inner, complete) = drain(Coding::Gzip, &body, bytes_max).await;
        if !inner.is_empty() {
            truncated |= complete.is_err();
            body = inner.into();
        }
    }
    truncated |= body.len() > bytes_max;
    body.truncate(bytes_max);
    Ok(Decoded { body, truncated })
}

/// The codings of a Content-Encoding header. A token that is no coding at all ("utf-8", "none") is
/// a common mistake and says nothing; a coding that was not asked for cannot be read.
fn codings(header: &str) -> Result<Vec<(Coding, String)>, FetchError> {
    let mut found = Vec::new();
    for token in header
        .split(',')
        .map(|part| part.trim().to_ascii_lowercase())
    {
        let coding = match token.as_str() {
            "gzip" | "x-gzip" => Coding::Gzip,
            "deflate" => Coding::Deflate,
            "br" => Coding::Brotli,
            "zstd" | "compress" | "x-compress" | "dcb" | "dcz" => {
                return Err(undecodable(&token, "it was not asked for"));
            }
            _ => continue,
        };
        found.push((coding, token));
    }
    if found.len() > CODINGS_MAX {
        let detail = format!("{} codings, at most {CODINGS_MAX} are undone", found.len());
        return Err(undecodable("Content-Encoding", &detail));
    }
    Ok(found)
}

async fn undo(
    coding: Coding,
    name: &str,
    body: Bytes,
    bytes_max: usize,
) -> Result<Decoded, FetchError> {
    let plain = |body| {
        Ok(Decoded {
            body,
            truncated: false,
        })
    };
    if coding == Coding::Gzip && !body.starts_with(&GZIP_MAGIC) {
        return plain(body);
    }
    let (decoded, end) = drain(coding, &body, bytes_max).await;
    match end {
        Ok(()) => Ok(Decoded {
            truncated: decoded.len() > bytes_max,
            body: decoded.into(),
        }),
        // Text under a lying header; it may have decoded to a few bytes of nonsense.
        Err(_) if coding != Coding::Gzip && looks_plain(&body) => plain(body),
        Err(_) if !decoded.is_empty() => Ok(Decoded {
            truncated: true,
            body: decoded.into(),
        }),
        Err(error) => Err(undecodable(name, &error.to_string())),
    }
}

/// Decodes up to one byte past `bytes_max`; what was read before an error is kept beside it.
async fn drain(coding: Coding, raw: &[u8], bytes_max: usize) -> (Vec<u8>, io::Result<()>) {
    match coding {
        Coding::Gzip => gunzip(raw, bytes_max),
        // "deflate" means zlib in the standard and raw deflate in some servers.
        Coding::Deflate => {
            let (body, end) = inflate(raw, true, bytes_max);
            if end.is_err() && body.is_empty() {
                return inflate(raw, false, bytes_max);
            }
            (body, end)
        }
        Coding::Brotli => unbrotli(raw, bytes_max).await,
    }
}

/// All members of a gzip body are one text.
fn gunzip(raw: &[u8], bytes_max: usize) -> (Vec<u8>, io::Result<()>) {
    let mut decoder = MultiGzDecoder::new(raw);
    let mut body = Vec::new();
    let mut block = vec![0; BLOCK_BYTES];
    while body.len() <= bytes_max {
        match decoder.read(&mut block) {
            Ok(0) => return (body, Ok(())),
            Ok(count) => body.extend_from_slice(&block[..count]),
            Err(error) => return (body, Err(error)),
        }
    }
    (body, Ok(()))
}

/// Not through flate2's readers, for which a cut stream is a whole one.
fn inflate(raw: &[u8], zlib_header: bool, bytes_max: usize) -> (Vec<u8>, io::Result<()>) {
    let mut state = Decompress::new(zlib_header);
    let mut body = Vec::new();
    let mut block = vec![0; BLOCK_BYTES];
    let mut rest = raw;
    while body.len() <= bytes_max {
        let (read_before, written_before) = (state.total_in(), state.total_out());
        let status = state.decompress(rest, &mut block, FlushDecompress::None);
        let advance = |now: u64, before: u64| usize::try_from(now - before).unwrap_or(0);
        let read = advance(state.total_in(), read_before);
        let written = advance(state.total_out(), written_before);
        body.extend_from_slice(&block[..written]);
        rest = &rest[read..];
        match status {
            Ok(Status::StreamEnd) => return (body, Ok(())),
            Ok(Status::Ok | Status::BufError) if read == 0 && written == 0 => {
                return (body, Err(io::ErrorKind::UnexpectedEof.into()));
            }
            Ok(Status::Ok | Status::BufError) => {}
            Err(error) => return (body, Err(error.into())),
        }
    }
    (body, Ok(()))
}

async fn unbrotli(raw: &[u8], bytes_max: usize) -> (Vec<u8>, io::Result<()>) {
    let mut decoder = BrotliDecoder::new(raw);
    let mut body = Vec::new();
    // The decoder drops what it wrote into the block in which the code breaks off: a small loss.
    let mut block = [0; 256];
    while body.len() <= bytes_max {
        match decoder.read(&mut block).await {
            Ok(0) => return (body, Ok(())),
            Ok(count) => body.extend_from_slice(&block[..count]),
            Err(error) => return (body, Err(error)),
        }
    }
    (body, Ok(()))
}

/// Whether the beginning is text: no control characters but white space.
fn looks_plain(body: &[u8]) -> bool {
    body.iter()
        .take(512)
        .all(|byte| *byte >= 0x20 || matches!(*byte, b'\t' | b'\n' | b'\r' | 0x0c))
}

fn undecodable(encoding: &str, detail: &str) -> FetchError {
    FetchError::Decode {
        encoding: encoding.to_owned(),
        detail: detail.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;

    use super::*;

    const TEXT: &[u8] = b"<html>relevant relevant relevant text</html>";

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(text: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn deflate(text: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    async fn brotli(text: &[u8]) -> Vec<u8> {
        let mut encoder = async_compression::tokio::bufread::BrotliEncoder::new(text);
        let mut out = Vec::new();
        encoder.read_to_end(&mut out).await.unwrap();
        out
    }

    async fn run(raw: &[u8], header: &str, max: usize) -> Result<(Vec<u8>, bool), FetchError> {
        decode(Bytes::copy_from_slice(raw), Some(header), max)
            .await
            .map(|decoded| (decoded.body.to_vec(), decoded.truncated))
    }

    #[tokio::test]
    async fn every_coding_that_is_asked_for_is_undone() {
        let whole = Ok((TEXT.to_vec(), false));
        assert_eq!(run(&gzip(TEXT), "gzip", 1000).await, whole);
        assert_eq!(run(&gzip(TEXT), "X-GZIP", 1000).await, whole);
        assert_eq!(run(&zlib(TEXT), "deflate", 1000).await, whole);
        assert_eq!(run(&deflate(TEXT), "deflate", 1000).await, whole);
        assert_eq!(run(&brotli(TEXT).await, "br", 1000).await, whole);
        assert_eq!(run(&gzip(&zlib(TEXT)), "deflate, gzip", 1000).await, whole);
        assert_eq!(run(TEXT, "identity", 1000).await, whole);
        assert_eq!(run(TEXT, "UTF-8", 1000).await, whole);
        assert_eq!(run(b"", "gzip", 1000).await, Ok((Vec::new(), false)));
    }

    #[tokio::test]
    async fn all_members_of_a_gzip_body_are_read() {
        let two = [gzip(b"first "), gzip(b"second")].concat();
        assert_eq!(
            run(&two, "gzip", 1000).await,
            Ok((b"first second".to_vec(), false))
        );
    }

    #[tokio::test]
    async fn a_plain_body_under_a_lying_header_is_taken_as_it_is() {
        let whole = Ok((TEXT.to_vec(), false));
        assert_eq!(run(TEXT, "gzip", 1000).await, whole);
        assert_eq!(run(TEXT, "br", 1000).await, whole);
        assert_eq!(run(TEXT, "deflate", 1000).await, whole);
    }

    #[tokio::test]
    async fn gzip_twice_under_one_header_is_undone_twice() {
        let twice = gzip(&gzip(TEXT));
        assert_eq!(run(&twice, "gzip", 1000).await, Ok((TEXT.to_vec(), false)));
    }

    #[tokio::test]
    async fn a_bomb_stops_at_the_limit() {
        let bomb = gzip(&vec![b'x'; 20_000_000]);
        let (body, truncated) = run(&bomb, "gzip", 100_000).await.unwrap();
        assert_eq!((body.len(), truncated), (100_000, true));
        let nested = gzip(&bomb);
        let (body, truncated) = run(&nested, "gzip, gzip", 100_000).await.unwrap();
        assert!(body.len() <= 100_000 && truncated);
    }

    #[tokio::test]
    async fn exactly_the_limit_is_whole() {
        assert_eq!(
            run(&gzip(TEXT), "gzip", TEXT.len()).await,
            Ok((TEXT.to_vec(), false))
        );
        assert_eq!(
            run(&gzip(TEXT), "gzip", TEXT.len() - 1).await,
            Ok((TEXT[..TEXT.len() - 1].to_vec(), true))
        );
        assert_eq!(run(TEXT, "", 3).await, Ok((TEXT[..3].to_vec(), true)));
    }

    #[tokio::test]
    async fn a_cut_body_keeps_what_was_decoded() {
        // Bytes that do not compress, so that half the code is about half the text.
        let mut noise = vec![0; 60_000];
        crate::clock::chance(1, "noise").fill_bytes(&mut noise);
        for (header, code) in [
            ("gzip", gzip(&noise)),
            ("deflate", zlib(&noise)),
            ("deflate", deflate(&noise)),
        ] {
            let half = &code[..code.len() / 2];
            let (body, truncated) = run(half, header, 1 << 20).await.unwrap();
            assert!(truncated && body.len() > 20_000, "{}", body.len());
            assert_eq!(body, noise[..body.len()], "{header}");
        }
        let code = brotli(&noise).await;
        let (body, truncated) = run(&code[..code.len() / 2], "br", 1 << 20).await.unwrap();
        assert!(truncated && body.len() > 20_000, "{}", body.len());
    }

    #[tokio::test]
    async fn a_body_of_which_nothing_can_be_read_fails_by_name() {
        let error = run(&gzip(TEXT)[..10], "gzip", 1000).await.unwrap_err();
        assert!(matches!(error, FetchError::Decode { ref encoding, .. } if encoding == "gzip"));
        let error = run(&[0xff, 0, 1, 2, 3], "br", 1000).await.unwrap_err();
        assert!(matches!(error, FetchError::Decode { ref encoding, .. } if encoding == "br"));
        let error = run(TEXT, "zstd", 1000).await.unwrap_err();
        assert!(error.to_string().contains("zstd"), "{error}");
        assert!(run(TEXT, "gzip,gzip,gzip,gzip", 1000).await.is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_under_any_header_break_the_bound(
            raw in proptest::collection::vec(any::<u8>(), 0..400),
            prefix in prop_oneof![Just(vec![]), Just(vec![0x1f, 0x8b, 8, 0]), Just(vec![0x78, 0x9c])],
            header in prop_oneof![Just("gzip"), Just("deflate"), Just("br"), Just("br, gzip")],
        ) {
            let raw = Bytes::from([prefix, raw].concat());
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            if let Ok(decoded) = runtime.block_on(decode(raw, Some(header), 64)) {
                prop_assert!(decoded.body.len() <= 64);
            }
        }
    }
}
