//! robots.txt (RFC 9309): what a site asks of crawlers.
//!
//! [`robots_hop`] makes one request on the way to the file of an [`Origin`], [`RobotsRules`] reads
//! the file, and a [`RobotsCache`] keeps the answers of all crawls for a day. Asking is a lease of its
//! own kind; when the next hop may be made is the crawl's business.

mod cache;
mod journal;
mod origin;
mod request;
mod rules;

use std::sync::Arc;
use std::time::Duration;

pub use cache::RobotsCache;
pub use origin::Origin;
pub use request::{Hop, ROBOTS_REDIRECTS_MAX, robots_hop};
pub use rules::{ROBOTS_BYTES_MAX, RobotsRules};

use crate::fetch::FetchError;
use crate::url::CanonicalUrl;

/// What came of asking for a robots.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RobotsAnswer {
    /// There is one, with these rules.
    Rules(Arc<RobotsRules>),
    /// There is none (4xx): nothing is forbidden.
    AllowAll,
    /// It could not be had (5xx, 429, no connection): everything is forbidden for now.
    Unreachable {
        /// For how long the server asks to be left alone (Retry-After of a 429 or 503), at most a day.
        retry_after: Option<Duration>,
        /// Why, in words.
        cause: Option<Arc<str>>,
        /// The failure, if one request was it.
        failure: Option<Arc<FetchError>>,
    },
}

impl RobotsAnswer {
    /// Unreachable, and nobody says for how long.
    pub const UNREACHABLE: Self = Self::Unreachable {
        retry_after: None,
        cause: None,
        failure: None,
    };

    /// The kind of answer, for logs and counts.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Rules(_) => "rules",
            Self::AllowAll => "allow-all",
            Self::Unreachable { .. } => "unreachable",
        }
    }

    /// Whether `url`, which lies in the origin that was asked, may be fetched.
    pub fn allows(&self, url: &CanonicalUrl) -> bool {
        match self {
            Self::Rules(rules) => rules.allows(url),
            Self::AllowAll => true,
            Self::Unreachable { .. } => false,
        }
    }

    /// The pause between requests that the site asks for, at most a day.
    pub fn crawl_delay(&self) -> Option<Duration> {
        match self {
            Self::Rules(rules) => rules.crawl_delay(),
            Self::AllowAll | Self::Unreachable { .. } => None,
        }
    }

    /// The sitemaps that the site names.
    pub fn sitemaps(&self) -> Vec<CanonicalUrl> {
        match self {
            Self::Rules(rules) => rules.sitemaps(),
            Self::AllowAll | Self::Unreachable { .. } => Vec::new(),
        }
    }

    /// Why it could not be had, in words; `None` if it could.
    pub fn trouble(&self) -> Option<&str> {
        match self {
            Self::Unreachable { cause, .. } => Some(cause.as_deref().unwrap_or("no answer")),
            Self::Rules(_) | Self::AllowAll => None,
        }
    }

    /// The failure by which it could not be had, if one request was it.
    pub fn failure(&self) -> Option<&FetchError> {
        match self {
            Self::Unreachable { failure, .. } => failure.as_deref(),
            Self::Rules(_) | Self::AllowAll => None,
        }
    }

    /// For how long the server that answered asks to be left alone, at most a day.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Unreachable { retry_after, .. } => *retry_after,
            Self::Rules(_) | Self::AllowAll => None,
        }
    }
}
