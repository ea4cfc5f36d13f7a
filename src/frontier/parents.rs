//! What belongs to the links that have more than one reference: chains of small chunks in one place.
//!
//! Of the links that wait on a crawl of uci-ics a third have a second parent, and these have three more
//! on average (`cargo bench --bench frontier`). A chain is a string of bytes: a head of 7, then each reference
//! as the steps from the one before it, in varints, which are 4 or 5 bytes where a reference has 8.

use prost::encoding::{decode_varint, encode_varint};

use super::links::PackedReference;
use super::slab::Slab;
use crate::booking::{Reference, Seq};

/// Bytes of a chunk.
const ROOM: usize = 12;
const HEAD: usize = 7;
/// References that a chain has at most, so that their number and the best one's fit into a byte.
pub(super) const OTHERS_MAX: usize = 15;
/// Two varints each: a step of up to 37 bits and a number of 28.
const BYTES_MAX: usize = HEAD + OTHERS_MAX * (6 + 4);

/// A chain. Whoever copies it has the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chain(u32);

/// What stands before the references.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Head {
    /// The greatest priority that a reference gave.
    pub(super) best_offered: f32,
    /// References offered, also those that were not kept; of more than fit, as many as fit.
    pub(super) parents: u16,
    /// References kept here.
    count: u8,
    /// Which of them is the best, from 1 on; 0 if none is.
    best: u8,
}

#[derive(Debug)]
struct Chunk {
    bytes: [u8; ROOM],
    next: Chain,
}

/// All chains.
#[derive(Debug)]
pub(super) struct Parents {
    chunks: Slab<Chunk>,
    /// Those that are free, as a chain.
    free: Chain,
}

impl Chain {
    const NONE: Self = Self(0);

    fn of(number: u32) -> Self {
        Self(number + 1)
    }

    fn number(self) -> Option<u32> {
        self.0.checked_sub(1)
    }

    /// To be kept where there is room for a number.
    pub(super) fn to_bits(self) -> u32 {
        self.0
    }

    /// What [`to_bits`](Self::to_bits) made a number of.
    pub(super) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

impl Head {
    fn of(bytes: [u8; HEAD]) -> Self {
        let [o0, o1, o2, o3, p0, p1, kept] = bytes;
        Self {
            best_offered: f32::from_le_bytes([o0, o1, o2, o3]),
            parents: u16::from_le_bytes([p0, p1]),
            count: kept >> 4,
            best: kept & 15,
        }
    }

    fn to_bytes(self) -> [u8; HEAD] {
        let [o0, o1, o2, o3] = self.best_offered.to_le_bytes();
        let [p0, p1] = self.parents.to_le_bytes();
        let kept = self.count << 4 | self.best;
        [o0, o1, o2, o3, p0, p1, kept]
    }

    /// References kept in the chain.
    pub(super) fn count(self) -> usize {
        usize::from(self.count)
    }

    /// The place of the best one among them, from 0 on.
    pub(super) fn best(self) -> Option<usize> {
        usize::from(self.best).checked_sub(1)
    }
}

impl Default for Parents {
    fn default() -> Self {
        Self {
            chunks: Slab::default(),
            free: Chain::NONE,
        }
    }
}

impl Parents {
    /// A chain without references, of a link with one parent so far.
    pub(super) fn begin(&mut self, best_offered: f32) -> Chain {
        let chain = self.take_free();
        let head = Head {
            best_offered,
            parents: 1,
            count: 0,
            best: 0,
        };
        self.set_head(chain, head);
        chain
    }

    pub(super) fn head(&self, chain: Chain) -> Head {
        let mut bytes = [0; HEAD];
        self.read(chain, &mut bytes);
        Head::of(bytes)
    }

    /// Sets what a reference that is not kept changes.
    pub(super) fn set_head(&mut self, chain: Chain, head: Head) {
        self.write(chain, 0, &head.to_bytes());
    }

    /// The references, in order; `first` is the one that the link itself has.
    pub(super) fn iter(
        &self,
        chain: Chain,
        first: PackedReference,
    ) -> impl Iterator<Item = PackedReference> + use<> {
        self.decoded(chain, first).map(|(reference, _)| reference)
    }

    /// Adds a reference, which may be the best so far. There must be room.
    pub(super) fn push(
        &mut self,
        chain: Chain,
        first: PackedReference,
        (reference, is_best): (PackedReference, bool),
    ) {
        let mut head = self.head(chain);
        debug_assert!(head.count() < OTHERS_MAX);
        let last = self.decoded(chain, first).last();
        let (last, at) = last.unwrap_or((first, HEAD));
        head.count += 1;
        self.append(chain, at, last, reference, (head, is_best));
    }

    /// Puts another reference in the last one's place.
    pub(super) fn replace_last(
        &mut self,
        chain: Chain,
        first: PackedReference,
        (reference, is_best): (PackedReference, bool),
    ) {
        let head = self.head(chain);
        let Some(before) = head.count().checked_sub(1) else {
            return;
        };
        let last = before.checked_sub(1);
        let last = last.and_then(|at| self.decoded(chain, first).nth(at));
        let (last, at) = last.unwrap_or((first, HEAD));
        self.append(chain, at, last, reference, (head, is_best));
    }

    /// The chain is needed no longer.
    pub(super) fn free(&mut self, chain: Chain) {
        let mut left = chain;
        while let Some(number) = left.number() {
            let chunk = &mut self.chunks[number];
            let next = std::mem::replace(&mut chunk.next, self.free);
            self.free = left;
            left = next;
        }
    }

    /// Writes a reference that follows `last` as the last one of the chain, from byte `at` on.
    fn append(
        &mut self,
        chain: Chain,
        at: usize,
        last: PackedReference,
        reference: PackedReference,
        (mut head, is_best): (Head, bool),
    ) {
        let mut bytes = Vec::with_capacity(12);
        let (from, to) = (last.unpack(), reference.unpack());
        encode_varint(zigzag(to.seq.0.wrapping_sub(from.seq.0)), &mut bytes);
        encode_varint(u64::from(to.link), &mut bytes);
        self.write(chain, at, &bytes);
        if is_best {
            head.best = head.count;
        }
        self.set_head(chain, head);
    }

    /// The references, each with the byte behind it.
    fn decoded(
        &self,
        chain: Chain,
        first: PackedReference,
    ) -> impl Iterator<Item = (PackedReference, usize)> + use<> {
        let mut all = [0; BYTES_MAX];
        let head = self.head(chain);
        self.read(chain, &mut all);
        let (mut at, mut last) = (HEAD, first.unpack());
        let next = move || {
            let mut left = all.get(at..)?;
            let step = decode_varint(&mut left).ok()?;
            let link = decode_varint(&mut left).ok()?;
            at = BYTES_MAX - left.len();
            last = Reference {
                seq: Seq(last.seq.0.wrapping_add(unzigzag(step))),
                link: u32::try_from(link).ok()?,
            };
            Some((PackedReference::of(last), at))
        };
        std::iter::from_fn(next).take(head.count())
    }

    /// Fills `bytes` from the chain's begin.
    fn read(&self, chain: Chain, bytes: &mut [u8]) {
        let mut left = chain;
        for part in bytes.chunks_mut(ROOM) {
            let Some(chunk) = left.number().and_then(|number| self.chunks.get(number)) else {
                return;
            };
            part.copy_from_slice(&chunk.bytes[..part.len()]);
            left = chunk.next;
        }
    }

    /// Writes into a chain, which has a chunk at least, and grows as it must.
    fn write(&mut self, chain: Chain, at: usize, bytes: &[u8]) {
        let mut chunk = chain;
        let mut place = at;
        for byte in bytes {
            while place >= ROOM {
                chunk = self.next_of(chunk);
                place -= ROOM;
            }
            if let Some(number) = chunk.number() {
                self.chunks[number].bytes[place] = *byte;
            }
            place += 1;
        }
    }

    /// The chunk after that one, there already or new.
    fn next_of(&mut self, chunk: Chain) -> Chain {
        let Some(number) = chunk.number() else {
            return Chain::NONE;
        };
        if self.chunks[number].next == Chain::NONE {
            self.chunks[number].next = self.take_free();
        }
        self.chunks[number].next
    }

    fn take_free(&mut self) -> Chain {
        let empty = Chunk {
            bytes: [0; ROOM],
            next: Chain::NONE,
        };
        match self.free.number() {
            Some(number) => {
                let chain = self.free;
                self.free = std::mem::replace(&mut self.chunks[number], empty).next;
                chain
            }
            None => Chain::of(self.chunks.push(empty)),
        }
    }
}

/// A step forward or back as a number that is small if the step is.
fn zigzag(step: u64) -> u64 {
    step << 1 ^ (step >> 63).wrapping_neg()
}

fn unzigzag(number: u64) -> u64 {
    number >> 1 ^ (number & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reference(seq: u64, link: u32) -> PackedReference {
        PackedReference::of(Reference {
            seq: Seq(seq),
            link,
        })
    }

    fn any_reference() -> impl Strategy<Value = PackedReference> {
        let seq = prop_oneof![1..1_000_u64, 1..1_u64 << 36];
        let link = prop_oneof![0..200_u32, 0..1_u32 << 28];
        (seq, link).prop_map(|(seq, link)| reference(seq, link))
    }

    proptest! {
        #[test]
        fn a_chain_is_a_vector_and_freed_chunks_are_used_again(
            first in any_reference(),
            steps in prop::collection::vec((0..5_usize, any_reference(), any::<bool>()), 0..90),
        ) {
            let mut parents = Parents::default();
            let mut chunks = None;
            for _ in 0..3 {
                let chains: [Chain; 5] = std::array::from_fn(|_| parents.begin(0.5));
                let mut vectors = vec![(Vec::new(), None); 5];
                for (at, reference, is_best) in &steps {
                    let (vector, best) = &mut vectors[*at];
                    let added = (*reference, *is_best);
                    if vector.len() < OTHERS_MAX {
                        parents.push(chains[*at], first, added);
                    } else {
                        parents.replace_last(chains[*at], first, added);
                        vector.pop();
                    }
                    vector.push(*reference);
                    *best = if *is_best { Some(vector.len() - 1) } else { *best };
                }
                for (chain, (vector, best)) in chains.iter().zip(&vectors) {
                    prop_assert_eq!(&parents.iter(*chain, first).collect::<Vec<_>>(), vector);
                    let head = parents.head(*chain);
                    prop_assert_eq!((head.count(), head.best()), (vector.len(), *best));
                    prop_assert_eq!((head.best_offered, head.parents), (0.5, 1));
                }
                for chain in chains {
                    parents.free(chain);
                }
                let used = *chunks.get_or_insert(parents.chunks.len());
                prop_assert_eq!(parents.chunks.len(), used);
            }
        }
    }

    #[test]
    fn three_references_that_are_not_far_off_need_two_chunks_of_16_bytes() {
        let mut parents = Parents::default();
        let first = reference(500_000, 3);
        let chain = parents.begin(0.0);
        for (seq, link) in [(700_000, 5), (900_000, 100), (1_500_000, 1)] {
            parents.push(chain, first, (reference(seq, link), false));
        }
        assert_eq!(parents.chunks.len(), 2);
        assert_eq!(size_of::<Chunk>(), 16);
    }
}
