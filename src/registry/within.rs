//! The fence of a crawl that may fetch only what another one fetched (the recall crawler of
//! Chakrabarti et al., WWW 2002, section 3.6): fingerprints of the URLs that the other had asked for
//! when this crawl was made, in a file of its folder. The other may go on, or be deleted.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Registry, RegistryError, on_blocking_pool};
use crate::booking::{Event, Seq};
use crate::clock::Clock;
use crate::crawl::Spec;
use crate::fetch::Source;
use crate::frontier::{FrontierStore, StoreFailure};
use crate::url::{CanonicalUrl, UrlId};

/// What the file begins with.
const MAGIC: &[u8; 8] = b"appfence";
const NUMBER: usize = size_of::<u64>();

/// What a crawl with this spec may fetch, if it is to stay within another one.
pub(super) async fn fence_of<S: Source, C: Clock>(
    registry: &Registry<S, C>,
    spec: &Spec,
) -> Result<Option<Fence>, RegistryError> {
    let Some(name) = &spec.within else {
        return Ok(None);
    };
    let store = Arc::clone(registry.get(name).await?.store());
    let fence = on_blocking_pool(move || Ok(Fence::around(store.as_ref())?)).await?;
    if fence.is_empty() {
        return Err(RegistryError::NothingWithin(name.clone()));
    }
    Ok(Some(fence))
}

/// See the module. 8 bytes a URL.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fence {
    /// Sorted.
    inside: Vec<u64>,
    /// Seeds of the other crawl; known while this one is made.
    pub(super) seeds: Vec<CanonicalUrl>,
}

impl Fence {
    /// What the crawl with this log has asked for, up to its last durable event.
    pub(super) fn around(store: &dyn FrontierStore) -> Result<Self, StoreFailure> {
        let mut fence = Self::default();
        store.scan(Seq(1), store.durable(), &mut |_, event| {
            let lease = match event {
                Event::Page(page) => page.lease,
                Event::Failure(failure) => failure.lease,
                Event::Redirect(redirect) => redirect.lease,
                Event::Seeds(seeds) => {
                    fence.seeds.extend(seeds.urls);
                    return true;
                }
                _ => return true,
            };
            fence.inside.push(lease.url.id().0);
            true
        })?;
        fence.inside.sort_unstable();
        fence.inside.dedup();
        let mut seeds = std::mem::take(&mut fence.seeds);
        seeds.retain(|url| fence.contains(url));
        fence.seeds = seeds;
        Ok(fence)
    }

    /// Whether the other crawl asked for nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.inside.is_empty()
    }

    /// Whether the other crawl asked for this URL.
    pub(super) fn contains(&self, url: &CanonicalUrl) -> bool {
        let UrlId(id) = url.id();
        self.inside.binary_search(&id).is_ok()
    }

    /// Writes the file.
    pub(super) fn save(&self, path: &Path) -> io::Result<()> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.inside.iter().flat_map(|id| id.to_le_bytes()));
        bytes.extend(xxhash_rust::xxh3::xxh3_64(&bytes).to_le_bytes());
        fs::write(path, bytes)
    }

    /// Reads the file.
    ///
    /// # Errors
    /// Also if it is not whole.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let bytes = fs::read(path)?;
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "it is damaged");
        let end = bytes.len().checked_sub(NUMBER).ok_or_else(damaged)?;
        let (body, sum) = bytes.split_at(end);
        let numbers = body.strip_prefix(MAGIC).ok_or_else(damaged)?;
        if xxhash_rust::xxh3::xxh3_64(body).to_le_bytes() != *sum || numbers.len() % NUMBER != 0 {
            return Err(damaged());
        }
        let (numbers, _) = numbers.as_chunks::<NUMBER>();
        Ok(Self {
            inside: numbers.iter().copied().map(u64::from_le_bytes).collect(),
            seeds: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
    }

    #[test]
    fn a_fence_is_read_as_it_was_written_and_a_damaged_one_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fence");
        let (a, b) = (url("http://a.test/"), url("http://b.test/"));
        let mut inside = vec![a.id().0, b.id().0];
        inside.sort_unstable();
        let fence = Fence {
            inside,
            seeds: Vec::new(),
        };
        fence.save(&path).unwrap();
        let again = Fence::open(&path).unwrap();
        assert_eq!(again, fence);
        assert!(again.contains(&a) && !again.contains(&url("http://c.test/")));
        let whole = fs::read(&path).unwrap();
        for cut in [0, 7, whole.len() - 1] {
            fs::write(&path, &whole[..cut]).unwrap();
            assert!(Fence::open(&path).is_err(), "{cut}");
        }
        let mut wrong = whole;
        wrong[9] ^= 1;
        fs::write(&path, wrong).unwrap();
        assert!(Fence::open(&path).is_err());
    }
}
