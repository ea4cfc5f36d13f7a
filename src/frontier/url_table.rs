//! A table from fingerprints to small states: 12 bytes a URL and the gaps, 13.3 to 16 in all.
//!
//! Each of 256 shards is an array in the order of the (mixed) fingerprints, with gaps: a fingerprint is
//! looked for from the place on where it would stand if all were spread evenly (linear probing in order, as
//! in Amble and Knuth, "Ordered hash tables", 1974). A full shard grows by a fifth; one among 10 million
//! URLs takes less than a millisecond for that, where a single table would stand still for half a second.
//! A URL is never taken out.

use crate::url::UrlId;

const SHARD_BITS: u32 = 8;
/// What a cell keeps of a mixed fingerprint: the shard says the rest.
const KEY_BITS: u32 = 64 - SHARD_BITS;
/// What a state may be: more than 0 and less than two to this power.
pub(super) const STATE_BITS: u32 = 96 - KEY_BITS;

/// A shard is full when so many of ten places are taken. At nine in ten some five cells are looked at.
const FULL_OF_TEN: usize = 9;
/// Cells behind the last home, where keys are crowded there; if need be, more.
const TAIL: usize = 128;
/// The first places of a shard.
const HOMES_MIN: usize = 8;
const SHARDS: usize = 1 << SHARD_BITS;

/// Odd, so that multiplying by it loses nothing: 2^64 by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// See the module.
#[derive(Debug)]
pub(super) struct UrlTable {
    shards: Vec<Shard>,
}

/// Cells in order, gaps between them; the last one is always a gap.
#[derive(Debug, Default)]
struct Shard {
    cells: Vec<Cell>,
    /// Places that a key may want; the cells behind them are for those that found theirs taken.
    homes: usize,
    used: usize,
}

/// A key (56 bits) and a state (40 bits, 0 in a gap).
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// The key's 56 bits and the 8 higher ones of the state, the higher half first.
    upper: [u32; 2],
    lower: u32,
}

impl Default for UrlTable {
    fn default() -> Self {
        Self {
            shards: std::iter::repeat_with(Shard::default)
                .take(SHARDS)
                .collect(),
        }
    }
}

impl UrlTable {
    /// The state of a URL, if it has one.
    pub(super) fn get(&self, id: UrlId) -> Option<u64> {
        let (shard, key) = place_of(id);
        let shard = &self.shards[shard];
        let at = shard.find(key).ok()?;
        Some(shard.cells[at].state())
    }

    /// Sets the state of a URL; gives the one that it had.
    pub(super) fn insert(&mut self, id: UrlId, state: u64) -> Option<u64> {
        debug_assert!(0 < state && state < 1 << STATE_BITS);
        let (shard, key) = place_of(id);
        self.shards[shard].insert(Cell::new(key, state))
    }

    /// All of them, in no order that means anything.
    pub(super) fn iter(&self) -> impl Iterator<Item = (UrlId, u64)> + '_ {
        (0..).zip(&self.shards).flat_map(|(number, shard)| {
            let used = shard.cells.iter().filter(|cell| !cell.is_gap());
            used.map(move |cell| (id_of(number, cell.key()), cell.state()))
        })
    }
}

/// Each step can be undone: no two fingerprints become one.
fn place_of(id: UrlId) -> (usize, u64) {
    // Fingerprints are spread already; but what a table costs should not hang on that.
    let mixed = (id.0 ^ (id.0 >> 32)).wrapping_mul(SPREAD);
    let shard = usize::try_from(mixed >> KEY_BITS).unwrap_or_default();
    (shard, mixed & ((1 << KEY_BITS) - 1))
}

fn id_of(shard: u64, key: u64) -> UrlId {
    // The inverse of an odd number modulo 2^64, by Newton's steps: each doubles the bits that are right.
    let inverse = (0..5).fold(SPREAD, |inverse: u64, _| {
        inverse.wrapping_mul(2_u64.wrapping_sub(SPREAD.wrapping_mul(inverse)))
    });
    let mixed = (shard << KEY_BITS | key).wrapping_mul(inverse);
    UrlId(mixed ^ (mixed >> 32))
}

impl Cell {
    #[expect(clippy::cast_possible_truncation, reason = "each takes its part")]
    fn new(key: u64, state: u64) -> Self {
        let upper = key << SHARD_BITS | state >> 32;
        Self {
            upper: [(upper >> 32) as u32, upper as u32],
            lower: state as u32,
        }
    }

    fn upper(self) -> u64 {
        u64::from(self.upper[0]) << 32 | u64::from(self.upper[1])
    }

    fn key(self) -> u64 {
        self.upper() >> SHARD_BITS
    }

    fn state(self) -> u64 {
        (self.upper() & ((1 << SHARD_BITS) - 1)) << 32 | u64::from(self.lower)
    }

    fn is_gap(self) -> bool {
        self.state() == 0
    }
}

impl Shard {
    /// Where the key stands, or else the cell that it would have to stand in.
    fn find(&self, key: u64) -> Result<usize, usize> {
        let mut at = home_of(key, self.homes);
        while let Some(cell) = self.cells.get(at) {
            if cell.is_gap() || cell.key() > key {
                break;
            }
            if cell.key() == key {
                return Ok(at);
            }
            at += 1;
        }
        Err(at)
    }

    fn insert(&mut self, cell: Cell) -> Option<u64> {
        let mut at = match self.find(cell.key()) {
            Ok(at) => {
                let old = self.cells[at].state();
                self.cells[at] = cell;
                return Some(old);
            }
            Err(at) => at,
        };
        if (self.used + 1) * 10 > self.homes * FULL_OF_TEN {
            self.grow();
            at = self.find(cell.key()).unwrap_or_else(|at| at);
        }
        let crowd = self.cells.iter().skip(at);
        let gap = at + crowd.take_while(|cell| !cell.is_gap()).count();
        self.keep_gap_behind(gap);
        self.cells.copy_within(at..gap, at + 1);
        self.cells[at] = cell;
        self.used += 1;
        None
    }

    /// Makes room for a fifth more.
    fn grow(&mut self) {
        let homes = (self.homes + self.homes / 5).max(self.homes + 1);
        let homes = homes.max(HOMES_MIN);
        let cells = vec![Cell::default(); homes + homes.min(TAIL)];
        let old = std::mem::replace(&mut self.cells, cells);
        self.homes = homes;
        let mut free = 0;
        for cell in old.iter().filter(|cell| !cell.is_gap()) {
            let at = home_of(cell.key(), homes).max(free);
            self.keep_gap_behind(at);
            self.cells[at] = *cell;
            free = at + 1;
        }
    }

    /// Sees to it that the cell at `at` exists and is not the last one.
    fn keep_gap_behind(&mut self, at: usize) {
        if at + 1 >= self.cells.len() {
            self.cells.resize(at + TAIL, Cell::default());
        }
    }
}

/// Where a key stands if no other is in its way.
fn home_of(key: u64, homes: usize) -> usize {
    usize::try_from((u128::from(key) * homes as u128) >> KEY_BITS).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_fingerprint_comes_back_from_its_place() {
        for id in [0, 1, 5, u64::MAX, 1 << 63, 0x0123_4567_89ab_cdef] {
            let (shard, key) = place_of(UrlId(id));
            assert_eq!(id_of(shard as u64, key), UrlId(id));
        }
    }

    #[test]
    fn a_cell_holds_its_key_and_state_to_the_bit() {
        for key in [0, 1, (1 << KEY_BITS) - 1] {
            for state in [1, 1 << 32, (1 << STATE_BITS) - 1] {
                let cell = Cell::new(key, state);
                assert_eq!((cell.key(), cell.state()), (key, state));
            }
        }
    }

    #[test]
    fn a_table_of_a_hundred_thousand_has_few_gaps() {
        let mut table = UrlTable::default();
        for number in 0..100_000_u64 {
            assert_eq!(table.insert(UrlId(number), number + 1), None);
        }
        let cells: usize = table.shards.iter().map(|shard| shard.cells.len()).sum();
        // The tails of 256 small shards, and at most a third of gaps.
        assert!(cells < 256 * TAIL + 134_000, "{cells}");
        for number in 0..100_000_u64 {
            assert_eq!(table.get(UrlId(number)), Some(number + 1));
        }
        assert_eq!(table.get(UrlId(100_000)), None);
    }

    proptest! {
        #[test]
        fn it_is_a_map(
            crowded in any::<bool>(),
            steps in prop::collection::vec((0..2_000_u64, 1..1_u64 << STATE_BITS), 0..3_000),
        ) {
            let mut table = UrlTable::default();
            let mut map = BTreeMap::new();
            // Crowded: keys one beside the other at the very end of one shard.
            let name = |number: u64| match crowded {
                true => id_of(255, (1 << KEY_BITS) - 1 - number),
                false => UrlId(number.wrapping_mul(SPREAD)),
            };
            for (number, state) in steps {
                prop_assert_eq!(table.insert(name(number), state), map.insert(name(number), state));
            }
            for number in 0..2_000 {
                prop_assert_eq!(table.get(name(number)), map.get(&name(number)).copied());
            }
            prop_assert_eq!(table.iter().collect::<BTreeMap<_, _>>(), map);
        }
    }
}
