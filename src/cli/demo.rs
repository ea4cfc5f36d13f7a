//! `apprentice demo`: the whole line, on a web of its own.
//!
//! Nothing here is a short cut: the web is served over HTTP on loopback, the critic is trained from
//! its example pages, and the daemon is a process of its own that is spoken to through its socket
//! and killed once.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;

use super::crawl::{curves, line};
use super::output::{is_terminal, one_row, say};
use crate::archive::{ProxyLimits, serve};
use crate::clock::{Clock, SystemClock};
use crate::control::client::{Address, Client, connect};
use crate::critic::examples::page_of_bytes;
use crate::critic::{CriticModel, Origin, TrainParams, Trainer};
use crate::lab::toyweb::{ToyLibrary, ToyParams, ToyWeb};
use crate::measure::{loss_chart, loss_svg, loss_table};
use crate::proto::v1;

/// The topic with the most pages in the generated web.
const TOPIC: &str = "beekeeping";
/// How long the daemon may take to answer.
const START_MS: i64 = 15_000;

/// What the demo may be told.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Keep the data directory, the model and the picture in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    /// Fetches, each of the three crawls
    #[arg(long, value_name = "N", default_value_t = 250, value_parser = clap::value_parser!(u64).range(50..=700))]
    budget: u64,

    /// Another seed makes another web
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let scratch = Scratch::make(args.keep.as_deref())?;
    let clock = SystemClock::new();
    let web = Arc::new(ToyWeb::generate(args.seed, ToyParams::default()));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let proxy = format!("http://{}", listener.local_addr()?);
    say(&format!(
        "1. a web of {} pages on {} hosts, behind {proxy}",
        web.pages().len(),
        web.hosts().len()
    ))?;
    let library = Arc::new(ToyLibrary(Arc::clone(&web)));
    let serving = serve(
        library,
        listener,
        None,
        ProxyLimits::default(),
        std::future::pending(),
    );
    let serving = tokio::spawn(serving);

    let model = scratch.path().join("demo.critic");
    let accuracy = train(&web, &model, &clock)?;
    say(&format!(
        "2. a critic of {} topics from its example pages: held-out accuracy {accuracy:.2}",
        web.topics().len()
    ))?;

    let daemon = DaemonAtWork::start(scratch.path(), &proxy)?;
    let mut client = daemon.connect(&clock).await?;
    say(&format!(
        "3. a daemon (process {}), and a crawl for {TOPIC}, best first:",
        daemon.id()
    ))?;
    let half = args.budget * 2 / 5;
    client
        .create_crawl(request(&args, &web, &model, "baseline"))
        .await?;
    follow(&mut client, "baseline", half).await?;

    let daemon = daemon.kill_and_restart(scratch.path(), &proxy)?;
    say("4. the daemon was killed with SIGKILL and started again; the crawl goes on by itself:")?;
    let mut client = daemon.connect(&clock).await?;
    follow(&mut client, "baseline", u64::MAX).await?;

    crawl_otherwise(&mut client, &args, &web, &model).await?;
    let names = ["breadth-first", "baseline", "auto"].map(str::to_owned);
    let curves = curves(&mut client, &names, 0, false).await?;
    daemon.stop()?;
    serving.abort();

    show(&scratch, curves)?;
    if args.keep.is_some() {
        say(&format!(
            "Data and model are in {}.",
            scratch.path().display()
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The same crawl in the other orders.
async fn crawl_otherwise(
    client: &mut Client,
    args: &Args,
    web: &ToyWeb,
    model: &Path,
) -> anyhow::Result<()> {
    for (order, words) in [
        ("breadth-first", "5. the same, breadth-first:"),
        (
            "auto",
            "6. and with an apprentice, which learns while it crawls where relevant pages are:",
        ),
    ] {
        say(words)?;
        client
            .create_crawl(request(args, web, model, order))
            .await?;
        follow(client, order, u64::MAX).await?;
    }
    Ok(())
}

/// The curves as a picture, a drawing of letters and a table.
fn show(scratch: &Scratch, curves: Vec<crate::measure::NamedCurve>) -> anyhow::Result<()> {
    let picture = scratch.picture();
    fs::write(
        &picture,
        loss_svg("Expected page loss: a generated web", &curves)?,
    )
    .with_context(|| format!("picture {}", picture.display()))?;
    say("\nExpected page loss: pages fetched to the right, pages lost upwards.\n")?;
    say(&loss_chart(&curves, 70, 16)?)?;
    let ends: Vec<_> = curves.into_iter().map(thinned).collect();
    say(&loss_table(&ends))?;
    say(&format!("\nThe picture is in {}.", picture.display()))?;
    Ok(())
}

/// A few points of a curve, for the table.
fn thinned(mut curve: crate::measure::NamedCurve) -> crate::measure::NamedCurve {
    let last = curve.points.last().map_or(0, |point| point.n);
    curve
        .points
        .retain(|point| point.n % 50 == 0 || point.n == last);
    curve
}

fn request(args: &Args, web: &ToyWeb, model: &Path, order: &str) -> v1::CreateCrawlRequest {
    let seeds = web.seeds(TOPIC);
    v1::CreateCrawlRequest {
        spec: Some(v1::CrawlSpec {
            name: order.to_owned(),
            topics: vec![TOPIC.to_owned()],
            critic: model.display().to_string(),
            seeds: seeds.iter().map(|url| url.as_str().to_owned()).collect(),
            budget: args.budget,
            order: order.to_owned(),
            limits: Some(v1::Limits {
                in_flight_max: 4,
                delay_ms_min: Some(50),
                ..Default::default()
            }),
            ..Default::default()
        }),
    }
}

/// Trains a critic from the web's example pages and gives its held-out accuracy.
fn train(web: &ToyWeb, path: &Path, clock: &SystemClock) -> anyhow::Result<f64> {
    let mut trainer = Trainer::new(TrainParams::default())?;
    for (topic, url) in web.examples() {
        match page_of_bytes(&url, &web.answer(&url).body) {
            Ok(page) => trainer.add(topic, url.as_str(), &page)?,
            Err(reason) => trainer.skip(url.as_str(), &reason),
        }
    }
    let model: CriticModel = trainer.ready()?.train(Origin {
        trained_at: clock.now(),
        notes: "apprentice demo".to_owned(),
        sources: vec!["taxonomy/demo/topics.toml".to_owned()],
        version: 1,
    })?;
    model.save(path)?;
    Ok(model.training().held_out.accuracy().value)
}

/// Shows a crawl's line until it has fetched `until` pages or ended.
async fn follow(client: &mut Client, name: &str, until: u64) -> anyhow::Result<()> {
    let request = v1::WatchCrawlRequest {
        name: name.to_owned(),
        interval_ms: 200,
    };
    let mut stream = client.watch_crawl(request).await?.into_inner();
    let mut shown = 0;
    while let Some(crawl) = stream.message().await? {
        anyhow::ensure!(
            crawl.state() != v1::CrawlState::Failed,
            "crawl {name} failed: {}",
            crawl.reason
        );
        let done = crawl.fetched >= until;
        if is_terminal() {
            let row = one_row(&format!("   {}", line(&crawl)));
            write!(std::io::stdout().lock(), "\r{row}\x1b[K")?;
            std::io::stdout().flush()?;
        } else if crawl.fetched >= shown {
            say(&format!("   {}", line(&crawl)))?;
            shown = crawl.fetched + 50;
        }
        if done {
            break;
        }
    }
    if is_terminal() {
        say("")?;
    }
    Ok(())
}

/// A folder of the demo's own, removed at the end unless it is to be kept.
struct Scratch {
    folder: PathBuf,
    kept: bool,
}

impl Scratch {
    fn make(keep: Option<&Path>) -> anyhow::Result<Self> {
        let folder = match keep {
            Some(folder) => std::path::absolute(folder)?,
            None => std::env::temp_dir().join(format!("apprentice-demo-{}", std::process::id())),
        };
        fs::create_dir_all(&folder).with_context(|| format!("folder {}", folder.display()))?;
        let crawls = folder.join("data");
        anyhow::ensure!(
            !crawls.exists(),
            "{} holds an earlier demo; remove it or give another --keep",
            folder.display()
        );
        Ok(Self {
            folder,
            kept: keep.is_some(),
        })
    }

    fn path(&self) -> &Path {
        &self.folder
    }

    /// The picture outlives the folder: it is what a person takes away.
    fn picture(&self) -> PathBuf {
        if self.kept {
            self.folder.join("demo-loss.svg")
        } else {
            std::env::temp_dir().join("apprentice-demo-loss.svg")
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.kept {
            // What cannot be removed lies in the system's folder for such things.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// A daemon in a process of its own; killed when it is dropped.
struct DaemonAtWork {
    process: Child,
    socket: PathBuf,
}

impl DaemonAtWork {
    fn start(folder: &Path, proxy: &str) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("where is this program?")?;
        let data = folder.join("data");
        let process = Command::new(program)
            .arg("daemon")
            .args([Path::new("--data"), &data])
            .args(["--archive-proxy", proxy])
            .env_remove("APPRENTICE_SOCKET")
            .stdout(Stdio::null())
            .spawn()
            .context("the daemon cannot be started")?;
        Ok(Self {
            process,
            socket: data.join("daemon.sock"),
        })
    }

    fn id(&self) -> u32 {
        self.process.id()
    }

    /// Connects as soon as the daemon answers.
    async fn connect(&self, clock: &SystemClock) -> anyhow::Result<Client> {
        let address = Address::Socket(self.socket.clone());
        let give_up = clock.now().0 + START_MS;
        loop {
            match connect(&address).await {
                Ok(client) => return Ok(client),
                Err(error) if clock.now().0 > give_up => return Err(error.into()),
                Err(_) => {
                    let soon = clock.now().after(Duration::from_millis(50));
                    clock.sleep_until(soon).await;
                }
            }
        }
    }

    /// `Child::kill` is SIGKILL: no handler runs, nothing is flushed.
    fn kill_and_restart(mut self, folder: &Path, proxy: &str) -> anyhow::Result<Self> {
        self.process.kill().context("the daemon cannot be killed")?;
        self.process.wait()?;
        Self::start(folder, proxy)
    }

    fn stop(mut self) -> anyhow::Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for DaemonAtWork {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
