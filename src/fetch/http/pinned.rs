//! Hosts whose addresses somebody states, past every resolver.

use std::net::IpAddr;
use std::str::FromStr;

use hyper::Uri;

/// A host at a port, and the addresses that it is to be looked for at: what `--resolve` says, in the
/// spelling of curl, `HOST:PORT:ADDR[,ADDR]...`; an IPv6 address stands in brackets or not.
///
/// The addresses are held against the guard as any others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedHost {
    host: String,
    port: u16,
    addresses: Vec<IpAddr>,
}

/// Why a text pins no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no HOST:PORT:ADDR[,ADDR]...: {problem}; write it like www.example.org:443:192.0.2.7"
)]
pub struct PinnedHostError {
    text: String,
    problem: String,
}

impl FromStr for PinnedHost {
    type Err = PinnedHostError;

    fn from_str(text: &str) -> Result<Self, PinnedHostError> {
        let wrong = |problem: String| PinnedHostError {
            text: text.to_owned(),
            problem,
        };
        // A host in brackets is an address already, and needs no other.
        let mut parts = text.splitn(3, ':');
        let (Some(host), Some(port), Some(addresses)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong("a part is missing".to_owned()));
        };
        // By the rules that URLs are read by, so that the two are spelt alike.
        let parsed = ::url::Host::parse(host.trim_end_matches('.'));
        let Ok(::url::Host::Domain(host)) = parsed else {
            return Err(wrong(format!("{host:?} is no name of a host")));
        };
        let port: u16 = port
            .parse()
            .map_err(|_| wrong(format!("{port:?} is no port")))?;
        let addresses = addresses.split(',').map(|address| {
            let bare = address
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'));
            let parsed = bare.unwrap_or(address).parse();
            parsed.map_err(|_| wrong(format!("{address:?} is no IP address")))
        });
        Ok(Self {
            host,
            port,
            addresses: addresses.collect::<Result<_, _>>()?,
        })
    }
}

impl PinnedHost {
    /// The same place with each address for its host; `None` if it is another place.
    pub(super) fn ways_to(&self, site: &Uri) -> Option<Vec<Uri>> {
        let addresses = self.addresses_of(site)?;
        let scheme = site.scheme_str().unwrap_or("http");
        let way = |address: &IpAddr| {
            let socket = std::net::SocketAddr::new(*address, self.port);
            format!("{scheme}://{socket}/").parse().ok()
        };
        Some(addresses.iter().filter_map(way).collect())
    }

    /// The addresses of this place; `None` if it is another place.
    pub(super) fn addresses_of(&self, site: &Uri) -> Option<&[IpAddr]> {
        let usual = if site.scheme_str() == Some("https") {
            443
        } else {
            80
        };
        let port = site.port_u16().unwrap_or(usual);
        let host = site.host()?.trim_end_matches('.');
        if port != self.port || !host.eq_ignore_ascii_case(&self.host) {
            return None;
        }
        Some(&self.addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways(pinned: &str, site: &str) -> Option<Vec<String>> {
        let pinned: PinnedHost = pinned.parse().unwrap();
        let ways = pinned.ways_to(&site.parse().unwrap())?;
        Some(ways.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_pinned_host_is_looked_for_at_its_addresses() {
        let both = "WWW.h.test:443:192.0.2.1,[2001:db8::1],2001:db8::2";
        let expected = [
            "https://192.0.2.1:443/",
            "https://[2001:db8::1]:443/",
            "https://[2001:db8::2]:443/",
        ];
        let found = ways(both, "https://www.h.test/a").unwrap();
        assert_eq!(found, expected);
        assert_eq!(ways(both, "https://www.h.test.:443/a").unwrap(), expected);
        for elsewhere in [
            "http://www.h.test/",
            "https://h.test/",
            "https://www.h.test:8443/",
        ] {
            assert_eq!(ways(both, elsewhere), None, "{elsewhere}");
        }
        let plain = ways("h.test:80:192.0.2.1", "http://h.test/").unwrap();
        assert_eq!(plain, ["http://192.0.2.1:80/"]);
    }

    #[test]
    fn a_wrong_text_is_named_with_what_would_be_right() {
        for (text, problem) in [
            ("h.test", "missing"),
            ("h.test:80", "missing"),
            ("h.test:x:192.0.2.1", "\"x\" is no port"),
            ("h.test:99999:192.0.2.1", "no port"),
            ("h.test:80:example.org", "no IP address"),
            ("h.test:80:", "no IP address"),
            ("192.0.2.1:80:192.0.2.2", "no name of a host"),
            (":80:192.0.2.2", "no name of a host"),
        ] {
            let error = text.parse::<PinnedHost>().unwrap_err().to_string();
            assert!(
                error.contains(problem) && error.contains(":443:"),
                "{error}"
            );
        }
    }
}
