//! Tables whose copy costs next to nothing: a copy shares all pages with the original, and whichever of the two
//! writes to a page first copies that one.
//!
//! What a crawl has learned is up to some hundred megabytes. To copy that at once, so that another thread can
//! write it down, was a pause of the crawl; so was the growing of a map of a million keys, which here goes
//! page by page as well.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::ops::Index;
use std::sync::Arc;

use serde::de::Deserializer;
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use crate::url::FingerprintState;

/// Values on a page of a [`SharedTable`]: 4 or 8 KiB of them.
const PAGE: usize = 1024;
/// log2 of the pages of a [`SharedMap`]: of two million keys each has some 500, so that one that is copied takes
/// a few microseconds.
const MAP_BITS: u32 = 12;

/// As many values as it was made with.
#[derive(Clone, Debug)]
pub(super) struct SharedTable<T> {
    pages: Vec<Arc<[T; PAGE]>>,
    len: usize,
}

impl<T: Copy + Default> SharedTable<T> {
    /// Nothing but default values. They take no memory until they are written to.
    pub(super) fn new(len: usize) -> Self {
        let page = Arc::new([T::default(); PAGE]);
        Self {
            pages: vec![page; len.div_ceil(PAGE)],
            len,
        }
    }

    /// `None` beyond the end.
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        if at >= self.len {
            return None;
        }
        let page = self.pages.get_mut(at / PAGE)?;
        Arc::make_mut(page).get_mut(at % PAGE)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let values = self.pages.iter().flat_map(|page| page.iter());
        values.take(self.len)
    }
}

/// Panics beyond the end.
impl<T> Index<usize> for SharedTable<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        &self.pages[at / PAGE][at % PAGE]
    }
}

impl<T: Copy + Default> From<Vec<T>> for SharedTable<T> {
    fn from(values: Vec<T>) -> Self {
        let page = |values: &[T]| {
            let mut page = [T::default(); PAGE];
            page[..values.len()].copy_from_slice(values);
            Arc::new(page)
        };
        Self {
            pages: values.chunks(PAGE).map(page).collect(),
            len: values.len(),
        }
    }
}

/// A map whose keys are 64-bit hashes.
#[derive(Clone, Debug)]
pub(super) struct SharedMap<K, V> {
    pages: Vec<Arc<HashMap<K, V, FingerprintState>>>,
    len: usize,
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        let page = Arc::new(HashMap::default());
        Self {
            pages: vec![page; 1 << MAP_BITS],
            len: 0,
        }
    }
}

impl<K: Copy + Eq + Hash, V: Copy> SharedMap<K, V> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, key: K) -> Option<&V> {
        self.pages[page_of(key)].get(&key)
    }

    pub(super) fn contains_key(&self, key: K) -> bool {
        self.get(key).is_some()
    }

    /// Does not copy a page for a key that is not there.
    pub(super) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let page = &mut self.pages[page_of(key)];
        if !page.contains_key(&key) {
            return None;
        }
        Arc::make_mut(page).get_mut(&key)
    }

    pub(super) fn get_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let page = Arc::make_mut(&mut self.pages[page_of(key)]);
        page.entry(key).or_insert_with(|| {
            self.len += 1;
            V::default()
        })
    }

    /// Gives what was there.
    pub(super) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let old = Arc::make_mut(&mut self.pages[page_of(key)]).insert(key, value);
        self.len += usize::from(old.is_none());
        old
    }

    /// Gives what was there.
    pub(super) fn remove(&mut self, key: K) -> Option<V> {
        let page = &mut self.pages[page_of(key)];
        if !page.contains_key(&key) {
            return None;
        }
        let old = Arc::make_mut(page).remove(&key);
        self.len -= usize::from(old.is_some());
        old
    }

    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(&V) -> bool) {
        for page in &mut self.pages {
            Arc::make_mut(page).retain(|_, value| is_kept(value));
        }
        self.len = self.pages.iter().map(|page| page.len()).sum();
    }

    /// In no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.pages.iter().flat_map(|page| page.iter())
    }
}

/// The maps on the pages go by other bits of the hash.
#[allow(
    clippy::cast_possible_truncation,
    reason = "what is left after the shift has `MAP_BITS` bits"
)]
fn page_of<K: Hash>(key: K) -> usize {
    let hash = FingerprintState::default().hash_one(key);
    (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - MAP_BITS)) as usize
}

/// As any map.
impl<K: Copy + Eq + Hash + Serialize, V: Copy + Serialize> Serialize for SharedMap<K, V> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = to.serialize_map(Some(self.len))?;
        for (key, value) in self.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de, K, V> Deserialize<'de> for SharedMap<K, V>
where
    K: Copy + Eq + Hash + Deserialize<'de>,
    V: Copy + Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let all = HashMap::<K, V, FingerprintState>::deserialize(from)?;
        let mut map = Self::default();
        #[expect(
            clippy::iter_over_hash_type,
            reason = "the order leaves no trace in a map"
        )]
        for (key, value) in all {
            map.insert(key, value);
        }
        Ok(map)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_copy_of_a_map_stays_what_it_was(
            before in prop::collection::vec((0..300_u64, any::<u32>()), 0..400),
            after in prop::collection::vec((0..300_u64, any::<u32>(), 0..4), 0..400),
        ) {
            let mut map = SharedMap::default();
            let mut plain = HashMap::new();
            for (key, value) in before {
                prop_assert_eq!(map.insert(key, value), plain.insert(key, value));
            }
            let (copy, plain_copy) = (map.clone(), plain.clone());
            for (key, value, what) in after {
                match what {
                    0 => prop_assert_eq!(map.insert(key, value), plain.insert(key, value)),
                    1 => prop_assert_eq!(map.remove(key), plain.remove(&key)),
                    2 => *map.get_or_default(key) = *plain.entry(key).insert_entry(value).get(),
                    _ => {
                        prop_assert_eq!(map.get(key), plain.get(&key));
                        prop_assert_eq!(map.get_mut(key), plain.get_mut(&key));
                    }
                }
                prop_assert_eq!(map.len(), plain.len());
            }
            map.retain(|value| value % 3 > 0);
            plain.retain(|_, value| *value % 3 > 0);
            for (map, plain) in [(map, plain), (copy, plain_copy)] {
                prop_assert_eq!(map.len(), plain.len());
                let all: HashMap<u64, u32> = map.iter().map(|(key, value)| (*key, *value)).collect();
                prop_assert_eq!(&all, &plain);
                let packed = postcard::to_stdvec(&map).unwrap();
                let again: SharedMap<u64, u32> = postcard::from_bytes(&packed).unwrap();
                let all: HashMap<u64, u32> = again.iter().map(|(key, value)| (*key, *value)).collect();
                prop_assert_eq!(&all, &plain);
            }
        }
    }

    #[test]
    fn a_copy_of_a_table_stays_what_it_was() {
        let mut table = SharedTable::new(2 * PAGE + 5);
        *table.get_mut(3).unwrap() = 1_u16;
        let copy = table.clone();
        *table.get_mut(3).unwrap() = 2;
        *table.get_mut(2 * PAGE + 4).unwrap() = 7;
        assert_eq!((copy[3], copy[2 * PAGE + 4]), (1, 0));
        assert_eq!((table[3], table[2 * PAGE + 4]), (2, 7));
        assert!(table.get_mut(2 * PAGE + 5).is_none());
        let all: Vec<u16> = table.iter().copied().collect();
        assert_eq!(all.len(), 2 * PAGE + 5);
        let again = SharedTable::from(all.clone());
        assert!(again.iter().eq(all.iter()));
    }
}
