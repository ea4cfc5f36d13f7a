//! Every way to fail has a name (and a row in the table of policies, `policy.rs`).

use std::net::IpAddr;
use std::time::Duration;

/// Why a fetch brought no page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The name has no address.
    #[error("no address for {host}: {detail}")]
    Dns {
        /// The host.
        host: String,
        /// What the resolver said.
        detail: String,
    },
    /// No connection.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// No TLS session, or a certificate that is not valid.
    #[error("TLS failed: {0}")]
    Tls(String),
    /// No connection in time.
    #[error("no connection within {0:?}")]
    TimeoutConnect(Duration),
    /// No answer in time.
    #[error("no answer within {0:?}")]
    TimeoutFirstByte(Duration),
    /// Not finished in time.
    #[error("not finished within {0:?}")]
    TimeoutTotal(Duration),
    /// The body came more slowly than is waited for.
    #[error("fewer than {0} bytes a second")]
    TooSlow(u32),
    /// The connection broke in the middle of an answer.
    #[error("connection broke: {0}")]
    Broken(String),
    /// Not HTTP.
    #[error("not a valid HTTP answer: {0}")]
    Protocol(String),
    /// The Content-Encoding could not be undone.
    #[error("cannot decode {encoding}: {detail}")]
    Decode {
        /// The encoding.
        encoding: String,
        /// What the decoder said.
        detail: String,
    },
    /// A body that swells more than any honest one when it is decompressed.
    #[error("{encoding} unpacks to more than {expansion_max} times its size")]
    Bomb {
        /// The encoding.
        encoding: String,
        /// The bound.
        expansion_max: u32,
    },
    /// A body beyond the bound, where the crawl wants none of those.
    #[error("the body is longer than {0} bytes")]
    TooLarge(usize),
    /// An answer that is no success.
    #[error("status {code}")]
    Status {
        /// The status.
        code: u16,
        /// Retry-After, as a wait from now.
        retry_after: Option<Duration>,
    },
    /// A redirect without a target that can be crawled.
    #[error("status {code} without a usable Location: {detail}")]
    BadRedirect {
        /// The status.
        code: u16,
        /// What is wrong with it.
        detail: String,
    },
    /// A document of a kind that is not read.
    #[error("content type {0:?} is not read")]
    ContentType(String),
    /// The guard forbids the address.
    #[error(
        "address {0} is private, loopback or otherwise special; allow it in the spec to crawl it"
    )]
    Address(IpAddr),
    /// The port is one of another service than the web's.
    #[error("port {0} belongs to another service than the web and is not connected to")]
    Port(u16),
    /// The proxy failed, not the server.
    #[error("proxy failed: {0}")]
    Proxy(String),
    /// The archive lacks the URL.
    #[error("not in the archive")]
    NotInArchive,
}

impl FetchError {
    /// The name of the cause, as counted and exported.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Dns { .. } => "dns",
            Self::Connect(_) => "connect",
            Self::Tls(_) => "tls",
            Self::TimeoutConnect(_) => "timeout-connect",
            Self::TimeoutFirstByte(_) => "timeout-first-byte",
            Self::TimeoutTotal(_) => "timeout-total",
            Self::TooSlow(_) => "too-slow",
            Self::Broken(_) => "broken",
            Self::Protocol(_) => "protocol",
            Self::Decode { .. } => "decode",
            Self::Bomb { .. } => "bomb",
            Self::TooLarge(_) => "too-large",
            Self::Status { .. } => "status",
            Self::BadRedirect { .. } => "bad-redirect",
            Self::ContentType(_) => "content-type",
            Self::Address(_) => "address",
            Self::Port(_) => "port",
            Self::Proxy(_) => "proxy",
            Self::NotInArchive => "not-in-archive",
        }
    }
}
