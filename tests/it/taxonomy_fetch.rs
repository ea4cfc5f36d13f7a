//! `taxonomy fetch` as a process: killed in the middle, started again, out of disk, stopped.
//!
//! The web is a server of the test's own on a loopback port for each host, which keeps a log.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

use crate::support::daemon::{Home, eventually};
use crate::support::site::read_head;

const HOSTS: usize = 3;
const PAGES: usize = 12;

/// Hosts that answer `/pN`, `/oldN` (redirect to `/pN` of the next host), `/private` (forbidden by
/// robots.txt), and 404 to all else.
struct Web {
    addresses: Vec<String>,
    /// Host and path of each request, in order.
    log: Arc<Mutex<Vec<String>>>,
}

impl Web {
    async fn start() -> Self {
        let mut listeners = Vec::new();
        for _ in 0..HOSTS {
            listeners.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
        }
        let addresses: Vec<String> = listeners
            .iter()
            .map(|listener| listener.local_addr().unwrap().to_string())
            .collect();
        let log = Arc::new(Mutex::new(Vec::new()));
        for (number, listener) in listeners.into_iter().enumerate() {
            let here = addresses[number].clone();
            let next = addresses[(number + 1) % HOSTS].clone();
            let log = Arc::clone(&log);
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(answer(stream, here.clone(), next.clone(), Arc::clone(&log)));
                }
            });
        }
        Self { addresses, log }
    }

    /// The table: pages, redirects, a forbidden one and a dead one a host, two pages under two topics.
    fn table(&self) -> String {
        let mut table = String::from("topic,url,title\n");
        for (number, address) in self.addresses.iter().enumerate() {
            for page in 0..PAGES {
                writeln!(table, "topic{number},http://{address}/p{page},t").unwrap();
            }
            for path in ["old1", "old100", "private", "dead"] {
                writeln!(table, "topic{number},http://{address}/{path},lonely title").unwrap();
            }
        }
        for page in 0..2 {
            writeln!(table, "other,http://{}/p{page},t", self.addresses[0]).unwrap();
        }
        table
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

async fn answer(
    mut stream: TcpStream,
    here: String,
    next: String,
    log: Arc<Mutex<Vec<String>>>,
) -> std::io::Result<()> {
    while let Some(head) = read_head(&mut stream).await? {
        let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
        log.lock().unwrap().push(format!("http://{here}{path}"));
        let (status, header, body) = if path == "/robots.txt" {
            let rules = "User-agent: apprentice\nDisallow: /private\n".to_owned();
            ("200 OK", "Content-Type: text/plain".to_owned(), rules)
        } else if let Some(page) = path.strip_prefix("/old") {
            (
                "301 Moved",
                format!("Location: http://{next}/p{page}"),
                String::new(),
            )
        } else if path.starts_with("/p") {
            // Does not compress to nothing, so that a small disk is soon full.
            let noise = (0..400).map(|n| format!("{:x} ", n * n * 7919 % 65_521));
            let body = format!(
                "<title>{here}{path}</title><p>{}",
                noise.collect::<String>()
            );
            ("200 OK", "Content-Type: text/html".to_owned(), body)
        } else {
            (
                "404 Not Found",
                "Content-Type: text/html".to_owned(),
                String::new(),
            )
        };
        let length = body.len();
        let answer =
            format!("HTTP/1.1 {status}\r\n{header}\r\nContent-Length: {length}\r\n\r\n{body}");
        stream.write_all(answer.as_bytes()).await?;
    }
    Ok(())
}

/// Arguments of a start, which waits `delay_ms` between two requests to a host.
fn arguments(delay_ms: u32) -> Vec<String> {
    let args = "taxonomy fetch table.csv --out pages.warc.gz --contact me@a.test --json \
        --allow-address 127.0.0.0/8 --delay-ms";
    let mut args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
    args.push(delay_ms.to_string());
    args
}

fn fetch(home: &Home, delay_ms: u32) -> Command {
    let args = arguments(delay_ms);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    home.command(&args)
}

/// Runs a start to its end: its exit code, its summary and its complaints.
async fn run(mut command: Command) -> (Option<i32>, serde_json::Value, String) {
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    let summary = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let err = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), summary, err)
}

/// What the `warc` crate reads: each URL with the bodies of its records, up to a torn end.
fn records(archive: &Path) -> BTreeMap<String, Vec<String>> {
    let mut records: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let reader = warc::WarcReader::from_path_gzip(archive).unwrap();
    for record in reader.iter_records() {
        let Ok(record) = record else {
            break;
        };
        if let Some(url) = record.header(warc::WarcHeader::TargetURI) {
            let body = String::from_utf8(record.body().to_vec()).unwrap();
            records.entry(url.into_owned()).or_default().push(body);
        }
    }
    records
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// What has to be in the archive at the end: all pages, and the redirects that lead to pages or not.
fn check_whole(web: &Web, archive: &Path) {
    let records = records(archive);
    for address in &web.addresses {
        for page in 0..PAGES {
            let url = format!("http://{address}/p{page}");
            let body = &records[&url][0];
            assert!(
                body.contains(&format!("<title>{address}/p{page}</title>")),
                "{body}"
            );
        }
        assert!(records[&format!("http://{address}/old1")][0].starts_with("HTTP/1.1 301 "));
        // Only a redirect leads there.
        assert!(records.contains_key(&format!("http://{address}/p100")));
    }
    let doubled: Vec<_> = records.iter().filter(|(_, all)| all.len() > 1).collect();
    assert!(doubled.is_empty(), "{doubled:?}");
    assert_eq!(records.len(), HOSTS * (PAGES + 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_again_and_again_it_never_asks_for_what_the_archive_holds() {
    let home = Home::new();
    let web = Web::start().await;
    fs::write(home.path("table.csv"), web.table()).unwrap();
    let archive = home.path("pages.warc.gz");
    // Each life ends when so many more requests were made.
    for life in [5, 9, 8] {
        let mut held = BTreeSet::new();
        if archive.exists() {
            held.extend(records(&archive).into_keys());
        }
        let before = web.log().len();
        let process = fetch(&home, 60)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        eventually("requests are made", async || {
            (web.log().len() >= before + HOSTS + life).then_some(())
        })
        .await;
        kill(process);
        for url in &web.log()[before..] {
            assert!(!held.contains(url), "{url} was in the archive");
        }
    }
    assert!(
        records(&archive).len() >= 5,
        "a life leaves its pages behind"
    );
    // The machine went down while a record was written.
    let mut bytes = fs::read(&archive).unwrap();
    let held: BTreeSet<String> = records(&archive).into_keys().collect();
    bytes.extend_from_slice(b"\x1f\x8b\x08\0\0\0\0\0\0\xfftorn");
    fs::write(&archive, bytes).unwrap();

    let before = web.log().len();
    let (code, summary, err) = run(fetch(&home, 10)).await;
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("torn"), "{err}");
    for url in &web.log()[before..] {
        assert!(!held.contains(url), "{url} was in the archive");
    }
    check_whole(&web, &archive);
    assert_eq!(summary["urls"], HOSTS * (PAGES + 4));
    assert_eq!(summary["had"], HOSTS * (PAGES + 2));
    let failed = serde_json::json!({ "robots.txt forbids": HOSTS, "status 404": HOSTS });
    assert_eq!(summary["failed"], failed);

    // What failed for good is remembered: nothing is left to be asked for, not even robots.txt.
    let before = web.log().len();
    let (code, summary, err) = run(fetch(&home, 10)).await;
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert_eq!(summary["requests"], 0);
    assert_eq!(web.log().len(), before);
    let log = web.log();
    assert!(!log.iter().any(|url| url.ends_with("/private")));
    for address in &web.addresses {
        let at = |path: &str| {
            log.iter()
                .position(|url| *url == format!("http://{address}{path}"))
        };
        assert!(at("/robots.txt") < at("/p0") && at("/robots.txt").is_some());
    }

    // The pages train a critic, through their redirects; the titles of the lost ones as well.
    let train = "critic train --examples table.csv --archive pages.warc.gz --out c.model";
    let said = home.run(&train.split(' ').collect::<Vec<_>>());
    assert_eq!(said.code, Some(0), "{}", said.err);
    let stood_in = format!("{} of 50 examples have no page", HOSTS * 2);
    assert!(said.err.contains(&stood_in), "{}", said.err);
    assert!(said.out.contains("0 examples left out"), "{}", said.out);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_told_and_a_next_start_goes_on() {
    let home = Home::new();
    let web = Web::start().await;
    fs::write(home.path("table.csv"), web.table()).unwrap();
    let archive = home.path("pages.warc.gz");
    // No file may grow beyond 24 blocks of 512 bytes (a shell that counts in 1,024 fits as well).
    let script = "trap '' XFSZ; ulimit -f 24; exec \"$0\" \"$@\"";
    let mut limited = Command::new("sh");
    limited
        .args(["-c", script, env!("CARGO_BIN_EXE_apprentice")])
        .args(arguments(0))
        .current_dir(home.path(""));
    let (code, _, err) = run(limited).await;
    assert_eq!(code, Some(1), "{err}");
    assert!(
        err.contains("cannot append to archive") && err.contains("make room"),
        "{err}"
    );
    let held: BTreeSet<String> = records(&archive).into_keys().collect();
    assert!(!held.is_empty());
    let before = web.log().len();
    let (code, _, err) = run(fetch(&home, 0)).await;
    assert_eq!((code, err.as_str()), (Some(0), ""), "nothing was torn");
    check_whole(&web, &archive);
    for url in &web.log()[before..] {
        assert!(!held.contains(url), "{url} was in the archive");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_ends_it_cleanly_and_says_what_is_open() {
    let home = Home::new();
    let web = Web::start().await;
    fs::write(home.path("table.csv"), web.table()).unwrap();
    let out = fs::File::create(home.path("out")).unwrap();
    let mut process = fetch(&home, 200)
        .stdout(out)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("pages are asked for", async || {
        (web.log().len() > 2 * HOSTS).then_some(())
    })
    .await;
    let id = process.id().to_string();
    let sent = Command::new("sh")
        .args(["-c", "kill -s INT \"$0\"", &id])
        .status()
        .unwrap();
    assert!(sent.success());
    let status = eventually("it ends", async || process.try_wait().unwrap()).await;
    assert_eq!(status.code(), Some(1), "the work is not done");
    let summary = fs::read_to_string(home.path("out")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["stopped"], true);
    assert!(summary["open"].as_u64().unwrap() > 0);
    let held = records(&home.path("pages.warc.gz"));
    let written = summary["pages"].as_u64().unwrap() + summary["redirects"].as_u64().unwrap();
    assert_eq!(held.len() as u64, written);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_it_refuses_is_told_on_one_line() {
    let home = Home::new();
    fs::write(home.path("table.csv"), "topic,url\na,http://a.test/\n").unwrap();
    fs::write(home.path("theirs.warc.gz"), "WARC/1.0\r\n").unwrap();
    for (code, args, words) in [
        (5, "--out p.warc.gz", "no contact"),
        (5, "--out p.warc.gz --contact me", "--contact: "),
        (4, "--out p.warc.gz --contact me@a.test --topic b", "no row"),
        (
            1,
            "--out no/p.warc.gz --contact me@a.test",
            "no/p.warc.gz.notes",
        ),
        (
            1,
            "--out theirs.warc.gz --contact me@a.test",
            "name a new one",
        ),
        (
            1,
            "--out p.warc.gz --contact me@a.test --allow-address x",
            "--allow-address",
        ),
        (
            1,
            "--out p.warc.gz --archive-proxy http://8.8.8.8:1",
            "loopback",
        ),
    ] {
        let args = format!("taxonomy fetch table.csv {args}");
        let said = home.run(&args.split(' ').collect::<Vec<_>>());
        let line = said.error(code);
        assert!(line.contains(words), "{args}: {line}");
    }
    assert!(!home.path("p.warc.gz").exists());
}
