//! The network as a source.
//!
//! One client, with its pool of connections, for each distinct set of guard rules and connection
//! limits: a connection that was opened under one crawl's rules is never lent to another crawl.

mod answer;
mod dial;
mod failure;
mod pinned;
mod proxy;
mod recording;
mod resolve;
mod socks;
mod tape;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, HeaderValue, PROXY_AUTHORIZATION, USER_AGENT,
};
use hyper::{StatusCode, Uri};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{HttpInfo, capture_connection};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tokio::time::{Instant, timeout, timeout_at};

pub use pinned::{PinnedHost, PinnedHostError};
pub use proxy::{ProxyMode, ProxyUrl, ProxyUrlError};
pub use resolve::{FixedResolver, Resolve, Resolving, SystemResolver};

use super::{FetchError, FetchLimits, GuardRules, Outcome, Request, Source, forbidden_port};
use crate::clock::{Clock, Timestamp};
use crate::url::HostKey;
use answer::Timing;
use dial::Dial;
use recording::Recording;
use tape::Tap;

/// hyper takes no smaller bound for a head.
const HEADER_BYTES_LEAST: usize = 8 << 10;

/// More sets of rules than the crawls of one daemon have; the client longest unused is closed first.
const CLIENTS_MAX: usize = 16;

/// Hosts whose addresses are remembered; some ten megabytes.
const ADDRESSES_MAX: usize = 100_000;

/// An idle connection is kept for this long: a few politeness delays.
const IDLE_DIRECT: Duration = Duration::from_secs(20);
/// A proxy is one host under many names, each with its own idle connections: kept longer, they would
/// fill the proxy.
const IDLE_PROXY: Duration = Duration::from_millis(500);

/// What the crawler would like to have, the server decides.
const ACCEPTED: &str = "text/html,application/xhtml+xml,text/plain;q=0.8,*/*;q=0.1";
const ACCEPTED_CODINGS: &str = "gzip, deflate, br";
const ACCEPTED_LANGUAGES: &str = "en,*;q=0.5";

/// How the network is reached.
#[derive(Clone, Default)]
pub struct HttpSettings {
    /// Direct, or through which proxy.
    pub proxy: ProxyMode,
    /// Certificates of authorities to trust beside the public ones, in PEM.
    pub extra_roots_pem: Vec<u8>,
    /// Who knows the addresses of names; the machine's configuration if `None`.
    pub resolver: Option<Arc<dyn Resolve>>,
    /// Hosts whose addresses nobody is asked for; not behind a proxy.
    pub pinned: Vec<PinnedHost>,
}

/// Why there can be no [`HttpSource`].
#[derive(Debug, thiserror::Error)]
pub enum HttpSourceError {
    /// The extra certificates cannot be read.
    #[error("the certificates of extra authorities are not readable as PEM: {0}")]
    Pem(String),
    /// There is no certificate among them.
    #[error("the file of extra authorities holds no certificate")]
    NoCertificate,
    /// The proxy cannot be used like this.
    #[error(transparent)]
    Proxy(#[from] ProxyUrlError),
    /// The TLS library refuses its own defaults.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

/// The network as a source: HTTP/1.1 and HTTP/2, with or without TLS.
///
/// A clone shares its connections.
#[derive(Clone)]
pub struct HttpSource {
    shared: Arc<Shared>,
}

struct Shared {
    tls: rustls::ClientConfig,
    proxy: ProxyMode,
    resolver: Arc<dyn Resolve>,
    pinned: Arc<[PinnedHost]>,
    now: Box<dyn Fn() -> Timestamp + Send + Sync>,
    clients: Mutex<Vec<(ClientKey, AnyClient)>>,
    addresses: Mutex<HashMap<HostKey, IpAddr>>,
}

#[derive(Clone, PartialEq, Eq)]
struct ClientKey {
    guard: Arc<GuardRules>,
    connect: Duration,
    header_bytes_max: usize,
    /// 0 for connections that are not recorded.
    tape_bytes_max: usize,
}

type NoBody = Empty<Bytes>;

/// An archive proxy is spoken to in the clear for https URLs as well.
#[derive(Clone)]
enum AnyClient {
    Tls(Client<Tap<HttpsConnector<Dial>>, NoBody>),
    Clear(Client<Tap<Dial>, NoBody>),
}

impl HttpSource {
    /// A source that reads Retry-After dates by `clock`.
    ///
    /// # Errors
    /// [`HttpSourceError`], if the settings cannot be used.
    pub fn new(settings: HttpSettings, clock: impl Clock) -> Result<Self, HttpSourceError> {
        if let ProxyMode::Archive(proxy) = &settings.proxy {
            proxy.require_loopback()?;
        }
        let resolver = settings
            .resolver
            .unwrap_or_else(|| Arc::new(SystemResolver::new()));
        Ok(Self {
            shared: Arc::new(Shared {
                tls: tls_config(&settings.extra_roots_pem)?,
                proxy: settings.proxy,
                resolver,
                pinned: settings.pinned.into(),
                now: Box::new(move || clock.now()),
                clients: Mutex::new(Vec::new()),
                addresses: Mutex::default(),
            }),
        })
    }

    async fn answer(&self, request: &Request, ends: Instant) -> Result<Outcome, FetchError> {
        let url = request.url.to_url();
        let url = url.map_err(|error| FetchError::Protocol(error.to_string()))?;
        if let Some(port) = forbidden_port(&url) {
            return Err(FetchError::Port(port));
        }
        if let Some(address) = request.guard.forbidden_literal(&url) {
            return Err(FetchError::Address(address));
        }
        let message = self.message(request)?;
        let recorder = request.recorder.as_ref();
        let sent = recorder.map(|recorder| (recorder, recording::request_head(&message)));
        let (answer, answer_time) = self.exchange(message, request).await?;
        if let Some(info) = answer.extensions().get::<HttpInfo>() {
            let address = info.remote_addr().ip().to_canonical();
            self.shared.note_address(request.url.host_key(), address);
        }
        if answer.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED
            && let ProxyMode::Forward(proxy) | ProxyMode::Archive(proxy) = &self.shared.proxy
        {
            return Err(dial::refused_credentials(proxy));
        }
        let now = (self.shared.now)();
        let recording = sent.map(|(recorder, head)| Recording::begin(recorder, head, &answer));
        let timing = Timing {
            answer_time,
            now,
            ends,
        };
        Ok(answer::read(answer, request, timing, recording).await)
    }

    fn message(&self, request: &Request) -> Result<hyper::Request<NoBody>, FetchError> {
        let unusable =
            |what: &str| FetchError::Protocol(format!("{what} cannot be sent over HTTP"));
        let uri: Uri = request
            .url
            .as_str()
            .parse()
            .map_err(|_| unusable("the URL"))?;
        let agent =
            HeaderValue::from_str(&request.user_agent).map_err(|_| unusable("the User-Agent"))?;
        let clear = uri.scheme_str() == Some("http");
        let mut message = hyper::Request::new(NoBody::new());
        *message.uri_mut() = uri;
        let headers = message.headers_mut();
        headers.insert(USER_AGENT, agent);
        headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED_CODINGS));
        headers.insert(
            ACCEPT_LANGUAGE,
            HeaderValue::from_static(ACCEPTED_LANGUAGES),
        );
        // Inside a tunnel the credentials would reach the site.
        let credentials = match &self.shared.proxy {
            ProxyMode::Direct => None,
            ProxyMode::Forward(proxy) => proxy.credentials().filter(|_| clear),
            ProxyMode::Archive(proxy) => proxy.credentials(),
        };
        if let Some(credentials) = credentials {
            headers.insert(PROXY_AUTHORIZATION, credentials.clone());
        }
        Ok(message)
    }

    /// Sends the request and waits for the head of the answer, each within its limit.
    async fn exchange(
        &self,
        mut message: hyper::Request<NoBody>,
        request: &Request,
    ) -> Result<(hyper::Response<Incoming>, Duration), FetchError> {
        let mut connection = capture_connection(&mut message);
        let limits = &request.limits;
        let client = self.shared.client(request);
        let exchange = match &client {
            AnyClient::Tls(client) => client.request(message),
            AnyClient::Clear(client) => client.request(message),
        };
        let mut exchange = std::pin::pin!(exchange);
        let early = timeout(limits.connect, async {
            tokio::select! {
                biased;
                answer = &mut exchange => Some(answer),
                _ = connection.wait_for_connection_metadata() => None,
            }
        })
        .await
        .map_err(|_| FetchError::TimeoutConnect(limits.connect))?;
        let asked = Instant::now();
        let answer = match early {
            Some(answer) => answer,
            None => timeout(limits.first_byte, exchange)
                .await
                .map_err(|_| FetchError::TimeoutFirstByte(limits.first_byte))?,
        };
        Ok((
            answer.map_err(|error| failure::exchanging(&error))?,
            asked.elapsed(),
        ))
    }
}

impl Source for HttpSource {
    async fn fetch(&self, request: Request) -> Outcome {
        let total = request.limits.total;
        let ends = Instant::now() + total;
        // Around everything, so that no stage can be forgotten.
        match timeout_at(ends, self.answer(&request, ends)).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(failure)) => Outcome::Failure(failure),
            Err(_) => Outcome::Failure(FetchError::TimeoutTotal(total)),
        }
    }

    async fn locate(&self, request: &Request) -> Option<IpAddr> {
        if !matches!(self.shared.proxy, ProxyMode::Direct) {
            return None;
        }
        let site: Uri = request.url.as_str().parse().ok()?;
        let mut pinned = self.shared.pinned.iter();
        if let Some(addresses) = pinned.find_map(|pinned| pinned.addresses_of(&site)) {
            return request.guard.first_permitted(addresses.iter().copied());
        }
        let host = site.host()?;
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        if let Ok(literal) = bare.unwrap_or(host).parse() {
            return request.guard.first_permitted(std::iter::once(literal));
        }
        let found = self.shared.resolver.resolve(host);
        let found = timeout(request.limits.connect, found).await.ok()?.ok()?;
        let addresses = found.iter().map(std::net::SocketAddr::ip);
        request.guard.first_permitted(addresses)
    }

    fn address_of(&self, host: &HostKey) -> Option<IpAddr> {
        let addresses = &self.shared.addresses;
        let addresses = addresses.lock().unwrap_or_else(PoisonError::into_inner);
        addresses.get(host).copied()
    }
}

impl Shared {
    fn note_address(&self, host: HostKey, address: IpAddr) {
        let mut addresses = self
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // They are learned again with the next answers.
        if addresses.len() >= ADDRESSES_MAX {
            addresses.clear();
        }
        addresses.insert(host, address);
    }

    /// The client for these rules and limits, made if need be.
    fn client(&self, request: &Request) -> AnyClient {
        let limits = &request.limits;
        let recorded = request.recorder.is_some();
        let key = ClientKey {
            guard: request.guard.clone(),
            connect: limits.connect,
            header_bytes_max: limits.header_bytes_max,
            tape_bytes_max: if recorded {
                recording::bytes_max(limits)
            } else {
                0
            },
        };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let client = match clients.iter().position(|(known, _)| *known == key) {
            Some(place) => clients.remove(place).1,
            None => self.build(limits, &key),
        };
        // The latest used stands last.
        if clients.len() >= CLIENTS_MAX {
            clients.remove(0);
        }
        clients.push((key, client.clone()));
        client
    }

    fn build(&self, limits: &FetchLimits, key: &ClientKey) -> AnyClient {
        let header_bytes_max = limits.header_bytes_max.max(HEADER_BYTES_LEAST);
        let idle = match self.proxy {
            ProxyMode::Direct => IDLE_DIRECT,
            ProxyMode::Forward(_) | ProxyMode::Archive(_) => IDLE_PROXY,
        };
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(idle)
            .pool_max_idle_per_host(1)
            .http1_max_buf_size(header_bytes_max)
            // Old servers and scripts write such lines, browsers read over them, and so does
            // `archive`: no reason to lose the page.
            .http1_allow_spaces_after_header_name_in_responses(true)
            .http1_allow_obsolete_multiline_headers_in_responses(true)
            .http1_ignore_invalid_headers_in_responses(true)
            .http2_max_header_list_size(u32::try_from(header_bytes_max).unwrap_or(u32::MAX));
        let dial = Dial::new(
            self.proxy.clone(),
            self.pinned.clone(),
            self.resolver.clone(),
            key.guard.clone(),
            limits,
        );
        if matches!(self.proxy, ProxyMode::Archive(_)) {
            let bytes_max = key.tape_bytes_max;
            let connector = dial;
            return AnyClient::Clear(builder.build(Tap {
                connector,
                bytes_max,
            }));
        }
        let https = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(self.tls.clone())
            .https_or_http()
            .enable_all_versions()
            .wrap_connector(dial);
        AnyClient::Tls(builder.build(Tap {
            connector: https,
            bytes_max: key.tape_bytes_max,
        }))
    }
}

/// TLS with the public authorities and those in `extra_pem`.
fn tls_config(extra_pem: &[u8]) -> Result<rustls::ClientConfig, HttpSourceError> {
    let mut roots = rustls::RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let public = roots.len();
    for certificate in CertificateDer::pem_slice_iter(extra_pem) {
        let certificate = certificate.map_err(|error| HttpSourceError::Pem(error.to_string()))?;
        roots.add(certificate)?;
    }
    if roots.len() == public && !extra_pem.is_empty() {
        return Err(HttpSourceError::NoCertificate);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}
