//! Archives written and read back.

mod beside;
mod damage;
mod keeping;
mod recovery;
mod writing;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
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
    // In order, backwards, and twice the same: what is kept of one reading must not hurt another.
    for n in [0, 1, 2, 2, 1, 0, 1, 2] {
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
fn many_threads_read_one_archive_at_once() {
    let bytes: Vec<u8> = PAGES
        .iter()
        .flat_map(|(address, body)| http_record(address, &format!("HTTP/1.1 200 OK\r\n\r\n{body}")))
        .collect();
    let (_one, one_member) = folder_with("one.warc.gz", &gzip(&bytes));
    let (_many, many_members, _) = written(PAGES);
    for path in [one_member, many_members] {
        let archive = Archive::open(&[&path]).unwrap();
        std::thread::scope(|scope| {
            for shift in 0..4 {
                let archive = &archive;
                scope.spawn(move || {
                    for (address, body) in PAGES.iter().cycle().skip(shift).take(60) {
                        assert_eq!(body_of(archive, address).unwrap(), *body);
                    }
                });
            }
        });
    }
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
    Archive::open_watched(&[&first, &second], &Indexes::none(), &mut |progress| {
        last = Some(progress);
    })
    .unwrap();
    let wanted = Progress {
        bytes: size,
        bytes_total: size,
    };
    assert_eq!(last, Some(wanted));
}

#[test]
fn a_link_under_the_other_scheme_is_redirected_to_the_one_that_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.warc.gz");
    write_pages(
        &path,
        &[
            ("https://a.example/x", "<p>x</p>"),
            ("http://b.example/", "<p>b</p>"),
        ],
    );
    let archive = Archive::open(&[path]).unwrap();
    let location = |address: &str| {
        let answer = archive.answer(&url(address)).unwrap()?;
        let headers = answer.headers.into_iter();
        let location = headers
            .filter(|(name, _)| name == "Location")
            .map(|(_, to)| to);
        Some((answer.status, location.collect::<Vec<_>>()))
    };
    let to = |target: &str| Some((301, vec![target.to_owned()]));
    assert_eq!(location("http://a.example/x"), to("https://a.example/x"));
    assert_eq!(location("https://b.example/"), to("http://b.example/"));
    assert_eq!(location("https://a.example/x"), Some((200, Vec::new())));
    assert_eq!(location("http://a.example/y"), None);
    assert!(archive.answers(&url("http://a.example/x")));
    assert!(!archive.contains(&url("http://a.example/x")));
}
