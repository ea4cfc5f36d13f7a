//! What a robots.txt holds for.

use std::fmt;

use crate::url::{CanonicalUrl, UrlError};

/// Scheme, host and port: what one robots.txt holds for (RFC 9309, 2.3). Unlike a
/// [`crate::url::HostKey`] it keeps http and https apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin(String);

impl Origin {
    /// The origin of a URL.
    pub fn of(url: &CanonicalUrl) -> Self {
        // Only a URL damaged in a store cannot be parsed; it shares an origin that has no file.
        Self(
            url.to_url()
                .map_or_else(|_| String::new(), |url| url.origin().ascii_serialization()),
        )
    }

    /// An origin as [`as_str`](Self::as_str) wrote it.
    pub(super) fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The URL of its robots.txt.
    ///
    /// # Errors
    /// Only for the origin of a URL that was damaged in a store.
    pub fn robots_url(&self) -> Result<CanonicalUrl, UrlError> {
        CanonicalUrl::parse(&format!("{}/robots.txt", self.0))
    }

    /// `scheme://host` or `scheme://host:port`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let origin = |text: &str| Origin::of(&CanonicalUrl::parse(text).unwrap());
        assert_eq!(origin("http://H.test:80/a?b"), origin("http://h.test/"));
        assert_ne!(origin("http://h.test/"), origin("https://h.test/"));
        assert_ne!(origin("http://h.test/"), origin("http://h.test:8080/"));
        let robots = origin("https://h.test:8443/a/b").robots_url().unwrap();
        assert_eq!(robots.as_str(), "https://h.test:8443/robots.txt");
        assert!(
            Origin::of(&CanonicalUrl::from_stored("torn".into()))
                .robots_url()
                .is_err()
        );
    }
}
