//! What the commands print: golden outputs, and errors of one line with their exit codes.
//!
//! Outputs lie in `tests/it/snapshots`; `INSTA_UPDATE=always cargo test --test it cli` writes them
//! anew, for the difference to be read.

use std::fmt::Write as _;
use std::fs;

use apprentice::archive::{StoredAnswer, WarcWriter};
use apprentice::clock::Timestamp;
use apprentice::proto::v1;
use apprentice::url::CanonicalUrl;
use regex::Regex;

use crate::support::daemon::{Daemon, Home, TOPIC, Web, create, critic, finished, toy};

/// Text without what differs from run to run.
fn steady(home: &Home, text: &str) -> String {
    let mut text = text.replace(&home.path("").display().to_string(), "[home]/");
    for (pattern, word) in [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "[time]"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:[port]"),
        (r"[\d.]+ fetches/s", "[rate] fetches/s"),
        (r"\(process \d+\)", "(process [id])"),
    ] {
        text = Regex::new(pattern).unwrap().replace_all(&text, word).into();
    }
    text
}

/// A daemon with a crawl, `bees`, that has fetched twelve pages one by one.
async fn at_twelve(home: &Home, web: &Web) -> Daemon {
    let daemon = home.daemon_on(web).await;
    let mut client = daemon.client().await;
    let mut spec = home.spec("bees", &toy());
    spec.budget = 12;
    // One after the other, so that the order is always the same.
    spec.limits.get_or_insert_default().in_flight_max = 1;
    create(&mut client, spec).await;
    finished(&mut client, "bees").await;
    daemon
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outputs_are_as_they_were() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = at_twelve(&home, &web).await;
    let seed = toy().seeds(TOPIC)[0].as_str().to_owned();
    let commands: [&[&str]; 7] = [
        &["crawl", "list"],
        &["crawl", "status", "bees"],
        &["crawl", "loss", "bees", "--points", "4"],
        &["crawl", "frontier", "bees", "-k", "3"],
        &["crawl", "url", "bees", &seed],
        &["crawl", "pages", "bees"],
        &["critic", "info", "critic.model"],
    ];
    let mut all = String::new();
    for command in commands {
        let said = home.run(command);
        writeln!(all, "$ apprentice {}\n{}", command.join(" "), said.done()).unwrap();
    }
    insta::assert_snapshot!(steady(&home, &all));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_has_the_fields_of_the_api() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = at_twelve(&home, &web).await;
    let lines = |command: &[&str]| -> Vec<serde_json::Value> {
        let said = home.run(&[command, &["--json"]].concat());
        let lines = said.done().lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let status = &lines(&["crawl", "status", "bees"])[0];
    let crawl: v1::Crawl = serde_json::from_value(status.clone()).unwrap();
    assert_eq!((crawl.fetched, crawl.name.as_str()), (12, "bees"));
    assert_eq!(lines(&["crawl", "list"]).len(), 1);
    assert_eq!(lines(&["crawl", "loss", "bees"]).len(), 12);
    assert_eq!(lines(&["crawl", "frontier", "bees", "-k", "3"]).len(), 3);
    let pages = lines(&["crawl", "pages", "bees"]);
    assert_eq!(pages.len() as u64, crawl.pages);
    let url = pages[0]["url"].as_str().unwrap();
    assert_eq!(lines(&["crawl", "url", "bees", url])[0]["url"], url);
    assert_eq!(lines(&["crawl", "watch", "bees"]).len(), 1);
    assert_eq!(lines(&["crawl", "stop", "bees"])[0]["name"], "bees");
    assert_eq!(lines(&["crawl", "delete", "bees"])[0]["deleted"], true);
    assert!(lines(&["crawl", "list"]).is_empty());
    daemon.stop().await;
}

/// Runs commands that fail, each with the exit code that it should have; gives their lines.
fn failures(home: &Home, commands: &[(i32, &str)]) -> String {
    let mut all = String::new();
    for (code, command) in commands {
        let args: Vec<&str> = command.split(' ').collect();
        let said = home.run(&args);
        let line = said.error(*code);
        writeln!(all, "$ apprentice {command}\n{line}\n").unwrap();
    }
    steady(home, &all)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_crawl_refuses_is_told_on_one_line() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = at_twelve(&home, &web).await;
    let refused = failures(
        &home,
        &[
            (4, "crawl status wasps"),
            (4, "crawl watch wasps"),
            (4, "crawl pages wasps"),
            (4, "crawl delete wasps"),
            (5, "crawl resume bees"),
            (5, "crawl pause bees"),
            (5, "crawl seed bees mailto:a@b.example"),
            (5, "crawl url bees nonsense"),
            (5, "crawl set bees --allow ["),
        ],
    );
    insta::assert_snapshot!(refused);
    // A URL that is not known is an answer, with the code for what is not there.
    let said = home.run(&["crawl", "url", "bees", "http://unknown.example/"]);
    assert_eq!((said.code, said.err.as_str()), (Some(4), ""));
    assert!(said.out.contains("unknown"), "{}", said.out);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_that_cannot_be_made_is_told_on_one_line_and_leaves_nothing() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = at_twelve(&home, &web).await;
    damaged_models(&home);
    let write = |name: &str, text: &str| fs::write(home.path(name), text).unwrap();
    write("wrong.toml", "budget = 1\n\n[scope]\nalow = ['x']\n");
    write("half.toml", "budget = 1\ntopics = ['a'\nbudget\n");
    // All that a crawl needs, for the next one to be wrong in one thing only.
    let sound = "topics = ['beekeeping']\ncritic = 'critic.model'\nseeds = ['http://a.example/']\n";
    write("s.toml", sound);
    let refused = failures(
        &home,
        &[
            (5, "crawl start bees --spec s.toml"),
            (5, "crawl start ../up --spec s.toml"),
            (4, "crawl start new --spec s.toml --topic beekeping"),
            (5, "crawl start new --spec s.toml --deny (x"),
            (5, "crawl start new --spec s.toml --order best"),
            (5, "crawl start new --spec s.toml --contact nobody"),
            (5, "crawl start new --spec s.toml --in-flight 100000"),
            (
                5,
                "crawl start new --spec s.toml --allow-address 10.0.0.0/99",
            ),
            (5, "crawl start new --spec s.toml ftp://a.example/"),
            (
                5,
                "crawl start new --critic critic.model --topic beekeeping",
            ),
            (5, "crawl start new --critic critic.model"),
            (4, "crawl start new --topic beekeeping http://a.example/"),
            (5, "crawl start new --spec s.toml --without astronomy"),
            (1, "crawl start new --spec wrong.toml"),
            (1, "crawl start new --spec half.toml"),
            (1, "crawl start new --spec missing.toml"),
            (1, "crawl start new --seeds-file missing.txt"),
            (5, "crawl start new --spec s.toml --critic missing.model"),
            (5, "crawl start new --spec s.toml --critic foreign.model"),
            (5, "crawl start new --spec s.toml --critic newer.model"),
            (5, "crawl start new --spec s.toml --critic cut.model"),
            (5, "crawl start new --spec s.toml --critic changed.model"),
        ],
    );
    insta::assert_snapshot!(refused);
    let folders = fs::read_dir(home.data().join("crawls")).unwrap();
    assert_eq!(folders.count(), 1, "only that of bees");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_of_the_network_needs_a_contact() {
    let home = Home::new();
    let daemon = home.daemon(&[]).await;
    let start = "crawl start new http://a.example/ --topic beekeeping --critic critic.model";
    insta::assert_snapshot!(failures(&home, &[(5, start)]));
    assert_eq!(fs::read_dir(home.data().join("crawls")).unwrap().count(), 0);
    daemon.stop().await;
}

/// Models that were cut, changed, made by a later program, or are none.
fn damaged_models(home: &Home) {
    let whole = critic();
    let write = |name: &str, bytes: &[u8]| fs::write(home.path(name), bytes).unwrap();
    write(
        "foreign.model",
        b"PK\x03\x04 no model at all, but long enough to be one",
    );
    write("cut.model", &whole[..1000]);
    let changed = |at: usize, byte: u8| {
        let mut bytes = whole.to_vec();
        bytes[at] = byte;
        bytes
    };
    // After eight bytes of magic stands the version of the format.
    write("newer.model", &changed(8, 9));
    write("changed.model", &changed(2000, !whole[2000]));
}

/// A small archive, and a copy that was cut in the middle of its second record.
fn archives(home: &Home) {
    let path = home.path("pages.warc");
    let mut writer = WarcWriter::create(&path, "tests", Timestamp(0)).unwrap();
    for url in ["http://a.example/one", "http://a.example/two"] {
        let answer = StoredAnswer {
            url: &CanonicalUrl::parse(url).unwrap(),
            fetched: Timestamp(0),
            status: 200,
            headers: &[("Content-Type".to_owned(), "text/html".to_owned())],
            body: b"<p>A page.</p>",
        };
        writer.write_answer(&answer).unwrap();
    }
    drop(writer);
    let bytes = fs::read(&path).unwrap();
    fs::write(home.path("cut.warc"), &bytes[..bytes.len() - 60]).unwrap();
    fs::write(home.path("foreign.warc"), "From: nobody\n").unwrap();
    fs::write(home.path("empty.warc"), "").unwrap();
}

#[test]
fn what_needs_no_daemon_fails_on_one_line() {
    let home = Home::new();
    damaged_models(&home);
    archives(&home);
    fs::write(home.path("page.html"), "<p>A page.</p>").unwrap();
    fs::write(
        home.path("table.csv"),
        "subject,url\nbees,http://a.example/one\n",
    )
    .unwrap();
    let failed = failures(
        &home,
        &[
            (3, "crawl list"),
            (3, "crawl list --daemon http://127.0.0.1:1"),
            (3, "crawl list --daemon ftp://a.example"),
            (1, "crawl list --daemon http://127.0.0.1:1 --token-file no"),
            (2, "crawl sttart"),
            (2, "crawl start new --budgte 3"),
            (2, "crawl start new --budget many"),
            (2, "daemon --tcp here"),
            (1, "critic info missing.model"),
            (1, "critic info foreign.model"),
            (1, "critic info newer.model"),
            (1, "critic info cut.model"),
            (1, "critic info changed.model"),
            (1, "critic judge critic.model missing.html"),
            (4, "critic judge critic.model page.html --topic beekeping"),
            (1, "critic train --out new.model --examples table.csv"),
            (1, "archive info missing.warc"),
            (1, "archive info foreign.warc"),
            (1, "archive info empty.warc"),
            (1, "archive serve pages.warc --listen 0.0.0.0:0"),
        ],
    );
    insta::assert_snapshot!(failed);
    assert!(!home.path("new.model").exists());
}

#[test]
fn a_cut_archive_gives_what_is_whole_and_says_where_it_ends() {
    let home = Home::new();
    archives(&home);
    let said = home.run(&["archive", "info", "cut.warc", "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let info: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(
        (&info["pages"], &info["unparsable"]),
        (&1.into(), &1.into())
    );
    let warnings: Vec<&str> = said.err.lines().collect();
    assert_eq!(warnings.len(), 1, "{}", said.err);
    let place = "archive cut.warc, byte ";
    let flaw = "the file ends within a record";
    assert!(warnings[0].contains(place) && warnings[0].ends_with(flaw));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_reads_no_further_hears_no_complaint() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = at_twelve(&home, &web).await;
    let commands: [&[&str]; 9] = [
        &["crawl", "pages", "bees"],
        &["crawl", "pages", "bees", "--json"],
        &["crawl", "loss", "bees"],
        &["crawl", "loss", "bees", "--json"],
        &["crawl", "loss", "bees", "--format", "csv"],
        &["crawl", "frontier", "bees", "--json"],
        &["crawl", "watch", "bees"],
        &["critic", "info", "critic.model"],
        &["crawl", "--help"],
    ];
    for command in commands {
        // As after `| head -1`, only that it is sure to be closed before the first byte.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = home.command(command).stdout(writer).output().unwrap();
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (complaint.as_str(), output.status.code()),
            ("", Some(0)),
            "{command:?}"
        );
    }
    daemon.stop().await;
}
