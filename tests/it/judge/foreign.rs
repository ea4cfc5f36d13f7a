//! A judge that is not ours: `examples/python_judge` under real grpcio.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use apprentice::critic::{FarJudge, JudgeAway};
use apprentice::page::Page;
use apprentice::url::CanonicalUrl;

use super::conformance::{ask, conforms, remote};
use super::{Counting, spec_by, until_waiting};
use crate::control::PYTHON_VARIABLE;
use crate::support::daemon::{Home, TOPIC, Web, create, finished, rows, until};

/// The judge in Python; killed when it is dropped.
struct PythonJudge {
    process: Child,
    address: String,
}

impl PythonJudge {
    /// Starts it and waits until it says where it listens; `None` without a Python to run it.
    fn start(home: &Home, listen: &str) -> Option<Self> {
        let python = std::env::var_os(PYTHON_VARIABLE)?;
        let topics =
            "beekeeping = 'bee bees hive honey queen swarm brood nectar'\nchess = 'pawn rook'\n";
        fs::write(home.path("topics.toml"), topics).unwrap();
        let mut process = Command::new(python)
            .arg(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/examples/python_judge/judge.py"
            ))
            .arg(home.path("topics.toml"))
            .args(["--listen", listen])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let (_, place) = line
            .trim()
            .rsplit_once(" on ")
            .expect("it says where it listens");
        let address = match place.strip_prefix("unix:") {
            Some(_) => place.to_owned(),
            None => format!("http://{place}"),
        };
        Some(Self { process, address })
    }

    /// SIGKILL.
    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for PythonJudge {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_judge_in_python_leads_a_crawl_and_may_be_killed_in_the_middle() {
    let home = Home::new();
    let Some(judge) = PythonJudge::start(&home, "127.0.0.1:0") else {
        println!("skipped: {PYTHON_VARIABLE} names no Python with grpcio and grpcio-tools");
        return;
    };
    let listen = judge.address.trim_start_matches("http://").to_owned();
    let library = Counting::new();
    let web = Web::serve(library.clone()).await;
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    create(&mut client, spec_by(&home, "crawl", &judge.address)).await;
    until(&mut client, "crawl", "is under way", |crawl| {
        crawl.fetched > 10
    })
    .await;
    judge.kill();
    library.open();
    until_waiting(&mut client, "crawl", "cannot be reached").await;
    let _judge = PythonJudge::start(&home, &listen).unwrap();
    let crawl = finished(&mut client, "crawl").await;
    assert_eq!(library.asked().0, []);
    let rows = rows(&mut client, "crawl", false).await;
    assert_eq!(rows.len() as u64, crawl.pages);
    let about = |row: &&apprentice::proto::v1::PageRow| row.relevance > 0.5;
    let found: Vec<_> = rows.iter().filter(about).collect();
    assert!(found.len() > 10, "{} of {}", found.len(), rows.len());
    assert!(found.iter().all(|row| row.best_class == TOPIC));
    assert!(rows.iter().any(|row| row.best_class == "other"));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_judge_in_python_conforms_over_a_socket_and_says_which_topics_there_are() {
    let home = Home::new();
    let socket = format!("unix:{}", home.path("judge.sock").display());
    let Some(judge) = PythonJudge::start(&home, &socket) else {
        println!("skipped: {PYTHON_VARIABLE} names no Python with grpcio and grpcio-tools");
        return;
    };
    let remote_judge = remote(&judge.address, TOPIC);
    remote_judge.greet().await.unwrap();
    let judged = async |pages: &[(CanonicalUrl, Page)]| ask(&remote_judge, pages).await;
    conforms(judged, || remote_judge.class_names().len()).await;
    let Err(JudgeAway::Refused { code, words }) = remote(&judge.address, "cheese").greet().await
    else {
        panic!("it understands cheese");
    };
    assert_eq!(code, "NotFound");
    assert!(words.contains("there are beekeeping, chess"), "{words}");
}
