//! What an archive holds, in numbers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::error::Damage;
use super::listing::Listed;
use crate::clock::Timestamp;
use crate::url::CanonicalUrl;

/// What an archive holds. Hosts, statuses and content types count pages, so that each sums to
/// [`pages`](Self::pages).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ArchiveInfo {
    /// The files in the order in which they are read.
    pub files: Vec<FileInfo>,
    /// Whole records of every kind.
    pub records: u64,
    /// Distinct URLs with an answer: what [`Archive::get`](super::Archive::get) can give.
    pub pages: u64,
    /// Bytes of the pages' records, unzipped and with the stored headers.
    pub page_bytes: u64,
    /// Records whose URL had an answer before; the first one counts.
    pub duplicates: u64,
    /// Records without an answer (`warcinfo`, `request`, `metadata`, `revisit` ...), passed over.
    pub other_records: u64,
    /// Answers for what is no URL of http or https, passed over.
    pub bad_urls: u64,
    /// Places that cannot be used.
    pub unparsable: u64,
    /// The first of these places, at most 32.
    pub damage: Vec<Damage>,
    /// Pages by host and port.
    pub hosts: BTreeMap<String, u64>,
    /// Pages by HTTP status.
    pub statuses: BTreeMap<u16, u64>,
    /// Pages by content type in lower case, without parameters; empty where none is stored.
    pub content_types: BTreeMap<String, u64>,
    /// The earliest WARC-Date of a page, in milliseconds since 1970.
    pub first: Option<Timestamp>,
    /// The latest WARC-Date of a page.
    pub last: Option<Timestamp>,
}

/// One file of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileInfo {
    /// Where it lies.
    pub path: PathBuf,
    /// Bytes that were read: the size of the file, unless damage stopped the reading.
    pub bytes: u64,
    /// Whether it is zipped.
    pub zipped: bool,
    /// Whole records.
    pub records: u64,
    /// Answers that do not begin a gzip member of their own: to give one of them out of order,
    /// everything before it in its member is unzipped again. Zero in a well-made archive.
    pub answers_inside_members: u64,
}

impl ArchiveInfo {
    /// The hosts with the number of their pages, the largest first.
    pub fn hosts_by_pages(&self) -> Vec<(&str, u64)> {
        let mut hosts: Vec<_> = self
            .hosts
            .iter()
            .map(|(host, pages)| (host.as_str(), *pages))
            .collect();
        hosts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        hosts
    }

    pub(super) fn count_page(&mut self, url: &CanonicalUrl, answer: &Listed) {
        self.pages += 1;
        self.page_bytes += answer.length;
        count_one(&mut self.hosts, url.host_key().as_str());
        let status = u16::try_from(answer.status).unwrap_or_default();
        *self.statuses.entry(status).or_default() += 1;
        count_one(&mut self.content_types, &answer.content_type);
        if let Some(date) = answer.date.map(Timestamp) {
            self.first = Some(self.first.map_or(date, |first| first.min(date)));
            self.last = Some(self.last.map_or(date, |last| last.max(date)));
        }
    }
}

fn count_one(counts: &mut BTreeMap<String, u64>, name: &str) {
    match counts.get_mut(name) {
        Some(count) => *count += 1,
        None => {
            counts.insert(name.to_owned(), 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_listed_by_size_then_by_name() {
        let hosts = [("b", 2), ("a", 2), ("c", 9)];
        let info = ArchiveInfo {
            hosts: hosts.map(|(host, n)| (host.to_owned(), n)).into(),
            ..ArchiveInfo::default()
        };
        assert_eq!(info.hosts_by_pages(), [("c", 9), ("a", 2), ("b", 2)]);
    }
}
