//! A scope was changed: the links that the old one refused are offered to the new one.
//!
//! The log is searched on the blocking pool while the crawl runs on; what is found comes to the
//! engine in batches and is booked as `Readmitted`. A crash, a shutdown or the next change of the
//! scope in between loses what was not booked by then: setting the scope again searches anew.
//!
//! Searched are the links of booked pages, and those that a scope struck off later. Not searched are
//! targets of redirects. A link has the depth and the priority that its page gives it. A nofollow of
//! an X-Robots-Tag header is not in the log: it is concluded where links were refused for a nofollow that
//! neither they nor their page say.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::engine::Engine;
use super::scope::{LinkView, Nofollow, Scope};
use crate::booking::{
    Event, PageBooking, ReadmittedEvent, ReadmittedLink, Reference, Refusal, RefusedBooking, Seq,
};
use crate::clock::Clock;
use crate::fetch::Source;
use crate::frontier::{FrontierStore, StoreFailure};
use crate::url::CanonicalUrl;

/// Events read before their links are looked at: what a search holds in memory.
const EVENTS_AT_ONCE: u64 = 64;
/// Links of one batch, and so of one event, at most.
const BATCH_MAX: usize = 1_000;
/// Batches that may wait for the engine.
const BATCHES_WAITING: usize = 2;

/// A link that the new scope takes.
pub(super) struct Found {
    url: CanonicalUrl,
    reference: Reference,
    priority: f32,
    depth: u16,
}

/// A search under way: dropping it ends the search.
pub(super) type Search = mpsc::Receiver<Result<Vec<Found>, StoreFailure>>;

/// Searches the events up to `to`.
pub(super) fn start(store: Arc<dyn FrontierStore>, scope: Scope, to: Seq) -> Search {
    let (sender, search) = mpsc::channel(BATCHES_WAITING);
    tokio::task::spawn_blocking(move || {
        let mut from = Seq(1);
        while from <= to && !sender.is_closed() {
            let last = Seq(to.0.min(from.0 + EVENTS_AT_ONCE - 1));
            let found = search_part(store.as_ref(), &scope, from, last);
            let failed = found.is_err();
            for batch in batches(found) {
                if sender.blocking_send(batch).is_err() {
                    return;
                }
            }
            if failed {
                return;
            }
            from = Seq(last.0 + 1);
        }
    });
    search
}

fn batches(found: Result<Vec<Found>, StoreFailure>) -> Vec<Result<Vec<Found>, StoreFailure>> {
    let mut found = match found {
        Ok(found) => found,
        Err(error) => return vec![Err(error)],
    };
    let mut batches = Vec::new();
    while !found.is_empty() {
        let rest = found.split_off(found.len().min(BATCH_MAX));
        batches.push(Ok(std::mem::replace(&mut found, rest)));
    }
    batches
}

fn search_part(
    store: &dyn FrontierStore,
    scope: &Scope,
    from: Seq,
    to: Seq,
) -> Result<Vec<Found>, StoreFailure> {
    let mut pages = Vec::new();
    let mut struck_off = Vec::new();
    store.scan(from, to, &mut |seq, event| {
        match event {
            Event::Page(page) if refuses_by_scope(&page) => pages.push((seq, page)),
            Event::Refused(refused) if refused.refusal.is_of_scope() => struck_off.push(refused),
            _ => {}
        }
        true
    })?;
    let mut found = Vec::new();
    for (seq, page) in pages {
        search_page(store, scope, seq, &page, &mut found)?;
    }
    for refused in struck_off {
        found.extend(search_struck_off(store, scope, &refused)?);
    }
    Ok(found)
}

fn refuses_by_scope(page: &PageBooking) -> bool {
    let mut refusals = page.links.iter().filter_map(|link| link.refusal);
    refusals.any(Refusal::is_of_scope)
}

fn search_page(
    store: &dyn FrontierStore,
    scope: &Scope,
    seq: Seq,
    booking: &PageBooking,
    found: &mut Vec<Found>,
) -> Result<(), StoreFailure> {
    let page = store.page(seq)?;
    let depth = booking.lease.depth.saturating_add(1);
    let by_page = page.meta.nofollow;
    let by_server =
        booking.links.iter().zip(&page.links).any(|(fact, link)| {
            fact.refusal == Some(Refusal::Nofollow) && !link.nofollow && !by_page
        });
    for ((place, fact), link) in (0..).zip(&booking.links).zip(page.links) {
        if !fact.refusal.is_some_and(Refusal::is_of_scope) {
            continue;
        }
        let view = LinkView {
            url: &link.target,
            depth,
            nofollow: Nofollow {
                by_link: link.nofollow,
                by_page,
                by_server,
            },
            near_focus: booking.judgement.near_focus,
        };
        if scope.refusal(&view).is_none() {
            found.push(Found {
                url: link.target,
                reference: Reference { seq, link: place },
                priority: fact.priority,
                depth,
            });
        }
    }
    Ok(())
}

/// A link that was taken in once and struck off, by a narrower scope or for its address: its page says
/// the rest.
fn search_struck_off(
    store: &dyn FrontierStore,
    scope: &Scope,
    refused: &RefusedBooking,
) -> Result<Option<Found>, StoreFailure> {
    let Some(reference) = refused.references.first().copied() else {
        return Ok(None);
    };
    let page = match store.event(reference.seq)? {
        Some(Event::Page(page)) => page,
        // Somebody gave it: the scope does not hold it back, only its address did.
        Some(Event::Seeds(seeds)) => {
            return Ok(Some(Found {
                url: refused.url.clone(),
                reference,
                priority: seeds.priority,
                depth: 0,
            }));
        }
        _ => return Ok(None),
    };
    let fact = page.links.get(reference.link as usize);
    let depth = page.lease.depth.saturating_add(1);
    let view = LinkView {
        url: &refused.url,
        depth,
        nofollow: Nofollow::default(),
        near_focus: page.judgement.near_focus,
    };
    Ok(fact
        .filter(|_| scope.refusal(&view).is_none())
        .map(|fact| Found {
            reference,
            priority: fact.priority,
            depth,
            url: refused.url.clone(),
        }))
}

impl<S: Source, C: Clock> Engine<S, C> {
    /// Books what a search has found, if it is still refused and nothing else is against it.
    pub(super) fn take_found(&mut self, found: Option<Result<Vec<Found>, StoreFailure>>) {
        let found = match found {
            Some(Ok(found)) => found,
            Some(Err(error)) => {
                let crawl = &self.spec.name;
                tracing::error!(crawl, %error, "the search for links of the new scope has failed");
                return;
            }
            None => {
                self.search = None;
                return;
            }
        };
        let mut event = ReadmittedEvent {
            links: Vec::new(),
            hosts: Vec::new(),
            at: self.bench.clock.now(),
        };
        for link in found {
            let target = link.url.id();
            if !self.frontier.may_be_readmitted(target) || !self.admits(&link.url) {
                continue;
            }
            let host = link.url.host_key();
            let place = event.hosts.iter().position(|known| *known == host);
            let place = place.unwrap_or_else(|| {
                event.hosts.push(host);
                event.hosts.len() - 1
            });
            event.links.push(ReadmittedLink {
                target,
                reference: link.reference,
                host: u32::try_from(place).unwrap_or(u32::MAX),
                priority: link.priority,
                depth: link.depth,
            });
        }
        if !event.links.is_empty() {
            self.append(Event::Readmitted(event));
        }
    }
}
