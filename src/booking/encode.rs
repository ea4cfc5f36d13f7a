//! Events as bytes: prost messages with a schema version (proto/apprentice/v1/record.proto).
//!
//! Writing goes from the event to its record, reading checks everything that a reader would
//! otherwise trip over: numbers of enums, lengths of arrays that belong together, indices of hosts.

mod learned;
mod read;
#[cfg(test)]
mod tests;

use prost::Message;

use super::{
    Event, FailureBooking, FeedbackEvent, HostFacts, Judgement, LeaseFacts, LinkFact, Mark,
    PageBooking, ReadmittedEvent, RedirectBooking, Reference, Refusal, RefusedBooking, SeedsEvent,
    StateEvent,
};
use crate::proto::v1;
use crate::proto::v1::event_record::Event as Kind;
use crate::url::HostKey;

/// The version of the records that this version writes, and the newest that it reads.
const SCHEMA: u32 = 1;

/// Why stored bytes are no event.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Not the message that it should be.
    #[error("record is no event: {0}")]
    Prost(#[from] prost::DecodeError),
    /// A field has a value that this version does not know.
    #[error("record has an unknown {field} {value}; it was written by a newer version")]
    Unknown {
        /// Which field.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// The fields of a record contradict each other.
    #[error("record is damaged: {0}")]
    Damaged(&'static str),
    /// The offset table of an evidence does not fit its bytes.
    #[error("evidence is damaged: {0}")]
    Evidence(&'static str),
}

/// The bytes of an event, without its evidence.
pub fn encode(event: &Event) -> Vec<u8> {
    let kind = match event {
        Event::Page(page) => Kind::Page(page_record(page)),
        Event::Failure(failure) => Kind::Failure(failure_record(failure)),
        Event::Redirect(redirect) => Kind::Redirect(redirect_record(redirect)),
        Event::Refused(refused) => Kind::Refused(refused_record(refused)),
        Event::HostFacts(facts) => Kind::HostFacts(host_record(facts)),
        Event::Seeds(seeds) => Kind::Seeds(seeds_record(seeds)),
        Event::SpecChange(spec) => Kind::SpecChange(spec.clone()),
        Event::State(state) => Kind::State(state_record(state)),
        Event::Readmitted(event) => Kind::Readmitted(readmitted_record(event)),
        Event::Evicted(event) => Kind::Evicted(v1::EvictedRecord {
            targets: event.links.iter().map(|id| id.0).collect(),
            at_ms: event.at.0,
        }),
        Event::Feedback(event) => Kind::Feedback(feedback_record(event)),
        Event::Epoch(event) => Kind::Epoch(learned::epoch_record(event)),
    };
    let record = v1::EventRecord {
        schema: SCHEMA,
        event: Some(kind),
    };
    record.encode_to_vec()
}

/// Reads an event back; the evidence of a page is left empty.
///
/// # Errors
/// [`DecodeError`] if the bytes are damaged or of a newer version.
pub fn decode(bytes: &[u8]) -> Result<Event, DecodeError> {
    let record = v1::EventRecord::decode(bytes)?;
    match record.schema {
        SCHEMA => {}
        0 => return Err(DecodeError::Damaged("it has no schema version")),
        newer => {
            return Err(DecodeError::Unknown {
                field: "schema version",
                value: u64::from(newer),
            });
        }
    }
    match record.event {
        Some(kind) => read::event(kind),
        None => Err(DecodeError::Damaged(
            "it holds no event of a kind that this version knows",
        )),
    }
}

fn references_record(references: &[Reference]) -> v1::ReferencesRecord {
    v1::ReferencesRecord {
        seqs: references.iter().map(|at| at.seq.0).collect(),
        links: references.iter().map(|at| at.link).collect(),
    }
}

fn lease_record(lease: &LeaseFacts) -> v1::LeaseRecord {
    v1::LeaseRecord {
        url: lease.url.as_str().to_owned(),
        references: Some(references_record(&lease.references)),
        depth: u32::from(lease.depth),
        is_seed: lease.is_seed,
        priority: Some(lease.priority),
        leased_at_ms: lease.leased_at.0,
        finished_at_ms: lease.finished_at.0,
        requests: lease.requests,
        host_next_at_ms: lease.host_next_at.0,
    }
}

fn page_record(page: &PageBooking) -> v1::PageRecord {
    v1::PageRecord {
        lease: Some(lease_record(&page.lease)),
        status: u32::from(page.status),
        content_type: page.content_type.clone(),
        body_bytes: page.body_bytes,
        body_digest: page.body_digest,
        truncated: page.truncated,
        title: page.title.clone(),
        judgement: Some(judgement_record(&page.judgement)),
        links: Some(links_record(&page.links, &page.hosts)),
        links_dropped: page.links_dropped,
        frozen: page.frozen.as_deref().map(learned::frozen_record),
        warc_file: page.kept.as_ref().map_or(0, |kept| kept.file),
        warc_offset: page.kept.as_ref().map_or(0, |kept| kept.offset),
        warc_end: page.kept.as_ref().map_or(0, |kept| kept.end),
        sketch: page.likeness.sketch,
        copy_of: page.likeness.copy_of.map_or(0, |seq| seq.0),
        near_copy_of: page.likeness.near_copy_of.map_or(0, |seq| seq.0),
        withheld: page.withheld.map_or(0, |withheld| withheld as u32),
    }
}

fn judgement_record(judgement: &Judgement) -> v1::JudgementRecord {
    v1::JudgementRecord {
        log_odds: Some(judgement.log_odds),
        calibrated_log_odds: Some(judgement.calibrated_log_odds)
            .filter(|calibrated| calibrated.to_bits() != judgement.log_odds.to_bits()),
        classes: judgement
            .best
            .iter()
            .map(|(class, _)| u32::from(*class))
            .collect(),
        ln_posteriors: judgement.best.iter().map(|(_, ln)| *ln).collect(),
        near_focus: judgement.near_focus,
        version: judgement.version,
    }
}

fn links_record(links: &[LinkFact], hosts: &[HostKey]) -> v1::LinksRecord {
    let refusals = if links.iter().any(|link| link.refusal.is_some()) {
        links
            .iter()
            .map(|link| refusal_number(link.refusal))
            .collect()
    } else {
        Vec::new()
    };
    v1::LinksRecord {
        hosts: host_names(hosts),
        targets: links.iter().map(|link| link.target.0).collect(),
        host_indices: links.iter().map(|link| link.host).collect(),
        priorities: priorities(links),
        refusals,
    }
}

/// The baseline gives all links of a page one priority: then it is written once.
fn priorities(links: &[LinkFact]) -> Vec<f32> {
    match links {
        [first, rest @ ..]
            if rest
                .iter()
                .all(|link| link.priority.to_bits() == first.priority.to_bits()) =>
        {
            vec![first.priority]
        }
        _ => links.iter().map(|link| link.priority).collect(),
    }
}

fn refusal_number(refusal: Option<Refusal>) -> u32 {
    refusal.map_or(0, |refusal| refusal as u32)
}

fn failure_record(failure: &FailureBooking) -> v1::FailureRecord {
    v1::FailureRecord {
        lease: Some(lease_record(&failure.lease)),
        cause: failure.cause.clone(),
        message: failure.message.clone(),
        is_final: failure.is_final,
        frozen: failure.frozen.as_deref().map(learned::frozen_record),
        is_lesson: failure.is_lesson,
        warc_file: failure.kept.as_ref().map_or(0, |kept| kept.file),
        warc_offset: failure.kept.as_ref().map_or(0, |kept| kept.offset),
        warc_end: failure.kept.as_ref().map_or(0, |kept| kept.end),
    }
}

fn redirect_record(redirect: &RedirectBooking) -> v1::RedirectRecord {
    v1::RedirectRecord {
        lease: Some(lease_record(&redirect.lease)),
        status: u32::from(redirect.status),
        target: redirect.target.as_str().to_owned(),
        hops: u32::from(redirect.hops),
        refusal: refusal_number(redirect.refusal),
        warc_file: redirect.kept.as_ref().map_or(0, |kept| kept.file),
        warc_offset: redirect.kept.as_ref().map_or(0, |kept| kept.offset),
        warc_end: redirect.kept.as_ref().map_or(0, |kept| kept.end),
    }
}

fn refused_record(refused: &RefusedBooking) -> v1::RefusedRecord {
    v1::RefusedRecord {
        url: refused.url.as_str().to_owned(),
        references: Some(references_record(&refused.references)),
        refusal: refused.refusal as u32,
        at_ms: refused.at.0,
    }
}

fn host_record(facts: &HostFacts) -> v1::HostFactsRecord {
    v1::HostFactsRecord {
        host: facts.host.as_str().to_owned(),
        next_at_ms: facts.next_at.0,
        robots: facts.robots.clone(),
        crawl_delay_ms: facts.crawl_delay_ms,
        given_up: facts.given_up,
        at_ms: facts.at.0,
    }
}

fn seeds_record(seeds: &SeedsEvent) -> v1::SeedsRecord {
    v1::SeedsRecord {
        urls: seeds
            .urls
            .iter()
            .map(|url| url.as_str().to_owned())
            .collect(),
        priority: Some(seeds.priority),
        at_ms: seeds.at.0,
    }
}

fn feedback_record(event: &FeedbackEvent) -> v1::FeedbackRecord {
    let class = |mark: &Mark| mark.class.map_or(0, |class| u32::from(class) + 1);
    v1::FeedbackRecord {
        pages: event.marks.iter().map(|mark| mark.page.0).collect(),
        classes: event.marks.iter().map(class).collect(),
        version: event.version,
        at_ms: event.at.0,
    }
}

fn readmitted_record(event: &ReadmittedEvent) -> v1::ReadmittedRecord {
    let links = || event.links.iter();
    let references: Vec<_> = links().map(|link| link.reference).collect();
    v1::ReadmittedRecord {
        references: Some(references_record(&references)),
        hosts: host_names(&event.hosts),
        targets: links().map(|link| link.target.0).collect(),
        host_indices: links().map(|link| link.host).collect(),
        priorities: links().map(|link| link.priority).collect(),
        depths: links().map(|link| u32::from(link.depth)).collect(),
        at_ms: event.at.0,
    }
}

fn host_names(hosts: &[HostKey]) -> Vec<String> {
    hosts.iter().map(|host| host.as_str().to_owned()).collect()
}

fn state_record(state: &StateEvent) -> v1::StateRecord {
    v1::StateRecord {
        state: state.state as u32,
        reason: state.reason.clone(),
        at_ms: state.at.0,
    }
}
