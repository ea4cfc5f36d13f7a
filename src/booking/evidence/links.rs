//! The links of a page as bytes: an offset table, dictionaries, and one short record a link.

use std::collections::BTreeMap;

use super::cursor::{Cursor, put_number, put_size, put_text, utf8};
use crate::booking::DecodeError;
use crate::page::{ATTRIBUTES_MAX, LeafSpan, Link, LinkContext, LinkElement, TAG_PATH_MAX};
use crate::url::CanonicalUrl;

/// The longest entry of the dictionary of directories, in bytes; the rest of a longer one stands in
/// the record. It bounds what a foreign dictionary can unfold to.
const DIRECTORY_BYTES_MAX: usize = 2048;

/// The flag of `nofollow`; the two bits below it are the element.
const NOFOLLOW: u8 = 0b100;

/// The elements, by the number that they are stored with: never reorder.
const ELEMENTS: [LinkElement; 4] = [
    LinkElement::Anchor,
    LinkElement::Area,
    LinkElement::Frame,
    LinkElement::Refresh,
];

/// What the links of a page have in common, each once; a link names its entries by number.
#[derive(Default)]
struct Dictionary<'a> {
    directories: BTreeMap<&'a str, u32>,
    tags: BTreeMap<&'a str, u32>,
    /// Tag paths, and lists of attributes.
    paths: BTreeMap<&'a [String], u32>,
    contexts: BTreeMap<Spans, u32>,
}

/// Heading, column head and row head.
type Spans = [Option<LeafSpan>; 3];

fn spans(link: &Link) -> Spans {
    let context = &link.context;
    [context.heading, context.column_head, context.row_head]
}

impl<'a> Dictionary<'a> {
    fn of(links: &'a [Link]) -> Self {
        let mut dictionary = Self::default();
        for link in links {
            dictionary.directories.insert(parts(link).0, 0);
            dictionary.paths.insert(&link.tag_path, 0);
            dictionary.paths.insert(&link.context.attributes, 0);
            dictionary.contexts.insert(spans(link), 0);
            for tag in link.tag_path.iter().chain(&link.context.attributes) {
                dictionary.tags.insert(tag, 0);
            }
        }
        let Self {
            directories,
            tags,
            paths,
            contexts,
        } = &mut dictionary;
        (0..)
            .zip(directories.values_mut())
            .for_each(|(n, place)| *place = n);
        (0..)
            .zip(tags.values_mut())
            .for_each(|(n, place)| *place = n);
        (0..)
            .zip(paths.values_mut())
            .for_each(|(n, place)| *place = n);
        (0..)
            .zip(contexts.values_mut())
            .for_each(|(n, place)| *place = n);
        dictionary
    }

    /// Neighbouring directories begin alike, so each says how much it shares with the one before.
    fn put(&self, bytes: &mut Vec<u8>) {
        put_size(bytes, self.directories.len());
        let mut before = "";
        for directory in self.directories.keys() {
            let alike = before.bytes().zip(directory.bytes());
            let shared = alike.take_while(|(old, new)| old == new).count();
            put_size(bytes, shared);
            put_size(bytes, directory.len() - shared);
            bytes.extend_from_slice(&directory.as_bytes()[shared..]);
            before = directory;
        }
        put_size(bytes, self.tags.len());
        for tag in self.tags.keys() {
            put_text(bytes, tag);
        }
        put_size(bytes, self.paths.len());
        for path in self.paths.keys() {
            put_size(bytes, path.len());
            for tag in *path {
                put_number(bytes, self.tags[tag.as_str()]);
            }
        }
        put_size(bytes, self.contexts.len());
        for span in self.contexts.keys().flatten() {
            // 0 is none, so that the number of leaves stands first.
            let leaves = span.map_or(0, |span| span.last.saturating_sub(span.first) + 1);
            put_number(bytes, leaves);
            if let Some(span) = span {
                put_number(bytes, span.first);
            }
        }
    }

    fn put_link(&self, bytes: &mut Vec<u8>, link: &Link) {
        let (directory, name) = parts(link);
        let nofollow = if link.nofollow { NOFOLLOW } else { 0 };
        let element: u8 = match link.element {
            LinkElement::Anchor => 0,
            LinkElement::Area => 1,
            LinkElement::Frame => 2,
            LinkElement::Refresh => 3,
        };
        bytes.push(element | nofollow);
        put_number(bytes, link.first_leaf);
        put_number(bytes, link.last_leaf.saturating_sub(link.first_leaf));
        put_number(bytes, self.paths[link.tag_path.as_slice()]);
        put_number(bytes, self.paths[link.context.attributes.as_slice()]);
        put_number(bytes, self.contexts[&spans(link)]);
        put_number(bytes, self.directories[directory]);
        bytes.extend_from_slice(name.as_bytes());
    }
}

/// The directory of a link's target (with the last slash before the query) and what follows.
fn parts(link: &Link) -> (&str, &str) {
    let url = link.target.as_str();
    let path = url.split('?').next().unwrap_or_default();
    let end = path.rfind('/').map_or(0, |slash| slash + 1);
    url.split_at(url.floor_char_boundary(end.min(DIRECTORY_BYTES_MAX)))
}

/// Writes `links`: count, width of an offset, size of the dictionary, offset table, dictionary,
/// records.
pub(super) fn put(bytes: &mut Vec<u8>, links: &[Link]) {
    let dictionary = Dictionary::of(links);
    let mut entries = Vec::new();
    dictionary.put(&mut entries);
    let mut records = Vec::new();
    let mut ends = Vec::with_capacity(links.len());
    for link in links {
        dictionary.put_link(&mut records, link);
        ends.push(u32::try_from(records.len()).unwrap_or(u32::MAX));
    }
    let highest = ends.last().copied().unwrap_or_default();
    let width = (4 - highest.leading_zeros() as usize / 8).max(1);
    put_size(bytes, links.len());
    put_size(bytes, width);
    put_size(bytes, entries.len());
    for end in ends {
        bytes.extend_from_slice(&end.to_le_bytes()[..width]);
    }
    bytes.extend_from_slice(&entries);
    bytes.extend_from_slice(&records);
}

/// The links of a page, not yet read.
pub(super) struct Links<'a> {
    /// Since version 2.
    has_context: bool,
    ends: &'a [u8],
    width: usize,
    dictionary: Cursor<'a>,
    records: &'a [u8],
}

/// A record, its dictionary entries by number.
struct Record<'a> {
    flags: u8,
    first_leaf: u32,
    last_leaf: u32,
    path: usize,
    /// Attributes and spans.
    context: Option<(usize, usize)>,
    directory: usize,
    name: &'a str,
}

impl<'a> Links<'a> {
    /// Takes the links off the cursor.
    pub(super) fn take(cursor: &mut Cursor<'a>, has_context: bool) -> Result<Self, DecodeError> {
        let count = cursor.count()?;
        let width = cursor.size()?;
        if !(1..=4).contains(&width) {
            return Err(DecodeError::Evidence("the width of its offsets is wrong"));
        }
        let dictionary_bytes = cursor.size()?;
        let ends = cursor.bytes(count.saturating_mul(width))?;
        let dictionary = Cursor::new(cursor.bytes(dictionary_bytes)?);
        let mut links = Self {
            has_context,
            ends,
            width,
            dictionary,
            records: &[],
        };
        links.records = cursor.bytes(links.end_of(count))?;
        Ok(links)
    }

    fn len(&self) -> usize {
        self.ends.len() / self.width
    }

    /// The end of the first `count` records.
    fn end_of(&self, count: usize) -> usize {
        let stop = count * self.width;
        let bytes = self.ends.get(stop.saturating_sub(self.width)..stop);
        let high_first = bytes.unwrap_or_default().iter().rev();
        high_first.fold(0, |value, byte| value << 8 | usize::from(*byte))
    }

    fn record(&self, link: usize) -> Result<Record<'a>, DecodeError> {
        if link >= self.len() {
            return Err(DecodeError::Evidence("it has no such link"));
        }
        let bytes = self.records.get(self.end_of(link)..self.end_of(link + 1));
        let mut cursor = Cursor::new(bytes.ok_or(DecodeError::Evidence("an offset is wrong"))?);
        let flags = cursor.byte()?;
        let first_leaf = cursor.number()?;
        let last_leaf = first_leaf
            .checked_add(cursor.number()?)
            .ok_or(DecodeError::Evidence("the leaves of a link are wrong"))?;
        let path = cursor.size()?;
        let context = if self.has_context {
            Some((cursor.size()?, cursor.size()?))
        } else {
            None
        };
        Ok(Record {
            flags,
            first_leaf,
            last_leaf,
            path,
            context,
            directory: cursor.size()?,
            name: utf8(cursor.rest())?,
        })
    }

    /// The URL of link `link`.
    pub(super) fn url(&self, link: usize) -> Result<CanonicalUrl, DecodeError> {
        let record = self.record(link)?;
        let mut directory = None;
        let mut place = 0;
        read_directories(&mut self.dictionary.clone(), |text| {
            if place == record.directory {
                directory = Some(text.to_owned());
            }
            place += 1;
        })?;
        let mut url = directory.ok_or(DecodeError::Evidence(NO_ENTRY))?;
        url.push_str(record.name);
        Ok(CanonicalUrl::from_stored(url))
    }

    /// Link `link`.
    pub(super) fn link(&self, link: usize) -> Result<Link, DecodeError> {
        Entries::read(self.dictionary, self.has_context)?.link(&self.record(link)?)
    }

    /// All links.
    pub(super) fn all(&self) -> Result<Vec<Link>, DecodeError> {
        let entries = Entries::read(self.dictionary, self.has_context)?;
        (0..self.len())
            .map(|link| entries.link(&self.record(link)?))
            .collect()
    }
}

const NO_ENTRY: &str = "a link names no entry of the dictionary";

/// Reads the directories off the cursor, each passed to `take`.
fn read_directories(
    cursor: &mut Cursor<'_>,
    mut take: impl FnMut(&str),
) -> Result<(), DecodeError> {
    let mut directory = Vec::new();
    for _ in 0..cursor.count()? {
        let shared = cursor.size()?;
        let length = cursor.size()?;
        if shared > directory.len() || shared + length > DIRECTORY_BYTES_MAX {
            return Err(DecodeError::Evidence("a directory is wrong"));
        }
        directory.truncate(shared);
        directory.extend_from_slice(cursor.bytes(length)?);
        take(utf8(&directory)?);
    }
    Ok(())
}

/// A dictionary, read.
struct Entries<'a> {
    directories: Vec<String>,
    tags: Vec<&'a str>,
    paths: Vec<Vec<usize>>,
    contexts: Vec<Spans>,
}

impl<'a> Entries<'a> {
    fn read(mut cursor: Cursor<'a>, has_context: bool) -> Result<Self, DecodeError> {
        let mut directories = Vec::new();
        read_directories(&mut cursor, |text| directories.push(text.to_owned()))?;
        let tags = (0..cursor.count()?)
            .map(|_| cursor.text())
            .collect::<Result<_, _>>()?;
        let paths = (0..cursor.count()?)
            .map(|_| {
                let length = cursor.size()?;
                if length > TAG_PATH_MAX.max(ATTRIBUTES_MAX) {
                    return Err(DecodeError::Evidence("a tag path is too long"));
                }
                (0..length).map(|_| cursor.size()).collect()
            })
            .collect::<Result<_, _>>()?;
        let contexts = if has_context { cursor.count()? } else { 0 };
        let contexts = (0..contexts)
            .map(|_| Ok([span(&mut cursor)?, span(&mut cursor)?, span(&mut cursor)?]))
            .collect::<Result<_, DecodeError>>()?;
        Ok(Self {
            directories,
            tags,
            paths,
            contexts,
        })
    }

    /// The texts of entry `path` of the paths.
    fn texts(&self, path: usize) -> Option<Vec<String>> {
        let tags = self.paths.get(path)?.iter();
        tags.map(|tag| self.tags.get(*tag).map(|tag| (*tag).to_owned()))
            .collect()
    }

    fn context(&self, record: &Record<'_>) -> Option<LinkContext> {
        let Some((attributes, spans)) = record.context else {
            return Some(LinkContext::default());
        };
        let [heading, column_head, row_head] = *self.contexts.get(spans)?;
        Some(LinkContext {
            heading,
            column_head,
            row_head,
            attributes: self.texts(attributes)?,
        })
    }

    fn link(&self, record: &Record<'_>) -> Result<Link, DecodeError> {
        let (Some(directory), Some(tag_path), Some(context)) = (
            self.directories.get(record.directory),
            self.texts(record.path),
            self.context(record),
        ) else {
            return Err(DecodeError::Evidence(NO_ENTRY));
        };
        if record.flags >= NOFOLLOW << 1 {
            return Err(DecodeError::Evidence("a link has unknown flags"));
        }
        Ok(Link {
            target: CanonicalUrl::from_stored([directory, record.name].concat()),
            first_leaf: record.first_leaf,
            last_leaf: record.last_leaf,
            nofollow: record.flags & NOFOLLOW != 0,
            element: ELEMENTS[usize::from(record.flags & (NOFOLLOW - 1))],
            tag_path,
            context,
        })
    }
}

fn span(cursor: &mut Cursor<'_>) -> Result<Option<LeafSpan>, DecodeError> {
    let Some(more) = cursor.number()?.checked_sub(1) else {
        return Ok(None);
    };
    let first = cursor.number()?;
    let last = first
        .checked_add(more)
        .ok_or(DecodeError::Evidence("the leaves of a head are wrong"))?;
    Ok(Some(LeafSpan { first, last }))
}
