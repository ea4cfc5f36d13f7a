//! A real daemon: `apprentice daemon` as a child process, with a data directory of its own, and a
//! generated web on loopback that it crawls.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use apprentice::archive::{Library, ProxyLimits, serve};
use apprentice::clock::Timestamp;
use apprentice::control::client::{Address, Client, connect};
use apprentice::critic::examples::page_of_bytes;
use apprentice::critic::{Origin, TrainParams, Trainer};
use apprentice::lab::toyweb::{BROKEN_HOST, ToyLibrary, ToyParams, ToyWeb};
use apprentice::proto::v1;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The topic with the most pages in the generated web.
pub(crate) const TOPIC: &str = "beekeeping";

/// No condition that a test waits for takes this long, however busy the machine is.
const PATIENCE: Duration = Duration::from_mins(1);

/// Asks until there is an answer.
///
/// # Panics
/// After [`PATIENCE`], naming `what`.
pub(crate) async fn eventually<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking)
        .await
        .unwrap_or_else(|_| panic!("waited in vain: {what}"))
}

/// A library served as an archive proxy, until it is dropped.
pub(crate) struct Web {
    /// For `--archive-proxy`.
    pub(crate) proxy: String,
    serving: JoinHandle<()>,
}

impl Web {
    pub(crate) async fn serve(library: impl Library) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = format!("http://{}", listener.local_addr().unwrap());
        let limits = ProxyLimits::default();
        let running = serve(
            Arc::new(library),
            listener,
            None,
            limits,
            std::future::pending(),
        );
        Self {
            proxy,
            serving: tokio::spawn(running),
        }
    }

    /// The generated web as it is.
    pub(crate) async fn serve_toy(web: &Arc<ToyWeb>) -> Self {
        Self::serve(ToyLibrary(Arc::clone(web))).await
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The web of most tests: small, and a crawl can exhaust it.
pub(crate) fn toy() -> Arc<ToyWeb> {
    static WEB: OnceLock<Arc<ToyWeb>> = OnceLock::new();
    Arc::clone(WEB.get_or_init(|| Arc::new(ToyWeb::generate(7, ToyParams::finite(150)))))
}

/// A model file's bytes, trained once.
pub(crate) fn critic() -> &'static [u8] {
    static CRITIC: OnceLock<Vec<u8>> = OnceLock::new();
    CRITIC.get_or_init(|| {
        let web = toy();
        let mut trainer = Trainer::new(TrainParams::default()).unwrap();
        for (topic, url) in web.examples() {
            let page = page_of_bytes(&url, &web.answer(&url).body).unwrap();
            trainer.add(topic, url.as_str(), &page).unwrap();
        }
        let origin = Origin {
            trained_at: Timestamp(1_795_824_000_000),
            notes: "for tests".to_owned(),
            sources: vec!["a generated web".to_owned()],
            version: 1,
        };
        let model = trainer.ready().unwrap().train(origin).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("critic.model");
        model.save(&path).unwrap();
        fs::read(&path).unwrap()
    })
}

/// What a command said.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// The one line on standard error of a command that failed with `code`.
    #[track_caller]
    pub(crate) fn error(&self, code: i32) -> &str {
        let Self { out, err, .. } = self;
        assert_eq!(self.code, Some(code), "{err}{out}");
        let line = err.strip_suffix('\n').unwrap_or(err);
        assert!(
            line.starts_with("error: ") && !line.contains('\n'),
            "not one line of error: {err:?}"
        );
        assert!(!line.contains("panicked"), "{line}");
        line
    }

    /// The standard output of a command that did its work and complained of nothing.
    #[track_caller]
    pub(crate) fn done(&self) -> &str {
        assert_eq!(
            (self.code, self.err.as_str()),
            (Some(0), ""),
            "{}",
            self.out
        );
        &self.out
    }
}

/// The program, without what the tester's environment says to it.
fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apprentice"));
    for name in ["DATA", "SOCKET", "DAEMON", "CONTACT", "LOG", "INDEX"] {
        command.env_remove(format!("APPRENTICE_{name}"));
    }
    // An error for people holds no backtrace even then.
    command.env("RUST_BACKTRACE", "1").stdin(Stdio::null());
    command
}

/// A folder with a data directory and a critic; removed when it is dropped.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("critic.model"), critic()).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.data().join("daemon.sock")
    }

    pub(crate) fn critic(&self) -> PathBuf {
        self.path("critic.model")
    }

    /// The program, told of this data directory. The folder is where it works.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = program();
        command
            .args(args)
            .env("APPRENTICE_DATA", self.data())
            .current_dir(self.folder.path());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Said {
        let output = self.command(args).output().unwrap();
        Said {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Starts a daemon and waits until it serves.
    pub(crate) async fn daemon(&self, args: &[&str]) -> Daemon {
        let mut daemon = self.spawn(args);
        daemon.serving().await;
        daemon.opened().await;
        daemon
    }

    /// Starts a daemon behind the archive proxy of `web`, and waits until it serves all its crawls.
    pub(crate) async fn daemon_on(&self, web: &Web) -> Daemon {
        self.daemon(&["--archive-proxy", &web.proxy]).await
    }

    /// Starts a daemon and does not wait.
    pub(crate) fn spawn(&self, args: &[&str]) -> Daemon {
        let mut command = self.command(&["daemon"]);
        command.args(args);
        self.spawn_as(command)
    }

    /// The same in a name space of its own, in which the data directory (that exists) is a file system of so
    /// many MiB.
    pub(crate) fn spawn_on_small_disk(&self, mib: u32, args: &[&str]) -> Daemon {
        let script =
            format!("mount -t tmpfs -o size={mib}m,mode=700 none \"$1\" && shift && exec \"$@\"");
        let inner = self.command(&["daemon"]);
        let mut command = Command::new("unshare");
        command
            .args(["-rm", "sh", "-c", &script, "sh"])
            .arg(self.data())
            .arg(inner.get_program())
            .args(inner.get_args())
            .args(args)
            .stdin(Stdio::null())
            .current_dir(self.folder.path());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        self.spawn_as(command)
    }

    pub(crate) fn spawn_as(&self, mut command: Command) -> Daemon {
        let out = self.path("daemon.out");
        let err = self.path("daemon.err");
        let process = command
            .stdout(File::create(&out).unwrap())
            .stderr(
                File::options()
                    .create(true)
                    .append(true)
                    .open(&err)
                    .unwrap(),
            )
            .spawn()
            .unwrap();
        Daemon {
            process,
            socket: self.socket(),
            out,
            err,
        }
    }

    /// A crawl for [`TOPIC`] that starts at its seeds, waits for nobody and takes everything.
    pub(crate) fn spec(&self, name: &str, web: &ToyWeb) -> v1::CrawlSpec {
        v1::CrawlSpec {
            name: name.to_owned(),
            topics: vec![TOPIC.to_owned()],
            critic: self.critic().display().to_string(),
            seeds: web
                .seeds(TOPIC)
                .iter()
                .map(|url| url.as_str().to_owned())
                .collect(),
            scope: Some(v1::Scope {
                // Its failures are tried again after 20 seconds.
                deny: vec![format!("^http://{BROKEN_HOST}/")],
                ..Default::default()
            }),
            limits: Some(v1::Limits {
                in_flight_max: 4,
                delay_ms_min: Some(0),
                ..Default::default()
            }),
            ..Default::default()
        }
    }
}

/// A daemon at work; killed when it is dropped.
pub(crate) struct Daemon {
    process: Child,
    socket: PathBuf,
    out: PathBuf,
    err: PathBuf,
}

impl Daemon {
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    async fn serving(&mut self) {
        let out = self.out.clone();
        eventually("the daemon serves", async || {
            if let Some(status) = self.process.try_wait().unwrap() {
                panic!("the daemon ended with {status}: {}", self.complaints());
            }
            let said = fs::read_to_string(&out).unwrap();
            said.contains("listens on").then_some(())
        })
        .await;
    }

    /// The address of control over TCP.
    pub(crate) async fn tcp_address(&self) -> String {
        eventually("the daemon says its address", async || {
            let said = fs::read_to_string(&self.out).unwrap();
            let line = said.lines().find_map(|line| line.strip_prefix("and on "));
            line.map(str::to_owned)
        })
        .await
    }

    /// All that it wrote to standard error.
    pub(crate) fn complaints(&self) -> String {
        fs::read_to_string(&self.err).unwrap()
    }

    pub(crate) async fn client(&self) -> Client {
        connect(&Address::Socket(self.socket.clone()))
            .await
            .unwrap()
    }

    /// Waits until no crawl is being opened: on a busy machine that may be some time after it serves.
    async fn opened(&self) {
        let mut client = self.client().await;
        eventually("its crawls are open", async || {
            let request = v1::ListCrawlsRequest::default();
            let crawls = client.list_crawls(request).await.ok()?.into_inner().crawls;
            let is_opening = |crawl: &v1::Crawl| crawl.state() == v1::CrawlState::Opening;
            (!crawls.iter().any(is_opening)).then_some(())
        })
        .await;
    }

    /// A client of a daemon that was not waited for and sees its data directory under another name.
    pub(crate) async fn client_within(&self, data: &Path) -> Client {
        let socket = data.join("daemon.sock");
        eventually("the daemon answers", async || {
            connect(&Address::Socket(socket.clone())).await.ok()
        })
        .await
    }

    /// SIGKILL: no handler runs, nothing is flushed.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Sends a signal by its name, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        let sent = Command::new("sh")
            .args(["-c", "kill -s \"$0\" \"$1\"", name, &id])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// Waits for its end.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        eventually("the daemon ends", async || self.process.try_wait().unwrap()).await
    }

    /// SIGTERM, and the end that has to follow it.
    pub(crate) async fn stop(mut self) {
        self.signal("TERM");
        let status = self.ended().await;
        assert!(status.success(), "{status}: {}", self.complaints());
        assert!(!self.socket.exists(), "the socket is left behind");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Creates a crawl.
pub(crate) async fn create(client: &mut Client, spec: v1::CrawlSpec) -> v1::Crawl {
    let request = v1::CreateCrawlRequest { spec: Some(spec) };
    client.create_crawl(request).await.unwrap().into_inner()
}

/// A crawl as it stands.
pub(crate) async fn status(client: &mut Client, name: &str) -> v1::Crawl {
    let name = name.to_owned();
    let request = v1::GetCrawlRequest { name };
    client.get_crawl(request).await.unwrap().into_inner()
}

/// Waits until a crawl is as `wanted` says.
pub(crate) async fn until(
    client: &mut Client,
    name: &str,
    what: &str,
    wanted: impl Fn(&v1::Crawl) -> bool,
) -> v1::Crawl {
    eventually(&format!("crawl {name}: {what}"), async || {
        let crawl = status(client, name).await;
        wanted(&crawl).then_some(crawl)
    })
    .await
}

/// Waits until a crawl is finished.
pub(crate) async fn finished(client: &mut Client, name: &str) -> v1::Crawl {
    let crawl = until(client, name, "ended", |crawl| {
        crawl.state() != v1::CrawlState::Running
    })
    .await;
    assert_eq!(crawl.state(), v1::CrawlState::Finished, "{}", crawl.reason);
    crawl
}

/// The exported rows of a crawl.
pub(crate) async fn rows(client: &mut Client, name: &str, failures: bool) -> Vec<v1::PageRow> {
    let request = v1::ExportPagesRequest {
        name: name.to_owned(),
        failures,
        ..Default::default()
    };
    let mut stream = client.export_pages(request).await.unwrap().into_inner();
    let mut rows = Vec::new();
    while let Some(row) = stream.message().await.unwrap() {
        rows.push(row);
    }
    rows
}

/// Every point of a crawl's loss curve.
pub(crate) async fn loss(client: &mut Client, name: &str) -> Vec<v1::LossPoint> {
    let request = v1::GetLossRequest {
        name: name.to_owned(),
        points_max: 0,
        copies_lost: false,
    };
    let mut stream = client.get_loss(request).await.unwrap().into_inner();
    let mut points = Vec::new();
    while let Some(point) = stream.message().await.unwrap() {
        points.push(point);
    }
    points
}

/// The permission bits of a file.
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
