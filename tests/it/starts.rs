//! A saved apprentice through the program: exported, shown, begun with, and what cannot be begun with.

use std::fs;

use apprentice::proto::v1;

use crate::support::daemon::{Daemon, Home, Said, TOPIC, Web, create, eventually, finished, toy};

/// Another topic of the generated web.
const OTHER: &str = "astronomy";

fn epochs(home: &Home, name: &str) -> Vec<v1::Epoch> {
    let said = home.run(&["crawl", "epochs", name, "--json"]);
    serde_json::from_str(said.done()).unwrap()
}

/// `crawl start NAME` on a topic, at the seeds of the topic of most tests.
fn start(home: &Home, name: &str, topic: &str, flags: &[&str]) -> Said {
    let seeds = toy().seeds(TOPIC);
    let mut args = vec!["crawl", "start", name];
    args.extend(seeds.iter().map(apprentice::url::CanonicalUrl::as_str));
    args.extend(["--topic", topic, "--critic", "critic.model"]);
    args.extend(["--budget", "30", "--delay-ms", "0"]);
    args.extend(flags);
    home.run(&args)
}

/// A home with a crawl `bees` that has ended, and what its apprentice has learned in `bees.apprentice`.
async fn taught(home: &Home, web: &Web) -> Daemon {
    let daemon = home.daemon_on(web).await;
    let mut client = daemon.client().await;
    let mut spec = home.spec("bees", &toy());
    spec.budget = 40;
    spec.warc = true;
    create(&mut client, spec).await;
    finished(&mut client, "bees").await;
    let said = home.run(&[
        "crawl",
        "export-apprentice",
        "bees",
        "--out",
        "bees.apprentice",
    ]);
    assert!(said.done().contains("instances"), "{}", said.out);
    daemon
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_begins_with_a_saved_apprentice_and_a_crash_does_not_change_with_what() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let mut daemon = taught(&home, &web).await;
    let said = home.run(&["crawl", "show-apprentice", "bees.apprentice", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(said.done()).unwrap();
    assert_eq!(shown["topics"][0], TOPIC);
    assert_eq!(
        (&shown["crawl"], &shown["order"]),
        (&"bees".into(), &"auto".into())
    );
    assert!(
        shown["learners"][0]["weights"].as_u64() > Some(100),
        "{shown}"
    );
    let said = home.run(&["crawl", "show-apprentice", "bees.apprentice"]);
    assert!(
        said.done().contains("topics    beekeeping\n"),
        "{}",
        said.out
    );

    start(&home, "more", TOPIC, &["--apprentice", "bees.apprentice"]).done();
    let mut client = daemon.client().await;
    finished(&mut client, "more").await;
    let before = epochs(&home, "more");
    assert!(before[0].from_start, "{before:?}");
    // The file may go; the crawl has its own.
    fs::remove_file(home.path("bees.apprentice")).unwrap();
    daemon.kill();
    drop(daemon);

    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    finished(&mut client, "more").await;
    assert_eq!(epochs(&home, "more").len(), before.len());
    let retrained = home.run(&["crawl", "retrain", "more", "--json"]);
    let epoch: v1::Epoch = serde_json::from_str(retrained.done()).unwrap();
    assert!(epoch.from_start);
    let scratch = home.run(&["crawl", "retrain", "more", "--from-scratch", "--json"]);
    let epoch: v1::Epoch = serde_json::from_str(scratch.done()).unwrap();
    assert!(!epoch.from_start);
    daemon.stop().await;

    let own = home.data().join("crawls/more/start.apprentice");
    let mut bytes = fs::read(&own).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    fs::write(&own, bytes).unwrap();
    let daemon = home.daemon_on(&web).await;
    let said = eventually("the crawl has failed", async || {
        let said = home.run(&["crawl", "status", "more"]);
        said.out.contains("failed").then_some(said)
    })
    .await;
    assert!(
        said.out.contains("is not what the crawl began with"),
        "{}",
        said.out
    );
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_begins_with_the_instances_of_another_one() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = taught(&home, &web).await;
    let mut client = daemon.client().await;
    start(
        &home,
        "more",
        TOPIC,
        &["--instances-of", "bees", "--order", "ftrl"],
    )
    .done();
    finished(&mut client, "more").await;
    assert!(epochs(&home, "more")[0].from_start);
    let file = home.data().join("crawls/more/start.apprentice");
    let said = home.run(&["crawl", "show-apprentice", file.to_str().unwrap()]);
    assert!(said.done().contains("crawl     bees\n"), "{}", said.out);

    let gone = start(&home, "x", TOPIC, &["--instances-of", "wasps"]);
    assert!(gone.error(4).contains("no crawl \"wasps\""), "{}", gone.err);
    let status = home.run(&["crawl", "status", "more"]);
    let began = "began     with the instances of bees\n";
    assert!(status.done().contains(began), "{}", status.out);
    let other = start(&home, "x", OTHER, &["--instances-of", "bees"]);
    assert!(
        other.error(5).contains("--carry topic-free"),
        "{}",
        other.err
    );
    let idle = start(
        &home,
        "x",
        TOPIC,
        &["--instances-of", "bees", "--order", "baseline"],
    );
    assert!(idle.error(5).contains("learns nothing"), "{}", idle.err);
    let free = ["--instances-of", "bees", "--carry", "topic-free"];
    start(&home, "other", OTHER, &free).done();
    finished(&mut client, "other").await;
    assert!(!home.data().join("crawls/x").exists());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_begun_with_is_told_on_one_line_and_leaves_nothing() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = taught(&home, &web).await;
    let whole = fs::read(home.path("bees.apprentice")).unwrap();
    let refused = |topic: &str, flags: &[&str], wanted: &str| {
        let said = start(&home, "x", topic, flags);
        assert!(said.error(5).contains(wanted), "{flags:?}: {}", said.err);
        assert!(!home.data().join("crawls/x").exists());
    };
    let mut damaged = whole.clone();
    damaged[50] ^= 1;
    fs::write(home.path("damaged"), damaged).unwrap();
    fs::write(home.path("short"), &whole[..whole.len() / 2]).unwrap();
    let mut later = whole;
    later[8] = 2;
    fs::write(home.path("later"), later).unwrap();
    fs::write(home.path("text"), "once upon a time").unwrap();
    refused(TOPIC, &["--apprentice", "damaged"], "checksum");
    refused(TOPIC, &["--apprentice", "short"], "truncated");
    refused(TOPIC, &["--apprentice", "later"], "format 2");
    refused(TOPIC, &["--apprentice", "text"], "not a saved apprentice");
    refused(TOPIC, &["--apprentice", "gone"], "cannot be read");
    refused(
        TOPIC,
        &["--apprentice", "critic.model"],
        "a critic is given with --critic",
    );
    let bees = ["--apprentice", "bees.apprentice"];
    refused(OTHER, &bees, "--carry topic-free");
    let with = |more: &[&'static str]| [&bees[..], more].concat();
    refused(
        TOPIC,
        &with(&["--d-max", "2"]),
        "its d_max is 5, here it is 2",
    );
    refused(
        TOPIC,
        &with(&["--features", "text,relevance"]),
        "it has and this crawl has not",
    );
    refused(
        TOPIC,
        &with(&["--order", "nb"]),
        "take the order auto or ftrl",
    );
    refused(
        TOPIC,
        &with(&["--carry", "topicfree"]),
        "did you mean `topic-free`?",
    );
    let both = start(&home, "x", TOPIC, &with(&["--instances-of", "bees"]));
    assert_eq!(both.code, Some(2), "{}", both.err);
    let none = home.run(&["crawl", "show-apprentice", "critic.model"]);
    assert!(none.error(1).contains("a critic"), "{}", none.err);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_experiment_compares_a_crawler_with_itself_begun_with_a_saved_apprentice() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    taught(&home, &web).await.stop().await;
    let kept = fs::read_dir(home.data().join("crawls/bees/warc")).unwrap();
    let mut archive = kept.map(|file| file.unwrap().path());
    let archive = archive.next().unwrap();
    let seeds = toy().seeds(TOPIC);
    let seeds: Vec<String> = seeds.iter().map(|url| format!("'{url}'")).collect();
    let text = format!(
        "topics = ['{TOPIC}']
crawlers = [
    'ftrl',
    {{ crawler = 'ftrl', apprentice = 'bees.apprentice' }},
    {{ crawler = 'ftrl', apprentice = 'bees.apprentice', carry = 'topic-free', name = 'half' }},
]
starts = [[{}]]
budget = 30
[world]
archive = ['{}']
critic = 'critic.model'
",
        seeds.join(", "),
        archive.display()
    );
    let experiment = |text: &str| {
        fs::write(home.path("e.toml"), text).unwrap();
        home.run(&["lab", "experiment", "e.toml", "--out", "out"])
    };
    let said = experiment(&text);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let learners = fs::read_to_string(home.path("out/learners.csv")).unwrap();
    // Of its predictions: topic, crawler, learner, followed, instances, log loss, log loss lately, AUC.
    let figure = |crawler: &str, column: usize| -> f64 {
        let head = format!("{TOPIC},{crawler},ftrl,1.0000,");
        let row = learners.lines().find_map(|line| line.strip_prefix(&head));
        let row = row.unwrap_or_else(|| panic!("no {head} in {learners}"));
        row.split(',').nth(column).unwrap().parse().unwrap()
    };
    // How `bees` went hangs on the threads, and with it what its apprentice loses; not how it sorts.
    let [plain, begun] = ["ftrl", "ftrl from bees"].map(|crawler| figure(crawler, 3));
    assert!(begun > plain, "{learners}");
    let [plain, begun, half] = ["ftrl", "ftrl from bees", "half"].map(|crawler| figure(crawler, 1));
    // Some of what was learned is another beginning than all of it, or nothing.
    let differs = |other: f64| (half - other).abs() > 1e-6;
    assert!(differs(plain) && differs(begun), "{learners}");
    let summary = fs::read_to_string(home.path("out/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let said = &summary["spec"]["begin"];
    let digest = apprentice::lab::Digests::of(&home.path("bees.apprentice")).unwrap();
    assert_eq!(said[0]["sha1"], digest.as_str());
    assert_eq!(
        (&said[1]["crawler"], &said[1]["carry"]),
        (&"half".into(), &"topic-free".into())
    );
    let report = fs::read_to_string(home.path("out/report.html")).unwrap();
    assert!(report.contains(&format!(
        "bees.apprentice, SHA-1 {digest}, carried topic-free"
    )));

    assert_told_at_their_lines(&text, experiment);
}

/// Another focus, an order that learns nothing, a file that is none.
fn assert_told_at_their_lines(text: &str, experiment: impl Fn(&str) -> Said) {
    for (from, to, wanted) in [
        (
            format!("topics = ['{TOPIC}']"),
            format!("topics = ['{TOPIC}', '{OTHER}']"),
            "line 4: crawlers: apprentice: ",
        ),
        (
            format!("topics = ['{TOPIC}']"),
            format!("topics = ['{OTHER}']"),
            "with carry = \"topic-free\" it takes",
        ),
        (
            "crawler = 'ftrl', apprentice = 'bees.apprentice' }".to_owned(),
            "crawler = 'baseline', apprentice = 'bees.apprentice' }".to_owned(),
            "line 4: crawlers: apprentice: the order `baseline` learns nothing",
        ),
        (
            "'bees.apprentice', carry".to_owned(),
            "'critic.model', carry".to_owned(),
            "line 5: crawlers: apprentice: ",
        ),
    ] {
        let said = experiment(&text.replace(&from, &to));
        assert!(said.err.contains(wanted), "{to}: {}", said.err);
        assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    }
}
