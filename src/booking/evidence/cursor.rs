//! Numbers and texts out of bytes, every read checked, and into them.

use crate::booking::DecodeError;

/// The part of some bytes that is still to be read.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self
            .0
            .split_at_checked(count)
            .ok_or(DecodeError::Evidence("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn rest(self) -> &'a [u8] {
        self.0
    }

    pub(super) fn byte(&mut self) -> Result<u8, DecodeError> {
        Ok(self.bytes(1)?[0])
    }

    /// A number of seven bits a byte, the lowest first (LEB128).
    pub(super) fn number(&mut self) -> Result<u32, DecodeError> {
        let mut value = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return u32::try_from(value).map_err(|_| DecodeError::Evidence(TOO_LARGE));
            }
        }
        Err(DecodeError::Evidence(TOO_LARGE))
    }

    pub(super) fn size(&mut self) -> Result<usize, DecodeError> {
        Ok(self.number()? as usize)
    }

    /// How many entries follow. Each takes a byte at least, so that a foreign count reserves no
    /// memory that the bytes do not bear out.
    pub(super) fn count(&mut self) -> Result<usize, DecodeError> {
        let count = self.size()?;
        if count > self.0.len() {
            return Err(DecodeError::Evidence("a count is larger than what follows"));
        }
        Ok(count)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, DecodeError> {
        let length = self.size()?;
        utf8(self.bytes(length)?)
    }
}

const TOO_LARGE: &str = "a number is too large";

pub(super) fn utf8(bytes: &[u8]) -> Result<&str, DecodeError> {
    std::str::from_utf8(bytes).map_err(|_| DecodeError::Evidence("a text is not UTF-8"))
}

pub(super) fn put_number(bytes: &mut Vec<u8>, value: u32) {
    let mut rest = value;
    loop {
        let low = rest.to_le_bytes()[0] & 0x7F;
        rest >>= 7;
        if rest == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

/// A size or a count. One that passes 4 GB cannot be written; the reader will find the evidence
/// damaged.
pub(super) fn put_size(bytes: &mut Vec<u8>, size: usize) {
    put_number(bytes, u32::try_from(size).unwrap_or(u32::MAX));
}

pub(super) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_size(bytes, text.len());
    bytes.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_numbers_take_one_byte_and_large_ones_are_refused() {
        let mut bytes = Vec::new();
        put_number(&mut bytes, 127);
        assert_eq!(bytes, [127]);
        for wrong in [
            &[0x80][..],
            &[0xFF, 0xFF, 0xFF, 0xFF, 0x10],
            &[0x80; 6],
            &[],
        ] {
            assert!(Cursor::new(wrong).number().is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn a_number_comes_back(value: u32) {
            let mut bytes = Vec::new();
            put_number(&mut bytes, value);
            let mut cursor = Cursor::new(&bytes);
            prop_assert_eq!(cursor.number().unwrap(), value);
            prop_assert!(cursor.rest().is_empty());
        }
    }
}
