//! Which link next, and when? Order, politeness, references.
//!
//! One queue a host, ordered by priority; a host is ready when its time has come; the best ready
//! host gives the next link (DESIGN.md 4.5). The calendar of hosts is shared by all crawls of a
//! daemon: a host is in the calendar or out on a lease, so a second request to it cannot be
//! expressed.
//!
//! Life of a link: *unknown*, *waiting* (from the event that booked the page it stands on), *leased*,
//! then *fetched* or *refused* (from the event that ended the lease); a failure that is to be tried
//! again puts it back to *waiting*. The frontier is the fold of the crawl's events by
//! [`Frontier::admit`]; only leases are not in the log, so that they return after a crash.

mod admit;
mod baseline_queue;
mod calendar;
mod domains;
mod evict;
mod host_lease;
mod host_queue;
mod hosts;
mod known;
mod lease;
mod link_heap;
mod links;
mod new_scores;
mod params;
mod parents;
mod places;
mod queue;
mod rescore;
mod returns;
mod server;
mod slab;
mod spacing;
mod steering;
mod store;
mod store_memory;
mod store_read;
mod store_sled;
#[cfg(test)]
mod store_tests;
mod switching;
mod url_table;
mod view;
mod waits_file;

pub use baseline_queue::Rivals;
pub use calendar::{Held, HostCalendar};
pub use evict::LINK_BYTES;
pub use host_lease::HostLease;
pub use lease::{Lease, Next};
pub use params::{Combine, FrontierParams};
pub use queue::Frontier;
pub use spacing::{HOSTS_PER_ADDRESS, Spacing};
pub use steering::Steering;
pub use store::{FrontierStore, StoreFailure};
pub use store_memory::MemoryStore;
pub use store_sled::SledStore;
pub use view::{
    FrontierCounts, FrontierImage, HostImage, KnownLink, LinkState, UrlImage, WaitingImage,
    WaitingLink, WhyWaiting,
};

#[cfg(test)]
mod tests;
