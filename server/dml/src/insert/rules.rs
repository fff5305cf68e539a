//! What an INSERT may leave out, by its plan and its transaction, and which rows it leaves out.

use std::collections::HashSet;

use braid_catalog::IndexNumber;
use braid_exec::{Evaluator, ExecutionState, NewKeys};
use braid_kv::Isolation;
use braid_plan::{Insert, OnConflict};
use braid_rows::{RowEntries, keys_are_exact};
use braid_types::Result;

use crate::exclusions::is_excluded;
use crate::policy_checks::has_policies;
use crate::table_writer::TableWriter;

/// Whether an INSERT may look later whether its keys are free.
pub(crate) fn defers(plan: &Insert, evaluator: &Evaluator) -> bool {
    let cx = &evaluator.run.cx;
    let allowed = match cx.new_keys {
        NewKeys::Now => false,
        // Below SERIALIZABLE new keys are locked first.
        NewKeys::AtBarrier => cx.txn.isolation() == Isolation::Serializable,
        NewKeys::AtCommit => true,
    };
    allowed
        && matches!(plan.on_conflict, OnConflict::Error)
        && plan.returning.is_empty()
        && plan.triggers.is_empty()
        && !has_policies(plan)
        && keys_are_exact(&plan.table)
}

/// Whether an UPSERT sets every column of a table without secondary indexes. Then the old row
/// need not be read.
pub(crate) fn is_blind(plan: &Insert, evaluator: &Evaluator) -> bool {
    let OnConflict::Upsert(targets) = &plan.on_conflict else { return false };
    let mut columns = plan.table.columns.iter().enumerate();
    evaluator.run.cx.txn.isolation() == Isolation::Serializable
        && plan.table.indexes.is_empty()
        && plan.triggers.is_empty()
        && !has_policies(plan)
        && columns.all(|(place, c)| targets.contains(&place) || c.generated.is_some())
}

/// Whether an index is an arbiter of DO NOTHING; none stand for all.
fn is_arbiter(arbiters: &[IndexNumber], number: IndexNumber) -> bool {
    arbiters.is_empty() || arbiters.contains(&number)
}

/// Whether an exclusion constraint decides about DO NOTHING. Then rows go one by one, because each
/// has to look at those before it.
pub(crate) fn has_exclusions(writer: &TableWriter, on_conflict: &OnConflict) -> bool {
    let OnConflict::Nothing(arbiters) = on_conflict else { return false };
    let mut indexes = writer.indexes.iter();
    indexes.any(|rows| !rows.excluded_by.is_empty() && is_arbiter(arbiters, rows.number))
}

/// The places of the rows that an exclusion constraint among the arbiters does not allow.
pub(crate) async fn excluded(
    run: &ExecutionState,
    writer: &TableWriter,
    rows: &[&RowEntries],
    arbiters: &[IndexNumber],
) -> Result<HashSet<usize>> {
    let table = &writer.rows.table;
    let mut found = HashSet::new();
    for (place, entries) in rows.iter().enumerate() {
        for (index_rows, entry) in writer.indexes.iter().zip(&entries.by_index) {
            let number = index_rows.number;
            if index_rows.excluded_by.is_empty() || !is_arbiter(arbiters, number) {
                continue;
            }
            // A row that a partial constraint leaves out has no entry.
            let (Some(entry), Some(index)) = (entry, table.index(number)) else { continue };
            if is_excluded(run, (table, index), &entry.key).await? {
                found.insert(place);
            }
        }
    }
    Ok(found)
}
