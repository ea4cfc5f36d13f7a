//! From an answer's head and body to an outcome.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body as _, Incoming};

use super::recording::Recording;
use crate::clock::Timestamp;
use crate::fetch::decode::decode;
use crate::fetch::fields::{Fields, settle};
use crate::fetch::{FetchError, Outcome, Request, Response};

/// A body up to this size is read even if nobody wants it, so that the connection can be used again.
const DRAIN_BYTES_MAX: u64 = 16 << 10;
/// And for this long.
const DRAIN_TIME: Duration = Duration::from_millis(500);

/// Reads the answer to `request`.
pub(super) async fn read(
    answer: hyper::Response<Incoming>,
    request: &Request,
    answer_time: Duration,
    now: Timestamp,
    recording: Option<Recording>,
) -> Outcome {
    let (head, body) = answer.into_parts();
    let header_bytes: usize = head
        .headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    if header_bytes > request.limits.header_bytes_max {
        return Outcome::Failure(FetchError::Protocol(format!(
            "{header_bytes} bytes of headers, at most {} are read",
            request.limits.header_bytes_max
        )));
    }
    let fields = Fields::from_pairs(
        head.headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes())),
    );
    let status = head.status.as_u16();
    if let Some(outcome) = settle(status, &fields, &request.url, answer_time, now) {
        drain(body).await;
        return outcome;
    }
    // No Content and Reset Content have no body, whatever is sent after them.
    let (body, truncated) = if matches!(status, 204 | 205) {
        (Bytes::new(), false)
    } else if request.kinds.admits(fields.content_type.as_deref()) {
        match read_body(body, &fields, request.limits.body_bytes_max).await {
            Ok((body, truncated, wire)) => {
                if let Some(recording) = recording {
                    recording.end(&wire.bytes, wire.cut);
                }
                (body, truncated)
            }
            Err(failure) => return Outcome::Failure(failure),
        }
    } else {
        drain(body).await;
        let kind = fields.content_type.unwrap_or_default();
        return Outcome::Failure(FetchError::ContentType(kind));
    };
    Outcome::Response(Response {
        status,
        content_type: fields.content_type,
        robots_tag: fields.robots_tag,
        body,
        truncated,
        answer_time,
    })
}

/// Reads and decodes a body; what came before a break is kept. Gives the body, whether it was cut,
/// and the body as it came.
async fn read_body(
    body: Incoming,
    fields: &Fields,
    bytes_max: usize,
) -> Result<(Bytes, bool, WireBody), FetchError> {
    let wire = collect(body, bytes_max).await?;
    let decoded = decode(
        wire.bytes.clone(),
        fields.content_encoding.as_deref(),
        bytes_max,
    )
    .await?;
    Ok((decoded.body, wire.cut || decoded.truncated, wire))
}

/// A body as it came.
struct WireBody {
    bytes: Bytes,
    /// It goes on beyond the bound, or broke off.
    cut: bool,
}

/// Collects a body up to `bytes_max` bytes. No coding makes a text of that size any longer than a
/// few bytes, so what lies beyond could not be kept anyway.
async fn collect(mut body: Incoming, bytes_max: usize) -> Result<WireBody, FetchError> {
    let mut bytes = BytesMut::new();
    let mut cut = false;
    // One byte more shows that there is more.
    while bytes.len() <= bytes_max {
        match body.frame().await {
            None => break,
            Some(Ok(frame)) => {
                if let Ok(chunk) = frame.into_data() {
                    let room = bytes_max.saturating_add(1) - bytes.len();
                    bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
                }
            }
            Some(Err(error)) if bytes.is_empty() => {
                return Err(super::failure::exchanging(&error));
            }
            Some(Err(_)) => {
                cut = true;
                break;
            }
        }
    }
    cut |= bytes.len() > bytes_max;
    bytes.truncate(bytes_max);
    Ok(WireBody {
        bytes: bytes.freeze(),
        cut,
    })
}

/// Reads a small body to its end and drops any other, which closes the connection.
async fn drain(body: Incoming) {
    if body.size_hint().lower() <= DRAIN_BYTES_MAX {
        let bytes_max = usize::try_from(DRAIN_BYTES_MAX).unwrap_or(usize::MAX);
        let rest = Limited::new(body, bytes_max).collect();
        // However it ends the outcome stands: at worst the next request opens a new connection.
        let _ = tokio::time::timeout(DRAIN_TIME, rest).await;
    }
}
