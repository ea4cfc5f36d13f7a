//! What a crawl is to do, as its log has it.

use super::error::EngineError;
use super::spec::Spec;
use crate::booking::{Event, Seq};
use crate::frontier::FrontierStore;
use crate::proto::v1;

/// The spec that the crawl was created with: the log's first event.
pub(super) fn first_spec(store: &dyn FrontierStore) -> Result<(v1::CrawlSpec, Spec), EngineError> {
    match store.event(Seq(1))? {
        Some(Event::SpecChange(bytes)) => spec_from(&bytes),
        _ => Err(EngineError::Spec(
            "the log does not begin with one".to_owned(),
        )),
    }
}

/// What an event that changes the spec holds.
pub(super) fn spec_from(bytes: &[u8]) -> Result<(v1::CrawlSpec, Spec), EngineError> {
    let raw = <v1::CrawlSpec as prost::Message>::decode(bytes)
        .map_err(|error| EngineError::Spec(error.to_string()))?;
    let spec = Spec::check(&raw)?;
    Ok((raw, spec))
}
