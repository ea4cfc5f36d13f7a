//! The bytes of an archive file, unzipped, with the place in the file where each record begins.
//!
//! An archive for random access has one gzip member a record: its place is the member's offset.
//! Files in the wild also have one member for everything, or members cut anywhere; so a place is an
//! offset of a member and a number of unzipped bytes to pass over from there.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

use super::counted::Counted;

/// Bytes that are unzipped at a time.
const CHUNK_BYTES: usize = 32 << 10;

/// Where something begins in an archive file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The offset in the file: of a gzip member, or of the thing itself where nothing is zipped.
    pub(super) offset: u64,
    /// Unzipped bytes between the member's beginning and the thing.
    pub(super) skip: u64,
}

enum Layer<R> {
    Plain(Counted<R>),
    Gzip(Box<GzDecoder<Counted<R>>>),
    /// The file has ended, or what follows cannot be read; at this byte.
    End(u64),
}

/// The unzipped bytes of an archive file.
pub(super) struct Stream<R> {
    layer: Layer<R>,
    buffer: Box<[u8]>,
    /// The part of `buffer` that was not handed out yet.
    start: usize,
    end: usize,
    /// The place of `buffer`'s first byte.
    place: Place,
    /// Bytes that the present member gave so far.
    taken: u64,
    members: u64,
}

impl<R: Read> Stream<R> {
    /// Reads `input`, whose first byte has the offset `offset` in its file, taking in
    /// `read_bytes` at a time. Whether it is zipped is seen from its first bytes.
    ///
    /// # Errors
    /// What reading the first bytes fails with.
    pub(super) fn new(input: R, offset: u64, read_bytes: usize) -> io::Result<Self> {
        let mut counted = Counted::new(input, read_bytes, offset);
        let layer = if is_gzip(counted.fill_buf()?) {
            Layer::Gzip(Box::new(GzDecoder::new(counted)))
        } else {
            Layer::Plain(counted)
        };
        Ok(Self {
            layer,
            buffer: vec![0; CHUNK_BYTES].into_boxed_slice(),
            start: 0,
            end: 0,
            place: Place { offset, skip: 0 },
            taken: 0,
            members: 1,
        })
    }

    /// The place of the next byte; `None` at the end.
    ///
    /// # Errors
    /// What reading fails with.
    pub(super) fn place(&mut self) -> io::Result<Option<Place>> {
        if self.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut place = self.place;
        match self.layer {
            Layer::Plain(_) => place.offset += self.start as u64,
            Layer::Gzip(_) | Layer::End(_) => place.skip += self.start as u64,
        }
        Ok(Some(place))
    }

    /// Passes over up to `amount` bytes and returns how many there were.
    ///
    /// # Errors
    /// What reading fails with.
    pub(super) fn skip(&mut self, amount: u64) -> io::Result<u64> {
        let mut left = amount;
        while left > 0 {
            let ahead = self.fill_buf()?.len();
            if ahead == 0 {
                break;
            }
            let step = usize::try_from(left).unwrap_or(ahead).min(ahead);
            self.consume(step);
            left -= step as u64;
        }
        Ok(amount - left)
    }

    /// Goes on at the beginning of the next gzip member; false where there is none.
    ///
    /// # Errors
    /// What unzipping the rest of this member fails with.
    pub(super) fn skip_member(&mut self) -> io::Result<bool> {
        let current = self.members;
        loop {
            let ahead = self.fill_buf()?.len();
            if ahead == 0 {
                return Ok(false);
            }
            if self.members != current {
                return Ok(true);
            }
            self.consume(ahead);
        }
    }

    /// Whether the file is zipped.
    pub(super) fn is_zipped(&self) -> bool {
        !matches!(self.layer, Layer::Plain(_))
    }

    /// Where the present gzip member begins, or how far a plain file was read: the place to name when
    /// the next bytes cannot be had.
    pub(super) fn start(&self) -> Place {
        let offset = match &self.layer {
            Layer::Plain(input) => input.position,
            Layer::Gzip(_) | Layer::End(_) => self.place.offset,
        };
        Place { offset, skip: 0 }
    }

    /// Bytes of the file that were taken in.
    pub(super) fn position(&self) -> u64 {
        match &self.layer {
            Layer::Plain(input) => input.position,
            Layer::Gzip(decoder) => decoder.get_ref().position,
            Layer::End(position) => *position,
        }
    }

    /// Begins the next gzip member; false at the end of the file.
    fn next_member(&mut self) -> io::Result<bool> {
        let end = Layer::End(self.position());
        let Layer::Gzip(decoder) = std::mem::replace(&mut self.layer, end) else {
            return Ok(false);
        };
        let mut input = decoder.into_inner();
        self.place.offset = input.position;
        let ahead = input.fill_buf()?;
        if ahead.is_empty() {
            return Ok(false);
        }
        if !is_gzip(ahead) {
            let what = "what follows a gzip member is not another one";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        self.taken = 0;
        self.members += 1;
        self.layer = Layer::Gzip(Box::new(GzDecoder::new(input)));
        Ok(true)
    }

    /// Fills the buffer; it stays empty at the end of the file. Never holds bytes of two members.
    fn refill(&mut self) -> io::Result<()> {
        (self.start, self.end) = (0, 0);
        loop {
            let filled = match &mut self.layer {
                Layer::Plain(input) => {
                    self.place.offset = input.position;
                    self.end = input.read(&mut self.buffer)?;
                    return Ok(());
                }
                Layer::Gzip(decoder) => decoder.read(&mut self.buffer)?,
                Layer::End(_) => return Ok(()),
            };
            if filled > 0 {
                self.end = filled;
                self.place.skip = self.taken;
                self.taken += filled as u64;
                return Ok(());
            }
            if !self.next_member()? {
                return Ok(());
            }
        }
    }
}

impl<R: Read> Read for Stream<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let taken = self.fill_buf()?.read(out)?;
        self.consume(taken);
        Ok(taken)
    }
}

impl<R: Read> BufRead for Stream<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start >= self.end {
            self.refill()?;
        }
        Ok(self.buffer.get(self.start..self.end).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.start = self.end.min(self.start + amount);
    }
}

/// Whether a gzip member begins here (RFC 1952, 2.3.1). The first byte tells, as no record begins
/// with it; the second may not have been read yet.
fn is_gzip(bytes: &[u8]) -> bool {
    bytes.first() == Some(&0x1f)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn places_name_the_member_and_the_bytes_within_it() {
        let (first, second) = (gzip(b"one two"), gzip(b"three"));
        let file = [first.clone(), second].concat();
        // One byte at a time, so that every border is crossed.
        let mut stream = Stream::new(&file[..], 0, 1).unwrap();
        assert_eq!(stream.skip(4).unwrap(), 4);
        let place = stream.place().unwrap().unwrap();
        assert_eq!((place.offset, place.skip), (0, 4));
        assert_eq!(stream.skip(3).unwrap(), 3);
        let place = stream.place().unwrap().unwrap();
        assert_eq!((place.offset, place.skip), (first.len() as u64, 0));
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "three");
        assert_eq!(stream.place().unwrap(), None);
        assert_eq!(stream.position(), file.len() as u64);
    }

    #[test]
    fn a_plain_file_has_offsets_only() {
        let mut stream = Stream::new(&b"one two"[..], 100, 2).unwrap();
        stream.skip(5).unwrap();
        let place = stream.place().unwrap().unwrap();
        assert_eq!((place.offset, place.skip), (105, 0));
        assert!(!stream.is_zipped());
    }

    #[test]
    fn the_next_member_can_be_sought_and_what_is_no_member_is_an_error() {
        let file = [gzip(b"one"), gzip(b"two"), b"garbage".to_vec()].concat();
        let mut stream = Stream::new(&file[..], 0, 64).unwrap();
        stream.skip(1).unwrap();
        assert!(stream.skip_member().unwrap());
        assert_eq!(stream.skip(3).unwrap(), 3);
        assert!(stream.place().is_err());
        assert_eq!(stream.place().unwrap(), None);
    }
}
