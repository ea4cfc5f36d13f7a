//! A redirect ends the lease; its target is a link like others.

use super::*;
use crate::booking::Reference;

fn reference(seq: u64, link: u32) -> Reference {
    Reference {
        seq: Seq(seq),
        link,
    }
}

#[tokio::test]
async fn the_target_enters_with_the_references_and_the_priority_of_the_link() {
    // Spec 1, state 2, seeds 3, pages 4 and 5, the redirect 6.
    let mut crawl = Crawl::new(&["good/", "poor/"]);
    crawl.page("good/", "reef", &["good/1", "old/"]);
    crawl.page("poor/", "sand", &["old/"]);
    crawl.redirect("old/", "new/");
    // Keeps good/1 out of the way.
    crawl.scope().pages_per_host_max = 1;
    crawl.page("new/", "reef", &[]);
    crawl.replay().await;
    let events = crawl.events();
    let Event::Redirect(redirect) = &events[5] else {
        panic!("{:?}", events[5]);
    };
    assert_eq!((redirect.hops, redirect.refusal), (1, None));
    let Event::Page(page) = &events[6] else {
        panic!("{:?}", events[6]);
    };
    let lease = &page.lease;
    assert_eq!(short(&lease.url), "new/");
    assert_eq!(
        (lease.priority.to_bits(), lease.depth),
        (3.0_f32.to_bits(), 1)
    );
    // Its URL is that of the redirect; the pages that linked to the old one follow.
    assert_eq!(
        lease.references,
        [reference(6, 0), reference(4, 1), reference(5, 0)]
    );
}

#[tokio::test]
async fn a_chain_goes_as_far_as_the_spec_allows() {
    for (hops_max, last) in [(3, "a/3"), (2, "a/2")] {
        let mut crawl = Crawl::new(&["a/"]);
        crawl.redirect("a/", "a/1").redirect("a/1", "a/2");
        crawl.redirect("a/2", "a/3").page("a/3", "reef", &[]);
        crawl.limits().redirects_max = hops_max;
        let progress = crawl.replay().await;
        assert_eq!(crawl.requests().last().unwrap(), last);
        assert_eq!(progress.fetched(), u64::from(hops_max) - 2);
        assert_eq!(
            (progress.redirects, progress.state.1.as_str()),
            (3, "out of links")
        );
        let refusal = (hops_max == 2).then_some(Refusal::Redirects);
        assert_eq!(crawl.refusal_of("a/3"), refusal);
    }
}

#[tokio::test]
async fn a_circle_ends_where_it_began() {
    let crawl = Crawl::new(&["self/", "one/"]);
    crawl.redirect("self/", "self/");
    crawl.redirect("one/", "two/").redirect("two/", "one/");
    let progress = crawl.replay().await;
    assert_eq!(crawl.requests(), ["self/", "one/", "two/"]);
    assert_eq!((progress.redirects, progress.fetched()), (3, 0));
    assert_eq!(progress.state.1, "out of links");
}

#[tokio::test]
async fn a_target_that_is_fetched_already_is_not_fetched_again() {
    let crawl = Crawl::new(&["here/", "old/"]);
    crawl.page("here/", "reef", &[]).redirect("old/", "here/");
    let progress = crawl.replay().await;
    assert_eq!(crawl.requests(), ["here/", "old/"]);
    assert_eq!((progress.fetched(), progress.redirects), (1, 1));
}

#[tokio::test]
async fn a_target_that_waits_already_rises_to_the_priority_of_the_link() {
    // `new/` waits with the poor page's priority when `old/`, a link of the good page, leads to it.
    let crawl = Crawl::new(&["poor/", "good/"]);
    crawl.page("poor/", "sand", &["first/", "new/"]);
    crawl
        .page("good/", "reef", &["old/"])
        .redirect("old/", "new/");
    crawl.page("new/", "reef", &[]);
    crawl.replay().await;
    assert_eq!(
        crawl.requests(),
        ["poor/", "good/", "old/", "new/", "first/"]
    );
    let events = crawl.events();
    let lease = events.iter().find_map(|event| match event {
        Event::Page(page) if page.lease.url == url("new/") => Some(&page.lease),
        _ => None,
    });
    // The first reference, then the best, then that of the redirected link.
    let expected = [reference(4, 1), reference(6, 0), reference(5, 0)];
    assert_eq!(lease.unwrap().references, expected);
}

#[tokio::test]
async fn the_scope_holds_for_targets() {
    let mut crawl = Crawl::new(&["a/"]);
    crawl.redirect("a/", "b/").page("b/", "reef", &[]);
    crawl.scope().allow = vec!["^http://a".into()];
    crawl.replay().await;
    assert_eq!(crawl.requests(), ["a/"]);
    assert_eq!(crawl.refusal_of("b/"), Some(Refusal::Scope));
}

#[tokio::test]
async fn an_order_that_learns_nothing_keeps_only_redirects_whose_target_waits() {
    let mut crawl = Crawl::new(&["new/0"]);
    crawl.spec.order = "breadth-first".into();
    for n in 0..700 {
        let old = format!("old/{n}");
        crawl.page(&format!("new/{n}"), "reef", &[old.as_str()]);
        crawl.redirect(&old, &format!("new/{}", n + 1));
    }
    let parts = crawl.parts(crawl.source.clone(), Pace::Replay);
    let (mut engine, _handle) = Engine::open(parts).unwrap();
    engine.work().await.unwrap();
    let noted = engine.learning.redirects.len();
    assert!(noted <= 257, "{noted}");
    // The same when its log is read.
    let parts = crawl.parts(crawl.source.clone(), Pace::Replay);
    let (engine, _handle) = Engine::open(parts).unwrap();
    let noted = engine.learning.redirects.len();
    assert!(noted <= 257, "{noted}");
}
