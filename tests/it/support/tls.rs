//! A TLS site on loopback, with an authority of its own.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A running TLS site. Its pages tell the protocol and the authority they were asked under.
pub(crate) struct TlsSite {
    pub(crate) address: SocketAddr,
    /// The certificate of its authority.
    pub(crate) authority_pem: String,
}

impl TlsSite {
    /// A site with a certificate for `name` that speaks the given protocols (`h2`, `http/1.1`).
    pub(crate) async fn start(name: &str, protocols: &[&str]) -> Self {
        Self::start_as(name, protocols, Manner::Well).await
    }

    /// The same in another manner.
    pub(crate) async fn start_as(name: &str, protocols: &[&str], manner: Manner) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        if manner == Manner::Expired {
            params.not_before = rcgen::date_time_ymd(2000, 1, 1);
            params.not_after = rcgen::date_time_ymd(2001, 1, 1);
        }
        let certificate = match manner {
            Manner::SelfSigned => params.self_signed(&key).unwrap(),
            _ => params.signed_by(&key, &authority).unwrap(),
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from(certificate)],
                PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            )
            .unwrap();
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(acceptor.clone(), stream, manner));
            }
        });
        Self {
            address,
            authority_pem: authority.pem(),
        }
    }
}

/// How a site goes about TLS and HTTP/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Well,
    /// With a certificate of the year 2000.
    Expired,
    /// With a certificate that no authority has signed.
    SelfSigned,
    /// Resets the stream of every HTTP/2 request (RFC 9113, 6.4).
    Reset,
    /// Goes away at every HTTP/2 request (RFC 9113, 6.8).
    GoAway,
}

/// Answers the first HTTP/2 request of a connection with `frame`.
async fn misbehave(mut stream: TlsStream<TcpStream>, frame: &[u8]) -> std::io::Result<()> {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await?;
    // No settings but the usual ones.
    stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await?;
    stream.flush().await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload).await?;
        // HEADERS
        if head[3] == 1 {
            let mut frame = frame.to_vec();
            // A reset concerns the stream of the request, going away all of them.
            if frame[3] == 3 {
                frame[5..9].copy_from_slice(&head[5..9]);
            }
            stream.write_all(&frame).await?;
            stream.flush().await?;
        }
    }
}

async fn serve(acceptor: TlsAcceptor, stream: TcpStream, manner: Manner) {
    // A client that does not trust the certificate ends the handshake.
    let Ok(stream) = acceptor.accept(stream).await else {
        return;
    };
    // RST_STREAM and GOAWAY, both with the code ENHANCE_YOUR_CALM.
    let frame: &[u8] = match manner {
        Manner::Reset => &[0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0, 11],
        Manner::GoAway => &[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11],
        Manner::Well | Manner::Expired | Manner::SelfSigned => &[],
    };
    if !frame.is_empty() {
        // It ends when the client has had enough.
        let _ = misbehave(stream, frame).await;
        return;
    }
    let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let io = TokioIo::new(stream);
    let served = if h2 {
        hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(io, service_fn(page))
            .await
    } else {
        hyper::server::conn::http1::Builder::new()
            .serve_connection(io, service_fn(page))
            .await
    };
    // The client closes when it has what it wants, in the middle or not.
    let _ = served;
}

async fn page(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let text = format!(
        "{:?} {} proxy-authorization: {}",
        request.version(),
        request.uri(),
        request.headers().contains_key("proxy-authorization"),
    );
    let mut response = Response::new(Full::new(Bytes::from(text)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, "text/html".parse().unwrap());
    Ok(response)
}
