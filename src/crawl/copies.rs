//! Which booked pages are copies of others: the same to the byte, or nearly the same text.

use std::collections::HashMap;

use super::prefixes::Prefixes;
use crate::booking::{Likeness, PageBooking, Seq};
use crate::text::DISTANCE_MAX;
use crate::url::FingerprintState;

/// Blocks of a sketch: of two that differ in three bits at most, one of four blocks is the same.
const BLOCKS: u32 = 4;

/// Sketches that are looked at in one block: on a site of one template all share some, and the
/// latest are the likeliest.
const LOOKS_MAX: usize = 64;

/// What was booked so far, by its bytes and by its sketch. Some 60 bytes a page.
#[derive(Debug, Default)]
pub(super) struct Copies {
    by_digest: HashMap<u64, Seq, FingerprintState>,
    sketches: Vec<(u64, Seq)>,
    /// Places in `sketches`, by the number of a block and its bits.
    by_block: HashMap<(u32, u16), Vec<u32>>,
    /// Where they were found.
    pub(super) prefixes: Prefixes,
}

impl Copies {
    /// Takes a booked page in.
    pub(super) fn add(&mut self, seq: Seq, page: &PageBooking) {
        self.prefixes.add(page);
        if page.body_bytes > 0 {
            self.by_digest.entry(page.body_digest).or_insert(seq);
        }
        // A copy is found by what it is a copy of.
        let likeness = &page.likeness;
        if let (Some(sketch), None) = (likeness.sketch, likeness.copy_of.or(likeness.near_copy_of))
        {
            let place = u32::try_from(self.sketches.len()).unwrap_or(u32::MAX);
            self.sketches.push((sketch, seq));
            for block in 0..BLOCKS {
                let places = self.by_block.entry((block, bits(sketch, block)));
                places.or_default().push(place);
            }
        }
    }

    /// What a page of `body_bytes` with this digest and sketch is a copy of.
    pub(super) fn likeness(&self, body_bytes: u64, digest: u64, sketch: Option<u64>) -> Likeness {
        let copy_of = self.by_digest.get(&digest).copied();
        let copy_of = copy_of.filter(|_| body_bytes > 0);
        let near = match copy_of {
            Some(_) => None,
            None => sketch.and_then(|sketch| self.near(sketch)),
        };
        Likeness {
            sketch,
            copy_of,
            near_copy_of: near,
        }
    }

    fn near(&self, sketch: u64) -> Option<Seq> {
        (0..BLOCKS).find_map(|block| {
            let places = self.by_block.get(&(block, bits(sketch, block)))?;
            let latest = places.iter().rev().take(LOOKS_MAX);
            latest
                .filter_map(|place| self.sketches.get(*place as usize))
                .find(|(other, _)| (other ^ sketch).count_ones() <= DISTANCE_MAX)
                .map(|(_, seq)| *seq)
        })
    }
}

/// The bits of one block of a sketch.
fn bits(sketch: u64, block: u32) -> u16 {
    u16::try_from((sketch >> (16 * block)) & 0xffff).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sketch_within_three_bits_is_found_wherever_they_are() {
        let mut copies = Copies::default();
        let sketch = 0x0123_4567_89ab_cdef;
        copies.sketches.push((sketch, Seq(7)));
        for block in 0..BLOCKS {
            copies
                .by_block
                .insert((block, bits(sketch, block)), vec![0]);
        }
        for (a, b, c) in [(0, 1, 2), (0, 20, 63), (15, 16, 47), (60, 61, 62)] {
            let other = sketch ^ (1 << a) ^ (1 << b) ^ (1 << c);
            assert_eq!(copies.near(other), Some(Seq(7)));
            assert_eq!(copies.near(other ^ (1 << 33)), None, "four bits");
        }
    }
}
