//! Chance from a seed.

use rand::SeedableRng;

/// The project's generator: `ChaCha8`, whose stream is fixed by its specification, so that a seed
/// gives the same crawl on every machine and with every later version.
pub type Chance = rand_chacha::ChaCha8Rng;

/// A generator for `purpose`, derived from the crawl's `seed`.
///
/// Each use has a stream of its own: drawing once more in one place changes nothing in another.
pub fn chance(seed: u64, purpose: &str) -> Chance {
    Chance::seed_from_u64(seed ^ xxhash_rust::xxh3::xxh3_64(purpose.as_bytes()))
}
