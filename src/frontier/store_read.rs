//! What both stores answer from an event and its evidence.

use super::{FrontierStore, StoreFailure};
use crate::booking::{DecodeError, Event, Reference, Seq, evidence};
use crate::page::Page;
use crate::url::CanonicalUrl;

/// Takes the evidence out of an event: it is kept beside it.
pub(super) fn take_evidence(event: &mut Event) -> Vec<u8> {
    match event {
        Event::Page(page) => std::mem::take(&mut page.evidence),
        _ => Vec::new(),
    }
}

/// The URL of the link at `at`. The event is only asked for where there is no evidence, since the
/// many are links of pages.
pub(super) fn link_url(
    at: Reference,
    found: Option<Vec<u8>>,
    event: impl FnOnce() -> Result<Option<Event>, StoreFailure>,
) -> Result<CanonicalUrl, StoreFailure> {
    let bytes = found.ok_or_else(|| no_event(at.seq))?;
    if !bytes.is_empty() {
        return evidence::link_url(&bytes, at.link).map_err(|error| of_page(at.seq, &error));
    }
    let url = match event()? {
        Some(Event::Seeds(seeds)) => usize::try_from(at.link)
            .ok()
            .and_then(|link| seeds.urls.get(link).cloned()),
        Some(Event::Redirect(redirect)) if at.link == 0 => Some(redirect.target),
        _ => None,
    };
    url.ok_or_else(|| {
        StoreFailure(format!(
            "event {} has no link {}; the reference is wrong or of another crawl",
            at.seq.0, at.link
        ))
    })
}

/// The page of event `seq`.
pub(super) fn page(seq: Seq, found: Option<Vec<u8>>) -> Result<Page, StoreFailure> {
    let bytes = found.ok_or_else(|| no_event(seq))?;
    if bytes.is_empty() {
        let words = format!("event {} is no page, or one without evidence", seq.0);
        return Err(StoreFailure(words));
    }
    evidence::decode(&bytes).map_err(|error| of_page(seq, &error))
}

/// A scan that asks for one event after the other.
pub(super) fn scan_each(
    store: &impl FrontierStore,
    from: Seq,
    to: Seq,
    visit: &mut dyn FnMut(Seq, Event) -> bool,
) -> Result<(), StoreFailure> {
    for seq in (from.0.max(1)..=to.0).map(Seq) {
        let Some(event) = store.event(seq)? else {
            break;
        };
        if !visit(seq, event) {
            break;
        }
    }
    Ok(())
}

fn no_event(seq: Seq) -> StoreFailure {
    StoreFailure(format!("there is no event {}", seq.0))
}

fn of_page(seq: Seq, error: &DecodeError) -> StoreFailure {
    StoreFailure(format!("page of event {}: {error}", seq.0))
}
