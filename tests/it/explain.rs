//! `apprentice crawl explain`: the score of a link in words.

use apprentice::proto::v1;

use crate::support::daemon::{Home, Web, create, finished, rows, toy};

fn explained(home: &Home, url: &str, top: &str) -> v1::LinkExplanation {
    let said = home.run(&["crawl", "explain", "bees", url, "--top", top, "--json"]);
    serde_json::from_str(said.done()).unwrap()
}

#[track_caller]
fn adds_up(parent: &v1::ParentExplanation) {
    let named: f64 = parent.features.iter().map(|feature| feature.weight).sum();
    let sum = named + parent.others_weight;
    assert!((sum - parent.score).abs() < 1e-3, "{parent:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_explained_in_features_that_add_up_to_its_score() {
    let web = Web::serve_toy(&toy()).await;
    let home = Home::new();
    let daemon = home.daemon_on(&web).await;
    let mut client = daemon.client().await;
    let mut spec = home.spec("bees", &toy());
    (spec.budget, spec.order) = (80, "ftrl".to_owned());
    // One after the other, so that the order, and with it what is learned, is always the same.
    spec.limits.get_or_insert_default().in_flight_max = 1;
    create(&mut client, spec).await;
    finished(&mut client, "bees").await;

    let head = home.run(&["crawl", "frontier", "bees", "-k", "1", "--json"]);
    let head: v1::WaitingLink = serde_json::from_str(head.done()).unwrap();
    let waiting = explained(&home, &head.url, "1000");
    assert_eq!(
        (waiting.order.as_str(), waiting.combine.as_str()),
        ("ftrl", "best")
    );
    assert!(waiting.epoch > 0 && waiting.leased_priority.is_none());
    let parent = &waiting.parents[0];
    adds_up(parent);
    assert!(!parent.found_on.is_empty() && !parent.anchor.is_empty());
    let names: Vec<&str> = parent.features.iter().map(|f| f.name.as_str()).collect();
    for part in [
        "relevance of the page",
        " in or around the link",
        "target host ",
    ] {
        assert!(
            names.iter().any(|name| name.contains(part)),
            "{part}: {names:?}"
        );
    }
    // No feature is without a name.
    assert!(
        !names.iter().any(|name| name.starts_with("feature ")),
        "{names:?}"
    );
    // What is not named is added up.
    let short = explained(&home, &head.url, "2");
    let cut = &short.parents[0];
    assert_eq!(
        (cut.features.len(), cut.others as usize),
        (2, names.len() - 2)
    );
    adds_up(cut);

    fetched_and_unknown(&home, &rows(&mut client, "bees", false).await);
    daemon.stop().await;
}

/// What is said of URLs that do not wait.
fn fetched_and_unknown(home: &Home, pages: &[v1::PageRow]) {
    let page = pages.iter().rfind(|page| !page.seed).unwrap();
    let fetched = explained(home, &page.url, "5");
    assert!(fetched.leased_priority.is_some());
    fetched.parents.iter().for_each(adds_up);
    let said = home.run(&["crawl", "explain", "bees", &page.url]);
    for part in [
        "judged    relevance",
        "leased    with priority",
        "order     ftrl, epoch ",
        " other features",
    ] {
        assert!(said.done().contains(part), "{part}: {}", said.out);
    }
    let seed = pages.iter().find(|page| page.seed).unwrap();
    let seed = home.run(&["crawl", "explain", "bees", &seed.url]);
    assert!(seed.done().contains("nobody scored it"), "{}", seed.out);

    let unknown = home.run(&["crawl", "explain", "bees", "http://unknown.example/"]);
    assert_eq!((unknown.code, unknown.err.as_str()), (Some(4), ""));
    assert!(
        unknown.out.contains("no booked page links to it"),
        "{}",
        unknown.out
    );
    home.run(&["crawl", "explain", "wasps", &page.url]).error(4);
    home.run(&["crawl", "explain", "bees", "nonsense"]).error(5);
    let none = home.run(&["crawl", "explain", "bees", &page.url, "--top", "0"]);
    assert_eq!(none.code, Some(2), "{}", none.err);
}
