//! From an answer's head and body to an outcome.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body as _, Frame, Incoming};
use tokio::time::{Instant, timeout_at};

use super::recording::Recording;
use crate::clock::Timestamp;
use crate::fetch::decode::{decode_within, may_be_text};
use crate::fetch::fields::{Fields, settle};
use crate::fetch::source::says_nothing;
use crate::fetch::{FetchError, FetchLimits, Kinds, Outcome, Request, Response};

/// A body up to this size is read even if nobody wants it, so that the connection can be used again.
const DRAIN_BYTES_MAX: u64 = 16 << 10;
/// And for this long.
const DRAIN_TIME: Duration = Duration::from_millis(500);
/// How long the body of a failure is waited for where it is recorded.
const RECORD_TIME: Duration = Duration::from_secs(5);
/// How long, and up to which size, that of a redirect is: it says where to go, as the head did.
const RECORD_MOVED_TIME: Duration = Duration::from_secs(1);
const RECORD_MOVED_BYTES_MAX: usize = 64 << 10;

/// When an answer came, and until when it can be read.
pub(super) struct Timing {
    /// How long the server took to answer.
    pub(super) answer_time: Duration,
    pub(super) now: Timestamp,
    /// The end of the fetch.
    pub(super) ends: Instant,
}

/// Reads the answer to `request`.
pub(super) async fn read(
    answer: hyper::Response<Incoming>,
    request: &Request,
    timing: Timing,
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
    let Timing {
        answer_time,
        now,
        ends,
    } = timing;
    if let Some(outcome) = settle(status, &fields, &request.url, answer_time, now) {
        let is_moved = matches!(outcome, Outcome::Redirect(_));
        match recording {
            Some(recording) => {
                record_rest(body, &request.limits, is_moved, ends, recording).await;
            }
            None => drain(body, ends).await,
        }
        return outcome;
    }
    // No Content and Reset Content have no body, whatever is sent after them.
    let (body, truncated) = if matches!(status, 204 | 205) {
        (Bytes::new(), false)
    } else if request.kinds.admits(fields.content_type.as_deref()) {
        match read_body(body, &fields, request).await {
            Ok((body, truncated, wire)) => {
                if let Some(recording) = recording {
                    recording.end(&wire.bytes, wire.broke_off || wire.goes_on);
                }
                (body, truncated)
            }
            Err(failure) => return Outcome::Failure(failure),
        }
    } else {
        drain(body, ends).await;
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
    request: &Request,
) -> Result<(Bytes, bool, WireBody), FetchError> {
    let limits = &request.limits;
    let coding = fields.content_encoding.as_deref();
    let kind = fields.content_type.as_deref();
    let tells = request.kinds == Kinds::Pages && coding.is_none() && says_nothing(kind);
    let is_wanted = |first: &[u8]| !tells || may_be_text(first);
    let Some(wire) = collect(body, limits, is_wanted).await? else {
        let kind = kind.unwrap_or_default().to_owned();
        return Err(FetchError::ContentType(kind));
    };
    let decoded = decode_within(wire.bytes.clone(), coding, limits, wire.goes_on).await?;
    Ok((decoded.body, wire.broke_off || decoded.truncated, wire))
}

/// A body as it came.
struct WireBody {
    bytes: Bytes,
    /// Its connection broke before its end.
    broke_off: bool,
    /// It goes on beyond the bound.
    goes_on: bool,
}

/// Collects a body up to the bound; `None` if its first bytes are not wanted. No coding makes a text of that size any longer than a few bytes,
/// so what lies beyond could not be kept anyway.
async fn collect(
    mut body: Incoming,
    limits: &FetchLimits,
    is_wanted: impl Fn(&[u8]) -> bool,
) -> Result<Option<WireBody>, FetchError> {
    let bytes_max = limits.body_bytes_max;
    let mut bytes = BytesMut::new();
    let mut broke_off = false;
    let mut pace = Pace::start(limits);
    // One byte more shows that there is more.
    while bytes.len() <= bytes_max {
        match pace.next(&mut body, bytes.len()).await? {
            None => break,
            Some(Ok(frame)) => {
                if let Ok(chunk) = frame.into_data() {
                    if bytes.is_empty() && !is_wanted(&chunk) {
                        return Ok(None);
                    }
                    let room = bytes_max.saturating_add(1) - bytes.len();
                    bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
                }
            }
            Some(Err(error)) if bytes.is_empty() => {
                return Err(super::failure::exchanging(&error));
            }
            Some(Err(_)) => {
                broke_off = true;
                break;
            }
        }
    }
    let goes_on = bytes.len() > bytes_max;
    bytes.truncate(bytes_max);
    Ok(Some(WireBody {
        bytes: bytes.freeze(),
        broke_off,
        goes_on,
    }))
}

/// Holds a body against the slowest rate, window by window.
struct Pace {
    rate_min: u32,
    window: Duration,
    window_ends: Instant,
    /// Bytes that have to be there by then.
    due: usize,
}

impl Pace {
    fn start(limits: &FetchLimits) -> Self {
        let mut pace = Self {
            rate_min: limits.rate_bytes_min,
            window: limits.rate_window,
            window_ends: Instant::now(),
            due: 0,
        };
        pace.open_window(0);
        pace
    }

    fn open_window(&mut self, bytes: usize) {
        self.window_ends += self.window;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a product of a u32 and a positive time; a cast from f64 saturates"
        )]
        let due = (f64::from(self.rate_min) * self.window.as_secs_f64()) as usize;
        self.due = bytes.saturating_add(due);
    }

    /// The body's next frame, `bytes` of it being there already.
    async fn next(&mut self, body: &mut Incoming, bytes: usize) -> Result<Framed, FetchError> {
        loop {
            if let Ok(frame) = timeout_at(self.window_ends, body.frame()).await {
                return Ok(frame);
            }
            if bytes < self.due {
                return Err(FetchError::TooSlow(self.rate_min));
            }
            self.open_window(bytes);
        }
    }
}

type Framed = Option<Result<Frame<Bytes>, hyper::Error>>;

/// Reads the body of an answer whose outcome is settled, for the record alone; what does not come soon
/// is missing there. At the end of the fetch the outcome stands all the same.
async fn record_rest(
    body: Incoming,
    limits: &FetchLimits,
    is_moved: bool,
    ends: Instant,
    recording: Recording,
) {
    let mut limits = *limits;
    let mut time = RECORD_TIME;
    if is_moved {
        limits.body_bytes_max = limits.body_bytes_max.min(RECORD_MOVED_BYTES_MAX);
        time = RECORD_MOVED_TIME;
    }
    let reading = collect(body, &limits, |_| true);
    match timeout_at(ends.min(Instant::now() + time), reading).await {
        Ok(Ok(Some(wire))) => recording.end(&wire.bytes, wire.broke_off || wire.goes_on),
        Ok(Ok(None) | Err(_)) | Err(_) => recording.end(&[], true),
    }
}

/// Reads a small body to its end and drops any other, which closes the connection.
async fn drain(body: Incoming, ends: Instant) {
    if body.size_hint().lower() <= DRAIN_BYTES_MAX {
        let bytes_max = usize::try_from(DRAIN_BYTES_MAX).unwrap_or(usize::MAX);
        let rest = Limited::new(body, bytes_max).collect();
        // However it ends the outcome stands: at worst the next request opens a new connection.
        let _ = timeout_at(ends.min(Instant::now() + DRAIN_TIME), rest).await;
    }
}
