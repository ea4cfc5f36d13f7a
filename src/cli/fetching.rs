//! What commands that fetch example pages have in common: who asks, how politely, by which way.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::sync::watch;

use super::fetch_progress::Display;
use super::output::complain;
use crate::clock::{Clock, SystemClock};
use crate::collect::{CollectError, CollectParams, Collector, Output, Report};
use crate::daemon::{Signals, raise_open_files};
use crate::fetch::{GuardRules, HttpSettings, HttpSource, ProxyMode};
use crate::frontier::HOSTS_PER_ADDRESS;
use crate::url::CanonicalUrl;

/// Who writes, as the archive has it.
const SOFTWARE: &str = concat!("apprentice/", env!("CARGO_PKG_VERSION"));

/// Who asks, and how.
#[derive(Debug, clap::Args)]
pub(super) struct FetchArgs {
    /// Who answers for the requests: e-mail address or URL, sent in the User-Agent
    #[arg(long, env = "APPRENTICE_CONTACT", value_name = "CONTACT")]
    contact: Option<String>,

    /// Milliseconds between two requests to a host
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(..=86_400_000))]
    delay_ms: u64,

    /// Hosts asked at once, each one request at a time
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1024))]
    parallel: u16,

    /// Requests at once, and requests a delay, to all hosts behind one IP address together
    #[arg(long, value_name = "N", default_value_t = HOSTS_PER_ADDRESS, value_parser = clap::value_parser!(u32).range(1..=1024))]
    per_address: u32,

    /// Leave a host to the next start that is to be left alone for longer than this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(..=86_400))]
    patience: u64,

    /// Address range (CIDR) that may be asked although it is private or loopback
    #[arg(long, value_name = "CIDR")]
    allow_address: Vec<String>,

    /// Fetch through an HTTP proxy (absolute-form for http, CONNECT for https)
    #[arg(long, value_name = "URL", conflicts_with = "archive_proxy")]
    proxy: Option<String>,

    /// Fetch from an archived web: send absolute-form requests for both schemes to this loopback
    /// proxy, as `apprentice archive serve` is one; no contact is needed
    #[arg(long, value_name = "URL")]
    archive_proxy: Option<String>,
}

/// Ready to fetch.
pub(super) struct Fetching {
    clock: SystemClock,
    params: CollectParams,
    source: HttpSource,
}

impl FetchArgs {
    fn contact(&self) -> Option<&str> {
        let contact = self.contact.as_deref().map(str::trim);
        contact.filter(|text| !text.is_empty())
    }

    /// Whether somebody answers for requests, or none leave the machine.
    pub(super) fn may_ask(&self) -> bool {
        self.contact().is_some() || self.archive_proxy.is_some()
    }

    /// Checks the options.
    pub(super) fn ready(&self) -> anyhow::Result<Fetching> {
        if !self.may_ask() {
            return Err(CollectError::NoContact.into());
        }
        let clock = SystemClock::new();
        let mut params = CollectParams::new(self.contact())?;
        params.delay = Duration::from_millis(self.delay_ms);
        params.per_address = self.per_address;
        params.parallel = usize::from(self.parallel);
        params.patience = Duration::from_secs(self.patience);
        params.guard = Arc::new(GuardRules::parse(&self.allow_address).context("--allow-address")?);
        let proxy = match (&self.proxy, &self.archive_proxy) {
            (Some(proxy), _) => ProxyMode::Forward(proxy.parse().context("--proxy")?),
            (None, Some(proxy)) => ProxyMode::Archive(proxy.parse().context("--archive-proxy")?),
            (None, None) => ProxyMode::Direct,
        };
        let settings = HttpSettings {
            proxy,
            ..HttpSettings::default()
        };
        let source = HttpSource::new(settings, clock.clone())?;
        Ok(Fetching {
            clock,
            params,
            source,
        })
    }
}

impl Fetching {
    /// Fetches `urls` into the archive at `out`, as far as it lacks them; with `retry_failed` also those
    /// that failed for good before. A first signal ends it after the requests under way.
    pub(super) async fn run(
        self,
        out: &Path,
        retry_failed: bool,
        urls: Vec<CanonicalUrl>,
    ) -> anyhow::Result<Report> {
        raise_open_files();
        let mut signals = Signals::listen().context("cannot wait for signals")?;
        let (path, now) = (out.to_owned(), self.clock.now());
        // Reads the archive to its end.
        let opening =
            tokio::task::spawn_blocking(move || Output::open(&path, SOFTWARE, retry_failed, now));
        let output = opening.await??;
        if output.torn() > 0 {
            tracing::warn!(
                "{}: the last record was torn; its {} bytes are cut off",
                out.display(),
                output.torn()
            );
        }
        let (stop, closing) = watch::channel(false);
        let source = Arc::new(self.source);
        let clock = self.clock.clone();
        let collector = Collector::new(source, clock, self.params, output, urls, closing);
        let mut display = Display::new(self.clock);
        let report = {
            let mut collecting = std::pin::pin!(collector.run(|progress| display.show(progress)));
            tokio::select! {
                report = &mut collecting => report,
                _ = signals.next() => {
                    complain("stopping: waiting for the requests under way; once more abandons them");
                    stop.send_replace(true);
                    tokio::select! {
                        report = &mut collecting => report,
                        // Every record that was written is whole.
                        _ = signals.next() => anyhow::bail!("abandoned; the same command goes on from what is in {}", out.display()),
                    }
                }
            }
        };
        display.end();
        Ok(report?)
    }
}
