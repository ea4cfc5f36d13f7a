//! The network source over TLS.

use std::net::SocketAddr;
use std::sync::Arc;

use apprentice::fetch::{FixedResolver, HttpSettings, HttpSource};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{direct, failure, response, source};
use crate::support::tls::{Manner, TlsSite};

pub(super) fn tls_source(site: &TlsSite) -> HttpSource {
    source(HttpSettings {
        extra_roots_pem: site.authority_pem.clone().into_bytes(),
        resolver: Some(resolver_for(site)),
        ..HttpSettings::default()
    })
}

fn resolver_for(site: &TlsSite) -> Arc<FixedResolver> {
    Arc::new(FixedResolver::new(
        ["tls.test", "wrong.test"].map(|name| (name.to_owned(), vec![site.address])),
    ))
}

#[tokio::test]
async fn tls_speaks_http_2_and_1_as_negotiated() {
    for (protocols, version) in [
        (&["h2", "http/1.1"][..], "HTTP/2.0 https://tls.test/a"),
        (&["http/1.1"], "HTTP/1.1 /a"),
        (&[], "HTTP/1.1 /a"),
    ] {
        let site = TlsSite::start("tls.test", protocols).await;
        let source = tls_source(&site);
        let page = response(&source, "https://tls.test/a").await;
        let text = String::from_utf8_lossy(&page.body);
        assert!(text.starts_with(version), "{text}");
    }
}

#[tokio::test]
async fn a_certificate_that_is_not_valid_is_named() {
    let site = TlsSite::start("tls.test", &["http/1.1"]).await;
    let untrusting = source(HttpSettings {
        resolver: Some(resolver_for(&site)),
        ..HttpSettings::default()
    });
    let error = failure(&untrusting, "https://tls.test/").await;
    assert!(
        error.name() == "tls" && error.to_string().contains("UnknownIssuer"),
        "{error}"
    );
    let error = failure(&tls_source(&site), "https://wrong.test/").await;
    assert_eq!(error.name(), "tls", "{error}");
    // A server that speaks HTTP where TLS is expected, and one that hangs up.
    for words in [b"HTTP/1.1 400 Bad Request\r\n\r\n".as_slice(), b""] {
        let url = format!("https://{}/", blurting(words).await);
        let error = failure(&direct(), &url).await;
        assert_eq!(error.name(), "tls", "{error}");
    }
}

/// A server that says `words` to everybody after the first bytes and hangs up.
async fn blurting(words: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // A client that is gone already has heard enough.
            let _ = stream.read(&mut [0; 1024]).await;
            let _ = stream.write_all(words).await;
        }
    });
    address
}

#[tokio::test]
async fn a_site_that_does_tls_or_http_2_badly_is_named() {
    for (manner, name, words) in [
        (Manner::Expired, "tls", "xpired"),
        (Manner::SelfSigned, "tls", "invalid peer certificate"),
        (Manner::Reset, "broken", "excessive load"),
        (Manner::GoAway, "broken", "excessive load"),
    ] {
        let site = TlsSite::start_as("tls.test", &["h2"], manner).await;
        let error = failure(&tls_source(&site), "https://tls.test/").await;
        assert_eq!(error.name(), name, "{manner:?}: {error}");
        assert!(error.to_string().contains(words), "{manner:?}: {error}");
    }
}
