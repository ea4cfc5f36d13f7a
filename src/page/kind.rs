//! What kind of document is a body?

/// The kinds of documents that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// HTML or XHTML
    Html,
    /// Plain text: one leaf a line, no links
    Text,
}

/// Bytes that are looked at when a kind is guessed (the resource header of the MIME Sniffing standard).
const SNIFF_BYTES: usize = 1445;

/// Types that say nothing: servers send them for whatever they do not know.
const GENERIC: [&str; 5] = [
    "",
    "application/octet-stream",
    "application/unknown",
    "unknown/unknown",
    "*/*",
];

/// The first bytes of what is sometimes announced as HTML or text and never is.
const SIGNATURES: [&[u8]; 10] = [
    b"%PDF-",
    b"%!PS-Adobe",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x89PNG",
    b"GIF8",
    b"\xff\xd8\xff",
    b"RIFF",
    b"\x7fELF",
    b"BZh",
];

/// Tags that begin an HTML document without a declaration (MIME Sniffing standard, section 7.1).
const OPENINGS: [&[u8]; 17] = [
    b"<!doctype html",
    b"<html",
    b"<head",
    b"<script",
    b"<iframe",
    b"<h1",
    b"<div",
    b"<font",
    b"<table",
    b"<a",
    b"<style",
    b"<title",
    b"<b",
    b"<body",
    b"<br",
    b"<p",
    b"<!--",
];

impl DocumentKind {
    /// What a Content-Type header (or, where it is missing or says nothing, the first bytes)
    /// announces; `None` if it is nothing that can be read.
    ///
    /// A header that names a type is believed, except against the signature of a binary format.
    pub fn of(content_type: Option<&str>, body: &[u8]) -> Option<Self> {
        let head = &body[..body.len().min(SNIFF_BYTES)];
        if SIGNATURES.iter().any(|magic| head.starts_with(magic)) {
            return None;
        }
        let essence = content_type.unwrap_or_default();
        let essence = essence.split([';', ',']).next().unwrap_or_default();
        match essence.trim().to_ascii_lowercase().as_str() {
            "text/html" | "application/xhtml+xml" => Some(Self::Html),
            "text/plain" => (!is_binary(head)).then_some(Self::Text),
            generic if GENERIC.contains(&generic) => Self::sniff(head),
            _ => None,
        }
    }

    fn sniff(head: &[u8]) -> Option<Self> {
        let start = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let start = start.trim_ascii_start();
        if OPENINGS.iter().any(|tag| opens_with(start, tag)) {
            return Some(Self::Html);
        }
        if starts_with_ignore_case(start, b"<?xml") {
            // Feeds and other vocabularies of XML are not read.
            let is_xhtml = (0..start.len()).any(|at| opens_with(&start[at..], b"<html"));
            return is_xhtml.then_some(Self::Html);
        }
        (!is_binary(head)).then_some(Self::Text)
    }
}

/// Whether `text` begins with `tag` as a whole: a name must end there, a comment need not.
fn opens_with(text: &[u8], tag: &[u8]) -> bool {
    starts_with_ignore_case(text, tag)
        && (tag == b"<!--"
            || text
                .get(tag.len())
                .is_none_or(|next| *next == b'>' || next.is_ascii_whitespace()))
}

fn starts_with_ignore_case(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Whether `head` holds a byte that no text holds (MIME Sniffing standard, section 3); UTF-16 with
/// a byte order mark is text.
fn is_binary(head: &[u8]) -> bool {
    if head.starts_with(b"\xfe\xff") || head.starts_with(b"\xff\xfe") {
        return false;
    }
    head.iter()
        .any(|byte| matches!(byte, 0..=0x08 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F))
}

#[cfg(test)]
mod tests {
    use super::DocumentKind::{self, Html, Text};

    #[test]
    fn the_header_decides_whatever_its_case_and_parameters() {
        for (header, expected) in [
            ("text/html", Some(Html)),
            ("Text/HTML; charset=ISO-8859-1", Some(Html)),
            (" application/xhtml+xml ;q=1", Some(Html)),
            ("text/html, text/html", Some(Html)),
            ("text/plain;charset=utf-8", Some(Text)),
            ("application/pdf", None),
            ("image/svg+xml", None),
            ("application/rss+xml", None),
            ("application/json", None),
            ("text/css", None),
            ("text", None),
        ] {
            assert_eq!(
                DocumentKind::of(Some(header), b"<p>x"),
                expected,
                "{header}"
            );
        }
    }

    #[test]
    fn a_missing_or_generic_header_leaves_it_to_the_first_bytes() {
        let bodies: [(&[u8], _); 11] = [
            (b"<!DOCTYPE html><p>", Some(Html)),
            (b"\xef\xbb\xbf \n<HTML lang=en>", Some(Html)),
            (b"<!-- x --><p>", Some(Html)),
            (b"<p>", Some(Html)),
            (b"<pre>", Some(Text)),
            (
                b"<?xml version='1.0'?>\n<!DOCTYPE html>\n<html>",
                Some(Html),
            ),
            (b"<?xml version='1.0'?><rss>", None),
            (b"words only", Some(Text)),
            (b"\xff\xfew\0", Some(Text)),
            (b"\0\x01\x02", None),
            (b"", Some(Text)),
        ];
        for (body, expected) in bodies {
            for header in [
                None,
                Some(""),
                Some("application/octet-stream"),
                Some("*/*"),
            ] {
                assert_eq!(
                    DocumentKind::of(header, body),
                    expected,
                    "{header:?} {body:?}"
                );
            }
        }
    }

    #[test]
    fn text_stays_text_even_if_it_looks_like_html() {
        assert_eq!(DocumentKind::of(Some("text/plain"), b"<html>"), Some(Text));
    }

    #[test]
    fn binary_formats_are_refused_whatever_the_header_says() {
        for body in [
            &b"%PDF-1.4"[..],
            b"PK\x03\x04..",
            b"\x89PNG\r\n",
            b"\x1f\x8b\x08",
        ] {
            for header in [None, Some("text/html"), Some("text/plain")] {
                assert_eq!(DocumentKind::of(header, body), None, "{header:?} {body:?}");
            }
        }
        assert_eq!(DocumentKind::of(Some("text/plain"), b"\x7f\0\0\x02"), None);
    }

    #[test]
    fn nul_bytes_do_not_unmake_html() {
        assert_eq!(DocumentKind::of(Some("text/html"), b"<p>\0"), Some(Html));
    }
}
