//! The options that name a judge.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::proto::v1;

/// A judge behind gRPC.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct JudgeArgs {
    /// Let a judge behind gRPC judge the pages instead of a critic (see judge.proto)
    #[arg(
        long,
        value_name = "http://127.0.0.1:PORT|https://HOST:PORT|unix:/PATH"
    )]
    judge: Option<String>,

    /// Certificate of the authority of a judge over https, if it is not a public one (PEM)
    #[arg(long, value_name = "FILE")]
    judge_ca_file: Option<PathBuf>,

    /// File with the token that the judge asks for
    #[arg(long, value_name = "FILE")]
    judge_token_file: Option<PathBuf>,

    /// Until the judge must have answered a batch, in milliseconds [default: 30000]
    #[arg(long, value_name = "MS")]
    judge_deadline_ms: Option<u32>,
}

impl JudgeArgs {
    /// Whether a judge is named.
    pub(super) fn names_one(&self) -> bool {
        self.judge.is_some()
    }

    /// Whether anything is given.
    pub(super) fn is_given(&self) -> bool {
        self.judge.is_some()
            || self.judge_ca_file.is_some()
            || self.judge_token_file.is_some()
            || self.judge_deadline_ms.is_some()
    }

    /// Puts what is given over `judge`.
    pub(super) fn put_over(self, judge: &mut v1::Judge) -> anyhow::Result<()> {
        if let Some(address) = self.judge {
            judge.address = address;
        }
        if let Some(path) = &self.judge_ca_file {
            judge.ca_file = absolute(path)?;
        }
        if let Some(path) = &self.judge_token_file {
            judge.token_file = absolute(path)?;
        }
        judge.deadline_ms = self.judge_deadline_ms.unwrap_or(judge.deadline_ms);
        Ok(())
    }
}

/// The daemon has another working directory.
pub(super) fn absolute(path: &Path) -> anyhow::Result<String> {
    let absolute = std::path::absolute(path).with_context(|| format!("path {}", path.display()))?;
    absolute
        .into_os_string()
        .into_string()
        .map_err(|path| anyhow::anyhow!("path {}: it is not UTF-8", path.display()))
}
