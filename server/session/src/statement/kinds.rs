//! Kinds of statements: which are planned, which can be repeated, which end a failed block.

use braid_plan::current_of;
use braid_sql::ast::{Returning, ShowTarget, Statement};

/// Whether a statement may be acknowledged before it has run.
pub(crate) fn returns_nothing(statement: &Statement) -> bool {
    let returning = match statement {
        Statement::Insert(insert) => &insert.returning,
        Statement::Update(update) => &update.returning,
        Statement::Delete(delete) => &delete.returning,
        _ => return false,
    };
    matches!(returning, Returning::Nothing) && current_of(statement).is_none()
}

/// Whether a statement may be carried out again by a new attempt of its transaction: all that it
/// does belongs to the transaction.
pub(crate) fn is_repeatable(statement: &Statement) -> bool {
    let is_notification = matches!(
        statement,
        Statement::Listen(_) | Statement::Unlisten(_) | Statement::Notify { .. }
    );
    is_planned(statement) || is_notification
}

/// Whether the planner takes this statement.
pub(crate) fn is_planned(statement: &Statement) -> bool {
    statement.is_of_rows() || matches!(statement, Statement::Explain(_))
}

/// Whether a statement ends its block, whatever becomes of it, and keeps its work if it succeeds.
pub(crate) fn completes_block(statement: &Statement) -> bool {
    matches!(statement, Statement::Commit { .. } | Statement::PrepareTransaction(_))
}

/// Whether a failed block takes this statement.
pub(crate) fn ends_failure(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Commit { .. } | Statement::Rollback { .. } | Statement::PrepareTransaction(_)
    )
}

/// Whether a block takes this statement in whatever state it is.
pub(crate) fn runs_in_any_block(statement: &Statement) -> bool {
    ends_failure(statement) || matches!(statement, Statement::Show(ShowTarget::TransactionStatus))
}

/// Whether a statement answers with rows, even if they have no columns.
pub(crate) fn returns_rows(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::QueryWithChanges { .. }
            | Statement::Explain(_)
            | Statement::Show(_)
            | Statement::CheckTable(_)
    )
}
