//! Which character set is a body written in?
//!
//! In this order: the byte order mark, the `charset` of the Content-Type header, the page's own
//! `meta` (HTML only), and a guess. A label that nobody knows is no label.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, REPLACEMENT, UTF_8, WINDOWS_1252, X_USER_DEFINED};

use super::DocumentKind;
use super::prescan;

/// Bytes given to the detector, which reads 8 MB a second only.
const DETECTION_BYTES: usize = 16 * 1024;

/// ASCII bytes left before the first other one when a window for the detector is cut: a tag or so.
const DETECTION_LEAD: usize = 256;

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

/// The text of `body` and its character set; what is malformed becomes U+FFFD.
pub(super) fn decode<'a>(
    body: &'a [u8],
    content_type: Option<&str>,
    kind: DocumentKind,
) -> (Cow<'a, str>, Charset) {
    let (encoding, way, mark_bytes) = choose(body, content_type, kind);
    let (text, is_malformed) = encoding.decode_without_bom_handling(&body[mark_bytes..]);
    let charset = Charset {
        name: encoding.name(),
        way,
        is_malformed,
    };
    (text, charset)
}

/// The encoding, how it was found, and the bytes of the mark.
fn choose(
    body: &[u8],
    content_type: Option<&str>,
    kind: DocumentKind,
) -> (&'static Encoding, CharsetWay, usize) {
    if let Some((encoding, mark_bytes)) = Encoding::for_bom(body) {
        return (encoding, CharsetWay::Mark, mark_bytes);
    }
    let by_header = content_type
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
    let (encoding, way) = guess(body);
    (encoding, way, 0)
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

fn guess(body: &[u8]) -> (&'static Encoding, CharsetWay) {
    let has_escapes = body.contains(&0x1B);
    match std::str::from_utf8(body) {
        Ok(_) if !has_escapes => return (UTF_8, CharsetWay::Valid),
        // Cut in the middle of a character.
        Err(error) if error.error_len().is_none() => return (UTF_8, CharsetWay::Valid),
        _ => {}
    }
    let first = body
        .iter()
        .position(|byte| !byte.is_ascii() || *byte == 0x1B);
    let start = first.unwrap_or(0).saturating_sub(DETECTION_LEAD);
    let end = body.len().min(start + DETECTION_BYTES);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&body[start..end], end == body.len());
    let encoding = detector.guess(None, Utf8Detection::Allow);
    // Escapes without Japanese (a terminal's log) stay what they are.
    if encoding != ISO_2022_JP && std::str::from_utf8(body).is_ok() {
        return (UTF_8, CharsetWay::Valid);
    }
    (encoding, CharsetWay::Guess)
}

#[cfg(test)]
mod tests {
    use super::DocumentKind::{Html, Text};
    use super::*;

    fn read(body: &[u8], header: Option<&str>) -> (String, &'static str) {
        let (text, charset) = decode(body, header, Html);
        (text.into_owned(), charset.name)
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
            let (_, charset) = decode(body, header, Html);
            assert_eq!((charset.way, charset.is_malformed), (way, is_malformed));
        }
    }

    #[test]
    fn plain_text_declares_nothing() {
        assert_eq!(decode(b"<meta charset=koi8-r>", None, Text).1.name, "UTF-8");
    }

    #[test]
    fn what_is_nowhere_said_is_guessed() {
        let russian = "\u{42d}\u{442}\u{43e} \u{43f}\u{440}\u{43e}\u{441}\u{442}\u{43e} \u{440}\u{443}\u{441}\u{441}\u{43a}\u{438}\u{439} \u{442}\u{435}\u{43a}\u{441}\u{442} \u{43e} \u{43f}\u{43e}\u{433}\u{43e}\u{434}\u{435}";
        let (bytes, _, _) = encoding_rs::KOI8_R.encode(russian);
        let late = [vec![b' '; 3 * DETECTION_BYTES], bytes.to_vec()].concat();
        // The detector knows KOI8-U only, which differs in letters that Russian lacks.
        assert_eq!(read(&bytes, None), (russian.to_owned(), "KOI8-U"));
        assert_eq!(read(&late, None).1, "KOI8-U");
        let japanese = "\u{65e5}\u{672c}\u{8a9e}\u{306e}\u{30c6}\u{30ad}\u{30b9}\u{30c8}";
        let (bytes, _, _) = ISO_2022_JP.encode(japanese);
        assert_eq!(read(&bytes, None), (japanese.to_owned(), "ISO-2022-JP"));
        assert_eq!(read(b"plain \x1b[1m log", None).1, "UTF-8");
        assert_eq!(
            read("cut: \u{20ac}".as_bytes().split_last().unwrap().1, None).1,
            "UTF-8"
        );
    }
}
