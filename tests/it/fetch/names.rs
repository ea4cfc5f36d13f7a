//! From names to addresses, and which of those the network source connects to.

use std::net::SocketAddr;
use std::sync::Arc;

use apprentice::fetch::{
    FetchError, FixedResolver, GuardRules, HttpSettings, Outcome, Source as _, SystemResolver,
};

use super::{direct, failing, failure, request, response, source};
use crate::support::site::{Site, answer};

#[tokio::test]
async fn the_guard_judges_what_a_name_resolves_to() {
    let site = Site::start().await;
    let special: SocketAddr = "[::1]:1".parse().unwrap();
    let resolver = FixedResolver::new([
        ("inside.test".to_owned(), vec![site.address]),
        ("both.test".to_owned(), vec![special, site.address]),
        ("nowhere.test".to_owned(), vec![]),
    ]);
    let source = source(HttpSettings {
        resolver: Some(Arc::new(resolver)),
        ..HttpSettings::default()
    });
    let mut outsider = request("http://inside.test/page");
    outsider.guard = Arc::new(GuardRules::public_only());
    assert_eq!(
        failing(&source, outsider).await,
        FetchError::Address(site.address.ip())
    );
    // Only 127/8 is allowed: the other address of the name is not tried.
    assert_eq!(
        &response(&source, "http://both.test/page").await.body[..],
        b"hello"
    );
    for unknown in ["http://unknown.test/", "http://nowhere.test/"] {
        let error = failure(&source, unknown).await;
        assert_eq!(error.name(), "dns", "{error}");
    }
    assert_eq!(site.heads().len(), 1);
}

#[tokio::test]
async fn a_site_on_ipv6_is_fetched_within_the_guard() {
    let listener = match tokio::net::TcpListener::bind("[::1]:0").await {
        Ok(listener) => listener,
        Err(error) => {
            eprintln!("skipped: this machine has no ::1 ({error})");
            return;
        }
    };
    let site = Site::start_on(listener, Arc::new(|_, path| answer(path)));
    let resolver = FixedResolver::new([("six.test".to_owned(), vec![site.address])]);
    let source = source(HttpSettings {
        resolver: Some(Arc::new(resolver)),
        ..HttpSettings::default()
    });
    let literal = site.url("/page");
    assert!(literal.starts_with("http://[::1]:"), "{literal}");
    for url in [literal.as_str(), "http://six.test/page"] {
        let mut wanted = request(url);
        wanted.guard = Arc::new(GuardRules::public_only());
        let refused = failing(&source, wanted.clone()).await;
        assert_eq!(refused, FetchError::Address(site.address.ip()));
        wanted.guard = Arc::new(GuardRules::parse(&["::1/128"]).unwrap());
        assert_eq!(source.locate(&wanted).await, Some(site.address.ip()));
        let host = wanted.url.host_key();
        let Outcome::Response(page) = source.fetch(wanted).await else {
            panic!("{url} is not fetched");
        };
        assert_eq!(&page.body[..], b"hello");
        assert_eq!(source.address_of(&host), Some(site.address.ip()));
    }
    assert_eq!(site.heads().len(), 2);
}

#[tokio::test]
async fn where_a_host_stands_is_known_before_it_is_asked() {
    let pinned = "pinned.test:80:10.0.0.1,127.0.0.9".parse().unwrap();
    let first = "127.0.0.7:1".parse().unwrap();
    let source = source(HttpSettings {
        resolver: Some(Arc::new(FixedResolver::new([
            (
                "named.test".to_owned(),
                vec!["10.0.0.1:1".parse().unwrap(), first],
            ),
            (
                "inside.test".to_owned(),
                vec!["10.0.0.1:1".parse().unwrap()],
            ),
        ]))),
        pinned: vec![pinned],
        ..HttpSettings::default()
    });
    for (url, expected) in [
        ("http://named.test/", Some([127, 0, 0, 7])),
        ("http://pinned.test/", Some([127, 0, 0, 9])),
        ("http://127.0.0.3:99/", Some([127, 0, 0, 3])),
        ("http://inside.test/", None),
        ("http://unknown.test/", None),
    ] {
        let found = source.locate(&request(url)).await;
        assert_eq!(found, expected.map(Into::into), "{url}");
    }
}

#[tokio::test]
async fn a_pinned_host_is_found_where_somebody_says_within_the_guard() {
    let site = Site::start().await;
    let port = site.address.port();
    // The first address is refused by the guard, the second does not answer.
    let pinned = format!("pinned.test:{port}:10.0.0.1,127.0.0.9,127.0.0.1");
    let source = source(HttpSettings {
        resolver: Some(Arc::new(FixedResolver::default())),
        pinned: vec![pinned.parse().unwrap()],
        ..HttpSettings::default()
    });
    let page = response(&source, &format!("http://pinned.test:{port}/page")).await;
    assert_eq!(&page.body[..], b"hello");
    assert!(
        site.heads()[0]
            .to_ascii_lowercase()
            .contains("host: pinned.test")
    );
    // Another port is another place, whose address has to be asked for.
    assert_eq!(
        failure(&source, "http://pinned.test/page").await.name(),
        "dns"
    );
    let mut outsider = request(&format!("http://pinned.test:{port}/page"));
    outsider.guard = Arc::new(GuardRules::public_only());
    assert_eq!(failing(&source, outsider).await.name(), "address");
}

#[tokio::test]
async fn the_source_knows_where_a_host_stands() {
    let site = Site::start().await;
    let source = direct();
    let page = request(&site.url("/page"));
    assert_eq!(source.address_of(&page.url.host_key()), None);
    source.fetch(page.clone()).await;
    let known = source.address_of(&page.url.host_key());
    assert_eq!(known, Some(site.address.ip()));
}

#[tokio::test]
async fn the_machines_resolver_knows_localhost_without_a_network() {
    let site = Site::start().await;
    let source = source(HttpSettings {
        resolver: Some(Arc::new(SystemResolver::new())),
        ..HttpSettings::default()
    });
    let url = format!("http://localhost:{}/page", site.address.port());
    assert_eq!(&response(&source, &url).await.body[..], b"hello");
}
