//! The distance that a crawl keeps from hosts, and from the servers that many hosts share.

use std::time::Duration;

/// One address is asked so many times at once at most, unless a crawl says otherwise, and so many times
/// a delay: as if no more than so many hosts stood behind it, however many do.
pub const HOSTS_PER_ADDRESS: u32 = 4;

/// The distance that a crawl keeps; of a delay alone, with [`HOSTS_PER_ADDRESS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spacing {
    /// Between two requests to a host.
    pub delay: Duration,
    /// All hosts behind one address together are asked so many times at once, and so many times a delay;
    /// 0 is taken for 1.
    pub per_address: u32,
}

impl From<Duration> for Spacing {
    fn from(delay: Duration) -> Self {
        Self {
            delay,
            per_address: HOSTS_PER_ADDRESS,
        }
    }
}
