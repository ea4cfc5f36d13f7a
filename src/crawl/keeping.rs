//! Pages kept as WARC: what is handed to the archive, and when.
//!
//! The records of an exchange are made where the page is read; they are written when it has its
//! verdict, right before it is booked, and the booking says where they stand.

use std::path::Path;

use super::engine::Engine;
use super::error::EngineError;
use super::handle::Handle;
use super::lease_task::{JudgedPage, ReadPage};
use super::parts::EngineParts;
use super::spec::Spec;
use crate::archive::{Keeper, KeptAt, KeptPage, WireExchange};
use crate::booking::{Event, Kept, LeaseFacts, Reference, Seq, Withheld};
use crate::clock::{Clock, Timestamp};
use crate::critic::Verdict;
use crate::fetch::{Exchange, Source, robots_tag_directives};
use crate::frontier::{FrontierStore, StoreFailure};
use crate::proto::v1;
use crate::url::CanonicalUrl;

impl<S: Source, C: Clock> Engine<S, C> {
    /// As [`open`](Self::open); if the crawl keeps its pages, it does so in `folder`.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`EngineError::Archive`].
    pub fn open_keeping(
        parts: EngineParts<S, C>,
        folder: &Path,
    ) -> Result<(Self, Handle), EngineError> {
        let (mut engine, handle) = Self::open(parts)?;
        if engine.spec.warc {
            let software = concat!("apprentice/", env!("CARGO_PKG_VERSION"));
            let about = about(&engine.spec, &engine.raw_spec);
            let name = &engine.spec.name;
            let last = engine.kept_last.as_ref().map(kept_at);
            engine.keeper = Some(Keeper::open(folder, name, software, about, last)?);
        }
        Ok((engine, handle))
    }

    /// Keeps a page, if pages are kept and it may be.
    pub(super) fn keep(
        &mut self,
        judged: &mut JudgedPage,
        facts: &LeaseFacts,
        copy_of: Option<Seq>,
        withheld: Option<Withheld>,
    ) -> Result<Option<Box<Kept>>, EngineError> {
        let Some(page) = judged.read.kept.take() else {
            return Ok(None);
        };
        if let Some(withheld) = withheld {
            tracing::debug!(url = %facts.url, "{}: not kept", withheld.name());
            return Ok(None);
        }
        let earlier = match copy_of {
            Some(seq) => kept_by(self.store.event(seq)?),
            None => None,
        };
        let parent = found_on(self.store.as_ref(), facts.references.first())?;
        let judgement = judgement(&self.spec, &judged.verdict, facts, parent);
        self.write_records(*page, &judgement, earlier)
    }

    /// Keeps an answer that brought no page, if pages are kept; `outcome` is what came of it.
    pub(super) fn keep_other(
        &mut self,
        records: Option<Box<KeptPage>>,
        facts: &LeaseFacts,
        outcome: &str,
    ) -> Result<Option<Box<Kept>>, EngineError> {
        let Some(records) = records else {
            return Ok(None);
        };
        let parent = found_on(self.store.as_ref(), facts.references.first())?;
        let mut fields = found(facts, parent);
        fields.push(("apprentice-outcome", outcome.to_owned()));
        self.write_records(*records, &fields, None)
    }

    fn write_records(
        &mut self,
        page: KeptPage,
        fields: &[(&'static str, String)],
        earlier: Option<KeptAt>,
    ) -> Result<Option<Box<Kept>>, EngineError> {
        let now = self.bench.clock.now();
        let Some(keeper) = &mut self.keeper else {
            return Ok(None);
        };
        if let Some(earlier) = earlier {
            keeper.recall(&page, earlier);
        }
        let at = keeper.keep(page, fields, now)?;
        Ok(Some(Box::new(Kept {
            file: at.file,
            offset: at.offset,
            end: at.end,
        })))
    }

    /// Why a page is not to be kept, be pages kept or not.
    pub(super) fn withheld(&self, read: &ReadPage) -> Option<Withheld> {
        let tag = read.response.robots_tag.as_deref().unwrap_or_default();
        let scope = &self.spec.tuning.scope;
        scope.withholds(&read.page.meta, robots_tag_directives(tag))
    }
}

/// Where an event's page was kept.
fn kept_by(event: Option<Event>) -> Option<KeptAt> {
    let Some(Event::Page(page)) = event else {
        return None;
    };
    page.kept.as_deref().map(kept_at)
}

fn kept_at(kept: &Kept) -> KeptAt {
    KeptAt {
        file: kept.file,
        offset: kept.offset,
        end: kept.end,
    }
}

/// The records of an exchange; a page whose records cannot be made is not kept.
pub(super) fn records_of(
    url: &CanonicalUrl,
    exchange: &Exchange,
    fetched: Timestamp,
) -> Option<Box<KeptPage>> {
    let wire = WireExchange {
        url,
        fetched,
        request: &exchange.request,
        response: &exchange.response,
        is_h2: exchange.is_h2,
        address: exchange.address,
        is_cut: exchange.is_cut,
    };
    match KeptPage::new(&wire) {
        Ok(page) => Some(Box::new(page)),
        Err(error) => {
            tracing::warn!(%url, %error, "not kept");
            None
        }
    }
}

/// What a `warcinfo` record says of a crawl.
fn about(spec: &Spec, raw: &v1::CrawlSpec) -> Vec<(&'static str, String)> {
    let mut shown = raw.clone();
    // Seeds may be very many, and files of this machine are nothing to others.
    shown.seeds.clear();
    shown.critic.clear();
    if let Some(judge) = &mut shown.judge {
        judge.ca_file.clear();
        judge.token_file.clear();
    }
    let shown = serde_json::to_string(&shown).unwrap_or_default();
    vec![
        ("isPartOf", spec.name.clone()),
        (
            "description",
            format!("a focused crawl for {}", spec.topics.join(", ")),
        ),
        ("http-header-user-agent", spec.tuning.user_agent()),
        ("robots", "obey".to_owned()),
        ("apprentice-spec", shown),
    ]
}

/// What a metadata record says of a page.
fn judgement(
    spec: &Spec,
    verdict: &Verdict,
    facts: &LeaseFacts,
    parent: String,
) -> Vec<(&'static str, String)> {
    let mut fields = found(facts, parent);
    fields.extend([
        ("apprentice-topic", spec.topics.join(", ")),
        ("apprentice-relevance", verdict.relevance().to_string()),
        ("apprentice-log-odds", verdict.log_odds.to_string()),
        ("apprentice-critic-version", verdict.version.to_string()),
    ]);
    fields
}

/// What a metadata record says of how a URL was come by.
fn found(facts: &LeaseFacts, parent: String) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    if !parent.is_empty() {
        fields.push(("via", parent));
    }
    fields.extend([
        ("hopsFromSeed", facts.depth.to_string()),
        ("apprentice-priority", facts.priority.to_string()),
    ]);
    fields
}

/// The URL of the page that a reference points into; empty for a seed.
///
/// # Errors
/// [`StoreFailure`] if that event cannot be read.
pub fn found_on(
    store: &dyn FrontierStore,
    reference: Option<&Reference>,
) -> Result<String, StoreFailure> {
    let Some(reference) = reference else {
        return Ok(String::new());
    };
    Ok(match store.event(reference.seq)? {
        Some(Event::Page(page)) => page.lease.url.as_str().to_owned(),
        Some(Event::Redirect(redirect)) => redirect.lease.url.as_str().to_owned(),
        _ => String::new(),
    })
}
