//! One client of the proxy, from its first byte to its last.

use std::convert::Infallible;
use std::io::Cursor;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::uri;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, Join, WriteHalf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use super::patience::Patient;
use super::{Answer, Authority, Library, ProxyLimits};
use crate::archive::response::is_of_connection;
use crate::url::CanonicalUrl;

/// Bytes of a request's line and headers; a canonical URL has at most 2,048.
const REQUEST_BYTES_MAX: usize = 32 << 10;

/// The first byte of a TLS connection: a handshake record (RFC 8446, 5.1).
const TLS_HANDSHAKE: u8 = 0x16;

const NOT_FOR_A_PROXY: &str = "this is a forward proxy for archived pages: ask for an absolute \
    URL, for example with curl -x http://THIS-ADDRESS http://HOST/PATH\n";
const NO_AUTHORITY: &str = "CONNECT is not served here, as this proxy makes no certificates: ask \
    for the https:// URL in absolute form\n";

/// What one client's task needs.
pub(super) struct Connection<L> {
    pub(super) library: Arc<L>,
    pub(super) authority: Option<Arc<Authority>>,
    pub(super) limits: ProxyLimits,
    pub(super) stop: CancellationToken,
}

/// Where a CONNECT leads, as `host` or `host:port`, and the connection once it is the tunnel's.
struct Tunnel {
    target: uri::Authority,
    upgrade: OnUpgrade,
}

/// A tunnel's bytes, with the first one put back.
type Raw = Join<Box<dyn AsyncRead + Send + Unpin>, WriteHalf<TokioIo<Upgraded>>>;

/// What is spoken in a tunnel, and to which host.
enum Inside {
    Tls(Box<TlsStream<Raw>>, uri::Authority),
    Plain(Raw, uri::Authority),
}

/// How the URLs of requests are to be read.
enum Scope {
    /// Absolute URLs, and CONNECT.
    Proxy,
    /// Paths, under this scheme on this host (`host` or `host:port`).
    Host(&'static str, uri::Authority),
}

impl<L: Library> Connection<L> {
    /// Serves the client until it is gone, or the proxy stops.
    pub(super) async fn run(&self, stream: TcpStream) {
        // Answers are whole: waiting to fill a packet would only delay them.
        let _ = stream.set_nodelay(true);
        let stream = Patient::new(stream, self.limits.silence);
        let Some(tunnel) = self.serve(stream, Scope::Proxy).await else {
            return;
        };
        let opened = tokio::select! {
            opened = tokio::time::timeout(self.limits.silence, self.open(tunnel)) => opened,
            () = self.stop.cancelled() => return,
        };
        match opened {
            Ok(Some(Inside::Tls(stream, host))) => {
                self.serve(stream, Scope::Host("https", host)).await;
            }
            Ok(Some(Inside::Plain(stream, host))) => {
                self.serve(stream, Scope::Host("http", host)).await;
            }
            Ok(None) | Err(_) => {}
        }
    }

    /// Waits for the tunnel's first byte, which tells TLS from plain HTTP: some clients ask for a
    /// tunnel to `http://` hosts too.
    async fn open(&self, tunnel: Tunnel) -> Option<Inside> {
        let Tunnel { target, upgrade } = tunnel;
        let config = self.tunnel_config(&target)?;
        let (mut reader, writer) = tokio::io::split(TokioIo::new(upgrade.await.ok()?));
        let first = reader.read_u8().await.ok()?;
        let reader = Cursor::new(vec![first]).chain(reader);
        let stream: Raw = tokio::io::join(Box::new(reader), writer);
        if first != TLS_HANDSHAKE {
            return Some(Inside::Plain(stream, target));
        }
        match TlsAcceptor::from(config).accept(stream).await {
            Ok(stream) => Some(Inside::Tls(Box::new(stream), target)),
            Err(error) => {
                tracing::debug!("TLS for {target}: {error}");
                None
            }
        }
    }

    fn tunnel_config(&self, target: &uri::Authority) -> Option<Arc<rustls::ServerConfig>> {
        self.authority
            .as_ref()?
            .server_config(bare_host(target))
            .ok()
    }

    /// Answers requests until the connection ends; `Some` if it is to become a tunnel.
    async fn serve<S>(&self, stream: S, scope: Scope) -> Option<Tunnel>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let tunnel = Mutex::new(None);
        let service = service_fn(|request: Request<Incoming>| {
            let (scope, tunnel) = (&scope, &tunnel);
            async move { Ok::<_, Infallible>(self.answer(request, scope, tunnel).await) }
        });
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.silence)
            .max_buf_size(REQUEST_BYTES_MAX);
        let served = builder.serve_connection(TokioIo::new(stream), service);
        let mut served = std::pin::pin!(served.with_upgrades());
        let ended = tokio::select! {
            ended = &mut served => ended,
            () = self.stop.cancelled() => {
                served.as_mut().graceful_shutdown();
                served.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!("a connection to the proxy ended: {error}");
        }
        tunnel.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn answer(
        &self,
        mut request: Request<Incoming>,
        scope: &Scope,
        tunnel: &Mutex<Option<Tunnel>>,
    ) -> Response<Full<Bytes>> {
        if request.method() == Method::CONNECT {
            return self.connect(&mut request, scope, tunnel);
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let text = "only GET, HEAD and CONNECT are served from an archive\n";
            let mut refused = response(Answer::text(405, text));
            let allowed = HeaderValue::from_static("GET, HEAD, CONNECT");
            refused.headers_mut().insert(hyper::header::ALLOW, allowed);
            return refused;
        }
        let url = match requested_url(request.uri(), scope) {
            Ok(url) => url,
            Err(words) => return response(Answer::text(400, words)),
        };
        let answer = self.library.answer(&url).await;
        if !answer.delay.is_zero() {
            tokio::time::sleep(answer.delay).await;
        }
        tracing::debug!(status = answer.status, %url, "served");
        response(answer)
    }

    fn connect(
        &self,
        request: &mut Request<Incoming>,
        scope: &Scope,
        tunnel: &Mutex<Option<Tunnel>>,
    ) -> Response<Full<Bytes>> {
        let target = match (request.uri().authority(), scope) {
            (Some(target), Scope::Proxy) if target.port_u16().is_some() => target.clone(),
            _ => return response(Answer::text(400, "CONNECT needs HOST:PORT, once\n")),
        };
        let Some(authority) = &self.authority else {
            return response(Answer::text(501, NO_AUTHORITY));
        };
        if let Err(error) = authority.server_config(bare_host(&target)) {
            return response(Answer::text(400, format!("{error}\n")));
        }
        let upgrade = hyper::upgrade::on(request);
        *tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(Tunnel { target, upgrade });
        Response::new(Full::default())
    }
}

/// The host of an authority, without the brackets of an IPv6 address.
fn bare_host(authority: &uri::Authority) -> &str {
    authority
        .host()
        .trim_start_matches('[')
        .trim_end_matches(']')
}

/// The URL that a request is for, or what is wrong with it.
fn requested_url(uri: &hyper::Uri, scope: &Scope) -> Result<CanonicalUrl, String> {
    let text = match scope {
        _ if uri.scheme().is_some() => uri.to_string(),
        Scope::Proxy => return Err(NOT_FOR_A_PROXY.to_owned()),
        Scope::Host(scheme, host) => {
            let path = uri.path_and_query().map_or("/", |path| path.as_str());
            format!("{scheme}://{host}{path}")
        }
    };
    CanonicalUrl::parse(&text).map_err(|error| format!("cannot serve {text}: {error}\n"))
}

/// An answer as hyper sends it: hyper adds the length, and leaves the body out for HEAD.
fn response(answer: Answer) -> Response<Full<Bytes>> {
    let status = StatusCode::from_u16(answer.status).ok();
    // hyper keeps 1xx to itself: they are no final answers.
    let Some(status) = status.filter(|status| !status.is_informational()) else {
        let text = format!("status {} cannot be passed on\n", answer.status);
        return response(Answer::text(502, text));
    };
    let mut response = Response::new(Full::new(answer.body));
    *response.status_mut() = status;
    for (name, value) in answer.headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        let value = HeaderValue::from_bytes(value.as_bytes());
        if let (Ok(name), Ok(value)) = (name, value)
            && !is_of_connection(name.as_str())
        {
            response.headers_mut().append(name, value);
        }
    }
    response
}
