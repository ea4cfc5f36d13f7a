//! How large, and with which dangers.

/// The parameters of a web.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToyParams {
    /// About how many pages a polite crawler can find; 150 to 20,000.
    pub pages: usize,
    /// Hosts with pages of their own, 3 to 12; the faulty ones come on top.
    pub hosts: usize,
    /// Examples set apart, a topic; at most 200.
    pub examples: usize,
    /// Whether there is an endless calendar.
    pub trap: bool,
    /// Whether there are dead links, redirects, a failing host, a document that is no HTML, and
    /// pages that robots.txt forbids.
    pub faults: bool,
    /// Whether [`SLOW_HOST`](super::SLOW_HOST) is slow.
    pub slow: bool,
}

impl Default for ToyParams {
    /// The demo's web: 800 pages, 12 hosts, every danger.
    fn default() -> Self {
        Self {
            pages: 800,
            hosts: 12,
            examples: 25,
            trap: true,
            faults: true,
            slow: true,
        }
    }
}

impl ToyParams {
    /// A web that a crawl can exhaust: all faults, but no trap and nobody slow.
    pub fn finite(pages: usize) -> Self {
        Self {
            pages,
            trap: false,
            slow: false,
            ..Self::default()
        }
    }

    /// The nearest parameters that a web can be made of.
    pub(super) fn within_bounds(self, hosts_named: usize) -> Self {
        Self {
            pages: self.pages.clamp(150, 20_000),
            hosts: self.hosts.clamp(3, hosts_named.max(3)),
            examples: self.examples.min(200),
            ..self
        }
    }
}
