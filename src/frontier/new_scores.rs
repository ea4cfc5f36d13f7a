//! What the waiting links are worth under a new epoch, beside what they were worth before.

use super::params::Combine;
use super::slab::Sparse;
use crate::booking::Seq;

/// Which of a link's two priorities counts: while a new epoch is put in force, a host goes by the one
/// or by the other, never by both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Old,
    New,
}

/// A heap that a link stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// That of its host, which is on this side.
    Own(Side),
    /// The one that its host, still on the old side, will take when it changes over.
    Second,
}

impl Line {
    /// What the heap is ordered by.
    pub(super) fn side(self) -> Side {
        match self {
            Self::Own(side) => side,
            Self::Second => Side::New,
        }
    }
}

/// New scores by slot: 12 bytes a link, and none when nothing is rescored.
#[derive(Debug, Default)]
pub(super) struct NewScores(Sparse<Scored>);

#[derive(Clone, Copy, Debug, Default)]
struct Scored {
    score: f32,
    /// The pages whose scores these are; 0 if there is none.
    pages: u32,
    /// The lower half of the number of the last of them.
    last: u32,
}

impl NewScores {
    /// Forgets all of them.
    pub(super) fn begin(&mut self) {
        self.0.forget();
    }

    /// Forgets all of them, with their memory.
    pub(super) fn end(&mut self) {
        self.0 = Sparse::default();
    }

    pub(super) fn get(&self, slot: u32) -> Option<f32> {
        let scored = self.0.get(slot);
        (scored.pages > 0).then_some(scored.score)
    }

    /// Takes in what page `seq` says of the link.
    pub(super) fn add(&mut self, slot: u32, seq: Seq, score: f32, combine: Combine) {
        let scored = self.0.get_mut(slot);
        let last = lower_half(seq);
        if scored.pages == 0 {
            *scored = Scored {
                score,
                pages: 1,
                last,
            };
        // Of the links of one page to it the first one counts.
        } else if !(combine.counts_each() && scored.last == last) {
            scored.pages = scored.pages.saturating_add(1);
            scored.last = last;
            scored.score = combine.of(scored.score, score, scored.pages);
        }
    }

    /// Replaces a score that there is.
    pub(super) fn replace(&mut self, slot: u32, score: f32) {
        if self.get(slot).is_some() {
            self.0.get_mut(slot).score = score;
        }
    }

    /// Takes the score out.
    pub(super) fn take(&mut self, slot: u32) -> Option<f32> {
        let score = self.get(slot)?;
        *self.0.get_mut(slot) = Scored::default();
        Some(score)
    }

    /// The scores up to that of `slot` are taken, and none comes there any more.
    pub(super) fn is_done_with(&mut self, slot: u32) {
        self.0.is_done_with(slot);
    }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "enough to tell a page from the ones before it"
)]
fn lower_half(seq: Seq) -> u32 {
    seq.0 as u32
}
