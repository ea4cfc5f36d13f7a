//! A request and its answer as they went over the wire, for those who keep them.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// One request and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The request: head, and no body.
    pub request: Bytes,
    /// The answer, head and body: over HTTP/1 byte for byte as sent, chunk framing and all; over
    /// HTTP/2 with a head written as HTTP/1.1 would have it. Its Content-Encoding is kept.
    pub response: Bytes,
    /// Whether it went over HTTP/2.
    pub is_h2: bool,
    /// The address that answered, if no proxy stood between.
    pub address: Option<IpAddr>,
    /// The answer goes on beyond what was recorded.
    pub is_cut: bool,
}

/// Where a source puts down the exchange of one request. A clone is the same place.
#[derive(Clone, Debug, Default)]
pub struct Recorder(Arc<Mutex<Option<Exchange>>>);

impl Recorder {
    /// Puts an exchange down.
    pub fn put(&self, exchange: Exchange) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(exchange);
    }

    /// Takes what was put down last.
    pub fn take(&self) -> Option<Exchange> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A head as HTTP/1.1 writes it: `first` line, then the fields.
pub(super) fn head_of<'a>(
    first: &str,
    fields: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> Vec<u8> {
    let mut head = String::new();
    // Writing to a String cannot fail.
    let _ = write!(head, "{first}\r\n");
    let mut head = head.into_bytes();
    for (name, value) in fields {
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_written_as_http_1_has_it() {
        let fields = [("host", b"h.test".as_slice()), ("x-y", b"\xe9")];
        let head = head_of("GET / HTTP/1.1", fields);
        assert_eq!(head, b"GET / HTTP/1.1\r\nhost: h.test\r\nx-y: \xe9\r\n\r\n");
    }

    #[test]
    fn what_is_put_down_is_taken_once() {
        let recorder = Recorder::default();
        let exchange = Exchange {
            request: Bytes::new(),
            response: Bytes::from_static(b"HTTP/1.1 200 OK\r\n\r\n"),
            is_h2: false,
            address: None,
            is_cut: false,
        };
        recorder.clone().put(exchange.clone());
        assert_eq!(recorder.take(), Some(exchange));
        assert_eq!(recorder.take(), None);
    }
}
