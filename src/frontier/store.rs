//! The contract of what survives a crash: the log of a crawl's events.

use crate::booking::{Event, Reference, Seq};
use crate::page::Page;
use crate::url::CanonicalUrl;

/// Why the store cannot do it. The words name the file and say what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StoreFailure(pub String);

/// The log of one crawl: append, flush, read back.
///
/// Contract: an appended event can be read at once and is lost by a crash; after [`flush`] returns
/// it survives any crash; a crash leaves the log a prefix of what was appended that holds at least
/// all that was flushed, and never half an event. One writer; readers on other threads at any time.
///
/// [`flush`]: FrontierStore::flush
pub trait FrontierStore: Send + Sync + 'static {
    /// Adds an event at the end and gives its number; cheap, no disk.
    fn append(&self, event: Event) -> Seq;

    /// Makes all that was appended before the call durable. Blocks on the disk: never call it on a
    /// runtime's thread. Gives the last durable number.
    ///
    /// # Errors
    /// [`StoreFailure`]; what was not written stays readable and is tried again by the next call.
    fn flush(&self) -> Result<Seq, StoreFailure>;

    /// As [`flush`](Self::flush), but of nothing that comes after `last`: for those who have something
    /// else to make durable before the events that name it.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    fn flush_to(&self, last: Seq) -> Result<Seq, StoreFailure>;

    /// The last durable event (0 if there is none).
    fn durable(&self) -> Seq;

    /// The last appended event (0 if there is none).
    fn last(&self) -> Seq;

    /// One event, without its evidence; `None` past the end.
    ///
    /// # Errors
    /// [`StoreFailure`] if it is damaged or unreadable.
    fn event(&self, seq: Seq) -> Result<Option<Event>, StoreFailure>;

    /// The URL of a link, from the evidence of its page (or from the Seeds or Redirect event).
    ///
    /// # Errors
    /// [`StoreFailure`] if there is no such link or it is unreadable.
    fn link_url(&self, at: Reference) -> Result<CanonicalUrl, StoreFailure>;

    /// A booked page as it was parsed.
    ///
    /// # Errors
    /// [`StoreFailure`] if event `seq` is no page or is unreadable.
    fn page(&self, seq: Seq) -> Result<Page, StoreFailure>;

    /// Calls `visit` with every event from `from` to `to` inclusive, in order, until it says false.
    ///
    /// # Errors
    /// [`StoreFailure`] at the first event that is damaged or unreadable.
    fn scan(
        &self,
        from: Seq,
        to: Seq,
        visit: &mut dyn FnMut(Seq, Event) -> bool,
    ) -> Result<(), StoreFailure>;
}
