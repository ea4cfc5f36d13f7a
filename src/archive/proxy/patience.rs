//! A stream whose other side has to take what is written to it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A stream on which writing fails once the other side takes nothing for a while. Without it a
/// client that asks and never reads would hold its connection for good.
pub(super) struct Patient<S> {
    stream: S,
    patience: Duration,
    /// Runs while a write waits.
    running_out: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncWrite + Unpin> Patient<S> {
    /// Gives each write `patience` to move on.
    pub(super) fn new(stream: S, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            running_out: None,
        }
    }

    /// Passes a write's outcome on, unless it has waited for too long.
    fn judge<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.running_out = None;
            return outcome;
        }
        let patience = self.patience;
        let running_out = self
            .running_out
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(running_out.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.judge(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(context, outcome)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_write_fails_once_nothing_is_taken_for_a_while() {
        let (mut taker, giver) = tokio::io::duplex(4);
        let mut giver = Patient::new(giver, Duration::from_secs(30));
        giver.write_all(b"four").await.unwrap();
        let before = tokio::time::Instant::now();
        let error = giver.write_all(b"more").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(before.elapsed().as_secs(), 30);
        let mut taken = [0; 4];
        taker.read_exact(&mut taken).await.unwrap();
        assert_eq!(&taken, b"four");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_taker_is_borne_as_long_as_it_takes_something() {
        let (mut taker, giver) = tokio::io::duplex(4);
        let mut giver = Patient::new(giver, Duration::from_secs(30));
        let giving = tokio::spawn(async move { giver.write_all(&[0; 40]).await });
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_secs(20)).await;
            taker.read_exact(&mut [0; 4]).await.unwrap();
        }
        giving.await.unwrap().unwrap();
    }
}
