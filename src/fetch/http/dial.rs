//! The connector under the HTTP client: straight to the site, to a proxy, or through its tunnel.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::header::{HOST, HeaderValue, PROXY_AUTHORIZATION};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::upgrade::Upgraded;
use hyper::{Method, StatusCode, Uri};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::failure;
use super::pinned::PinnedHost;
use super::proxy::{ProxyMode, ProxyUrl, SocksLogin};
use super::resolve::{Resolve, Screen, ScreenedResolver};
use super::socks::{self, SocksFailure};
use super::tape::Peer;
use crate::fetch::{FetchError, FetchLimits, GuardRules};

/// Connects within one set of guard rules.
#[derive(Clone)]
pub(super) struct Dial {
    tcp: HttpConnector<ScreenedResolver>,
    proxy: ProxyMode,
    guard: Arc<GuardRules>,
    pinned: Arc<[PinnedHost]>,
    connect_limit: Duration,
    header_bytes_max: usize,
}

impl Dial {
    pub(super) fn new(
        proxy: ProxyMode,
        pinned: Arc<[PinnedHost]>,
        resolver: Arc<dyn Resolve>,
        guard: Arc<GuardRules>,
        limits: &FetchLimits,
    ) -> Self {
        let screen = match &proxy {
            ProxyMode::Direct => Screen::Site(guard.clone()),
            ProxyMode::Forward(_) => Screen::Proxy,
            ProxyMode::Archive(_) => Screen::Loopback,
        };
        let mut tcp = HttpConnector::new_with_resolver(ScreenedResolver { resolver, screen });
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        // A little less than the whole, which the caller watches: a proxy that cannot be reached is
        // to be told from a site that cannot. The addresses of a name share it.
        let connect_limit = limits.connect.mul_f64(0.9);
        tcp.set_connect_timeout(Some(connect_limit));
        Self {
            tcp,
            proxy,
            guard,
            pinned,
            connect_limit,
            header_bytes_max: limits.header_bytes_max,
        }
    }

    async fn dial(mut self, site: Uri) -> Result<Wire, FetchError> {
        let proxy = match &self.proxy {
            ProxyMode::Direct => return self.dial_directly(site).await,
            ProxyMode::Forward(proxy) | ProxyMode::Archive(proxy) => proxy.clone(),
        };
        if let Some(login) = proxy.socks() {
            return self.dial_through_socks(&proxy, login, &site).await;
        }
        let stream = self.tcp.call(proxy.uri().clone()).await;
        let stream = stream.map_err(|error| {
            let reason = failure::connecting(&error, self.connect_limit);
            FetchError::Proxy(format!("{proxy}: {reason}"))
        })?;
        let tunnelled = matches!(self.proxy, ProxyMode::Forward(_))
            && site.scheme_str().is_some_and(|scheme| scheme == "https");
        if tunnelled {
            let tunnel = open_tunnel(stream, &proxy, &site, self.header_bytes_max).await?;
            return Ok(Wire::Tunnel(tunnel));
        }
        Ok(Wire::Proxied(stream))
    }

    async fn dial_directly(&mut self, site: Uri) -> Result<Wire, FetchError> {
        let pinned = self.pinned.iter().find_map(|pinned| pinned.ways_to(&site));
        let ways = pinned.unwrap_or_else(|| vec![site]);
        let mut failed = FetchError::Connect("no address is given for the host".to_owned());
        for way in ways {
            // A literal address never passes the resolver.
            if let Some(address) = literal(&way).filter(|ip| !self.guard.permits(*ip)) {
                failed = FetchError::Address(address);
                continue;
            }
            match self.tcp.call(way).await {
                Ok(stream) => return Ok(Wire::Tcp(stream)),
                Err(error) => failed = failure::connecting(&error, self.connect_limit),
            }
        }
        Err(failed)
    }

    async fn dial_through_socks(
        &mut self,
        proxy: &ProxyUrl,
        login: &SocksLogin,
        site: &Uri,
    ) -> Result<Wire, FetchError> {
        let stream = self.tcp.call(proxy.uri().clone()).await;
        let stream = stream.map_err(|error| {
            let reason = failure::connecting(&error, self.connect_limit);
            FetchError::Proxy(format!("{proxy}: {reason}"))
        })?;
        let mut stream = stream.into_inner();
        let usual = match site.scheme_str() {
            Some("https") => 443,
            _ => 80,
        };
        let (host, port) = (site.host().unwrap_or_default(), site.port_u16());
        let opened = socks::open_tunnel(&mut stream, login, host, port.unwrap_or(usual)).await;
        match opened {
            Ok(()) => Ok(Wire::Socks(TokioIo::new(stream))),
            // The proxy lives and says something about the site.
            Err(SocksFailure::Site(words)) => Err(FetchError::Connect(format!(
                "the proxy {proxy} says: {words}"
            ))),
            Err(SocksFailure::Proxy(words)) => Err(FetchError::Proxy(format!("{proxy}: {words}"))),
        }
    }
}

/// The address that the URI's host states.
fn literal(site: &Uri) -> Option<std::net::IpAddr> {
    let host = site.host()?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse().ok()
}

/// Asks the proxy for a tunnel to the site.
async fn open_tunnel(
    stream: TokioIo<TcpStream>,
    proxy: &ProxyUrl,
    site: &Uri,
    header_bytes_max: usize,
) -> Result<Upgraded, FetchError> {
    let broken = |error: hyper::Error| FetchError::Proxy(format!("{proxy}: {error}"));
    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .max_buf_size(header_bytes_max.max(super::HEADER_BYTES_LEAST))
        .handshake(stream)
        .await
        .map_err(broken)?;
    tokio::spawn(connection.with_upgrades());
    let host = site.host().unwrap_or_default();
    let authority = format!("{host}:{}", site.port_u16().unwrap_or(443));
    let mut request = hyper::Request::builder()
        .method(Method::CONNECT)
        .uri(&authority)
        .header(HOST, &authority)
        .body(Empty::<Bytes>::new())
        .map_err(|error| FetchError::Proxy(format!("{proxy}: {error}")))?;
    if let Some(credentials) = proxy.credentials() {
        let headers = request.headers_mut();
        headers.insert(PROXY_AUTHORIZATION, HeaderValue::clone(credentials));
    }
    let answer = sender.send_request(request).await.map_err(broken)?;
    match answer.status() {
        status if status.is_success() => hyper::upgrade::on(answer).await.map_err(broken),
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => Err(refused_credentials(proxy)),
        // The proxy lives and says something about the site: 502, 504, 403.
        status => Err(FetchError::Status {
            code: status.as_u16(),
            retry_after: None,
        }),
    }
}

/// The failure behind a 407.
pub(super) fn refused_credentials(proxy: &ProxyUrl) -> FetchError {
    FetchError::Proxy(format!(
        "{proxy} wants other credentials (407); give them in its URL as http://user:password@host"
    ))
}

impl Service<Uri> for Dial {
    type Response = Wire;
    type Error = FetchError;
    type Future = Pin<Box<dyn Future<Output = Result<Wire, FetchError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), FetchError>> {
        self.tcp
            .poll_ready(cx)
            .map_err(|error| failure::connecting(&error, self.connect_limit))
    }

    fn call(&mut self, site: Uri) -> Self::Future {
        Box::pin(self.clone().dial(site))
    }
}

/// A connection that stands.
pub(super) enum Wire {
    /// To the site.
    Tcp(TokioIo<TcpStream>),
    /// To a proxy that wants absolute-form requests.
    Proxied(TokioIo<TcpStream>),
    /// To the site, through a proxy that speaks SOCKS5.
    Socks(TokioIo<TcpStream>),
    /// To the site, through a proxy.
    Tunnel(Upgraded),
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        match self {
            // With the address that it leads to.
            Self::Tcp(stream) => match stream.inner().peer_addr() {
                Ok(peer) => stream.connected().extra(Peer(peer.ip())),
                Err(_) => stream.connected(),
            },
            Self::Tunnel(_) | Self::Socks(_) => Connected::new(),
            Self::Proxied(_) => Connected::new().proxy(true),
        }
    }
}

impl Read for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) | Self::Socks(stream) | Self::Proxied(stream) => {
                Pin::new(stream).poll_read(cx, buffer)
            }
            Self::Tunnel(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl Write for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) | Self::Socks(stream) | Self::Proxied(stream) => {
                Pin::new(stream).poll_write(cx, bytes)
            }
            Self::Tunnel(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) | Self::Socks(stream) | Self::Proxied(stream) => {
                Pin::new(stream).poll_flush(cx)
            }
            Self::Tunnel(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) | Self::Socks(stream) | Self::Proxied(stream) => {
                Pin::new(stream).poll_shutdown(cx)
            }
            Self::Tunnel(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
