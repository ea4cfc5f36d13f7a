//! The archive proxy over real sockets: raw bytes in and out, and TLS through a tunnel.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apprentice::archive::{
    Answer, Archive, ArchiveLibrary, Authority, Library, ProxyLimits, StoredAnswer, WarcWriter,
    serve,
};
use apprentice::clock::Timestamp;
use apprentice::url::CanonicalUrl;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

const PAGES: &[(&str, u16, &str)] = &[
    ("http://a.example/one?x=1", 200, "<p>one</p>"),
    ("https://a.example/two", 200, "<p>two</p>"),
    ("https://b.example:8443/three", 200, "<p>three</p>"),
    ("http://a.example/gone", 410, "gone for good"),
    ("http://a.example/moved", 301, ""),
];

/// A proxy that runs until it is stopped.
struct Proxy {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Proxy {
    async fn start<L: Library>(library: L, authority: Option<Arc<Authority>>) -> Self {
        let limits = ProxyLimits {
            grace: Duration::from_millis(200),
            ..ProxyLimits::default()
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(serve(
            Arc::new(library),
            listener,
            authority,
            limits,
            async { stopped.await.unwrap_or(()) },
        ));
        Self {
            address,
            stop,
            running,
        }
    }

    async fn over_archive(authority: Option<Arc<Authority>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pages.warc.gz");
        write_archive(&path);
        let archive = Archive::open(&[&path]).unwrap();
        let library = ArchiveLibrary::new(Arc::new(archive), Duration::ZERO);
        // The index holds the file open, so that it may be unlinked.
        Self::start(library, authority).await
    }

    /// Sends a request line with a Host header on a connection of its own.
    async fn ask(&self, line: &str) -> Reply {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        ask_over(&mut stream, line).await
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.running.await.unwrap();
    }
}

fn write_archive(path: &Path) {
    let mut writer = WarcWriter::create(path, "tests", Timestamp(0)).unwrap();
    let headers = [
        ("Content-Type", "text/html; charset=latin1"),
        ("Connection", "close"),
        ("Alt-Svc", "h3=\":443\""),
        ("Set-Cookie", "a=1"),
        ("Set-Cookie", "b=2"),
        ("Location", "http://a.example/one?x=1"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    for (url, status, body) in PAGES {
        let answer = StoredAnswer {
            url: &CanonicalUrl::parse(url).unwrap(),
            fetched: Timestamp(0),
            status: *status,
            headers: &headers,
            body: body.as_bytes(),
        };
        writer.write_answer(&answer).unwrap();
    }
}

struct Reply {
    status: u16,
    head: String,
    body: String,
}

async fn ask_over<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S, line: &str) -> Reply {
    let request = format!("{line}\r\nHost: ignored.example\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let bodiless = line.starts_with("HEAD") || line.starts_with("CONNECT");
    read_reply(stream, bodiless).await.unwrap()
}

/// Reads one answer, and no byte beyond it.
async fn read_reply<S: AsyncRead + Unpin>(stream: &mut S, bodiless: bool) -> io::Result<Reply> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1);
    let length = length.map_or(0, |rest| {
        rest.split("\r\n").next().unwrap().parse().unwrap()
    });
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut body = vec![0; if bodiless && status < 400 { 0 } else { length }];
    stream.read_exact(&mut body).await?;
    let body = String::from_utf8(body).unwrap();
    Ok(Reply { status, head, body })
}

fn authority() -> Arc<Authority> {
    Arc::new(Authority::generate().unwrap())
}

fn trusting(authority: &Authority) -> TlsConnector {
    let ca = CertificateDer::from_pem_slice(authority.ca_pem().as_bytes()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(ca).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

#[tokio::test]
async fn absolute_urls_of_both_schemes_are_answered_over_one_connection() {
    let proxy = Proxy::over_archive(None).await;
    let mut stream = TcpStream::connect(proxy.address).await.unwrap();
    for (url, status, body) in PAGES {
        let reply = ask_over(&mut stream, &format!("GET {url} HTTP/1.1")).await;
        assert_eq!((reply.status, &*reply.body), (*status, *body), "{url}");
    }
    let reply = ask_over(&mut stream, "GET HTTP://A.Example:80/one?x=1 HTTP/1.1").await;
    assert_eq!((reply.status, &*reply.body), (200, "<p>one</p>"));
    drop(stream);
    proxy.stop().await;
}

#[tokio::test]
async fn stored_headers_are_passed_on_but_those_of_the_old_connection() {
    let proxy = Proxy::over_archive(None).await;
    let reply = proxy.ask("GET http://a.example/moved HTTP/1.1").await;
    for kept in [
        "content-type: text/html; charset=latin1\r\n",
        "set-cookie: a=1\r\n",
        "set-cookie: b=2\r\n",
        "location: http://a.example/one?x=1\r\n",
        "content-length: 0\r\n",
    ] {
        assert!(reply.head.contains(kept), "{kept}: {}", reply.head);
    }
    assert!(!reply.head.contains("connection:"), "{}", reply.head);
    assert!(!reply.head.contains("alt-svc"), "{}", reply.head);
    proxy.stop().await;
}

#[tokio::test]
async fn what_the_archive_lacks_is_404_and_robots_txt_is_no_exception() {
    let proxy = Proxy::over_archive(None).await;
    for url in [
        "http://a.example/robots.txt",
        "http://a.example/three",
        "https://a.example/one?x=2",
        "http://nowhere.example/",
    ] {
        let reply = proxy.ask(&format!("GET {url} HTTP/1.1")).await;
        assert_eq!(reply.status, 404, "{url}");
        assert!(reply.body.contains(url), "{}", reply.body);
    }
    proxy.stop().await;
}

#[tokio::test]
async fn head_has_the_length_and_no_body() {
    let proxy = Proxy::over_archive(None).await;
    let mut stream = TcpStream::connect(proxy.address).await.unwrap();
    let reply = ask_over(&mut stream, "HEAD https://a.example/two HTTP/1.1").await;
    assert_eq!(reply.status, 200);
    assert!(
        reply.head.contains("content-length: 10\r\n"),
        "{}",
        reply.head
    );
    // A body would be taken for the next answer's first bytes.
    let reply = ask_over(&mut stream, "GET https://a.example/two HTTP/1.1").await;
    assert_eq!((reply.status, &*reply.body), (200, "<p>two</p>"));
    drop(stream);
    proxy.stop().await;
}

#[tokio::test]
async fn requests_that_are_not_for_an_archive_are_refused_in_words() {
    let proxy = Proxy::over_archive(None).await;
    for (line, status, words) in [
        ("POST http://a.example/one?x=1 HTTP/1.1", 405, "only GET"),
        ("DELETE http://a.example/ HTTP/1.1", 405, "only GET"),
        ("GET /one HTTP/1.1", 400, "forward proxy"),
        ("GET ftp://a.example/ HTTP/1.1", 400, "use http or https"),
        ("CONNECT a.example:443 HTTP/1.1", 501, "absolute form"),
    ] {
        let reply = proxy.ask(line).await;
        assert_eq!(reply.status, status, "{line}");
        assert!(reply.body.contains(words), "{line}: {}", reply.body);
    }
    let reply = proxy.ask("PUT http://a.example/ HTTP/1.1").await;
    assert!(reply.head.contains("allow: get, head, connect\r\n"));
    proxy.stop().await;
}

#[tokio::test]
async fn garbage_ends_its_own_connection_only() {
    let proxy = Proxy::over_archive(None).await;
    let endless = [b"GET http://a.example/".to_vec(), vec![b'a'; 1 << 20]].concat();
    for bytes in [
        &b"\x16\x03\x01\x00\x05hello\r\n\r\n"[..],
        b"\0\0\0\0\r\n\r\n",
        &endless,
    ] {
        let mut stream = TcpStream::connect(proxy.address).await.unwrap();
        // The proxy may close before it has taken everything.
        let _ = stream.write_all(bytes).await;
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply).await;
        let status = String::from_utf8_lossy(&reply)
            .split(' ')
            .nth(1)
            .map(str::to_owned);
        assert!(
            matches!(status.as_deref(), None | Some("400" | "414" | "431")),
            "{status:?}"
        );
    }
    let reply = proxy.ask("GET http://a.example/one?x=1 HTTP/1.1").await;
    assert_eq!(reply.status, 200);
    proxy.stop().await;
}

#[tokio::test]
async fn a_tunnel_speaks_tls_with_a_certificate_for_its_host() {
    let authority = authority();
    let proxy = Proxy::over_archive(Some(Arc::clone(&authority))).await;
    for (host, port, path, status, body) in [
        ("a.example", 443, "/two", 200, "<p>two</p>"),
        ("b.example", 8443, "/three", 200, "<p>three</p>"),
        (
            "a.example",
            443,
            "/robots.txt",
            404,
            "not in the archive: https://a.example/robots.txt\n",
        ),
    ] {
        let mut stream = TcpStream::connect(proxy.address).await.unwrap();
        let reply = ask_over(&mut stream, &format!("CONNECT {host}:{port} HTTP/1.1")).await;
        assert_eq!(reply.status, 200);
        let name = ServerName::try_from(host).unwrap();
        let mut tls = trusting(&authority).connect(name, stream).await.unwrap();
        for _ in 0..2 {
            let reply = ask_over(&mut tls, &format!("GET {path} HTTP/1.1")).await;
            assert_eq!((reply.status, &*reply.body), (status, body));
        }
        let nested = ask_over(&mut tls, "CONNECT c.example:443 HTTP/1.1").await;
        assert_eq!(nested.status, 400);
    }
    proxy.stop().await;
}

#[tokio::test]
async fn a_tunnels_certificate_is_for_no_other_host_and_no_stranger_trusts_it() {
    let authority_of_proxy = authority();
    let proxy = Proxy::over_archive(Some(Arc::clone(&authority_of_proxy))).await;
    for (trusted, name) in [
        (&authority_of_proxy, "b.example"),
        (&authority(), "a.example"),
    ] {
        let mut stream = TcpStream::connect(proxy.address).await.unwrap();
        ask_over(&mut stream, "CONNECT a.example:443 HTTP/1.1").await;
        let name = ServerName::try_from(name).unwrap();
        let refused = trusting(trusted).connect(name, stream).await.unwrap_err();
        assert!(refused.to_string().contains("certificate"), "{refused}");
    }
    proxy.stop().await;
}

#[tokio::test]
async fn a_tunnel_without_tls_speaks_plain_http() {
    let proxy = Proxy::over_archive(Some(authority())).await;
    let mut stream = TcpStream::connect(proxy.address).await.unwrap();
    ask_over(&mut stream, "CONNECT a.example:80 HTTP/1.1").await;
    let reply = ask_over(&mut stream, "GET /one?x=1 HTTP/1.1").await;
    assert_eq!((reply.status, &*reply.body), (200, "<p>one</p>"));
    let reply = ask_over(&mut stream, "GET /three HTTP/1.1").await;
    assert_eq!(reply.status, 404);
    drop(stream);
    proxy.stop().await;
}

#[tokio::test]
async fn a_tunnel_of_garbage_is_closed_and_one_to_no_host_is_refused() {
    let proxy = Proxy::over_archive(Some(authority())).await;
    for garbage in [&b"\x16\x03\x01\x00\x05hello"[..], b"\0\0\r\n\r\n"] {
        let mut stream = TcpStream::connect(proxy.address).await.unwrap();
        ask_over(&mut stream, "CONNECT a.example:443 HTTP/1.1").await;
        stream.write_all(garbage).await.unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert!(!rest.starts_with(b"HTTP/1.1 200"));
    }
    for target in ["a!b.example:443", "a.example", ":443"] {
        let reply = proxy.ask(&format!("CONNECT {target} HTTP/1.1")).await;
        assert_eq!(reply.status, 400, "{target}");
    }
    proxy.stop().await;
}

/// A web of one page, held back for an hour, and of headers that HTTP does not allow.
struct SlowOrOdd;

impl Library for SlowOrOdd {
    async fn answer(&self, url: &CanonicalUrl) -> Answer {
        let mut answer = Answer::text(200, "made up");
        if url.as_str().ends_with("/slow") {
            answer.delay = Duration::from_hours(1);
        }
        if url.as_str().ends_with("/early") {
            answer.status = 103;
        }
        for (name, value) in [
            ("bad name", "x"),
            ("x-split", "a\r\nb: c"),
            ("x-good", "yes"),
            ("Transfer-Encoding", "chunked"),
            ("Connection", "close"),
            ("Content-Length", "1"),
        ] {
            answer.headers.push((name.to_owned(), value.to_owned()));
        }
        answer
    }
}

#[tokio::test]
async fn any_library_can_be_served_and_what_http_forbids_is_left_out() {
    let proxy = Proxy::start(SlowOrOdd, None).await;
    let reply = proxy.ask("GET http://made.up.example/ HTTP/1.1").await;
    assert_eq!((reply.status, &*reply.body), (200, "made up"));
    assert!(reply.head.contains("x-good: yes\r\n"), "{}", reply.head);
    assert!(!reply.head.contains("x-split"), "{}", reply.head);
    assert!(!reply.head.contains("bad name"), "{}", reply.head);
    let reply = proxy.ask("GET http://made.up.example/early HTTP/1.1").await;
    assert_eq!(reply.status, 502);
    proxy.stop().await;
}

#[tokio::test]
async fn stopping_cuts_off_what_is_not_finished_within_the_grace() {
    let proxy = Proxy::start(SlowOrOdd, None).await;
    let mut idle = TcpStream::connect(proxy.address).await.unwrap();
    ask_over(&mut idle, "GET http://made.up.example/ HTTP/1.1").await;
    let mut slow = TcpStream::connect(proxy.address).await.unwrap();
    let request = b"GET http://made.up.example/slow HTTP/1.1\r\n\r\n";
    slow.write_all(request).await.unwrap();
    proxy.stop().await;
    for stream in [&mut idle, &mut slow] {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.is_empty());
    }
}

/// A page that no socket's buffers hold.
struct Vast;

impl Library for Vast {
    async fn answer(&self, url: &CanonicalUrl) -> Answer {
        let vast = url.as_str().ends_with("/vast");
        Answer::text(200, "x".repeat(if vast { 64 << 20 } else { 1 }))
    }
}

#[tokio::test]
async fn a_client_that_never_reads_does_not_keep_others_out() {
    let limits = ProxyLimits {
        connections_max: 1,
        silence: Duration::from_millis(300),
        ..ProxyLimits::default()
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let library = Arc::new(Vast);
    let running = tokio::spawn(serve(
        library,
        listener,
        None,
        limits,
        std::future::pending(),
    ));
    let mut deaf = TcpStream::connect(address).await.unwrap();
    let request = b"GET http://made.up.example/vast HTTP/1.1\r\n\r\n";
    deaf.write_all(request).await.unwrap();
    let mut second = TcpStream::connect(address).await.unwrap();
    let reply = ask_over(&mut second, "GET http://made.up.example/ HTTP/1.1").await;
    assert_eq!(reply.status, 200);
    drop(deaf);
    running.abort();
}

#[tokio::test]
async fn a_client_beyond_the_bound_waits_for_another_to_leave() {
    let limits = ProxyLimits {
        connections_max: 1,
        ..ProxyLimits::default()
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let library = Arc::new(SlowOrOdd);
    let running = tokio::spawn(serve(
        library,
        listener,
        None,
        limits,
        std::future::pending(),
    ));
    let line = "GET http://made.up.example/ HTTP/1.1";
    let mut first = TcpStream::connect(address).await.unwrap();
    ask_over(&mut first, line).await;
    let mut second = TcpStream::connect(address).await.unwrap();
    let waiting = tokio::spawn(async move { ask_over(&mut second, line).await.status });
    // The first client is still served, the second one is not yet.
    for _ in 0..20 {
        ask_over(&mut first, line).await;
    }
    assert!(!waiting.is_finished());
    drop(first);
    assert_eq!(waiting.await.unwrap(), 200);
    running.abort();
}
