//! Which proxy, and how it is spoken to.

use std::fmt;
use std::str::FromStr;

use data_encoding::BASE64;
use hyper::Uri;
use hyper::header::HeaderValue;

/// Whether requests go to the sites themselves or to a proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProxyMode {
    /// To the sites.
    #[default]
    Direct,
    /// To a forward proxy: absolute-form requests for http, a CONNECT tunnel for https; a tunnel for
    /// both if it speaks SOCKS5.
    Forward(ProxyUrl),
    /// To a proxy that serves an archive: absolute-form requests for both schemes, so that no
    /// certificates are needed. It has to stand on this machine: https pages travel in the clear.
    Archive(ProxyUrl),
}

/// The URL of a proxy, `http://[user:password@]host[:port]`, or `socks5://` for one that speaks SOCKS5
/// (RFC 1928, names are resolved by the proxy; `socks5h` says the same).
///
/// User and password are kept out of every text that it can be turned into.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyUrl {
    uri: Uri,
    credentials: Option<HeaderValue>,
    /// For a proxy that speaks SOCKS5.
    socks: Option<SocksLogin>,
}

/// User name and password for a SOCKS5 proxy (RFC 1929), if it wants them.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct SocksLogin(pub(super) Option<(String, String)>);

/// Why a text is no URL of a proxy. The text is not repeated: it may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyUrlError {
    /// Not a URL.
    #[error("the proxy's URL is no URL ({0}); write it like http://127.0.0.1:3128")]
    Syntax(#[from] ::url::ParseError),
    /// Another scheme than http or socks5.
    #[error(
        "a proxy is spoken to over http or socks5, not {0:?}; write its URL like http://127.0.0.1:3128 or socks5://127.0.0.1:1080"
    )]
    Scheme(String),
    /// A user name or password that SOCKS5 cannot carry.
    #[error("user name and password of a SOCKS5 proxy are UTF-8 of at most 255 bytes each")]
    Login,
    /// A SOCKS5 proxy where an archive proxy is wanted.
    #[error("an archive proxy is spoken to over http; write its URL like http://127.0.0.1:8080")]
    ArchiveScheme,
    /// A path, query or fragment.
    #[error("the proxy's URL names more than a host and a port")]
    Path,
    /// A host that cannot be sent in a request.
    #[error("the proxy's host cannot be used in a request")]
    Host,
    /// An archive proxy on another machine.
    #[error("the archive proxy {0} is not on this machine; only loopback addresses are taken")]
    NotLoopback(String),
}

impl FromStr for ProxyUrl {
    type Err = ProxyUrlError;

    fn from_str(text: &str) -> Result<Self, ProxyUrlError> {
        let url = ::url::Url::parse(text.trim())?;
        let is_socks = match url.scheme() {
            "http" => false,
            "socks5" | "socks5h" => true,
            other => return Err(ProxyUrlError::Scheme(other.to_owned())),
        };
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(ProxyUrlError::Path);
        }
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or(ProxyUrlError::Host)?;
        let usual = if is_socks { 1080 } else { 80 };
        let port = url.port_or_known_default().unwrap_or(usual);
        let uri = format!("http://{host}:{port}/")
            .parse()
            .map_err(|_| ProxyUrlError::Host)?;
        Ok(Self {
            uri,
            credentials: credentials(&url).filter(|_| !is_socks),
            socks: is_socks.then(|| socks_login(&url)).transpose()?,
        })
    }
}

impl ProxyUrl {
    /// The proxy's own address, without credentials.
    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The Proxy-Authorization header (RFC 7617), marked as sensitive.
    pub(super) fn credentials(&self) -> Option<&HeaderValue> {
        self.credentials.as_ref()
    }

    /// What to log in with, if the proxy speaks SOCKS5.
    pub(super) fn socks(&self) -> Option<&SocksLogin> {
        self.socks.as_ref()
    }

    /// Makes sure that the proxy stands on this machine; a name is judged again when it is resolved.
    ///
    /// # Errors
    /// [`ProxyUrlError::NotLoopback`] names the proxy.
    pub(super) fn require_loopback(&self) -> Result<(), ProxyUrlError> {
        if self.socks.is_some() {
            return Err(ProxyUrlError::ArchiveScheme);
        }
        let host = self.uri.host().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let local = match bare.parse::<std::net::IpAddr>() {
            Ok(address) => address.to_canonical().is_loopback(),
            Err(_) => bare == "localhost",
        };
        if local {
            Ok(())
        } else {
            Err(ProxyUrlError::NotLoopback(host.to_owned()))
        }
    }
}

fn credentials(url: &::url::Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let mut pair = percent_decoded(url.username());
    pair.push(b':');
    pair.extend(percent_decoded(url.password().unwrap_or_default()));
    let mut value = HeaderValue::from_str(&format!("Basic {}", BASE64.encode(&pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn socks_login(url: &::url::Url) -> Result<SocksLogin, ProxyUrlError> {
    if url.username().is_empty() && url.password().is_none() {
        return Ok(SocksLogin(None));
    }
    let part = |text: &str| {
        let text = String::from_utf8(percent_decoded(text)).ok();
        text.filter(|text| text.len() <= 255)
            .ok_or(ProxyUrlError::Login)
    };
    let user = part(url.username())?;
    let password = part(url.password().unwrap_or_default())?;
    Ok(SocksLogin(Some((user, password))))
}

/// The bytes of a user name or password as the person meant them.
fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let hex = |byte: u8| char::from(byte).to_digit(16);
        let octet = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high)
                .zip(hex(*low))
                .and_then(|(high, low)| u8::try_from(high * 16 + low).ok()),
            _ => None,
        };
        bytes.push(octet.unwrap_or(*first));
        rest = tail
            .get(if octet.is_some() { 2 } else { 0 }..)
            .unwrap_or_default();
    }
    bytes
}

impl fmt::Display for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.uri.authority() {
            Some(authority) if self.socks.is_some() => write!(f, "socks5://{authority}"),
            Some(authority) => write!(f, "http://{authority}"),
            None => f.write_str("http://"),
        }
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProxyUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_become_a_header_and_appear_nowhere_else() {
        // RFC 7617, section 2: "Aladdin" and "open sesame".
        let proxy: ProxyUrl = "http://Aladdin:open%20sesame@proxy.test:3128"
            .parse()
            .unwrap();
        assert_eq!(
            proxy.credentials().unwrap(),
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
        );
        let shown = format!("{proxy} {proxy:?} {:?}", ProxyMode::Forward(proxy.clone()));
        assert!(shown.contains("http://proxy.test:3128"), "{shown}");
        for secret in ["Aladdin", "sesame", "QWxh"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }

    #[test]
    fn a_wrong_url_is_refused_without_repeating_it() {
        for wrong in [
            "secret",
            "https://u:secret@p.test/",
            "socks4://u:secret@p.test",
            "socks5://u:secret@p.test/path",
            "socks5://u:secret@",
            "http://u:secret@p.test/path",
            "http://u:secret@p.test:99999",
            "http://u:secret@",
        ] {
            let error = wrong.parse::<ProxyUrl>().unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn an_archive_proxy_stands_on_this_machine() {
        let check = |text: &str| text.parse::<ProxyUrl>().unwrap().require_loopback();
        for local in [
            "http://127.0.0.1:8080",
            "http://[::1]:8080",
            "http://localhost:1",
        ] {
            assert_eq!(check(local), Ok(()), "{local}");
        }
        for remote in [
            "http://10.0.0.1:8080",
            "http://archive.test",
            "http://[2001:db8::1]",
        ] {
            assert!(check(remote).is_err(), "{remote}");
        }
    }

    #[test]
    fn a_socks_proxy_has_its_port_and_keeps_its_password() {
        let proxy: ProxyUrl = "socks5h://me:open%20sesame@proxy.test".parse().unwrap();
        let login = proxy.socks().unwrap().0.clone().unwrap();
        assert_eq!(login, ("me".to_owned(), "open sesame".to_owned()));
        assert_eq!(
            format!("{proxy} {:?}", proxy.credentials()),
            "socks5://proxy.test:1080 None"
        );
        let long = format!("socks5://{}:x@p.test", "u".repeat(256));
        assert_eq!(long.parse::<ProxyUrl>(), Err(ProxyUrlError::Login));
        let local: ProxyUrl = "socks5://127.0.0.1".parse().unwrap();
        let refused = local.require_loopback();
        assert_eq!(refused, Err(ProxyUrlError::ArchiveScheme));
    }

    #[test]
    fn percent_signs_that_encode_nothing_stay() {
        assert_eq!(percent_decoded("a%zz%4"), b"a%zz%4");
        assert_eq!(percent_decoded("%41%2f%"), b"A/%");
    }
}
