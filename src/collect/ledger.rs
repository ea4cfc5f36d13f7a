//! What is known of each URL, and what that means for whoever wanted it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::report::Report;
use crate::url::CanonicalUrl;

/// So many redirects are followed from a URL that is wanted.
pub const REDIRECTS_MAX: usize = 10;

/// What came of asking for a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Its page is in the archive.
    Page,
    /// Its redirect is.
    Redirect(CanonicalUrl),
    /// For good.
    Failed(Arc<str>),
    /// For now.
    Deferred(Arc<str>),
}

/// How it stands with a URL that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing<'a> {
    Had,
    Failed(&'a str),
    Deferred(&'a str),
    /// This URL has to be asked for, after so many redirects.
    Open(&'a CanonicalUrl, usize),
}

/// The fates of all URLs that were asked for.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    fates: BTreeMap<CanonicalUrl, Fate>,
}

impl Ledger {
    /// Writes down a fate; an earlier one is replaced.
    pub(super) fn set(&mut self, url: CanonicalUrl, fate: Fate) {
        self.fates.insert(url, fate);
    }

    pub(super) fn knows(&self, url: &CanonicalUrl) -> bool {
        self.fates.contains_key(url)
    }

    /// Follows the redirects that are known from `url`.
    pub(super) fn standing<'a>(&'a self, url: &'a CanonicalUrl) -> Standing<'a> {
        let mut url = url;
        for hops in 0..=REDIRECTS_MAX {
            match self.fates.get(url) {
                None => return Standing::Open(url, hops),
                Some(Fate::Page) => return Standing::Had,
                Some(Fate::Redirect(target)) => url = target,
                Some(Fate::Failed(cause)) => return Standing::Failed(cause),
                Some(Fate::Deferred(cause)) => return Standing::Deferred(cause),
            }
        }
        Standing::Failed("too many redirects")
    }

    /// Counts how it stands with `wanted` into `report`.
    pub(super) fn count(&self, wanted: &[CanonicalUrl], report: &mut Report) {
        report.urls = wanted.len();
        for url in wanted {
            match self.standing(url) {
                Standing::Had => report.had += 1,
                Standing::Failed(cause) => count_cause(&mut report.failed, cause),
                Standing::Deferred(cause) => count_cause(&mut report.deferred, cause),
                Standing::Open(..) => report.open += 1,
            }
        }
    }
}

fn count_cause(counts: &mut BTreeMap<String, usize>, cause: &str) {
    *counts.entry(cause.to_owned()).or_default() += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(path: &str) -> CanonicalUrl {
        CanonicalUrl::parse(&format!("http://h.test/{path}")).unwrap()
    }

    fn chain(length: usize) -> Ledger {
        let mut ledger = Ledger::default();
        for hop in 0..length {
            let target = url(&(hop + 1).to_string());
            ledger.set(url(&hop.to_string()), Fate::Redirect(target));
        }
        ledger
    }

    #[test]
    fn ten_redirects_are_followed_and_not_eleven() {
        let mut ledger = chain(REDIRECTS_MAX);
        let end = url("10");
        assert_eq!(ledger.standing(&url("0")), Standing::Open(&end, 10));
        ledger.set(end.clone(), Fate::Page);
        assert_eq!(ledger.standing(&url("0")), Standing::Had);
        ledger.set(end, Fate::Redirect(url("11")));
        let lost = Standing::Failed("too many redirects");
        assert_eq!(ledger.standing(&url("0")), lost);
        // From a later link of the chain its end is near enough.
        assert_eq!(ledger.standing(&url("1")), Standing::Open(&url("11"), 10));
    }

    #[test]
    fn a_circle_of_redirects_ends() {
        let mut ledger = chain(2);
        ledger.set(url("2"), Fate::Redirect(url("0")));
        let lost = Standing::Failed("too many redirects");
        assert_eq!(ledger.standing(&url("1")), lost);
    }
}
