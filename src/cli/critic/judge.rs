//! `apprentice critic judge`

use std::fs;
use std::io::{Read, stdin};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use serde_json::json;

use crate::cli::connect::DaemonArgs;
use crate::cli::output::{complain, say, say_json};
use crate::clock::SystemClock;
use crate::critic::examples::page_of_bytes;
use crate::critic::{BayesJudge, CriticModel, PageJudge, Verdict, relevance_of};
use crate::fetch::{GuardRules, HttpSettings, HttpSource, Outcome, Request, Source};
use crate::page::{DocumentKind, Page, PageLimits, PageSource};
use crate::taxonomy::Focus;
use crate::url::CanonicalUrl;

/// A document from a file or from standard input is read up to this.
const BYTES_MAX: u64 = 16 << 20;
/// Redirects that are followed from a URL.
const REDIRECTS_MAX: usize = 10;

/// What is judged, by which critic.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The model; `general` is the one that comes with the program
    model: PathBuf,

    /// Files or http(s) URLs; `-` or nothing is standard input
    inputs: Vec<String>,

    /// Topic of the focus: its relevance is given as well (again for more)
    #[arg(short, long, value_name = "TOPIC")]
    topic: Vec<String>,

    /// Topic under one of those that is taken out of the focus again (again for more)
    #[arg(long, value_name = "TOPIC", requires = "topic")]
    without: Vec<String>,

    /// Who asks, for URLs: e-mail address or URL, sent in the User-Agent
    #[arg(long, env = "APPRENTICE_CONTACT", value_name = "CONTACT")]
    contact: Option<String>,

    /// Address range (CIDR) that may be asked although it is private or loopback
    #[arg(long, value_name = "CIDR")]
    allow_address: Vec<String>,

    /// Print one JSON object a document and line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(daemon: &DaemonArgs, args: Args) -> anyhow::Result<ExitCode> {
    let model = Arc::new(CriticModel::open_or_general(&args.model)?);
    let names = model.class_names().to_vec();
    // Without a topic there is no relevance to give, but a judge needs a focus: the first class.
    let topics = if args.topic.is_empty() {
        names[..1].to_vec()
    } else {
        args.topic.clone()
    };
    let judge = BayesJudge::new(model, &Focus::new(topics)?.without(args.without.clone()))?;
    let inputs = if args.inputs.is_empty() {
        vec!["-".to_owned()]
    } else {
        args.inputs.clone()
    };
    let mut failed = false;
    for input in &inputs {
        match read(input, &args, daemon).await {
            Ok(page) => {
                if page.words.is_empty() && page.title_words.is_empty() {
                    complain(&format!(
                        "{input}: no words in it; what is said of it is the prior alone"
                    ));
                }
                show(&args, input, &page, &judge.judge(&page), &names)?;
            }
            Err(error) => {
                failed = true;
                complain(&format!("error: {input}: {error:#}"));
            }
        }
    }
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn show(
    args: &Args,
    input: &str,
    page: &Page,
    verdict: &Verdict,
    names: &[String],
) -> anyhow::Result<()> {
    let best = verdict.best.iter().map(|score| {
        let name = names
            .get(usize::from(score.class.0))
            .map_or("?", String::as_str);
        (name, f64::from(score.log_posterior).exp())
    });
    let relevance = (!args.topic.is_empty()).then(|| verdict.relevance());
    let calibrated = relevance_of(verdict.calibrated_log_odds);
    if args.json {
        let best: Vec<_> = best
            .map(|(topic, posterior)| json!({ "topic": topic, "posterior": posterior }))
            .collect();
        return say_json(&json!({
            "input": input,
            "title": page.title,
            "words": page.words.len(),
            "relevance": relevance,
            "log_odds": relevance.map(|_| verdict.log_odds),
            "calibrated_relevance": relevance.map(|_| calibrated),
            "best": best,
        }));
    }
    let best: Vec<_> = best
        .map(|(name, posterior)| format!("{name} {posterior:.4}"))
        .collect();
    let relevance = relevance.map_or(String::new(), |relevance| {
        format!(
            "relevance {relevance:.4} (log odds {:.1}, calibrated {calibrated:.4}); ",
            verdict.log_odds
        )
    });
    say(&format!("{input}: {relevance}{}", best.join(", ")))?;
    Ok(())
}

async fn read(input: &str, args: &Args, daemon: &DaemonArgs) -> anyhow::Result<Page> {
    if input.starts_with("http://") || input.starts_with("https://") {
        return fetch(input, args, daemon).await;
    }
    let body = if input == "-" {
        read_bounded(stdin().lock())?
    } else {
        read_bounded(fs::File::open(input).context("cannot be opened")?)?
    };
    let nowhere = CanonicalUrl::parse("http://localhost/")?;
    page_of_bytes(&nowhere, &body).map_err(|words| anyhow::anyhow!(words))
}

fn read_bounded(from: impl Read) -> anyhow::Result<Vec<u8>> {
    let mut body = Vec::new();
    from.take(BYTES_MAX + 1)
        .read_to_end(&mut body)
        .context("cannot be read")?;
    anyhow::ensure!(
        body.len() as u64 <= BYTES_MAX,
        "more than {BYTES_MAX} bytes"
    );
    Ok(body)
}

async fn fetch(url: &str, args: &Args, daemon: &DaemonArgs) -> anyhow::Result<Page> {
    let contact = args
        .contact
        .as_ref()
        .context("a URL is asked for in somebody's name; give --contact (e-mail address or URL)")?;
    let settings = HttpSettings {
        extra_roots_pem: daemon.authorities()?.unwrap_or_default(),
        ..HttpSettings::default()
    };
    let source = HttpSource::new(settings, SystemClock::new())?;
    let agent = format!("apprentice/{} (+{contact})", env!("CARGO_PKG_VERSION"));
    let mut request = Request::page(CanonicalUrl::parse(url)?, &agent);
    request.guard = Arc::new(GuardRules::parse(&args.allow_address)?);
    for _ in 0..=REDIRECTS_MAX {
        match source.fetch(request.clone()).await {
            Outcome::Redirect(redirect) => request.url = redirect.target,
            Outcome::Failure(error) => return Err(error.into()),
            Outcome::Response(response) => {
                let content_type = response.content_type.as_deref();
                let kind = DocumentKind::of(content_type, &response.body)
                    .context("neither HTML nor plain text")?;
                let page = PageSource {
                    url: &request.url,
                    content_type,
                    body: &response.body,
                };
                return Ok(Page::parse(&page, kind, &PageLimits::default()));
            }
        }
    }
    anyhow::bail!("more than {REDIRECTS_MAX} redirects")
}
