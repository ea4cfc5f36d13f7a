//! What a target's URL says, as hashes.

use crate::features::key::term_hash;
use crate::url::{CanonicalUrl, registrable_domain};

/// Tokens taken from one URL.
const TOKENS_MAX: usize = 24;
/// Parts of a path that make prefixes.
const PREFIXES_MAX: usize = 3;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct UrlTerms {
    /// The host.
    pub(super) host: u64,
    /// The registrable domain.
    pub(super) domain: u64,
    /// The host with the first, the first two ... parts of the path that are folders.
    pub(super) prefixes: Vec<u64>,
    /// Words of path and query; digits are `#`.
    pub(super) tokens: Vec<u64>,
    /// The file name's extension (hash of the empty string without one).
    pub(super) extension: u64,
    /// Parts of the path.
    pub(super) depth: usize,
    /// It has a query.
    pub(super) has_query: bool,
}

impl UrlTerms {
    pub(super) fn of(url: &CanonicalUrl) -> Self {
        let key = url.host_key();
        let (path, query) = path_and_query(url);
        let host = term_hash(key.as_str());
        let mut tokens = Vec::new();
        for_each_token(url, |token| tokens.push(term_hash(token)));
        let prefixes = prefixes(path).map(|prefix| prefix_hash(host, prefix));
        Self {
            host,
            domain: term_hash(registrable_domain(&key)),
            prefixes: prefixes.collect(),
            tokens,
            extension: term_hash(&extension(path)),
            depth: path.matches('/').count(),
            has_query: query.is_some(),
        }
    }
}

/// The path without the slashes that it begins with, and the query, if there is one.
pub(super) fn path_and_query(url: &CanonicalUrl) -> (&str, Option<&str>) {
    let text = url.as_str();
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let path_at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (path, query) = match rest[path_at..].split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (&rest[path_at..], None),
    };
    (path.trim_start_matches('/'), query)
}

/// The first part of a path, the first two ... that are folders.
pub(super) fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    let slashes = path.match_indices('/').take(PREFIXES_MAX);
    slashes.map(|(at, _)| &path[..at])
}

pub(super) fn prefix_hash(host: u64, prefix: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(prefix.as_bytes(), host)
}

/// The extension of the file that a path names, in small letters; empty without one.
pub(super) fn extension(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or_default();
    let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
    extension.to_ascii_lowercase()
}

/// The tokens of path and query that are taken, in order.
pub(super) fn for_each_token(url: &CanonicalUrl, mut take: impl FnMut(&str)) {
    let mut left = TOKENS_MAX;
    let mut take = |token: &mut String| {
        if left > 0 && !token.is_empty() {
            left -= 1;
            take(token);
        }
        token.clear();
    };
    let (path, query) = path_and_query(url);
    let mut token = String::new();
    for text in [path, query.unwrap_or_default()] {
        for part in text.split(|c: char| !c.is_ascii_alphanumeric()) {
            // A run of letters or of digits is a token: `cs122b` speaks of `cs` and of a number.
            let mut digits = false;
            for c in part.chars() {
                if c.is_ascii_digit() != digits {
                    take(&mut token);
                }
                digits = c.is_ascii_digit();
                if digits {
                    token.clear();
                    token.push('#');
                } else {
                    token.push(c.to_ascii_lowercase());
                }
            }
            take(&mut token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(url: &str) -> UrlTerms {
        UrlTerms::of(&CanonicalUrl::parse(url).unwrap())
    }

    fn hashes(words: &[&str]) -> Vec<u64> {
        words.iter().map(|word| term_hash(word)).collect()
    }

    #[test]
    fn tokens_are_runs_of_letters_and_numbers_are_alike() {
        let terms = terms("http://www.ics.uci.edu/~dvk/CS122b-2019/notes.html?id=17");
        let expected = ["dvk", "cs", "#", "b", "#", "notes", "html", "id", "#"];
        assert_eq!(terms.tokens, hashes(&expected));
        assert_eq!(terms.extension, term_hash("html"));
        assert_eq!(terms.domain, term_hash("uci.edu"));
        assert_eq!((terms.depth, terms.has_query), (2, true));
    }

    #[test]
    fn prefixes_are_folders_of_one_host() {
        let deep = terms("http://a.test/x/y/z/u/v.html");
        assert_eq!(deep.prefixes.len(), 3);
        assert_eq!(terms("http://a.test/x/y").prefixes, deep.prefixes[..1]);
        assert_ne!(terms("http://b.test/x/y").prefixes, deep.prefixes[..1]);
        assert!(terms("http://a.test/").prefixes.is_empty());
        assert!(terms("http://a.test/?q=%20").tokens.len() < 4);
    }
}
