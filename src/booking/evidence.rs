//! The evidence of a page: leaves, words and links, in one bytes field with an offset table, so that
//! one link is read without decoding the others (DESIGN.md 4.6).
//!
//! A version byte; the links (see `links`); what the page says about itself; the vocabulary; the
//! words as numbers. A word at its first appearance is 0, one known is its number plus 1: on most
//! pages a byte a word.

mod cursor;
mod links;
#[cfg(test)]
mod tests;

use cursor::{Cursor, put_number, put_size, put_text};
use encoding_rs::Encoding;
use links::Links;

use super::DecodeError;
use crate::page::{Link, LinkContext, Page, PageMeta};
use crate::url::CanonicalUrl;

/// The layout that is written; a reader knows all up to its own. Version 1 had no context of links.
const VERSION: u8 = 2;

/// Flags of what the page says about itself.
const NOINDEX: u8 = 1;
const NOFOLLOW: u8 = 2;
const CANONICAL: u8 = 4;
const FLATTENED: u8 = 8;
const NOARCHIVE: u8 = 16;

/// The evidence of `page`.
pub fn encode(page: &Page) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1024 + 12 * page.vocabulary.len());
    bytes.push(VERSION);
    links::put(&mut bytes, &page.links);
    put_number(&mut bytes, page.links_dropped);
    put_text(&mut bytes, &page.title);
    put_text(&mut bytes, page.charset);
    put_meta(&mut bytes, &page.meta, page.flattened);
    put_size(&mut bytes, page.vocabulary.len());
    for word in &page.vocabulary {
        put_text(&mut bytes, word);
    }
    let mut known = 0;
    put_words(&mut bytes, &page.title_words, &mut known);
    put_words(&mut bytes, &page.words, &mut known);
    put_size(&mut bytes, page.leaf_ends.len());
    let mut before = 0;
    for end in &page.leaf_ends {
        put_number(&mut bytes, end.saturating_sub(before));
        before = *end;
    }
    bytes
}

fn put_meta(bytes: &mut Vec<u8>, meta: &PageMeta, flattened: bool) {
    let flags = [
        (meta.noindex, NOINDEX),
        (meta.nofollow, NOFOLLOW),
        (meta.canonical.is_some(), CANONICAL),
        (flattened, FLATTENED),
        (meta.noarchive, NOARCHIVE),
    ];
    bytes.push(flags.iter().filter(|flag| flag.0).map(|flag| flag.1).sum());
    if let Some(canonical) = &meta.canonical {
        put_text(bytes, canonical.as_str());
    }
}

fn put_words(bytes: &mut Vec<u8>, words: &[u32], known: &mut u32) {
    put_size(bytes, words.len());
    for word in words {
        if word == known {
            bytes.push(0);
            *known += 1;
        } else {
            put_number(bytes, word.saturating_add(1));
        }
    }
}

/// The URL of link `link`, read alone.
///
/// # Errors
/// [`DecodeError::Evidence`] if there is no such link or the bytes are damaged.
pub fn link_url(evidence: &[u8], link: u32) -> Result<CanonicalUrl, DecodeError> {
    links_of(&mut Cursor::new(evidence))?.url(link as usize)
}

/// Link `link`, whole, read alone.
///
/// # Errors
/// As [`link_url`].
pub fn link(evidence: &[u8], link: u32) -> Result<Link, DecodeError> {
    links_of(&mut Cursor::new(evidence))?.link(link as usize)
}

/// The page as it was parsed.
///
/// # Errors
/// As [`link_url`]; also if the parts do not fit together, so that a page that is returned can be
/// read by its numbers.
pub fn decode(evidence: &[u8]) -> Result<Page, DecodeError> {
    let mut cursor = Cursor::new(evidence);
    let links = links_of(&mut cursor)?.all()?;
    let links_dropped = cursor.number()?;
    let title = cursor.text()?.to_owned();
    let charset = charset(cursor.text()?)?;
    let (meta, flattened) = meta(&mut cursor)?;
    let vocabulary: Vec<_> = (0..cursor.count()?)
        .map(|_| cursor.text().map(str::to_owned))
        .collect::<Result<_, _>>()?;
    let mut known = 0;
    let title_words = words(&mut cursor, &mut known, vocabulary.len())?;
    let words = words(&mut cursor, &mut known, vocabulary.len())?;
    let leaf_ends = leaf_ends(&mut cursor, words.len())?;
    let last_leaf = |link: &Link| {
        let LinkContext {
            heading,
            column_head,
            row_head,
            ..
        } = &link.context;
        let spans = [heading, column_head, row_head].into_iter().flatten();
        spans.fold(link.last_leaf, |last, span| last.max(span.last))
    };
    if links
        .iter()
        .any(|link| last_leaf(link) as usize >= leaf_ends.len())
    {
        return Err(DecodeError::Evidence("a link lies outside the leaves"));
    }
    if !cursor.rest().is_empty() {
        return Err(DecodeError::Evidence("something follows its end"));
    }
    Ok(Page {
        title,
        title_words,
        vocabulary,
        words,
        leaf_ends,
        links,
        meta,
        charset,
        links_dropped,
        flattened,
    })
}

fn links_of<'a>(cursor: &mut Cursor<'a>) -> Result<Links<'a>, DecodeError> {
    match cursor.byte()? {
        version @ 1..=VERSION => Links::take(cursor, version >= 2),
        _ => Err(DecodeError::Evidence(
            "its layout is unknown; it was written by another version",
        )),
    }
}

/// The name that the page type holds for life; empty for a page that was never decoded.
fn charset(name: &str) -> Result<&'static str, DecodeError> {
    if name.is_empty() {
        return Ok("");
    }
    Encoding::for_label(name.as_bytes())
        .map(Encoding::name)
        .ok_or(DecodeError::Evidence("its character set is unknown"))
}

/// What the page says about itself, and whether it was flattened.
fn meta(cursor: &mut Cursor<'_>) -> Result<(PageMeta, bool), DecodeError> {
    let flags = cursor.byte()?;
    let canonical = if flags & CANONICAL == 0 {
        None
    } else {
        Some(CanonicalUrl::from_stored(cursor.text()?.to_owned()))
    };
    let meta = PageMeta {
        noindex: flags & NOINDEX != 0,
        nofollow: flags & NOFOLLOW != 0,
        noarchive: flags & NOARCHIVE != 0,
        canonical,
    };
    Ok((meta, flags & FLATTENED != 0))
}

fn words(
    cursor: &mut Cursor<'_>,
    known: &mut u32,
    vocabulary: usize,
) -> Result<Vec<u32>, DecodeError> {
    (0..cursor.count()?)
        .map(|_| {
            let word = match cursor.number()? {
                0 => {
                    *known += 1;
                    *known - 1
                }
                number => number - 1,
            };
            if word as usize >= vocabulary {
                return Err(DecodeError::Evidence("a word is not in the vocabulary"));
            }
            Ok(word)
        })
        .collect()
}

fn leaf_ends(cursor: &mut Cursor<'_>, words: usize) -> Result<Vec<u32>, DecodeError> {
    let wrong = DecodeError::Evidence("the leaves do not fit the words");
    let mut end = 0_u32;
    let ends: Vec<_> = (0..cursor.count()?)
        .map(|_| {
            end = end.saturating_add(cursor.number()?);
            Ok(end)
        })
        .collect::<Result<_, DecodeError>>()?;
    if end as usize == words {
        Ok(ends)
    } else {
        Err(wrong)
    }
}
