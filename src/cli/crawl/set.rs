//! `apprentice crawl set`

use std::process::ExitCode;

use super::judge::JudgeArgs;
use super::scope::{LimitArgs, ScopeArgs};
use crate::cli::connect::DaemonArgs;
use crate::cli::output::{say, say_json};
use crate::proto::v1;

/// What is to change; the rest stays.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Name of the crawl
    name: String,

    /// Fetches that count, in all (0: without end)
    #[arg(short, long, value_name = "N")]
    budget: Option<u64>,

    /// Who answers for the crawl
    #[arg(long, value_name = "CONTACT")]
    contact: Option<String>,

    /// Forget the scope's patterns, caps and addresses first
    #[arg(long)]
    reset_scope: bool,

    /// Print the crawl as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    judge: JudgeArgs,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    limits: LimitArgs,
}

pub(super) async fn run(daemon: &DaemonArgs, args: Args) -> anyhow::Result<ExitCode> {
    let mut limits = v1::Limits::default();
    args.limits.put_over(&mut limits);
    let nothing = args.budget.is_none()
        && args.contact.is_none()
        && !args.reset_scope
        && !args.scope.is_given()
        && !args.judge.is_given()
        && limits == v1::Limits::default();
    anyhow::ensure!(
        !nothing,
        "nothing to change; `apprentice crawl set --help` lists what can be"
    );
    let mut client = daemon.connect().await?;
    let scope = if args.reset_scope || args.scope.is_given() {
        let request = v1::GetCrawlRequest {
            name: args.name.clone(),
        };
        let crawl = client.get_crawl(request).await?.into_inner();
        let old = crawl.spec.and_then(|spec| spec.scope);
        let mut scope = old.filter(|_| !args.reset_scope).unwrap_or_default();
        args.scope.put_over(&mut scope);
        Some(scope)
    } else {
        None
    };
    let judge = if args.judge.is_given() {
        let mut judge = v1::Judge::default();
        args.judge.put_over(&mut judge)?;
        Some(judge)
    } else {
        None
    };
    let request = v1::UpdateCrawlRequest {
        name: args.name,
        budget: args.budget,
        contact: args.contact,
        scope,
        limits: Some(limits),
        judge,
    };
    let crawl = client.update_crawl(request).await?.into_inner();
    if args.json {
        say_json(&crawl)?;
    } else {
        let state = super::status::state_name(&crawl);
        say(&format!("crawl {} is changed; it is {state}", crawl.name))?;
    }
    Ok(ExitCode::SUCCESS)
}
