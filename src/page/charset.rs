//! Which character set is a body written in?
//!
//! In this order: the byte order mark, the `charset` of the Content-Type header, the page's own
//! `meta` (HTML only), and a guess. A label that nobody knows is no label.

use std::borrow::Cow;

use encoding_rs::{Encoding, REPLACEMENT, UTF_8, WINDOWS_1252, X_USER_DEFINED};

use super::{DocumentKind, PageSource};
use super::{guess, prescan};

/// How the character set of a page was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CharsetWay {
    /// By a byte order mark.
    Mark,
    /// By the Content-Type header.
    Header,
    /// By the page's own `meta` or XML declaration.
    Page,
    /// Nothing names it, and all its bytes are UTF-8 (or ASCII).
    Valid,
    /// Nothing names it: by how often which bytes stand beside each other.
    Guess,
}

impl CharsetWay {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mark => "mark",
            Self::Header => "header",
            Self::Page => "page",
            Self::Valid => "valid",
            Self::Guess => "guess",
        }
    }
}

/// The character set of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charset {
    /// The name of its encoding, as the Encoding standard has it.
    pub name: &'static str,
    /// How it was found.
    pub way: CharsetWay,
    /// Some bytes mean nothing in it: the page is broken, or the character set is another.
    pub is_malformed: bool,
}

/// The text of a body and its character set; what is malformed becomes U+FFFD.
pub(super) fn decode<'a>(source: &PageSource<'a>, kind: DocumentKind) -> (Cow<'a, str>, Charset) {
    let (encoding, way, mark_bytes) = choose(source, kind);
    let (text, is_malformed) = encoding.decode_without_bom_handling(&source.body[mark_bytes..]);
    let charset = Charset {
        name: encoding.name(),
        way,
        is_malformed,
    };
    (text, charset)
}

/// The encoding, how it was found, and the bytes of the mark.
fn choose(source: &PageSource<'_>, kind: DocumentKind) -> (&'static Encoding, CharsetWay, usize) {
    let body = source.body;
    if let Some((encoding, mark_bytes)) = Encoding::for_bom(body) {
        return (encoding, CharsetWay::Mark, mark_bytes);
    }
    let by_header = source
        .content_type
        .and_then(header_label)
        .and_then(|label| known(label.as_bytes()));
    if let Some(encoding) = by_header {
        return (encoding, CharsetWay::Header, 0);
    }
    if kind == DocumentKind::Html
        && let Some(encoding) = prescan::declared(body, declared)
    {
        return (encoding, CharsetWay::Page, 0);
    }
    match guess::of(body, source.url) {
        Some(encoding) => (encoding, CharsetWay::Guess, 0),
        None => (UTF_8, CharsetWay::Valid, 0),
    }
}

/// The `charset` parameter of a Content-Type header.
fn header_label(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches(['"', '\'']))
    })
}

/// The encoding of a label; the replacement encoding (a fence of browsers against old attacks)
/// would decode to nothing and counts as unknown.
fn known(label: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_label(label).filter(|encoding| *encoding != REPLACEMENT)
}

/// The encoding that a page means by its own label. A page whose `meta` can be read byte by byte is
/// no UTF-16, so the standard takes that label for UTF-8, and `x-user-defined` for windows-1252
/// (13.2.3.2).
fn declared(label: &[u8]) -> Option<&'static Encoding> {
    match known(label)?.output_encoding() {
        encoding if encoding == X_USER_DEFINED => Some(WINDOWS_1252),
        encoding => Some(encoding),
    }
}

#[cfg(test)]
mod tests {
    use super::DocumentKind::{Html, Text};
    use super::*;
    use crate::url::CanonicalUrl;

    fn decoded(body: &[u8], header: Option<&str>, kind: DocumentKind) -> (String, Charset) {
        let source = PageSource {
            url: &CanonicalUrl::parse("http://h.test/").unwrap(),
            content_type: header,
            body,
        };
        let (text, charset) = decode(&source, kind);
        (text.into_owned(), charset)
    }

    fn read(body: &[u8], header: Option<&str>) -> (String, &'static str) {
        let (text, charset) = decoded(body, header, Html);
        (text, charset.name)
    }

    #[test]
    fn the_mark_goes_before_the_header_and_the_header_before_the_page() {
        let meta = b"<meta charset=koi8-r>\xe4";
        assert_eq!(
            read(b"\xef\xbb\xbf\xc3\xa4", Some("text/html;charset=koi8-r")),
            ("\u{e4}".to_owned(), "UTF-8")
        );
        assert_eq!(
            read(b"\xff\xfe\xe4\0", None),
            ("\u{e4}".to_owned(), "UTF-16LE")
        );
        assert_eq!(
            read(meta, Some("text/html; Charset=\"ISO-8859-1\"")).1,
            "windows-1252"
        );
        assert_eq!(read(meta, Some("text/html")).1, "KOI8-R");
    }

    #[test]
    fn an_unknown_label_is_no_label() {
        let meta = b"<meta charset=koi8-r>\xe4";
        assert_eq!(
            read(meta, Some("text/html; charset=ISO-8559-1")).1,
            "KOI8-R"
        );
        assert_eq!(read(meta, Some("text/html; charset=")).1, "KOI8-R");
        assert_eq!(read(b"<meta charset=nonsense>\xc3\xa4", None).1, "UTF-8");
        assert_eq!(
            read(
                "<p>\u{e4}".as_bytes(),
                Some("text/html; charset=iso-2022-kr")
            )
            .1,
            "UTF-8"
        );
    }

    #[test]
    fn a_page_that_calls_itself_utf_16_is_utf_8() {
        assert_eq!(read(b"<meta charset=utf-16>\xc3\xa4", None).1, "UTF-8");
    }

    #[test]
    fn a_page_that_calls_itself_user_defined_is_western() {
        let meta = b"<meta charset=x-user-defined>\xe4";
        assert_eq!(read(meta, None).1, "windows-1252");
        assert_eq!(
            read(meta, Some("text/html; charset=x-user-defined")).1,
            "x-user-defined"
        );
    }

    #[test]
    fn every_label_of_the_standard_is_known() {
        // Labels and names of encoding.spec.whatwg.org, "Names and labels", tab between.
        let table = include_str!("../../tests/data/encoding-labels.tsv");
        let mut labels = 0;
        for line in table.lines() {
            let (label, name) = line.split_once('\t').unwrap();
            labels += 1;
            let expected = if name == "replacement" { "UTF-8" } else { name };
            for header in [label.to_owned(), format!(" \"{}\"", label.to_uppercase())] {
                let header = format!("text/html; charset={header}");
                assert_eq!(read(b"plain", Some(&header)).1, expected, "{label}");
            }
        }
        assert_eq!(labels, 228);
    }

    #[test]
    fn the_way_and_what_is_malformed_are_told() {
        for (body, header, way, is_malformed) in [
            (&b"\xef\xbb\xbfx"[..], None, CharsetWay::Mark, false),
            (b"\xe4", Some("a/b;charset=utf-8"), CharsetWay::Header, true),
            (b"<meta charset=koi8-r>", None, CharsetWay::Page, false),
            (b"plain", None, CharsetWay::Valid, false),
            (b"na\xefve caf\xe9", None, CharsetWay::Guess, false),
        ] {
            let (_, charset) = decoded(body, header, Html);
            assert_eq!((charset.way, charset.is_malformed), (way, is_malformed));
        }
    }

    #[test]
    fn plain_text_declares_nothing() {
        let (_, charset) = decoded(b"<meta charset=koi8-r>", None, Text);
        assert_eq!(charset.name, "UTF-8");
    }
}
