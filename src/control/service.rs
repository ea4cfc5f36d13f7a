//! The service `apprentice.v1.Crawler`: each call is a question to the registry or to one crawl.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use super::status::{of_crawl, of_registry};
use super::{explain, export, url_report};
use crate::booking::CrawlState;
use crate::clock::{Clock, Timestamp};
use crate::crawl::check_seeds;
use crate::fetch::Source;
use crate::proto::v1;
use crate::proto::v1::crawler_server::Crawler;
use crate::registry::Registry;
use crate::url::CanonicalUrl;

/// Waiting links that one answer names at most.
const HEAD_MAX: u32 = 10_000;
/// Seeds that one call adds at most.
const SEEDS_MAX: usize = 1_000_000;

/// What a daemon says of itself.
#[derive(Clone, Debug)]
pub struct DaemonInfo {
    /// The proxy that fetches go through, without credentials; empty if there is none.
    pub proxy: String,
    /// When it started.
    pub started_at: Timestamp,
}

/// The service; a cheap clone is the same service.
pub struct CrawlerService<S, C> {
    registry: Arc<Registry<S, C>>,
    clock: C,
    info: DaemonInfo,
    /// Ends the streams when the daemon stops.
    stopping: CancellationToken,
}

impl<S, C: Clone> Clone for CrawlerService<S, C> {
    fn clone(&self) -> Self {
        Self {
            registry: Arc::clone(&self.registry),
            clock: self.clock.clone(),
            info: self.info.clone(),
            stopping: self.stopping.clone(),
        }
    }
}

impl<S: Source, C: Clock> CrawlerService<S, C> {
    /// A service that speaks for `registry`; its streams end when `stopping` is cancelled.
    pub fn new(
        registry: Arc<Registry<S, C>>,
        clock: C,
        info: DaemonInfo,
        stopping: CancellationToken,
    ) -> Self {
        Self {
            registry,
            clock,
            info,
            stopping,
        }
    }

    async fn crawl(&self, name: &str) -> Result<crate::crawl::Handle, Status> {
        self.registry
            .get(name)
            .await
            .map_err(|error| of_registry(&error))
    }

    async fn set_state(
        &self,
        name: &str,
        state: CrawlState,
        reason: &str,
    ) -> Result<Response<v1::Crawl>, Status> {
        let crawl = self.crawl(name).await?;
        let status = crawl.set_state(state, reason).await;
        Ok(Response::new(status.map_err(|error| of_crawl(&error))?))
    }
}

type Answer<T> = Result<Response<T>, Status>;
type Streamed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl<S: Source, C: Clock> Crawler for CrawlerService<S, C> {
    async fn get_daemon(&self, _: Request<v1::GetDaemonRequest>) -> Answer<v1::Daemon> {
        Ok(Response::new(v1::Daemon {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            data_dir: self.registry.dir().root().display().to_string(),
            process_id: std::process::id(),
            proxy: self.info.proxy.clone(),
            crawls: self.registry.count().await as u64,
            started_at_ms: self.info.started_at.0,
        }))
    }

    async fn create_crawl(&self, request: Request<v1::CreateCrawlRequest>) -> Answer<v1::Crawl> {
        let spec = request.into_inner().spec.unwrap_or_default();
        let crawl = self.registry.create(spec).await;
        Ok(Response::new(crawl.map_err(|error| of_registry(&error))?))
    }

    async fn list_crawls(
        &self,
        _: Request<v1::ListCrawlsRequest>,
    ) -> Answer<v1::ListCrawlsResponse> {
        let crawls = self.registry.list().await;
        Ok(Response::new(v1::ListCrawlsResponse { crawls }))
    }

    async fn get_crawl(&self, request: Request<v1::GetCrawlRequest>) -> Answer<v1::Crawl> {
        let crawl = self.registry.status(&request.into_inner().name).await;
        Ok(Response::new(crawl.map_err(|error| of_registry(&error))?))
    }

    async fn pause_crawl(&self, request: Request<v1::PauseCrawlRequest>) -> Answer<v1::Crawl> {
        let name = request.into_inner().name;
        self.set_state(&name, CrawlState::Paused, "paused by request")
            .await
    }

    async fn resume_crawl(&self, request: Request<v1::ResumeCrawlRequest>) -> Answer<v1::Crawl> {
        let crawl = self.registry.resume(&request.into_inner().name).await;
        Ok(Response::new(crawl.map_err(|error| of_registry(&error))?))
    }

    async fn stop_crawl(&self, request: Request<v1::StopCrawlRequest>) -> Answer<v1::Crawl> {
        let name = request.into_inner().name;
        self.set_state(&name, CrawlState::Stopped, "stopped by request")
            .await
    }

    async fn delete_crawl(
        &self,
        request: Request<v1::DeleteCrawlRequest>,
    ) -> Answer<v1::DeleteCrawlResponse> {
        let deleted = self.registry.delete(&request.into_inner().name).await;
        deleted.map_err(|error| of_registry(&error))?;
        Ok(Response::new(v1::DeleteCrawlResponse {}))
    }

    async fn add_seeds(
        &self,
        request: Request<v1::AddSeedsRequest>,
    ) -> Answer<v1::AddSeedsResponse> {
        let v1::AddSeedsRequest { name, urls } = request.into_inner();
        if urls.len() > SEEDS_MAX {
            return Err(Status::invalid_argument(format!(
                "{} seeds; at most {SEEDS_MAX} in one call",
                urls.len()
            )));
        }
        let urls = check_seeds("urls", &urls)
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        let counts = self.crawl(&name).await?.add_seeds(urls).await;
        Ok(Response::new(counts.map_err(|error| of_crawl(&error))?))
    }

    async fn update_crawl(&self, request: Request<v1::UpdateCrawlRequest>) -> Answer<v1::Crawl> {
        let update = request.into_inner();
        let crawl = self.crawl(&update.name).await?;
        let status = crawl.update(update).await;
        Ok(Response::new(status.map_err(|error| of_crawl(&error))?))
    }

    type WatchCrawlStream = Streamed<v1::Crawl>;

    async fn watch_crawl(
        &self,
        request: Request<v1::WatchCrawlRequest>,
    ) -> Answer<Self::WatchCrawlStream> {
        let v1::WatchCrawlRequest { name, interval_ms } = request.into_inner();
        self.registry
            .status(&name)
            .await
            .map_err(|error| of_registry(&error))?;
        let interval = Duration::from_millis(match interval_ms {
            0 => 1000,
            given => u64::from(given.max(100)),
        });
        let (sender, receiver) = mpsc::channel(1);
        let service = self.clone();
        tokio::spawn(async move {
            loop {
                let status = service.registry.status(&name).await;
                let status = status.map_err(|error| of_registry(&error));
                let ended = status.as_ref().map_or(true, |crawl| {
                    !matches!(
                        crawl.state(),
                        v1::CrawlState::Opening | v1::CrawlState::Running | v1::CrawlState::Paused
                    )
                });
                if sender.send(status).await.is_err() || ended {
                    return;
                }
                let next = service.clock.now().after(interval);
                tokio::select! {
                    () = service.clock.sleep_until(next) => {}
                    () = sender.closed() => return,
                    () = service.stopping.cancelled() => return,
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    type GetLossStream = Streamed<v1::LossPoint>;

    async fn get_loss(&self, request: Request<v1::GetLossRequest>) -> Answer<Self::GetLossStream> {
        let v1::GetLossRequest {
            name,
            points_max,
            copies_lost,
        } = request.into_inner();
        let crawl = self.crawl(&name).await?;
        let points = crawl.loss(points_max as usize, copies_lost).await;
        let points = points.map_err(|error| of_crawl(&error))?;
        let points = points.into_iter().map(|point| {
            Ok(v1::LossPoint {
                n: point.n,
                loss: point.loss,
                harvest: point.harvest,
            })
        });
        Ok(Response::new(Box::pin(tokio_stream::iter(points))))
    }

    async fn get_learners(
        &self,
        request: Request<v1::GetLearnersRequest>,
    ) -> Answer<v1::GetLearnersResponse> {
        let crawl = self.crawl(&request.into_inner().name).await?;
        let learners = crawl.learners().await.map_err(|error| of_crawl(&error))?;
        Ok(Response::new(learners))
    }

    async fn get_frontier(
        &self,
        request: Request<v1::GetFrontierRequest>,
    ) -> Answer<v1::GetFrontierResponse> {
        let v1::GetFrontierRequest { name, k } = request.into_inner();
        let k = match k {
            0 => 20,
            k if k <= HEAD_MAX => k,
            k => {
                return Err(Status::invalid_argument(format!(
                    "k = {k}; at most {HEAD_MAX} links are shown"
                )));
            }
        };
        let crawl = self.crawl(&name).await?;
        let head = crawl
            .head(k as usize)
            .await
            .map_err(|error| of_crawl(&error))?;
        let now = self.clock.now();
        let registry = Arc::clone(&self.registry);
        let trouble = move |url: &CanonicalUrl| registry.robots_trouble(url);
        let links = read_store(move || {
            head.iter()
                .map(|link| url_report::waiting_link(crawl.store().as_ref(), link, now, &trouble))
                .collect::<Result<Vec<_>, _>>()
        })
        .await?;
        Ok(Response::new(v1::GetFrontierResponse { links }))
    }

    async fn get_url(&self, request: Request<v1::GetUrlRequest>) -> Answer<v1::UrlReport> {
        let v1::GetUrlRequest { name, url } = request.into_inner();
        let url = CanonicalUrl::parse(&url)
            .map_err(|error| Status::invalid_argument(format!("{url:?}: {error}")))?;
        let crawl = self.crawl(&name).await?;
        let known = crawl
            .lookup(url.id())
            .await
            .map_err(|error| of_crawl(&error))?;
        let now = self.clock.now();
        let registry = Arc::clone(&self.registry);
        let trouble = move |url: &CanonicalUrl| registry.robots_trouble(url);
        let report =
            read_store(move || url_report::report(&crawl, &url, known, now, &trouble)).await?;
        Ok(Response::new(report))
    }

    async fn explain_link(
        &self,
        request: Request<v1::ExplainLinkRequest>,
    ) -> Answer<v1::LinkExplanation> {
        let v1::ExplainLinkRequest { name, url, top } = request.into_inner();
        let url = CanonicalUrl::parse(&url)
            .map_err(|error| Status::invalid_argument(format!("{url:?}: {error}")))?;
        let crawl = self.crawl(&name).await?;
        let reasons = crawl.explain(url.id()).await;
        let reasons = reasons.map_err(|error| of_crawl(&error))?;
        let now = self.clock.now();
        let registry = Arc::clone(&self.registry);
        let trouble = move |url: &CanonicalUrl| registry.robots_trouble(url);
        let explanation = read_store(move || {
            explain::explain(&crawl, &url, reasons, top as usize, now, &trouble)
        });
        Ok(Response::new(explanation.await?))
    }

    type ExportPagesStream = Streamed<v1::PageRow>;

    async fn export_pages(
        &self,
        request: Request<v1::ExportPagesRequest>,
    ) -> Answer<Self::ExportPagesStream> {
        let request = request.into_inner();
        let crawl = self.crawl(&request.name).await?;
        let (sender, receiver) = mpsc::channel(256);
        tokio::task::spawn_blocking(move || export::send_rows(&crawl, &request, &sender));
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn feedback(
        &self,
        request: Request<v1::FeedbackRequest>,
    ) -> Answer<v1::FeedbackResponse> {
        let request = request.into_inner();
        let marks = self.crawl(&request.name).await?.feedback(request).await;
        Ok(Response::new(marks.map_err(|error| of_crawl(&error))?))
    }

    async fn retrain(&self, request: Request<v1::RetrainRequest>) -> Answer<v1::Epoch> {
        let request = request.into_inner();
        let epoch = self.crawl(&request.name).await?.retrain(request).await;
        Ok(Response::new(epoch.map_err(|error| of_crawl(&error))?))
    }

    async fn use_epoch(&self, request: Request<v1::UseEpochRequest>) -> Answer<v1::Epoch> {
        let v1::UseEpochRequest { name, number } = request.into_inner();
        let epoch = self.crawl(&name).await?.use_epoch(number).await;
        Ok(Response::new(epoch.map_err(|error| of_crawl(&error))?))
    }

    async fn list_epochs(
        &self,
        request: Request<v1::ListEpochsRequest>,
    ) -> Answer<v1::ListEpochsResponse> {
        let crawl = self.crawl(&request.into_inner().name).await?;
        let epochs = crawl.epochs().await;
        Ok(Response::new(epochs.map_err(|error| of_crawl(&error))?))
    }

    type ExportApprenticeStream = Streamed<v1::ApprenticeChunk>;

    async fn export_apprentice(
        &self,
        request: Request<v1::ExportApprenticeRequest>,
    ) -> Answer<Self::ExportApprenticeStream> {
        let crawl = self.crawl(&request.into_inner().name).await?;
        let saved = crawl.apprentice().await.map_err(|error| of_crawl(&error))?;
        let chunks = export::apprentice_chunks(saved).await?;
        Ok(Response::new(Box::pin(tokio_stream::iter(
            chunks.into_iter().map(Ok),
        ))))
    }

    type ExportCriticStream = Streamed<v1::CriticChunk>;

    async fn export_critic(
        &self,
        request: Request<v1::ExportCriticRequest>,
    ) -> Answer<Self::ExportCriticStream> {
        let crawl = self.crawl(&request.into_inner().name).await?;
        let judge = crawl.critic().await.map_err(|error| of_crawl(&error))?;
        let chunks = export::critic_chunks(judge).await?;
        Ok(Response::new(Box::pin(tokio_stream::iter(
            chunks.into_iter().map(Ok),
        ))))
    }
}

/// Reads a store on the blocking pool.
async fn read_store<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, crate::frontier::StoreFailure> + Send + 'static,
) -> Result<T, Status> {
    match tokio::task::spawn_blocking(read).await {
        Ok(result) => result.map_err(|error| Status::internal(error.to_string())),
        Err(error) => Err(Status::internal(format!("reading broke: {error}"))),
    }
}
