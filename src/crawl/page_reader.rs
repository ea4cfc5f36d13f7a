//! Hashed pages from the store, and what a scorer learns from an event of the log.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::judging::Judge;
use super::labels::LOST;
use super::lease_task::source_facts;
use crate::apprentice::{LinkScorer, Prepared};
use crate::booking::{Event, FailureBooking, PageBooking, Reference, Seq};
use crate::features::{PageSketch, TermWeights};
use crate::frontier::{FrontierStore, StoreFailure};
use crate::url::UrlId;

/// Bytes of hashed pages kept in memory; the others are read from the store again.
const SKETCH_BYTES_MAX: usize = 256 << 20;

/// Hashed pages; the ones that came in first go first.
struct Sketches {
    by_seq: HashMap<Seq, Arc<PageSketch>>,
    order: VecDeque<Seq>,
    bytes: usize,
    bytes_max: usize,
}

impl Default for Sketches {
    fn default() -> Self {
        Self {
            by_seq: HashMap::new(),
            order: VecDeque::new(),
            bytes: 0,
            bytes_max: SKETCH_BYTES_MAX,
        }
    }
}

impl Sketches {
    fn insert(&mut self, seq: Seq, sketch: Arc<PageSketch>) {
        self.bytes += sketch.bytes();
        match self.by_seq.insert(seq, sketch) {
            Some(same) => self.bytes -= same.bytes(),
            None => self.order.push_back(seq),
        }
        while self.bytes > self.bytes_max {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            if let Some(gone) = self.by_seq.remove(&oldest) {
                self.bytes -= gone.bytes();
            }
        }
    }
}

/// A page with the place of a link on it.
pub(super) type Pair = (Arc<PageSketch>, u32);

/// Reads pages of one crawl as its apprentice sees them.
pub(super) struct PageReader {
    store: Arc<dyn FrontierStore>,
    judge: Judge,
    weights: Arc<TermWeights>,
    sketches: Sketches,
}

impl PageReader {
    pub(super) fn new(
        store: Arc<dyn FrontierStore>,
        judge: Judge,
        weights: Arc<TermWeights>,
    ) -> Self {
        Self {
            store,
            judge,
            weights,
            sketches: Sketches::default(),
        }
    }

    pub(super) fn weights(&self) -> &Arc<TermWeights> {
        &self.weights
    }

    pub(super) fn keep(&mut self, seq: Seq, sketch: &Arc<PageSketch>) {
        self.sketches.insert(seq, Arc::clone(sketch));
    }

    /// The page of event `seq`, hashed, and kept for the next time; `None` if the event is no page.
    pub(super) fn sketch(&mut self, seq: Seq) -> Result<Option<Arc<PageSketch>>, StoreFailure> {
        let sketch = self.glance(seq)?;
        if let Some(sketch) = &sketch
            && !self.sketches.by_seq.contains_key(&seq)
        {
            self.keep(seq, sketch);
        }
        Ok(sketch)
    }

    /// The same for one who goes through all pages, which would only drive out those that are asked for
    /// again soon: it is not kept.
    pub(super) fn glance(&self, seq: Seq) -> Result<Option<Arc<PageSketch>>, StoreFailure> {
        if let Some(sketch) = self.sketches.by_seq.get(&seq) {
            return Ok(Some(Arc::clone(sketch)));
        }
        match self.store.event(seq)? {
            Some(Event::Page(booking)) => self.read(seq, &booking).map(Some),
            _ => Ok(None),
        }
    }

    /// The same, if a link of the page leads to what `matters`.
    pub(super) fn glance_if(
        &self,
        seq: Seq,
        matters: &dyn Fn(UrlId) -> bool,
    ) -> Result<Option<Arc<PageSketch>>, StoreFailure> {
        if let Some(sketch) = self.sketches.by_seq.get(&seq) {
            let mut links = sketch.links.iter();
            let some = links.any(|link| matters(link.target));
            return Ok(some.then(|| Arc::clone(sketch)));
        }
        match self.store.event(seq)? {
            // Whether to read the page at all can be told without its evidence.
            Some(Event::Page(booking)) if booking.links.iter().any(|link| matters(link.target)) => {
                self.read(seq, &booking).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn read(&self, seq: Seq, booking: &PageBooking) -> Result<Arc<PageSketch>, StoreFailure> {
        let page = self.store.page(seq)?;
        let names = self.judge.class_names();
        let judgement = &booking.judgement;
        let class = judgement.best.first().map(|(class, _)| *class);
        let facts = source_facts(judgement.log_odds, class, &names, booking.lease.depth);
        let sketch = PageSketch::new(&booking.lease.url, &page, facts, &self.weights);
        Ok(Arc::new(sketch))
    }

    /// One a reference; `None` for one that is no page.
    pub(super) fn pairs(
        &mut self,
        references: &[Reference],
    ) -> Result<Vec<Option<Pair>>, StoreFailure> {
        let pairs = references.iter().map(|reference| {
            let sketch = self.sketch(reference.seq)?;
            Ok(sketch.map(|sketch| (sketch, reference.link)))
        });
        pairs.collect()
    }

    /// What `scorer` knows of a link at this moment.
    pub(super) fn prepared(
        &mut self,
        scorer: &mut dyn LinkScorer,
        references: &[Reference],
    ) -> Result<Prepared, StoreFailure> {
        let (mut places, mut pairs) = (Vec::new(), Vec::new());
        for (place, pair) in (0..).zip(self.pairs(references)?) {
            if let Some(pair) = pair {
                places.push(place);
                pairs.push(pair);
            }
        }
        let mut prepared = scorer.prepare(&pairs);
        for pair in prepared
            .frozen
            .iter_mut()
            .flat_map(|frozen| &mut frozen.pairs)
        {
            pair.reference = places
                .get(pair.reference as usize)
                .copied()
                .unwrap_or(u32::MAX);
        }
        Ok(prepared)
    }

    /// Learns from a booked page: from what was frozen at its lease, or, where an old record has nothing,
    /// from what is known by now. Without a `label` only the dynamic counters take it in; with `anew` it was
    /// another apprentice that predicted then.
    pub(super) fn fold(
        &mut self,
        scorer: &mut dyn LinkScorer,
        seq: Seq,
        page: &PageBooking,
        label: Option<f32>,
        anew: bool,
    ) -> Result<Prepared, StoreFailure> {
        let references = &page.lease.references;
        let mut prepared = match &page.frozen {
            _ if label.is_none() => Prepared::default(),
            Some(frozen) => scorer.thaw(&self.pairs(references)?, frozen),
            None => self.prepared(scorer, references)?,
        };
        if anew {
            scorer.predict_anew(&mut prepared);
        }
        if let Some(label) = label {
            scorer.learn(&prepared, label);
        }
        if let Some(sketch) = self.sketch(seq)? {
            scorer.saw(&sketch);
        }
        Ok(prepared)
    }

    /// The same for a fetch that was lost; gives what was learned, if it was a lesson.
    pub(super) fn fold_failure(
        &mut self,
        scorer: &mut dyn LinkScorer,
        failure: &FailureBooking,
        learns: bool,
        anew: bool,
    ) -> Result<Option<Prepared>, StoreFailure> {
        let Some(frozen) = &failure.frozen else {
            return Ok(None);
        };
        if !learns {
            if failure.is_lesson {
                scorer.saw_none();
            }
            return Ok(None);
        }
        let mut prepared = scorer.thaw(&self.pairs(&failure.lease.references)?, frozen);
        if !failure.is_lesson {
            scorer.lose(&prepared);
            return Ok(None);
        }
        if anew {
            scorer.predict_anew(&mut prepared);
        }
        scorer.learn(&prepared, LOST);
        scorer.saw_none();
        Ok(Some(prepared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashed_pages_are_counted_once_and_kept_within_their_bound() {
        let sketch = Arc::new(PageSketch::default());
        let one = sketch.bytes();
        let mut sketches = Sketches {
            bytes_max: 3 * one,
            ..Sketches::default()
        };
        // Opening a crawl puts each page in twice: when it is read, and when it is learned from.
        for _ in 0..10 {
            sketches.insert(Seq(1), Arc::clone(&sketch));
        }
        assert_eq!((sketches.bytes, sketches.by_seq.len()), (one, 1));
        for seq in 2..=5 {
            sketches.insert(Seq(seq), Arc::clone(&sketch));
        }
        let mut kept: Vec<u64> = sketches.by_seq.keys().map(|seq| seq.0).collect();
        kept.sort_unstable();
        assert_eq!((sketches.bytes, kept), (3 * one, vec![3, 4, 5]));
    }
}
