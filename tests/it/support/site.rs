//! A site on loopback that misbehaves by path, over raw sockets.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// What the site does after it has sent its bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// Waits for the next request on the same connection.
    KeepAlive,
    Close,
    /// Sends nothing more until the other side closes.
    Hang,
    /// Sends a byte now and then, for ever.
    Drip,
}

/// What a site sends for a host and a path.
pub(crate) type Answers = dyn Fn(&str, &str) -> (Vec<u8>, Then) + Send + Sync;

/// A running site. It ends with the runtime of the test.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    heads: Mutex<Vec<String>>,
    /// Requests of each host that are being answered, and the most of them at once; of all under "".
    busy: Mutex<BTreeMap<String, (usize, usize)>>,
    hanging: Gate,
    abandoned: Gate,
}

/// Counts events that a test can wait for.
struct Gate(Semaphore);

impl Default for Gate {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

impl Site {
    /// A site that answers by path alone, whatever it is called.
    pub(crate) async fn start() -> Self {
        Self::start_with(Arc::new(|_, path| answer(path))).await
    }

    pub(crate) async fn start_with(answers: Arc<Answers>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::start_on(listener, answers)
    }

    pub(crate) fn start_on(listener: TcpListener, answers: Arc<Answers>) -> Self {
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let shared = seen.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                // A client that goes away in the middle is no failure of the site.
                tokio::spawn(serve(stream, shared.clone(), answers.clone()));
            }
        });
        Self { address, seen }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// The heads of all requests, in order.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.seen.heads.lock().unwrap().clone()
    }

    /// The most requests of each host that were answered at once; of all hosts under "".
    pub(crate) fn most_at_once(&self) -> BTreeMap<String, usize> {
        let busy = self.seen.busy.lock().unwrap();
        let most = busy.iter().map(|(host, (_, most))| (host.clone(), *most));
        most.collect()
    }

    /// Waits until a request hangs.
    pub(crate) async fn hanging(&self) {
        self.seen.hanging.0.acquire().await.unwrap().forget();
    }

    /// Waits until the client of a hanging request has gone away.
    pub(crate) async fn abandoned(&self) {
        self.seen.abandoned.0.acquire().await.unwrap().forget();
    }
}

impl Seen {
    fn begin(&self, host: &str) {
        let mut busy = self.busy.lock().unwrap();
        for host in ["", host] {
            let (now, most) = busy.entry(host.to_owned()).or_default();
            *now += 1;
            *most = (*most).max(*now);
        }
    }

    fn end(&self, host: &str) {
        let mut busy = self.busy.lock().unwrap();
        for host in ["", host] {
            busy.entry(host.to_owned()).or_default().0 -= 1;
        }
    }
}

async fn serve(
    mut stream: TcpStream,
    seen: Arc<Seen>,
    answers: Arc<Answers>,
) -> std::io::Result<()> {
    while let Some(head) = read_head(&mut stream).await? {
        let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
        let host = host_of(&head);
        seen.begin(&host);
        let (bytes, then) = answers(&host, &path);
        seen.heads.lock().unwrap().push(head);
        // Whoever else would ask meanwhile is seen to.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        let written = stream.write_all(&bytes).await;
        seen.end(&host);
        written?;
        match then {
            Then::KeepAlive => {}
            Then::Close => return stream.shutdown().await,
            Then::Hang => {
                seen.hanging.0.add_permits(1);
                while stream.read(&mut [0; 64]).await.is_ok_and(|n| n > 0) {}
                seen.abandoned.0.add_permits(1);
                return Ok(());
            }
            Then::Drip => loop {
                stream.write_all(b"x").await?;
                tokio::time::sleep(Duration::from_millis(5)).await;
            },
        }
    }
    Ok(())
}

/// The Host header.
fn host_of(head: &str) -> String {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    let host = lines.find(|(name, _)| name.eq_ignore_ascii_case("host"));
    host.map_or_else(String::new, |(_, value)| value.to_owned())
}

/// Reads a request's head; `None` if the client has closed.
pub(crate) async fn read_head(stream: &mut TcpStream) -> std::io::Result<Option<String>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(String::from_utf8_lossy(&head).into_owned()))
}

/// What the site sends for a path.
pub(crate) fn answer(path: &str) -> (Vec<u8>, Then) {
    well_formed(path)
        .or_else(|| compressed(path))
        .or_else(|| broken(path))
        .unwrap_or_else(|| {
            (
                with("404 Not Found", HTML, b"nothing here"),
                Then::KeepAlive,
            )
        })
}

pub(crate) const HTML: &str = "Content-Type: text/html\r\n";

/// Answers that keep to HTTP, wise or not.
fn well_formed(path: &str) -> Option<(Vec<u8>, Then)> {
    use Then::{Close, KeepAlive};
    Some(match path {
        "/page" => {
            let robots = "X-Robots-Tag: noarchive\r\nX-Robots-Tag: nofollow\r\n";
            (ok(&format!("{HTML}{robots}"), b"hello"), KeepAlive)
        }
        "/unstated" => (ok("Content-Type: */*\r\n", b"<p>hello"), KeepAlive),
        "/large" => (ok(HTML, &vec![b'x'; 200_000]), KeepAlive),
        "/empty" => (b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(), KeepAlive),
        "/reset" => (with("205 Reset Content", HTML, b""), KeepAlive),
        "/image" => (ok("Content-Type: image/png\r\n", &[0; 99]), KeepAlive),
        "/moved" => (redirect(b"/page"), KeepAlive),
        "/moved-utf8" => (redirect("/caf\u{e9}".as_bytes()), KeepAlive),
        "/loop" => (redirect(b"/loop"), KeepAlive),
        "/moved-chunked" => {
            let head = "HTTP/1.1 301 Moved\r\nLocation: /page\r\nTransfer-Encoding: chunked";
            let body = "4\r\nmove\r\n0\r\n\r\n";
            (format!("{head}\r\n\r\n{body}").into_bytes(), KeepAlive)
        }
        "/lost" => (with("302 Found", "", b""), KeepAlive),
        "/astray" => (redirect(b"mailto:nobody@h.test"), KeepAlive),
        "/choices" => (with("300 Multiple Choices", "", b""), KeepAlive),
        "/unchanged" => (b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec(), KeepAlive),
        "/busy" => (with("503 Busy", "Retry-After: 7\r\n", b""), KeepAlive),
        "/busy-date" => {
            // The example date of RFC 9110, 784,111,777 s after the epoch.
            let date = "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
            (with("429 Slow Down", date, b""), KeepAlive)
        }
        "/busy-garbage" => (with("429 Slow Down", "Retry-After: -5\r\n", b""), KeepAlive),
        "/private" => (
            with("401 Unauthorized", HTML, &vec![b'x'; 5_000_000]),
            Close,
        ),
        "/robots.txt" => (
            ok("", b"User-agent: *\r\nDisallow: /private\r\n"),
            KeepAlive,
        ),
        _ => return None,
    })
}

/// Answers under Content-Encoding: gzip.
fn compressed(path: &str) -> Option<(Vec<u8>, Then)> {
    let body = match path {
        "/gzip" => gzip(b"hello"),
        "/gzip-twice" => gzip(&gzip(b"hello")),
        "/gzip-members" => [gzip(b"hel"), gzip(b"lo")].concat(),
        "/gzip-lie" => b"hello".to_vec(),
        "/gzip-bomb" => gzip(&vec![b'x'; 30_000_000]),
        "/gzip-cut" => gzip(&noise())[..20_000].to_vec(),
        "/gzip-nothing" => gzip(b"hello")[..10].to_vec(),
        _ => return None,
    };
    let headers = format!("{HTML}Content-Encoding: gzip\r\n");
    Some((ok(&headers, &body), Then::KeepAlive))
}

/// Answers that break off, break the rules or never end.
fn broken(path: &str) -> Option<(Vec<u8>, Then)> {
    use Then::{Close, Drip, Hang, KeepAlive};
    Some(match path {
        "/hang" => (Vec::new(), Hang),
        "/hang-in-head" => (b"HTTP/1.1 200 OK\r\nContent-".to_vec(), Hang),
        "/hang-in-body" => (part(HTML, 100, b"half"), Hang),
        "/drop" => (Vec::new(), Close),
        "/drop-in-head" => (b"HTTP/1.1 200 OK\r\nContent-".to_vec(), Close),
        "/drop-before-body" => (part(HTML, 100, b""), Close),
        "/half" => (part(HTML, 100, b"half a body"), Close),
        "/chunk-broken" => (chunked(HTML, b"5\r\nhello\r\nzz\r\n"), Close),
        "/chunk-first-broken" => (chunked(HTML, b"zz\r\n"), Close),
        "/chunk-last-missing" => (chunked(HTML, b"5\r\nhello\r\n"), Close),
        "/too-long" => (
            ok(HTML, b"hello").into_iter().chain(*b"!!").collect(),
            Close,
        ),
        "/huge-headers" => (
            ok(&format!("X: {}\r\n", "y".repeat(90_000)), b"hello"),
            Close,
        ),
        "/many-headers" => (ok(&"X: y\r\n".repeat(5_000), b"hello"), Close),
        "/fat-headers" => (
            ok(&format!("X: {}\r\n", "y".repeat(5_000)), b"hello"),
            KeepAlive,
        ),
        "/odd-lines" => {
            let lines = "Content-Type : text/html;\r\n charset=utf-8\r\nno colon\r\nX (y): z\r\n";
            (ok(lines, b"hello"), KeepAlive)
        }
        "/garbage" => (
            b"\x16\x03\x01 SSH-2.0 this is not HTTP\r\n\r\n".to_vec(),
            Close,
        ),
        "/drip" => (part(HTML, 1_000_000, b""), Drip),
        "/unstated-binary" => {
            let kind = "Content-Type: application/octet-stream\r\n";
            (part(kind, 1_000_000, b"\x00\x01\x02"), Hang)
        }
        "/stream" => (chunkless(HTML), Drip),
        _ => return None,
    })
}

pub(crate) fn ok(headers: &str, body: &[u8]) -> Vec<u8> {
    with("200 OK", headers, body)
}

pub(crate) fn with(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// A 200 answer that promises `length` bytes and begins with `body`.
fn part(headers: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn chunked(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\n{headers}Transfer-Encoding: chunked\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// An endless answer: its body ends with the connection.
fn chunkless(headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{headers}\r\n").into_bytes()
}

pub(crate) fn redirect(location: &[u8]) -> Vec<u8> {
    let head = b"HTTP/1.1 302 Found\r\nContent-Length: 4\r\nLocation: ";
    [head, location, b"\r\n\r\nmove"].concat()
}

pub(crate) fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Text that hardly compresses.
fn noise() -> Vec<u8> {
    use rand::Rng as _;
    let mut noise = vec![0; 40_000];
    apprentice::clock::chance(1, "noise").fill_bytes(&mut noise);
    noise
}
