//! What leaves a crawl as a stream: its judged pages, read from its log, and its critic.

use std::sync::Arc;

use tokio::sync::mpsc;
use tonic::Status;

use crate::apprentice::SavedApprentice;
use crate::booking::{Event, Seq};
use crate::crawl::{Handle, found_on, page_row};
use crate::critic::PageJudge;
use crate::frontier::StoreFailure;
use crate::proto::v1;

/// Bytes of a model file in one message.
const CHUNK_BYTES: usize = 256 << 10;

/// The model file of a judge, in pieces; packed on the blocking pool.
///
/// # Errors
/// A status with words, if the judge is no model.
pub(super) async fn critic_chunks(
    judge: Arc<dyn PageJudge>,
) -> Result<Vec<v1::CriticChunk>, Status> {
    let pack = move || match judge.teachable() {
        Some(judge) => judge
            .model_bytes()
            .map_err(|error| Status::internal(error.to_string())),
        None => Err(Status::failed_precondition(
            "the judge of this crawl is no model that could be written to a file",
        )),
    };
    let bytes = tokio::task::spawn_blocking(pack)
        .await
        .map_err(|error| Status::internal(format!("packing broke: {error}")))??;
    let pieces = bytes.chunks(CHUNK_BYTES);
    Ok(pieces
        .map(|piece| v1::CriticChunk {
            data: piece.to_vec(),
        })
        .collect())
}

/// The file of a saved apprentice, in pieces; packed on the blocking pool.
///
/// # Errors
/// A status with words, if it is too large for a file.
pub(super) async fn apprentice_chunks(
    saved: Box<SavedApprentice>,
) -> Result<Vec<v1::ApprenticeChunk>, Status> {
    let bytes = tokio::task::spawn_blocking(move || saved.to_bytes())
        .await
        .map_err(|error| Status::internal(format!("packing broke: {error}")))?
        .map_err(|error| Status::internal(error.to_string()))?;
    let pieces = bytes.chunks(CHUNK_BYTES);
    Ok(pieces
        .map(|piece| v1::ApprenticeChunk {
            data: piece.to_vec(),
        })
        .collect())
}

/// Sends the rows that `request` asks for until all are sent or nobody listens. Blocks on the disk.
pub(super) fn send_rows(
    crawl: &Handle,
    request: &v1::ExportPagesRequest,
    rows: &mpsc::Sender<Result<v1::PageRow, Status>>,
) {
    let store = crawl.store().as_ref();
    let mut n = 0;
    let mut failure = None;
    let scanned = store.scan(Seq(1), crawl.durable(), &mut |seq, event| {
        n += u64::from(event.counts().is_some());
        if seq.0 <= request.after {
            return true;
        }
        match wanted_row(crawl, request, seq, &event, n) {
            Ok(Some(row)) => rows.blocking_send(Ok(row)).is_ok(),
            Ok(None) => !rows.is_closed(),
            Err(error) => {
                failure = Some(error);
                false
            }
        }
    });
    if let Some(error) = failure.or(scanned.err()) {
        // If nobody listens any more, nobody has to know.
        let _ = rows.blocking_send(Err(Status::internal(error.to_string())));
    }
}

fn wanted_row(
    crawl: &Handle,
    request: &v1::ExportPagesRequest,
    seq: Seq,
    event: &Event,
    n: u64,
) -> Result<Option<v1::PageRow>, StoreFailure> {
    let first = match event {
        Event::Page(page) => page.lease.references.first(),
        Event::Failure(failure) if request.failures => failure.lease.references.first(),
        _ => return Ok(None),
    };
    let found_on = found_on(crawl.store().as_ref(), first)?;
    let row = page_row(seq, event, n, found_on, &crawl.class_names());
    Ok(row.filter(|row| !row.failure.is_empty() || row.relevance >= request.relevance_min))
}
