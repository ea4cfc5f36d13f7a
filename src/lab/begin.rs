//! Crawlers that begin with a saved apprentice, the contest's or one of their own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::contest::ContestSpec;
use super::crawler::Crawler;
use super::replay::raw_spec;
use super::sources::{DigestError, Digests};
use crate::apprentice::{Carry, SavedApprentice, SavedError};
use crate::crawl::{StartError, StartFrom, StartSpec};

/// Characters of a crawler's own name at most: it stands in tables and under curves.
pub(super) const NAME_MOST: usize = 60;

/// A saved apprentice for crawls to begin with.
#[derive(Clone, Debug)]
pub struct Begin {
    /// How much of it is taken.
    pub told: StartSpec,
    /// The apprentice.
    pub saved: SavedApprentice,
    /// What it is called, in errors.
    pub name: String,
    /// SHA-1 of its file.
    pub digest: String,
}

/// A crawler with an apprentice of its own to begin with.
#[derive(Clone, Debug)]
pub struct Begun {
    /// What it is called.
    pub name: String,
    /// The crawler without it.
    pub crawler: Crawler,
    /// What it begins with.
    pub begin: Arc<Begin>,
}

impl PartialEq for Begun {
    /// A name stands for one crawler.
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.crawler) == (&other.name, &other.crawler)
    }
}

/// Why a file cannot be begun with.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// It is no saved apprentice, or a broken one.
    #[error(transparent)]
    Saved(#[from] SavedError),
    /// It cannot be read.
    #[error(transparent)]
    Digest(#[from] DigestError),
}

impl Begin {
    /// The apprentice that was saved as `path`.
    ///
    /// # Errors
    /// [`BeginError`] names the file.
    pub fn open(path: &Path, carry: Carry) -> Result<Self, BeginError> {
        Ok(Self {
            saved: SavedApprentice::open(path)?,
            name: path.display().to_string(),
            digest: Digests::of(path)?,
            told: StartSpec {
                from: StartFrom::Apprentice(path.to_path_buf()),
                carry,
                checksum: String::new(),
            },
        })
    }

    /// The name of its file, without folders: a report is handed to others.
    pub fn file_name(&self) -> String {
        let path = PathBuf::from(&self.name);
        let name = path.file_name().unwrap_or(path.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

impl ContestSpec {
    /// What the apprentice of `crawler` begins with, if it has one and is to begin with something.
    pub fn begin_of<'a>(&'a self, crawler: &'a Crawler) -> Option<&'a Begin> {
        match crawler {
            Crawler::Begun(begun) => Some(&begun.begin),
            other if other.order().learns() => self.begin.as_deref(),
            _ => None,
        }
    }

    /// Whether the apprentice of `crawler` can begin with what it is to begin with, on every topic.
    pub(super) fn check_begin(&self, crawler: &Crawler) -> Result<(), StartError> {
        let Some(begin) = self.begin_of(crawler) else {
            return Ok(());
        };
        for topic in &self.topics {
            let mut raw = raw_spec(self, crawler, topic);
            begin.told.fit(begin.saved.clone(), &begin.name, &mut raw)?;
        }
        Ok(())
    }
}
