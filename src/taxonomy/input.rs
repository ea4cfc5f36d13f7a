//! Bytes from a file, plain, gzip or zstd; told apart by the first bytes, not by the name.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// The most that is read of one source, in bytes after decompression.
pub(super) const INPUT_BYTES_MAX: u64 = 64 << 30;
/// What is looked at to tell one kind of source from another, in bytes.
const HEAD_BYTES: usize = 4_096;
const BUFFER_BYTES: usize = 1 << 16;

/// Decompressed bytes with a bound on their number.
pub(super) type Input = Box<dyn BufRead + Send>;

/// An input, and its first bytes, which the input still holds.
pub(super) struct Opened {
    pub(super) head: Vec<u8>,
    pub(super) input: Input,
}

/// Opens the file at `path`.
pub(super) fn open(path: &Path) -> io::Result<Opened> {
    decode(BufReader::with_capacity(BUFFER_BYTES, File::open(path)?))
}

/// The first bytes of the file at `path` and all of them, for readers of other modules.
///
/// # Errors
/// Those of the file system.
pub(crate) fn open_input(path: &Path) -> io::Result<(Vec<u8>, Box<dyn BufRead + Send>)> {
    open(path).map(|opened| (opened.head, opened.input))
}

/// Undoes the compression of `reader`, if there is one.
pub(super) fn decode(reader: impl BufRead + Send + 'static) -> io::Result<Opened> {
    let Opened { head, input } = peek(reader)?;
    let plain: Input = if head.starts_with(&[0x1f, 0x8b]) {
        let decoder = MultiGzDecoder::new(input);
        Box::new(BufReader::with_capacity(
            BUFFER_BYTES,
            Bounded::of(Told(decoder)),
        ))
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let decoder = ZstdFrames::Between(input);
        Box::new(BufReader::with_capacity(
            BUFFER_BYTES,
            Bounded::of(Told(decoder)),
        ))
    } else {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, Bounded::of(input)))
    };
    peek(plain)
}

/// Reads the head of `reader` and puts it back in front.
fn peek(mut reader: impl BufRead + Send + 'static) -> io::Result<Opened> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    let read = reader
        .by_ref()
        .take(HEAD_BYTES as u64)
        .read_to_end(&mut head);
    // What is cut short may still have a head; the reader says so when it comes to the end.
    let rest: Input = match read {
        Err(error) if head.is_empty() => return Err(error),
        Err(error) => Box::new(BufReader::new(Failing(Some(error)))),
        Ok(_) => Box::new(reader),
    };
    let input = Box::new(Cursor::new(head.clone()).chain(rest));
    Ok(Opened { head, input })
}

/// Gives an error that was met while looking ahead, once.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Says of a decoder's errors what they mean; those of the system stay.
struct Told<R>(R);

impl<R: Read> Read for Told<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| {
            if error.raw_os_error().is_some() || error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            let words = "the compressed data is cut off or damaged";
            io::Error::new(io::ErrorKind::InvalidData, words)
        })
    }
}

/// Fails after [`INPUT_BYTES_MAX`]: a small file can hold a large one.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R> Bounded<R> {
    fn of(inner: R) -> Self {
        Self {
            inner,
            left: INPUT_BYTES_MAX,
        }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("longer than {INPUT_BYTES_MAX} bytes; split it"),
            )
        })?;
        Ok(read)
    }
}

/// One zstd frame after the other (RFC 8878 allows several in a file; the crate reads one).
enum ZstdFrames {
    Between(Input),
    Within(Box<StreamingDecoder<Input, FrameDecoder>>),
    Ended,
}

impl Read for ZstdFrames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match std::mem::replace(self, Self::Ended) {
                Self::Ended => return Ok(0),
                Self::Between(mut input) => {
                    if input.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    let frame = StreamingDecoder::new(input).map_err(io::Error::other)?;
                    *self = Self::Within(Box::new(frame));
                }
                Self::Within(mut frame) => {
                    let read = frame.read(buffer)?;
                    if read > 0 {
                        *self = Self::Within(frame);
                        return Ok(read);
                    }
                    *self = Self::Between(frame.into_inner());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(text: &str) -> Vec<u8> {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        writer.write_all(text.as_bytes()).unwrap();
        writer.finish().unwrap()
    }

    fn zstd(text: &str) -> Vec<u8> {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        ruzstd::encoding::compress_to_vec(text.as_bytes(), level)
    }

    fn read(bytes: Vec<u8>) -> io::Result<String> {
        let mut text = String::new();
        decode(Cursor::new(bytes))?
            .input
            .read_to_string(&mut text)
            .map(|_| text)
    }

    #[test]
    fn plain_gzip_and_zstd_of_several_members_are_read_alike() {
        let (one, two) = ("topic,url\n".repeat(2_000), "a,http://a/\n");
        let whole = format!("{one}{two}");
        assert_eq!(read(whole.clone().into_bytes()).unwrap(), whole);
        assert_eq!(read([gzip(&one), gzip(two)].concat()).unwrap(), whole);
        assert_eq!(read([zstd(&one), zstd(two)].concat()).unwrap(), whole);
        assert_eq!(read(Vec::new()).unwrap(), "");
    }

    #[test]
    fn a_cut_member_is_an_error_after_what_is_whole() {
        for bytes in [
            gzip(&"abcdef ".repeat(9_000)),
            zstd(&"abcdef ".repeat(9_000)),
        ] {
            let cut = bytes[..bytes.len() - 9].to_vec();
            let error = read(cut).unwrap_err();
            assert_eq!(
                error.to_string(),
                "the compressed data is cut off or damaged"
            );
        }
    }
}
