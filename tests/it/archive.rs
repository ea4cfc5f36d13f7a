//! `apprentice archive` on files of other programs, and other programs on files of ours.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use apprentice::archive::{Keeper, KeptPage, StoredAnswer, WarcWriter, WireExchange};
use apprentice::clock::Timestamp;
use apprentice::url::CanonicalUrl;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::daemon::{Home, Web, create, finished, toy};

/// Names the folder with the programs of warcio, `FastWARC` and cdxj-indexer; set by `.ci/run`.
const TOOLS_VARIABLE: &str = "APPRENTICE_WARC_TOOLS";

/// 2009-02-13T23:31:30.123Z.
const WHEN: Timestamp = Timestamp(1_234_567_890_123);

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A record of WARC 1.0 that names no digest.
fn record(kind: &str, url: &str, more: &str, block: &str) -> Vec<u8> {
    format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n\
         WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{:012}>\r\n\
         WARC-Date: 2001-02-03T04:05:06Z\r\n{more}Content-Length: {}\r\n\r\n{block}\r\n\r\n",
        url.len(),
        block.len()
    )
    .into_bytes()
}

/// Answers of another program: none has a digest but the last.
fn foreign() -> Vec<u8> {
    let http = "Content-Type: application/http; msgtype=response\r\n";
    let chunked = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n\
                   3\r\nabc\r\n0\r\n\r\n";
    let named = format!("{http}WARC-Payload-Digest: sha1:OF-ANOTHER-KIND\r\n");
    [
        record(
            "response",
            "http://a.example/",
            http,
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nabc",
        ),
        record("response", "http://a.example/chunked", http, chunked),
        record(
            "resource",
            "http://a.example/resource",
            "Content-Type: text/plain\r\n",
            "abc",
        ),
        record(
            "response",
            "http://a.example/named",
            &named,
            "HTTP/1.1 404 Not Found\r\n\r\nabc",
        ),
    ]
    .iter()
    .flat_map(|record| gzip(record))
    .collect()
}

/// Key, time and fields of each line.
fn lines(index: &str) -> Vec<(String, serde_json::Value)> {
    let lines = index.lines().map(|line| {
        let at = line.find('{').unwrap();
        let (key, fields) = line.split_at(at);
        (key.to_owned(), serde_json::from_str(fields).unwrap())
    });
    lines.collect()
}

#[test]
fn a_digest_that_a_record_lacks_is_worked_out() {
    let home = Home::new();
    fs::write(home.path("foreign.warc.gz"), foreign()).unwrap();
    let index = home.run(&["archive", "index", "foreign.warc.gz"]);
    let digests: Vec<_> = lines(index.done())
        .into_iter()
        .map(|(_, fields)| (fields["url"].clone(), fields["digest"].clone()))
        .collect();
    // SHA-1 of "abc" (FIPS 180, appendix A.1).
    let abc = "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5";
    // printf '3\r\nabc\r\n0\r\n\r\n' | sha1sum | xxd -r -p | base32
    let chunked = "sha1:EZMCEYKLYMOWXPIGFLXFT3WW62PQVRQP";
    assert_eq!(
        digests,
        [
            ("http://a.example/", abc),
            ("http://a.example/chunked", chunked),
            ("http://a.example/named", "sha1:OF-ANOTHER-KIND"),
            ("http://a.example/resource", abc),
        ]
        .map(|(url, digest)| (url.into(), digest.into()))
    );
}

/// A program of the tools with its arguments; `None` where they are not installed.
#[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
fn tool(name: &str) -> Option<Command> {
    let Some(folder) = std::env::var_os(TOOLS_VARIABLE) else {
        println!(
            "skipped: {TOOLS_VARIABLE} names no folder with warcio, fastwarc and cdxj-indexer"
        );
        return None;
    };
    Some(Command::new(PathBuf::from(folder).join(name)))
}

/// What a tool prints; it has to succeed.
#[track_caller]
fn output(mut tool: Command) -> String {
    let output = tool.output().unwrap();
    let (out, err) = (output.stdout, output.stderr);
    let (out, err) = (
        String::from_utf8(out).unwrap(),
        String::from_utf8(err).unwrap(),
    );
    assert!(output.status.success(), "{tool:?}: {out}{err}");
    out
}

/// Reads a file with each of the tools; `false` where they are not installed.
#[track_caller]
fn tools_agree(home: &Home, path: &Path) -> bool {
    let Some(mut check) = tool("warcio") else {
        return false;
    };
    check.arg("check").arg("-v").arg(path);
    let checked = output(check);
    assert!(!checked.contains("fail"), "{checked}");
    assert!(checked.contains("digest pass"), "{checked}");

    let mut check = tool("fastwarc").unwrap();
    // Without its -p, which misses the payload of revisit records; payloads are warcio's part.
    check.args(["check", "-q"]).arg(path);
    output(check);

    let mut index = tool("cdxj-indexer").unwrap();
    index.arg("--sort").arg(path);
    let path = path.to_str().unwrap();
    let ours = home.run(&["archive", "index", path]);
    assert_eq!(lines(ours.done()), lines(&output(index)));
    true
}

/// An exchange as it is kept.
fn page(url: &CanonicalUrl, response: &[u8], is_h2: bool) -> KeptPage {
    KeptPage::new(&WireExchange {
        url,
        fetched: WHEN,
        request: b"GET / HTTP/1.1\r\nhost: a.example\r\n\r\n",
        response,
        is_h2,
        address: Some([192, 0, 2, 7].into()),
        is_cut: false,
    })
    .unwrap()
}

#[test]
fn answers_of_every_kind_are_read_by_the_tools_of_others() {
    let home = Home::new();
    let name = "k";
    let mut keeper = Keeper::open(
        &home.path("kept"),
        name,
        "tests/1",
        vec![("isPartOf", "tests".to_owned())],
        None,
    )
    .unwrap();
    let zipped = gzip(b"<p>zipped");
    let answers: [(&str, Vec<u8>, bool); 6] = [
        ("http://a.example/", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nabc".into(), false),
        // A revisit record.
        ("http://b.example/same?b=2&a=1", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nabc".into(), false),
        ("https://a.example/two", b"HTTP/1.1 200 \r\ncontent-type: text/html\r\n\r\nover h2".into(), true),
        (
            "http://a.example/chunks",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n5;x=y\r\n<p>ab\r\n0\r\n\r\n".into(),
            false,
        ),
        (
            "http://a.example/zipped",
            [b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: text/html\r\n\r\n", &zipped[..]].concat(),
            false,
        ),
        ("http://a.example/moved", b"HTTP/1.1 301 Moved\r\nLocation: /\r\nContent-Type: text/html\r\n\r\n<a href=/>here</a>".into(), false),
    ];
    for (url, response, is_h2) in &answers {
        let url = CanonicalUrl::parse(url).unwrap();
        let judgement = [("apprentice-relevance", "0.5".to_owned())];
        keeper
            .keep(page(&url, response, *is_h2), &judgement, WHEN)
            .unwrap();
    }
    assert!(fs::metadata(keeper.path(1)).unwrap().len() > 0);
    tools_agree(&home, &keeper.path(1));
}

#[test]
fn files_of_others_are_indexed_as_cdxj_indexer_does() {
    let Some(mut index) = tool("cdxj-indexer") else {
        return;
    };
    let home = Home::new();
    let path = home.path("foreign.warc.gz");
    fs::write(&path, foreign()).unwrap();
    index.arg("--sort").arg(&path);
    let ours = home.run(&["archive", "index", "foreign.warc.gz"]);
    assert_eq!(lines(ours.done()), lines(&output(index)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_crawl_keeps_is_read_by_the_tools_of_others() {
    let home = Home::new();
    let web = toy();
    let served = Web::serve_toy(&web).await;
    let daemon = home.daemon_on(&served).await;
    let mut client = daemon.client().await;
    let mut spec = home.spec("kept", &web);
    spec.warc = true;
    spec.budget = 60;
    create(&mut client, spec).await;
    finished(&mut client, "kept").await;
    daemon.stop().await;
    let path = home.data().join("crawls/kept/warc/kept-00001.warc.gz");
    let info = home.run(&["archive", "info", "--json", path.to_str().unwrap()]);
    let info: serde_json::Value = serde_json::from_str(info.done()).unwrap();
    let statuses = info["statuses"].as_object().unwrap();
    // What is no page is kept as well: the web has redirects and dead links.
    for status in ["200", "302", "404"] {
        assert!(statuses.contains_key(status), "{status}: {info}");
    }
    tools_agree(&home, &path);
}

#[test]
fn character_sets_are_counted_by_the_way_they_were_found() {
    let home = Home::new();
    let mut warc = WarcWriter::create(&home.path("w.warc.gz"), "tests", WHEN).unwrap();
    for (n, (content_type, body)) in [
        ("text/html", &b"\xef\xbb\xbf<p>mark"[..]),
        ("text/html; charset=koi8-r", b"<p>header"),
        ("text/html", b"<meta charset=euc-kr><p>page"),
        ("text/html", b"<meta charset=utf-8><p>caf\xe9"),
        ("text/html", b"<p>ascii"),
        ("text/html", b"<p>caf\xe9, na\xefve"),
        ("image/png", b"\x89PNG\r\n\x1a\n"),
    ]
    .into_iter()
    .enumerate()
    {
        warc.write_answer(&StoredAnswer {
            url: &CanonicalUrl::parse(&format!("http://a.example/{n}")).unwrap(),
            fetched: WHEN,
            status: 200,
            headers: &[("Content-Type".to_owned(), content_type.to_owned())],
            body,
        })
        .unwrap();
    }
    drop(warc);
    let said = home.run(&["archive", "info", "--charsets", "w.warc.gz"]);
    let rows: Vec<Vec<&str>> = said
        .done()
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        rows,
        [
            vec!["FOUND", "BY", "CHARSET", "PAGES", "MALFORMED", "EXAMPLE"],
            vec!["mark", "UTF-8", "1", "0", "http://a.example/0"],
            vec!["header", "KOI8-R", "1", "0", "http://a.example/1"],
            vec!["page", "EUC-KR", "1", "0", "http://a.example/2"],
            vec!["page", "UTF-8", "1", "1", "http://a.example/3"],
            vec!["valid", "UTF-8", "1", "0", "http://a.example/4"],
            vec!["guess", "windows-1252", "1", "0", "http://a.example/5"],
        ]
    );
}
