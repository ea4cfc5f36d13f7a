//! An archive that gives any of its answers at any time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::beside::{ANSWERS_MAX, Indexes};
use super::error::{ArchiveError, Damage, Flaw};
use super::file::ArchiveFile;
use super::info::{ArchiveInfo, FileInfo};
use super::limits::DAMAGE_COUNT_MAX;
use super::listing::{Listed, ListedDamage, Listing};
use super::response::ArchivedResponse;
use super::scan::{self, Digests, Event};
use super::stream::Place;
use crate::url::{CanonicalUrl, UrlId};

/// One or more WARC files as one archive, read by URL.
///
/// Opening reads every file once and keeps, for each URL, where its first answer lies: about 100
/// bytes a page. Answers are read from the files when they are asked for, from any thread.
#[derive(Debug)]
pub struct Archive {
    files: Vec<ArchiveFile>,
    /// In the order of the files, which is the order of [`Archive::urls`].
    entries: Vec<Entry>,
    /// All URLs, one after the other.
    urls: String,
    by_id: HashMap<UrlId, u32>,
    info: ArchiveInfo,
}

#[derive(Debug)]
struct Entry {
    place: Place,
    url_end: usize,
    file: u16,
}

/// How far the opening of an archive is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the files that were read.
    pub bytes: u64,
    /// Bytes of all files.
    pub bytes_total: u64,
}

impl Archive {
    /// Opens the files as one archive. Of several answers for one URL the first one counts.
    ///
    /// Damaged places are reported in [`ArchiveInfo::damage`] and cost only what lies there.
    ///
    /// # Errors
    /// A file that cannot be opened, or that has no readable record at all.
    pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Self, ArchiveError> {
        Self::open_indexed(paths, &Indexes::none())
    }

    /// As [`Archive::open`]; what the files hold is taken from their `indexes` where these are there,
    /// and kept there where they are not.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn open_indexed<P: AsRef<Path>>(
        paths: &[P],
        indexes: &Indexes,
    ) -> Result<Self, ArchiveError> {
        Self::open_watched(paths, indexes, &mut |_| {})
    }

    /// As [`Archive::open_indexed`], telling about every megabyte how far it is.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn open_watched<P: AsRef<Path>>(
        paths: &[P],
        indexes: &Indexes,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Self, ArchiveError> {
        if paths.is_empty() {
            return Err(ArchiveError::NoFiles);
        }
        if paths.len() > usize::from(u16::MAX) {
            return Err(ArchiveError::TooManyFiles(paths.len()));
        }
        let mut archive = Self {
            files: Vec::with_capacity(paths.len()),
            entries: Vec::new(),
            urls: String::new(),
            by_id: HashMap::new(),
            info: ArchiveInfo::default(),
        };
        let mut sizes = Vec::with_capacity(paths.len());
        for path in paths {
            let (file, size) = ArchiveFile::open(path.as_ref())?;
            archive.files.push(file);
            sizes.push(size);
        }
        let bytes_total = sizes.iter().sum();
        let mut before = 0;
        for (number, size) in (0_u16..).zip(sizes) {
            archive.add_file(number, size, indexes, &mut |bytes| {
                watch(Progress {
                    bytes: before + bytes,
                    bytes_total,
                });
            })?;
            before += size;
        }
        Ok(archive)
    }

    /// Takes in the file of this number, from its index or by reading it.
    fn add_file(
        &mut self,
        number: u16,
        size: u64,
        indexes: &Indexes,
        watch: &mut dyn FnMut(u64),
    ) -> Result<(), ArchiveError> {
        let Some(file) = self.files.get(usize::from(number)) else {
            return Ok(());
        };
        let path = file.path().to_path_buf();
        let stamp = if indexes.takes(size) {
            file.stamp().ok()
        } else {
            None
        };
        let known = stamp.as_ref().and_then(|stamp| indexes.find(&path, stamp));
        if let Some(listing) = known {
            for answer in &listing.answers {
                self.add_answer(number, answer);
            }
            self.add_counts(path, &listing)?;
        } else {
            let listing = self.read_file(number, &path, stamp.is_some(), watch)?;
            self.add_counts(path.clone(), &listing)?;
            if let Some(stamp) = stamp
                && listing.answers.len() as u64 == listing.answers_total
            {
                indexes.keep(&path, &stamp, listing);
            }
        }
        watch(size);
        Ok(())
    }

    /// Reads a file. Its answers are listed only if they are `wanted` and not too many.
    fn read_file(
        &mut self,
        number: u16,
        path: &Path,
        wanted: bool,
        watch: &mut dyn FnMut(u64),
    ) -> Result<Listing, ArchiveError> {
        let mut listing = Listing::default();
        let passed = scan::scan(path, Digests::AsStored, &mut |event| match event {
            Event::Answer(answer) => {
                let answer = Listed::new(&answer);
                self.add_answer(number, &answer);
                listing.answers_total += 1;
                listing.answers_inside += u64::from(answer.skip > 0);
                if wanted && listing.answers.len() < ANSWERS_MAX {
                    listing.answers.push(answer);
                }
            }
            Event::Revisit(_) | Event::Other(_) => listing.others += 1,
            Event::Damage(place, flaw) => {
                listing.unparsable += 1;
                if listing.damage.len() < DAMAGE_COUNT_MAX {
                    listing.damage.push(ListedDamage::new(place.offset, &flaw));
                }
            }
            Event::Progress(bytes) => watch(bytes),
        })
        .map_err(|cause| ArchiveError::Open {
            path: path.to_path_buf(),
            cause,
        })?;
        listing.zipped = passed.zipped;
        listing.bytes = passed.bytes;
        Ok(listing)
    }

    /// Counts what the file at `path` holds beside its answers.
    fn add_counts(&mut self, path: PathBuf, listing: &Listing) -> Result<(), ArchiveError> {
        let records = listing.answers_total + listing.others;
        let mut damage = listing.damage.iter().filter_map(|damage| {
            let flaw = damage.flaw()?;
            Some(Damage::new(&path, damage.offset, flaw))
        });
        if records == 0 {
            let flaw = damage.next().map_or(Flaw::Empty, |damage| damage.flaw);
            return Err(ArchiveError::NotWarc { path, flaw });
        }
        let room = DAMAGE_COUNT_MAX.saturating_sub(self.info.damage.len());
        self.info.damage.extend(damage.take(room));
        self.info.unparsable += listing.unparsable;
        self.info.other_records += listing.others;
        self.info.records += records;
        self.info.files.push(FileInfo {
            path,
            bytes: listing.bytes,
            zipped: listing.zipped,
            records,
            answers_inside_members: listing.answers_inside,
        });
        Ok(())
    }

    fn add_answer(&mut self, file: u16, answer: &Listed) {
        let Ok(url) = CanonicalUrl::parse(&answer.target) else {
            self.info.bad_urls += 1;
            return;
        };
        // Past four billion URLs nothing would fit in memory anyway; they count as repeated.
        let next = u32::try_from(self.entries.len()).ok();
        let (Some(next), false) = (next, self.by_id.contains_key(&url.id())) else {
            self.info.duplicates += 1;
            return;
        };
        self.by_id.insert(url.id(), next);
        self.urls.push_str(url.as_str());
        self.entries.push(Entry {
            place: Place {
                offset: answer.offset,
                skip: answer.skip,
            },
            url_end: self.urls.len(),
            file,
        });
        self.info.count_page(&url, answer);
    }

    /// The answer stored for exactly this URL; `None` if the archive lacks it.
    ///
    /// Reads the file and blocks as long as that takes: a tenth of a millisecond where records are
    /// gzip members of their own. Where many share a member
    /// ([`FileInfo::answers_inside_members`]), only the order of [`Archive::urls`] is fast; any
    /// other answer costs unzipping all that stands before it in its member.
    ///
    /// # Errors
    /// [`ArchiveError::Record`] if the file was changed since it was opened, or cannot be read.
    pub fn get(&self, url: &CanonicalUrl) -> Result<Option<ArchivedResponse>, ArchiveError> {
        let Some((entry, file)) = self.find(url) else {
            return Ok(None);
        };
        match file.answer(entry.place, url) {
            Ok(response) => Ok(Some(response)),
            Err(flaw) => {
                let damage = Damage::new(file.path(), entry.place.offset, flaw);
                Err(ArchiveError::Record(damage))
            }
        }
    }

    /// Whether there is an answer for exactly this URL.
    pub fn contains(&self, url: &CanonicalUrl) -> bool {
        self.find(url).is_some()
    }

    fn find(&self, url: &CanonicalUrl) -> Option<(&Entry, &ArchiveFile)> {
        let number = *self.by_id.get(&url.id())? as usize;
        // Two URLs may share a fingerprint; the second is not in the index then.
        if self.url_text(number)? != url.as_str() {
            return None;
        }
        let entry = self.entries.get(number)?;
        Some((entry, self.files.get(usize::from(entry.file))?))
    }

    fn url_text(&self, number: usize) -> Option<&str> {
        let start = match number.checked_sub(1) {
            Some(before) => self.entries.get(before)?.url_end,
            None => 0,
        };
        self.urls.get(start..self.entries.get(number)?.url_end)
    }

    /// All URLs with an answer, in the order of the files: the same at every opening.
    pub fn urls(&self) -> impl Iterator<Item = CanonicalUrl> + '_ {
        (0..self.entries.len())
            .filter_map(|number| self.url_text(number))
            .map(|text| CanonicalUrl::from_stored(text.to_owned()))
    }

    /// The number of URLs with an answer.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no URL has an answer.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What the archive holds, in numbers.
    pub fn info(&self) -> &ArchiveInfo {
        &self.info
    }
}
