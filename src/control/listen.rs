//! Where the service listens: a Unix socket, and TCP if asked.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio_stream::wrappers::{TcpListenerStream, UnixListenerStream};
use tokio_util::sync::CancellationToken;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::server::Router;
use tonic::transport::{Identity, Server, ServerTlsConfig};

use super::auth::{Guard, Token};
use super::service::CrawlerService;
use crate::clock::Clock;
use crate::fetch::Source;
use crate::proto::DESCRIPTORS;
use crate::proto::v1::crawler_server::CrawlerServer;

/// How long calls in hand may take once the daemon stops; clients that are silent or read no
/// further are cut off then.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// The longest message that is read: seeds by the hundred thousand come in one.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// A path of a Unix socket cannot be longer than this on Linux (107 bytes and a zero).
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Control over TCP.
#[derive(Clone, Debug)]
pub struct TcpOptions {
    /// Where.
    pub address: SocketAddr,
    /// Certificate and key; other than loopback needs them.
    pub tls: Option<TlsFiles>,
    /// Asked of every call to the crawler (not of health and reflection); other than loopback needs it.
    pub token: Option<Token>,
}

/// PEM files of a server's identity.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate chain.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Why the service cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another daemon answers there.
    #[error("socket {0} is in use by another daemon; give another --socket")]
    SocketInUse(PathBuf),
    /// The system cannot take the path.
    #[error(
        "socket path {0} has {1} bytes; the system takes at most {SOCKET_PATH_BYTES_MAX}: give a shorter --socket"
    )]
    SocketPath(PathBuf, usize),
    /// The socket's path holds something that is no socket.
    #[error("{0} exists and is no socket; remove it or give another --socket")]
    NoSocket(PathBuf),
    /// The system refuses.
    #[error("cannot listen on {0}: {1}")]
    Io(String, std::io::Error),
    /// Control over the network must not be open to everybody.
    #[error(
        "{0} is not loopback: control over the network needs --tls-cert, --tls-key and --token-file"
    )]
    Open(SocketAddr),
    /// The certificate or its key cannot be used.
    #[error("TLS identity of {certificate} and {key}: {error}")]
    Tls {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// What is wrong.
        error: String,
    },
}

/// Bound sockets, not yet served.
#[derive(Debug)]
pub struct Listeners {
    unix: UnixListener,
    socket: PathBuf,
    tcp: Option<Tcp>,
}

/// A bound TCP address, and the server that speaks there.
#[derive(Debug)]
struct Tcp {
    listener: TcpListener,
    server: Server,
    address: SocketAddr,
    token: Option<Token>,
}

impl Listeners {
    /// Binds the Unix socket (mode 0600; a dead daemon's is replaced) and the TCP address.
    ///
    /// # Errors
    /// [`ListenError`] says what stands in the way.
    pub async fn bind(socket: &Path, tcp: Option<TcpOptions>) -> Result<Self, ListenError> {
        let tcp = match tcp {
            Some(options) => Some(bind_tcp(options).await?),
            None => None,
        };
        Ok(Self {
            unix: bind_unix(socket).await?,
            socket: socket.to_path_buf(),
            tcp,
        })
    }

    /// The address that TCP control is bound to, with its port.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        self.tcp
            .as_ref()
            .and_then(|tcp| tcp.listener.local_addr().ok())
    }

    /// Serves until `stopping` is cancelled and the calls in hand are answered, for which they have
    /// two seconds; then the socket's file is gone.
    ///
    /// # Errors
    /// [`ListenError`] if a server broke.
    pub async fn serve<S: Source, C: Clock>(
        self,
        service: CrawlerService<S, C>,
        stopping: CancellationToken,
    ) -> Result<(), ListenError> {
        let socket = self.socket.clone();
        let broke = |place: String| {
            move |error: tonic::transport::Error| {
                ListenError::Io(place, std::io::Error::other(words_of(&error)))
            }
        };
        let unix = router(Server::builder(), service.clone(), None).serve_with_incoming_shutdown(
            UnixListenerStream::new(self.unix),
            stopping.clone().cancelled_owned(),
        );
        let tcp = async {
            let Some(tcp) = self.tcp else {
                return Ok(());
            };
            router(tcp.server, service, tcp.token)
                .serve_with_incoming_shutdown(
                    TcpListenerStream::new(tcp.listener),
                    stopping.clone().cancelled_owned(),
                )
                .await
                .map_err(broke(tcp.address.to_string()))
        };
        let unix = async { unix.await.map_err(broke(socket.display().to_string())) };
        let patience = async {
            stopping.cancelled().await;
            tokio::time::sleep(STOP_GRACE).await;
        };
        let served = tokio::select! {
            served = async { tokio::try_join!(unix, tcp) } => served.map(|_| ()),
            () = patience => Ok(()),
        };
        // Gone already is as good.
        let _ = fs::remove_file(&self.socket);
        served
    }
}

async fn bind_unix(socket: &Path) -> Result<UnixListener, ListenError> {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};

    let length = socket.as_os_str().len();
    if length > SOCKET_PATH_BYTES_MAX {
        return Err(ListenError::SocketPath(socket.to_path_buf(), length));
    }
    let io = |error| ListenError::Io(socket.display().to_string(), error);
    match fs::symlink_metadata(socket) {
        Ok(metadata) if !metadata.file_type().is_socket() => {
            return Err(ListenError::NoSocket(socket.to_path_buf()));
        }
        Ok(_) => {
            if UnixStream::connect(socket).await.is_ok() {
                return Err(ListenError::SocketInUse(socket.to_path_buf()));
            }
            // Nobody answers: it was left by a daemon that was killed.
            fs::remove_file(socket).map_err(io)?;
        }
        Err(_) => {}
    }
    let listener = UnixListener::bind(socket).map_err(io)?;
    fs::set_permissions(socket, fs::Permissions::from_mode(0o600)).map_err(io)?;
    Ok(listener)
}

async fn bind_tcp(options: TcpOptions) -> Result<Tcp, ListenError> {
    let TcpOptions {
        address,
        tls,
        token,
    } = options;
    let safe = tls.is_some() && token.is_some();
    if !address.ip().is_loopback() && !safe {
        return Err(ListenError::Open(address));
    }
    let server = with_tls(Server::builder(), tls.as_ref())?;
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| ListenError::Io(address.to_string(), error))?;
    Ok(Tcp {
        listener,
        server,
        address,
        token,
    })
}

fn with_tls(server: Server, files: Option<&TlsFiles>) -> Result<Server, ListenError> {
    let Some(files) = files else {
        return Ok(server);
    };
    let failed = |error: String| ListenError::Tls {
        certificate: files.certificate.clone(),
        key: files.key.clone(),
        error,
    };
    let read = |path: &Path| {
        fs::read(path).map_err(|error| failed(format!("{}: {error}", path.display())))
    };
    let identity = Identity::from_pem(read(&files.certificate)?, read(&files.key)?);
    server
        .tls_config(ServerTlsConfig::new().identity(identity))
        .map_err(|error| failed(words_of(&error)))
}

fn router<S: Source, C: Clock>(
    mut server: Server,
    service: CrawlerService<S, C>,
    token: Option<Token>,
) -> Router {
    let guard = Guard(token);
    let (reporter, health) = tonic_health::server::health_reporter();
    let crawler = CrawlerServer::new(service).max_decoding_message_size(MESSAGE_BYTES_MAX);
    let crawler = InterceptedService::new(crawler, guard);
    tokio::spawn(async move {
        reporter
            .set_service_status(
                "apprentice.v1.Crawler",
                tonic_health::ServingStatus::Serving,
            )
            .await;
    });
    let descriptors = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let mut router = server.add_service(health).add_service(crawler);
    // Both versions are asked for: the older one by grpcio's own client.
    if let (Ok(v1), Ok(v1alpha)) = (descriptors().build_v1(), descriptors().build_v1alpha()) {
        router = router.add_service(v1).add_service(v1alpha);
    }
    router
}

/// An error with its causes; tonic's own words are only "transport error".
fn words_of(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}
