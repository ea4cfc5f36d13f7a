//! The handshake with a SOCKS5 proxy (RFC 1928, RFC 1929), which resolves names itself.
//!
//! hyper-util has one too, but keeps its errors to itself: whether the proxy or the site failed could
//! not be told.

use std::io;
use std::net::IpAddr;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::proxy::SocksLogin;

const VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const LOGIN: u8 = 2;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// Why there is no tunnel.
#[derive(Debug)]
pub(super) enum SocksFailure {
    /// The proxy does not do what it should.
    Proxy(String),
    /// The proxy cannot reach the site.
    Site(&'static str),
}

impl From<io::Error> for SocksFailure {
    fn from(error: io::Error) -> Self {
        Self::Proxy(error.to_string())
    }
}

/// Asks the proxy at the other end of `stream` for a tunnel to `host` (an address or a name) at `port`.
pub(super) async fn open_tunnel(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    login: &SocksLogin,
    host: &str,
    port: u16,
) -> Result<(), SocksFailure> {
    log_in(stream, login).await?;
    let mut request = vec![VERSION, CONNECT, 0];
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse() {
        Ok(IpAddr::V4(address)) => {
            request.push(IPV4);
            request.extend(address.octets());
        }
        Ok(IpAddr::V6(address)) => {
            request.push(IPV6);
            request.extend(address.octets());
        }
        Err(_) => {
            request.push(NAME);
            push_text(&mut request, host)?;
        }
    }
    request.extend(port.to_be_bytes());
    stream.write_all(&request).await?;
    read_reply(stream).await
}

async fn log_in(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    login: &SocksLogin,
) -> Result<(), SocksFailure> {
    let method = if login.0.is_some() { LOGIN } else { NO_LOGIN };
    stream.write_all(&[VERSION, 1, method]).await?;
    let mut chosen = [0; 2];
    stream.read_exact(&mut chosen).await?;
    if chosen[0] != VERSION {
        return Err(SocksFailure::Proxy("it does not speak SOCKS5".to_owned()));
    }
    if chosen[1] != method {
        let wants = "it wants another login; give user and password in its URL as socks5://user:password@host";
        return Err(SocksFailure::Proxy(wants.to_owned()));
    }
    let Some((user, password)) = &login.0 else {
        return Ok(());
    };
    let mut request = vec![1];
    push_text(&mut request, user)?;
    push_text(&mut request, password)?;
    stream.write_all(&request).await?;
    let mut answer = [0; 2];
    stream.read_exact(&mut answer).await?;
    if answer[1] != 0 {
        let refused = "it refuses the user and password in its URL";
        return Err(SocksFailure::Proxy(refused.to_owned()));
    }
    Ok(())
}

/// Reads the reply to the end, after which the tunnel begins.
async fn read_reply(stream: &mut (impl AsyncRead + Unpin)) -> Result<(), SocksFailure> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    if head[0] != VERSION {
        return Err(SocksFailure::Proxy("it does not speak SOCKS5".to_owned()));
    }
    let refusal = match head[1] {
        0 => None,
        2 => Some("the connection is not allowed by its rules"),
        3 => Some("the network is unreachable"),
        4 => Some("the host is unreachable"),
        5 => Some("the connection was refused"),
        6 => Some("the time to live expired"),
        8 => Some("the kind of address is not supported"),
        code => {
            let words = format!("it fails with code {code}");
            return Err(SocksFailure::Proxy(words));
        }
    };
    if let Some(refusal) = refusal {
        return Err(SocksFailure::Site(refusal));
    }
    // The address that the proxy connected from: nobody needs it.
    let length = match head[3] {
        IPV4 => 4,
        IPV6 => 16,
        NAME => usize::from(stream.read_u8().await?),
        kind => {
            return Err(SocksFailure::Proxy(format!(
                "it names an address of kind {kind}"
            )));
        }
    };
    let mut rest = vec![0; length + 2];
    stream.read_exact(&mut rest).await?;
    Ok(())
}

fn push_text(request: &mut Vec<u8>, text: &str) -> Result<(), SocksFailure> {
    let length = u8::try_from(text.len())
        .map_err(|_| SocksFailure::Site("the name of the host is too long for SOCKS5"))?;
    request.push(length);
    request.extend(text.as_bytes());
    Ok(())
}
