//! The name of a feature in 64 bits: namespace, offset and a fixed hash of the term.
//!
//! The same in every crawl and on every machine, so that an apprentice can be saved, carried to
//! another crawl and merged. Changing anything here makes saved apprentices worthless:
//! [`FEATURES_VERSION`] goes up with it.

use xxhash_rust::xxh3::xxh3_64;

/// The version of what features mean: the keys here, and the places of dense features.
pub const FEATURES_VERSION: u32 = 1;

/// See [`key()`].
pub type Key = u64;

/// What kind of thing a feature speaks of. Part of every key: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Namespace {
    /// <t, d>: a term at a DOM offset
    Text = 1,
    /// a term at one of a few ranges of offsets
    TextRange = 2,
    /// a term anywhere in the window
    TextNear = 3,
    /// the best class of the source page, or one of its ancestors
    SourceClass = 4,
    /// a neighbouring link whose target was judged: LOW or HIGH, at its offset
    CoCitation = 5,
    /// a token of the target's path or query
    UrlToken = 6,
    /// the target's host, or the domain above it
    TargetHost = 7,
    /// the target's host with the first parts of its path
    PathPrefix = 8,
    /// an enclosing element as `tag#id.class`, by its level
    TagPath = 9,
    /// what kind of link it is: element, nofollow, image, same host, extension
    LinkKind = 10,
    /// a term of the source page's title
    SourceTitle = 11,
    /// the whole text of the link
    AnchorText = 13,
    /// a term of the nearest heading above
    Heading = 14,
    /// a term of the head of the link's table column (offset 0) or row (offset 1)
    TableHead = 15,
    /// a token of the link's own `rel`, `id` or `class`
    Attribute = 16,
}

impl Namespace {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 15] = [
        Self::Text,
        Self::TextRange,
        Self::TextNear,
        Self::SourceClass,
        Self::CoCitation,
        Self::UrlToken,
        Self::TargetHost,
        Self::PathPrefix,
        Self::TagPath,
        Self::LinkKind,
        Self::SourceTitle,
        Self::AnchorText,
        Self::Heading,
        Self::TableHead,
        Self::Attribute,
    ];

    /// The namespace of a key; `None` for a number that is none.
    pub fn of(key: Key) -> Option<Self> {
        let number = key >> NAMESPACE_SHIFT;
        Self::ALL
            .into_iter()
            .find(|namespace| *namespace as u64 == number)
    }

    /// Whether its features say the same whatever the topic is: how a page is built, and what became of the
    /// neighbours, not which words or hosts there are.
    pub const fn is_topic_free(self) -> bool {
        matches!(
            self,
            Self::CoCitation | Self::TagPath | Self::LinkKind | Self::Attribute
        )
    }
}

/// The topic-free ones, a bit a number: it is asked for every feature that is learned.
const TOPIC_FREE: u64 = {
    let (mut mask, mut at) = (0, 0);
    while at < Namespace::ALL.len() {
        if Namespace::ALL[at].is_topic_free() {
            mask |= 1 << Namespace::ALL[at] as u8;
        }
        at += 1;
    }
    mask
};

/// 6 bits of namespace, 6 of offset (two's complement), 52 of the term's hash.
const NAMESPACE_SHIFT: u32 = 58;
const OFFSET_SHIFT: u32 = 52;
const OFFSET_MASK: u64 = 0x3f;

/// The hash of a term, a class name, a URL token: XXH3-64 of its bytes.
pub fn term_hash(term: &str) -> u64 {
    xxh3_64(term.as_bytes())
}

/// The key of `term` (its [`term_hash`]) in `namespace` at `offset`, -32 to 31.
pub fn key(namespace: Namespace, offset: i8, term: u64) -> Key {
    debug_assert!((-32..32).contains(&offset));
    (namespace as u64) << NAMESPACE_SHIFT
        | (u64::from(offset.cast_unsigned()) & OFFSET_MASK) << OFFSET_SHIFT
        | kept_of(term)
}

/// Whether the feature of a key [belongs to no topic](Namespace::is_topic_free).
pub fn is_topic_free(key: Key) -> bool {
    TOPIC_FREE >> (key >> NAMESPACE_SHIFT) & 1 == 1
}

/// The offset of a key.
pub fn offset_of(key: Key) -> i8 {
    let bits = u8::try_from(key >> OFFSET_SHIFT & OFFSET_MASK).unwrap_or_default();
    // The sixth bit is the sign.
    (bits << 2).cast_signed() >> 2
}

/// What a key keeps of the hash of its term.
pub(super) fn term_of(key: Key) -> u64 {
    key & ((1 << OFFSET_SHIFT) - 1)
}

/// The same of a hash.
pub(super) fn kept_of(term: u64) -> u64 {
    term >> (64 - OFFSET_SHIFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_same_for_ever() {
        // Saved apprentices depend on these numbers.
        let database = term_hash("database");
        assert_eq!(database, xxh3_64(b"database"));
        assert_eq!(key(Namespace::Text, 0, database) >> 52, 1 << 6);
        assert_eq!(key(Namespace::Text, -1, database) >> 52, 1 << 6 | 0x3f);
        assert_eq!(key(Namespace::AnchorText, 5, 0), 13 << 58 | 5 << 52);
    }

    #[test]
    fn a_key_tells_its_namespace_and_its_offset() {
        for namespace in Namespace::ALL {
            for offset in [-32, -5, 0, 31] {
                let key = key(namespace, offset, u64::MAX);
                assert_eq!(Namespace::of(key), Some(namespace));
                assert_eq!(offset_of(key), offset);
                assert_eq!(term_of(key), kept_of(u64::MAX));
                assert_eq!(is_topic_free(key), namespace.is_topic_free());
            }
        }
        assert_eq!(Namespace::of(0), None);
        assert_eq!(Namespace::of(u64::MAX), None);
    }
}
