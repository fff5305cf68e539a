//! Refuses definitions in routines that change what the statements around them work with.
//!
//! These statements go on with the plans that they began with. So their tables stay as they are
//! until they end, and so do the foreign keys that point at the rows that they remove.

use std::sync::Arc;

use braid_catalog::partitions::references_to;
use braid_catalog::{Catalog, Id, Table};
use braid_plan::{Node, OnConflict, PlannedStatement};
use braid_sql::ast::{AlterTypeAction, DropKind, Statement};
use braid_types::{Error, Result};

use crate::context::DdlContext;
use crate::table::moving::table_in_use;

/// 55006 if a statement has changed a table of a statement around it, 0A000 for a new rule of a
/// type inside of a statement that changes rows.
pub(crate) fn refuse_in_use(
    cx: &DdlContext<'_>,
    statement: &Statement,
    before: &Catalog,
    after: &Catalog,
) -> Result<()> {
    let Some(command) = command_of(statement) else { return Ok(()) };
    for plan in cx.exec.plans_around() {
        let is_of_types = matches!(statement, Statement::AlterDomain(_) | Statement::AlterType(_));
        if is_of_types && plan.is_write {
            let what = format!("{command} inside of a statement that changes rows");
            return Err(Error::unsupported(what));
        }
        if let Some(table) = changed_table(plan, before, after)? {
            let command = if after.table(table.id).is_none() { "DROP TABLE" } else { command };
            let name = &table.name;
            return Err(table_in_use(format!(
                "cannot {command} \"{name}\" because it is being used by active queries in this \
                 session"
            )));
        }
    }
    Ok(())
}

/// The first table of a plan that is not as it was.
fn changed_table<'c>(
    plan: &PlannedStatement,
    before: &'c Catalog,
    after: &Catalog,
) -> Result<Option<&'c Arc<Table>>> {
    let removes_keys = removes_keys(&plan.root);
    for table in plan.tables.iter().filter_map(|id| before.table(*id)) {
        let now = after.table(table.id);
        let Some(now) = now.filter(|now| is_same(table, now)) else { return Ok(Some(table)) };
        if removes_keys && references(before, table)? != references(after, now)? {
            return Ok(Some(table));
        }
    }
    Ok(None)
}

/// Whether a table is as it was, apart from the foreign keys that point at it.
fn is_same(before: &Arc<Table>, now: &Arc<Table>) -> bool {
    let stored = |table: &Table| {
        serde_json::to_vec(&Table { referenced_by: Vec::new(), ..table.clone() }).ok()
    };
    Arc::ptr_eq(before, now) || stored(before).is_some_and(|before| stored(now) == Some(before))
}

/// The foreign keys that point at a table.
fn references(catalog: &Catalog, table: &Arc<Table>) -> Result<Vec<(Id, Id)>> {
    let found = references_to(catalog, table)?;
    Ok(found.iter().map(|reference| (reference.child.id, reference.key.id)).collect())
}

/// Whether a plan may take keys away that other rows point at.
fn removes_keys(node: &Node) -> bool {
    let mut removes = match node {
        Node::Update(_) | Node::Delete(_) | Node::Merge(_) => true,
        Node::Insert(insert) => {
            matches!(insert.on_conflict, OnConflict::Update { .. } | OnConflict::Upsert(_))
        }
        _ => false,
    };
    node.for_each_child(&mut |child| removes = removes || removes_keys(child));
    removes
}

/// How messages name a statement that may change the tables of running plans; `None` for one
/// whose changes these plans may miss, such as a right or a new trigger.
fn command_of(statement: &Statement) -> Option<&'static str> {
    Some(match statement {
        Statement::Grant(_)
        | Statement::Revoke(_)
        | Statement::GrantRole(_)
        | Statement::RevokeRole(_)
        | Statement::AlterDefaultPrivileges(_)
        | Statement::ReassignOwned(_)
        | Statement::Comment(_)
        | Statement::Rename(_)
        | Statement::CreateTrigger(_)
        | Statement::CreatePolicy(_)
        | Statement::AlterPolicy(_)
        | Statement::CreateStatistics(_)
        | Statement::AlterStatistics(_)
        | Statement::CreateRoutine(_)
        | Statement::AlterRoutine(_) => return None,
        // New labels cannot be stored before the transaction ends.
        Statement::AlterType(alter) => match &alter.action {
            AlterTypeAction::Attributes(_) => "ALTER TYPE",
            _ => return None,
        },
        Statement::AlterDomain(_) => "ALTER DOMAIN",
        Statement::CreateTable(create) if create.partition_of.is_some() => {
            "CREATE TABLE .. PARTITION OF"
        }
        Statement::CreateIndex(_) => "CREATE INDEX",
        Statement::AlterIndex(_) => "ALTER INDEX",
        Statement::Truncate(_) => "TRUNCATE",
        Statement::RefreshView(_) => "REFRESH MATERIALIZED VIEW",
        Statement::Drop(drop) if drop.kind == DropKind::Index => "DROP INDEX",
        Statement::DropOther(drop) => drop.tag,
        _ => "ALTER TABLE",
    })
}
