//! A judge behind gRPC (judge.proto), as a client sees it.
//!
//! Nothing is tried again here: a call that fails ends the session, and the next one connects anew and
//! asks the judge what it is, for it may be another version by then. When to try again is the crawl's
//! to say.

mod address;
mod classes;
mod wire;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prost::Message;
use tokio::io::AsyncReadExt;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status};

pub use self::address::JudgeAddress;
use self::classes::{ClassList, Numbers};
pub use self::wire::{PageFacts, page_to_judge};
use crate::critic::far::{BatchLimits, FarJudge, JudgeAway};
use crate::critic::judge::Verdict;
use crate::proto::v1;
use crate::proto::v1::page_judge_client::PageJudgeClient;

/// Connecting, and the answer to Describe, each take no longer.
const GREETING_TIME_MAX: Duration = Duration::from_secs(10);
/// gRPC libraries take no message of more than 4 MiB unless told otherwise.
const REQUEST_BYTES_MAX: usize = 3 << 20;
/// A judge that takes less cannot judge a page.
const REQUEST_BYTES_MIN: usize = 64 << 10;
/// Verdicts on a thousand pages with all classes of a large critic.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// What a page takes in a request besides its own bytes: tag and length.
const FRAME_BYTES: usize = 6;
/// Certificates and tokens are smaller.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// A judge's own words are cut to this many characters.
const WORDS_MAX: usize = 300;

/// How a judge is spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteOptions {
    /// Where.
    pub address: JudgeAddress,
    /// PEM of the authority that signed its certificate; `None` takes the public ones. Read at each
    /// connection, as the token.
    pub ca_file: Option<PathBuf>,
    /// File with a token.
    pub token_file: Option<PathBuf>,
    /// Until a batch must be answered.
    pub deadline: Duration,
    /// Pages in a batch at most.
    pub pages_max: usize,
    /// The focus, in the judge's words.
    pub topics: Vec<String>,
}

/// A judge behind gRPC.
#[derive(Debug)]
pub struct RemoteJudge {
    options: Mutex<Arc<RemoteOptions>>,
    classes: Arc<ClassList>,
    session: Mutex<Option<Arc<Session>>>,
}

/// A connection to a judge that has said what it is.
#[derive(Debug)]
struct Session {
    client: Client,
    classes: Numbers,
    limits: BatchLimits,
    options: Arc<RemoteOptions>,
}

type Client = PageJudgeClient<InterceptedService<Channel, Bearer>>;

/// Adds the token to calls, if there is one. Never printed.
#[derive(Clone)]
struct Bearer(Option<MetadataValue<Ascii>>);

impl std::fmt::Debug for Bearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bearer(..)")
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request
                .metadata_mut()
                .insert("authorization", token.clone());
        }
        Ok(request)
    }
}

impl RemoteJudge {
    /// A judge that nothing is known of yet; connects when it is first asked.
    pub fn new(options: RemoteOptions) -> Self {
        Self::with(options, ClassList::new())
    }

    /// As [`new`](Self::new), with the classes that `file` keeps, where new ones are added.
    ///
    /// # Errors
    /// If the file is there and cannot be read.
    pub fn with_classes_in(options: RemoteOptions, file: &Path) -> std::io::Result<Self> {
        Ok(Self::with(options, ClassList::open(file)?))
    }

    fn with(options: RemoteOptions, classes: ClassList) -> Self {
        Self {
            options: Mutex::new(Arc::new(options)),
            classes: Arc::new(classes),
            session: Mutex::new(None),
        }
    }

    fn options(&self) -> Arc<RemoteOptions> {
        Arc::clone(&self.options.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn session(&self) -> MutexGuard<'_, Option<Arc<Session>>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects and asks the judge what it is.
    async fn meet(&self) -> Result<Arc<Session>, JudgeAway> {
        let options = self.options();
        let mut client = connect(&options).await?;
        let request = v1::DescribeRequest {
            topics: options.topics.clone(),
        };
        let described = client.describe(within(request, GREETING_TIME_MAX));
        let described = in_time(GREETING_TIME_MAX, described).await?;
        let limits = limits_of(&described, &options)?;
        let list = Arc::clone(&self.classes);
        let names = described.classes;
        let extended = tokio::task::spawn_blocking(move || list.extend(&names)).await;
        let classes = extended.map_err(|error| JudgeAway::File(error.to_string()))??;
        let name: String = printable(&described.name);
        tracing::info!(
            judge = name,
            version = described.version,
            at = options.address.as_str(),
            "the judge is there"
        );
        let session = Arc::new(Session {
            client,
            classes,
            limits,
            options,
        });
        // Unless it has moved meanwhile.
        if Arc::ptr_eq(&session.options, &self.options()) {
            *self.session() = Some(Arc::clone(&session));
        }
        Ok(session)
    }
}

impl Session {
    /// Verdicts on `pages`.
    async fn ask(&self, pages: &[&v1::JudgePage]) -> Result<Vec<Verdict>, JudgeAway> {
        let mut request = v1::JudgeBatchRequest {
            topics: self.options.topics.clone(),
            pages: Vec::new(),
        };
        let room = self.limits.bytes_max.saturating_sub(request.encoded_len());
        let bytes_max = room.saturating_sub(FRAME_BYTES);
        request.pages = pages
            .iter()
            .map(|page| wire::cut_to(page, bytes_max))
            .collect();
        let deadline = self.options.deadline;
        let mut client = self.client.clone();
        let answer = in_time(deadline, client.judge_batch(within(request, deadline))).await?;
        wire::verdicts_of(&answer, pages, &self.classes)
    }
}

async fn connect(options: &RemoteOptions) -> Result<Client, JudgeAway> {
    let address = &options.address;
    let unreachable = |error: tonic::transport::Error| JudgeAway::Unreachable(innermost(&error));
    let mut endpoint = Endpoint::from_shared(address.as_str().to_owned())
        .map_err(unreachable)?
        .connect_timeout(GREETING_TIME_MAX);
    if address.is_tls() {
        let tls = match &options.ca_file {
            Some(file) => {
                ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(file).await?))
            }
            None => {
                ClientTlsConfig::new().trust_anchors(webpki_roots::TLS_SERVER_ROOTS.iter().cloned())
            }
        };
        endpoint = endpoint.tls_config(tls).map_err(unreachable)?;
    }
    let token = match &options.token_file {
        Some(file) => Some(token_in(file).await?),
        None => None,
    };
    // A peer that takes the connection and says nothing more is not covered by the connector.
    let channel = tokio::time::timeout(GREETING_TIME_MAX, endpoint.connect())
        .await
        .map_err(|_| JudgeAway::Deadline(GREETING_TIME_MAX))?
        .map_err(unreachable)?;
    let client = PageJudgeClient::with_interceptor(channel, Bearer(token));
    Ok(client.max_decoding_message_size(ANSWER_BYTES_MAX))
}

fn limits_of(
    described: &v1::DescribeResponse,
    options: &RemoteOptions,
) -> Result<BatchLimits, JudgeAway> {
    let pages = match described.pages_max {
        0 => usize::MAX,
        pages => pages as usize,
    };
    let bytes = match described.bytes_max {
        0 => REQUEST_BYTES_MAX,
        bytes => usize::try_from(bytes).unwrap_or(usize::MAX),
    };
    if bytes < REQUEST_BYTES_MIN {
        return Err(JudgeAway::BadAnswer(format!(
            "it takes {bytes} bytes a request; the least is {REQUEST_BYTES_MIN}"
        )));
    }
    Ok(BatchLimits {
        pages_max: pages.min(options.pages_max).max(1),
        bytes_max: bytes.min(ANSWER_BYTES_MAX),
    })
}

#[tonic::async_trait]
impl FarJudge for RemoteJudge {
    async fn greet(&self) -> Result<(), JudgeAway> {
        self.meet().await.map(|_| ())
    }

    async fn judge(&self, pages: &[&v1::JudgePage]) -> Result<Vec<Verdict>, JudgeAway> {
        let known = self.session().clone();
        let session = match known {
            Some(session) => session,
            None => self.meet().await?,
        };
        let answer = session.ask(pages).await;
        if answer.is_err() {
            *self.session() = None;
        }
        answer
    }

    fn batch_limits(&self) -> BatchLimits {
        let session = self.session();
        session.as_ref().map_or(
            BatchLimits {
                pages_max: self.options().pages_max.max(1),
                bytes_max: REQUEST_BYTES_MAX,
            },
            |session| session.limits,
        )
    }

    fn class_names(&self) -> Arc<[String]> {
        self.classes.names()
    }

    fn place(&self) -> String {
        self.options().address.as_str().to_owned()
    }

    fn move_to(&self, options: &RemoteOptions) -> bool {
        let mut known = self.options.lock().unwrap_or_else(PoisonError::into_inner);
        if **known == *options {
            return false;
        }
        *known = Arc::new(options.clone());
        drop(known);
        *self.session() = None;
        true
    }
}

fn within<T>(message: T, deadline: Duration) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(deadline);
    request
}

/// The answer to a call, if it comes in time; what else comes in its place, named.
async fn in_time<T>(
    deadline: Duration,
    call: impl Future<Output = Result<tonic::Response<T>, Status>>,
) -> Result<T, JudgeAway> {
    // The transport's own timer ends with the headers of an answer.
    let answer = tokio::time::timeout(deadline, call)
        .await
        .map_err(|_| JudgeAway::Deadline(deadline))?;
    answer
        .map(tonic::Response::into_inner)
        .map_err(|status| of_status(&status, deadline))
}

fn of_status(status: &Status, deadline: Duration) -> JudgeAway {
    let source = std::error::Error::source(status).map(innermost);
    let words = source.unwrap_or_else(|| status.message().to_owned());
    let words = printable(&words);
    match status.code() {
        Code::DeadlineExceeded => JudgeAway::Deadline(deadline),
        // So tonic says it, as a client and as a server.
        Code::Cancelled if words == "Timeout expired" => JudgeAway::Deadline(deadline),
        // What the transport says of a peer that is gone; also what a judge says that is about to go.
        Code::Unavailable | Code::Cancelled => JudgeAway::Unreachable(words),
        code => JudgeAway::Refused {
            code: format!("{code:?}"),
            words,
        },
    }
}

/// The cause of causes: the transport's own words are only "transport error".
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    printable(&cause.to_string())
}

/// Somebody else's words on one line, and not too many of them.
fn printable(words: &str) -> String {
    let mut shown: String = words
        .chars()
        .map(|sign| if sign.is_control() { ' ' } else { sign })
        .take(WORDS_MAX)
        .collect();
    if shown.len() < words.len() {
        shown.push_str("..");
    }
    shown
}

/// The bytes of a small file; of a large one the beginning.
async fn read(file: &Path) -> Result<Vec<u8>, JudgeAway> {
    let reading = async {
        let mut bytes = Vec::new();
        let open = tokio::fs::File::open(file).await?;
        open.take(FILE_BYTES_MAX).read_to_end(&mut bytes).await?;
        Ok(bytes)
    };
    // A pipe that nobody writes into is no file either.
    tokio::time::timeout(GREETING_TIME_MAX, reading)
        .await
        .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
        .map_err(|error: std::io::Error| JudgeAway::File(format!("{}: {error}", file.display())))
}

async fn token_in(file: &Path) -> Result<MetadataValue<Ascii>, JudgeAway> {
    let text = String::from_utf8_lossy(&read(file).await?).into_owned();
    let text = text.trim();
    let unusable = || {
        JudgeAway::File(format!(
            "{}: a token is one line of printable ASCII characters",
            file.display()
        ))
    };
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(unusable());
    }
    format!("Bearer {text}").parse().map_err(|_| unusable())
}
