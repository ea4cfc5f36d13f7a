//! What a new crawl begins with: its spec's start, made into the file of its folder.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::folder::judge_for;
use super::{Registry, RegistryError, on_blocking_pool};
use crate::apprentice::{Carry, SavedApprentice};
use crate::clock::Clock;
use crate::crawl::{Spec, StartError, StartFrom, StartSpec, learned_from};
use crate::fetch::Source;
use crate::proto::v1;

/// The content of the file that a crawl with this spec begins with, if it begins with one; the spec is given
/// its checksum, and its features if it names none.
pub(super) async fn start_of<S: Source, C: Clock>(
    registry: &Registry<S, C>,
    raw: &mut v1::CrawlSpec,
    spec: &Spec,
) -> Result<Option<Vec<u8>>, RegistryError> {
    let Some(start) = spec.start.clone() else {
        return Ok(None);
    };
    let mut told = raw.clone();
    let spec = spec.clone();
    let made = match &start.from {
        StartFrom::Apprentice(path) => {
            let path = path.clone();
            on_blocking_pool(move || made_of_file(&start, &path, &mut told)).await?
        }
        StartFrom::InstancesOf(name) => {
            let other = registry.get(name).await?;
            let now = registry.shared.clock.now();
            let learn = move || {
                // What belongs to no topic may come from another focus: its critic is not compared.
                let judge = match start.carry {
                    Carry::All => Some(judge_for(&spec)?),
                    Carry::TopicFree => None,
                };
                let saved = learned_from(&other, &spec, judge.as_ref(), now)?;
                let from = format!("crawl {:?}", other.name());
                let saved = start.fit(saved, &from, &mut told)?;
                made(&saved, told)
            };
            on_blocking_pool(learn).await?
        }
    };
    let (told, bytes) = made;
    *raw = told;
    Ok(Some(bytes))
}

type Made = (v1::CrawlSpec, Vec<u8>);

fn made_of_file(
    start: &StartSpec,
    path: &Path,
    told: &mut v1::CrawlSpec,
) -> Result<Made, RegistryError> {
    let saved = SavedApprentice::open(path).map_err(StartError::from)?;
    let saved = start.fit(saved, &path.display().to_string(), told)?;
    made(&saved, told.clone())
}

fn made(saved: &SavedApprentice, mut told: v1::CrawlSpec) -> Result<Made, RegistryError> {
    let bytes = saved.to_bytes().map_err(|error| {
        let words = format!("the apprentice to begin with cannot be written: {error}");
        RegistryError::Damaged(words)
    })?;
    told.start.get_or_insert_default().checksum = checksum(&bytes);
    Ok((told, bytes))
}

/// The checksum of a file's content, as a spec has it.
fn checksum(bytes: &[u8]) -> String {
    format!("{:016x}", xxh3_64(bytes))
}

/// The apprentice in the file at `path`, which a spec names with its checksum.
pub(super) fn open(path: &Path, start: &StartSpec) -> Result<SavedApprentice, RegistryError> {
    let bytes = SavedApprentice::read(path).map_err(StartError::from)?;
    let found = checksum(&bytes);
    if found != start.checksum {
        return Err(RegistryError::Damaged(format!(
            "{}: it is not what the crawl began with: its checksum is {found}, the spec says {}; put the \
             file back from a copy",
            path.display(),
            start.checksum
        )));
    }
    let saved = SavedApprentice::from_bytes(&bytes, path).map_err(StartError::from)?;
    Ok(saved)
}
