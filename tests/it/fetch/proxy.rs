//! The network source behind a proxy.

use std::sync::Arc;

use apprentice::fetch::{GuardRules, HttpSettings, HttpSource, Outcome, ProxyMode, Source as _};
use tokio::net::TcpListener;

use super::{failing, failure, request, response, source, status};
use crate::support::proxy::Proxy;
use crate::support::site::Site;
use crate::support::socks::SocksProxy;
use crate::support::tls::TlsSite;

fn proxied(proxy: &Proxy, site: &TlsSite) -> HttpSource {
    let url = format!("http://user:secret@{}", proxy.address);
    source(HttpSettings {
        proxy: ProxyMode::Forward(url.parse().unwrap()),
        extra_roots_pem: site.authority_pem.clone().into_bytes(),
        ..HttpSettings::default()
    })
}

#[tokio::test]
async fn a_forward_proxy_gets_absolute_form_for_http_and_a_tunnel_for_https() {
    let site = TlsSite::start("tls.test", &["h2", "http/1.1"]).await;
    let proxy = Proxy::start(site.address).await;
    let source = proxied(&proxy, &site);
    let page = response(&source, "http://any.test/a?b").await;
    assert_eq!(&page.body[..], b"GET http://any.test/a?b HTTP/1.1");
    let page = response(&source, "https://tls.test/a").await;
    let text = String::from_utf8_lossy(&page.body).into_owned();
    assert_eq!(
        text,
        "HTTP/2.0 https://tls.test/a proxy-authorization: false"
    );
    let heads = proxy.heads();
    assert_eq!(heads.len(), 2);
    assert!(
        heads[1].starts_with("CONNECT tls.test:443 HTTP/1.1"),
        "{}",
        heads[1]
    );
    for head in &heads {
        // "user:secret"
        let line = "proxy-authorization: Basic dXNlcjpzZWNyZXQ=";
        assert!(head.contains(line), "{head}");
    }
}

#[tokio::test]
async fn an_archive_proxy_gets_absolute_form_for_both_schemes() {
    let site = TlsSite::start("tls.test", &[]).await;
    let proxy = Proxy::start(site.address).await;
    let source = source(HttpSettings {
        proxy: ProxyMode::Archive(format!("http://{}", proxy.address).parse().unwrap()),
        ..HttpSettings::default()
    });
    for scheme in ["http", "https"] {
        let page = response(&source, &format!("{scheme}://any.test/a")).await;
        let expected = format!("GET {scheme}://any.test/a HTTP/1.1");
        assert_eq!(page.body, expected.as_bytes());
        assert!(proxy.heads().last().unwrap().contains("host: any.test\r\n"));
    }
}

#[tokio::test]
async fn behind_a_proxy_literal_addresses_are_judged_and_the_proxy_is_exempt() {
    let site = TlsSite::start("tls.test", &[]).await;
    let proxy = Proxy::start(site.address).await;
    let source = proxied(&proxy, &site);
    for url in [
        "http://127.0.0.1/",
        "https://[::1]/",
        "http://localhost/",
        "http://10.1/",
    ] {
        let mut request = request(url);
        request.guard = Arc::new(GuardRules::public_only());
        assert_eq!(failing(&source, request).await.name(), "address", "{url}");
    }
    let mut named = request("http://any.test/");
    named.guard = Arc::new(GuardRules::public_only());
    assert!(matches!(source.fetch(named).await, Outcome::Response(_)));
}

#[tokio::test]
async fn what_the_proxy_says_of_a_site_is_a_status_and_its_own_failure_has_a_name() {
    let site = TlsSite::start("tls.test", &[]).await;
    let proxy = Proxy::start(site.address).await;
    let source = proxied(&proxy, &site);
    for scheme in ["http", "https"] {
        for code in [502, 504] {
            let error = failure(&source, &format!("{scheme}://status-{code}/")).await;
            assert_eq!(error, status(code, None), "{scheme}");
        }
        let error = failure(&source, &format!("{scheme}://status-407/")).await;
        assert!(
            error.name() == "proxy" && error.to_string().contains("407"),
            "{error}"
        );
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn a_dead_proxy_is_named_without_its_password() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let url = format!("http://user:secret@{address}");
    for proxy in [
        ProxyMode::Forward(url.parse().unwrap()),
        ProxyMode::Archive(url.parse().unwrap()),
    ] {
        let source = source(HttpSettings {
            proxy,
            ..HttpSettings::default()
        });
        for site in ["http://any.test/", "https://any.test/"] {
            let error = failure(&source, site).await;
            assert_eq!(error.name(), "proxy", "{error}");
            let text = error.to_string();
            assert!(
                text.contains(&address.to_string()) && !text.contains("secret"),
                "{text}"
            );
        }
    }
}

fn through_socks(login: &str, proxy: &SocksProxy, authority_pem: &str) -> HttpSource {
    let url = format!("socks5://{login}{}", proxy.address);
    source(HttpSettings {
        proxy: ProxyMode::Forward(url.parse().unwrap()),
        extra_roots_pem: authority_pem.as_bytes().to_vec(),
        ..HttpSettings::default()
    })
}

#[tokio::test]
async fn a_socks_proxy_tunnels_both_schemes_and_resolves_the_names() {
    let site = Site::start().await;
    let proxy = SocksProxy::start(None, site.address).await;
    let plain = through_socks("", &proxy, "");
    let page = response(&plain, "http://named.test/page").await;
    assert_eq!(&page.body[..], b"hello");
    // Not in the form that an HTTP proxy gets.
    assert!(site.heads()[0].starts_with("GET /page HTTP/1.1"));
    let tls = TlsSite::start("tls.test", &["h2"]).await;
    let proxy_to_tls = SocksProxy::start(Some("me:open sesame"), tls.address).await;
    let secure = through_socks("me:open%20sesame@", &proxy_to_tls, &tls.authority_pem);
    let page = response(&secure, "https://tls.test/a").await;
    assert!(page.body.starts_with(b"HTTP/2.0 https://tls.test/a"));
    assert_eq!(proxy.asked(), ["named.test:80"]);
    assert_eq!(proxy_to_tls.asked(), ["tls.test:443"]);
    // A literal address is held against the guard all the same.
    let mut outsider = request("http://127.0.0.1/page");
    outsider.guard = Arc::new(GuardRules::public_only());
    assert_eq!(failing(&plain, outsider).await.name(), "address");
}

#[tokio::test]
async fn what_a_socks_proxy_cannot_do_is_told_from_what_the_site_cannot() {
    let site = Site::start().await;
    let proxy = SocksProxy::start(Some("me:right"), site.address).await;
    let logged_in = through_socks("me:right@", &proxy, "");
    let error = failure(&logged_in, "http://refused.test/").await;
    assert!(
        error.name() == "connect" && error.to_string().contains("refused"),
        "{error}"
    );
    for (login, words) in [("", "another login"), ("me:wrong@", "refuses the user")] {
        let error = failure(&through_socks(login, &proxy, ""), "http://a.test/").await;
        assert!(
            error.name() == "proxy" && error.to_string().contains(words),
            "{error}"
        );
        assert!(!error.to_string().contains("wrong"), "{error}");
    }
    // A server that speaks something else, and none at all.
    let url = format!("socks5://{}", site.address);
    let source = source(HttpSettings {
        proxy: ProxyMode::Forward(url.parse().unwrap()),
        ..HttpSettings::default()
    });
    let mut impatient = request("http://a.test/");
    impatient.limits.connect = std::time::Duration::from_millis(200);
    let error = failing(&source, impatient).await;
    assert!(
        ["proxy", "timeout-connect"].contains(&error.name()),
        "{error}"
    );
}
