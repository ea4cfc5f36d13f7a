//! A judge behind gRPC: the Bayes critic of the tests, which can be killed and can be made to hang and
//! to talk nonsense.

use std::path::Path;
use std::sync::{Arc, Mutex};

use apprentice::critic::examples::page_of_bytes;
use apprentice::critic::{BayesJudge, CriticModel, PageJudge as _, Verdict};
use apprentice::page::Page;
use apprentice::proto::v1;
use apprentice::proto::v1::page_judge_server::{PageJudge, PageJudgeServer};
use apprentice::proto::v1::verdict::Relevance;
use apprentice::taxonomy::Focus;
use apprentice::url::CanonicalUrl;
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Runtime;
use tokio_stream::wrappers::{TcpListenerStream, UnixListenerStream};
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

use super::daemon::critic;

/// What a judge makes of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Good,
    /// Never answers.
    Hang,
    /// Says that it is about to go.
    Unavailable,
    /// Fails.
    Internal,
    NotANumber,
    OneTooFew,
    ForeignClass,
}

/// A judge at work; killed when it is dropped.
pub(crate) struct Judge {
    /// For `--judge`.
    pub(crate) address: String,
    says: Says,
    runtime: Option<Runtime>,
}

/// PEM of certificate and key, and the token that is asked for.
pub(crate) struct Guarded {
    pub(crate) certificate: Vec<u8>,
    pub(crate) key: Vec<u8>,
    pub(crate) token: String,
}

impl Judge {
    /// On a TCP port of loopback; under TLS and with a token, if that is given.
    pub(crate) fn on_tcp(guarded: Option<Guarded>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let scheme = if guarded.is_some() { "https" } else { "http" };
        let says = Says::new();
        let service = says.clone();
        let runtime = Runtime::new().unwrap();
        runtime.spawn(async move {
            let mut server = Server::builder();
            let mut token = None;
            if let Some(guarded) = guarded {
                let identity = Identity::from_pem(guarded.certificate, guarded.key);
                let tls = ServerTlsConfig::new().identity(identity);
                server = server.tls_config(tls).unwrap();
                token = Some(format!("Bearer {}", guarded.token));
            }
            let ask = move |request: Request<()>| {
                let offered = request.metadata().get("authorization");
                let offered = offered.and_then(|value| value.to_str().ok());
                match &token {
                    Some(token) if offered != Some(token) => Err(Status::unauthenticated("who?")),
                    _ => Ok(request),
                }
            };
            let incoming = TcpListenerStream::new(TcpListener::from_std(listener).unwrap());
            let service = PageJudgeServer::with_interceptor(service, ask);
            server
                .add_service(service)
                .serve_with_incoming(incoming)
                .await
                .unwrap();
        });
        Self {
            address: format!("{scheme}://{address}"),
            says,
            runtime: Some(runtime),
        }
    }

    /// On a Unix socket.
    pub(crate) fn on_socket(path: &Path) -> Self {
        let listener = std::os::unix::net::UnixListener::bind(path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let says = Says::new();
        let service = PageJudgeServer::new(says.clone());
        let runtime = Runtime::new().unwrap();
        runtime.spawn(async move {
            let incoming = UnixListenerStream::new(UnixListener::from_std(listener).unwrap());
            Server::builder()
                .add_service(service)
                .serve_with_incoming(incoming)
                .await
                .unwrap();
        });
        Self {
            address: format!("unix:{}", path.display()),
            says,
            runtime: Some(runtime),
        }
    }

    pub(crate) fn be(&self, mood: Mood) {
        *self.says.mood.lock().unwrap() = mood;
    }

    /// Pages of each batch so far.
    pub(crate) fn batches(&self) -> Vec<usize> {
        self.says.batches.lock().unwrap().clone()
    }

    /// Ends it and all its connections at once.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        if let Some(path) = self.address.strip_prefix("unix:") {
            // A judge that was killed leaves it behind; here the next one wants to bind it.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        self.end();
    }
}

/// The service.
#[derive(Clone)]
struct Says {
    model: Arc<CriticModel>,
    mood: Arc<Mutex<Mood>>,
    batches: Arc<Mutex<Vec<usize>>>,
}

/// The critic of the tests with this focus.
pub(crate) fn bayes(model: &Arc<CriticModel>, topics: &[String]) -> Result<BayesJudge, Status> {
    let refuse = |error: String| Status::not_found(error);
    let focus = Focus::new(topics.to_vec()).map_err(|error| refuse(error.to_string()))?;
    BayesJudge::new(Arc::clone(model), &focus).map_err(|error| refuse(error.to_string()))
}

/// The model of the tests.
pub(crate) fn model() -> Arc<CriticModel> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("critic.model");
    std::fs::write(&path, critic()).unwrap();
    Arc::new(CriticModel::open(&path).unwrap())
}

impl Says {
    fn new() -> Self {
        Self {
            model: model(),
            mood: Arc::new(Mutex::new(Mood::Good)),
            batches: Arc::default(),
        }
    }

    fn verdict(&self, verdict: &Verdict) -> v1::Verdict {
        let best = verdict.best.iter().map(|score| v1::JudgedClass {
            name: self.model.class_names()[usize::from(score.class.0)].clone(),
            log_posterior: f64::from(score.log_posterior),
        });
        v1::Verdict {
            relevance: Some(Relevance::LogOdds(f64::from(verdict.log_odds))),
            best: best.collect(),
            near_focus: Some(verdict.near_focus),
        }
    }
}

/// The page as the judge knows it: title and words, the leaves apart.
fn page_of(page: &v1::JudgePage) -> Page {
    let leaves = page.text.replace('\n', "</p><p>");
    let title = page.title.replace('&', "&amp;").replace('<', "&lt;");
    let html = format!("<!doctype html><meta charset=utf-8><title>{title}</title><p>{leaves}</p>");
    page_of_bytes(&CanonicalUrl::parse(&page.url).unwrap(), html.as_bytes()).unwrap()
}

#[tonic::async_trait]
impl PageJudge for Says {
    async fn describe(
        &self,
        request: Request<v1::DescribeRequest>,
    ) -> Result<Response<v1::DescribeResponse>, Status> {
        bayes(&self.model, &request.into_inner().topics)?;
        Ok(Response::new(v1::DescribeResponse {
            name: "Bayes behind gRPC".to_owned(),
            version: self.model.version(),
            classes: self.model.class_names().to_vec(),
            ..Default::default()
        }))
    }

    async fn judge_batch(
        &self,
        request: Request<v1::JudgeBatchRequest>,
    ) -> Result<Response<v1::JudgeBatchResponse>, Status> {
        let request = request.into_inner();
        let judge = bayes(&self.model, &request.topics)?;
        self.batches.lock().unwrap().push(request.pages.len());
        let pages: Vec<Page> = request.pages.iter().map(page_of).collect();
        let verdicts = judge.judge_batch(&pages.iter().collect::<Vec<_>>());
        let mut verdicts: Vec<_> = verdicts
            .iter()
            .map(|verdict| self.verdict(verdict))
            .collect();
        let mood = *self.mood.lock().unwrap();
        match mood {
            Mood::Good => {}
            Mood::Hang => std::future::pending().await,
            Mood::Unavailable => return Err(Status::unavailable("shutting down")),
            Mood::Internal => return Err(Status::internal("out of memory")),
            Mood::NotANumber => verdicts[0].relevance = Some(Relevance::Probability(f64::NAN)),
            Mood::OneTooFew => drop(verdicts.pop()),
            Mood::ForeignClass => "cheese".clone_into(&mut verdicts[0].best[0].name),
        }
        Ok(Response::new(v1::JudgeBatchResponse {
            verdicts,
            version: self.model.version(),
        }))
    }
}
