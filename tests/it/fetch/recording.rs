//! What is put down of an exchange that is to be kept.

use std::sync::Arc;
use std::time::Duration;

use apprentice::fetch::{Exchange, HttpSource, Outcome, Recorder, Source as _};

use super::tls::tls_source;
use super::{direct, request};
use crate::support::site::{Site, Then, answer};
use crate::support::tls::TlsSite;

async fn recorded(source: &HttpSource, url: &str) -> Exchange {
    let mut request = request(url);
    let recorder = Recorder::default();
    request.recorder = Some(recorder.clone());
    match source.fetch(request).await {
        Outcome::Response(_) => recorder.take().unwrap(),
        other => panic!("{url}: {other:?}"),
    }
}

#[tokio::test]
async fn http_1_is_recorded_byte_for_byte_on_one_connection_after_another() {
    let site = Site::start().await;
    let source = direct();
    let paths = [
        "/page",
        "/gzip",
        "/gzip-members",
        "/half",
        "/page",
        "/chunk-last-missing",
    ];
    for path in paths {
        let exchange = recorded(&source, &site.url(path)).await;
        assert_eq!(exchange.response, answer(path).0, "{path}");
        let heads = site.heads();
        assert_eq!(exchange.request, heads.last().unwrap().as_bytes(), "{path}");
        assert_eq!(exchange.address, Some(site.address.ip()));
        assert!(!exchange.is_h2);
        let broken = matches!(path, "/half" | "/chunk-last-missing");
        assert_eq!(exchange.is_cut, broken, "{path}");
    }
    assert!(site.connections() < paths.len(), "some are used again");
}

#[tokio::test]
async fn an_answer_beyond_the_limit_is_recorded_as_far_as_it_was_read() {
    let site = Site::start().await;
    let exchange = recorded(&direct(), &site.url("/large")).await;
    assert!(exchange.is_cut);
    assert!(answer("/large").0.starts_with(&exchange.response));
    assert!(exchange.response.len() > 100_000);
}

#[tokio::test]
async fn a_failure_and_a_fetch_that_nobody_keeps_put_nothing_down() {
    let site = Site::start().await;
    let recorder = Recorder::default();
    let mut failing = request(&site.url("/drop-in-head"));
    failing.recorder = Some(recorder.clone());
    assert!(matches!(direct().fetch(failing).await, Outcome::Failure(_)));
    assert_eq!(recorder.take(), None);
}

/// A site whose redirects have odd bodies, named by their paths.
async fn moving() -> Site {
    Site::start_with(Arc::new(|_: &str, path: &str| {
        let head = "HTTP/1.1 301 Moved\r\nLocation: /page\r\nContent-Length: 5000000\r\n\r\n";
        let (body, then) = match path {
            "/large" => (vec![b'x'; 5_000_000], Then::KeepAlive),
            "/drip" => (b"m".to_vec(), Then::Drip),
            "/broken" => (b"moved".to_vec(), Then::Close),
            _ => (b"moved".to_vec(), Then::Hang),
        };
        ([head.as_bytes(), &body].concat(), then)
    }))
    .await
}

#[tokio::test]
async fn a_redirect_counts_whatever_becomes_of_its_body() {
    let site = moving().await;
    for path in ["/hang", "/drip", "/broken", "/large"] {
        // The whole fetch may last longer than the body is waited for, or not.
        for total in [Duration::from_millis(300), Duration::from_mins(1)] {
            for recorder in [None, Some(Recorder::default())] {
                let mut request = request(&site.url(path));
                request.limits.total = total;
                request.recorder.clone_from(&recorder);
                let outcome = direct().fetch(request).await;
                let Outcome::Redirect(redirect) = outcome else {
                    panic!("{path}: {outcome:?}");
                };
                assert_eq!(redirect.target.as_str(), site.url("/page"));
                let Some(exchange) = recorder.and_then(|recorder| recorder.take()) else {
                    continue;
                };
                assert!(exchange.is_cut, "{path}");
                assert!(exchange.response.starts_with(b"HTTP/1.1 301 Moved\r\n"));
                // 64 KiB, and what was on the way with them.
                assert!(exchange.response.len() < 200_000, "{path}");
            }
        }
    }
}

#[tokio::test]
async fn http_2_is_recorded_as_http_1_would_have_it() {
    let site = TlsSite::start("tls.test", &["h2"]).await;
    let exchange = recorded(&tls_source(&site), "https://tls.test/a?b").await;
    assert!(exchange.is_h2);
    let request = String::from_utf8(exchange.request.to_vec()).unwrap();
    assert!(
        request.starts_with("GET /a?b HTTP/1.1\r\nhost: tls.test\r\n"),
        "{request}"
    );
    let response = String::from_utf8(exchange.response.to_vec()).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(body.starts_with("HTTP/2.0 https://tls.test/a?b"), "{body}");
    let site = TlsSite::start("tls.test", &["http/1.1"]).await;
    let exchange = recorded(&tls_source(&site), "https://tls.test/a").await;
    assert!(!exchange.is_h2);
    assert!(
        exchange.request.starts_with(b"GET /a HTTP/1.1\r\n"),
        "not what TLS made of it"
    );
}
