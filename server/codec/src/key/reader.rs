//! Reads key bytes from the front, turning descending ones over.

use crate::{Error, Result};

/// The rest of a key.
pub(super) struct Reader<'a> {
    input: &'a [u8],
    mask: u8,
}

impl<'a> Reader<'a> {
    pub(super) fn new(input: &'a [u8], descending: bool) -> Self {
        Reader { input, mask: if descending { 0xff } else { 0 } }
    }

    /// What has not been read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.input
    }

    /// From here on, reads bytes turned over compared to before.
    pub(super) fn invert(&mut self) {
        self.mask = !self.mask;
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.input.first().map(|byte| byte ^ self.mask)
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        let (first, rest) = self.input.split_first().ok_or(Error::corrupt("key is too short"))?;
        self.input = rest;
        Ok(first ^ self.mask)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (first, rest) =
            self.input.split_first_chunk::<N>().ok_or(Error::corrupt("key is too short"))?;
        self.input = rest;
        Ok(first.map(|byte| byte ^ self.mask))
    }

    /// A number of up to eight bytes, most significant first.
    #[inline]
    pub(super) fn big_endian(&mut self, count: usize) -> Result<u64> {
        let (bytes, rest) =
            self.input.split_at_checked(count).ok_or(Error::corrupt("key is too short"))?;
        self.input = rest;
        let add = |value: u64, byte: &u8| value << 8 | u64::from(byte ^ self.mask);
        Ok(bytes.iter().fold(0, add))
    }

    pub(super) fn skip(&mut self, count: usize) -> Result<()> {
        self.input = self.input.get(count..).ok_or(Error::corrupt("key is too short"))?;
        Ok(())
    }

    /// Reads escaped bytes up to their end mark (`put_escaped` writes them).
    pub(super) fn escaped(&mut self) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(self.input.len().min(64));
        loop {
            match self.byte()? {
                0 => return Ok(out),
                1 => match self.byte()? {
                    escaped @ (1 | 2) => out.push(escaped - 1),
                    _ => return Err(Error::corrupt("escape")),
                },
                byte => out.push(byte),
            }
        }
    }

    /// Passes over escaped bytes and their end mark.
    pub(super) fn skip_escaped(&mut self) -> Result<()> {
        let end = self.input.iter().position(|byte| byte ^ self.mask == 0);
        let end = end.ok_or(Error::corrupt("key is too short"))?;
        self.skip(end + 1)
    }
}
