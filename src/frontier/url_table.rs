//! A table from fingerprints to small states: 12 bytes a URL and the gaps, 12.9 to 13.5 in all.
//!
//! Each of 64 shards is an array in the order of the (mixed) fingerprints, with gaps: a fingerprint is
//! looked for from the place on where it would stand if all were spread evenly (linear probing in order, as
//! in Amble and Knuth, "Ordered hash tables", 1974). A full shard grows by a twentieth; one among 10 million
//! URLs takes a millisecond or two for that, where a single table would stand still for half a second. It
//! consists of small pieces, all of one size, so that what a shard leaves behind when it grows is used
//! again at once. A URL is never taken out.

use crate::url::UrlId;

const SHARD_BITS: u32 = 6;
/// What a cell keeps of a mixed fingerprint: the shard says the rest.
const KEY_BITS: u32 = 64 - SHARD_BITS;
const KEY_MASK: u64 = (1 << KEY_BITS) - 1;
const MARK_SHIFT: u32 = 32;
/// What a state may be: more than 0 and less than two to this power.
pub(super) const STATE_BITS: u32 = 96 - KEY_BITS;

/// A shard is full when so many of twenty places are taken. At nineteen some ten cells are looked at.
const FULL_OF_TWENTY: usize = 19;
/// Cells of a piece.
const PIECE: usize = 64;
/// The first places of a shard.
const HOMES_MIN: usize = PIECE;
const SHARDS: usize = 1 << SHARD_BITS;

/// Odd, so that multiplying by it loses nothing: 2^64 by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// See the module.
#[derive(Debug)]
pub(super) struct UrlTable {
    shards: Vec<Shard>,
}

/// Cells in order, gaps between them. What lies beyond the last piece is a gap.
#[derive(Debug, Default)]
struct Shard {
    pieces: Vec<Piece>,
    /// Places that a key may want; the cells behind them are for those that found theirs taken.
    homes: usize,
    used: usize,
}

/// So many cells in a row, each piece freed alone while its shard grows.
#[derive(Debug)]
struct Piece {
    cells: Box<[Cell; PIECE]>,
    /// A bit for each cell that is no gap, the lowest for the first: where a row of them ends is found
    /// without a look at them.
    used: u64,
}

/// A key (58 bits) and a state (38 bits, 0 in a gap).
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// The key's 58 bits and the 6 higher ones of the state, the higher half first.
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
        Some(shard.cell(at)?.state())
    }

    /// Sets the state of a URL; gives the one that it had.
    pub(super) fn insert(&mut self, id: UrlId, state: u64) -> Option<u64> {
        debug_assert!(0 < state && state < 1 << STATE_BITS);
        let (shard, key) = place_of(id);
        self.shards[shard].insert(Cell::new(key, state))
    }

    /// The URL with this mark and this state, if there is one.
    pub(super) fn id_of(&self, mark: u32, state: u64) -> Option<UrlId> {
        let lowest = u64::from(mark) << MARK_SHIFT;
        let (number, lowest) = (lowest >> KEY_BITS, lowest & KEY_MASK);
        let highest = lowest | ((1 << MARK_SHIFT) - 1);
        let shard = self.shards.get(usize::try_from(number).ok()?)?;
        let end = home_of(highest, shard.homes);
        let mut at = home_of(lowest, shard.homes);
        while let Some(cell) = shard.cell(at) {
            if cell.state() == state && (lowest..=highest).contains(&cell.key()) {
                return Some(id_of(number, cell.key()));
            }
            if at >= end && (cell.is_gap() || cell.key() > highest) {
                break;
            }
            at += 1;
        }
        None
    }

    /// All of them, in no order that means anything.
    pub(super) fn iter(&self) -> impl Iterator<Item = (UrlId, u64)> + '_ {
        (0..).zip(&self.shards).flat_map(|(number, shard)| {
            let cells = shard.pieces.iter().flat_map(|piece| piece.cells.iter());
            let used = cells.filter(|cell| !cell.is_gap());
            used.map(move |cell| (id_of(number, cell.key()), cell.state()))
        })
    }
}

/// What leads to a URL whose state is known: the higher half of the mixed fingerprint, which few share.
pub(super) fn mark_of(id: UrlId) -> u32 {
    u32::try_from(mixed(id) >> MARK_SHIFT).unwrap_or(u32::MAX)
}

/// Each step can be undone: no two fingerprints become one.
fn mixed(id: UrlId) -> u64 {
    // Fingerprints are spread already; but what a table costs should not hang on that.
    (id.0 ^ (id.0 >> 32)).wrapping_mul(SPREAD)
}

fn place_of(id: UrlId) -> (usize, u64) {
    let mixed = mixed(id);
    let shard = usize::try_from(mixed >> KEY_BITS).unwrap_or_default();
    (shard, mixed & KEY_MASK)
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

impl Piece {
    fn new() -> Self {
        Self {
            cells: Box::new([Cell::default(); PIECE]),
            used: 0,
        }
    }

    /// The cells from `at` on that have no gap between them.
    fn row(&self, at: usize) -> &[Cell] {
        &self.cells[at..self.gap(at)]
    }

    /// The first gap from `at` on, or the piece's end.
    fn gap(&self, at: usize) -> usize {
        at + (!(self.used >> at)).trailing_zeros() as usize
    }

    fn set(&mut self, at: usize, cell: Cell) {
        self.cells[at] = cell;
        self.used |= 1 << at;
    }

    /// Puts a cell at `at`, whose place and all up to `end` go on by one. Gives the one for which there was
    /// no place, if `end` is the piece's end.
    fn shift_in(&mut self, at: usize, end: usize, cell: Cell) -> Option<Cell> {
        if end < PIECE {
            self.cells.copy_within(at..end, at + 1);
            self.used |= 1 << end;
            self.cells[at] = cell;
            return None;
        }
        let last = self.cells[PIECE - 1];
        self.cells.copy_within(at..PIECE - 1, at + 1);
        self.cells[at] = cell;
        Some(last)
    }
}

impl Shard {
    fn cell(&self, at: usize) -> Option<Cell> {
        Some(self.pieces.get(at / PIECE)?.cells[at % PIECE])
    }

    /// The piece, made if need be with all before it: where keys crowd, others may be far beyond them.
    fn piece(&mut self, number: usize) -> &mut Piece {
        while number >= self.pieces.len() {
            self.pieces.push(Piece::new());
        }
        &mut self.pieces[number]
    }

    /// Where the key stands, or else the place that it would have to have.
    fn find(&self, key: u64) -> Result<usize, usize> {
        let home = home_of(key, self.homes);
        let (mut number, mut within) = (home / PIECE, home % PIECE);
        while let Some(piece) = self.pieces.get(number) {
            let row = piece.row(within);
            if let Some(steps) = row.iter().position(|cell| cell.key() >= key) {
                let at = number * PIECE + within + steps;
                return if row[steps].key() == key {
                    Ok(at)
                } else {
                    Err(at)
                };
            }
            within += row.len();
            if within < PIECE {
                break;
            }
            (number, within) = (number + 1, 0);
        }
        Err(number * PIECE + within)
    }

    fn insert(&mut self, cell: Cell) -> Option<u64> {
        let mut at = match self.find(cell.key()) {
            Ok(at) => {
                let place = &mut self.pieces[at / PIECE].cells[at % PIECE];
                return Some(std::mem::replace(place, cell).state());
            }
            Err(at) => at,
        };
        if (self.used + 1) * 20 > self.homes * FULL_OF_TWENTY {
            self.grow();
            at = self.find(cell.key()).unwrap_or_else(|at| at);
        }
        let (mut number, mut within) = (at / PIECE, at % PIECE);
        // Those that stand in the way go on by one, up to the next gap.
        let mut moving = Some(cell);
        while let Some(cell) = moving {
            let piece = self.piece(number);
            moving = piece.shift_in(within, piece.gap(within), cell);
            (number, within) = (number + 1, 0);
        }
        self.used += 1;
        None
    }

    /// Makes room for a twentieth more.
    fn grow(&mut self) {
        let homes = (self.homes + self.homes / 20).max(self.homes + 1);
        self.homes = homes.max(HOMES_MIN);
        let old = std::mem::take(&mut self.pieces);
        self.pieces = Vec::with_capacity(self.homes / PIECE + 2);
        let mut free = 0;
        // A piece is given back as soon as it is empty, and the next new one may be where it was.
        for piece in old {
            for cell in piece.cells.iter().filter(|cell| !cell.is_gap()) {
                let at = home_of(cell.key(), self.homes).max(free);
                self.piece(at / PIECE).set(at % PIECE, *cell);
                free = at + 1;
            }
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
        let pieces: usize = table.shards.iter().map(|shard| shard.pieces.len()).sum();
        // At most a tenth of gaps, and the last pieces of 64 shards.
        assert!(pieces * PIECE < 111_000 + 2 * SHARDS * PIECE, "{pieces}");
        for number in 0..100_000_u64 {
            assert_eq!(table.get(UrlId(number)), Some(number + 1));
        }
        assert_eq!(table.get(UrlId(100_000)), None);
    }

    #[test]
    fn a_key_far_beyond_those_that_crowd_at_the_begin_has_its_place() {
        let mut table = UrlTable::default();
        for key in 0..10_000 {
            table.insert(id_of(5, key), key + 1);
        }
        let last = id_of(5, KEY_MASK);
        assert_eq!(table.get(last), None);
        assert_eq!(table.insert(last, 7), None);
        assert_eq!(
            (table.get(last), table.get(id_of(5, 9_999))),
            (Some(7), Some(10_000))
        );
    }

    proptest! {
        #[test]
        fn it_is_a_map(
            crowded in any::<bool>(),
            steps in prop::collection::vec((0..2_000_u64, 1..1_u64 << STATE_BITS), 0..3_000),
        ) {
            let mut table = UrlTable::default();
            let mut map = BTreeMap::new();
            // Crowded: keys one beside the other at the very begin and end of one shard.
            let name = |number: u64| match (crowded, number % 2) {
                (true, 0) => id_of(63, number),
                (true, _) => id_of(63, KEY_MASK - number),
                (false, _) => UrlId(number.wrapping_mul(SPREAD)),
            };
            for (number, state) in steps {
                prop_assert_eq!(table.insert(name(number), state), map.insert(name(number), state));
            }
            for number in 0..2_000 {
                prop_assert_eq!(table.get(name(number)), map.get(&name(number)).copied());
            }
            for (id, state) in &map {
                let found = table.id_of(mark_of(*id), *state);
                let same = |other: &UrlId| mark_of(*other) == mark_of(*id) && map[other] == *state;
                prop_assert!(found == Some(*id) || found.as_ref().is_some_and(same));
            }
            prop_assert_eq!(table.id_of(7, 1 << (STATE_BITS - 1)), None);
            prop_assert_eq!(table.iter().collect::<BTreeMap<_, _>>(), map);
        }
    }
}
