//! `topic add` through the program: what it takes as examples, what it says, and what it refuses.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use apprentice::archive::{StoredAnswer, WarcWriter};
use apprentice::clock::Timestamp;
use apprentice::critic::CriticModel;
use apprentice::url::CanonicalUrl;

use crate::support::daemon::Home;

const WORDS: &[&str] = &["finch", "wren", "plumage", "nest", "beak", "warbler"];

fn page(number: usize) -> String {
    let word = |shift: usize| WORDS[(number + shift) % WORDS.len()];
    format!(
        "<title>{}</title><p>birds {} {} note{number}</p>",
        word(0),
        word(1),
        word(2)
    )
}

/// A folder of `pages` pages.
fn folder(home: &Home, pages: usize) {
    fs::create_dir(home.path("birds")).unwrap();
    for number in 0..pages {
        fs::write(home.path(&format!("birds/{number}.html")), page(number)).unwrap();
    }
}

#[test]
fn a_topic_is_made_of_a_folder_of_pages_and_judges_others() {
    let home = Home::new();
    folder(&home, 20);
    let said = home.run(&[
        "topic",
        "add",
        "animals/birds",
        "--to",
        "critic.model",
        "--examples",
        "birds",
        "--out",
        "new.model",
    ]);
    let out = said.done();
    assert!(
        out.starts_with("new.model: version 2, with animals/birds\n"),
        "{out}"
    );
    assert!(out.contains("recall    1.00 (20 of 20;"), "{out}");
    assert!(out.contains("precision not measured"), "{out}");
    fs::write(
        home.path("page.html"),
        "<p>A wren on its nest, with a beak.",
    )
    .unwrap();
    let said = home.run(&[
        "critic",
        "judge",
        "new.model",
        "--topic",
        "animals/birds",
        "page.html",
    ]);
    assert!(
        said.done().starts_with("page.html: relevance 0.98"),
        "{}",
        said.out
    );
    let old = CriticModel::open(&home.critic()).unwrap();
    assert_eq!(
        old.class_of("animals/birds"),
        None,
        "the model that it came from stays"
    );
}

#[test]
fn urls_are_taken_from_an_archive_and_without_one_it_is_said_what_to_do() {
    let home = Home::new();
    let mut warc = WarcWriter::create(&home.path("birds.warc.gz"), "tests", Timestamp(0)).unwrap();
    let mut list = String::from("# birds\n");
    for number in 0..20 {
        let url = CanonicalUrl::parse(&format!("http://birds.test/{number}")).unwrap();
        writeln!(list, "{url}").unwrap();
        let body = page(number);
        let answer = StoredAnswer {
            url: &url,
            fetched: Timestamp(0),
            status: 200,
            headers: &[("Content-Type".to_owned(), "text/html".to_owned())],
            body: body.as_bytes(),
        };
        warc.write_answer(&answer).unwrap();
    }
    drop(warc);
    fs::write(home.path("birds.txt"), list + "http://birds.test/gone\n").unwrap();
    let add = [
        "topic",
        "add",
        "birds",
        "--to",
        "critic.model",
        "--examples",
        "birds.txt",
    ];
    let said = home.run(&add);
    assert!(
        said.error(1)
            .contains("21 examples are URLs, and no archive holds their pages; give --contact")
    );
    let said = home.run(&[&add[..], &["--archive", "birds.warc.gz", "--json"]].concat());
    let report: serde_json::Value = serde_json::from_str(said.done()).unwrap();
    assert_eq!(report["examples"], 20);
    assert_eq!(report["skipped"][0]["example"], "http://birds.test/gone");
    assert_eq!(report["findings"][0]["kind"], "left-out");
    let said = home.run(&add);
    assert!(
        said.error(5)
            .contains("the model has a topic `birds` of 20 examples")
    );
}

/// A host that has pages 0 to 11 of birds, nothing else, and keeps a log of the paths.
fn host_of_birds() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let log = Arc::new(Mutex::new(Vec::new()));
    let paths = Arc::clone(&log);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut line = String::new();
            // Who only connects, or goes away, asks nothing.
            let _ = stream.read_line(&mut line);
            let Some(path) = line.split(' ').nth(1).map(str::to_owned) else {
                continue;
            };
            while line.trim() != "" {
                line.clear();
                let _ = stream.read_line(&mut line);
            }
            let number = path.trim_start_matches('/').parse().ok();
            let (status, body) = match number.filter(|number| *number < 12) {
                Some(number) => ("200 OK", page(number)),
                None => ("404 Not Found", String::new()),
            };
            paths.lock().unwrap().push(path);
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\n");
            let head = format!("{head}Content-Length: {length}\r\nConnection: close\r\n\r\n");
            let _ = stream.get_mut().write_all((head + &body).as_bytes());
        }
    });
    (address, log)
}

#[test]
fn urls_that_no_archive_holds_are_fetched_once_and_kept() {
    let home = Home::new();
    let (address, log) = host_of_birds();
    let list = (0..13).map(|number| format!("http://{address}/{number}\n"));
    fs::write(home.path("birds.txt"), list.collect::<String>()).unwrap();
    let add = "topic add birds --to critic.model --out new.model --examples birds.txt --json";
    let add: Vec<&str> = add.split(' ').collect();
    let ask = "--contact me@a.test --allow-address 127.0.0.0/8 --delay-ms 0";
    let ask: Vec<&str> = ask.split(' ').collect();
    let said = home.run(&[&add[..], &ask[..]].concat());
    assert_eq!(
        said.err,
        "fetching 13 pages into new.model.fetched.warc.gz\n1 page could not be had: status 404\n"
    );
    let report: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(report["examples"], 12);
    assert_eq!(report["skipped"].as_array().unwrap().len(), 1);
    let asked = log.lock().unwrap().clone();
    assert_eq!(asked[0], "/robots.txt");
    assert_eq!(asked.len(), 14, "{asked:?}");
    assert!(home.path("new.model.fetched.warc.gz").is_file());
    // What was fetched is there the next time, without anybody being asked.
    let again = home.run(&add);
    let again: serde_json::Value = serde_json::from_str(again.done()).unwrap();
    assert_eq!(again["recall"], report["recall"]);
    assert_eq!(log.lock().unwrap().len(), 14);
}

#[test]
fn nothing_is_fetched_for_a_topic_that_cannot_be_added() {
    let home = Home::new();
    let (address, log) = host_of_birds();
    fs::write(home.path("birds.txt"), format!("http://{address}/1\n")).unwrap();
    let add = "topic add /birds --to critic.model --examples birds.txt --contact me@a.test \
        --allow-address 127.0.0.0/8";
    let add: Vec<&str> = add.split_whitespace().collect();
    home.run(&add).error(5);
    assert!(log.lock().unwrap().is_empty());
    assert!(!home.path("critic.model.fetched.warc.gz").exists());
}

#[test]
fn too_few_examples_are_refused_and_the_model_is_left_as_it_was() {
    let home = Home::new();
    folder(&home, 9);
    let before = fs::read(home.critic()).unwrap();
    let add = [
        "topic",
        "add",
        "birds",
        "--to",
        "critic.model",
        "--examples",
        "birds",
    ];
    let said = home.run(&add);
    assert!(
        said.error(5)
            .contains("9 usable examples; at least 10 are needed")
    );
    assert_eq!(fs::read(home.critic()).unwrap(), before);
    let said = home.run(&[&add[..], &["--force"]].concat());
    assert!(
        said.done().contains("note      few: 9 examples"),
        "{}",
        said.out
    );
}
