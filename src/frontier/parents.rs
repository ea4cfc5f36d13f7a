//! The references of the links that have more than one: chains of small chunks in one place.
//!
//! Of the links that wait on a crawl of uci-ics a third have a second parent, and these have three more
//! on average (`cargo bench --bench frontier`): a box and a vector each were 100 bytes, a chunk is 24.

use super::links::PackedReference;
use super::slab::Slab;

const ROOM: usize = 2;

/// A chain of references; [`NONE`](Self::NONE) is the empty one. Whoever copies it has the same chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chain(u32);

/// Some references of a chain, in order. Only the last chunk has room.
#[derive(Debug)]
struct Chunk {
    references: [PackedReference; ROOM],
    next: Chain,
    /// Of the first chunk of a chain: how many references it has, and which of them (from 1 on) is the best;
    /// 0 if none is.
    count: u16,
    best: u16,
}

/// All chains.
#[derive(Debug)]
pub(super) struct Parents {
    chunks: Slab<Chunk>,
    /// Those that are free, as a chain.
    free: Chain,
}

impl Chain {
    pub(super) const NONE: Self = Self(0);

    fn of(number: u32) -> Self {
        Self(number + 1)
    }

    fn number(self) -> Option<u32> {
        self.0.checked_sub(1)
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
    /// How many references a chain has.
    pub(super) fn count(&self, chain: Chain) -> usize {
        self.first(chain)
            .map_or(0, |chunk| usize::from(chunk.count))
    }

    /// The place of the best one among them, from 0 on.
    pub(super) fn best(&self, chain: Chain) -> Option<usize> {
        usize::from(self.first(chain)?.best).checked_sub(1)
    }

    /// The references, in order.
    pub(super) fn iter(&self, chain: Chain) -> impl Iterator<Item = PackedReference> + '_ {
        let chunks = std::iter::successors(self.first(chain), |chunk| self.first(chunk.next));
        let all = chunks.flat_map(|chunk| chunk.references.iter().copied());
        all.take(self.count(chain))
    }

    /// Adds a reference, which may be the best so far. Gives the chain, which is another one if it was empty.
    pub(super) fn push(
        &mut self,
        chain: Chain,
        reference: PackedReference,
        is_best: bool,
    ) -> Chain {
        let count = self.count(chain);
        let mut first = chain;
        if count.is_multiple_of(ROOM) {
            let added = self.take_free();
            match self.chunk_at(chain, count.saturating_sub(1)) {
                Some(last) => self.chunks[last].next = added,
                None => first = added,
            }
        }
        if let Some(last) = self.chunk_at(first, count) {
            self.chunks[last].references[count % ROOM] = reference;
        }
        if let Some(number) = first.number() {
            let chunk = &mut self.chunks[number];
            chunk.count = chunk.count.saturating_add(1);
            if is_best {
                chunk.best = chunk.count;
            }
        }
        first
    }

    /// Puts another reference in the last one's place.
    pub(super) fn replace_last(&mut self, chain: Chain, reference: PackedReference, is_best: bool) {
        let Some(last) = self.count(chain).checked_sub(1) else {
            return;
        };
        if let Some(chunk) = self.chunk_at(chain, last) {
            self.chunks[chunk].references[last % ROOM] = reference;
        }
        if let Some(number) = chain.number()
            && is_best
        {
            self.chunks[number].best = self.chunks[number].count;
        }
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

    fn first(&self, chain: Chain) -> Option<&Chunk> {
        self.chunks.get(chain.number()?)
    }

    /// The number of the chunk that a reference stands in.
    fn chunk_at(&self, chain: Chain, place: usize) -> Option<u32> {
        let mut chunk = chain;
        for _ in 0..place / ROOM {
            chunk = self.first(chunk)?.next;
        }
        chunk.number()
    }

    fn take_free(&mut self) -> Chain {
        let empty = Chunk {
            references: [PackedReference::NONE; ROOM],
            next: Chain::NONE,
            count: 0,
            best: 0,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::booking::{Reference, Seq};

    fn reference(number: u64) -> PackedReference {
        PackedReference::of(Reference {
            seq: Seq(number),
            link: 0,
        })
    }

    #[test]
    fn a_chain_is_a_vector_and_freed_chunks_are_used_again() {
        let mut parents = Parents::default();
        for round in 0..3 {
            let mut chains = [Chain::NONE; 5];
            let mut vectors = vec![Vec::new(); 5];
            for number in 1..=35 {
                let at = (number * 7 % 5) as usize;
                chains[at] = parents.push(chains[at], reference(number), number % 3 == 0);
                vectors[at].push(reference(number));
            }
            for (chain, vector) in chains.iter().zip(&mut vectors) {
                assert_eq!(parents.iter(*chain).collect::<Vec<_>>(), *vector);
                assert_eq!(parents.count(*chain), 7);
                parents.replace_last(*chain, reference(99), true);
                vector[6] = reference(99);
                assert_eq!(parents.iter(*chain).collect::<Vec<_>>(), *vector);
                assert_eq!(parents.best(*chain), Some(6));
            }
            assert_eq!(parents.chunks.len(), 5 * 4, "round {round}");
            for chain in chains {
                parents.free(chain);
            }
        }
        assert_eq!(parents.count(Chain::NONE), 0);
        assert_eq!(parents.best(Chain::NONE), None);
    }

    #[test]
    fn a_chunk_has_24_bytes() {
        assert_eq!(size_of::<Chunk>(), 24);
    }
}
