//! Archives written, read back by us and by the `warc` crate, damaged, and read again.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::clock::Timestamp;
use crate::url::CanonicalUrl;

/// 2009-02-13T23:31:30.123Z, a date that everybody knows.
const WHEN: Timestamp = Timestamp(1_234_567_890_123);

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text).unwrap()
}

fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn write_pages(path: &Path, pages: &[(&str, &str)]) -> Vec<u64> {
    let mut writer = WarcWriter::create(path, "tests", WHEN).unwrap();
    let html = headers(&[("Content-Type", "text/html; charset=utf-8")]);
    let mut offsets = Vec::new();
    for (address, body) in pages {
        let answer = StoredAnswer {
            url: &url(address),
            fetched: WHEN,
            status: 200,
            headers: &html,
            body: body.as_bytes(),
        };
        offsets.push(writer.write_answer(&answer).unwrap());
    }
    writer.sync().unwrap();
    offsets.push(writer.offset());
    offsets
}

const PAGES: &[(&str, &str)] = &[
    ("http://a.example/", "<p>one</p>"),
    ("https://a.example:8443/x?y=1", "<p>two</p>"),
    ("http://b.example/", "<p>three</p>"),
];

fn folder_with(name: &str, bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn written(pages: &[(&str, &str)]) -> (TempDir, PathBuf, Vec<u64>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages.warc.gz");
    let offsets = write_pages(&path, pages);
    (folder, path, offsets)
}

fn body_of(archive: &Archive, address: &str) -> Option<String> {
    let found = archive.get(&url(address)).unwrap()?;
    Some(String::from_utf8(found.body.to_vec()).unwrap())
}

fn http_record(address: &str, http: &str) -> Vec<u8> {
    format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {address}\r\n\
         WARC-Date: 2001-02-03T04:05:06Z\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
        http.len()
    )
    .into_bytes()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn what_was_written_is_read_back_in_order() {
    let (_folder, path, _) = written(PAGES);
    let archive = Archive::open(&[&path]).unwrap();
    let urls: Vec<String> = archive.urls().map(|url| url.to_string()).collect();
    let wanted: Vec<&str> = PAGES.iter().map(|(address, _)| *address).collect();
    assert_eq!(urls, wanted);
    for (address, body) in PAGES {
        let found = archive.get(&url(address)).unwrap().unwrap();
        assert_eq!(found.status, 200);
        assert_eq!(found.body, body.as_bytes());
        let content_type = "text/html; charset=utf-8";
        assert_eq!(found.content_type.as_deref(), Some(content_type));
        assert_eq!(found.headers, headers(&[("Content-Type", content_type)]));
    }
    assert_eq!(archive.get(&url("https://a.example/")).unwrap(), None);
}

#[test]
fn the_info_counts_hosts_statuses_types_and_dates() {
    let (_folder, path, _) = written(PAGES);
    let archive = Archive::open(&[&path]).unwrap();
    let info = archive.info();
    assert_eq!((info.records, info.other_records, info.pages), (4, 1, 3));
    assert_eq!(
        info.hosts_by_pages(),
        [("a.example", 1), ("a.example:8443", 1), ("b.example", 1)]
    );
    assert_eq!(info.statuses, [(200, 3)].into());
    assert_eq!(info.content_types, [("text/html".to_owned(), 3)].into());
    assert_eq!((info.first, info.last), (Some(WHEN), Some(WHEN)));
    let size = fs::metadata(&path).unwrap().len();
    assert_eq!(info.files[0].bytes, size);
    assert_eq!(info.files[0].answers_inside_members, 0);
    assert_eq!(info.unparsable, 0);
}

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
        std::io::Read::read_to_string(&mut decoder, &mut text).unwrap();
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
    std::io::Read::read_to_string(&mut flate2::bufread::GzDecoder::new(member), &mut text).unwrap();
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

#[test]
fn the_first_answer_for_a_url_wins_over_several_files() {
    let (_one, first, _) = written(&[("http://a.example/", "first"), ("http://a.example/#x", "b")]);
    let (_two, second, _) = written(&[("http://a.example/", "second"), ("http://b.example/", "c")]);
    let archive = Archive::open(&[&first, &second]).unwrap();
    assert_eq!(body_of(&archive, "http://a.example/").unwrap(), "first");
    assert_eq!(body_of(&archive, "http://b.example/").unwrap(), "c");
    assert_eq!(archive.info().duplicates, 2);
    assert_eq!(archive.info().files.len(), 2);
}

#[test]
fn a_plain_file_with_resources_and_odd_records_is_read() {
    let mut bytes = b"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://r.example/\r\n\
        Content-Type: text/plain\r\nContent-Length: 4\r\n\r\nbody\r\n\r\n"
        .to_vec();
    bytes.extend(http_record("dns:a.example", "HTTP/1.1 200 OK\r\n\r\n"));
    bytes.extend(http_record("http://bad.example/", "<html>no status line"));
    bytes.extend(http_record(
        "<http://a.example/>",
        "HTTP/1.0 301 Moved\r\nLocation: /x\r\n\r\n",
    ));
    let (_folder, path) = folder_with("a.warc", &bytes);
    let archive = Archive::open(&[&path]).unwrap();
    let resource = archive.get(&url("http://r.example/")).unwrap().unwrap();
    assert_eq!(resource.content_type.as_deref(), Some("text/plain"));
    assert_eq!(resource.body, "body");
    let moved = archive.get(&url("http://a.example/")).unwrap().unwrap();
    assert_eq!((moved.status, moved.body.len()), (301, 0));
    let info = archive.info();
    assert_eq!((info.pages, info.bad_urls, info.unparsable), (2, 1, 1));
    assert!(matches!(info.damage[0].flaw, Flaw::NotHttp(_)));
    assert!(!info.files[0].zipped);
}

#[test]
fn one_gzip_member_for_the_whole_file_is_read_and_reported() {
    let bytes: Vec<u8> = (0..3)
        .flat_map(|n| {
            http_record(
                &format!("http://a.example/{n}"),
                &format!("HTTP/1.1 200 OK\r\n\r\npage {n}"),
            )
        })
        .collect();
    let (_folder, path) = folder_with("a.warc.gz", &gzip(&bytes));
    let archive = Archive::open(&[&path]).unwrap();
    for n in 0..3 {
        let body = body_of(&archive, &format!("http://a.example/{n}"));
        assert_eq!(body.unwrap(), format!("page {n}"));
    }
    assert_eq!(archive.info().files[0].answers_inside_members, 2);
}

#[test]
fn records_that_span_gzip_members_are_read() {
    let bytes: Vec<u8> = (0..3)
        .flat_map(|n| http_record(&format!("http://a.example/{n}"), "HTTP/1.1 200 OK\r\n\r\nx"))
        .collect();
    let zipped: Vec<u8> = bytes.chunks(100).flat_map(gzip).collect();
    let (_folder, path) = folder_with("a.warc.gz", &zipped);
    let archive = Archive::open(&[&path]).unwrap();
    assert_eq!(archive.len(), 3);
    for url in archive.urls() {
        assert_eq!(archive.get(&url).unwrap().unwrap().body, "x");
    }
}

#[test]
fn a_cut_last_record_is_reported_with_its_place_and_the_others_stay() {
    let (_folder, path, offsets) = written(PAGES);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
    let archive = Archive::open(&[&path]).unwrap();
    assert_eq!(archive.len(), 2);
    let damage = &archive.info().damage[0];
    assert_eq!(
        (damage.offset, &damage.flaw),
        (offsets[2], &Flaw::UnexpectedEnd)
    );
    let words = damage.to_string();
    assert!(
        words.contains("pages.warc.gz") && words.contains(&offsets[2].to_string()),
        "{words}"
    );

    let text = http_record("http://a.example/", "HTTP/1.1 200 OK\r\n\r\nwhole");
    let cut = http_record("http://b.example/", "HTTP/1.1 200 OK\r\n\r\ncut");
    let both = [&text[..], &cut[..cut.len() - 6]].concat();
    let (_folder, path) = folder_with("a.warc", &both);
    let archive = Archive::open(&[&path]).unwrap();
    assert_eq!(archive.len(), 1);
    let flaw = &archive.info().damage[0].flaw;
    assert!(matches!(flaw, Flaw::CutOff { missing: 2, .. }), "{flaw}");
}

#[test]
fn damage_in_the_middle_of_a_zipped_file_costs_one_record() {
    let (_folder, path, offsets) = written(PAGES);
    let mut bytes = fs::read(&path).unwrap();
    let middle = usize::try_from(u64::midpoint(offsets[1], offsets[2])).unwrap();
    for byte in &mut bytes[middle..middle + 8] {
        *byte ^= 0xff;
    }
    fs::write(&path, &bytes).unwrap();
    let archive = Archive::open(&[&path]).unwrap();
    assert_eq!(archive.info().unparsable, 1, "{:?}", archive.info().damage);
    assert_eq!(archive.info().damage[0].offset, offsets[1]);
    assert!(body_of(&archive, PAGES[0].0).is_some());
    assert!(body_of(&archive, PAGES[1].0).is_none());
    assert!(body_of(&archive, PAGES[2].0).is_some());
}

#[test]
fn a_bad_record_in_a_good_member_costs_itself_alone() {
    let bytes = [
        gzip(&http_record(
            "http://a.example/",
            "HTTP/1.1 200 OK\r\n\r\na",
        )),
        gzip(b"WARC/1.1\r\nWARC-Type: response\r\n\r\nno length"),
        gzip(&http_record(
            "http://b.example/",
            "HTTP/1.1 200 OK\r\n\r\nb",
        )),
        b"trailing garbage".to_vec(),
    ]
    .concat();
    let (_folder, path) = folder_with("a.warc.gz", &bytes);
    let archive = Archive::open(&[&path]).unwrap();
    assert_eq!(archive.len(), 2);
    let flaws: Vec<&Flaw> = archive
        .info()
        .damage
        .iter()
        .map(|damage| &damage.flaw)
        .collect();
    assert!(
        matches!(flaws[..], [Flaw::NoLength, Flaw::Gzip(_)]),
        "{flaws:?}"
    );
}

#[test]
fn foreign_files_are_refused_in_words_that_name_them() {
    for bytes in [
        &b""[..],
        b"<html>not an archive</html>",
        b"\x1f\x8b\x08\x00garbage",
        &gzip(b"PK"),
    ] {
        let (_folder, path) = folder_with("foreign.bin", bytes);
        let error = Archive::open(&[&path]).unwrap_err();
        assert!(matches!(error, ArchiveError::NotWarc { .. }), "{error}");
        assert!(error.to_string().contains("foreign.bin"), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.warc");
    assert!(matches!(
        Archive::open(&[&missing]),
        Err(ArchiveError::Open { .. })
    ));
    assert!(matches!(
        Archive::open(&[folder.path()]),
        Err(ArchiveError::Open { .. })
    ));
    assert!(matches!(
        Archive::open::<&Path>(&[]),
        Err(ArchiveError::NoFiles)
    ));
}

#[test]
fn a_file_that_changes_under_the_index_gives_an_error_and_no_wrong_page() {
    let (_folder, path, _) = written(PAGES);
    let archive = Archive::open(&[&path]).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(0).unwrap();
    let error = archive.get(&url(PAGES[0].0)).unwrap_err();
    assert!(
        error.to_string().contains("was the file changed"),
        "{error}"
    );
}

#[test]
fn progress_ends_at_the_size_of_all_files() {
    let (_one, first, _) = written(PAGES);
    let (_two, second, _) = written(PAGES);
    let size: u64 = [&first, &second]
        .iter()
        .map(|path| fs::metadata(path).unwrap().len())
        .sum();
    let mut last = None;
    Archive::open_watched(&[&first, &second], &mut |progress| last = Some(progress)).unwrap();
    let wanted = Progress {
        bytes: size,
        bytes_total: size,
    };
    assert_eq!(last, Some(wanted));
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

    #[test]
    fn no_damage_makes_opening_or_reading_fail_in_another_way_than_by_an_error(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<proptest::sample::Index>(),
        zipped in any::<bool>(),
    ) {
        let plain: Vec<u8> = PAGES.iter().flat_map(|(address, body)| {
            http_record(address, &format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{body}\r\n0\r\n\r\n"))
        }).collect();
        let mut bytes = if zipped { gzip(&plain) } else { plain };
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        let (_folder, path) = folder_with("a.warc", &bytes);
        if let Ok(archive) = Archive::open(&[&path]) {
            prop_assert_eq!(archive.urls().count(), archive.len());
            for url in archive.urls() {
                let _ = archive.get(&url);
            }
        }
    }
}
