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
            Self::Broken(_) => "broken",
            Self::Protocol(_) => "protocol",
            Self::Decode { .. } => "decode",
            Self::Status { .. } => "status",
            Self::BadRedirect { .. } => "bad-redirect",
            Self::ContentType(_) => "content-type",
            Self::Address(_) => "address",
            Self::Proxy(_) => "proxy",
            Self::NotInArchive => "not-in-archive",
        }
    }
}
