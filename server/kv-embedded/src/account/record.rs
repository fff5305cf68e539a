//! The commit record, and the batches of fjall's journals that hold one.
//!
//! ```text
//!   batch    1, items (4 bytes), sequence number (8) ─ item … ─ 3, checksum of items (8), trailer
//!   item     2, kind, compression, keyspace (8), key length (2), length (4), stored length (4),
//!            key, value
//!   clear    4, keyspace (8)
//! ```
//!
//! All numbers are little-endian. This is the format of fjall 3.1; its version is pinned for that.

use super::required::META_KEYSPACE;
use xxhash_rust::xxh3::Xxh3;

/// The key of the commit record, which every batch of commits has.
pub(crate) const COMMIT: &[u8] = b"commit";
const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const CLEAR: u8 = 4;
const TRAILER: &[u8] = b"FJL\x03";
/// Less than the smallest item takes.
const ITEM_BYTES_MIN: usize = 9;

/// The last commit of a batch, and the last one of the commit batch before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) number: u64,
    pub(crate) previous: u64,
}

/// The record as it is stored.
pub(crate) fn encode_commit(commit: Commit) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&commit.number.to_be_bytes());
    bytes[8..].copy_from_slice(&commit.previous.to_be_bytes());
    bytes
}

/// A stored record; none if it is malformed.
pub(crate) fn decode_commit(bytes: &[u8]) -> Option<Commit> {
    let (number, rest) = bytes.split_first_chunk::<8>()?;
    let previous = <[u8; 8]>::try_from(rest).ok()?;
    Some(Commit { number: u64::from_be_bytes(*number), previous: u64::from_be_bytes(previous) })
}

/// A batch of a journal that is whole.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// Where the next one begins.
    pub(super) end: usize,
    pub(super) sequence: u64,
    pub(super) commit: Option<Commit>,
}

/// The batch that begins at this place; none if there is none, or not a whole one.
pub(super) fn read_batch(bytes: &[u8], at: usize) -> Option<Batch> {
    let mut rest = Rest { bytes, at };
    if rest.byte()? != START {
        return None;
    }
    let items = rest.number::<4>()? as usize;
    let sequence = rest.number::<8>()?;
    if items > (bytes.len() - rest.at) / ITEM_BYTES_MIN {
        return None;
    }
    let start = rest.at;
    let mut commit = None;
    for _ in 0..items {
        match rest.byte()? {
            ITEM => commit = rest.item()?.or(commit),
            CLEAR => drop(rest.number::<8>()?),
            _ => return None,
        }
    }
    let mut hasher = Xxh3::new();
    hasher.update(&bytes[start..rest.at]);
    if rest.byte()? != END || rest.number::<8>()? != hasher.digest() {
        return None;
    }
    (rest.take(TRAILER.len())? == TRAILER).then_some(Batch { end: rest.at, sequence, commit })
}

/// What has not been read yet.
struct Rest<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    fn number<const BYTES: usize>(&mut self) -> Option<u64> {
        let mut number = [0; 8];
        number[..BYTES].copy_from_slice(self.take(BYTES)?);
        Some(u64::from_le_bytes(number))
    }

    /// An item after its tag; inside, the commit record if it is one.
    fn item(&mut self) -> Option<Option<Commit>> {
        let _kind_and_compression = self.take(2)?;
        let keyspace = self.number::<8>()?;
        let key_length = self.number::<2>()? as usize;
        let _length = self.number::<4>()?;
        let stored_length = self.number::<4>()? as usize;
        let key = self.take(key_length)?;
        let value = self.take(stored_length)?;
        let is_commit = keyspace == META_KEYSPACE && key == COMMIT;
        Some(if is_commit { decode_commit(value) } else { None })
    }
}
