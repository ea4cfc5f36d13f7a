//! How does the process live? Start, signals, lock, stop.
//!
//! The order of a start: lock the data directory, bind the sockets, open the crawls, serve. The order
//! of a stop (SIGTERM or SIGINT): no new fetch, wait for those in flight, book them, close the
//! sockets. A second signal abandons the fetches in flight; what is booked stays booked.

mod open_files;
mod signals;

use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

pub use open_files::raise_open_files;
pub use signals::Signals;

use crate::clock::{Clock, SystemClock};
use crate::control::{CrawlerService, DaemonInfo, ListenError, Listeners, TcpOptions};
use crate::fetch::{HttpSettings, HttpSource, HttpSourceError, ProxyMode};
use crate::registry::{DataDir, DataDirError, Registry, RegistryError, Shared};

/// What a daemon is started with.
pub struct DaemonOptions {
    /// The data directory.
    pub data: PathBuf,
    /// The Unix socket of the control service.
    pub socket: PathBuf,
    /// Control over TCP, if asked.
    pub tcp: Option<TcpOptions>,
    /// How the network is reached.
    pub http: HttpSettings,
}

/// Why a daemon does not start or ended badly.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The data directory cannot be used.
    #[error(transparent)]
    Data(#[from] DataDirError),
    /// The service cannot listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The network cannot be reached as asked.
    #[error(transparent)]
    Http(#[from] HttpSourceError),
    /// The crawls cannot be listed.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The system delivers no signals.
    #[error("cannot wait for signals: {0}")]
    Signals(std::io::Error),
}

/// Where pages come from, in words, for status and log.
fn guard_note(proxy: &ProxyMode) -> String {
    match proxy {
        ProxyMode::Direct => {
            "every address that is connected to is checked: public ones only, and those that the scope allows".to_owned()
        }
        ProxyMode::Forward(proxy) => format!(
            "behind the proxy {proxy}: only literal addresses in URLs can be checked here; the proxy itself is exempt"
        ),
        ProxyMode::Archive(proxy) => format!(
            "behind the archive proxy {proxy}: nothing is fetched from the network; literal addresses in URLs are checked, the proxy itself is exempt"
        ),
    }
}

/// Runs a daemon in the foreground until a signal stops it. `ready` is called once it serves.
///
/// # Errors
/// [`DaemonError`] says what stands in the way and what to do.
pub async fn run(
    options: DaemonOptions,
    ready: impl FnOnce(&Listeners),
) -> Result<(), DaemonError> {
    let mut signals = Signals::listen().map_err(DaemonError::Signals)?;
    raise_open_files();
    let clock = SystemClock::new();
    let dir = DataDir::open_patiently(&options.data, &clock).await?;
    let listeners = Listeners::bind(&options.socket, options.tcp).await?;
    let proxy = options.http.proxy.clone();
    let source = HttpSource::new(options.http, clock.clone())?;
    let shared = Shared {
        source: Arc::new(source),
        clock: clock.clone(),
        needs_contact: !matches!(proxy, ProxyMode::Archive(_)),
        guard_note: guard_note(&proxy),
    };
    let registry = Registry::open(dir, shared).await?;
    let info = DaemonInfo {
        proxy: match &proxy {
            ProxyMode::Direct => String::new(),
            ProxyMode::Forward(proxy) | ProxyMode::Archive(proxy) => proxy.to_string(),
        },
        started_at: clock.now(),
    };
    let stopping = CancellationToken::new();
    let service = CrawlerService::new(Arc::clone(&registry), clock, info, stopping.clone());
    ready(&listeners);
    let serving = Box::pin(listeners.serve(service, stopping.clone()));
    tracing::info!(data = %options.data.display(), socket = %options.socket.display(), "serving");

    let until_stopped = async {
        let signal = signals.next().await;
        tracing::info!(
            signal,
            "stopping: waiting for the fetches in flight; once more abandons them"
        );
        tokio::select! {
            () = registry.shutdown() => tracing::info!("all crawls are booked and closed"),
            signal = signals.next() => tracing::warn!(signal, "abandoning the fetches in flight"),
        }
        stopping.cancel();
        Ok(())
    };
    // A service that breaks ends the daemon: nobody could speak to it any more.
    let stopped = tokio::try_join!(until_stopped, serving);
    if stopped.is_err() {
        registry.shutdown().await;
    }
    stopped?;
    Ok(())
}
