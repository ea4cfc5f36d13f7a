//! The header fields that matter, and what status and fields say before any body is read.

use std::time::{Duration, UNIX_EPOCH};

use super::{FetchError, Outcome, Redirect};
use crate::clock::Timestamp;
use crate::url::CanonicalUrl;

/// The header fields of an answer that the crawler reads; the first of each name but where said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// Content-Type.
    pub content_type: Option<String>,
    /// All Content-Encoding fields, joined by commas.
    pub content_encoding: Option<String>,
    /// All X-Robots-Tag fields, a line each.
    pub robots_tag: Option<String>,
    /// Location, byte for byte.
    pub location: Option<Vec<u8>>,
    /// Retry-After as sent.
    pub retry_after: Option<String>,
}

impl Fields {
    /// Picks the fields out of header lines.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut fields = Self::default();
        for (name, value) in pairs {
            let text = || String::from_utf8_lossy(value).trim().to_owned();
            match name.to_ascii_lowercase().as_str() {
                "content-type" => fill(&mut fields.content_type, text),
                "content-encoding" => join(&mut fields.content_encoding, ", ", &text()),
                "x-robots-tag" => join(&mut fields.robots_tag, "\n", &text()),
                "location" => fill(&mut fields.location, || value.to_vec()),
                "retry-after" => fill(&mut fields.retry_after, text),
                _ => {}
            }
        }
        fields
    }
}

fn fill<T>(field: &mut Option<T>, value: impl FnOnce() -> T) {
    if field.is_none() {
        *field = Some(value());
    }
}

fn join(field: &mut Option<String>, between: &str, value: &str) {
    match field {
        Some(text) => {
            text.push_str(between);
            text.push_str(value);
        }
        None => *field = Some(value.to_owned()),
    }
}

/// What an answer is by its status and fields alone: `None` for a success, whose body has yet to
/// be read, else the outcome.
pub(super) fn settle(
    status: u16,
    fields: &Fields,
    url: &CanonicalUrl,
    answer_time: Duration,
    now: Timestamp,
) -> Option<Outcome> {
    match status {
        200..=299 => None,
        301 | 302 | 303 | 307 | 308 => Some(match target(url, fields.location.as_deref()) {
            Ok(target) => Outcome::Redirect(Redirect {
                status,
                target,
                answer_time,
            }),
            Err(detail) => Outcome::Failure(FetchError::BadRedirect {
                code: status,
                detail,
            }),
        }),
        code => Some(Outcome::Failure(FetchError::Status {
            code,
            retry_after: fields
                .retry_after
                .as_deref()
                .and_then(|text| retry_after(text, now)),
        })),
    }
}

/// Resolves a Location header against the URL that was asked for.
///
/// Bytes beyond ASCII are percent-encoded as they are: guessing their character set gives a URL
/// that the server does not know. The fragment is dropped, as in every canonical URL.
fn target(url: &CanonicalUrl, location: Option<&[u8]>) -> Result<CanonicalUrl, String> {
    let location = location.ok_or("the header is missing")?;
    let text = encode_beyond_ascii(location);
    if text.trim().is_empty() {
        return Err("the header is empty".to_owned());
    }
    let base = url.to_url().map_err(|error| error.to_string())?;
    CanonicalUrl::resolve(&base, &text).map_err(|error| format!("{}: {error}", excerpt(&text)))
}

fn encode_beyond_ascii(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii() {
            text.push(char::from(*byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// Foreign text for an error's words, short and quoted.
fn excerpt(text: &str) -> String {
    let short: String = text.chars().take(80).collect();
    format!("{short:?}")
}

/// Reads a Retry-After header, in seconds or as an HTTP date, as a wait from `now`.
///
/// Nonsense and negative numbers are `None`, so that the crawler's own wait applies; a date gone by
/// is no wait.
pub fn retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a u64 holds is still a number of seconds, and a long one.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let ms = date.duration_since(UNIX_EPOCH).ok()?.as_millis();
    Some(Timestamp(i64::try_from(ms).ok()?).since(now))
}

/// What `X-Robots-Tag` forbids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RobotsTag {
    /// The page is not to be kept or shown.
    pub noindex: bool,
    /// Its links are not to be followed.
    pub nofollow: bool,
    /// No copy of it is to be kept.
    pub noarchive: bool,
}

/// Reads the `X-Robots-Tag` headers of an answer, a line each ([`super::Response::robots_tag`]).
///
/// A directive holds for everybody, or after `name:` for the crawler of that name; the name holds
/// until the next one of the same header. Ours is [`super::PRODUCT_TOKEN`].
pub fn robots_tag_directives(headers: &str) -> RobotsTag {
    let mut tag = RobotsTag::default();
    for header in headers.lines() {
        tag.read(header);
    }
    tag
}

impl RobotsTag {
    fn read(&mut self, header: &str) {
        let mut ours = true;
        for part in header.split(',') {
            let mut directive = part.trim();
            // `unavailable_after: <date>` and the like carry a value and name nobody.
            if let Some((name, rest)) = directive.split_once(':')
                && !is_valued(name.trim())
            {
                ours = name.trim().eq_ignore_ascii_case(super::PRODUCT_TOKEN);
                directive = rest.trim();
            }
            if ours {
                let is = |word: &str| directive.eq_ignore_ascii_case(word);
                self.noindex |= is("noindex") || is("none");
                self.nofollow |= is("nofollow") || is("none");
                self.noarchive |= is("noarchive");
            }
        }
    }
}

fn is_valued(name: &str) -> bool {
    let valued = [
        "unavailable_after",
        "max-snippet",
        "max-image-preview",
        "max-video-preview",
    ];
    // A date's hours and minutes hold colons too.
    name.contains(|c: char| c.is_whitespace() || c.is_ascii_digit())
        || valued.iter().any(|word| name.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redirect(location: &[u8]) -> Result<String, String> {
        let url = CanonicalUrl::parse("http://h.test/a/b?q#old").unwrap();
        target(&url, Some(location)).map(|target| target.as_str().to_owned())
    }

    #[test]
    fn a_location_is_resolved_byte_for_byte() {
        for (location, expected) in [
            (b"/x".as_slice(), "http://h.test/x"),
            (b"c", "http://h.test/a/c"),
            (b"?p=1", "http://h.test/a/b?p=1"),
            (b"//other.test/x", "http://other.test/x"),
            (b"///other.test/x", "http://other.test/x"),
            (b"https://o.test/#new", "https://o.test/"),
            (b"/new#", "http://h.test/new"),
            (b" /spaced ", "http://h.test/spaced"),
            (b"/caf\xc3\xa9", "http://h.test/caf%C3%A9"),
            (b"/caf\xe9?\xe9", "http://h.test/caf%E9?%E9"),
            (b"/%c3%a9", "http://h.test/%c3%a9"),
            (b"http%3A//o.test/", "http://h.test/a/http%3A//o.test/"),
        ] {
            assert_eq!(redirect(location).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn an_unusable_location_is_named() {
        for (location, words) in [
            (b"mailto:a@b".as_slice(), "mailto"),
            (b"http://", "host"),
            (b"  ", "empty"),
            (b"http://[::bad", "IPv6"),
        ] {
            let detail = redirect(location).unwrap_err();
            assert!(detail.contains(words), "{detail}");
        }
        let long = [b"/".as_slice(), &[b'x'; 5000]].concat();
        assert!(redirect(&long).unwrap_err().len() < 300);
    }

    #[test]
    fn retry_after_is_read_in_both_forms() {
        // 784111777 s is RFC 9110's example date, Sun, 06 Nov 1994 08:49:37 GMT.
        let now = Timestamp(784_111_777_000 - 90_000);
        let secs = |text| retry_after(text, now).map(|wait| wait.as_secs());
        assert_eq!(secs("120"), Some(120));
        assert_eq!(secs(" 0 "), Some(0));
        assert_eq!(secs("99999999999999999999999"), Some(u64::MAX));
        assert_eq!(secs("Sun, 06 Nov 1994 08:49:37 GMT"), Some(90));
        assert_eq!(secs("Sunday, 06-Nov-94 08:49:37 GMT"), Some(90));
        assert_eq!(secs("Sun, 06 Nov 1994 08:40:37 GMT"), Some(0));
        for garbage in ["-5", "", "soon", "1.5", "+3", "12 s", "Sun, 99 Nov 1994"] {
            assert_eq!(secs(garbage), None, "{garbage:?}");
        }
    }

    #[test]
    fn robots_tags_are_read_for_everybody_and_for_us() {
        let read = |header| {
            let tag = robots_tag_directives(header);
            (tag.noindex, tag.nofollow)
        };
        assert_eq!(read("noindex"), (true, false));
        assert_eq!(read("all, NoFollow"), (false, true));
        assert_eq!(read("none"), (true, true));
        assert_eq!(read("apprentice: noindex, nofollow"), (true, true));
        assert_eq!(read("otherbot: noindex, nofollow"), (false, false));
        assert_eq!(
            read("otherbot: noindex, Apprentice: nofollow"),
            (false, true)
        );
        assert_eq!(
            read("unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"),
            (true, false)
        );
        assert_eq!(read("max-snippet: 20, nofollow"), (false, true));
        assert!(robots_tag_directives("otherbot: none, apprentice: NoArchive").noarchive);
        assert!(!robots_tag_directives("otherbot: noarchive").noarchive);
        assert_eq!(read("noindexed"), (false, false));
    }

    #[test]
    fn fields_of_one_name_are_all_kept_or_the_first_is_taken() {
        let fields = Fields::from_pairs([
            ("Content-Type", b"text/html".as_slice()),
            ("content-type", b"image/png"),
            ("X-Robots-Tag", b"noindex"),
            ("x-robots-tag", b"apprentice: nofollow"),
        ]);
        assert_eq!(fields.content_type.as_deref(), Some("text/html"));
        assert_eq!(
            fields.robots_tag.as_deref(),
            Some("noindex\napprentice: nofollow")
        );
    }

    #[test]
    fn a_name_in_one_robots_tag_says_nothing_of_the_next_header() {
        let read = |second: &[u8]| {
            let headers = [
                ("X-Robots-Tag", b"otherbot: noindex".as_slice()),
                ("X-Robots-Tag", second),
            ];
            let tag = Fields::from_pairs(headers).robots_tag.unwrap();
            robots_tag_directives(&tag).nofollow
        };
        assert!(read(b"nofollow"));
        assert!(!read(b"anotherbot: nofollow"));
    }
}
