//! One record as a gzip member: its text, its digests, its name.

use std::fmt::Write as _;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha1::{Digest, Sha1};

use crate::clock::Timestamp;

/// The headers of a record up to the empty line.
pub(super) fn record_text(
    head: &[(&str, String)],
    id: &str,
    date: &str,
    block_digest: &str,
    block_bytes: usize,
) -> String {
    let mut text = String::from("WARC/1.1\r\n");
    let length = block_bytes.to_string();
    let own = [
        ("WARC-Record-ID", id),
        ("WARC-Date", date),
        ("WARC-Block-Digest", block_digest),
        ("Content-Length", &length),
    ];
    let head = head.iter().map(|(name, value)| (*name, value.as_str()));
    for (name, value) in head.chain(own) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{name}: {value}\r\n");
    }
    text.push_str("\r\n");
    text
}

/// A record on its way into a file.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) id: String,
    pub(super) bytes: Vec<u8>,
}

/// Makes a whole record whose name does not depend on where it will stand; `date` is written as
/// [`format_date`] does.
///
/// # Errors
/// What zipping fails with.
pub(super) fn member(head: &[(&str, String)], date: &str, block: &[u8]) -> io::Result<Member> {
    let id = record_id(head, date, &digest(block), 0);
    member_named(id, head, date, block)
}

/// As [`member`], under a name that it has already.
///
/// # Errors
/// As [`member`].
pub(super) fn member_named(
    id: String,
    head: &[(&str, String)],
    date: &str,
    block: &[u8],
) -> io::Result<Member> {
    let block_digest = digest(block);
    let text = record_text(head, &id, date, &block_digest, block.len());
    let bytes = zip(&[text.as_bytes(), block, b"\r\n\r\n"])?;
    Ok(Member { id, bytes })
}

/// A header's text without line ends, which would begin another header.
pub(super) fn one_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}

pub(super) fn zip(parts: &[&[u8]]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    for part in parts {
        encoder.write_all(part)?;
    }
    encoder.finish()
}

/// As WARC writes digests: SHA-1 in base 32.
pub(super) fn digest(bytes: &[u8]) -> String {
    digest_text(&Sha1::digest(bytes).into())
}

/// A SHA-1 as WARC writes it.
pub(super) fn digest_text(hash: &[u8; 20]) -> String {
    format!("sha1:{}", data_encoding::BASE32.encode(hash))
}

pub(super) fn format_date(moment: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(moment.0)
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
        .to_string()
}

/// A UUID from what the record is and where it stands (RFC 9562, version 8 with SHA-1): the same
/// crawl writes the same file.
pub(super) fn record_id(
    head: &[(&str, String)],
    date: &str,
    block_digest: &str,
    offset: u64,
) -> String {
    let mut hash = Sha1::new();
    for (name, value) in head {
        hash.update(name.as_bytes());
        hash.update(value.as_bytes());
        hash.update([0]);
    }
    hash.update(date.as_bytes());
    hash.update(block_digest.as_bytes());
    hash.update(offset.to_be_bytes());
    let hash = hash.finalize();
    let mut id = [0_u8; 16];
    for (to, from) in id.iter_mut().zip(hash.iter()) {
        *to = *from;
    }
    id[6] = (id[6] & 0x0f) | 0x80;
    id[8] = (id[8] & 0x3f) | 0x80;
    let hex = data_encoding::HEXLOWER.encode(&id);
    let groups = [0..8, 8..12, 12..16, 16..20, 20..32];
    let groups: Vec<&str> = groups
        .map(|range| hex.get(range).unwrap_or_default())
        .into();
    format!("<urn:uuid:{}>", groups.join("-"))
}
