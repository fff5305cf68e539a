//! Ranges that dropped or emptied tables and indexes have left, on a store that cannot lock them.
//!
//! ```text
//! DROP: note ─────────▶ seen: everybody who begins now knows nothing of the range
//!                          └──── all who began before have ended ────▶ destroyed, note removed
//! ```
//!
//! The transaction that drops something writes the note, beside the descriptors, and does not
//! touch the keys. The commit of everybody who has planned with the old descriptor fails, so
//! nothing is written there any more; those who read at older snapshots go on seeing the rows.
//! When no such snapshot is open, the range is destroyed as a whole.
//!
//! Rule: what stands in a note is never used again; ids of data and numbers of indexes come once.
//! So it does no harm if a range is destroyed twice, or late.

use std::sync::Arc;

use braid_codec::key;
use braid_kv::{Record, Result as KvResult, Seq, Span, Timestamp, Transaction};
use serde::{Deserialize, Serialize};

use crate::storage::system_keys::{dropped_key, dropped_span};
use crate::{Id, IndexNumber};
use braid_cluster::records::{corrupt, scan_all, to_json};

/// A range that nobody uses any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// What its keys start with.
    pub data_id: Id,
    /// The index; `None` is all of the data.
    pub index: Option<IndexNumber>,
    /// A point at which the note was there, once somebody has seen it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<u64>,
}

impl Dropped {
    /// All of a table's data.
    pub fn data(data_id: Id) -> Dropped {
        Dropped { data_id, index: None, seen: None }
    }

    /// One index of its data that has a range of its own.
    pub fn index(data_id: Id, index: IndexNumber) -> Dropped {
        Dropped { data_id, index: Some(index), seen: None }
    }

    /// The range.
    pub fn span(&self) -> Span {
        match self.index {
            None => crate::table_span(self.data_id),
            Some(number) => Span::prefix(key::index_prefix(self.data_id, number)),
        }
    }

    /// Writes the note.
    pub fn note(&self, txn: &Transaction, seq: Seq) -> KvResult<()> {
        txn.put(seq, self.key(), to_json(self)?)
    }

    /// Removes the note.
    pub fn forget(&self, txn: &Transaction, seq: Seq) -> KvResult<()> {
        txn.delete(seq, self.key())
    }

    /// Whether every snapshot at or above `point` knows that the range was dropped.
    pub fn is_known_at(&self, point: Timestamp) -> bool {
        self.seen.is_some_and(|seen| seen <= point.0)
    }

    fn key(&self) -> braid_kv::Key {
        dropped_key(self.data_id, self.index.unwrap_or(0))
    }
}

/// Every note that the transaction sees.
pub async fn dropped_ranges(txn: &Arc<Transaction>, seq: Seq) -> KvResult<Vec<Dropped>> {
    let pairs = scan_all(txn, seq, dropped_span(), Record::Never).await?;
    let parse = |value: &[u8]| {
        let dropped = serde_json::from_slice(value);
        dropped.map_err(|error| corrupt(format_args!("a dropped range: {error}")))
    };
    pairs.iter().map(|(_, value)| parse(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_the_keys_of_its_index_only() {
        let all = Dropped::data(200).span();
        let index = Dropped::index(200, 2).span();
        assert!(all.start < index.start && index.end < all.end);
        let key = |number| key::index_prefix(200, number);
        assert!(index.contains(&key(2)) && !index.contains(&key(3)) && !index.contains(&key(1)));
        assert!(all.contains(&key(1)) && !all.contains(&key::index_prefix(201, 1)));
    }

    #[test]
    fn what_nobody_has_seen_is_known_to_nobody() {
        let mut dropped = Dropped::data(200);
        assert!(!dropped.is_known_at(Timestamp(u64::MAX)));
        dropped.seen = Some(7);
        assert!(!dropped.is_known_at(Timestamp(6)) && dropped.is_known_at(Timestamp(7)));
    }
}
