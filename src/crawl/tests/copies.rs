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
    assert!((progress.loss_of_copies - 0.952_574).abs() < 1e-5);
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
