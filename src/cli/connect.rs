//! Which daemon, and where its data are.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use etcetera::BaseStrategy;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::control::Token;
use crate::control::client::{self, Address, Client};

/// Where the daemon is; for all subcommands.
#[derive(Debug, Args)]
pub(super) struct DaemonArgs {
    /// Data directory of the daemon [default: apprentice in the user's data directory]
    #[arg(long, env = "APPRENTICE_DATA", value_name = "DIR", global = true)]
    data: Option<PathBuf>,

    /// Unix socket of the daemon [default: DIR/daemon.sock]
    #[arg(long, env = "APPRENTICE_SOCKET", value_name = "PATH", global = true)]
    socket: Option<PathBuf>,

    /// Speak to a daemon over TCP: http://127.0.0.1:PORT or https://HOST:PORT
    #[arg(
        long,
        env = "APPRENTICE_DAEMON",
        value_name = "URL",
        global = true,
        conflicts_with = "socket"
    )]
    daemon: Option<String>,

    /// Certificates of authorities to trust (PEM): for --daemon https://.., and for pages
    #[arg(long, value_name = "FILE", global = true)]
    ca_file: Option<PathBuf>,

    /// File with the token of a daemon reached over TCP
    #[arg(long, value_name = "FILE", global = true)]
    token_file: Option<PathBuf>,
}

impl DaemonArgs {
    /// The data directory.
    pub(super) fn data(&self) -> anyhow::Result<PathBuf> {
        if let Some(data) = &self.data {
            return Ok(data.clone());
        }
        let dirs = etcetera::choose_base_strategy()
            .context("no home directory; give the data directory with --data")?;
        Ok(dirs.data_dir().join("apprentice"))
    }

    /// The daemon's Unix socket.
    pub(super) fn socket(&self) -> anyhow::Result<PathBuf> {
        match &self.socket {
            Some(socket) => Ok(socket.clone()),
            None => Ok(self.data()?.join("daemon.sock")),
        }
    }

    /// The certificates to trust beside the public ones.
    pub(super) fn authorities(&self) -> anyhow::Result<Option<Vec<u8>>> {
        self.ca_file
            .as_ref()
            .map(|path| {
                let pem =
                    fs::read(path).with_context(|| format!("--ca-file {}", path.display()))?;
                let readable = CertificateDer::pem_slice_iter(&pem).next();
                anyhow::ensure!(
                    matches!(readable, Some(Ok(_))),
                    "--ca-file {}: no certificate in it; it must be PEM",
                    path.display()
                );
                Ok(pem)
            })
            .transpose()
    }

    /// The token.
    pub(super) fn token(&self) -> anyhow::Result<Option<Token>> {
        Ok(self.token_file.as_deref().map(Token::read).transpose()?)
    }

    /// Connects to the daemon.
    pub(super) async fn connect(&self) -> anyhow::Result<Client> {
        let address = match &self.daemon {
            Some(url) => Address::Tcp {
                url: url.clone(),
                authority: self.authorities()?,
                token: self.token()?,
            },
            None => Address::Socket(self.socket()?),
        };
        Ok(client::connect(&address).await?)
    }
}
