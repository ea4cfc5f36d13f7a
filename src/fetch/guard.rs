//! Which addresses may be connected to.
//!
//! A crawler goes where pages point, so without a guard any page could make it read the services of
//! the machine and the network that it runs on. Special addresses are refused unless the spec of the
//! crawl allows their range. What is judged is the address that is really connected to: names are
//! judged after resolving, by the resolver that the connection uses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A range of addresses, like `10.0.0.0/8` or `::1/128`. A bare address is the range of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cidr {
    first: IpAddr,
    prefix: u8,
}

/// Why a text is no range of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CidrError {
    /// The part before the slash.
    #[error(
        "{text:?} is no range of addresses: {address:?} is no IP address; write it like 10.0.0.0/8 or ::1/128"
    )]
    Address {
        /// The whole text.
        text: String,
        /// Its part before the slash.
        address: String,
    },
    /// The part after the slash.
    #[error("{text:?} is no range of addresses: the prefix must be a number from 0 to {bits_max}")]
    Prefix {
        /// The whole text.
        text: String,
        /// 32 for IPv4, 128 for IPv6.
        bits_max: u8,
    },
}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Self, CidrError> {
        let (address, prefix) = match text.trim().split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text.trim(), None),
        };
        let first: IpAddr = address.parse().map_err(|_| CidrError::Address {
            text: text.to_owned(),
            address: address.to_owned(),
        })?;
        let bits_max = if first.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => bits_max,
            Some(digits) => digits
                .parse()
                .ok()
                .filter(|bits| *bits <= bits_max && digits.bytes().all(|b| b.is_ascii_digit()))
                .ok_or_else(|| CidrError::Prefix {
                    text: text.to_owned(),
                    bits_max,
                })?,
        };
        Ok(Self { first, prefix })
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

impl Cidr {
    /// Whether `address` lies in the range. An IPv4 range holds no IPv6 address, nor the reverse.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (first, other, bits_max) = match (self.first, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                (u128::from(a.to_bits()), u128::from(b.to_bits()), 32)
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits(), b.to_bits(), 128),
            _ => return false,
        };
        let free = bits_max - u32::from(self.prefix);
        // A shift by all 128 bits would overflow: the range /0 holds everything.
        first.checked_shr(free).unwrap_or(0) == other.checked_shr(free).unwrap_or(0)
    }
}

/// Ports of other services than the web's, which answer HTTP with mischief: the "bad ports" of the
/// Fetch standard (section 2.9, port blocking). In rising order.
const PORTS_OF_OTHERS: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

/// The port of `url`, if it is one of another service than the web's: nothing is sent there, whatever
/// the rules of the crawl.
pub fn forbidden_port(url: &::url::Url) -> Option<u16> {
    let port = url.port_or_known_default()?;
    PORTS_OF_OTHERS.binary_search(&port).is_ok().then_some(port)
}

/// What a crawl may connect to beside public addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GuardRules {
    allow: Vec<Cidr>,
}

impl GuardRules {
    /// Public addresses alone.
    pub fn public_only() -> Self {
        Self::default()
    }

    /// Public addresses and the given ranges. Their order does not matter.
    pub fn allowing(mut allow: Vec<Cidr>) -> Self {
        allow.sort_unstable();
        allow.dedup();
        Self { allow }
    }

    /// Public addresses and the ranges in `texts`.
    ///
    /// # Errors
    /// [`CidrError`] names the first text that is no range.
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Self, CidrError> {
        let allow: Result<_, _> = texts.iter().map(|text| text.as_ref().parse()).collect();
        Ok(Self::allowing(allow?))
    }

    /// The ranges that are allowed beside public addresses.
    pub fn allowed(&self) -> &[Cidr] {
        &self.allow
    }

    /// Whether `address` may be connected to.
    ///
    /// An IPv4 address in IPv6 clothes (`::ffff:10.0.0.1`) is judged as the IPv4 address; allowing
    /// the range of either spelling allows both.
    pub fn permits(&self, address: IpAddr) -> bool {
        let bare = address.to_canonical();
        !is_special(bare)
            || self
                .allow
                .iter()
                .any(|range| range.contains(bare) || range.contains(address))
    }

    /// The first of `addresses` that may be connected to, as its bare self.
    pub(super) fn first_permitted(
        &self,
        mut addresses: impl Iterator<Item = IpAddr>,
    ) -> Option<IpAddr> {
        let first = addresses.find(|address| self.permits(*address));
        first.map(|address| address.to_canonical())
    }

    /// The address that the host of a URL states literally, if it may not be connected to.
    ///
    /// `localhost` counts as a literal address (RFC 6761, 6.3): behind a proxy nobody else here
    /// gets to see what it resolves to.
    pub fn forbidden_literal(&self, url: &::url::Url) -> Option<IpAddr> {
        let address = match url.host()? {
            ::url::Host::Ipv4(address) => IpAddr::V4(address),
            ::url::Host::Ipv6(address) => IpAddr::V6(address),
            ::url::Host::Domain(name) => {
                let name = name.trim_end_matches('.');
                if name != "localhost" && !name.ends_with(".localhost") {
                    return None;
                }
                let loopback = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
                return loopback
                    .iter()
                    .all(|address| !self.permits(*address))
                    .then_some(loopback[0]);
            }
        };
        (!self.permits(address)).then_some(address)
    }
}

/// Whether the address is anything but a public host's (IANA special-purpose registries, RFC 6890).
fn is_special(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_special_v4(v4),
        IpAddr::V6(v6) => is_special_v6(v6),
    }
}

fn is_special_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    matches!(
        (a, b, c),
        // This network, private, loopback; multicast and all above it with broadcast.
        (0 | 10 | 127 | 224.., _, _)
            // Carrier-grade NAT.
            | (100, 64..=127, _)
            // Link-local, with the metadata service of clouds.
            | (169, 254, _)
            // Private.
            | (172, 16..=31, _)
            | (192, 168, _)
            // Protocol assignments, documentation, 6to4 relays, benchmarks.
            | (192, 0, 0 | 2)
            | (198, 51, 100)
            | (203, 0, 113)
            | (192, 88, 99)
            // AS112 and AMT: routed everywhere, and nobody's web site.
            | (192, 31, 196)
            | (192, 52, 193)
            | (192, 175, 48)
            | (198, 18..=19, _)
    )
}

fn is_special_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // NAT64 and 6to4 lead to the IPv4 address inside.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            let inside = (u32::from(high) << 16) | u32::from(low);
            is_special_v4(Ipv4Addr::from_bits(inside))
        }
        // Protocol assignments (with Teredo, which wraps IPv4 as well), documentation.
        // And AS112.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] | [0x2620, 0x4f, 0x8000, ..] => {
            true
        }
        // Only 2000::/3 is given out to public hosts.
        [first, ..] => first & 0xe000 != 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn permits(rules: &[&str], address: &str) -> bool {
        GuardRules::parse(rules)
            .unwrap()
            .permits(address.parse().unwrap())
    }

    #[test]
    fn public_addresses_are_permitted_and_special_ones_are_not() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:200::1",
            "64:ff9b::808:808",
            "2002:808:808::1",
            "::ffff:8.8.8.8",
        ] {
            assert!(permits(&[], public), "{public} is public");
        }
        for special in [
            "0.0.0.0",
            "10.0.0.1",
            "127.0.0.1",
            "127.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "3fff:fff::1",
            "2001::1",
            "2001:10::1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::808:808",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "100::1",
        ] {
            assert!(!permits(&[], special), "{special} is special");
        }
    }

    #[test]
    fn an_allowed_range_opens_itself_and_nothing_else() {
        assert!(permits(&["127.0.0.0/8"], "127.0.0.1"));
        assert!(permits(&["127.0.0.0/8"], "::ffff:127.0.0.1"));
        assert!(!permits(&["127.0.0.0/8"], "10.0.0.1"));
        assert!(!permits(&["127.0.0.0/8"], "::1"));
        assert!(permits(&["::1/128"], "::1"));
        assert!(!permits(&["::1/128"], "::2"));
        assert!(permits(&["10.1.2.3"], "10.1.2.3"));
        assert!(!permits(&["10.1.2.3/32"], "10.1.2.2"));
        assert!(permits(&["0.0.0.0/0"], "192.168.0.1"));
        assert!(permits(&["::/0"], "fe80::1"));
    }

    #[test]
    fn a_wrong_range_is_named() {
        for wrong in [
            "10.0.0.0/33",
            "::1/129",
            "10.0.0.0/",
            "10.0.0.0/-1",
            "10.0.0.0/+8",
        ] {
            let error = wrong.parse::<Cidr>().unwrap_err();
            assert!(
                matches!(error, CidrError::Prefix { .. }),
                "{wrong}: {error}"
            );
            assert!(error.to_string().contains(wrong), "{error}");
        }
        for wrong in ["", "10.0.0/8", "localhost", "/8", "10.0.0.0 /8"] {
            let error = wrong.parse::<Cidr>().unwrap_err();
            assert!(
                matches!(error, CidrError::Address { .. }),
                "{wrong}: {error}"
            );
            assert!(error.to_string().contains(&format!("{wrong:?}")), "{error}");
        }
        assert_eq!(
            "10.0.0.0/8".parse::<Cidr>().unwrap().to_string(),
            "10.0.0.0/8"
        );
    }

    #[test]
    fn literal_hosts_are_judged_however_they_are_written() {
        let rules = GuardRules::public_only();
        let judge = |url: &str| rules.forbidden_literal(&::url::Url::parse(url).unwrap());
        for special in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://[::1]/",
            "http://[::ffff:10.0.0.1]/",
            "http://localhost:8080/",
            "http://a.localhost./",
            "http://169.254.169.254/latest/meta-data/",
        ] {
            assert!(judge(special).is_some(), "{special}");
        }
        for public in [
            "http://8.8.8.8/",
            "http://example.org/",
            "http://notlocalhost/",
        ] {
            assert!(judge(public).is_none(), "{public}");
        }
        let local = GuardRules::parse(&["::1"]).unwrap();
        let url = ::url::Url::parse("http://localhost/").unwrap();
        assert_eq!(local.forbidden_literal(&url), None);
    }

    #[test]
    fn rules_are_equal_whatever_their_order() {
        assert_eq!(
            GuardRules::parse(&["10.0.0.0/8", "::1", "10.0.0.0/8"]),
            GuardRules::parse(&["::1/128", "10.0.0.0/8"])
        );
    }

    #[test]
    fn the_ports_of_other_services_are_forbidden() {
        let port = |url: &str| forbidden_port(&::url::Url::parse(url).unwrap());
        assert!(PORTS_OF_OTHERS.is_sorted());
        for (url, expected) in [
            ("http://h.test/", None),
            ("https://h.test/", None),
            ("http://h.test:8080/", None),
            ("http://h.test:81/", None),
            ("http://h.test:25/", Some(25)),
            ("https://h.test:22/", Some(22)),
            ("http://h.test:6667/", Some(6667)),
            ("http://h.test:0/", Some(0)),
        ] {
            assert_eq!(port(url), expected, "{url}");
        }
    }

    /// The IPv4 and IPv6 Special-Purpose Address Registries of IANA (RFC 6890 and what followed),
    /// and multicast, which has registries of its own.
    const IANA_V4: [&str; 26] = [
        "0.0.0.0/8",
        "0.0.0.0/32",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.0.0/29",
        "192.0.0.8/32",
        "192.0.0.9/32",
        "192.0.0.10/32",
        "192.0.0.170/31",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.88.99.2/32",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "255.255.255.255/32",
    ];
    const IANA_V6: [&str; 23] = [
        "::1/128",
        "::/128",
        "64:ff9b:1::/48",
        "100::/64",
        "100:0:0:1::/64",
        "2001::/23",
        "2001::/32",
        "2001:1::1/128",
        "2001:1::2/128",
        "2001:1::3/128",
        "2001:2::/48",
        "2001:3::/32",
        "2001:4:112::/48",
        "2001:10::/28",
        "2001:20::/28",
        "2001:30::/28",
        "2001:db8::/32",
        "2620:4f:8000::/48",
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",
        "fe80::/10",
        "ff00::/8",
    ];

    fn v4_blocks() -> Vec<Cidr> {
        IANA_V4.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// An address in or at the edge of the block: its first one, moved by `by` or by the size of the
    /// block and `by`.
    fn near_v4(block: Cidr, from_end: bool, by: i64) -> Ipv4Addr {
        let IpAddr::V4(first) = block.first else {
            panic!("no IPv4 block: {block}");
        };
        let size = 1_i64 << (32 - block.prefix);
        let start = i64::from(first.to_bits()) + if from_end { size } else { 0 };
        Ipv4Addr::from_bits(u32::try_from((start + by).rem_euclid(1 << 32)).unwrap())
    }

    proptest! {
        /// An IPv4 address is refused exactly if it lies in one of the blocks, in every spelling.
        #[test]
        fn special_ipv4_addresses_are_those_of_the_registry(
            block in proptest::sample::select(v4_blocks()),
            from_end: bool,
            by in prop_oneof![-3_i64..3, any::<i32>().prop_map(i64::from)],
        ) {
            let address = near_v4(block, from_end, by);
            let special = v4_blocks().iter().any(|block| block.contains(address.into()));
            let rules = GuardRules::public_only();
            prop_assert_eq!(rules.permits(address.into()), !special, "{}", address);
            prop_assert_eq!(rules.permits(address.to_ipv6_mapped().into()), !special);
            let bits = u128::from(address.to_bits());
            let nat64 = Ipv6Addr::from_bits((0x64_ff9b << 96) | bits);
            prop_assert_eq!(rules.permits(nat64.into()), !special, "{}", nat64);
            let six_to_four = Ipv6Addr::from_bits((0x2002 << 112) | (bits << 80) | 1);
            prop_assert_eq!(rules.permits(six_to_four.into()), !special, "{}", six_to_four);
            let [a, b, c, d] = address.octets();
            for host in [
                format!("{address}"),
                format!("{bits}"),
                format!("0x{bits:x}"),
                format!("0{bits:o}"),
                format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
                format!("0x{a:x}.{b}.{}", u32::from(c) << 8 | u32::from(d)),
                format!("[::ffff:{address}]"),
            ] {
                let url = ::url::Url::parse(&format!("http://{host}/")).unwrap();
                prop_assert_eq!(rules.forbidden_literal(&url).is_some(), special, "{}", host);
            }
        }

        /// Every address of every special IPv6 block is refused, and allowing the block opens it.
        #[test]
        fn special_ipv6_addresses_are_refused(
            text in proptest::sample::select(IANA_V6.to_vec()),
            inside: u128,
        ) {
            let block: Cidr = text.parse().unwrap();
            let IpAddr::V6(first) = block.first else {
                panic!("no IPv6 block: {text}");
            };
            let free = u128::MAX.checked_shr(block.prefix.into()).unwrap_or(0);
            let address = Ipv6Addr::from_bits(first.to_bits() | (inside & free));
            prop_assert!(!GuardRules::public_only().permits(address.into()), "{}", address);
            prop_assert!(GuardRules::allowing(vec![block]).permits(address.into()));
            let url = ::url::Url::parse(&format!("http://[{address}]/")).unwrap();
            prop_assert!(GuardRules::public_only().forbidden_literal(&url).is_some());
        }

        #[test]
        fn a_range_holds_exactly_the_addresses_that_share_its_prefix(
            first: u32, other: u32, prefix in 0_u8..=32
        ) {
            let range: Cidr = format!("{}/{prefix}", Ipv4Addr::from_bits(first)).parse().unwrap();
            let same = (0..prefix).all(|bit| (first ^ other) & (1_u32 << (31 - bit)) == 0);
            prop_assert_eq!(range.contains(Ipv4Addr::from_bits(other).into()), same);
        }
    }
}
