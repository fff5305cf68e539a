//! Empties the range that the rows of a table have moved out of.

use braid_catalog::Table;
use braid_exec::from_kv;
use braid_kv::{Seq, Transaction};
use braid_types::Result;

/// The range of its own that the rows of a table lie in goes, as `place` says; on a store that
/// cannot lock it, bit by bit (`left_over`).
pub(crate) fn vacate(txn: &Transaction, seq: Seq, table: &mut Table, place: &Table) -> Result<()> {
    let span = place.index_span(&place.primary);
    if txn.database().store().locks_spans() {
        return txn.writes().delete_span(seq, span).map_err(from_kv);
    }
    table.vacated = true;
    Ok(())
}
