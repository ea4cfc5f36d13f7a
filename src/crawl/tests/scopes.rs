//! Which links are taken in, and what becomes of the others.

use super::*;

/// A seed with four links, two of them on other hosts.
fn four_links() -> Crawl {
    let crawl = Crawl::new(&["a/"]);
    crawl.page("a/", "sand", &["a/1", "a/2.pdf", "b/", "c/"]);
    crawl.page("a/1", "reef", &["a/deep"]);
    crawl
}

#[tokio::test]
async fn allow_and_deny_refuse_what_they_do_not_cover() {
    let mut crawl = four_links();
    crawl.scope().allow = vec!["^http://[ab]".into()];
    crawl.scope().deny = vec!["pdf$".into()];
    let progress = crawl.replay().await;
    assert_eq!(crawl.requests(), ["a/", "a/1", "a/deep", "b/"]);
    assert_eq!(crawl.refusal_of("c/"), Some(Refusal::Scope));
    assert_eq!(crawl.refusal_of("a/2.pdf"), Some(Refusal::Scope));
    assert_eq!(progress.refused_by_reason.get("scope"), Some(&2));
}

#[tokio::test]
async fn a_seed_is_fetched_although_the_scope_does_not_cover_it() {
    let mut crawl = four_links();
    crawl.scope().allow = vec!["^http://b".into()];
    crawl.replay().await;
    assert_eq!(crawl.requests(), ["a/", "b/"]);
}

#[tokio::test]
async fn a_link_too_deep_is_refused() {
    let mut crawl = four_links();
    crawl.scope().depth_max = 1;
    crawl.replay().await;
    assert!(crawl.requests().contains(&"a/1".to_owned()));
    assert_eq!(crawl.refusal_of("a/deep"), Some(Refusal::Depth));
}

#[tokio::test]
async fn hard_focus_follows_no_link_of_a_page_that_lies_elsewhere() {
    let mut crawl = Crawl::new(&["good/", "poor/"]);
    crawl
        .page("good/", "reef", &["good/1"])
        .page("poor/", "sand", &["poor/1"]);
    crawl.scope().focus = "hard".into();
    crawl.replay().await;
    assert_eq!(crawl.requests(), ["good/", "poor/", "good/1"]);
    assert_eq!(crawl.refusal_of("poor/1"), Some(Refusal::HardFocus));
}

/// Three pages of which the link, the page or the server says nofollow.
fn three_nofollows() -> Crawl {
    let crawl = Crawl::new(&["rel/", "meta/", "head/"]);
    crawl.html("rel/", "<a rel=nofollow href=/1>x</a><a href=/2>y</a>");
    crawl.html(
        "meta/",
        "<meta name=robots content=nofollow><a href=/1>x</a>",
    );
    let response = Response {
        status: 200,
        content_type: Some("text/html".into()),
        robots_tag: Some("nofollow".into()),
        body: "<a href=/1>x</a>".into(),
        truncated: false,
        answer_time: Duration::ZERO,
    };
    crawl
        .source
        .answer(url("head/"), Outcome::Response(response));
    crawl
}

#[tokio::test]
async fn each_nofollow_can_be_ignored_by_itself() {
    type Switch = fn(&mut v1::Scope) -> &mut bool;
    let switches: [(Switch, &str); 3] = [
        (|scope| &mut scope.ignore_nofollow, "rel/1"),
        (|scope| &mut scope.ignore_meta_robots, "meta/1"),
        (|scope| &mut scope.ignore_robots_tag, "head/1"),
    ];
    for (switch, followed) in switches {
        let mut crawl = three_nofollows();
        *switch(crawl.scope()) = true;
        crawl.replay().await;
        let requests = crawl.requests();
        let ones = requests.iter().filter(|to| to.ends_with("/1"));
        assert_eq!(ones.collect::<Vec<_>>(), [followed]);
        // The same, when the switch is set while the crawl goes on.
        let crawl = three_nofollows();
        let mut scope = v1::Scope::default();
        *switch(&mut scope) = true;
        under_scopes(&crawl, vec![scope]).await;
        let requests = crawl.requests();
        let ones = requests.iter().filter(|to| to.ends_with("/1"));
        assert_eq!(ones.collect::<Vec<_>>(), [followed]);
    }
}

#[tokio::test]
async fn a_port_of_another_service_is_asked_nothing() {
    let crawl = Crawl::new(&["a/"]);
    crawl.html(
        "a/",
        "<a href=http://b.test:25/>x</a><a href=http://b.test:8080/>y</a>",
    );
    crawl.replay().await;
    assert_eq!(crawl.requests().len(), 2);
    let mail = CanonicalUrl::parse("http://b.test:25/").unwrap();
    let refused = crawl.events().into_iter().find_map(|event| match event {
        Event::Page(page) => {
            page.links
                .iter()
                .find(|link| link.target == mail.id())?
                .refusal
        }
        _ => None,
    });
    assert_eq!(refused, Some(Refusal::Address));
}

#[tokio::test]
async fn nofollow_is_obeyed_wherever_it_stands() {
    let crawl = three_nofollows();
    let progress = crawl.replay().await;
    assert_eq!(crawl.requests(), ["rel/", "meta/", "head/", "rel/2"]);
    for refused in ["rel/1", "meta/1", "head/1"] {
        assert_eq!(
            crawl.refusal_of(refused),
            Some(Refusal::Nofollow),
            "{refused}"
        );
    }
    assert_eq!(progress.refused_by_reason.get("nofollow"), Some(&3));
}

#[tokio::test]
async fn what_one_page_may_not_give_another_page_may() {
    let crawl = Crawl::new(&["one/", "two/"]);
    crawl.html("one/", "<a rel=nofollow href=http://x.test/>x</a>");
    crawl.page("two/", "reef", &["x/"]);
    crawl.replay().await;
    assert_eq!(crawl.requests(), ["one/", "two/", "x/"]);
}

#[tokio::test]
async fn a_closed_world_refuses_what_lies_outside() {
    let mut crawl = four_links();
    crawl.world = Some(Arc::new(|url| !url.as_str().contains("//c.")));
    crawl.replay().await;
    assert!(!crawl.requests().contains(&"c/".to_owned()));
    assert_eq!(crawl.refusal_of("c/"), Some(Refusal::World));
}

#[tokio::test]
async fn a_running_crawl_says_why_a_link_was_refused() {
    let mut crawl = four_links();
    crawl.scope().deny = vec!["^http://c".into()];
    let known = crawl.live(async |handle| {
        until_finished(&handle).await;
        handle.lookup(url("c/").id()).await.unwrap()
    });
    let state = known.await.unwrap().state;
    // Seq 4 is the page that it stands on, after the spec, the state and the seeds.
    assert_eq!(state, LinkState::Refused(Refusal::Scope, Seq(4)));
}

#[tokio::test]
async fn waiting_links_that_a_narrower_scope_leaves_out_are_struck_off_when_they_are_leased() {
    let mut crawl = four_links();
    crawl.spec.budget = 1;
    let status = crawl.live(async |handle| {
        until_finished(&handle).await;
        let narrower = update(|change| {
            change.budget = Some(100);
            change.scope = Some(v1::Scope {
                deny: vec!["^http://[bc]".into()],
                ..Default::default()
            });
        });
        handle.update(narrower).await.unwrap();
        until(&handle, |status| status.fetched == 4).await;
        until_finished(&handle).await
    });
    assert_eq!(status.await.fetched, 4);
    // a/1 is a better page than a/, so that its link goes before a/2.pdf.
    assert_eq!(crawl.requests(), ["a/", "a/1", "a/deep", "a/2.pdf"]);
    assert_eq!(crawl.refusal_of("b/"), Some(Refusal::Scope));
    assert_eq!(crawl.refusal_of("c/"), Some(Refusal::Scope));
    let struck = crawl.events();
    let struck = struck
        .iter()
        .filter(|event| matches!(event, Event::Refused(_)));
    assert_eq!(struck.count(), 2);
}

#[tokio::test]
async fn a_cap_of_pages_a_host_holds_the_rest_until_it_is_raised() {
    let mut crawl = four_links();
    crawl.scope().pages_per_host_max = 2;
    crawl
        .live(async |handle| {
            let status = until_finished(&handle).await;
            // a/, a/1, b/ and c/; a/2.pdf and a/deep are held.
            assert_eq!((status.fetched, status.links_held), (4, 2));
            assert_eq!(
                status.reason,
                "out of links (2 held by the caps of pages per host and domain)"
            );
            let raised = update(|change| {
                change.scope = Some(v1::Scope {
                    pages_per_host_max: 3,
                    ..Default::default()
                });
            });
            handle.update(raised).await.unwrap();
            until(&handle, |status| status.fetched == 5).await;
            assert_eq!(until_finished(&handle).await.links_held, 1);
            let lifted = update(|change| change.scope = Some(v1::Scope::default()));
            handle.update(lifted).await.unwrap();
            until(&handle, |status| status.fetched == 6).await;
            assert_eq!(until_finished(&handle).await.reason, "out of links");
        })
        .await;
}

/// Crawls to the end, changes the scope by each of `scopes` in turn, and crawls to the end each time.
async fn under_scopes(crawl: &Crawl, scopes: Vec<v1::Scope>) {
    crawl
        .live(async |handle| {
            until_finished(&handle).await;
            for scope in scopes {
                let wider = update(|change| change.scope = Some(scope));
                handle.update(wider).await.unwrap();
                until_finished(&handle).await;
            }
        })
        .await;
}

#[tokio::test]
async fn links_that_a_wider_scope_takes_are_fetched_after_all() {
    let mut crawl = four_links();
    crawl.page("a/deep", "reef", &[]);
    crawl.scope().deny = vec!["^http://[bc]".into(), "deep".into()];
    let wider = v1::Scope {
        deny: vec!["^http://c".into()],
        ..Default::default()
    };
    under_scopes(&crawl, vec![wider]).await;
    assert_eq!(crawl.requests(), ["a/", "a/1", "a/2.pdf", "a/deep", "b/"]);
    assert_eq!(crawl.refusal_of("c/"), Some(Refusal::Scope));
    let booked = crawl.events().into_iter().find_map(|event| match event {
        Event::Page(page) if short(&page.lease.url) == "a/deep" => Some(page.lease),
        _ => None,
    });
    // Its page a/1 is event 5: after the spec, the state, the seeds and a/.
    let lease = booked.unwrap();
    assert_eq!((lease.depth, lease.references[0].seq), (2, Seq(5)));
}

#[tokio::test]
async fn links_refused_for_depth_focus_and_nofollow_are_offered_to_a_new_scope() {
    let mut crawl = Crawl::new(&["a/"]);
    crawl.html(
        "a/",
        "<p>sand</p><a href=/1>x</a><a rel=nofollow href=/2>y</a>",
    );
    crawl.page("a/1", "sand", &["a/deep"]);
    *crawl.scope() = v1::Scope {
        focus: "hard".into(),
        ..Default::default()
    };
    let depth = |depth_max| v1::Scope {
        depth_max,
        ..Default::default()
    };
    let follows = v1::Scope {
        ignore_nofollow: true,
        ..Default::default()
    };
    under_scopes(&crawl, vec![depth(1), depth(2), follows]).await;
    assert_eq!(crawl.requests(), ["a/", "a/1", "a/deep", "a/2"]);
}

#[tokio::test]
async fn links_that_a_narrow_scope_struck_off_come_back_with_a_wide_one() {
    let mut crawl = four_links();
    crawl.spec.budget = 1;
    crawl
        .live(async |handle| {
            until_finished(&handle).await;
            let narrow = update(|change| {
                change.budget = Some(100);
                change.scope = Some(v1::Scope {
                    deny: vec!["^http://[bc]".into()],
                    ..Default::default()
                });
            });
            handle.update(narrow).await.unwrap();
            until_finished(&handle).await;
            let known = handle.lookup(url("b/").id()).await.unwrap().unwrap();
            assert!(matches!(known.state, LinkState::Refused(Refusal::Scope, _)));
            let wide = update(|change| change.scope = Some(v1::Scope::default()));
            handle.update(wide).await.unwrap();
            until_finished(&handle).await;
        })
        .await;
    assert_eq!(crawl.requests()[4..], ["b/", "c/"]);
}

#[tokio::test]
async fn what_robots_txt_forbids_is_not_readmitted() {
    let mut crawl = Crawl::new(&["a/"]);
    crawl.robots = RobotsPolicy::Obey(RobotsCache::default());
    crawl.html("a/robots.txt", "User-agent: *\nDisallow: /no");
    crawl.page("a/", "reef", &["a/no", "a/1"]);
    crawl.scope().deny = vec!["no$".into(), "1$".into()];
    under_scopes(&crawl, vec![v1::Scope::default()]).await;
    assert_eq!(crawl.requests(), ["a/robots.txt", "a/", "a/1"]);
    assert_eq!(crawl.refusal_of("a/no"), Some(Refusal::Scope));
}

#[tokio::test]
async fn a_seed_refused_for_its_address_comes_back_with_a_scope_that_may_allow_it() {
    let mut crawl = Crawl::new(&["inside/", "a/"]);
    crawl.page("a/", "reef", &["inside/"]);
    crawl
        .fail("inside/", FetchError::Address([127, 0, 0, 1].into()))
        .page("inside/", "reef", &[]);
    crawl.spec.budget = 9;
    crawl
        .live(async |handle| {
            until_finished(&handle).await;
            let scope = v1::Scope {
                allow_addresses: vec!["127.0.0.0/8".into()],
                ..Default::default()
            };
            let update = v1::UpdateCrawlRequest {
                scope: Some(scope),
                ..Default::default()
            };
            handle.update(update).await.unwrap();
            until(&handle, |crawl| crawl.pages == 2).await;
        })
        .await;
    assert_eq!(crawl.pages(), ["a/", "inside/"]);
}
