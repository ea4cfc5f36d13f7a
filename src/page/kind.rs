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

/// XML of whatever vocabulary.
const XML: [&str; 2] = ["text/xml", "application/xml"];

/// The namespace of XHTML.
const XHTML: &[u8] = b"http://www.w3.org/1999/xhtml";

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
            xml if XML.contains(&xml) => is_xhtml(text_of(head)).then_some(Self::Html),
            generic if GENERIC.contains(&generic) => Self::sniff(head),
            _ => None,
        }
    }

    fn sniff(head: &[u8]) -> Option<Self> {
        let start = text_of(head);
        if OPENINGS.iter().any(|tag| opens_with(start, tag)) {
            return Some(Self::Html);
        }
        if starts_with_ignore_case(start, b"<?xml") {
            // Feeds and other vocabularies of XML are not read.
            return is_xhtml(start).then_some(Self::Html);
        }
        (!is_binary(head)).then_some(Self::Text)
    }
}

impl DocumentKind {
    /// What a document that is refused is, in words, where its Content-Type alone does not tell: a feed,
    /// or another vocabulary of XML.
    pub fn refused_as(content_type: Option<&str>, body: &[u8]) -> String {
        let stated = content_type.unwrap_or_default().trim();
        let head = &body[..body.len().min(SNIFF_BYTES)];
        let Some(root) = xml_root(text_of(head)) else {
            return stated.to_owned();
        };
        let what = match root.name {
            b"rss" | b"rdf:RDF" => "an RSS feed".to_owned(),
            b"feed" => "an Atom feed".to_owned(),
            b"urlset" | b"sitemapindex" => "a sitemap".to_owned(),
            name => format!("XML of <{}>", String::from_utf8_lossy(name)),
        };
        if stated.is_empty() {
            return what;
        }
        format!("{stated}: {what}")
    }
}

/// Without a byte order mark and white space before it.
fn text_of(head: &[u8]) -> &[u8] {
    let start = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    start.trim_ascii_start()
}

/// The first tag of an XML document.
struct Root<'a> {
    name: &'a [u8],
    attributes: &'a [u8],
}

/// Finds the root element behind declarations, comments and a document type.
fn xml_root(mut text: &[u8]) -> Option<Root<'_>> {
    loop {
        text = text.trim_ascii_start().strip_prefix(b"<")?;
        let past = if text.starts_with(b"?") {
            find(text, b"?>")? + 2
        } else if text.starts_with(b"!--") {
            find(text, b"-->")? + 3
        } else if text.starts_with(b"!") {
            // An internal subset holds tags of its own; no page has one.
            find(text, b">")? + 1
        } else {
            let end = find(text, b">").unwrap_or(text.len());
            let tag = text.get(..end)?;
            let stops = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'/';
            let name_end = tag.iter().position(stops).unwrap_or(tag.len());
            let (name, attributes) = tag.split_at(name_end);
            return (!name.is_empty()).then_some(Root { name, attributes });
        };
        text = text.get(past..)?;
    }
}

/// Whether an XML document is XHTML: its root is `html`, in the namespace of XHTML or, as many forget it,
/// in none.
fn is_xhtml(text: &[u8]) -> bool {
    let Some(root) = xml_root(text) else {
        return false;
    };
    let in_namespace =
        find(root.attributes, XHTML).is_some() || find(root.attributes, b"xmlns=").is_none();
    root.name.eq_ignore_ascii_case(b"html") && in_namespace
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
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
    fn xml_is_read_if_its_root_is_that_of_xhtml() {
        let xhtml = "http://www.w3.org/1999/xhtml";
        for (body, expected) in [
            (format!("<html xmlns='{xhtml}'><p>"), Some(Html)),
            (
                format!(
                    "\u{feff}<?xml version='1.0'?><!-- <rss> --><!DOCTYPE html PUBLIC 'x' 'y'>\n<html lang='en'\nxmlns=\"{xhtml}\">"
                ),
                Some(Html),
            ),
            ("<?xml version='1.0'?><html><p>".to_owned(), Some(Html)),
            ("<html xmlns='http://h.test/mine'>".to_owned(), None),
            ("<rss version='2.0'><html>".to_owned(), None),
            ("<htmlish/>".to_owned(), None),
            ("words only".to_owned(), None),
            ("<?xml never ends".to_owned(), None),
            (String::new(), None),
        ] {
            for header in ["text/xml", "Application/XML; charset=utf-8"] {
                let found = DocumentKind::of(Some(header), body.as_bytes());
                assert_eq!(found, expected, "{body}");
            }
        }
    }

    #[test]
    fn a_refused_document_is_called_by_its_name() {
        for (header, body, expected) in [
            (
                Some("text/xml"),
                "<?xml version='1.0'?><rss version='2.0'>",
                "text/xml: an RSS feed",
            ),
            (
                Some("text/xml"),
                "<rdf:RDF xmlns='x'>",
                "text/xml: an RSS feed",
            ),
            (
                None,
                "<?xml version='1.0'?><feed xmlns='x'>",
                "an Atom feed",
            ),
            (
                Some("application/xml"),
                "<urlset>",
                "application/xml: a sitemap",
            ),
            (Some("text/xml"), "<svg/>", "text/xml: XML of <svg>"),
            (Some("text/xml"), "no tag", "text/xml"),
            (Some("image/png"), "\u{89}PNG", "image/png"),
        ] {
            assert_eq!(DocumentKind::refused_as(header, body.as_bytes()), expected);
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
