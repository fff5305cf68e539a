//! `LOCK TABLE`: what the modes lock.
//!
//! A table lock is a lock on the span of the table's rows, in which every writer locks or puts its
//! keys. Two keys in the span that no row has stand for the modes that let writers go on.
//!
//! ```text
//!                           the span    key of maintenance    key of writers
//!   ROW SHARE, ROW EXCLUSIVE                                  shared
//!   SHARE UPDATE EXCLUSIVE              exclusive
//!   SHARE                   shared
//!   stronger ones           exclusive
//! ```
//!
//! `ACCESS SHARE` locks nothing: a reader has its snapshot, of the data and of the catalog, and
//! nothing that others do can take a table from it. For the same reason no mode stops readers.
//!
//! A store that cannot lock spans ([`braid_kv::Store::locks_spans`]) takes the key of maintenance
//! for every mode from there on, so that those who lock exclude each other. Against writers that
//! do not lock, the span has to be at the commit what it was.

use std::sync::Arc;

use braid_catalog::partitions::leaves;
use braid_catalog::{Id, Object, Relation, Table, View, descriptor_key};
use braid_kv::{Error as Kv, LockRequest, LockStrength, LockTarget, LockWait, key_after};
use braid_sql::ast::{LockTable, ObjectName, TableLockMode};
use braid_types::{Error, Result, SqlState};

use crate::ExecContext;

/// Locks the tables of a statement, one after the other, and those that its views read.
pub async fn lock_table(cx: &ExecContext, statement: &LockTable) -> Result<()> {
    let role = cx.catalog.names().role(cx.env.current_user()).map_or(0, |role| role.id);
    for name in &statement.tables {
        let parts = parts_of(name);
        let relation = cx.catalog.names().resolve(&cx.path, &parts)?.ok_or_else(|| {
            let message = format!("relation \"{}\" does not exist", parts.join("."));
            Error::new(SqlState::UndefinedTable, message)
        })?;
        for table in to_lock(cx, &relation, role, statement.mode)? {
            lock(cx, &table, statement).await?;
        }
    }
    Ok(())
}

fn parts_of(name: &ObjectName) -> Vec<String> {
    name.0.iter().filter_map(|part| part.as_ident().map(braid_sql::fold)).collect()
}

/// The tables that a name stands for: the table, or what a view reads, in the view's order. 42501
/// unless the role may lock it; a view's owner must be allowed to lock what the view reads.
fn to_lock(
    cx: &ExecContext,
    relation: &Relation,
    role: Id,
    mode: TableLockMode,
) -> Result<Vec<Arc<Table>>> {
    let mut tables = Vec::new();
    let mut open = vec![(relation.clone(), role)];
    let mut seen = Vec::new();
    while let Some((relation, role)) = open.pop() {
        check_kind(&relation)?;
        check_privilege(cx, &relation, role, mode)?;
        match relation {
            Relation::Table(table) if table.partitioning.is_some() => {
                tables.extend(leaves(&cx.catalog, &table)?);
                tables.push(table);
            }
            Relation::Table(table) => tables.push(table),
            Relation::View(view) if !seen.contains(&view.id) => {
                seen.push(view.id);
                open.extend(read_by(cx, &view, role));
            }
            _ => {}
        }
    }
    Ok(tables)
}

/// The tables and views that a view reads, with the role whose privileges count: its owner, or with
/// `security_invoker` its user.
fn read_by(cx: &ExecContext, view: &View, user: Id) -> Vec<(Relation, Id)> {
    let role = if view.options.invoker == Some(true) { user } else { view.owner };
    let relations = view.depends_on.iter().rev().filter_map(|id| cx.catalog.relation(*id));
    relations
        .filter(|relation| matches!(relation.kind(), "table" | "view"))
        .map(|relation| (relation, role))
        .collect()
}

/// 42809 for anything but a table or a view.
fn check_kind(relation: &Relation) -> Result<()> {
    let kinds = match relation {
        Relation::Sequence(_) => "sequences",
        Relation::Index(..) => "indexes",
        Relation::Composite(_) => "composite types",
        Relation::Table(table) if table.materialized.is_some() => "materialized views",
        _ => return Ok(()),
    };
    let message = format!("cannot lock relation \"{}\"", relation.name());
    Err(Error::new(SqlState::WrongObjectType, message)
        .detail(format!("This operation is not supported for {kinds}.")))
}

/// 42501 unless the role has one of the privileges that the mode asks for.
fn check_privilege(
    cx: &ExecContext,
    relation: &Relation,
    role: Id,
    mode: TableLockMode,
) -> Result<()> {
    let enough: &[&str] = match mode {
        TableLockMode::AccessShare => &["SELECT"],
        TableLockMode::RowExclusive => &["INSERT", "UPDATE", "DELETE", "TRUNCATE"],
        _ => &["UPDATE", "DELETE", "TRUNCATE"],
    };
    let object = Object::from(relation);
    if enough.iter().any(|privilege| cx.catalog.privileges().has(role, object, privilege)) {
        return Ok(());
    }
    cx.catalog.privileges().check(role, object, enough[0])
}

/// What a mode locks of a table.
fn targets(cx: &ExecContext, table: &Arc<Table>, mode: TableLockMode) -> Vec<LockRequest> {
    let span = table.index_span(&table.primary);
    let locks_spans = cx.txn.database().store().locks_spans();
    let maintenance = LockTarget::Keys(vec![span.start.clone()]);
    let writers = LockTarget::Keys(vec![key_after(&span.start)]);
    let span = LockTarget::Spans(vec![span]);
    let wanted = match mode {
        TableLockMode::AccessShare => Vec::new(),
        TableLockMode::RowShare | TableLockMode::RowExclusive if !locks_spans => Vec::new(),
        TableLockMode::RowShare | TableLockMode::RowExclusive => {
            vec![(writers, LockStrength::Shared)]
        }
        TableLockMode::ShareUpdateExclusive => vec![(maintenance, LockStrength::Exclusive)],
        TableLockMode::Share if locks_spans => vec![(span, LockStrength::Shared)],
        _ if locks_spans => vec![(span, LockStrength::Exclusive)],
        _ => vec![(maintenance, LockStrength::Exclusive), (span, LockStrength::Exclusive)],
    };
    let request = |(target, strength)| LockRequest {
        target,
        strength,
        wait: LockWait::Block,
        values: false,
        remembered: false,
    };
    wanted.into_iter().map(request).collect()
}

async fn lock(cx: &ExecContext, table: &Arc<Table>, statement: &LockTable) -> Result<()> {
    if cx.txn.is_read_only() {
        if statement.mode <= TableLockMode::RowExclusive {
            return Ok(());
        }
        let message = "cannot execute LOCK TABLE in a read-only transaction";
        return Err(Error::new(SqlState::ReadOnlySqlTransaction, message));
    }
    cx.txn.commit_terms().require_unchanged(descriptor_key(table.id));
    for request in targets(cx, table, statement.mode) {
        let wait = if statement.nowait { LockWait::NoWait } else { LockWait::Block };
        match cx.txn.lock(cx.seq, request.wait(wait)).await {
            Ok(_) => {}
            Err(error @ Kv::LockNotAvailable { .. }) => {
                let message = format!("could not obtain lock on relation \"{}\"", table.name);
                return Err(Error::new(SqlState::LockNotAvailable, message).caused_by(error));
            }
            Err(error) => return Err(cx.kv_error(error)),
        }
    }
    cx.txn.snapshots().renew(cx.seq).await.map_err(|error| cx.kv_error(error))
}
