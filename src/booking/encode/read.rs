//! From a record to its event: total, whatever the fields hold.

use super::{DecodeError, learned};
use crate::booking::{
    CrawlState, Event, EvictedEvent, FailureBooking, FeedbackEvent, HostFacts, Judgement, Kept,
    LeaseFacts, Likeness, LinkFact, Mark, PageBooking, ReadmittedEvent, ReadmittedLink,
    RedirectBooking, Reference, Refusal, RefusedBooking, SeedsEvent, Seq, StateEvent, Withheld,
};
use crate::clock::Timestamp;
use crate::proto::v1;
use crate::proto::v1::event_record::Event as Kind;
use crate::url::{CanonicalUrl, HostKey, UrlId};

pub(super) fn event(kind: Kind) -> Result<Event, DecodeError> {
    Ok(match kind {
        Kind::Page(record) => Event::Page(page(record)?),
        Kind::Failure(record) => Event::Failure(FailureBooking {
            lease: lease(record.lease)?,
            cause: record.cause,
            message: record.message,
            is_final: record.is_final,
            frozen: record
                .frozen
                .map(learned::frozen)
                .transpose()?
                .map(Box::new),
            is_lesson: record.is_lesson,
            kept: kept(record.warc_file, record.warc_offset, record.warc_end),
        }),
        Kind::Redirect(record) => Event::Redirect(RedirectBooking {
            lease: lease(record.lease)?,
            status: narrow(record.status, "status")?,
            target: CanonicalUrl::from_stored(record.target),
            hops: narrow(record.hops, "count of hops")?,
            refusal: refusal(record.refusal)?,
            kept: kept(record.warc_file, record.warc_offset, record.warc_end),
        }),
        Kind::Refused(record) => Event::Refused(RefusedBooking {
            url: CanonicalUrl::from_stored(record.url),
            references: references(record.references)?,
            refusal: refusal(record.refusal)?
                .ok_or(DecodeError::Damaged("a refused link without a refusal"))?,
            at: Timestamp(record.at_ms),
        }),
        Kind::HostFacts(record) => Event::HostFacts(HostFacts {
            host: HostKey::from_stored(&record.host),
            next_at: Timestamp(record.next_at_ms),
            robots: record.robots,
            crawl_delay_ms: record.crawl_delay_ms,
            given_up: record.given_up,
            at: Timestamp(record.at_ms),
        }),
        Kind::Seeds(record) => Event::Seeds(SeedsEvent {
            urls: record
                .urls
                .into_iter()
                .map(CanonicalUrl::from_stored)
                .collect(),
            priority: record.priority.unwrap_or_default(),
            at: Timestamp(record.at_ms),
        }),
        Kind::SpecChange(spec) => Event::SpecChange(spec),
        Kind::Readmitted(record) => Event::Readmitted(readmitted(record)?),
        Kind::Evicted(record) => Event::Evicted(EvictedEvent {
            links: record.targets.into_iter().map(UrlId).collect(),
            at: Timestamp(record.at_ms),
        }),
        Kind::Feedback(record) => Event::Feedback(feedback(&record)?),
        Kind::Epoch(record) => Event::Epoch(learned::epoch(record)?),
        Kind::State(record) => Event::State(StateEvent {
            state: CrawlState::from_number(record.state).ok_or(DecodeError::Unknown {
                field: "state",
                value: u64::from(record.state),
            })?,
            reason: record.reason,
            at: Timestamp(record.at_ms),
        }),
    })
}

fn narrow(value: u32, field: &'static str) -> Result<u16, DecodeError> {
    u16::try_from(value).map_err(|_| DecodeError::Unknown {
        field,
        value: u64::from(value),
    })
}

/// 0 is none.
fn refusal(number: u32) -> Result<Option<Refusal>, DecodeError> {
    if number == 0 {
        return Ok(None);
    }
    match Refusal::from_number(number) {
        Some(refusal) => Ok(Some(refusal)),
        None => Err(DecodeError::Unknown {
            field: "refusal",
            value: u64::from(number),
        }),
    }
}

/// 0 is none.
fn withheld(number: u32) -> Result<Option<Withheld>, DecodeError> {
    match (number, Withheld::from_number(number)) {
        (0, _) => Ok(None),
        (_, Some(withheld)) => Ok(Some(withheld)),
        (_, None) => Err(DecodeError::Unknown {
            field: "withheld",
            value: u64::from(number),
        }),
    }
}

fn references(record: Option<v1::ReferencesRecord>) -> Result<Vec<Reference>, DecodeError> {
    let record = record.unwrap_or_default();
    if record.seqs.len() != record.links.len() {
        return Err(DecodeError::Damaged("references of two lengths"));
    }
    let pairs = record.seqs.into_iter().zip(record.links);
    Ok(pairs
        .map(|(seq, link)| Reference {
            seq: Seq(seq),
            link,
        })
        .collect())
}

fn lease(record: Option<v1::LeaseRecord>) -> Result<LeaseFacts, DecodeError> {
    let record = record.ok_or(DecodeError::Damaged("an outcome without its lease"))?;
    Ok(LeaseFacts {
        url: CanonicalUrl::from_stored(record.url),
        references: references(record.references)?,
        depth: narrow(record.depth, "depth")?,
        is_seed: record.is_seed,
        priority: record.priority.unwrap_or_default(),
        leased_at: Timestamp(record.leased_at_ms),
        finished_at: Timestamp(record.finished_at_ms),
        requests: record.requests,
        host_next_at: Timestamp(record.host_next_at_ms),
    })
}

fn page(record: v1::PageRecord) -> Result<PageBooking, DecodeError> {
    let links_record = record
        .links
        .ok_or(DecodeError::Damaged("a page without its list of links"))?;
    let judgement_record = record
        .judgement
        .ok_or(DecodeError::Damaged("a page without its judgement"))?;
    Ok(PageBooking {
        lease: lease(record.lease)?,
        status: narrow(record.status, "status")?,
        content_type: record.content_type,
        body_bytes: record.body_bytes,
        body_digest: record.body_digest,
        truncated: record.truncated,
        title: record.title,
        judgement: judgement(judgement_record)?,
        links: links(&links_record)?,
        hosts: links_record
            .hosts
            .iter()
            .map(|host| HostKey::from_stored(host))
            .collect(),
        links_dropped: record.links_dropped,
        frozen: record
            .frozen
            .map(learned::frozen)
            .transpose()?
            .map(Box::new),
        evidence: Vec::new(),
        kept: kept(record.warc_file, record.warc_offset, record.warc_end),
        likeness: Likeness {
            sketch: record.sketch,
            copy_of: some_seq(record.copy_of),
            near_copy_of: some_seq(record.near_copy_of),
        },
        withheld: withheld(record.withheld)?,
    })
}

/// Files are numbered from 1 on.
fn kept(file: u32, offset: u64, end: u64) -> Option<Box<Kept>> {
    (file > 0).then(|| Box::new(Kept { file, offset, end }))
}

/// An event's number, of which the first is 1.
fn some_seq(number: u64) -> Option<Seq> {
    (number > 0).then_some(Seq(number))
}

fn judgement(record: v1::JudgementRecord) -> Result<Judgement, DecodeError> {
    if record.classes.len() != record.ln_posteriors.len() {
        return Err(DecodeError::Damaged("best classes of two lengths"));
    }
    let pairs = record.classes.into_iter().zip(record.ln_posteriors);
    Ok(Judgement {
        log_odds: record.log_odds.unwrap_or_default(),
        calibrated_log_odds: record
            .calibrated_log_odds
            .or(record.log_odds)
            .unwrap_or_default(),
        best: pairs
            .map(|(class, ln)| Ok((narrow(class, "class")?, ln)))
            .collect::<Result<_, DecodeError>>()?,
        near_focus: record.near_focus,
        version: record.version,
    })
}

fn feedback(record: &v1::FeedbackRecord) -> Result<FeedbackEvent, DecodeError> {
    if record.pages.len() != record.classes.len() {
        return Err(DecodeError::Damaged("marks of two lengths"));
    }
    let mark = |(page, class): (&u64, &u32)| {
        let class = class.checked_sub(1);
        Ok(Mark {
            page: Seq(*page),
            class: class.map(|class| narrow(class, "class")).transpose()?,
        })
    };
    let marks = record.pages.iter().zip(&record.classes).map(mark);
    Ok(FeedbackEvent {
        marks: marks.collect::<Result<_, DecodeError>>()?,
        version: record.version,
        at: Timestamp(record.at_ms),
    })
}

fn readmitted(record: v1::ReadmittedRecord) -> Result<ReadmittedEvent, DecodeError> {
    let references = references(record.references)?;
    let count = record.targets.len();
    let columns = [
        references.len(),
        record.host_indices.len(),
        record.priorities.len(),
        record.depths.len(),
    ];
    if columns.iter().any(|length| *length != count) {
        return Err(DecodeError::Damaged("readmitted links of two lengths"));
    }
    let mut links = Vec::with_capacity(count);
    let columns = references.into_iter().zip(record.targets);
    let columns = columns.zip(record.host_indices).zip(record.priorities);
    for ((((reference, target), host), priority), depth) in columns.zip(record.depths) {
        if host as usize >= record.hosts.len() {
            return Err(DecodeError::Damaged("a link's host is not in its list"));
        }
        links.push(ReadmittedLink {
            target: UrlId(target),
            reference,
            host,
            priority,
            depth: narrow(depth, "depth")?,
        });
    }
    let hosts = record.hosts.iter();
    Ok(ReadmittedEvent {
        links,
        hosts: hosts.map(|host| HostKey::from_stored(host)).collect(),
        at: Timestamp(record.at_ms),
    })
}

fn links(record: &v1::LinksRecord) -> Result<Vec<LinkFact>, DecodeError> {
    let count = record.targets.len();
    let shared = match record.priorities[..] {
        [one] => Some(one),
        _ if record.priorities.len() == count => None,
        _ => return Err(DecodeError::Damaged("priorities do not fit the links")),
    };
    if record.host_indices.len() != count {
        return Err(DecodeError::Damaged("hosts do not fit the links"));
    }
    if !record.refusals.is_empty() && record.refusals.len() != count {
        return Err(DecodeError::Damaged("refusals do not fit the links"));
    }
    let mut links = Vec::with_capacity(count);
    for (place, (target, host)) in record.targets.iter().zip(&record.host_indices).enumerate() {
        if *host as usize >= record.hosts.len() {
            return Err(DecodeError::Damaged("a link's host is not in its list"));
        }
        let own = record.priorities.get(place).copied();
        links.push(LinkFact {
            target: UrlId(*target),
            host: *host,
            priority: shared.or(own).unwrap_or_default(),
            refusal: refusal(record.refusals.get(place).copied().unwrap_or(0))?,
        });
    }
    Ok(links)
}
