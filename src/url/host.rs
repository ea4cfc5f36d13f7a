//! The authority that politeness is owed to.

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// A host with its port, as the calendar knows it: lower case, ASCII (IDNA), no trailing dot, the
/// port only where it is not the scheme's own.
///
/// `http` and `https` of one host share a key: they are one server to be polite to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostKey(Arc<str>);

impl HostKey {
    /// The key of a canonical URL, read off its text: `scheme://host[:port]/..` without credentials.
    pub(super) fn of_canonical(text: &str) -> Self {
        let rest = text.split_once("://").map_or("", |(_, rest)| rest);
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let authority = &rest[..end];
        let (host, port) = split_port(authority);
        let trimmed = host.trim_end_matches('.');
        if trimmed.len() == host.len() {
            return Self(authority.into());
        }
        match port {
            Some(port) => Self(format!("{trimmed}:{port}").into()),
            None => Self(trimmed.into()),
        }
    }

    #[cfg(test)]
    pub(super) fn of(url: &::url::Url) -> Self {
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        match url.port() {
            Some(port) => Self(format!("{host}:{port}").into()),
            None => Self(host.into()),
        }
    }

    /// A key that was stored; the text is taken as it is.
    pub fn from_stored(text: &str) -> Self {
        Self(text.into())
    }

    /// `host` or `host:port`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The host without the port; an IPv6 address keeps its brackets.
    pub fn host(&self) -> &str {
        split_port(&self.0).0
    }
}

/// The domain that somebody registered (`ics.uci.edu` gives `uci.edu`), by the public suffix list.
///
/// An IP address, a name of one label and a public suffix have none above them: they stand for
/// themselves. The port is left out.
pub fn registrable_domain(key: &HostKey) -> &str {
    let host = key.host();
    // The list would call `0.1` the domain of 10.0.0.1.
    if host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok() {
        return host;
    }
    psl::domain_str(host).unwrap_or(host)
}

/// `host:port` in two; the colons of an IPv6 address stand within brackets.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

impl fmt::Display for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::CanonicalUrl;

    fn key(url: &str) -> HostKey {
        CanonicalUrl::parse(url).unwrap().host_key()
    }

    #[test]
    fn one_server_has_one_key() {
        for (url, expected) in [
            ("http://H.test/x", "h.test"),
            ("https://h.test", "h.test"),
            ("http://h.test./", "h.test"),
            ("http://h.test.:8080/", "h.test:8080"),
            ("http://h.test:8080?x:1", "h.test:8080"),
            ("http://h.test:80/", "h.test"),
            ("https://u:p@h.test/", "h.test"),
            ("http://[::1]/", "[::1]"),
            ("http://[::1]:81/", "[::1]:81"),
            ("http://127.1/", "127.0.0.1"),
        ] {
            assert_eq!(key(url).as_str(), expected, "{url}");
        }
    }

    #[test]
    fn a_damaged_url_has_some_key() {
        for text in ["", "http", "://", "http://", "http://:", "//h:1:2]"] {
            let _ = HostKey::of_canonical(text);
        }
        assert_eq!(HostKey::of_canonical("no url").as_str(), "");
    }

    #[test]
    fn the_registrable_domain_is_one_label_above_the_public_suffix() {
        for (url, expected) in [
            ("http://www.ics.uci.edu:8080/", "uci.edu"),
            ("http://a.b.example.co.uk/", "example.co.uk"),
            ("http://uci.edu/", "uci.edu"),
            ("http://co.uk/", "co.uk"),
            ("http://localhost:1/", "localhost"),
            ("http://10.0.0.1/", "10.0.0.1"),
            ("http://[2001:db8::1]:8080/", "[2001:db8::1]"),
            ("http://someone.github.io/", "someone.github.io"),
        ] {
            assert_eq!(registrable_domain(&key(url)), expected, "{url}");
        }
    }
}
