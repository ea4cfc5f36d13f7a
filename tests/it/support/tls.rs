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
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A running TLS site. Its pages tell the protocol and the authority they were asked under.
pub(crate) struct TlsSite {
    pub(crate) address: SocketAddr,
    /// The certificate of its authority.
    pub(crate) authority_pem: String,
}

impl TlsSite {
    /// A site with a certificate for `name` that speaks the given protocols (`h2`, `http/1.1`).
    pub(crate) async fn start(name: &str, protocols: &[&str]) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![name.to_owned()])
            .unwrap()
            .signed_by(&key, &authority)
            .unwrap();
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
                tokio::spawn(serve(acceptor.clone(), stream));
            }
        });
        Self {
            address,
            authority_pem: authority.pem(),
        }
    }
}

async fn serve(acceptor: TlsAcceptor, stream: TcpStream) {
    // A client that does not trust the certificate ends the handshake.
    let Ok(stream) = acceptor.accept(stream).await else {
        return;
    };
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
