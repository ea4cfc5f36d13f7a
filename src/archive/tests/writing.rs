//! What the writer writes, as we, flate2 and the `warc` crate read it.

use std::fs;
use std::io::{Read, Write};

use proptest::prelude::*;

use super::*;

#[test]
fn the_warc_crate_reads_what_was_written() {
    let (_folder, path, _) = written(PAGES);
    let reader = warc::WarcReader::from_path_gzip(&path).unwrap();
    let records: Vec<_> = reader.iter_records().map(Result::unwrap).collect();
    assert_eq!(records.len(), PAGES.len() + 1);
    assert_eq!(records[0].warc_type(), &warc::RecordType::WarcInfo);
    for (record, (address, body)) in records[1..].iter().zip(PAGES) {
        assert_eq!(record.warc_type(), &warc::RecordType::Response);
        let target = record.header(warc::WarcHeader::TargetURI).unwrap();
        assert_eq!(target, *address);
        assert_eq!(record.date().timestamp_millis(), WHEN.0);
        let block = String::from_utf8(record.body().to_vec()).unwrap();
        let length = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        assert!(block.starts_with("HTTP/1.1 200 OK\r\n"), "{block}");
        assert!(block.ends_with(&length), "{block}");
    }
    let mut ids: Vec<&str> = records.iter().map(warc::Record::warc_id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), records.len(), "record ids repeat");
}

#[test]
fn every_record_is_a_gzip_member_at_the_offset_that_was_told() {
    let (_folder, path, offsets) = written(PAGES);
    let bytes = fs::read(path).unwrap();
    for range in offsets.windows(2) {
        let member = &bytes[usize::try_from(range[0]).unwrap()..usize::try_from(range[1]).unwrap()];
        let mut text = String::new();
        let mut decoder = flate2::bufread::GzDecoder::new(member);
        decoder.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("WARC/1.1\r\nWARC-Type: response\r\n"));
        assert!(text.ends_with("</p>\r\n\r\n"));
        assert!(text.contains("\r\nWARC-Date: 2009-02-13T23:31:30.123Z\r\n"));
        assert!(decoder.into_inner().is_empty());
    }
}

#[test]
fn digests_are_sha1_in_base_32() {
    let (_folder, path, offsets) = written(&[("http://a.example/", "abc")]);
    let bytes = fs::read(path).unwrap();
    let mut text = String::new();
    let member = &bytes[usize::try_from(offsets[0]).unwrap()..];
    Read::read_to_string(&mut flate2::bufread::GzDecoder::new(member), &mut text).unwrap();
    // SHA-1 of "abc" is a9993e36 4706816a ba3e2571 7850c26c 9cd0d89d (FIPS 180, appendix A.1).
    let wanted = "WARC-Payload-Digest: sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5\r\n";
    assert!(text.contains(wanted), "{text}");
}

#[test]
fn headers_of_the_transport_and_line_ends_in_headers_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.warc.gz");
    let mut writer = WarcWriter::create(&path, "x\r\nevil: 1", WHEN).unwrap();
    let stored = headers(&[
        ("Transfer-Encoding", "chunked"),
        ("content-encoding", "gzip"),
        ("Content-Length", "5"),
        ("X-Odd", "a\r\n\r\nb"),
    ]);
    let answer = StoredAnswer {
        url: &url("http://a.example/"),
        fetched: WHEN,
        status: 404,
        headers: &stored,
        body: b"not here",
    };
    writer.write_answer(&answer).unwrap();
    let archive = Archive::open(&[&path]).unwrap();
    let found = archive.get(answer.url).unwrap().unwrap();
    assert_eq!(found.status, 404);
    assert_eq!(found.body, "not here");
    assert_eq!(found.headers, headers(&[("X-Odd", "a    b")]));
}

#[test]
fn writing_goes_on_after_the_last_whole_record() {
    let (_folder, path, offsets) = written(PAGES);
    let whole = *offsets.last().unwrap();
    let mut torn = fs::OpenOptions::new().append(true).open(&path).unwrap();
    torn.write_all(b"\x1f\x8b\x08half a record").unwrap();
    let mut writer = WarcWriter::resume(&path, whole).unwrap();
    let answer = StoredAnswer {
        url: &url("http://c.example/"),
        fetched: WHEN,
        status: 200,
        headers: &[],
        body: b"four",
    };
    assert_eq!(writer.write_answer(&answer).unwrap(), whole);
    let archive = Archive::open(&[&path]).unwrap();
    assert_eq!(archive.len(), 4);
    assert_eq!(archive.info().unparsable, 0);
    let error = WarcWriter::resume(&path, 1 << 40).unwrap_err();
    assert!(matches!(error, ArchiveError::Shortened { .. }), "{error}");
    let error = WarcWriter::create(&path, "tests", WHEN).unwrap_err();
    assert!(
        error.to_string().contains("cannot create archive"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn any_answer_comes_back_as_it_was_written(
        body in proptest::collection::vec(any::<u8>(), 0..3000),
        value in "[ -~]{0,60}",
        status in 200_u16..600,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.warc.gz");
        let mut writer = WarcWriter::create(&path, "tests", WHEN).unwrap();
        let stored = headers(&[("X-Value", value.trim())]);
        let address = url("http://a.example/");
        let answer = StoredAnswer {
            url: &address,
            fetched: WHEN,
            status,
            headers: &stored,
            body: &body,
        };
        writer.write_answer(&answer).unwrap();
        let found = Archive::open(&[&path]).unwrap().get(&address).unwrap().unwrap();
        prop_assert_eq!(found.status, status);
        prop_assert_eq!(&found.body[..], &body[..]);
        prop_assert_eq!(found.headers, stored);
    }
}
