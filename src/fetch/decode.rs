//! Undoing Content-Encoding, within a bound.
//!
//! Servers lie: a body may be plain although the header says gzip, compressed twice, cut in the
//! middle, or a bomb. What can be read is kept; only a body of which nothing can be read fails.

use std::io;

use async_compression::tokio::bufread::BrotliDecoder;
use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use ruzstd::decoding::StreamingDecoder;
use tokio::io::AsyncReadExt as _;

use super::{FetchError, FetchLimits};

/// More codings in one header than any honest server applies.
const CODINGS_MAX: usize = 3;

/// So much is decoded at a time.
const BLOCK_BYTES: usize = 16 << 10;

/// Below this size a body may swell as it likes: a few hundred blanks are no bomb.
const EXPANSION_FREE_BYTES: usize = 64 << 10;

/// The largest window of zstd (RFC 9659, 3: what a decoder of HTTP content has to support, and no more).
const ZSTD_WINDOW_BYTES_MAX: u64 = 8 << 20;

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
    Zstd,
}

/// What bounds the decoding.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Bytes of the decoded body.
    bytes_max: usize,
    /// Its size over that of the code.
    expansion_max: u32,
}

impl From<&FetchLimits> for Bounds {
    fn from(limits: &FetchLimits) -> Self {
        Self {
            bytes_max: limits.body_bytes_max,
            expansion_max: limits.expansion_max,
        }
    }
}

/// What one decoder made of a body.
struct Drained {
    /// Up to one byte past the bound; what was read before an error as well.
    body: Vec<u8>,
    /// Bytes of the code that were read for it.
    read: usize,
    end: io::Result<()>,
}

/// Undoes the codings of a body within `limits`; `goes_on` says that it was cut at the bound before.
pub(super) async fn decode_within(
    raw: Bytes,
    header: Option<&str>,
    limits: &FetchLimits,
    goes_on: bool,
) -> Result<Decoded, FetchError> {
    let bytes_max = limits.body_bytes_max;
    let mut decoded = decode(raw, header, limits.into()).await?;
    decoded.truncated |= goes_on;
    // What broke off short of the bound is not too large.
    let is_full = goes_on || decoded.body.len() >= bytes_max;
    if limits.refuse_large && decoded.truncated && is_full {
        return Err(FetchError::TooLarge(bytes_max));
    }
    Ok(decoded)
}

/// Undoes the codings that `header` names, the last first, and keeps at most `bytes_max` bytes.
async fn decode(raw: Bytes, header: Option<&str>, bounds: Bounds) -> Result<Decoded, FetchError> {
    let bytes_max = bounds.bytes_max;
    let codings = codings(header.unwrap_or_default())?;
    let mut truncated = false;
    let mut body = raw;
    for (coding, name) in codings.iter().rev() {
        // No content, no coding: some servers send the header with an empty body.
        if body.is_empty() {
            break;
        }
        let step = undo(*coding, name, body, bounds).await?;
        truncated |= step.truncated;
        body = step.body;
    }
    // Compressed once more than the header says: by the header first, then by the magic.
    let was_gzip = codings.iter().any(|(coding, _)| *coding == Coding::Gzip);
    if was_gzip && body.starts_with(&GZIP_MAGIC) {
        let inner = drain(Coding::Gzip, &body, bytes_max).await;
        if !inner.body.is_empty() {
            inner.check_expansion("gzip", bounds)?;
            truncated |= inner.end.is_err();
            body = inner.body.into();
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
            "zstd" => Coding::Zstd,
            "compress" | "x-compress" | "dcb" | "dcz" => {
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
    bounds: Bounds,
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
    let drained = drain(coding, &body, bounds.bytes_max).await;
    drained.check_expansion(name, bounds)?;
    let decoded = drained.body;
    match drained.end {
        Ok(()) => Ok(Decoded {
            truncated: decoded.len() > bounds.bytes_max,
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
async fn drain(coding: Coding, raw: &[u8], bytes_max: usize) -> Drained {
    match coding {
        Coding::Gzip => gunzip(raw, bytes_max),
        // "deflate" means zlib in the standard and raw deflate in some servers.
        Coding::Deflate => {
            let zlib = inflate(raw, true, bytes_max);
            if zlib.end.is_err() && zlib.body.is_empty() {
                return inflate(raw, false, bytes_max);
            }
            zlib
        }
        Coding::Brotli => unbrotli(raw, bytes_max).await,
        Coding::Zstd => unzstd(raw, bytes_max),
    }
}

impl Drained {
    /// Makes sure that the body is no bomb.
    fn check_expansion(&self, encoding: &str, bounds: Bounds) -> Result<(), FetchError> {
        let times = usize::try_from(bounds.expansion_max).unwrap_or(usize::MAX);
        if self.body.len() <= EXPANSION_FREE_BYTES.max(self.read.saturating_mul(times)) {
            return Ok(());
        }
        Err(FetchError::Bomb {
            encoding: encoding.to_owned(),
            expansion_max: bounds.expansion_max,
        })
    }
}

/// All members of a gzip body are one text.
fn gunzip(raw: &[u8], bytes_max: usize) -> Drained {
    let mut decoder = MultiGzDecoder::new(raw);
    let (body, end) = read_up_to(&mut decoder, bytes_max);
    let read = raw.len() - decoder.get_ref().len();
    Drained { body, read, end }
}

/// Reads to the end, to an error or just past `bytes_max`.
fn read_up_to(decoder: &mut impl io::Read, bytes_max: usize) -> (Vec<u8>, io::Result<()>) {
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

/// All frames of a zstd body are one text. Not asked for: of a body that breaks off the decoder gives
/// nothing that lies within its window, which may be all.
fn unzstd(raw: &[u8], bytes_max: usize) -> Drained {
    let mut body = Vec::new();
    let mut rest = raw;
    let mut end = Ok(());
    while !rest.is_empty() && body.len() <= bytes_max && end.is_ok() {
        match StreamingDecoder::new_with_max_window_size(rest, ZSTD_WINDOW_BYTES_MAX) {
            Ok(mut decoder) => {
                let (frame, frame_end) = read_up_to(&mut decoder, bytes_max - body.len());
                body.extend(frame);
                rest = decoder.into_inner();
                end = frame_end;
            }
            Err(error) => end = Err(io::Error::other(error.to_string())),
        }
    }
    let read = raw.len() - rest.len();
    Drained { body, read, end }
}

/// Not through flate2's readers, for which a cut stream is a whole one.
fn inflate(raw: &[u8], zlib_header: bool, bytes_max: usize) -> Drained {
    let mut state = Decompress::new(zlib_header);
    let mut body = Vec::new();
    let mut block = vec![0; BLOCK_BYTES];
    let mut rest = raw;
    let mut end = Ok(());
    while body.len() <= bytes_max {
        let (read_before, written_before) = (state.total_in(), state.total_out());
        let status = state.decompress(rest, &mut block, FlushDecompress::None);
        let advance = |now: u64, before: u64| usize::try_from(now - before).unwrap_or(0);
        let read = advance(state.total_in(), read_before);
        let written = advance(state.total_out(), written_before);
        body.extend_from_slice(&block[..written]);
        rest = &rest[read..];
        match status {
            Ok(Status::StreamEnd) => break,
            Ok(Status::Ok | Status::BufError) if read == 0 && written == 0 => {
                end = Err(io::ErrorKind::UnexpectedEof.into());
                break;
            }
            Ok(Status::Ok | Status::BufError) => {}
            Err(error) => {
                end = Err(error.into());
                break;
            }
        }
    }
    let read = raw.len() - rest.len();
    Drained { body, read, end }
}

async fn unbrotli(raw: &[u8], bytes_max: usize) -> Drained {
    let mut decoder = BrotliDecoder::new(raw);
    let mut body = Vec::new();
    let mut end = Ok(());
    // The decoder drops what it wrote into the block in which the code breaks off: a small loss.
    let mut block = [0; 256];
    while body.len() <= bytes_max {
        match decoder.read(&mut block).await {
            Ok(0) => break,
            Ok(count) => body.extend_from_slice(&block[..count]),
            Err(error) => {
                end = Err(error);
                break;
            }
        }
    }
    let read = raw.len() - decoder.get_ref().len();
    Drained { body, read, end }
}

/// Whether a document of no stated kind, of which these are the first bytes, may be text: no control
/// characters but white space and the escape of ISO-2022, or UTF-16 with its mark.
pub(super) fn may_be_text(first: &[u8]) -> bool {
    let is_text = |byte: &u8| *byte == 0x1b || is_printable_or_space(*byte);
    let marks: [&[u8]; 2] = [b"\xfe\xff", b"\xff\xfe"];
    marks.iter().any(|mark| first.starts_with(mark)) || first.iter().take(512).all(is_text)
}

fn is_printable_or_space(byte: u8) -> bool {
    byte >= 0x20 || matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c)
}

/// Whether the beginning is text: no control characters but white space.
fn looks_plain(body: &[u8]) -> bool {
    body.iter()
        .take(512)
        .all(|byte| is_printable_or_space(*byte))
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

    fn bounds(bytes_max: usize, expansion_max: u32) -> Bounds {
        Bounds {
            bytes_max,
            expansion_max,
        }
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        ruzstd::encoding::compress_to_vec(text, level)
    }

    async fn run(raw: &[u8], header: &str, max: usize) -> Result<(Vec<u8>, bool), FetchError> {
        decode(Bytes::copy_from_slice(raw), Some(header), bounds(max, 250))
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
        assert_eq!(run(&zstd(TEXT), "zstd", 1000).await, whole);
        assert_eq!(run(&gzip(&zlib(TEXT)), "deflate, gzip", 1000).await, whole);
        assert_eq!(run(TEXT, "identity", 1000).await, whole);
        assert_eq!(run(TEXT, "UTF-8", 1000).await, whole);
        assert_eq!(run(b"", "gzip", 1000).await, Ok((Vec::new(), false)));
    }

    #[tokio::test]
    async fn all_members_of_a_gzip_body_and_frames_of_a_zstd_body_are_read() {
        for (header, two) in [
            ("gzip", [gzip(b"first "), gzip(b"second")].concat()),
            ("zstd", [zstd(b"first "), zstd(b"second")].concat()),
        ] {
            assert_eq!(
                run(&two, header, 1000).await,
                Ok((b"first second".to_vec(), false))
            );
        }
    }

    #[tokio::test]
    async fn a_plain_body_under_a_lying_header_is_taken_as_it_is() {
        let whole = Ok((TEXT.to_vec(), false));
        assert_eq!(run(TEXT, "gzip", 1000).await, whole);
        assert_eq!(run(TEXT, "br", 1000).await, whole);
        assert_eq!(run(TEXT, "deflate", 1000).await, whole);
        assert_eq!(run(TEXT, "zstd", 1000).await, whole);
    }

    #[tokio::test]
    async fn gzip_twice_under_one_header_is_undone_twice() {
        let twice = gzip(&gzip(TEXT));
        assert_eq!(run(&twice, "gzip", 1000).await, Ok((TEXT.to_vec(), false)));
    }

    #[tokio::test]
    async fn a_bomb_is_named_in_every_coding() {
        let swollen = vec![b'x'; 20_000_000];
        for (header, bomb) in [
            ("gzip", gzip(&swollen)),
            ("deflate", zlib(&swollen)),
            ("deflate", deflate(&swollen)),
            ("br", brotli(&swollen).await),
            ("zstd", zstd(&swollen)),
            ("gzip, gzip", gzip(&gzip(&swollen))),
        ] {
            for max in [100_000, 1 << 30] {
                let error = run(&bomb, header, max).await.unwrap_err();
                assert!(
                    matches!(error, FetchError::Bomb { .. }),
                    "{header}: {error}"
                );
            }
        }
    }

    #[tokio::test]
    async fn what_may_swell_stops_at_the_limit() {
        // Small bodies may swell as they like, and every body as much as the bound says.
        let blanks = gzip(&vec![b' '; 60_000]);
        let (body, truncated) = run(&blanks, "gzip", 50_000).await.unwrap();
        assert_eq!((body.len(), truncated), (50_000, true));
        let large = gzip(&vec![b'x'; 20_000_000]);
        let decoded = decode(large.into(), Some("gzip"), bounds(100_000, 2_000)).await;
        let decoded = decoded.unwrap();
        assert_eq!((decoded.body.len(), decoded.truncated), (100_000, true));
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
        let error = run(TEXT, "compress", 1000).await.unwrap_err();
        assert!(error.to_string().contains("compress"), "{error}");
        assert!(run(TEXT, "gzip,gzip,gzip,gzip", 1000).await.is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_under_any_header_break_the_bound(
            raw in proptest::collection::vec(any::<u8>(), 0..400),
            prefix in prop_oneof![Just(vec![]), Just(vec![0x1f, 0x8b, 8, 0]), Just(vec![0x78, 0x9c]),
                Just(vec![0x28, 0xb5, 0x2f, 0xfd])],
            header in prop_oneof![
                Just("gzip"), Just("deflate"), Just("br"), Just("zstd"), Just("br, gzip"),
            ],
        ) {
            let raw = Bytes::from([prefix, raw].concat());
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            if let Ok(decoded) = runtime.block_on(decode(raw, Some(header), bounds(64, 250))) {
                prop_assert!(decoded.body.len() <= 64);
            }
        }
    }
}
