//! How a running crawl is spoken to.

use std::sync::{Arc, OnceLock};

use tokio::sync::{mpsc, oneshot};

use super::explaining::LinkReasons;
use super::judging::{ClassNames, Judge};
use super::spec::SpecError;
use crate::apprentice::SavedApprentice;
use crate::booking::{CrawlState, Seq};
use crate::critic::PageJudge;
use crate::frontier::{FrontierStore, KnownLink, StoreFailure, WaitingLink};
use crate::measure::LossPoint;
use crate::proto::v1;
use crate::taxonomy::FocusError;
use crate::url::{CanonicalUrl, UrlId};

/// Why a crawl does not do what it is told.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// Its engine has ended.
    #[error("the crawl is not open: {0}")]
    Closed(String),
    /// Its state forbids it.
    #[error("{0}")]
    State(String),
    /// What it is told cannot be taken.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A URL that was marked is no booked page.
    #[error("{0}")]
    NoPage(String),
    /// There is no such epoch.
    #[error("{0}")]
    NoEpoch(String),
    /// A mark that cannot be taken.
    #[error("{0}")]
    Feedback(String),
    /// A topic that the critic does not have.
    #[error(transparent)]
    Focus(#[from] FocusError),
    /// Its store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreFailure),
}

type Reply<T> = oneshot::Sender<Result<T, CrawlError>>;

/// What the engine is asked.
pub(super) enum Command {
    Status(Reply<v1::Crawl>),
    SetState(CrawlState, String, Reply<v1::Crawl>),
    AddSeeds(Vec<CanonicalUrl>, Reply<v1::AddSeedsResponse>),
    Update(Box<v1::UpdateCrawlRequest>, Reply<v1::Crawl>),
    Head(usize, Reply<Vec<WaitingLink>>),
    Lookup(UrlId, Reply<Option<KnownLink>>),
    Explain(UrlId, Reply<Option<LinkReasons>>),
    Loss(usize, bool, Reply<Vec<LossPoint>>),
    Learners(Reply<v1::GetLearnersResponse>),
    Feedback(Box<v1::FeedbackRequest>, Reply<v1::FeedbackResponse>),
    Critic(Reply<Arc<dyn PageJudge>>),
    Apprentice(Reply<Box<SavedApprentice>>),
    Retrain(Box<v1::RetrainRequest>, Reply<v1::Epoch>),
    UseEpoch(u64, Reply<v1::Epoch>),
    Epochs(Reply<v1::ListEpochsResponse>),
    Shutdown,
}

/// A crawl, as others hold it; cheap to clone.
#[derive(Clone)]
pub struct Handle {
    name: Arc<str>,
    commands: mpsc::Sender<Command>,
    store: Arc<dyn FrontierStore>,
    judge: Judge,
    last_report: LastReport,
}

/// How the crawl stood when its engine broke; set at most once.
pub(super) type LastReport = Arc<OnceLock<v1::Crawl>>;

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Handle {
    pub(super) fn new(
        name: &str,
        commands: mpsc::Sender<Command>,
        store: Arc<dyn FrontierStore>,
        judge: Judge,
        last_report: LastReport,
    ) -> Self {
        Self {
            name: name.into(),
            commands,
            store,
            judge,
            last_report,
        }
    }

    /// The crawl's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How the crawl stood when its engine broke; `None` as long as it has not.
    pub fn last_report(&self) -> Option<&v1::Crawl> {
        self.last_report.get()
    }

    /// Its log, for readers; read no further than [`FrontierStore::durable`].
    pub fn store(&self) -> &Arc<dyn FrontierStore> {
        &self.store
    }

    pub(super) fn judge(&self) -> &Judge {
        &self.judge
    }

    /// The names of its judge's classes.
    pub fn class_names(&self) -> ClassNames<'_> {
        self.judge.class_names()
    }

    /// Counts, rates and the reason for idleness.
    ///
    /// # Errors
    /// [`CrawlError::Closed`] if the engine has ended, as for every other question.
    pub async fn status(&self) -> Result<v1::Crawl, CrawlError> {
        self.ask(Command::Status).await
    }

    /// Puts the crawl into another state; returns when that is durable.
    ///
    /// # Errors
    /// [`CrawlError::State`] if the present state does not allow it.
    pub async fn set_state(
        &self,
        state: CrawlState,
        reason: &str,
    ) -> Result<v1::Crawl, CrawlError> {
        let reason = reason.to_owned();
        self.ask(move |reply| Command::SetState(state, reason, reply))
            .await
    }

    /// Adds seeds; returns when they are durable.
    ///
    /// # Errors
    /// As [`Handle::status`].
    pub async fn add_seeds(
        &self,
        urls: Vec<CanonicalUrl>,
    ) -> Result<v1::AddSeedsResponse, CrawlError> {
        self.ask(move |reply| Command::AddSeeds(urls, reply)).await
    }

    /// Changes budget, contact, scope or limits; returns when that is durable.
    ///
    /// # Errors
    /// [`CrawlError::Spec`] names the field that cannot be taken; then nothing has changed.
    pub async fn update(&self, update: v1::UpdateCrawlRequest) -> Result<v1::Crawl, CrawlError> {
        let update = Box::new(update);
        self.ask(move |reply| Command::Update(update, reply)).await
    }

    /// The best `k` links waiting.
    ///
    /// # Errors
    /// As [`Handle::status`].
    pub async fn head(&self, k: usize) -> Result<Vec<WaitingLink>, CrawlError> {
        self.ask(move |reply| Command::Head(k, reply)).await
    }

    /// What the frontier knows of a URL.
    ///
    /// # Errors
    /// As [`Handle::status`].
    pub async fn lookup(&self, id: UrlId) -> Result<Option<KnownLink>, CrawlError> {
        self.ask(move |reply| Command::Lookup(id, reply)).await
    }

    /// Why a link stands where it stands; `None` if it is not known.
    ///
    /// # Errors
    /// As [`Handle::status`]; [`CrawlError::Store`] if a page that it stands on cannot be read.
    pub async fn explain(&self, id: UrlId) -> Result<Option<LinkReasons>, CrawlError> {
        self.ask(move |reply| Command::Explain(id, reply)).await
    }

    /// L(n) at about `points_max` places (0: at all), copies counted as lost if `copies_lost`.
    ///
    /// # Errors
    /// As [`Handle::status`].
    pub async fn loss(
        &self,
        points_max: usize,
        copies_lost: bool,
    ) -> Result<Vec<LossPoint>, CrawlError> {
        self.ask(move |reply| Command::Loss(points_max, copies_lost, reply))
            .await
    }

    /// How its learners have predicted so far.
    ///
    /// # Errors
    /// [`CrawlError::Closed`].
    pub async fn learners(&self) -> Result<v1::GetLearnersResponse, CrawlError> {
        self.ask(Command::Learners).await
    }

    /// Says of booked pages whether they were judged right; returns when that is durable. Pages that are
    /// fetched from then on are judged by the critic that has learned it.
    ///
    /// # Errors
    /// [`CrawlError::NoPage`], [`CrawlError::Feedback`], [`CrawlError::Focus`] and [`CrawlError::Spec`]
    /// name what cannot be taken; then nothing has changed. [`CrawlError::State`] if its judge cannot learn.
    pub async fn feedback(
        &self,
        request: v1::FeedbackRequest,
    ) -> Result<v1::FeedbackResponse, CrawlError> {
        let request = Box::new(request);
        self.ask(move |reply| Command::Feedback(request, reply))
            .await
    }

    /// The judge of the pages to come, when all that it has learned is durable.
    ///
    /// # Errors
    /// As [`Handle::status`].
    pub async fn critic(&self) -> Result<Arc<dyn PageJudge>, CrawlError> {
        self.ask(Command::Critic).await
    }

    /// What the apprentice has learned, when all that it learned from is durable.
    ///
    /// # Errors
    /// [`CrawlError::State`] if it has learned nothing.
    pub async fn apprentice(&self) -> Result<Box<SavedApprentice>, CrawlError> {
        self.ask(Command::Apprentice).await
    }

    /// Trains the apprentice anew from all stored instances while the crawl goes on; returns when the
    /// frontier is in the new order and that is durable. Dropping the future does not end it.
    ///
    /// # Errors
    /// [`CrawlError::Spec`] names what cannot be taken; [`CrawlError::State`] if there is nothing to learn
    /// from, a training is going on, or it failed. The old epoch stays in force.
    pub async fn retrain(&self, request: v1::RetrainRequest) -> Result<v1::Epoch, CrawlError> {
        let request = Box::new(request);
        self.ask(move |reply| Command::Retrain(request, reply))
            .await
    }

    /// Goes back to what the apprentice knew at an epoch; otherwise as [`Handle::retrain`].
    ///
    /// # Errors
    /// [`CrawlError::NoEpoch`] if there is no such epoch; otherwise as [`Handle::retrain`].
    pub async fn use_epoch(&self, number: u64) -> Result<v1::Epoch, CrawlError> {
        self.ask(move |reply| Command::UseEpoch(number, reply))
            .await
    }

    /// The epochs of the apprentice, oldest first.
    ///
    /// # Errors
    /// As [`Handle::status`].
    pub async fn epochs(&self) -> Result<v1::ListEpochsResponse, CrawlError> {
        self.ask(Command::Epochs).await
    }

    /// Ends the engine: no new fetch, those in flight are waited for and booked; meanwhile it answers.
    /// The crawl keeps its state, so that it runs again after the next start.
    pub async fn shutdown(&self) {
        // An engine that has ended already is what is wanted.
        let _ = self.commands.send(Command::Shutdown).await;
        self.commands.closed().await;
    }

    /// The last durable event.
    pub fn durable(&self) -> Seq {
        self.store.durable()
    }

    async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, CrawlError> {
        let closed = || CrawlError::Closed(format!("engine of {:?} has ended", self.name));
        let (reply, answer) = oneshot::channel();
        self.commands
            .send(command(reply))
            .await
            .map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}
