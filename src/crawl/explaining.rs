//! Why a link stands where it stands, as the engine knows it.

use super::engine::Engine;
use crate::apprentice::{Explanation, SourceView};
use crate::booking::{Event, FailureBooking, PageBooking, RedirectBooking, Reference};
use crate::clock::Clock;
use crate::features::FeatureSpec;
use crate::fetch::Source;
use crate::frontier::{Combine, KnownLink, LinkState, StoreFailure};
use crate::url::UrlId;

/// What the scorer says of a link, and of which epoch that is.
#[derive(Clone, Debug)]
pub struct LinkReasons {
    /// What the frontier knows of it.
    pub known: KnownLink,
    /// The pages that it is known to stand on, the first one first; nothing for a seed, which nobody scored.
    pub parents: Vec<(Reference, Option<Explanation>)>,
    /// The order of the crawl, by name.
    pub order: &'static str,
    /// How several scores become one.
    pub combine: Combine,
    /// What the scorer looks at.
    pub features: FeatureSpec,
    /// See [`LinkScorer::epoch`](crate::apprentice::LinkScorer::epoch).
    pub epoch: u64,
    /// The frontier is being scored again.
    pub is_rescoring: bool,
    /// The priority that it was leased with, if it was fetched.
    pub leased_priority: Option<f32>,
}

impl<S: Source, C: Clock> Engine<S, C> {
    /// `None` if the link is not known.
    pub(super) fn explain(&mut self, id: UrlId) -> Result<Option<LinkReasons>, StoreFailure> {
        let Some(known) = self.frontier.lookup(id, self.bench.clock.now()) else {
            return Ok(None);
        };
        let (references, leased_priority) = match (&known.state, &known.waiting) {
            (_, Some(waiting)) => (waiting.references.clone(), None),
            (LinkState::Fetched(seq), None) => match self.store.event(*seq)? {
                Some(
                    Event::Page(PageBooking { lease, .. })
                    | Event::Failure(FailureBooking { lease, .. })
                    | Event::Redirect(RedirectBooking { lease, .. }),
                ) => (lease.references, Some(lease.priority)),
                _ => (Vec::new(), None),
            },
            _ => (Vec::new(), None),
        };
        let mut parents = Vec::with_capacity(references.len());
        for reference in references {
            parents.push((reference, self.explain_at(reference)?));
        }
        Ok(Some(LinkReasons {
            known,
            parents,
            order: self.spec.order.name(),
            combine: self.spec.combine,
            features: self.spec.features,
            epoch: self.scorer.epoch(),
            is_rescoring: self.is_sweeping(),
            leased_priority,
        }))
    }

    fn explain_at(&mut self, reference: Reference) -> Result<Option<Explanation>, StoreFailure> {
        let Some(sketch) = self.learning.reader.sketch(reference.seq)? else {
            return Ok(None);
        };
        let view = SourceView {
            log_odds: sketch.facts.log_odds,
            links: sketch.links.len(),
            sketch: Some(&sketch),
        };
        Ok(Some(self.scorer.explain(&view, reference.link as usize)))
    }
}
