//! Fingerprints of URLs.

use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

/// A 64-bit fingerprint of a canonical URL (XXH3, seed 0: fixed by its specification, so it may be stored).
///
/// Among 10 million URLs the chance that any two share a fingerprint is 3 in a million.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
)]
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

/// The state of a map whose keys are fingerprints or other 64-bit hashes.
pub type FingerprintState = BuildHasherDefault<FingerprintHasher>;

/// Passes a fingerprint, or any other 64-bit hash, through: it is spread already.
#[derive(Clone, Copy, Debug, Default)]
pub struct FingerprintHasher(u64);

impl Hasher for FingerprintHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}
