//! A short way past html5ever's tokenizer, for markup without anything odd in it.
//!
//! The tokenizer goes from character to character; most of a page is plain text and tags of one
//! usual form. These are read here in longer steps and become the very tokens that the tokenizer
//! would make of them; at the first thing that is not of that form, it goes on itself.

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{EndTag, StartTag, Tag, Token};
use html5ever::{Attribute, LocalName, QualName, local_name, ns};
use memchr::{memchr, memchr_iter, memchr2, memchr3};

use super::reference;

/// The longest name of a tag or an attribute that is read here, in bytes.
const NAME_BYTES_MAX: usize = 24;

/// Tags with more attributes are left to the tokenizer and its guard.
const ATTRIBUTES_MAX: usize = 32;

/// Names that are remembered; a page has a few dozen.
const NAMES: usize = 256;

/// The names of the page so far, each at the place that its letters give it: to look one up again
/// costs less than to intern it again.
pub(super) struct Names(Vec<LocalName>);

impl Names {
    pub(super) fn new() -> Self {
        Self(vec![LocalName::default(); NAMES])
    }

    /// The name that `bytes` are in small letters; `None` if it is empty, too long, or has others
    /// than letters, digits and a few marks of ASCII.
    fn of(&mut self, bytes: &[u8]) -> Option<LocalName> {
        let mut small = [0; NAME_BYTES_MAX];
        let small = small.get_mut(..bytes.len())?;
        let mut place = bytes.len();
        for (to, from) in small.iter_mut().zip(bytes) {
            *to = from.to_ascii_lowercase();
            place = place.wrapping_mul(31) ^ usize::from(*to);
        }
        let name = std::str::from_utf8(small).ok()?;
        let known = self.0.get_mut(place % NAMES)?;
        if **known != *name {
            *known = LocalName::from(name);
        }
        (!bytes.is_empty()).then(|| known.clone())
    }
}

/// The next token of `block` from byte `at` on and where it ends, if it is of the usual form and the
/// tokenizer stands between two tokens; what `block` cuts short is not.
pub(super) fn token(names: &mut Names, block: &StrTendril, at: usize) -> Option<(Token, usize)> {
    let bytes = block.as_bytes();
    match bytes.get(at)? {
        b'<' => match bytes.get(at + 1)? {
            b'!' | b'?' => comment(bytes, at),
            _ => tag(names, block, at),
        },
        0 => None,
        _ => text(block, at),
    }
}

/// Text up to the next tag: a part of the block, or a copy if there are references in it.
fn text(block: &StrTendril, at: usize) -> Option<(Token, usize)> {
    let bytes = block.as_bytes();
    let rest = bytes.get(at..)?;
    let end = memchr3(b'<', b'&', 0, rest).map_or(bytes.len(), |length| at + length);
    if bytes.get(end) != Some(&b'&') {
        return Some((Token::CharacterTokens(part(block, at, end)?), end));
    }
    let mut text = StrTendril::new();
    let length = reference::read_all(block.get(at..)?, &mut text);
    (length > 0).then(|| (Token::CharacterTokens(text), at + length))
}

/// A comment, also one that is none but counts as one (`<!x>`, `<?x>`). Its text is kept nowhere.
fn comment(bytes: &[u8], at: usize) -> Option<(Token, usize)> {
    let rest = bytes.get(at + 2..)?;
    let end = if bytes.get(at + 1) == Some(&b'?') {
        memchr(b'>', rest)?
    } else if let Some(text) = rest.strip_prefix(b"--") {
        let closes = |end: &usize| {
            let text = &text[..*end];
            matches!(text, b"" | b"-") || text.ends_with(b"--") || text.ends_with(b"--!")
        };
        memchr_iter(b'>', text).find(closes)? + 2
    } else if matches!(rest.first()?, b'[' | b'-' | b'd' | b'D') {
        return None;
    } else {
        memchr(b'>', rest)?
    };
    let token = Token::CommentToken(StrTendril::new());
    Some((token, at + 2 + end + 1))
}

fn tag(names: &mut Names, block: &StrTendril, at: usize) -> Option<(Token, usize)> {
    let bytes = block.as_bytes();
    let is_end = bytes.get(at + 1) == Some(&b'/');
    let start = at + if is_end { 2 } else { 1 };
    if !bytes.get(start)?.is_ascii_alphabetic() {
        return None;
    }
    let mut reader = Reader {
        block,
        bytes,
        at: start,
    };
    let name = names.of(reader.name())?;
    if is_text_element(&name) {
        return None;
    }
    let mut tag = Tag {
        kind: if is_end { EndTag } else { StartTag },
        name,
        self_closing: false,
        attrs: Vec::new(),
        had_duplicate_attributes: false,
    };
    loop {
        reader.pass_space();
        match reader.peek()? {
            b'>' => break,
            _ if is_end || tag.attrs.len() == ATTRIBUTES_MAX => return None,
            b'/' => {
                reader.at += 1;
                if reader.peek()? != b'>' {
                    return None;
                }
                tag.self_closing = true;
                break;
            }
            _ => {}
        }
        let name = names.of(reader.name())?;
        let value = reader.value()?;
        if tag.attrs.iter().any(|before| before.name.local == name) {
            tag.had_duplicate_attributes = true;
        } else {
            let name = QualName::new(None, ns!(), name);
            tag.attrs.push(Attribute { name, value });
        }
    }
    Some((Token::TagToken(tag), reader.at + 1))
}

/// The inside of a tag.
struct Reader<'a> {
    block: &'a StrTendril,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Passes over the bytes that `takes` says yes to, and returns them.
    fn run(&mut self, takes: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|byte| !takes(*byte));
        let run = &rest[..length.unwrap_or(rest.len())];
        self.at += run.len();
        run
    }

    fn pass_space(&mut self) {
        self.run(is_space);
    }

    /// A name; what follows it is seen by whoever reads on.
    fn name(&mut self) -> &'a [u8] {
        self.run(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':'))
    }

    /// What follows the name of an attribute: nothing, or `=` and a value.
    fn value(&mut self) -> Option<StrTendril> {
        let is_bare = matches!(self.peek()?, b'>' | b'/');
        if !is_bare && self.peek()? != b'=' && !is_space(self.peek()?) {
            // The name goes on with an odd character.
            return None;
        }
        self.pass_space();
        if self.peek()? != b'=' {
            return Some(StrTendril::new());
        }
        self.at += 1;
        self.pass_space();
        let start = self.at;
        match self.peek()? {
            b'>' => None,
            quote @ (b'"' | b'\'') => {
                let length = memchr(quote, self.bytes.get(start + 1..)?)?;
                self.at = start + length + 2;
                self.text(start + 1, start + 1 + length)
            }
            _ => {
                self.run(|byte| byte != b'>' && !is_space(byte));
                self.text(start, self.at)
            }
        }
    }

    /// A value; what has odd references in it is left to the tokenizer.
    fn text(&self, start: usize, end: usize) -> Option<StrTendril> {
        let value = self.block.get(start..end)?;
        let Some(first) = memchr2(b'&', 0, value.as_bytes()) else {
            return part(self.block, start, end);
        };
        let (before, mut rest) = value.split_at_checked(first)?;
        let mut text = StrTendril::from_slice(before);
        while let Some(after) = rest.strip_prefix('&') {
            // In an attribute a name that goes on with `=` is a parameter and no reference.
            let name = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
            let mut length = if name.starts_with('=') {
                text.push_char('&');
                1
            } else {
                reference::read(rest.as_bytes(), &mut text)?
            };
            let plain = rest.get(length..)?;
            let end = memchr2(b'&', 0, plain.as_bytes()).unwrap_or(plain.len());
            text.push_slice(plain.get(..end)?);
            length += end;
            rest = rest.get(length..)?;
        }
        rest.is_empty().then_some(text)
    }
}

/// A part of a block shares its memory.
pub(super) fn part(block: &StrTendril, start: usize, end: usize) -> Option<StrTendril> {
    let offset = u32::try_from(start).ok()?;
    let length = u32::try_from(end - start).ok()?;
    block.try_subtendril(offset, length).ok()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0C)
}

/// Elements that the tokenizer has to know of, since it reads their text in another way.
fn is_text_element(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("script")
            | local_name!("style")
            | local_name!("title")
            | local_name!("textarea")
            | local_name!("iframe")
            | local_name!("noembed")
            | local_name!("noframes")
            | local_name!("noscript")
            | local_name!("plaintext")
            | local_name!("xmp")
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::page::oracle::Reading;
    use crate::page::{DocumentKind, Page, PageLimits, PageSource};
    use crate::url::CanonicalUrl;

    fn token_of(text: &str) -> Option<(Token, usize)> {
        token(&mut Names::new(), &StrTendril::from_slice(text), 0)
    }

    /// The attributes of the tag that `text` begins with, if it is read here.
    fn attributes(text: &str) -> Option<Vec<(String, String)>> {
        let (Token::TagToken(tag), _) = token_of(text)? else {
            return None;
        };
        let attributes = tag.attrs.iter();
        let text = |attribute: &Attribute| {
            let Attribute { name, value } = attribute;
            (name.local.to_string(), value.to_string())
        };
        Some(attributes.map(text).collect())
    }

    #[test]
    fn a_usual_tag_is_read_whole() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            attributes("<A HREF='x?a=1&b=2&amp;c&#233;&ouml;& ' nowrap Class = y href=z>text"),
            Some(vec![
                pair("href", "x?a=1&b=2&c\u{e9}\u{f6}& "),
                pair("nowrap", ""),
                pair("class", "y")
            ])
        );
        assert_eq!(attributes("<br/>"), Some(Vec::new()));
        assert_eq!(token_of("</p >x").map(|(_, end)| end), Some(5));
    }

    #[test]
    fn what_is_odd_is_left_to_the_tokenizer() {
        for text in [
            "<a href=x",
            "<a href=\"x>",
            "<a href=x&#0;>",
            "<a href=x&copy>",
            "<a href=x\0>",
            "<a b\"c>",
            "<a / b>",
            "<a =x>",
            "<a b=>",
            "<p\u{e4}>",
            "</p b>",
            "</>",
            "< p>",
            "<title>",
            "<!doctype html>",
            "<![CDATA[x]]>",
            "<!-- x",
            "<!- x>",
            "&times",
            "&nbsp",
            "\0",
        ] {
            assert_eq!(token_of(text), None, "{text:?}");
        }
    }

    #[test]
    fn text_is_one_token_with_its_references() {
        for (text, read, length) in [
            ("a &amp; b &eacute;<p>", "a & b \u{e9}", 18),
            ("&nbsp;x &copy", "\u{a0}x ", 8),
            ("plain<", "plain", 5),
        ] {
            let expected = Token::CharacterTokens(StrTendril::from_slice(read));
            assert_eq!(token_of(text), Some((expected, length)), "{text}");
        }
    }

    #[test]
    fn a_comment_ends_where_the_standard_ends_it() {
        for (text, length) in [
            ("<!-->x-->", 5),
            ("<!--->x-->", 6),
            ("<!---->", 7),
            ("<!----!>", 8),
            ("<!---!>-->", 10),
            ("<!-- > --!> -->", 11),
            ("<!--a--!!>-->", 13),
            ("<!-- <!-->", 10),
            ("<!x -- > -->", 8),
            ("<?x ?> -->", 6),
        ] {
            assert_eq!(token_of(text).map(|(_, end)| end), Some(length), "{text}");
        }
    }

    /// Pieces of markup that only together make sense, or none.
    const PIECES: &[&str] = &[
        "<",
        ">",
        "/",
        "=",
        "\"",
        "'",
        "&",
        ";",
        "!",
        "-",
        "--",
        "?",
        "[",
        "]]>",
        "#",
        "\0",
        " ",
        "\n",
        "\r",
        "\r\n",
        "\u{c}",
        "\u{feff}",
        "\u{e4}",
        "word",
        "X",
        "<!--",
        "-->",
        "--!>",
        "<a ",
        "<A HREF=",
        "href=",
        "</",
        "</a>",
        "<p>",
        "</p>",
        "<b class=x>",
        "<br/>",
        "<pre>",
        "&amp;",
        "&amp",
        "&nbsp;",
        "&copy",
        "&a=",
        "&eacute;",
        "&not",
        "&notin;",
        "&#65;",
        "&#233;",
        "&#xe9;",
        "&#150;",
        "&#8217;",
        "&#x0d;",
        "<script>",
        "</script>",
        "<title>",
        "</title>",
        "<textarea>",
        "</textarea>",
        "<style>",
        "</style ",
        "<plaintext>",
        "<svg>",
        "</svg>",
        "<![CDATA[",
        "<table>",
        "<td ",
        "<select>",
        "<!doctype html>",
        "<?x",
        "<noscript>",
        "</noscript>",
        "<iframe>",
        "<a href=\"x\">",
        "title='y'",
    ];

    fn pieces() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(PIECES);
        prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
    }

    #[test]
    fn a_byte_order_mark_after_a_script_is_text() {
        reads_as_expected("<script></script>\u{feff}<!-->x");
    }

    fn reads_as_expected(html: &str) {
        let url = CanonicalUrl::parse("http://h.test/dir/page").unwrap();
        let source = PageSource {
            url: &url,
            content_type: Some("text/html; charset=utf-8"),
            body: html.as_bytes(),
        };
        let page = Page::parse(&source, DocumentKind::Html, &PageLimits::default());
        assert_eq!(
            Reading::of(&page),
            Reading::expected(html, &url),
            "{html:?}"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn the_short_way_reads_what_html5evers_tokenizer_reads(html in pieces()) {
            reads_as_expected(&html);
        }
    }
}
