//! `apprentice archive`

mod charsets;

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Subcommand;
use etcetera::BaseStrategy;
use tokio::net::TcpListener;

use super::output::{say, say_json, table};
use super::words::{count, moment};
use crate::archive::{
    Archive, ArchiveError, ArchiveInfo, ArchiveLibrary, Authority, Indexes, ProxyLimits, cdxj,
    serve,
};

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// What WARC files hold
    Info(Info),
    /// Print a CDXJ index of WARC files, sorted, as replay tools read it
    Index(Index),
    /// Serve WARC files as an HTTP forward proxy for every host in them
    Serve(Serve),
}

/// Which archive.
#[derive(Debug, clap::Args)]
pub(super) struct Info {
    /// WARC files, gzipped or not
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Read the pages and say which character sets they are in, and how that was found
    #[arg(long)]
    charsets: bool,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

/// Which archive.
#[derive(Debug, clap::Args)]
pub(super) struct Index {
    /// WARC files, gzipped or not
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// Which archive, and where.
#[derive(Debug, clap::Args)]
pub(super) struct Serve {
    /// WARC files, gzipped or not
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Address to listen on; the port is printed
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,

    /// Answer CONNECT as well, and write the certificate of the authority that vouches for every host
    #[arg(long, value_name = "FILE.pem")]
    ca_out: Option<PathBuf>,

    /// Hold each answer back for this long
    #[arg(long, value_name = "MS", default_value_t = 0)]
    delay_ms: u64,
}

pub(super) async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Info(args) => info(args).await,
        Command::Index(args) => index(args).await,
        Command::Serve(args) => run_proxy(args).await,
    }
}

/// Opens an archive and says what of it is damaged. Blocks.
pub(super) fn open(files: &[PathBuf]) -> Result<Archive, ArchiveError> {
    let archive = Archive::open_indexed(files, &indexes())?;
    for damage in &archive.info().damage {
        tracing::warn!("{damage}");
    }
    Ok(archive)
}

/// Where indexes are kept, as the environment says.
fn indexes() -> Indexes {
    match std::env::var_os("APPRENTICE_INDEX") {
        Some(place) if place == "none" => Indexes::none(),
        Some(folder) if !folder.is_empty() => Indexes::within(folder.into()),
        _ => {
            let dirs = etcetera::choose_base_strategy();
            let caches = dirs.map(|dirs| dirs.cache_dir().join("apprentice")).ok();
            Indexes::beside(caches)
        }
    }
}

async fn open_off_the_runtime(files: Vec<PathBuf>) -> anyhow::Result<Archive> {
    Ok(tokio::task::spawn_blocking(move || open(&files)).await??)
}

async fn info(args: Info) -> anyhow::Result<ExitCode> {
    let archive = open_off_the_runtime(args.files).await?;
    if args.charsets {
        let reading = tokio::task::spawn_blocking(move || charsets::of_archive(&archive));
        let rows = reading.await??;
        if args.json {
            say_json(&rows)?;
        } else {
            say(&charsets::render(rows))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if args.json {
        say_json(archive.info())?;
    } else {
        say(&render(archive.info()))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn index(args: Index) -> anyhow::Result<ExitCode> {
    let (lines, damage) = tokio::task::spawn_blocking(move || cdxj(&args.files)).await??;
    for damage in damage {
        tracing::warn!("{damage}");
    }
    for line in lines {
        say(&line)?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn run_proxy(args: Serve) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        args.listen.ip().is_loopback(),
        "--listen {}: an archive is served on loopback only; use 127.0.0.1:PORT",
        args.listen
    );
    crate::daemon::raise_open_files();
    let archive = open_off_the_runtime(args.files).await?;
    let authority = match &args.ca_out {
        Some(path) => {
            let authority = Authority::generate()?;
            fs::write(path, authority.ca_pem())
                .with_context(|| format!("--ca-out {}", path.display()))?;
            Some(Arc::new(authority))
        }
        None => None,
    };
    let listener = TcpListener::bind(args.listen)
        .await
        .with_context(|| format!("--listen {}", args.listen))?;
    say(&format!(
        "{} pages behind the proxy http://{}",
        count(archive.info().pages),
        listener.local_addr()?
    ))?;
    let library = ArchiveLibrary::new(Arc::new(archive), Duration::from_millis(args.delay_ms));
    let shutdown = async {
        // Without signals it can only be killed, which is as good.
        let _ = tokio::signal::ctrl_c().await;
    };
    serve(
        Arc::new(library),
        listener,
        authority,
        ProxyLimits::default(),
        shutdown,
    )
    .await;
    Ok(ExitCode::SUCCESS)
}

fn render(info: &ArchiveInfo) -> String {
    let mut parts = vec![format!(
        "{} pages ({} bytes) on {} hosts; {} records, {} duplicates, {} others, {} not readable",
        count(info.pages),
        count(info.page_bytes),
        count(info.hosts.len() as u64),
        count(info.records),
        count(info.duplicates),
        count(info.other_records),
        count(info.unparsable + info.bad_urls),
    )];
    if let (Some(first), Some(last)) = (info.first, info.last) {
        parts.push(format!("from {} to {}", moment(first.0), moment(last.0)));
    }
    let hosts = info.hosts_by_pages();
    let hosts = hosts
        .into_iter()
        .map(|(host, pages)| (host.to_owned(), pages));
    let statuses = info.statuses.iter().map(|(code, n)| (code.to_string(), *n));
    let mut types: Vec<_> = info
        .content_types
        .iter()
        .map(|(kind, n)| (kind.clone(), *n))
        .collect();
    types.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    for (head, rows) in [
        ("HOST", hosts.take(20).collect::<Vec<_>>()),
        ("STATUS", statuses.take(20).collect()),
        ("CONTENT TYPE", types.into_iter().take(20).collect()),
    ] {
        let rows = rows.into_iter().map(|(name, n)| {
            let name = if name.is_empty() {
                "(none)".to_owned()
            } else {
                name
            };
            vec![name, count(n)]
        });
        parts.push(table(&[head, "PAGES"], rows));
    }
    for damage in &info.damage {
        parts.push(format!("damaged: {damage}"));
    }
    parts.join("\n\n")
}
