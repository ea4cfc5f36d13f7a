//! Character references (`&eacute;`, `&#233;`) of the forms that leave no question; the tokenizer
//! reads the others.

use html5ever::data::NAMED_ENTITIES;
use html5ever::tendril::StrTendril;
use memchr::memchr3;

/// References that stand in many texts, found without a look into the whole table.
const USUAL: [(&[u8], &str); 5] = [
    (b"&nbsp;", "\u{a0}"),
    (b"&amp;", "&"),
    (b"&lt;", "<"),
    (b"&gt;", ">"),
    (b"&quot;", "\""),
];

/// The longest name with its semicolon: `CounterClockwiseContourIntegral;`.
const NAME_BYTES_MAX: usize = 32;

/// As many digits hold every character, and no number of so many passes the range.
const DIGITS_MAX: usize = 7;

/// Adds to `text` what `rest` begins with: a reference with its semicolon, or a `&` that begins none.
/// The bytes read; `None`, and nothing added, if it is of another form or `rest` cuts it short.
pub(super) fn read(rest: &[u8], text: &mut StrTendril) -> Option<usize> {
    if let Some((name, usual)) = USUAL.iter().find(|(name, _)| rest.starts_with(name)) {
        text.push_slice(usual);
        return Some(name.len());
    }
    match rest.get(1)? {
        b'#' => numbered(rest, text),
        next if next.is_ascii_alphanumeric() => named(rest, text),
        _ => {
            text.push_char('&');
            Some(1)
        }
    }
}

fn numbered(rest: &[u8], text: &mut StrTendril) -> Option<usize> {
    let (radix, start) = match rest.get(2)? {
        b'x' | b'X' => (16, 3),
        _ => (10, 2),
    };
    let digits = rest.get(start..)?.iter().take(DIGITS_MAX + 1);
    let length = digits.take_while(|byte| **byte != b';').count();
    if length == 0 || length > DIGITS_MAX || rest.get(start + length) != Some(&b';') {
        return None;
    }
    let mut number = 0;
    for byte in &rest[start..start + length] {
        number = number * radix + char::from(*byte).to_digit(radix)?;
    }
    // The standard makes something else of control characters.
    let is_plain = matches!(number, 0x20..0x7F | 0xA0..);
    text.push_char(char::from_u32(number).filter(|_| is_plain)?);
    Some(start + length + 1)
}

fn named(rest: &[u8], text: &mut StrTendril) -> Option<usize> {
    let name = rest.get(1..)?;
    let end = name
        .iter()
        .take(NAME_BYTES_MAX)
        .position(|byte| !byte.is_ascii_alphanumeric())?;
    if name[end] != b';' {
        return None;
    }
    let name = std::str::from_utf8(&name[..=end]).ok()?;
    // One or two characters; a name that only begins others stands for none.
    let (first, second) = NAMED_ENTITIES.get(name)?;
    text.push_char(char::from_u32(*first).filter(|first| *first != '\0')?);
    if let Some(second) = char::from_u32(*second).filter(|second| *second != '\0') {
        text.push_char(second);
    }
    Some(1 + name.len())
}

/// Adds to `text` what `rest` holds up to the next tag, references and all; the bytes read. What
/// cannot be read here stays.
pub(super) fn read_all(rest: &str, text: &mut StrTendril) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'&' => match read(&bytes[at..], text) {
                Some(length) => at += length,
                None => break,
            },
            b'<' | 0 => break,
            _ => {
                let length = memchr3(b'<', b'&', 0, &bytes[at..]).unwrap_or(bytes.len() - at);
                text.push_slice(&rest[at..at + length]);
                at += length;
            }
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(rest: &str) -> Option<(String, usize)> {
        let mut text = StrTendril::new();
        let length = read(rest.as_bytes(), &mut text);
        length.map(|length| (text.to_string(), length))
    }

    #[test]
    fn a_reference_with_its_semicolon_is_its_characters() {
        for (reference, text) in [
            ("&eacute;", "\u{e9}"),
            ("&nbsp;", "\u{a0}"),
            ("&NotEqualTilde;", "\u{2242}\u{338}"),
            ("&CounterClockwiseContourIntegral;", "\u{2233}"),
            ("&frac12;", "\u{bd}"),
            ("&#233;", "\u{e9}"),
            ("&#x20AC;", "\u{20ac}"),
            ("&#X10ffff;", "\u{10ffff}"),
            ("&#0000065;", "A"),
        ] {
            let expected = Some((text.to_owned(), reference.len()));
            assert_eq!(text_of(reference), expected, "{reference}");
            assert_eq!(text_of(&format!("{reference}x;")), expected, "{reference}");
        }
    }

    #[test]
    fn an_ampersand_alone_is_one() {
        for text in ["& ", "&<", "&&amp;", "&;", "&\u{e4}"] {
            assert_eq!(text_of(text), Some(("&".to_owned(), 1)), "{text}");
        }
    }

    #[test]
    fn what_the_standard_has_rules_for_is_left_to_the_tokenizer() {
        for text in [
            "&",
            "&#",
            "&#x",
            "&#;",
            "&#x;",
            "&#65",
            "&#65 ;",
            "&#6a;",
            "&#-6;",
            "&#+6;",
            "&#0;",
            "&#10;",
            "&#x80;",
            "&#xd800;",
            "&#x110000;",
            "&#00000065;",
            "&eacute",
            "&eacute x;",
            "&notit;",
            "&nosuchname;",
            "&CounterClockwiseContourIntegrals;",
        ] {
            assert_eq!(text_of(text), None, "{text}");
        }
    }

    #[test]
    fn text_is_read_up_to_a_tag_or_what_is_odd() {
        for (rest, text, length) in [
            ("a&lt;b&#62;c<p>", "a<b>c", 12),
            ("&copy; 1997 &eacute", "\u{a9} 1997 ", 12),
            ("\u{e9} & \0", "\u{e9} & ", 5),
            ("end", "end", 3),
        ] {
            let mut read = StrTendril::new();
            assert_eq!(read_all(rest, &mut read), length, "{rest}");
            assert_eq!(&*read, text);
        }
    }
}
