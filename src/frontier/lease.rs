//! What the frontier answers: a link on its way, or why there is none.

use super::HostLease;
use crate::booking::Reference;
use crate::clock::Timestamp;
use crate::url::UrlId;

/// What to do now.
#[derive(Debug)]
pub enum Next {
    /// Fetch this.
    Lease(Lease),
    /// Links wait, but no host before this moment, unless a host that is out on a lease comes back
    /// earlier: wait for [`host_returned`](super::Frontier::host_returned) as well.
    NotBefore(Timestamp),
    /// Every host with a waiting link is out on a lease (of this crawl or another): ask again when
    /// one has ended ([`host_returned`](super::Frontier::host_returned)).
    AllLeased,
    /// Nothing waits (held links of capped hosts do not count as waiting here).
    Empty,
}

/// A link on its way: the right to fetch it, once.
#[derive(Debug)]
pub struct Lease {
    /// Rises by one with each lease of this frontier.
    pub number: u64,
    /// Fingerprint of the URL; the text is in the store, at the first reference.
    pub id: UrlId,
    /// Where it was found; the first one first. Its URL is that of the first.
    pub references: Vec<Reference>,
    /// Links between a seed and it.
    pub depth: u16,
    /// Somebody gave it as a seed.
    pub is_seed: bool,
    /// The priority that it was leased with.
    pub priority: f32,
    /// Requests made for it before.
    pub requests: u32,
    /// Redirects that led to it.
    pub hops: u16,
    /// The host.
    pub host: HostLease,
    /// When.
    pub leased_at: Timestamp,
}
