//! From a name to the addresses that may be connected to.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, ResolverOpts};
use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use crate::fetch::{FetchError, GuardRules};

/// More addresses of one name than are ever tried.
const ADDRESSES_MAX: usize = 8;

/// Answers of the resolver that are kept, those that there is no such name included.
const CACHED_ANSWERS: u64 = 50_000;
/// An answer is kept for at least this long, whatever its own time to live: as long as a page, its
/// robots.txt and their redirects take.
const TTL_MIN: Duration = Duration::from_secs(30);
/// And for at most this long.
const TTL_MAX: Duration = Duration::from_hours(24);
/// That there is no such name is believed for at most this long.
const NEGATIVE_TTL_MAX: Duration = Duration::from_mins(10);

/// What [`Resolve::resolve`] promises: the addresses, or the resolver's words.
pub type Resolving = Pin<Box<dyn Future<Output = Result<Vec<SocketAddr>, String>> + Send>>;

/// Something that knows the addresses of names.
pub trait Resolve: Send + Sync + 'static {
    /// The addresses of `host`. A port other than 0 stands in for the default port of a URL that
    /// names none.
    fn resolve(&self, host: &str) -> Resolving;
}

/// The resolver that the machine is configured with (`/etc/resolv.conf`, `/etc/hosts`).
#[derive(Clone)]
pub struct SystemResolver(Result<TokioResolver, Arc<str>>);

impl SystemResolver {
    /// Reads the machine's configuration. Where there is none, every name fails, with the reason.
    pub fn new() -> Self {
        let resolver = TokioResolver::builder_tokio().and_then(|mut builder| {
            bound(builder.options_mut());
            builder.build()
        });
        Self(resolver.map_err(|error| {
            tracing::warn!(%error, "no usable DNS configuration; no name will be found");
            format!("no usable DNS configuration: {error}").into()
        }))
    }
}

/// Puts the bounds of the cache into the options.
fn bound(options: &mut ResolverOpts) {
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.cache_size = CACHED_ANSWERS;
    options.positive_min_ttl = Some(TTL_MIN);
    options.positive_max_ttl = Some(TTL_MAX);
    options.negative_min_ttl = Some(TTL_MIN);
    options.negative_max_ttl = Some(NEGATIVE_TTL_MAX);
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self::new()
    }
}

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str) -> Resolving {
        let resolver = self.0.clone();
        // Rooted: a search domain of this machine must not lend its hosts to the web's names.
        let rooted = format!("{}.", host.trim_end_matches('.'));
        Box::pin(async move {
            let resolver = resolver.map_err(|reason| reason.to_string())?;
            let found = resolver.lookup_ip(rooted).await;
            let found = found.map_err(|error| error.to_string())?;
            Ok(found.iter().map(|ip| SocketAddr::new(ip, 0)).collect())
        })
    }
}

/// Names with fixed addresses, and no others: for tests and demonstrations on loopback.
#[derive(Clone, Debug, Default)]
pub struct FixedResolver(BTreeMap<String, Vec<SocketAddr>>);

impl FixedResolver {
    /// Knows the given names.
    pub fn new(names: impl IntoIterator<Item = (String, Vec<SocketAddr>)>) -> Self {
        Self(names.into_iter().collect())
    }
}

impl Resolve for FixedResolver {
    fn resolve(&self, host: &str) -> Resolving {
        let found = self.0.get(host).cloned();
        Box::pin(async move { found.ok_or_else(|| "unknown name".to_owned()) })
    }
}

/// What is asked of an address before it is connected to.
#[derive(Clone, Debug)]
pub(super) enum Screen {
    /// It is the address of a site.
    Site(Arc<GuardRules>),
    /// It is the proxy's: whatever the owner of the crawler has configured.
    Proxy,
    /// It is the archive proxy's, which has to stand on this machine.
    Loopback,
}

impl Screen {
    /// Whether the address may be connected to.
    fn passes(&self, address: IpAddr) -> bool {
        match self {
            Self::Site(rules) => rules.permits(address),
            Self::Proxy => true,
            Self::Loopback => address.to_canonical().is_loopback(),
        }
    }
}

/// A resolver for hyper's connector that shows it no address which does not pass the screen.
#[derive(Clone)]
pub(super) struct ScreenedResolver {
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) screen: Screen,
}

impl Service<Name> for ScreenedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = FetchError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, FetchError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), FetchError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let found = self.resolver.resolve(name.as_str());
        let screen = self.screen.clone();
        Box::pin(async move {
            let failed = |detail: String| FetchError::Dns {
                host: name.as_str().to_owned(),
                detail,
            };
            let found = found.await.map_err(failed)?;
            let passed: Vec<_> = found
                .iter()
                .copied()
                .filter(|address| screen.passes(address.ip()))
                .take(ADDRESSES_MAX)
                .collect();
            match (passed.is_empty(), found.first()) {
                (false, _) => Ok(passed.into_iter()),
                (true, Some(special)) => Err(FetchError::Address(special.ip())),
                (true, None) => Err(failed("the name has no address".to_owned())),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
    use hickory_resolver::net::runtime::TokioRuntimeProvider;
    use tokio::net::UdpSocket;

    use super::*;

    /// A name server that knows `known.test.`, for no second, and says of every other name that there is
    /// none, for a day. Gives its resolver, bounded as ours is, and how often it was asked.
    async fn name_server() -> (TokioResolver, Arc<AtomicUsize>) {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let port = socket.local_addr().unwrap().port();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut query = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut query).await {
                count.fetch_add(1, Ordering::SeqCst);
                let answer = answer(&query[..length]);
                socket.send_to(&answer, from).await.unwrap();
            }
        });
        let mut connection = ConnectionConfig::udp();
        connection.port = port;
        let server = NameServerConfig::new(IpAddr::V4(Ipv4Addr::LOCALHOST), true, vec![connection]);
        let config = ResolverConfig::from_parts(None, Vec::new(), vec![server]);
        let mut builder =
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        bound(builder.options_mut());
        (builder.build().unwrap(), asked)
    }

    /// The answer to a query of one question (RFC 1035, 4.1).
    fn answer(query: &[u8]) -> Vec<u8> {
        let name_end = 12 + query[12..].iter().position(|byte| *byte == 0).unwrap() + 1;
        let question = &query[12..name_end + 4];
        let is_known = question.starts_with(b"\x05known\x04test\0");
        let is_v4 = query[name_end + 1] == 1;
        let (code, answers, authorities) = match (is_known, is_v4) {
            (true, true) => (0, 1, 0),
            (true, false) => (0, 0, 1),
            (false, _) => (3, 0, 1),
        };
        let header = [0x84, code, 0, 1, 0, answers, 0, authorities, 0, 0];
        let mut bytes = [&query[..2], &header, question].concat();
        if answers == 1 {
            // The name of the question, A, IN, 0 s, 4 bytes.
            bytes.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 192, 0, 2, 1]);
        } else {
            // SOA of the root, for 86,400 s: empty names, five numbers of which the last is the minimum.
            let day = 86_400_u32.to_be_bytes();
            bytes.extend([0, 0, 6, 0, 1]);
            bytes.extend(day);
            bytes.extend([0, 22, 0, 0]);
            bytes.extend(day.repeat(5));
        }
        bytes
    }

    #[tokio::test]
    async fn answers_are_kept_within_bounds_whatever_their_time_to_live() {
        let (resolver, asked) = name_server().await;
        let mut known = resolver.lookup_ip("known.test.").await.unwrap();
        let first: Vec<IpAddr> = known.iter().collect();
        assert_eq!(first, [IpAddr::V4([192, 0, 2, 1].into())]);
        let questions = asked.load(Ordering::SeqCst);
        for _ in 0..5 {
            known = resolver.lookup_ip("known.test.").await.unwrap();
        }
        assert_eq!(asked.load(Ordering::SeqCst), questions, "asked again");
        let rest = known
            .valid_until()
            .duration_since(tokio::time::Instant::now().into_std());
        assert!(rest > TTL_MIN / 2 && rest <= TTL_MIN, "{rest:?}");
    }

    #[tokio::test]
    async fn that_there_is_no_such_name_is_believed_without_asking_again() {
        let (resolver, asked) = name_server().await;
        assert!(resolver.lookup_ip("nobody.test.").await.is_err());
        let questions = asked.load(Ordering::SeqCst);
        assert!(questions > 0);
        for _ in 0..5 {
            assert!(resolver.lookup_ip("nobody.test.").await.is_err());
        }
        assert_eq!(asked.load(Ordering::SeqCst), questions, "asked again");
    }

    #[test]
    fn the_cache_is_bounded_in_size_and_time() {
        let mut options = ResolverOpts::default();
        bound(&mut options);
        assert_eq!(options.cache_size, 50_000);
        let minutes = |minutes| Some(Duration::from_mins(minutes));
        assert_eq!(options.negative_max_ttl, minutes(10));
        assert_eq!(options.positive_max_ttl, minutes(24 * 60));
    }
}
