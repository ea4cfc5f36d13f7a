//! Marks on the pages of a crawl, through the program: they outlive the daemon, and the pages that come
//! after them name the critic that has learned them.

use apprentice::critic::CriticModel;
use apprentice::proto::v1;

use crate::support::daemon::{Home, TOPIC, Web, create, finished, toy};

/// URL, relevance and version of the critic of each page, in the order of their booking.
fn pages(home: &Home) -> Vec<(String, f64, u64)> {
    let said = home.run(&["crawl", "pages", "bees", "--json"]);
    let row = |line: &str| {
        let row: v1::PageRow = serde_json::from_str(line).unwrap();
        (row.url, row.relevance, row.critic_version)
    };
    said.done().lines().map(row).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn marks_survive_a_crash_and_later_pages_carry_the_new_version() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let mut daemon = home.daemon_on(&web).await;
    let mut spec = home.spec("bees", &toy());
    spec.budget = 12;
    spec.limits.get_or_insert_default().in_flight_max = 1;
    let mut client = daemon.client().await;
    create(&mut client, spec).await;
    finished(&mut client, "bees").await;

    let before = pages(&home);
    let (url, relevance, version) = before.iter().find(|page| page.1 >= 0.5).unwrap();
    let said = home.run(&["crawl", "feedback", "bees", url, "--wrong"]);
    let next = version + 1;
    let words = format!("critic of bees: version {next}, 1 marked pages");
    assert!(said.done().contains(&words), "{}", said.out);
    daemon.kill();
    drop(daemon);

    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    let said = home.run(&["crawl", "status", "bees"]);
    let words = format!("critic    version {next}, has learned 1 marked page\n");
    assert!(said.done().contains(&words), "{}", said.out);
    home.run(&["crawl", "set", "bees", "--budget", "20"]).done();
    finished(&mut client, "bees").await;
    let after = pages(&home);
    assert_eq!(after[..before.len()], before[..], "what is booked stays");
    assert!(after.len() > before.len());
    assert!(
        after[before.len()..].iter().all(|page| page.2 == next),
        "{after:?}"
    );

    home.run(&["crawl", "export-critic", "bees", "--out", "taught.model"])
        .done();
    let (given, taught) = (home.critic(), home.path("taught.model"));
    let [given, taught] = [given, taught].map(|path| CriticModel::open(&path).unwrap());
    let documents = |model: &CriticModel| -> u64 {
        let classes = model.classes().iter();
        classes
            .filter(|class| class.topic != TOPIC)
            .map(|class| class.documents)
            .sum()
    };
    assert_eq!(taught.version(), next);
    assert_eq!(
        documents(&taught),
        documents(&given) + 1,
        "R was {relevance}"
    );

    let said = home.run(&[
        "crawl",
        "feedback",
        "bees",
        "http://nowhere.test/",
        "--right",
    ]);
    assert!(
        said.error(4)
            .contains("is no page of this crawl: it is not known")
    );
    let said = home.run(&["crawl", "feedback", "bees", url, "--right", "--wrong"]);
    assert_eq!(said.code, Some(2), "one opinion at a time");
    let said = home.run(&["crawl", "feedback", "bees", url, "--forget"]);
    assert!(said.done().contains(", 0 marked pages"), "{}", said.out);
    daemon.stop().await;
}
