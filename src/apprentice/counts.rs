//! Counts by hash, in a table of a fixed size.

use super::shared::SharedTable;

/// log2 of the slots: 4 MiB.
const BITS: u32 = 21;

/// How often each of many hashes was seen.
///
/// Each has two slots, of which the smaller is its count (a count-min sketch with conservative updates:
/// Cormode and Muthukrishnan 2005; Estan and Varghese 2002), so that a count is never too small, and
/// seldom too large before there are a million hashes.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Vec<u16>", into = "Vec<u16>")]
pub(super) struct Counts(SharedTable<u16>);

impl TryFrom<Vec<u16>> for Counts {
    type Error = String;

    fn try_from(slots: Vec<u16>) -> Result<Self, String> {
        if slots.len() == 1 << BITS {
            Ok(Self(slots.into()))
        } else {
            Err(format!("a table of {} slots", slots.len()))
        }
    }
}

impl From<Counts> for Vec<u16> {
    fn from(counts: Counts) -> Self {
        counts.0.iter().copied().collect()
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self(SharedTable::new(1 << BITS))
    }
}

impl Counts {
    pub(super) fn add(&mut self, hash: u64) {
        let [a, b] = slots(hash);
        let count = self.0[a].min(self.0[b]).saturating_add(1);
        for slot in [a, b] {
            if let Some(counted) = self.0.get_mut(slot) {
                *counted = (*counted).max(count);
            }
        }
    }

    pub(super) fn get(&self, hash: u64) -> u16 {
        let [a, b] = slots(hash);
        self.0[a].min(self.0[b])
    }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "what is left after the shift has `BITS` bits"
)]
fn slots(hash: u64) -> [usize; 2] {
    [0x9e37_79b9_7f4a_7c15_u64, 0xc2b2_ae3d_27d4_eb4f]
        .map(|odd| (hash.wrapping_mul(odd) >> (64 - BITS)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_never_too_small() {
        let mut counts = Counts::default();
        for hash in 0..50_000_u64 {
            for _ in 0..=hash % 3 {
                counts.add(crate::features::term_hash(&hash.to_string()));
            }
        }
        let mut wrong = 0;
        for hash in 0..50_000_u64 {
            let count = u64::from(counts.get(crate::features::term_hash(&hash.to_string())));
            assert!(count > hash % 3);
            wrong += u32::from(count != hash % 3 + 1);
        }
        // 50,000 in two million slots, twice: about 0.05 squared.
        assert!(wrong < 250, "{wrong} of 50,000 are too large");
    }
}
