//! Tags and texts of an RDF dump, one after the other, however broken they are.
//!
//! Not by an XML parser: the dumps are no XML (bare ampersands and `<`, control characters, cut
//! ends), an unclosed quote makes a parser take the rest of the file for one attribute, and a parser
//! holds a whole text in memory, however long. Here a `<` always ends an open tag, and everything
//! has a bound. On sound input the tokens are those of quick-xml (`tests.rs`).

use std::io::{self, BufRead};

/// What is kept of a tag, in bytes: a URL of the longest kind with every character escaped fits.
const TAG_BYTES_MAX: usize = 1 << 16;
/// What is kept of a text, in bytes.
pub(super) const TEXT_BYTES_MAX: usize = 1 << 16;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// `<a b="c">`
    Open,
    /// `<a b="c"/>`
    Empty,
    /// `</a>`
    Close,
    /// What stands between tags.
    Text,
}

/// Reads tokens; the last one's bytes lie in the reader.
pub(super) struct Tokens<R> {
    input: R,
    /// The text, or the tag without its brackets.
    bytes: Vec<u8>,
    /// The line that is being read.
    at_line: u64,
    /// The line where the last token begins.
    line: u64,
    place: Place,
    /// The last token is not as it should be: an unclosed tag, a `<` within a text.
    pub(super) broken: bool,
    /// The last token was longer than is kept.
    pub(super) cut: bool,
}

/// Where the reader is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before or within a text, or at the end of the input.
    Text,
    /// Behind the `<` of a tag.
    Tag,
    /// At the end of the input, and within a tag or a comment.
    CutOff,
}

impl<R: BufRead> Tokens<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            bytes: Vec::new(),
            at_line: 1,
            line: 1,
            place: Place::Text,
            broken: false,
            cut: false,
        }
    }

    /// The line where the last token begins, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Whether the input ended within a tag or a comment.
    pub(super) fn is_cut_off(&self) -> bool {
        self.place == Place::CutOff
    }

    /// The bytes of the last text.
    pub(super) fn text(&self) -> &[u8] {
        &self.bytes
    }

    /// The next token; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Token>> {
        self.broken = false;
        self.cut = false;
        loop {
            self.bytes.clear();
            self.line = self.at_line;
            if self.place != Place::Tag {
                self.read_text()?;
                if !self.bytes.is_empty() {
                    return Ok(Some(Token::Text));
                }
                if self.place != Place::Tag {
                    return Ok(None);
                }
            }
            self.place = Place::Text;
            if !self.read_tag()? {
                self.place = Place::CutOff;
                return Ok(None);
            }
            match self.bytes.first() {
                Some(b'!' | b'?') => {}
                Some(b'/') => return Ok(Some(Token::Close)),
                _ if self.bytes.last() == Some(&b'/') => return Ok(Some(Token::Empty)),
                _ => return Ok(Some(Token::Open)),
            }
        }
    }

    /// Reads up to the `<` of a tag, over those that begin none.
    fn read_text(&mut self) -> io::Result<()> {
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                return Ok(());
            }
            let end = chunk.iter().position(|byte| *byte == b'<');
            let text = &chunk[..end.unwrap_or(chunk.len())];
            let room = TEXT_BYTES_MAX - self.bytes.len();
            self.cut |= text.len() > room;
            self.bytes.extend_from_slice(&text[..text.len().min(room)]);
            self.at_line += newlines(text);
            let read = text.len();
            self.input.consume(read);
            if end.is_none() {
                continue;
            }
            self.input.consume(1);
            let next = self.input.fill_buf()?.first().copied();
            if next.is_none_or(begins_tag) {
                self.place = Place::Tag;
                return Ok(());
            }
            self.broken = true;
            if self.bytes.len() < TEXT_BYTES_MAX {
                self.bytes.push(b'<');
            }
        }
    }

    /// Reads up to the end of a tag; false if the input ends first.
    fn read_tag(&mut self) -> io::Result<bool> {
        let mut quote = None;
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                return Ok(false);
            }
            let mut read = 0;
            let mut done = false;
            for &byte in chunk {
                // A tag in a tag: the first one was never closed.
                if byte == b'<' {
                    self.broken = true;
                    done = true;
                    break;
                }
                read += 1;
                self.at_line += u64::from(byte == b'\n');
                if byte == b'>' && quote.is_none() {
                    done = true;
                    break;
                }
                if matches!(byte, b'"' | b'\'') {
                    quote = match quote {
                        None => Some(byte),
                        Some(open) if open == byte => None,
                        open => open,
                    };
                }
                if self.bytes.len() < TAG_BYTES_MAX {
                    self.bytes.push(byte);
                } else {
                    self.broken = true;
                }
                if self.bytes == b"!--" {
                    self.input.consume(read);
                    return self.skip_comment();
                }
            }
            self.input.consume(read);
            if done {
                return Ok(true);
            }
        }
    }

    /// Reads up to the end of a comment; false if the input ends first.
    fn skip_comment(&mut self) -> io::Result<bool> {
        let mut dashes = 0;
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                return Ok(false);
            }
            let mut read = 0;
            for &byte in chunk {
                read += 1;
                self.at_line += u64::from(byte == b'\n');
                match byte {
                    b'-' => dashes += 1,
                    b'>' if dashes >= 2 => {
                        self.input.consume(read);
                        return Ok(true);
                    }
                    _ => dashes = 0,
                }
            }
            self.input.consume(read);
        }
    }

    /// The name of the last tag without its namespace: `Title` of `d:Title`.
    pub(super) fn name(&self) -> &[u8] {
        let tag = self.bytes.strip_prefix(b"/").unwrap_or(&self.bytes);
        let end = tag
            .iter()
            .position(|byte| byte.is_ascii_whitespace() || *byte == b'/');
        local(&tag[..end.unwrap_or(tag.len())])
    }

    /// The raw value of an attribute of the last tag, its name without a namespace.
    pub(super) fn attribute(&self, wanted: &[u8]) -> Option<&[u8]> {
        let start = self.bytes.iter().position(u8::is_ascii_whitespace)?;
        let mut rest = &self.bytes[start..];
        loop {
            let equals = rest.iter().position(|byte| *byte == b'=')?;
            let name = rest[..equals].trim_ascii();
            let value = rest[equals + 1..].trim_ascii_start();
            let quote = *value.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
            let value = &value[1..];
            let end = value.iter().position(|byte| *byte == quote)?;
            if local(name) == wanted {
                return Some(&value[..end]);
            }
            rest = &value[end + 1..];
        }
    }
}

fn begins_tag(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'/' | b'!' | b'?' | b'_')
}

/// A name without its namespace.
fn local(name: &[u8]) -> &[u8] {
    let colon = name.iter().rposition(|byte| *byte == b':');
    colon.map_or(name, |colon| &name[colon + 1..])
}

fn newlines(text: &[u8]) -> u64 {
    text.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}
