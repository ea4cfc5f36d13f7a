//! Records what goes over a connection, between TLS and hyper, which hands out neither raw heads
//! nor the framing of chunks.
//!
//! HTTP/1 without pipelining takes turns: the first byte written after something was read begins a
//! new exchange, and the tape with it.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use hyper::Uri;
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use tower_service::Service;

/// Bytes that are read from a recorded connection at a time.
const READ_BYTES: usize = 16 << 10;

/// The longest head of a request that is recorded, in bytes.
const SENT_BYTES_MAX: usize = 64 << 10;

/// The address at the other end of a connection to a site.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) IpAddr);

/// What went over one connection since its last exchange began.
#[derive(Debug, Default)]
pub(super) struct Turns {
    pub(super) sent: Vec<u8>,
    pub(super) received: Vec<u8>,
    /// More came than is recorded.
    pub(super) is_cut: bool,
}

/// The record of one connection. A clone is the same record.
#[derive(Clone, Debug)]
pub(super) struct Tape {
    turns: Arc<Mutex<Turns>>,
    bytes_max: usize,
}

impl Tape {
    fn new(bytes_max: usize) -> Self {
        Self {
            turns: Arc::default(),
            bytes_max,
        }
    }

    /// Takes what is on it.
    pub(super) fn take(&self) -> Turns {
        std::mem::take(&mut *self.turns.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn sent(&self, bytes: &[u8]) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if !turns.received.is_empty() {
            *turns = Turns::default();
        }
        let room = SENT_BYTES_MAX.saturating_sub(turns.sent.len());
        turns
            .sent
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn received(&self, bytes: &[u8]) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let room = self.bytes_max.saturating_sub(turns.received.len());
        turns.is_cut |= bytes.len() > room;
        turns
            .received
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

/// A connector whose connections are recorded, up to so many bytes an answer; 0 records nothing.
#[derive(Clone)]
pub(super) struct Tap<C> {
    pub(super) connector: C,
    pub(super) bytes_max: usize,
}

impl<C> Service<Uri> for Tap<C>
where
    C: Service<Uri>,
    C::Future: Send + 'static,
{
    type Response = Tapped<C::Response>;
    type Error = C::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, C::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), C::Error>> {
        self.connector.poll_ready(cx)
    }

    fn call(&mut self, site: Uri) -> Self::Future {
        let connecting = self.connector.call(site);
        let bytes_max = self.bytes_max;
        Box::pin(async move {
            let tape = (bytes_max > 0).then(|| Tape::new(bytes_max));
            Ok(Tapped {
                stream: connecting.await?,
                buffer: vec![0; if tape.is_some() { READ_BYTES } else { 0 }],
                tape,
            })
        })
    }
}

/// A connection that is recorded.
pub(super) struct Tapped<T> {
    stream: T,
    tape: Option<Tape>,
    /// What was read passes through here, for hyper does not show what it has read.
    buffer: Vec<u8>,
}

impl<T: Connection> Connection for Tapped<T> {
    fn connected(&self) -> Connected {
        let connected = self.stream.connected();
        match &self.tape {
            Some(tape) => connected.extra(tape.clone()),
            None => connected,
        }
    }
}

impl<T: Read + Unpin> Read for Tapped<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let Some(tape) = &this.tape else {
            return Pin::new(&mut this.stream).poll_read(cx, cursor);
        };
        let room = this.buffer.len().min(cursor.remaining());
        let mut buffer = ReadBuf::new(&mut this.buffer[..room]);
        ready!(Pin::new(&mut this.stream).poll_read(cx, buffer.unfilled()))?;
        tape.received(buffer.filled());
        cursor.put_slice(buffer.filled());
        Poll::Ready(Ok(()))
    }
}

impl<T: Write + Unpin> Write for Tapped<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.stream).poll_write(cx, bytes))?;
        if let Some(tape) = &this.tape {
            tape.sent(bytes.get(..written).unwrap_or_default());
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_request_begins_the_tape_anew() {
        let tape = Tape::new(10);
        tape.sent(b"GET /1");
        tape.sent(b" HTTP/1.1");
        tape.received(b"one");
        tape.sent(b"GET /2");
        tape.received(b"two");
        let turns = tape.take();
        assert_eq!(
            (&turns.sent[..], &turns.received[..]),
            (&b"GET /2"[..], &b"two"[..])
        );
        assert!(!turns.is_cut);
    }

    #[test]
    fn an_endless_answer_is_cut_at_the_bound() {
        let tape = Tape::new(10);
        for _ in 0..100 {
            tape.received(b"four");
        }
        let turns = tape.take();
        assert_eq!(turns.received, b"fourfourfo");
        assert!(turns.is_cut);
    }
}
