//! How far a backfill has come: work through all rows of a table that takes many transactions. For
//! the gateway that takes it over.
//!
//! Rules: only a batch that proves the table's descriptor writes it, and what begins or ends a
//! backfill removes it with the descriptor's change (`Draft::flush`). So what is found belongs to
//! the backfill that the descriptor speaks of, and all rows before it are done.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_kv::{Record, Result as KvResult, Seq, Span, Transaction};

use crate::storage::system_keys::backfill_key;
use crate::{Id, IndexNumber, IndexState, Table};

/// What is filled from the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Backfill {
    /// The table.
    pub table: Id,
    /// An index that is being built, or the primary one, whose rows are being moved.
    pub index: IndexNumber,
}

impl Backfill {
    /// Notes in a batch's transaction that all rows before `rest` are done.
    pub fn note(self, txn: &Transaction, seq: Seq, rest: &Span) -> KvResult<()> {
        txn.put(seq, self.key(), rest.start.clone())
    }

    /// What is left of the table's rows, which lie in `whole`; `None` if nothing is known to be
    /// done.
    pub async fn rest(
        self,
        txn: &Arc<Transaction>,
        seq: Seq,
        whole: &Span,
    ) -> KvResult<Option<Span>> {
        let noted = txn.reads().get_recorded(seq, &self.key(), Record::Never).await?;
        // The rows may lie elsewhere now.
        let start = noted.filter(|start| whole.contains(start));
        Ok(start.map(|start| Span::new(start.to_vec(), whole.end.clone())))
    }

    /// Removes what is noted.
    pub(crate) fn forget(self, txn: &Transaction, seq: Seq) -> KvResult<()> {
        txn.delete(seq, self.key())
    }

    fn key(self) -> braid_kv::Key {
        backfill_key(self.table, self.index)
    }
}

/// The backfills that begin or end when a descriptor changes.
pub(crate) fn begun_or_ended(before: Option<&Table>, after: Option<&Table>) -> Vec<Backfill> {
    let (before, after) = (under_way(before), under_way(after));
    before.symmetric_difference(&after).copied().collect()
}

fn under_way(table: Option<&Table>) -> BTreeSet<Backfill> {
    let Some(table) = table else { return BTreeSet::new() };
    let building = table.indexes.iter().filter(|index| index.state == IndexState::Building);
    let moving = table.moving.is_some().then_some(table.primary.number);
    let numbers = building.map(|index| index.number).chain(moving);
    numbers.map(|index| Backfill { table: table.id, index }).collect()
}
