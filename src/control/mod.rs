//! How is it spoken to? The gRPC service, its client, auth, status codes.
//!
//! One service, `apprentice.v1.Crawler`, on a Unix socket that only its owner can open, and on TCP
//! if asked: on loopback, or with TLS and a token. Health and reflection are on everywhere.

mod auth;
pub mod client;
mod explain;
mod export;
mod listen;
mod service;
mod status;
mod url_report;

pub use auth::{Token, TokenError};
pub use listen::{ListenError, Listeners, TcpOptions, TlsFiles};
pub use service::{CrawlerService, DaemonInfo};
