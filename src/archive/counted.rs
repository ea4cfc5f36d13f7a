//! A buffered reader that knows how far it has come.

use std::io::{self, BufRead, BufReader, Read};

/// Counts what it hands out, not what it has read ahead.
pub(super) struct Counted<R> {
    input: BufReader<R>,
    /// Bytes handed out so far, with those that it was told of at the start.
    pub(super) position: u64,
}

impl<R: Read> Counted<R> {
    /// Reads `buffer_bytes` at a time; `position` bytes have gone before.
    pub(super) fn new(input: R, buffer_bytes: usize, position: u64) -> Self {
        Self {
            input: BufReader::with_capacity(buffer_bytes, input),
            position,
        }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let taken = self.input.read(out)?;
        self.position += taken as u64;
        Ok(taken)
    }
}

impl<R: Read> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.input.consume(amount);
        self.position += amount as u64;
    }
}
