//! Fingerprints of URLs.

use std::fmt;

/// A 64-bit fingerprint of a canonical URL (XXH3, seed 0: fixed by its specification, so it may be stored).
///
/// Among 10 million URLs the chance that any two share a fingerprint is 3 in a million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UrlId(pub u64);

impl UrlId {
    pub(super) fn of(canonical: &str) -> Self {
        Self(xxhash_rust::xxh3::xxh3_64(canonical.as_bytes()))
    }
}

impl fmt::Display for UrlId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
