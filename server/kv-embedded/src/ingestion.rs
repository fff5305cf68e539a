//! The record of a commit whose writes become tables and which deletes ranges, too.
//!
//! Its writes become visible by fjall's list of tables, its range deletes by the journal. These are
//! two steps, so the record is written before them:
//!
//! ```text
//!   record, synced ─▶ tables, synced ─▶ range deletes, and the record goes
//!          └ start: no writes   └ start: range deletes are written
//! ```
//!
//! The writes are there if one of their keys has the number of the commit. Nobody can have written
//! that key since: the record goes before the next commit comes.

use crate::tombstones::{Tombstone, decode_span, tombstone_value};
use braid_kv::Key;

/// The key of the record.
pub(crate) const INGESTION: &[u8] = b"ingestion";

/// The key of the marker among the data: it is in a table before single keys are deleted by
/// tables. See `committer/ingest.rs`.
pub(crate) const MARKER: &[u8] = b"\xffdeletes";
/// Where the keys of users end: those from here on are the store's own.
pub(crate) const USER_KEYS_END: &[u8] = b"\xff";

/// What the record says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ingestion {
    /// The number of the commit.
    pub(crate) number: u64,
    /// A key that the commit puts.
    pub(crate) key: Key,
    /// Its range deletes.
    pub(crate) tombstones: Vec<Tombstone>,
}

impl Ingestion {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = self.number.to_be_bytes().to_vec();
        put(&mut out, &self.key);
        self.tombstones.iter().for_each(|tombstone| put(&mut out, &tombstone_value(tombstone)));
        out
    }

    /// `None` if the bytes are malformed.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Ingestion> {
        let (number, mut rest) = bytes.split_first_chunk::<8>()?;
        let number = u64::from_be_bytes(*number);
        let key = take(&mut rest)?.to_vec();
        let mut tombstones = Vec::new();
        while !rest.is_empty() {
            let index = u32::try_from(tombstones.len()).ok()?;
            let span = decode_span(take(&mut rest)?)?;
            tombstones.push(Tombstone { number, index, span });
        }
        Some(Ingestion { number, key, tombstones })
    }
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

fn take<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (taken, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    *rest = after;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_kv::Span;

    #[test]
    fn a_record_is_read_back_or_refused() {
        let span = |from: &str, to: &str| Span::new(from, to);
        let tombstones = [span("a", "b"), span("c", "dd")];
        let tombstone = |(span, index)| Tombstone { number: 7, index, span };
        let tombstones = tombstones.into_iter().zip(0..).map(tombstone).collect();
        let record = Ingestion { number: 7, key: b"key".to_vec(), tombstones };
        let bytes = record.encode();
        assert_eq!(Ingestion::decode(&bytes), Some(record));
        let whole = [8 + 4 + 3, 8 + 4 + 3 + 4 + 6, bytes.len()];
        for cut in (0..bytes.len()).filter(|cut| !whole.contains(cut)) {
            assert_eq!(Ingestion::decode(&bytes[..cut]), None, "cut at {cut}");
        }
    }
}
