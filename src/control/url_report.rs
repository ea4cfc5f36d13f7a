//! All that is known of one URL, in figures and words.

use crate::booking::{Event, Reference, Seq};
use crate::clock::Timestamp;
use crate::crawl::{Handle, found_on, page_row};
use crate::frontier::{FrontierStore, LinkState, StoreFailure, WaitingLink, WhyWaiting};
use crate::proto::v1;
use crate::url::CanonicalUrl;

/// Why the robots.txt of a URL could not be had, if it could not.
pub(super) type TroubleOf<'a> = &'a dyn Fn(&CanonicalUrl) -> Option<String>;

/// A waiting link as the API has it.
///
/// # Errors
/// [`StoreFailure`] if the page that it was found on cannot be read.
pub(super) fn waiting_link(
    store: &dyn FrontierStore,
    link: &WaitingLink,
    now: Timestamp,
    trouble: TroubleOf<'_>,
) -> Result<v1::WaitingLink, StoreFailure> {
    let first = link.references.first();
    let url = first.map(|first| store.link_url(*first)).transpose()?;
    let trouble = url.as_ref().and_then(trouble);
    let trouble = trouble.map_or(String::new(), |cause| format!("; its robots.txt: {cause}"));
    Ok(v1::WaitingLink {
        url: url.map_or(String::new(), |url| url.as_str().to_owned()),
        priority: f64::from(link.priority),
        why: why_waiting(link, now) + &trouble,
        depth: u32::from(link.depth),
        parents: link.parents,
        found_on: found_on(store, first)?,
    })
}

fn why_waiting(link: &WaitingLink, now: Timestamp) -> String {
    match link.why {
        WhyWaiting::Ready => "ready: links of higher priority go first".to_owned(),
        WhyWaiting::HostUntil(at) => format!(
            "host {} may be asked again in {:.1} s",
            link.host,
            at.since(now).as_secs_f64()
        ),
        WhyWaiting::HostLeased => format!("host {} is being asked", link.host),
        WhyWaiting::HostCapped => {
            format!(
                "host {} or its domain has reached its cap of pages; raise it with `crawl set --pages-per-host` or `--pages-per-domain`",
                link.host
            )
        }
    }
}

/// The report on one URL.
///
/// # Errors
/// [`StoreFailure`] if the log cannot be read.
pub(super) fn report(
    crawl: &Handle,
    url: &CanonicalUrl,
    known: Option<crate::frontier::KnownLink>,
    now: Timestamp,
    trouble: TroubleOf<'_>,
) -> Result<v1::UrlReport, StoreFailure> {
    let store = crawl.store().as_ref();
    let mut report = v1::UrlReport {
        url: url.as_str().to_owned(),
        ..Default::default()
    };
    let Some(known) = known else {
        report.set_state(v1::UrlState::Unknown);
        "no booked page links to it, and nobody gave it as a seed".clone_into(&mut report.why);
        return Ok(report);
    };
    match known.state {
        LinkState::Waiting => report.set_state(v1::UrlState::Waiting),
        LinkState::Leased => {
            report.set_state(v1::UrlState::Leased);
            "it is being fetched".clone_into(&mut report.why);
        }
        LinkState::Refused(refusal, seq) => {
            report.set_state(v1::UrlState::Refused);
            report.why = format!("refused: {} (event {})", refusal.name(), seq.0);
            report.found_on = vec![event_url(store, seq)?];
        }
        LinkState::Fetched(seq) => fetched(crawl, seq, &mut report)?,
    }
    if let Some(link) = &known.waiting {
        let waiting = waiting_link(store, link, now, trouble)?;
        report.why.clone_from(&waiting.why);
        report.waiting = Some(waiting);
        report.found_on = pages_of(store, &link.references)?;
    }
    report.found_on.retain(|page| !page.is_empty());
    Ok(report)
}

fn fetched(crawl: &Handle, seq: Seq, report: &mut v1::UrlReport) -> Result<(), StoreFailure> {
    let store = crawl.store().as_ref();
    let Some(event) = store.event(seq)? else {
        return Err(StoreFailure(format!(
            "event {} is missing from the log",
            seq.0
        )));
    };
    let lease = match &event {
        Event::Page(page) => {
            report.set_state(v1::UrlState::Fetched);
            report.why = format!("fetched and judged (event {})", seq.0);
            &page.lease
        }
        Event::Failure(failure) => {
            report.set_state(v1::UrlState::Failed);
            report.why = format!(
                "{}: {} (after {} requests)",
                failure.cause, failure.message, failure.lease.requests
            );
            &failure.lease
        }
        Event::Redirect(redirect) => {
            report.set_state(v1::UrlState::Redirected);
            report.why = match redirect.refusal {
                Some(refusal) => format!(
                    "status {} led to a URL that was refused: {}",
                    redirect.status,
                    refusal.name()
                ),
                None => format!("status {} led elsewhere", redirect.status),
            };
            redirect
                .target
                .as_str()
                .clone_into(&mut report.redirected_to);
            &redirect.lease
        }
        _ => return Ok(()),
    };
    let found_on = found_on(store, lease.references.first())?;
    report.found_on = pages_of(store, &lease.references)?;
    report.page = page_row(seq, &event, 0, found_on, &crawl.class_names());
    Ok(())
}

fn pages_of(
    store: &dyn FrontierStore,
    references: &[Reference],
) -> Result<Vec<String>, StoreFailure> {
    let mut pages = Vec::with_capacity(references.len());
    for reference in references {
        let page = found_on(store, Some(reference))?;
        if !pages.contains(&page) {
            pages.push(page);
        }
    }
    Ok(pages)
}

fn event_url(store: &dyn FrontierStore, seq: Seq) -> Result<String, StoreFailure> {
    found_on(store, Some(&Reference { seq, link: 0 }))
}
