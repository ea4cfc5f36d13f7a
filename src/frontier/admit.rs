//! The fold: what each event changes.
//!
//! Nothing here may depend on whether a link is leased at this moment: leases are not in the log.

use super::known::Known;
use super::links::{Link, checked_priority};
use super::new_scores::Side;
use super::params::Combine;
use super::queue::Frontier;
use crate::booking::{
    Event, FailureBooking, HostFacts, LeaseFacts, LinkFact, PageBooking, ReadmittedEvent,
    RedirectBooking, Reference, Refusal, RefusedBooking, SeedsEvent, Seq,
};
use crate::url::{CanonicalUrl, HostKey, UrlId};

/// Whether a link's priority has changed, on both sides.
#[derive(Clone, Copy)]
struct Moved {
    old: bool,
    new: bool,
}

/// A way to a link: what a page, a seed or a redirect says of its target.
#[derive(Clone, Copy)]
struct Offer {
    id: UrlId,
    reference: Reference,
    priority: f32,
    /// The same for the baseline: the log odds of the page.
    baseline: f32,
    depth: u16,
    hops: u16,
    is_seed: bool,
}

impl Frontier {
    /// Takes in what event `seq` changes. Must be called for every event, in order.
    pub fn admit(&mut self, seq: Seq, event: &Event) {
        match event {
            Event::Page(page) => self.admit_page(seq, page),
            Event::Failure(failure) => self.admit_failure(seq, failure),
            Event::Redirect(redirect) => self.admit_redirect(seq, redirect),
            Event::Refused(refused) => self.admit_refused(seq, refused),
            Event::HostFacts(facts) => self.admit_host_facts(facts),
            Event::Seeds(seeds) => self.admit_seeds(seq, seeds),
            Event::Readmitted(event) => self.admit_readmitted(event),
            Event::Evicted(event) => self.admit_evicted(seq, event),
            Event::SpecChange(_) | Event::State(_) | Event::Feedback(_) | Event::Epoch(_) => {}
        }
    }

    fn admit_page(&mut self, seq: Seq, page: &PageBooking) {
        let host = self.finish(seq, &page.lease);
        self.hosts.count_fetch(host, &self.links);
        let mut numbers = std::mem::take(&mut self.scratch().host_numbers);
        numbers.resize(page.hosts.len(), None);
        let mut hashes = std::mem::take(&mut self.scratch().host_hashes);
        hashes.resize(page.hosts.len(), None);
        let mut slots = std::mem::take(&mut self.scratch().slots);
        self.touch(page, &mut hashes, &mut slots);
        let own = page.lease.url.id();
        let depth = page.lease.depth.saturating_add(1);
        for (index, link) in (0..).zip(&page.links) {
            let reference = Reference { seq, link: index };
            if link.target == own {
                continue;
            }
            if let Some(refusal) = link.refusal {
                self.refuse_if_unknown(link.target, refusal, seq);
                continue;
            }
            // A link that was refused above may come again, so only what is taken in is remembered.
            if !self.scratch().targets.insert(link.target) {
                continue;
            }
            let offer = Offer {
                id: link.target,
                reference,
                priority: checked_priority(link.priority),
                baseline: checked_priority(page.judgement.log_odds),
                depth,
                hops: 0,
                is_seed: false,
            };
            self.offer(&offer, |frontier| {
                frontier.host_of_link(page, link, (&hashes, &mut numbers))
            });
        }
        numbers.clear();
        hashes.clear();
        slots.clear();
        let scratch = self.scratch();
        scratch.targets.clear();
        scratch.slots = slots;
        scratch.host_numbers = numbers;
        scratch.host_hashes = hashes;
    }

    /// Reads what the links of a page are about to change: the records of those that wait with their hosts,
    /// and the hosts of those that are new. Their places are as good as random, and read one after another
    /// without work between they come from memory together. What the hosts are looked up by is put into
    /// `hashes`, the open links into `slots`.
    fn touch(&self, page: &PageBooking, hashes: &mut [Option<u64>], slots: &mut Vec<u32>) {
        for link in &page.links {
            match self.known.get(link.target) {
                Some(Known::Open(slot)) => slots.push(slot),
                None if link.refusal.is_none() => {
                    let at = link.host as usize;
                    if let (Some(host), Some(hash @ None)) =
                        (page.hosts.get(at), hashes.get_mut(at))
                    {
                        *hash = Some(self.hosts.hash(host));
                    }
                }
                _ => {}
            }
        }
        let host_of = |slot: &u32| self.links.get(*slot).host;
        let mut seen = slots.iter().fold(0, |seen, slot| seen ^ host_of(slot));
        for slot in &*slots {
            let best = self.hosts.get(host_of(slot)).best_slot();
            seen ^= self.links.touch(*slot) ^ best.unwrap_or_default();
        }
        std::hint::black_box(seen);
        self.hosts.touch(hashes);
    }

    /// The number of a link's host; each host of a page is looked up once. `None` if the page does
    /// not name it, which is damage that the store should have seen.
    fn host_of_link(
        &mut self,
        page: &PageBooking,
        link: &LinkFact,
        (hashes, numbers): (&[Option<u64>], &mut [Option<u32>]),
    ) -> Option<u32> {
        let at = link.host as usize;
        let host = page.hosts.get(at);
        debug_assert!(host.is_some(), "a page names no host for {}", link.target);
        let number = numbers.get_mut(at)?;
        if number.is_none() {
            let hash = hashes.get(at).copied().flatten();
            let hash = hash.map_or_else(|| Some(self.hosts.hash(host?)), Some)?;
            *number = Some(self.hosts.number_of_hashed(hash, host?));
        }
        *number
    }

    fn admit_failure(&mut self, seq: Seq, failure: &FailureBooking) {
        let lease = &failure.lease;
        if failure.is_final {
            let host = self.finish(seq, lease);
            self.hosts.count_fetch(host, &self.links);
            return;
        }
        let id = lease.url.id();
        let host = self.host_of(id, &lease.url);
        self.note_request(host, lease);
        match self.known.get(id) {
            Some(Known::Open(slot)) => {
                self.links.get_mut(slot).set_requests(lease.requests);
                self.return_link(slot);
            }
            Some(Known::Fetched(_) | Known::Refused { .. }) => {}
            None => self.insert_from_lease(id, host, lease),
        }
    }

    fn admit_redirect(&mut self, seq: Seq, redirect: &RedirectBooking) {
        let lease = &redirect.lease;
        let baseline = self.baseline_of(lease);
        self.finish(seq, lease);
        let target = redirect.target.id();
        if let Some(refusal) = redirect.refusal {
            self.refuse_if_unknown(target, refusal, seq);
            return;
        }
        let offer = Offer {
            id: target,
            reference: Reference { seq, link: 0 },
            priority: checked_priority(lease.priority),
            baseline,
            depth: lease.depth,
            hops: redirect.hops,
            is_seed: lease.is_seed,
        };
        self.offer(&offer, |frontier| {
            Some(frontier.hosts.number_of(&redirect.target.host_key()))
        });
        self.offer_references(target, &lease.references);
    }

    fn admit_refused(&mut self, seq: Seq, refused: &RefusedBooking) {
        let id = refused.url.id();
        match self.known.get(id) {
            Some(Known::Fetched(_)) => return,
            Some(Known::Open(slot)) => self.remove(slot),
            Some(Known::Refused { .. }) | None => {}
        }
        let is_lasting = matches!(
            refused.refusal,
            Refusal::Robots | Refusal::Address | Refusal::HostGivenUp
        );
        let refusal = refused.refusal;
        self.known.set(
            id,
            Known::Refused {
                refusal,
                seq,
                is_lasting,
            },
        );
    }

    fn admit_host_facts(&mut self, facts: &HostFacts) {
        let host = self.hosts.number_of(&facts.host);
        self.hosts.set_given_up(host, facts.given_up);
        let (_, next_at) = self.times_of(facts.at, facts.next_at);
        self.calendar.hold_until(&facts.host, next_at);
        self.hosts.wait_until(host, next_at);
    }

    fn admit_seeds(&mut self, seq: Seq, seeds: &SeedsEvent) {
        for (index, url) in (0..).zip(&seeds.urls) {
            self.forgive_address(url.id());
            let offer = Offer {
                id: url.id(),
                reference: Reference { seq, link: index },
                priority: checked_priority(seeds.priority),
                baseline: checked_priority(seeds.priority),
                depth: 0,
                hops: 0,
                is_seed: true,
            };
            self.offer(&offer, |frontier| {
                Some(frontier.hosts.number_of(&url.host_key()))
            });
        }
    }

    fn admit_readmitted(&mut self, event: &ReadmittedEvent) {
        for link in &event.links {
            if !self.may_be_readmitted(link.target) {
                continue;
            }
            let offer = Offer {
                id: link.target,
                reference: link.reference,
                priority: checked_priority(link.priority),
                // The event does not say what its page was worth.
                baseline: checked_priority(link.priority),
                depth: link.depth,
                hops: 0,
                is_seed: false,
            };
            self.forgive_address(link.target);
            let host = event.hosts.get(link.host as usize);
            self.offer(&offer, |frontier| Some(frontier.hosts.number_of(host?)));
        }
    }

    /// Whether the URL was refused for a reason that another scope can take back.
    pub fn may_be_readmitted(&self, id: UrlId) -> bool {
        matches!(
            self.known.get(id),
            Some(Known::Refused { refusal, is_lasting, .. })
                if refusal.is_of_scope() && (!is_lasting || refusal == Refusal::Address)
        )
    }

    /// A refused address stays refused whoever links to it; but not when it is asked for by name, or
    /// by a scope that may allow it now.
    fn forgive_address(&mut self, id: UrlId) {
        if let Some(Known::Refused {
            refusal: Refusal::Address,
            seq,
            ..
        }) = self.known.get(id)
        {
            let refused = Known::Refused {
                refusal: Refusal::Address,
                seq,
                is_lasting: false,
            };
            self.known.set(id, refused);
        }
    }

    /// What the baseline held of the link that was leased.
    fn baseline_of(&self, lease: &LeaseFacts) -> f32 {
        let held = match self.known.get(lease.url.id()) {
            Some(Known::Open(slot)) => self.baseline.worth(slot),
            _ => None,
        };
        held.unwrap_or_else(|| checked_priority(lease.priority))
    }

    /// The lease's URL is fetched. Gives its host.
    fn finish(&mut self, seq: Seq, lease: &LeaseFacts) -> u32 {
        let id = lease.url.id();
        let host = self.host_of(id, &lease.url);
        if let Some(Known::Open(slot)) = self.known.get(id) {
            self.remove(slot);
        }
        self.known.set(id, Known::Fetched(seq));
        self.note_request(host, lease);
        host
    }

    fn note_request(&mut self, host: u32, lease: &LeaseFacts) {
        let (ended_at, next_at) = self.times_of(lease.finished_at, lease.host_next_at);
        let key = &self.hosts.get(host).key;
        self.calendar.note_request(key, ended_at, next_at);
        self.hosts.wait_until(host, next_at);
    }

    /// The number of a URL's host, without parsing the URL where the link is at hand.
    fn host_of(&mut self, id: UrlId, url: &CanonicalUrl) -> u32 {
        match self.known.get(id) {
            Some(Known::Open(slot)) => self.links.get(slot).host,
            _ => self.hosts.number_of(&url.host_key()),
        }
    }

    fn refuse_if_unknown(&mut self, id: UrlId, refusal: Refusal, seq: Seq) {
        if self.known.get(id).is_none() {
            self.known.set(
                id,
                Known::Refused {
                    refusal,
                    seq,
                    is_lasting: false,
                },
            );
        }
    }

    /// A link that may be taken in: new, or another way to one that is known. Its host is looked for
    /// only if it is new; without one it is passed over.
    fn offer(&mut self, offer: &Offer, host: impl FnOnce(&mut Self) -> Option<u32>) {
        match self.known.get(offer.id) {
            None
            | Some(Known::Refused {
                is_lasting: false, ..
            }) => {
                let Some(host) = host(self) else { return };
                let mut link = Link::new(offer.id, host, offer.reference, offer.priority);
                link.depth = offer.depth;
                link.set_hops(offer.hops);
                link.set_seed(offer.is_seed);
                self.insert(offer.id, link, offer.baseline);
            }
            Some(Known::Open(slot)) => self.offer_to_open(slot, offer),
            Some(Known::Fetched(_) | Known::Refused { .. }) => {}
        }
    }

    fn offer_to_open(&mut self, slot: u32, offer: &Offer) {
        let references_max = self.params.references_max;
        let is_new = (self.links).offer(slot, offer.reference, offer.priority, references_max);
        let parents = self.links.parents(slot);
        let link = self.links.get_mut(slot);
        link.depth = link.depth.min(offer.depth);
        link.set_hops(link.hops().min(offer.hops));
        link.set_seed(link.is_seed() || offer.is_seed);
        let combine = match self.params.combine {
            // A seed stands where it was put, whatever pages say of it.
            combine if combine.counts_each() && (link.is_seed() || !is_new) => Combine::Best,
            combine => combine,
        };
        let old = link.priority;
        link.priority = combine.of(old, offer.priority, parents);
        let has_moved = link.priority.total_cmp(&old).is_ne();
        let is_leased = link.is_leased();
        let has_moved = Moved {
            old: has_moved,
            new: self
                .offer_to_new_score(slot, offer, combine)
                .unwrap_or(has_moved),
        };
        if !is_leased {
            self.move_link(slot, has_moved);
        }
        self.baseline.raise(slot, offer.baseline, &self.links);
    }

    /// While hosts change over, the sweep no longer comes to a page that is booked, so what it says counts
    /// in the new score as well. `None` if the link has none; else whether it has changed.
    fn offer_to_new_score(&mut self, slot: u32, offer: &Offer, combine: Combine) -> Option<bool> {
        if !self.is_switching() {
            return None;
        }
        let old = self.links.new_scores.get(slot)?;
        let seq = offer.reference.seq;
        (self.links.new_scores).add(slot, seq, offer.priority, combine);
        let new = self.links.new_scores.get(slot)?;
        Some(new.total_cmp(&old).is_ne())
    }

    fn move_link(&mut self, slot: u32, has_moved: Moved) {
        let host = self.links.get(slot).host;
        let is_on_new_side = self.hosts.side(host) == Side::New;
        if (is_on_new_side && has_moved.new) || (!is_on_new_side && has_moved.old) {
            self.hosts.link_moved(slot, &mut self.links);
        }
        if !is_on_new_side && has_moved.new {
            self.hosts.link_moved_on_new_side(slot, &mut self.links);
        }
    }

    /// The references of a redirected link go to its target; they give it no priority of their own.
    fn offer_references(&mut self, target: UrlId, references: &[Reference]) {
        if let Some(Known::Open(slot)) = self.known.get(target) {
            let references_max = self.params.references_max;
            for reference in references {
                (self.links).offer(slot, *reference, f32::NEG_INFINITY, references_max);
            }
        }
    }

    /// A failed link that nothing is known of waits with what its lease says.
    fn insert_from_lease(&mut self, id: UrlId, host: u32, lease: &LeaseFacts) {
        let Some((first, others)) = lease.references.split_first() else {
            debug_assert!(false, "a lease without a reference: {}", lease.url);
            return;
        };
        let mut link = Link::new(id, host, *first, checked_priority(lease.priority));
        link.depth = lease.depth;
        link.set_seed(lease.is_seed);
        link.set_requests(lease.requests);
        self.insert(id, link, checked_priority(lease.priority));
        self.offer_references(id, others);
    }

    fn insert(&mut self, id: UrlId, link: Link, baseline: f32) {
        let slot = self.links.insert(link);
        self.known.set(id, Known::Open(slot));
        self.hosts.link_waits(slot, &mut self.links);
        self.baseline.insert(slot, baseline, &self.links);
    }

    /// Takes an open link out; what becomes of it is the caller's to say.
    pub(super) fn remove(&mut self, slot: u32) {
        let link = self.links.get(slot);
        if link.is_leased() {
            let host = link.host;
            self.links.remove(slot);
            self.hosts.link_came_back(host, &self.links);
        } else {
            self.hosts.link_struck_off(slot, &mut self.links);
            self.links.remove(slot);
        }
    }

    /// Whether somebody who gives this URL makes it wait: it is unknown, or was refused for a reason
    /// that lies with the page that it stood on.
    pub fn takes(&self, url: &CanonicalUrl) -> bool {
        let known = self.known.get(url.id());
        matches!(
            known,
            None | Some(
                Known::Refused {
                    is_lasting: false,
                    ..
                } | Known::Refused {
                    refusal: Refusal::Address,
                    ..
                }
            )
        )
    }

    /// Whether the host was given up: later links to it are to be refused.
    pub fn host_given_up(&self, host: &HostKey) -> bool {
        self.hosts.find(host).is_some_and(|host| host.is_given_up)
    }

    /// Fetches (pages and final failures) of a host so far.
    pub fn fetched_of(&self, host: &HostKey) -> u64 {
        self.hosts
            .find(host)
            .map_or(0, |host| u64::from(host.fetched))
    }
}
