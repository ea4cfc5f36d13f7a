//! The one spelling of a URL.

use std::fmt;

use super::{HostKey, UrlId};

/// The longest URL that is taken, in bytes; what is longer is a trap or a mistake.
pub(super) const URL_BYTES_MAX: usize = 2048;

/// The longest `href` that is looked at, in bytes: white space in it does not count for the URL, but
/// a megabyte of `data:` is not worth the parsing.
const HREF_BYTES_MAX: usize = 8 * URL_BYTES_MAX;

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
        if href.len() > HREF_BYTES_MAX {
            return Err(UrlError::TooLong(href.len()));
        }
        if let Some(url) = joined(base, href) {
            return Ok(Self(url));
        }
        match base.join(href) {
            // url 2.5 refuses `///host/x` where the standard goes to `//host/x`.
            Err(::url::ParseError::EmptyHost) => {
                let href: String = href
                    .trim_matches(|c: char| c <= ' ')
                    .replace(['\t', '\n', '\r'], "");
                let host = href.trim_start_matches(['/', '\\']);
                if href.len() - host.len() < 3 {
                    return Err(UrlError::NoHost);
                }
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
        HostKey::of_canonical(&self.0)
    }
}

/// `href` resolved against `base` where that is to put one behind the other, as for most links of most
/// pages: a path of plain characters without dots at the start of a name; `None` for all else.
fn joined(base: &::url::Url, href: &str) -> Option<String> {
    let all = base.as_str();
    let origin = &base[..::url::Position::BeforePath];
    let own_path = href.strip_prefix(origin);
    let href = own_path
        .filter(|path| path.starts_with('/'))
        .unwrap_or(href);
    let (path, fragment) = href.split_once('#').unwrap_or((href, ""));
    // White space at either end would have to go first.
    if path.is_empty() || !fragment.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    let mut before = b'/';
    for byte in path.bytes() {
        let is_plain =
            byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'-' | b'_' | b'~');
        if !is_plain || (before == b'/' && byte == b'.') {
            return None;
        }
        before = byte;
    }
    let is_crawled = matches!(base.scheme(), "http" | "https");
    let has_user = !base.username().is_empty() || base.password().is_some();
    let has_host = base
        .host_str()
        .is_some_and(|host| !host.trim_matches('.').is_empty());
    if !is_crawled || has_user || !has_host || path.starts_with("//") {
        return None;
    }
    let folder = if path.starts_with('/') {
        origin
    } else {
        let end = origin.len() + base.path().rfind('/')? + 1;
        all.get(..end)?
    };
    let is_short = folder.len() + path.len() <= URL_BYTES_MAX;
    is_short.then(|| [folder, path].concat())
}

impl fmt::Display for CanonicalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> String {
        CanonicalUrl::parse(text).unwrap().as_str().to_owned()
    }

    fn resolved(base: &str, href: &str) -> Result<String, UrlError> {
        let base = ::url::Url::parse(base).unwrap();
        CanonicalUrl::resolve(&base, href).map(|url| url.as_str().to_owned())
    }

    #[test]
    fn a_url_is_written_as_the_standard_has_it() {
        for (text, canonical) in [
            ("HTTP://ExAmple.ORG:80", "http://example.org/"),
            ("https://h.test:443/a/../b/./c", "https://h.test/b/c"),
            ("http://h.test:443/", "http://h.test:443/"),
            ("http://h.test/#part", "http://h.test/"),
            ("http://h.test/?", "http://h.test/?"),
            ("http://user:word@h.test/", "http://h.test/"),
            ("http://[::1]/x", "http://[::1]/x"),
            ("http://[0:0:0::1]:8080/", "http://[::1]:8080/"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
            (
                "http://b\u{fc}cher.test/\u{fc}?\u{fc}",
                "http://xn--bcher-kva.test/%C3%BC?%C3%BC",
            ),
            ("http://a%2Eb.test/", "http://a.b.test/"),
            ("http://h.test./", "http://h.test./"),
            (" http://h.test/x \n", "http://h.test/x"),
            // abot 111, crawl4ai 1407: the path of a URL is a name, capitals and all.
            ("http://h.test/Path?Query", "http://h.test/Path?Query"),
            // heritrix3 718: no host name by the book, and in use all the same.
            ("http://a_b.test/", "http://a_b.test/"),
        ] {
            assert_eq!(parsed(text), canonical, "{text}");
        }
    }

    #[test]
    fn percent_signs_are_left_alone() {
        for url in [
            "http://h.test/100%",
            "http://h.test/%zz",
            "http://h.test/a%2db?c%3dd",
            "http://h.test/%25252525",
            "http://h.test/%7Ename",
            "http://h.test/a&b;c=1/x",
        ] {
            assert_eq!(parsed(url), url);
        }
    }

    #[test]
    fn what_cannot_be_crawled_says_why() {
        assert_eq!(
            CanonicalUrl::parse("ftp://h.test/"),
            Err(UrlError::Scheme("ftp".to_owned()))
        );
        assert!(matches!(
            CanonicalUrl::parse("http://[x"),
            Err(UrlError::Syntax(_))
        ));
        assert!(matches!(
            CanonicalUrl::parse("no url"),
            Err(UrlError::Syntax(_))
        ));
        assert!(matches!(
            CanonicalUrl::parse("http://./"),
            Err(UrlError::NoHost | UrlError::Syntax(_))
        ));
        let long = format!("http://h.test/{}", "x".repeat(URL_BYTES_MAX));
        assert_eq!(
            CanonicalUrl::parse(&long),
            Err(UrlError::TooLong(long.len()))
        );
    }

    #[test]
    fn a_href_is_resolved_as_a_browser_does() {
        for (href, target) in [
            ("y", "https://h.test/a/y"),
            (" \n y\n/z ", "https://h.test/a/y/z"),
            ("?q", "https://h.test/a/x?q"),
            ("#part", "https://h.test/a/x?old"),
            ("", "https://h.test/a/x?old"),
            ("//other.test/p", "https://other.test/p"),
            ("///other.test/p", "https://other.test/p"),
            ("////other.test", "https://other.test/"),
            ("/\\/other.test/p", "https://other.test/p"),
            ("\\\\other.test", "https://other.test/"),
            ("https:///other.test/p", "https://other.test/p"),
            ("../../../up", "https://h.test/up"),
        ] {
            assert_eq!(
                resolved("https://h.test/a/x?old", href).as_deref(),
                Ok(target),
                "{href:?}"
            );
        }
    }

    #[test]
    fn other_schemes_and_broken_hrefs_are_refused() {
        for href in [
            "mailto:a@h.test",
            "JavaScript:void(0)",
            " data:image/png;base64,AAAA",
            "news:comp.lang",
            "tel:1",
        ] {
            assert!(
                matches!(resolved("http://h.test/", href), Err(UrlError::Scheme(_))),
                "{href}"
            );
        }
        for href in ["http://[x", "//", "///", "http://", "http://h.test:99999/"] {
            assert!(resolved("http://h.test/", href).is_err(), "{href}");
        }
        let long = format!("data:{}", "A".repeat(1 << 20));
        assert!(matches!(
            resolved("http://h.test/", &long),
            Err(UrlError::TooLong(_))
        ));
    }

    proptest! {
        #[test]
        fn canonical_is_a_fixed_point(text in "(http|https|HTTP)://[a-z0-9.%:@\\[\\]-]{1,20}[/?#]\\PC{0,40}") {
            if let Ok(url) = CanonicalUrl::parse(&text) {
                let again = CanonicalUrl::parse(url.as_str()).unwrap();
                prop_assert_eq!(&again, &url);
                prop_assert_eq!(String::from(url.to_url().unwrap()), url.as_str());
                prop_assert_eq!(url.host_key(), HostKey::of(&url.to_url().unwrap()));
            }
        }

        #[test]
        fn the_short_way_to_resolve_is_the_standards(
            base in "https?://(u:p@)?[a-z.]{1,2}(:81)?(/[a-z.]{0,3}){0,3}([?]/q)?(#/f)?",
            href in "(https?://[a-z.]{1,2}/)?[/.#~a-zA-Z0-9_-]{0,12}|[ -~]{0,4}",
        ) {
            if let Ok(base) = ::url::Url::parse(&base)
                && let Some(url) = joined(&base, &href)
            {
                let whole = CanonicalUrl::from_url(base.join(&href).unwrap()).unwrap();
                prop_assert_eq!(url, whole.as_str());
            }
        }

        #[test]
        fn no_href_panics_and_what_resolves_is_canonical(href in "\\PC{0,40}|[/\\\\:.%?#a-z0-9@\\[\\] \t\n]{0,20}") {
            if let Ok(text) = resolved("http://h.test/a/b?c", &href) {
                prop_assert_eq!(parsed(&text), text);
            }
        }
    }
}
