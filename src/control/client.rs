//! The client of the service: what the command line speaks through.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

use super::auth::{Bearer, Token};
use crate::proto::v1::crawler_client::CrawlerClient;

/// A connection to a daemon.
pub type Client = CrawlerClient<InterceptedService<Channel, BearerToken>>;

/// Adds the token, if there is one, to each call.
#[derive(Clone, Debug)]
pub struct BearerToken(Bearer);

impl tonic::service::Interceptor for BearerToken {
    fn call(&mut self, request: tonic::Request<()>) -> Result<tonic::Request<()>, tonic::Status> {
        self.0.call(request)
    }
}

/// Where a daemon is reached.
#[derive(Clone, Debug)]
pub enum Address {
    /// Its Unix socket.
    Socket(PathBuf),
    /// `http://127.0.0.1:PORT` or `https://HOST:PORT`.
    Tcp {
        /// The URL.
        url: String,
        /// PEM of the authority that signed the daemon's certificate, if it is not a public one.
        authority: Option<Vec<u8>>,
        /// The token.
        token: Option<Token>,
    },
}

/// Why no daemon can be spoken to.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nobody listens.
    #[error("no daemon answers at {place}: {error}; {hint}")]
    Nobody {
        /// Where.
        place: String,
        /// What the system says.
        error: String,
        /// What to do.
        hint: &'static str,
    },
    /// Somebody listens, but no TLS session comes about.
    #[error("no TLS with {place}: {error}; {hint}")]
    Tls {
        /// Where.
        place: String,
        /// What the TLS library says.
        error: String,
        /// What to do.
        hint: &'static str,
    },
    /// The address cannot be used.
    #[error("daemon address {0:?}: {1}")]
    Address(String, String),
}

/// Connects.
///
/// # Errors
/// [`ConnectError`] names the place and says what to do.
pub async fn connect(address: &Address) -> Result<Client, ConnectError> {
    let (channel, token) = match address {
        Address::Socket(path) => (connect_socket(path).await?, None),
        Address::Tcp {
            url,
            authority,
            token,
        } => (connect_tcp(url, authority.as_deref()).await?, token.clone()),
    };
    let client = CrawlerClient::with_interceptor(channel, BearerToken(Bearer(token)));
    Ok(client.max_decoding_message_size(64 << 20))
}

async fn connect_socket(path: &Path) -> Result<Channel, ConnectError> {
    let place = path.display().to_string();
    let nobody = |error: String| ConnectError::Nobody {
        place: place.clone(),
        error,
        hint: "start one with `apprentice daemon`, or name its place with --data or --socket",
    };
    // Asked of the system first: its words are better than the transport's.
    tokio::net::UnixStream::connect(path)
        .await
        .map_err(|error| nobody(error.to_string()))?;
    let endpoint = Endpoint::from_shared(format!("unix://{place}"))
        .map_err(|error| ConnectError::Address(place.clone(), error.to_string()))?;
    endpoint
        .connect()
        .await
        .map_err(|error| nobody(words(&error)))
}

async fn connect_tcp(url: &str, authority: Option<&[u8]>) -> Result<Channel, ConnectError> {
    let wrong = |error: String| ConnectError::Address(url.to_owned(), error);
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(wrong(
            "give http://127.0.0.1:PORT or https://HOST:PORT".to_owned(),
        ));
    }
    let mut endpoint = Endpoint::from_shared(url.to_owned())
        .map_err(|error| wrong(words(&error)))?
        .connect_timeout(Duration::from_secs(10));
    if url.starts_with("https://") {
        let mut tls = ClientTlsConfig::new();
        if let Some(pem) = authority {
            tls = tls.ca_certificate(Certificate::from_pem(pem));
        }
        endpoint = endpoint
            .tls_config(tls)
            .map_err(|error| wrong(words(&error)))?;
    }
    endpoint
        .connect()
        .await
        .map_err(|error| refused(url, words(&error)))
}

/// What a connection that failed is called: the TLS library's words tell that somebody did answer.
fn refused(url: &str, error: String) -> ConnectError {
    let place = url.to_owned();
    let hint = if error.contains("CaUsedAsEndEntity") {
        "the daemon's certificate is an authority's; make it with `-addext basicConstraints=critical,CA:FALSE`"
    } else if error.contains("certificate") {
        "name the certificate that the daemon was given, or its authority's, with --ca-file"
    } else if error.contains("corrupt message") {
        "that port speaks plain HTTP: use --daemon http://.."
    } else {
        return ConnectError::Nobody {
            place,
            error,
            hint: "start one with `apprentice daemon --tcp ADDR:PORT`, or check --daemon",
        };
    };
    ConnectError::Tls { place, error, hint }
}

fn words(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_answers_without_tls_to_take_is_not_called_absent() {
        let words = |error: &str| refused("https://h:1", error.to_owned()).to_string();
        assert!(
            words("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))")
                .contains("CA:FALSE")
        );
        assert!(words("invalid peer certificate: UnknownIssuer").contains("--ca-file"));
        assert!(words("received corrupt message of type InvalidContentType").contains("http://"));
        assert!(words("Connection refused (os error 111)").contains("no daemon answers"));
    }
}
