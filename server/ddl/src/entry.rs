//! Which statements define objects, and the way each of them takes.
//!
//! A statement on its own may work in several transactions, so that others go on meanwhile
//! (`online`). Every other one runs in the transaction of its session (`run`).

use braid_sql::ast::{AlterIndexAction, Statement};
use braid_types::Result;

use crate::context::DdlContext;
use crate::names::lookup::names_partitioned;
use crate::names::temporary::names_temporary;
use crate::online::{closed_table, move_index, move_table, validate_rows};
use crate::run::run_in_transaction;
use crate::statement::index::create_index;

/// Whether [`run`] carries out this statement.
pub fn is_ddl(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::CreateTable(_)
            | Statement::AlterTable(_)
            | Statement::Drop(_)
            | Statement::DropOther(_)
            | Statement::DropOwned(_)
            | Statement::ReassignOwned(_)
            | Statement::CreateIndex(_)
            | Statement::AlterIndex(_)
            | Statement::CreateView(_)
            | Statement::RefreshView(_)
            | Statement::CreateType(_)
            | Statement::AlterType(_)
            | Statement::CreateCollation(_)
            | Statement::CreateStatistics(_)
            | Statement::AlterStatistics(_)
            | Statement::CreateDomain(_)
            | Statement::AlterDomain(_)
            | Statement::CreateRoutine(_)
            | Statement::CreateAggregate(_)
            | Statement::AlterLargeObject { .. }
            | Statement::AlterRoutine(_)
            | Statement::CreateTrigger(_)
            | Statement::CreatePolicy(_)
            | Statement::AlterPolicy(_)
            | Statement::AlterView(_)
            | Statement::CreateSequence(_)
            | Statement::AlterSequence(_)
            | Statement::CreateSchema(_)
            | Statement::CreateDatabase(_)
            | Statement::Extension(_)
            | Statement::AlterDatabase(_)
            | Statement::Rename(_)
            | Statement::Truncate(_)
            | Statement::Comment(_)
            | Statement::CreateUser(_)
            | Statement::AlterUser(_)
            | Statement::DropUser(_)
            | Statement::Grant(_)
            | Statement::Revoke(_)
            | Statement::GrantRole(_)
            | Statement::RevokeRole(_)
            | Statement::AlterDefaultPrivileges(_)
            | Statement::Analyze(_)
            | Statement::SetSizes(_)
            | Statement::Vacuum { .. }
            | Statement::Reindex(_)
    )
}

/// Carries out a statement that defines objects; returns its command tag. If it fails, the draft
/// is as it was before. It ends when the statement is cancelled; do not drop it before.
pub async fn run(statement: &Statement, cx: &mut DdlContext<'_>) -> Result<String> {
    if let Statement::CreateIndex(create) = statement
        && cx.implicit
        && !names_temporary(cx, &create.table)
        && !names_partitioned(cx, &create.table)
    {
        // Handles cancellation itself, because it must undo the announced index.
        return create_index::run_alone(cx, create).await.map(|()| "CREATE INDEX".to_owned());
    }
    if let Statement::AlterTable(alter) = statement
        && cx.implicit
        && move_table::is_move(alter)
        && !names_temporary(cx, &alter.name)
    {
        return move_table::run(cx, alter).await.map(|()| "ALTER TABLE".to_owned());
    }
    if let Statement::AlterIndex(alter) = statement
        && cx.implicit
        && matches!(alter.action, AlterIndexAction::Interleave(_) | AlterIndexAction::Uninterleave)
        && !names_temporary(cx, &alter.name)
    {
        return move_index::run(cx, alter).await.map(|()| "ALTER INDEX".to_owned());
    }
    if let Statement::AlterTable(alter) = statement
        && cx.implicit
        && !cx.txn().is_read_only()
        && !names_temporary(cx, &alter.name)
        && !names_partitioned(cx, &alter.name)
        && validate_rows::is_alone(alter)
        && validate_rows::run(cx, alter).await?
    {
        return Ok("ALTER TABLE".to_owned());
    }
    if let Statement::AlterTable(alter) = statement
        && cx.implicit
        && !cx.txn().is_read_only()
        && closed_table::is_needed(cx)
        && !names_temporary(cx, &alter.name)
    {
        return closed_table::run(cx, statement, alter).await;
    }
    let cancel = cx.exec.cancel.clone();
    cancel.unless_stopped(run_in_transaction(statement, cx)).await.flatten()
}
