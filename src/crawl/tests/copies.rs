//! Pages that are copies, links that are traps, and URLs that are changed.

use super::*;
use crate::booking::Likeness;

/// Sixty words, so that the text has a sketch, with the last one `last`.
fn long_text(last: &str) -> String {
    let words: Vec<_> = (0..60).map(|n| format!("reef{n}")).collect();
    format!("{} {last}", words.join(" ").repeat(20))
}

fn likeness_of(crawl: &Crawl, at: &str) -> Likeness {
    let mut found = None;
    let visit = &mut |_, event: Event| {
        if let Event::Page(page) = event
            && page.lease.url == url(at)
        {
            found = Some(page.likeness);
        }
        true
    };
    crawl.store.scan(Seq(1), crawl.store.last(), visit).unwrap();
    found.unwrap()
}

#[tokio::test]
async fn the_links_of_a_copy_are_not_followed_and_it_is_counted() {
    let mut crawl = Crawl::new(&["a/", "b/", "c/"]);
    for at in ["a/", "b/"] {
        crawl.html(at, "<p>reef</p><a href=mirror/>x</a>");
    }
    crawl.html("c/", "<p>reef</p><a href=other/>x</a>");
    let progress = crawl.replay().await;
    assert_eq!(
        crawl.requests(),
        ["a/", "b/", "c/", "a/mirror/", "c/other/"]
    );
    assert_eq!(crawl.refusal_of("b/mirror/"), Some(Refusal::Copy));
    assert_eq!((progress.copies, progress.near_copies), (1, 0));
    // R of a page with log odds 3.
    assert!((progress.distinct.loss() - progress.curve.loss() - 0.952_574).abs() < 1e-5);
    assert!(likeness_of(&crawl, "b/").copy_of.is_some());

    crawl = Crawl::new(&["a/", "b/"]);
    crawl.scope().follow_copies = true;
    for at in ["a/", "b/"] {
        crawl.html(at, "<p>reef</p><a href=mirror/>x</a>");
    }
    crawl.replay().await;
    assert!(crawl.requests().contains(&"b/mirror/".to_owned()));
}

#[tokio::test]
async fn a_near_copy_is_counted_and_its_links_are_followed() {
    let crawl = Crawl::new(&["a/", "b/", "c/"]);
    crawl.page("a/", &long_text("one"), &[]);
    crawl.page("b/", &long_text("two"), &["b/next"]);
    crawl.page("c/", &"sand and nothing else ".repeat(30), &[]);
    let progress = crawl.replay().await;
    assert_eq!((progress.copies, progress.near_copies), (0, 1));
    assert!(likeness_of(&crawl, "b/").near_copy_of.is_some());
    assert_eq!(likeness_of(&crawl, "c/").near_copy_of, None);
    assert!(crawl.requests().contains(&"b/next".to_owned()));
}

#[tokio::test]
async fn copies_are_known_after_a_restart() {
    let mut crawl = Crawl::new(&["a/", "b/"]);
    for at in ["a/", "b/"] {
        crawl.html(at, "<p>reef</p><a href=mirror/>x</a>");
    }
    crawl.spec.budget = 1;
    crawl.replay().await;
    crawl.spec.budget = 0;
    let spec = Event::SpecChange(crawl.spec.encode_to_vec());
    crawl.store.append(spec);
    crawl.store.append(Event::State(StateEvent {
        state: CrawlState::Running,
        reason: "more".into(),
        at: Timestamp(2_000),
    }));
    let progress = crawl.replay().await;
    assert_eq!(progress.copies, 1);
    assert_eq!(crawl.refusal_of("b/mirror/"), Some(Refusal::Copy));
}

#[tokio::test]
async fn a_trap_is_not_entered_and_sessions_are_taken_off_links() {
    let crawl = Crawl::new(&["a/"]);
    crawl.html(
        "a/",
        "<a href=/x;jsessionid=1?utm_source=y>x</a><a href=/x?gclid=2>x</a>\
         <a href=/b/b/b/>deep</a>",
    );
    let progress = crawl.replay().await;
    assert_eq!(crawl.requests(), ["a/", "a/x"]);
    assert_eq!(crawl.refusal_of("a/b/b/b/"), Some(Refusal::Trap));
    assert_eq!(progress.refused_by_reason.get("trap"), Some(&1));
}

/// A page of its own, or one that is nearly like all others of its kind, `n` telling them apart.
fn page_of(n: usize, is_new: bool, links: &[String]) -> String {
    let words: String = if is_new {
        let words = (0..60).map(|word| format!("reef{n}of{word} "));
        words.collect::<String>().repeat(20)
    } else {
        long_text(&format!("day{n}"))
    };
    let links = links.iter().fold(String::new(), |mut html, to| {
        html.push_str("<a href=");
        html.push_str(to);
        html.push_str(">x</a>");
        html
    });
    // A comment, so that no two are the same to the byte.
    format!("<!--{n}--><p>{words}</p>{links}")
}

/// A calendar of 300 days, each leading to the next, beside 60 articles that lead to each other.
fn site_with_a_calendar() -> Crawl {
    let mut crawl = Crawl::new(&["a/cal?day=0", "a/art/0"]);
    for n in 0..300 {
        let next = format!("/cal?day={}", n + 1);
        crawl.html(&format!("a/cal?day={n}"), &page_of(n, false, &[next]));
    }
    for n in 0..60 {
        let next = format!("/art/{}", n + 1);
        crawl.html(&format!("a/art/{n}"), &page_of(n, true, &[next]));
    }
    crawl.limits().in_flight_max = 1;
    crawl
}

fn days_and_articles(crawl: &Crawl) -> (usize, usize) {
    let pages = crawl.pages();
    let count = |start: &str| pages.iter().filter(|page| page.starts_with(start)).count();
    (count("a/cal"), count("a/art"))
}

#[tokio::test]
async fn a_calendar_is_left_when_it_has_brought_its_budget_of_copies() {
    let mut crawl = site_with_a_calendar();
    crawl.scope().prefix_copies_max = 20;
    let progress = crawl.replay().await;
    // The first day is none, and makes up for nothing.
    assert_eq!(days_and_articles(&crawl), (21, 60));
    assert_eq!(progress.refused_by_reason["prefix"], 1);
    // The log says the same, whenever it is folded.
    let parts = crawl.parts(crawl.source.clone(), Pace::Replay);
    let (engine, _handle) = Engine::open(parts).unwrap();
    assert!(engine.is_worn_out(&url("a/cal?day=999")));
    assert!(!engine.is_worn_out(&url("a/art/999")) && !engine.is_worn_out(&url("b/cal?day=1")));

    let crawl = site_with_a_calendar();
    crawl.replay().await;
    assert_eq!(days_and_articles(&crawl), (201, 60), "unless it is said");
    let mut crawl = site_with_a_calendar();
    crawl.scope().follow_traps = true;
    crawl.replay().await;
    assert_eq!(days_and_articles(&crawl), (300, 60));
}

#[tokio::test]
async fn a_part_of_a_site_with_some_new_pages_stays_open() {
    // Three in four are nearly copies.
    let crawl = Crawl::new(&["a/shop/0"]);
    for n in 0..400 {
        let next = format!("/shop/{}", n + 1);
        crawl.html(&format!("a/shop/{n}"), &page_of(n, n % 4 == 0, &[next]));
    }
    let progress = crawl.replay().await;
    assert_eq!(progress.pages, 400);
    assert!(progress.near_copies > 250, "{}", progress.near_copies);
    assert!(!progress.refused_by_reason.contains_key("prefix"));
}

#[tokio::test]
async fn links_that_wait_under_a_worn_out_path_are_struck_off() {
    let mut crawl = Crawl::new(&["a/"]);
    crawl.scope().prefix_copies_max = 5;
    let all: Vec<String> = (0..40).map(|n| format!("/cal/{n}")).collect();
    crawl.html("a/", &page_of(0, true, &all));
    for n in 0..40 {
        crawl.html(&format!("a/cal/{n}"), &page_of(n, false, &[]));
    }
    let progress = crawl.replay().await;
    assert_eq!(progress.pages, 1 + 6);
    assert_eq!(progress.refused_by_reason["prefix"], 34);
}
