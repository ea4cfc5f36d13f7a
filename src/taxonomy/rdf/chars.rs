//! Bytes of a dump as text: UTF-8, references, control characters, whatever is wrong with them.

use std::borrow::Cow;

/// A reference is not longer than this, in bytes without `&` and `;`.
const REFERENCE_BYTES_MAX: usize = 10;

/// What was wrong with a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flaws {
    pub(super) bad_utf8: bool,
    pub(super) control: bool,
    pub(super) ampersand: bool,
}

/// The text that `raw` stands for, white space as single spaces, none at its ends.
pub(super) fn text(raw: &[u8], flaws: &mut Flaws) -> String {
    let raw = String::from_utf8_lossy(raw);
    flaws.bad_utf8 |= matches!(raw, Cow::Owned(_));
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw.as_ref();
    while let Some(at) = rest.find('&') {
        push(&mut out, &rest[..at], flaws);
        rest = &rest[at + 1..];
        if let Some((sign, after)) = reference(rest) {
            push(&mut out, sign.encode_utf8(&mut [0; 4]), flaws);
            rest = after;
        } else {
            flaws.ampersand = true;
            out.push('&');
        }
    }
    push(&mut out, rest, flaws);
    let end = out.trim_end().len();
    out.truncate(end);
    out
}

/// Appends `piece`; white space is one space, and so is a control character.
fn push(out: &mut String, piece: &str, flaws: &mut Flaws) {
    for sign in piece.chars() {
        let space = sign.is_whitespace();
        if sign.is_control() && !space {
            flaws.control = true;
        } else if !space {
            out.push(sign);
            continue;
        }
        if !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
    }
}

/// The character of a reference such as `amp;` or `#233;`, and what follows it.
fn reference(text: &str) -> Option<(char, &str)> {
    let end = text
        .bytes()
        .take(REFERENCE_BYTES_MAX)
        .position(|byte| byte == b';')?;
    let (name, after) = (&text[..end], &text[end + 1..]);
    let sign = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let hex = number.strip_prefix(['x', 'X']);
            let code = match hex {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    };
    Some((sign, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &[u8]) -> (String, Flaws) {
        let mut flaws = Flaws::default();
        (text(raw, &mut flaws), flaws)
    }

    #[test]
    fn references_are_undone_and_bare_ampersands_stay() {
        let (sound, none) = read(b" Q&amp;A &#233;&#xE9; &lt;b&gt;\n");
        assert_eq!(
            (sound.as_str(), none),
            ("Q&A \u{e9}\u{e9} <b>", Flaws::default())
        );
        let (bare, flaws) = read(b"AT&T & Co &nosuch; &#xD800; &");
        assert_eq!(bare, "AT&T & Co &nosuch; &#xD800; &");
        assert!(flaws.ampersand && !flaws.control && !flaws.bad_utf8);
    }

    #[test]
    fn control_characters_are_spaces_and_bad_bytes_are_marked() {
        let (text, flaws) = read(b"a\x00\x0bb\xff c &#1;d");
        assert_eq!(text, "a b\u{fffd} c d");
        assert!(flaws.control && flaws.bad_utf8 && !flaws.ampersand);
    }
}
