//! Makes the [`Exchange`] of a request that is to be kept.

use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::{HeaderMap, Version};

use super::tape::{Peer, Tape};
use crate::fetch::exchange::{Exchange, head_of};
use crate::fetch::{FetchLimits, Recorder};

/// What is known of an exchange before its answer's body was read.
pub(super) struct Recording {
    recorder: Recorder,
    request: Vec<u8>,
    /// The head of the answer, as HTTP/1.1 has it.
    head: Vec<u8>,
    tape: Option<Tape>,
    peer: Option<Peer>,
    is_h2: bool,
}

/// Bytes of an answer that are recorded at most: its headers, and its body as it travels, which is
/// seldom longer than what it decodes to.
pub(super) fn bytes_max(limits: &FetchLimits) -> usize {
    let body = limits.body_bytes_max.saturating_mul(2);
    limits.header_bytes_max.saturating_add(body)
}

/// The request as HTTP/1.1 would send it.
pub(super) fn request_head(message: &hyper::Request<Empty<Bytes>>) -> Vec<u8> {
    let uri = message.uri();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let host = uri.authority().map_or("", |authority| authority.as_str());
    let host = [("host", host.as_bytes())];
    let first = format!("{} {path} HTTP/1.1", message.method());
    head_of(&first, host.into_iter().chain(fields(message.headers())))
}

fn fields(headers: &HeaderMap) -> impl Iterator<Item = (&str, &[u8])> {
    headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
}

impl Recording {
    /// Begins with the head of the answer.
    pub(super) fn begin(
        recorder: &Recorder,
        request: Vec<u8>,
        answer: &hyper::Response<Incoming>,
    ) -> Self {
        let status = answer.status();
        let reason = status.canonical_reason().unwrap_or_default();
        let first = format!("HTTP/1.1 {} {reason}", status.as_u16());
        Self {
            recorder: recorder.clone(),
            request,
            head: head_of(&first, fields(answer.headers())),
            tape: answer.extensions().get::<Tape>().cloned(),
            peer: answer.extensions().get::<Peer>().copied(),
            is_h2: answer.version() == Version::HTTP_2,
        }
    }

    /// Puts the exchange down; `body` is the answer's as it came, without the framing of chunks.
    pub(super) fn end(self, body: &[u8], is_cut: bool) {
        let address = self.peer.map(|Peer(address)| address);
        let turns = self.tape.filter(|_| !self.is_h2).map(|tape| tape.take());
        let exchange = match turns {
            Some(turns) if !turns.received.is_empty() => Exchange {
                request: turns.sent.into(),
                response: turns.received.into(),
                is_h2: false,
                address,
                is_cut: is_cut || turns.is_cut,
            },
            _ => Exchange {
                request: self.request.into(),
                response: [&self.head, body].concat().into(),
                is_h2: self.is_h2,
                address,
                is_cut,
            },
        };
        self.recorder.put(exchange);
    }
}
