//! A library of answers served as an HTTP forward proxy, so that any crawler can crawl it.
//!
//! The life of a connection is one task: requests in absolute form are answered (for `http://` and
//! `https://` URLs alike), until the client closes, stays silent, or asks with CONNECT for a
//! tunnel; then the same task speaks TLS with a certificate made for that host, and goes on
//! answering. A connection holds one of a bounded number of permits from its beginning to its end.

mod authority;
mod connection;
mod library;
mod patience;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use authority::{Authority, AuthorityError};
pub use library::{Answer, ArchiveLibrary, Library};

use connection::Connection;

/// The bounds of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyLimits {
    /// Connections at a time; further ones wait to be accepted. At least 1.
    pub connections_max: usize,
    /// How long a client may stay silent before and between requests and in a TLS handshake, and
    /// how long it may take nothing of an answer.
    pub silence: Duration,
    /// How long running answers may take once the proxy is asked to stop.
    pub grace: Duration,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            connections_max: 4096,
            silence: Duration::from_secs(30),
            grace: Duration::from_secs(3),
        }
    }
}

/// Serves `library` on `listener` until `shutdown` completes. Without an authority, `https://` URLs
/// are answered in absolute form only and CONNECT is refused.
///
/// After `shutdown` no connection is accepted, running answers are finished within
/// [`ProxyLimits::grace`], and what is left then is cut off.
///
/// Answers to what the library has are its own; 404 is what it lacks, 405 another method than GET,
/// HEAD or CONNECT, 400 a request that is not for a proxy, 501 CONNECT without an authority.
pub async fn serve<L: Library>(
    library: Arc<L>,
    listener: TcpListener,
    authority: Option<Arc<Authority>>,
    limits: ProxyLimits,
    shutdown: impl Future<Output = ()>,
) {
    let permits = Arc::new(Semaphore::new(limits.connections_max.max(1)));
    let stop = CancellationToken::new();
    let mut connections = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => continue,
            accepted = accept(&listener, &permits) => accepted,
        };
        match accepted {
            Ok((stream, permit)) => {
                let connection = Connection {
                    library: Arc::clone(&library),
                    authority: authority.clone(),
                    limits,
                    stop: stop.clone(),
                };
                connections.spawn(async move {
                    connection.run(stream).await;
                    drop(permit);
                });
            }
            Err(error) => {
                // Out of file descriptors, most likely: some have to be closed first.
                tracing::warn!("the proxy cannot accept a connection: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    stop.cancel();
    let finished = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.grace, finished).await.is_err() {
        tracing::debug!("cutting off {} connections", connections.len());
        connections.shutdown().await;
    }
}

/// A connection with its permit; the permit comes first, so that what is over the bound waits in
/// the system's queue.
async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits)
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}
