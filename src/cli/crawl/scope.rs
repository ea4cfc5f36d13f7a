//! The flags that `crawl start` and `crawl set` share.

use crate::proto::v1;

/// Which links are taken in.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Scope")]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub(super) struct ScopeArgs {
    /// Take in only URLs that match this regular expression (or another --allow); replaces the list there is
    #[arg(long, value_name = "REGEX")]
    allow: Vec<String>,

    /// Take in no URL that matches this regular expression (again for more); replaces the list there is
    #[arg(long, value_name = "REGEX")]
    deny: Vec<String>,

    /// Fetches of one host at most (0: no cap)
    #[arg(long, value_name = "N")]
    pages_per_host: Option<u64>,

    /// Fetches of all hosts under one registrable domain at most (0: no cap)
    #[arg(long, value_name = "N")]
    pages_per_domain: Option<u64>,

    /// Links from a seed at most (0: no limit)
    #[arg(long, value_name = "N")]
    depth: Option<u32>,

    /// soft: relevance orders the links; hard: only outlinks of pages whose best class lies in the focus or under its parent
    #[arg(long, value_name = "soft|hard", value_parser = ["soft", "hard"])]
    focus: Option<String>,

    /// Follow links marked rel=nofollow
    #[arg(long)]
    ignore_nofollow: bool,

    /// Follow the links of pages whose meta robots says nofollow
    #[arg(long)]
    ignore_meta_robots: bool,

    /// Follow the links of pages whose X-Robots-Tag header says nofollow
    #[arg(long)]
    ignore_robots_tag: bool,

    /// Keep pages (--warc) although they or their server say noarchive
    #[arg(long)]
    ignore_noarchive: bool,

    /// Take the URLs of the sitemaps that a seed's robots.txt names as seeds as well
    #[arg(long)]
    sitemaps: bool,

    /// Leave session ids and tracking parameters such as `utm_source` in the URLs of links
    #[arg(long)]
    keep_tracking: bool,

    /// Put the parameters of the URLs of links in order
    #[arg(long)]
    sort_query: bool,

    /// Write the percent escapes in the URLs of links with capitals, so that `%c3` and `%C3` are one
    #[arg(long)]
    capital_escapes: bool,

    /// Follow links whose URLs look made without end: very deep, repeating, of a far year
    #[arg(long)]
    follow_traps: bool,

    /// Refuse links under a path that has brought so many pages that are nearly copies [default: 200]
    #[arg(long, value_name = "N")]
    prefix_copies: Option<u32>,

    /// Follow the links of a page that is a copy, to the byte, of one fetched before
    #[arg(long)]
    follow_copies: bool,

    /// Address range (CIDR) that may be crawled although it is private or loopback
    #[arg(long, value_name = "CIDR")]
    allow_address: Vec<String>,
}

impl ScopeArgs {
    /// Whether any flag was given.
    pub(super) fn is_given(&self) -> bool {
        !self.allow.is_empty()
            || !self.deny.is_empty()
            || self.pages_per_host.is_some()
            || self.depth.is_some()
            || self.focus.is_some()
            || self.pages_per_domain.is_some()
            || self.ignore_nofollow
            || self.ignore_meta_robots
            || self.ignore_robots_tag
            || self.ignore_noarchive
            || self.sitemaps
            || self.keep_tracking
            || self.sort_query
            || self.capital_escapes
            || self.follow_traps
            || self.follow_copies
            || self.prefix_copies.is_some()
            || !self.allow_address.is_empty()
    }

    /// Puts what was given over `scope`.
    pub(super) fn put_over(self, scope: &mut v1::Scope) {
        if !self.allow.is_empty() {
            scope.allow = self.allow;
        }
        if !self.deny.is_empty() {
            scope.deny = self.deny;
        }
        if let Some(max) = self.pages_per_host {
            scope.pages_per_host_max = max;
        }
        if let Some(max) = self.depth {
            scope.depth_max = max;
        }
        if let Some(focus) = self.focus {
            scope.focus = focus;
        }
        if let Some(max) = self.pages_per_domain {
            scope.pages_per_domain_max = max;
        }
        scope.ignore_nofollow |= self.ignore_nofollow;
        scope.ignore_meta_robots |= self.ignore_meta_robots;
        scope.ignore_robots_tag |= self.ignore_robots_tag;
        scope.ignore_noarchive |= self.ignore_noarchive;
        scope.sitemaps |= self.sitemaps;
        scope.keep_tracking |= self.keep_tracking;
        scope.sort_query |= self.sort_query;
        scope.capital_escapes |= self.capital_escapes;
        scope.follow_traps |= self.follow_traps;
        scope.follow_copies |= self.follow_copies;
        if let Some(max) = self.prefix_copies {
            scope.prefix_copies_max = max;
        }
        if !self.allow_address.is_empty() {
            scope.allow_addresses = self.allow_address;
        }
    }
}

/// Bounds and delays.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitArgs {
    /// Fetches at once, over all hosts [default: 32]
    #[arg(long, value_name = "N")]
    in_flight: Option<u32>,

    /// Milliseconds between two requests to a host [default: 1000]
    #[arg(long, value_name = "MS")]
    delay_ms: Option<u64>,

    /// The delay grows to so many times the server's time to answer (0: never) [default: 5]
    #[arg(long, value_name = "K")]
    delay_factor: Option<u32>,

    /// So far does the delay grow, in milliseconds [default: 30000]
    #[arg(long, value_name = "MS")]
    delay_max_ms: Option<u64>,

    /// Milliseconds until a connection stands [default: 10000]
    #[arg(long, value_name = "MS")]
    connect_ms: Option<u64>,

    /// Milliseconds until the first byte of an answer [default: 20000]
    #[arg(long, value_name = "MS")]
    first_byte_ms: Option<u64>,

    /// Milliseconds for a whole fetch [default: 60000]
    #[arg(long, value_name = "MS")]
    fetch_ms: Option<u64>,

    /// Bytes of a body, decompressed; the rest is cut off [default: 1048576]
    #[arg(long, value_name = "BYTES")]
    body_bytes: Option<u64>,

    /// Refuse a body that is longer (too-large) instead of cutting it
    #[arg(long)]
    refuse_large: bool,

    /// Bytes of an answer's headers [default: 65536]
    #[arg(long, value_name = "BYTES")]
    header_bytes: Option<u64>,

    /// Slowest rate of a body, over every ten seconds (0: any) [default: 100]
    #[arg(long, value_name = "BYTES")]
    bytes_per_second: Option<u32>,

    /// How many times its size a body may become when it is decompressed [default: 250]
    #[arg(long, value_name = "N")]
    expansion: Option<u32>,

    /// Redirects from one link [default: 10]
    #[arg(long, value_name = "N")]
    redirects: Option<u32>,

    /// Give a host up whose robots.txt could not be had so often in a row [default: 3]
    #[arg(long, value_name = "N")]
    robots_tries: Option<u32>,

    /// Requests at once, and requests a delay, to all hosts behind one IP address together [default: 4]
    #[arg(long, value_name = "N")]
    per_address: Option<u32>,

    /// Links taken from one page [default: 5000]
    #[arg(long, value_name = "N")]
    links_per_page: Option<u32>,

    /// Keep so many waiting links at most; the least promising go (0: no bound) [default: 0]
    #[arg(long, value_name = "N")]
    links_waiting: Option<u64>,

    /// The same in bytes of memory, at some 128 a link (0: no bound) [default: 0]
    #[arg(long, value_name = "BYTES")]
    links_waiting_bytes: Option<u64>,
}

impl LimitArgs {
    /// Puts what was given over `limits`.
    pub(super) fn put_over(&self, limits: &mut v1::Limits) {
        let put = |old: &mut u64, new: Option<u64>| *old = new.unwrap_or(*old);
        let put_small = |old: &mut u32, new: Option<u32>| *old = new.unwrap_or(*old);
        put_small(&mut limits.in_flight_max, self.in_flight);
        limits.delay_ms_min = self.delay_ms.or(limits.delay_ms_min);
        put(&mut limits.connect_ms_max, self.connect_ms);
        put(&mut limits.first_byte_ms_max, self.first_byte_ms);
        put(&mut limits.fetch_ms_max, self.fetch_ms);
        put(&mut limits.body_bytes_max, self.body_bytes);
        limits.delay_factor = self.delay_factor.or(limits.delay_factor);
        put(&mut limits.delay_ms_max, self.delay_max_ms);
        limits.refuse_large |= self.refuse_large;
        put(&mut limits.header_bytes_max, self.header_bytes);
        limits.bytes_per_second_min = self.bytes_per_second.or(limits.bytes_per_second_min);
        put_small(&mut limits.expansion_max, self.expansion);
        put_small(&mut limits.redirects_max, self.redirects);
        put_small(&mut limits.robots_tries_max, self.robots_tries);
        put_small(&mut limits.requests_per_address_max, self.per_address);
        put_small(&mut limits.links_per_page_max, self.links_per_page);
        limits.links_waiting_max = self.links_waiting.or(limits.links_waiting_max);
        limits.links_waiting_bytes_max =
            (self.links_waiting_bytes).or(limits.links_waiting_bytes_max);
    }
}
