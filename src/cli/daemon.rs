//! `apprentice daemon`

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use super::connect::DaemonArgs;
use super::output::say;
use crate::control::{TcpOptions, TlsFiles};
use crate::daemon::{DaemonOptions, run as run_daemon};
use crate::fetch::{HttpSettings, PinnedHost, ProxyMode};

/// The daemon's own options; --data, --socket, --ca-file and --token-file hold for it as well.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Be spoken to over TCP as well; other than loopback needs TLS and a token
    #[arg(long, value_name = "ADDR:PORT")]
    tcp: Option<SocketAddr>,

    /// Certificate chain for --tcp (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key", requires = "tcp")]
    tls_cert: Option<PathBuf>,

    /// Private key for --tcp (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Fetch through a proxy: http://HOST:PORT (absolute-form for http, CONNECT for https) or
    /// socks5://HOST:PORT
    #[arg(long, value_name = "URL", conflicts_with = "archive_proxy")]
    proxy: Option<String>,

    /// Crawl an archived web: send absolute-form requests for both schemes to this loopback proxy,
    /// as `apprentice archive serve` is one
    #[arg(long, value_name = "URL")]
    archive_proxy: Option<String>,

    /// Look for a host at these addresses without asking for them, as curl does (again for more)
    #[arg(long, value_name = "HOST:PORT:ADDR[,ADDR]", conflicts_with_all = ["proxy", "archive_proxy"])]
    resolve: Vec<String>,
}

impl Args {
    fn pinned(&self) -> anyhow::Result<Vec<PinnedHost>> {
        let pinned = self.resolve.iter().map(|text| Ok(text.parse()?));
        pinned.collect()
    }
}

pub(super) async fn run(daemon: &DaemonArgs, args: Args) -> anyhow::Result<ExitCode> {
    let pinned = args.pinned()?;
    let proxy = match (&args.proxy, &args.archive_proxy) {
        (Some(proxy), _) => ProxyMode::Forward(proxy.parse()?),
        (None, Some(proxy)) => ProxyMode::Archive(proxy.parse()?),
        (None, None) => ProxyMode::Direct,
    };
    let tls = args.tls_cert.zip(args.tls_key);
    let tls = tls.map(|(certificate, key)| TlsFiles { certificate, key });
    let token = daemon.token()?;
    let socket = std::path::absolute(daemon.socket()?)?;
    let options = DaemonOptions {
        data: std::path::absolute(daemon.data()?)?,
        socket: socket.clone(),
        tcp: args.tcp.map(|address| TcpOptions {
            address,
            tls,
            token,
        }),
        http: HttpSettings {
            proxy,
            extra_roots_pem: daemon.authorities()?.unwrap_or_default(),
            resolver: None,
            pinned,
        },
    };
    run_daemon(options, |listeners| {
        // Standard output may be closed; the daemon serves all the same.
        let _ = say(&format!(
            "apprentice {} listens on {}",
            env!("CARGO_PKG_VERSION"),
            socket.display()
        ));
        if let Some(address) = listeners.tcp_address() {
            let _ = say(&format!("and on {address}"));
        }
    })
    .await?;
    Ok(ExitCode::SUCCESS)
}
