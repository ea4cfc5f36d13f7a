//! The one spelling of a URL.

use std::fmt;

use super::{HostKey, UrlId};

/// The longest URL that is taken, in bytes; what is longer is a trap or a mistake.
pub(super) const URL_BYTES_MAX: usize = 2048;

/// An absolute `http` or `https` URL in canonical spelling.
///
/// Canonical means: parsed and written again by the WHATWG rules, without fragment, user name and
/// password. Parsing a canonical URL gives the same URL again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonicalUrl(String);

/// Why a text is no URL that can be crawled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Not parseable by the WHATWG rules.
    #[error("not a URL: {0}")]
    Syntax(#[from] ::url::ParseError),
    /// A scheme other than http and https.
    #[error("scheme {0:?} is not crawled; use http or https")]
    Scheme(String),
    /// Longer than 2,048 bytes.
    #[error("URL of {0} bytes; at most {URL_BYTES_MAX} are taken")]
    TooLong(usize),
    /// No host.
    #[error("URL without a host")]
    NoHost,
}

impl CanonicalUrl {
    /// Parses an absolute URL.
    ///
    /// # Errors
    /// [`UrlError`] says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        Self::from_url(::url::Url::parse(text.trim())?)
    }

    /// Resolves `href` as found on a page whose base URL is `base`.
    ///
    /// # Errors
    /// [`UrlError`], also for the schemes that are not crawled (`mailto:`, `javascript:` ...).
    pub fn resolve(base: &::url::Url, href: &str) -> Result<Self, UrlError> {
        let href = href.trim_matches(|c: char| c.is_ascii_control() || c == ' ');
        match base.join(href) {
            // url 2.5 refuses `///host/x` where the standard goes to `//host/x`.
            Err(::url::ParseError::EmptyHost) if href.starts_with("//") => {
                let host = href.trim_start_matches('/');
                Self::from_url(base.join(&format!("//{host}"))?)
            }
            other => Self::from_url(other?),
        }
    }

    fn from_url(mut url: ::url::Url) -> Result<Self, UrlError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(UrlError::Scheme(url.scheme().to_owned()));
        }
        if url
            .host_str()
            .is_none_or(|host| host.trim_matches('.').is_empty())
        {
            return Err(UrlError::NoHost);
        }
        url.set_fragment(None);
        // Both fail only for URLs without a host, which were refused above.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let text = String::from(url);
        if text.len() > URL_BYTES_MAX {
            return Err(UrlError::TooLong(text.len()));
        }
        Ok(Self(text))
    }

    /// A URL that this crate wrote into a store; the text is taken as it is.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The URL as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its fingerprint.
    pub fn id(&self) -> UrlId {
        UrlId::of(&self.0)
    }

    /// The URL taken apart again.
    ///
    /// # Errors
    /// Only for a stored text that was damaged.
    pub fn to_url(&self) -> Result<::url::Url, UrlError> {
        Ok(::url::Url::parse(&self.0)?)
    }

    /// The authority that politeness is owed to.
    pub fn host_key(&self) -> HostKey {
        match ::url::Url::parse(&self.0) {
            Ok(url) => HostKey::of(&url),
            Err(_) => HostKey::from_stored(""),
        }
    }
}

impl fmt::Display for CanonicalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
