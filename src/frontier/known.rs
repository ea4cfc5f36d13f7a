//! Which URLs are known, and what became of each: less than 16 bytes a URL (`cargo bench --bench frontier`).

use super::url_table::{STATE_BITS, UrlTable};
use crate::booking::{Refusal, Seq};
use crate::url::UrlId;

/// What became of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It waits or is leased; its record in [`Links`](super::links::Links).
    Open(u32),
    Fetched(Seq),
    Refused {
        refusal: Refusal,
        seq: Seq,
        /// No other page can make it waiting.
        is_lasting: bool,
    },
}

/// A map from fingerprints. Never iterated in an order that matters.
#[derive(Debug, Default)]
pub(super) struct KnownUrls {
    states: UrlTable,
    fetched: u64,
    refused: u64,
}

impl KnownUrls {
    pub(super) fn get(&self, id: UrlId) -> Option<Known> {
        self.states.get(id).map(|packed| Packed(packed).unpack())
    }

    /// The URL whose record, which has this mark, is in this slot.
    pub(super) fn open_id(&self, mark: u32, slot: u32) -> Option<UrlId> {
        self.states.id_of(mark, Packed::of(Known::Open(slot)).0)
    }

    pub(super) fn set(&mut self, id: UrlId, state: Known) {
        let old = self.states.insert(id, Packed::of(state).0);
        match old.map(|packed| Packed(packed).unpack()) {
            Some(Known::Fetched(_)) => self.fetched -= 1,
            Some(Known::Refused { .. }) => self.refused -= 1,
            Some(Known::Open(_)) | None => {}
        }
        match state {
            Known::Fetched(_) => self.fetched += 1,
            Known::Refused { .. } => self.refused += 1,
            Known::Open(_) => {}
        }
    }

    pub(super) fn fetched(&self) -> u64 {
        self.fetched
    }

    pub(super) fn refused(&self) -> u64 {
        self.refused
    }

    /// All of them, by fingerprint.
    pub(super) fn sorted(&self) -> Vec<(UrlId, Known)> {
        let mut all: Vec<_> = self
            .states
            .iter()
            .map(|(id, packed)| (id, Packed(packed).unpack()))
            .collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all
    }
}

/// A [`Known`] in 38 bits, never 0: a kind (5) and a number (33: 8 billion events).
#[derive(Clone, Copy, Debug)]
struct Packed(u64);

const NUMBER_BITS: u32 = STATE_BITS - 5;
const KIND_FETCHED: u64 = 0; // events start at 1
const KIND_LASTING: u64 = 0x10; // + the refusal's number, 1..=13; without it, other pages may offer it
const KIND_OPEN: u64 = 0x1f;
const _: () = assert!(Refusal::ALL.len() < 15, "a kind has room for 14");

impl Packed {
    fn of(state: Known) -> Self {
        let (kind, number) = match state {
            Known::Open(slot) => (KIND_OPEN, u64::from(slot)),
            // No event has the number 0, which would be nothing at all.
            Known::Fetched(seq) => (KIND_FETCHED, seq.0.max(1)),
            Known::Refused {
                refusal,
                seq,
                is_lasting,
            } => {
                let lasting = if is_lasting { KIND_LASTING } else { 0 };
                (lasting | refusal as u64, seq.0)
            }
        };
        debug_assert!(number < 1 << NUMBER_BITS);
        Self(kind << NUMBER_BITS | number)
    }

    fn unpack(self) -> Known {
        let kind = self.0 >> NUMBER_BITS;
        let number = self.0 & ((1 << NUMBER_BITS) - 1);
        if kind == KIND_OPEN {
            // Only `of` makes these, from a u32.
            return Known::Open(u32::try_from(number).unwrap_or(u32::MAX));
        }
        let refusal = u32::try_from(kind & !KIND_LASTING)
            .ok()
            .and_then(Refusal::from_number);
        match refusal {
            Some(refusal) => Known::Refused {
                refusal,
                seq: Seq(number),
                is_lasting: kind & KIND_LASTING != 0,
            },
            None => Known::Fetched(Seq(number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_comes_back_as_it_was_packed() {
        let mut states = vec![
            Known::Open(0),
            Known::Open(u32::MAX),
            Known::Fetched(Seq(1)),
            Known::Fetched(Seq((1 << NUMBER_BITS) - 1)),
        ];
        for refusal in Refusal::ALL {
            for is_lasting in [false, true] {
                states.push(Known::Refused {
                    refusal,
                    seq: Seq(7),
                    is_lasting,
                });
            }
        }
        for state in states {
            assert_eq!(Packed::of(state).unpack(), state);
        }
    }

    #[test]
    fn the_counters_follow_a_url_through_its_states() {
        let mut known = KnownUrls::default();
        let id = UrlId(5);
        known.set(
            id,
            Known::Refused {
                refusal: Refusal::Depth,
                seq: Seq(1),
                is_lasting: false,
            },
        );
        assert_eq!((known.fetched(), known.refused()), (0, 1));
        known.set(id, Known::Open(0));
        assert_eq!((known.fetched(), known.refused()), (0, 0));
        known.set(id, Known::Fetched(Seq(2)));
        assert_eq!((known.fetched(), known.refused()), (1, 0));
    }
}
