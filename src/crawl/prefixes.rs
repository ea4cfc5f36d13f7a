//! Which parts of a site have brought copies and little else?
//!
//! A calendar or a shop's filters make URLs without end whose pages differ in a few words. Each path prefix
//! has a budget of copies: a page that is a copy of an earlier one, or nearly, takes one from it, a page
//! that is none gives some back. When it is spent, links under the prefix are refused.

use std::collections::HashMap;

use crate::booking::PageBooking;
use crate::url::{CanonicalUrl, FingerprintState};

/// Copies under one path prefix, more than are made up for, unless a spec says otherwise. A trap costs so
/// many fetches, once a host and prefix. On a real university 50 cost a fifth of the relevance (archives of
/// pages much alike), 200 nothing (README).
pub(super) const PREFIX_COPIES_MAX: u32 = 200;

/// So many copies are made up for by a page that is none: a part of a site in which one page in four is
/// new stays open for ever.
const MADE_UP_FOR: u32 = 3;

/// Folders that are looked at, from the root on; the root itself never is: a site of short pages that look
/// alike is no trap.
const LEVELS_MAX: usize = 8;

/// The copies under each prefix, more than were made up for. Some 30 bytes for each prefix that has any.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    copies: HashMap<u64, u32, FingerprintState>,
}

impl Prefixes {
    /// Takes a booked page in.
    pub(super) fn add(&mut self, page: &PageBooking) {
        let likeness = &page.likeness;
        // A page without a sketch is too short to tell whether it is like another.
        let is_copy = likeness.copy_of.or(likeness.near_copy_of).is_some();
        if !is_copy && likeness.sketch.is_none() {
            return;
        }
        for prefix in prefixes_of(&page.lease.url) {
            if is_copy {
                let copies = self.copies.entry(prefix).or_default();
                *copies = copies.saturating_add(1);
            } else if let Some(copies) = self.copies.get_mut(&prefix) {
                *copies = copies.saturating_sub(MADE_UP_FOR);
                if *copies == 0 {
                    self.copies.remove(&prefix);
                }
            }
        }
    }

    /// Whether a prefix of `url` has spent its budget of `copies_max`.
    pub(super) fn are_spent(&self, url: &CanonicalUrl, copies_max: u32) -> bool {
        !self.copies.is_empty()
            && prefixes_of(url).any(|prefix| {
                let copies = self.copies.get(&prefix).copied();
                copies.unwrap_or_default() >= copies_max
            })
    }
}

/// The hashes of the folders that a URL lies in, below the root; what has a query lies in the folder that
/// its path is.
fn prefixes_of(url: &CanonicalUrl) -> impl Iterator<Item = u64> + '_ {
    let text = url.as_str();
    let path = text.find("://").map_or(0, |at| at + 3);
    let root = text
        .get(path..)
        .and_then(|rest| rest.find('/'))
        .map_or(text.len(), |at| path + at);
    let query = text.find('?');
    let path_end = query.unwrap_or(text.len());
    let slashes = text
        .char_indices()
        .filter(move |(at, char)| *char == '/' && *at > root && *at < path_end)
        .map(|(at, _)| at)
        .take(LEVELS_MAX);
    let ends = slashes.chain(query);
    ends.filter_map(move |end| Some(xxhash_rust::xxh3::xxh3_64(text.get(..end)?.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        prefixes_of(&CanonicalUrl::parse(text).unwrap()).count()
    }

    #[test]
    fn prefixes_are_folders_below_the_root_and_paths_with_a_query() {
        for (text, expected) in [
            ("http://h.test/", 0),
            ("http://h.test/page", 0),
            ("http://h.test/a/page", 1),
            ("http://h.test/a/b/", 2),
            ("http://h.test/cal.php?month=3/4/5", 1),
            ("http://h.test/a/cal.php?month=3", 2),
            ("http://h.test/1/2/3/4/5/6/7/8/9/10/page", LEVELS_MAX),
        ] {
            assert_eq!(count(text), expected, "{text}");
        }
        let first = |text: &str| prefixes_of(&CanonicalUrl::parse(text).unwrap()).next();
        assert_eq!(first("http://h.test/a/1"), first("http://h.test/a/b/2"));
        assert_ne!(first("http://h.test/a/1"), first("http://i.test/a/1"));
        assert_ne!(first("http://h.test/a/1"), first("http://h.test/b/1"));
        let queries = ["http://h.test/c?x=1", "http://h.test/c?y=2"];
        assert_eq!(first(queries[0]), first(queries[1]));
    }
}
