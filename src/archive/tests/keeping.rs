//! Pages kept by a crawl: what the `warc` crate reads of them, and what an opening cuts off.

use std::collections::BTreeMap;
use std::io::Write as _;

use super::*;

/// A record as the `warc` crate reads it: headers by lower-case name, and block.
type Record = (BTreeMap<String, String>, String);

fn kept_page(address: &str, response: &str) -> KeptPage {
    KeptPage::new(&WireExchange {
        url: &url(address),
        fetched: WHEN,
        request: b"GET / HTTP/1.1\r\nhost: a.example\r\n\r\n",
        response: response.as_bytes(),
        is_h2: false,
        address: Some([192, 0, 2, 7].into()),
        is_cut: false,
    })
    .unwrap()
}

fn open(folder: &Path, last: Option<KeptAt>) -> Keeper {
    let about = vec![("isPartOf", "tests".to_owned())];
    Keeper::open(folder, "c", "tests/1", about, last).unwrap()
}

fn keep(keeper: &mut Keeper, page: KeptPage) -> KeptAt {
    let judgement = [("apprentice-relevance", "0.5".to_owned())];
    keeper.keep(page, &judgement, WHEN).unwrap()
}

fn records(path: &Path) -> Vec<Record> {
    let reader = warc::WarcReader::from_path_gzip(path).unwrap();
    let records = reader.iter_raw_records().map(|record| {
        let (headers, body) = record.unwrap();
        let headers = headers
            .as_ref()
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8(value.clone()).unwrap()))
            .collect();
        (headers, String::from_utf8(body).unwrap())
    });
    records.collect()
}

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\nabc";

/// SHA-1 of "abc" (FIPS 180, appendix A.1).
const ABC: &str = "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5";

#[test]
fn a_page_is_an_answer_a_request_and_a_judgement() {
    let folder = tempfile::tempdir().unwrap();
    let mut keeper = open(folder.path(), None);
    let at = keep(&mut keeper, kept_page("http://a.example/", ANSWER));
    let records = records(&keeper.path(1));
    let kinds: Vec<_> = records
        .iter()
        .map(|(head, _)| &*head["warc-type"])
        .collect();
    assert_eq!(kinds, ["warcinfo", "response", "request", "metadata"]);
    assert!(records[0].1.contains("isPartOf: tests\r\n"));
    let (response, block) = &records[1];
    assert_eq!(block, ANSWER);
    assert_eq!(response["warc-payload-digest"], ABC);
    assert_eq!(response["warc-ip-address"], "192.0.2.7");
    assert!(records[2].1.starts_with("GET / HTTP/1.1\r\n"));
    assert_eq!(records[3].1, "apprentice-relevance: 0.5\r\n");
    for (head, _) in &records[2..] {
        assert_eq!(head["warc-concurrent-to"], response["warc-record-id"]);
        assert_eq!(head["warc-target-uri"], "http://a.example/");
    }
    assert_eq!(at.end, fs::metadata(keeper.path(1)).unwrap().len());
    let archive = Archive::open(&[keeper.path(1)]).unwrap();
    assert_eq!(
        body_of(&archive, "http://a.example/").as_deref(),
        Some("abc")
    );
}

#[test]
fn a_payload_that_is_known_is_referred_to() {
    let folder = tempfile::tempdir().unwrap();
    let mut keeper = open(folder.path(), None);
    let chunked = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\
        HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n";
    keep(&mut keeper, kept_page("http://a.example/", chunked));
    keep(&mut keeper, kept_page("http://b.example/", chunked));
    let records = records(&keeper.path(1));
    let (revisit, block) = &records[4];
    assert_eq!(revisit["warc-type"], "revisit");
    assert_eq!(revisit["warc-refers-to-target-uri"], "http://a.example/");
    assert_eq!(revisit["warc-refers-to-date"], "2009-02-13T23:31:30.123Z");
    let response = &records[1].0;
    assert_eq!(
        revisit["warc-payload-digest"],
        response["warc-payload-digest"]
    );
    assert_ne!(revisit["warc-record-id"], response["warc-record-id"]);
    assert_eq!(
        block,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    let (request, _) = &records[5];
    assert_eq!(request["warc-concurrent-to"], revisit["warc-record-id"]);
}

#[test]
fn a_payload_that_was_kept_before_a_restart_is_referred_to_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let mut keeper = open(folder.path(), None);
    let first = keep(&mut keeper, kept_page("http://a.example/", ANSWER));
    drop(keeper);
    // A revisit, and after another restart one of what is itself a revisit.
    let mut last = first;
    for name in ["b", "c"] {
        let mut keeper = open(folder.path(), Some(last));
        let page = kept_page(&format!("http://{name}.example/"), ANSWER);
        keeper.recall(&page, last);
        last = keep(&mut keeper, page);
    }
    let mut keeper = open(folder.path(), Some(last));
    let other = kept_page("http://d.example/", "HTTP/1.1 200 OK\r\n\r\nother");
    keeper.recall(&other, first);
    let nowhere = KeptAt { file: 9, ..first };
    keeper.recall(&other, nowhere);
    keep(&mut keeper, other);
    let records = records(&keeper.path(1));
    let answers = records
        .iter()
        .filter(|(head, _)| matches!(&*head["warc-type"], "response" | "revisit"));
    let kinds: Vec<&str> = answers.map(|(head, _)| &*head["warc-type"]).collect();
    assert_eq!(kinds, ["response", "revisit", "revisit", "response"]);
    for (head, _) in records
        .iter()
        .filter(|(head, _)| head["warc-type"] == "revisit")
    {
        assert_eq!(head["warc-refers-to-target-uri"], "http://a.example/");
        assert_eq!(head["warc-refers-to-date"], records[1].0["warc-date"]);
    }
}

#[test]
fn what_is_cut_or_has_no_payload_is_never_referred_to() {
    let folder = tempfile::tempdir().unwrap();
    let mut keeper = open(folder.path(), None);
    for _ in 0..2 {
        keep(
            &mut keeper,
            kept_page("http://a.example/", "HTTP/1.1 200 OK\r\n\r\n"),
        );
        let cut = KeptPage::new(&WireExchange {
            url: &url("http://c.example/"),
            fetched: WHEN,
            request: b"",
            response: ANSWER.as_bytes(),
            is_h2: true,
            address: None,
            is_cut: true,
        });
        keep(&mut keeper, cut.unwrap());
    }
    let records = records(&keeper.path(1));
    assert!(
        records
            .iter()
            .all(|(head, _)| head["warc-type"] != "revisit")
    );
    let (cut, _) = &records[4];
    assert_eq!(cut["warc-truncated"], "length");
    assert_eq!(cut["warc-protocol"], "h2");
}

#[test]
fn a_full_file_is_followed_by_another() {
    let folder = tempfile::tempdir().unwrap();
    let mut keeper = open(folder.path(), None).with_file_bytes_max(1);
    let files: Vec<_> = (0..3)
        .map(|_| keep(&mut keeper, kept_page("http://a.example/", ANSWER)).file)
        .collect();
    assert_eq!(files, [1, 2, 3]);
    for file in files {
        let records = records(&keeper.path(file));
        assert_eq!(records.len(), 4);
        assert_eq!(records[0].0["warc-type"], "warcinfo");
    }
    // The folder, whose names are new, and the files.
    assert!(keeper.unsynced().len() > 3);
    assert!(keeper.unsynced().is_empty());
}

#[test]
fn opening_cuts_to_the_last_end_that_was_booked() {
    let folder = tempfile::tempdir().unwrap();
    let mut keeper = open(folder.path(), None);
    let booked = keep(&mut keeper, kept_page("http://a.example/", ANSWER));
    let mut keeper = keeper.with_file_bytes_max(booked.end + 1);
    keep(
        &mut keeper,
        kept_page("http://b.example/", "HTTP/1.1 200 OK\r\n\r\nb"),
    );
    let lost = keep(
        &mut keeper,
        kept_page("http://c.example/", "HTTP/1.1 200 OK\r\n\r\nc"),
    );
    assert_eq!(lost.file, 2);
    fs::write(folder.path().join("c-notes.txt"), "not ours").unwrap();

    let mut keeper = open(folder.path(), Some(booked));
    assert_eq!(fs::metadata(keeper.path(1)).unwrap().len(), booked.end);
    assert!(!keeper.path(2).exists());
    assert!(folder.path().join("c-notes.txt").exists());
    let next = keep(
        &mut keeper,
        kept_page("http://d.example/", "HTTP/1.1 200 OK\r\n\r\nd"),
    );
    assert_eq!((next.file, next.offset), (1, booked.end));

    let mut torn = fs::OpenOptions::new()
        .append(true)
        .open(keeper.path(1))
        .unwrap();
    torn.write_all(b"\x1f\x8b\x08 a torn end").unwrap();
    let keeper = open(folder.path(), Some(next));
    assert_eq!(fs::metadata(keeper.path(1)).unwrap().len(), next.end);
    let keeper = open(folder.path(), None);
    assert!(!keeper.path(1).exists(), "nothing was booked at all");
}

#[test]
fn a_file_that_lost_what_was_booked_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut keeper = open(folder.path(), None);
    let mut booked = keep(&mut keeper, kept_page("http://a.example/", ANSWER));
    booked.end += 1;
    let error = Keeper::open(folder.path(), "c", "tests/1", Vec::new(), Some(booked)).unwrap_err();
    assert!(matches!(error, ArchiveError::Shortened { .. }), "{error}");
}

#[test]
fn an_index_names_each_answer_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let mut keeper = open(folder.path(), None);
    keep(&mut keeper, kept_page("http://www.b.example/x", ANSWER));
    let second = keep(&mut keeper, kept_page("http://a.example/", ANSWER));
    let (lines, damage) = cdxj(&[keeper.path(1)]).unwrap();
    assert!(damage.is_empty());
    assert_eq!(lines.len(), 2);
    let (head, fields) = lines[0].split_once(" {").unwrap();
    assert_eq!(head, "example,a)/ 20090213233130");
    let fields: serde_json::Value = serde_json::from_str(&format!("{{{fields}")).unwrap();
    assert_eq!(fields["mime"], "warc/revisit");
    assert_eq!(fields["offset"], second.offset.to_string());
    assert_eq!(fields["filename"], "c-00001.warc.gz");
    assert!(lines[1].starts_with("example,b)/x 20090213233130 {"));
    assert!(lines[1].contains(ABC) && lines[1].contains("\"mime\":\"text/html\""));
    // The member at the offset, of that length, is the record.
    let bytes = fs::read(keeper.path(1)).unwrap();
    let number = |name: &str| fields[name].as_str().unwrap().parse::<usize>().unwrap();
    let member = &bytes[number("offset")..][..number("length")];
    let mut text = String::new();
    let mut decoder = flate2::bufread::GzDecoder::new(member);
    std::io::Read::read_to_string(&mut decoder, &mut text).unwrap();
    assert!(text.contains("WARC-Type: revisit") && decoder.into_inner().is_empty());
}
