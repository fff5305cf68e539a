//! What an INSERT may leave out, by its plan and its transaction.

use braid_exec::{Evaluator, NewKeys};
use braid_kv::Isolation;
use braid_plan::{Insert, OnConflict};
use braid_rows::keys_are_exact;

use crate::policy_checks::has_policies;

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
