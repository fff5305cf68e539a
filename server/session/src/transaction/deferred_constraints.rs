//! Deferred constraints: SET CONSTRAINTS, and the checks that wait for the commit.
//!
//! The checks themselves are left with the kv transaction (`exec::check_left`), so that savepoints
//! and statements that run again take them along. Here is when they are made: before anything of
//! the commit is written, or at SET CONSTRAINTS … IMMEDIATE.

use std::collections::HashSet;
use std::sync::Arc;

use braid_catalog::{Catalog, Id, SearchPath, Table, TriggerConstraint};
use braid_dml::{
    check_left, exclusion_changed, foreign_key_changed, has_left_checks, unique_key_changed,
};
use braid_exec::from_kv;
use braid_kv::{Conflict, Error as Kv, TxnOptions};
use braid_sql::ast::ObjectName;
use braid_types::{Error, Result, SqlState};

use crate::groups::ParallelStatements;
use crate::session::Session;
use crate::statement::context::{context_in, exec_context, statement_environment};
use crate::transaction::open::{catalog_at, catalog_of, ensure_open};
use crate::transaction::state::Open;

/// Makes every check that still waits; the error is the transaction's.
pub(crate) async fn check_deferred(session: &mut Session, open: &Open) -> Result<()> {
    if !has_left_checks(&open.txn) {
        return Ok(());
    }
    // Boxed, since every commit has room for what is awaited here, and few have checks left.
    Box::pin(check_waiting(session, open)).await
}

async fn check_waiting(session: &mut Session, open: &Open) -> Result<()> {
    let catalog = catalog_of(session, open).await?;
    let seq = open.txn.next_statement();
    let env = statement_environment(session, &catalog);
    let cx = context_in(session, open, seq, catalog, env);
    let Err(error) = check_left(Arc::new(cx), |_| true).await else { return Ok(()) };
    // A key that was to be looked at by the commit comes before a missing parent.
    let existing = open.txn.writes().check_new_keys().await.map_err(from_kv)?;
    Err(match existing.into_iter().next() {
        None => error,
        Some(new) => {
            let duplicate = Kv::Duplicate { key: new.key.to_vec(), seq: new.seq };
            session.commit_error(duplicate, open.unchecked.as_ref())
        }
    })
}

/// The error of a constraint that was checked and has become wrong before the commit, below
/// SERIALIZABLE.
pub(crate) async fn check_changed(session: &mut Session, conflict: &Conflict) -> Error {
    let txn = session.engine.kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
    let seq = txn.next_statement();
    let catalog = session.engine.catalog.at(&txn, seq).await;
    txn.rollback().await;
    let format = session.active().format.clone();
    let named = catalog.ok().and_then(|all| {
        let found = foreign_key_changed(conflict, &all, &format);
        let found = found.or_else(|| unique_key_changed(conflict, &all, &format));
        found.or_else(|| exclusion_changed(conflict, &all))
    });
    named.unwrap_or_else(|| from_kv(Kv::CheckChanged(Box::new(conflict.clone()))))
}

/// `SET CONSTRAINTS`
pub(crate) async fn set_constraints(
    session: &mut Session,
    names: Option<&[ObjectName]>,
    deferred: bool,
) -> Result<()> {
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let mut modes = (*session.block_state.constraints).clone();
    let ids: Option<HashSet<Id>> = match names {
        None => {
            modes.set_all(deferred);
            None
        }
        Some(names) => {
            let mut ids = HashSet::new();
            for name in names {
                ids.extend(named(&catalog, &env.lookup.path, name, deferred)?);
            }
            ids.iter().for_each(|id| modes.set(*id, deferred));
            Some(ids)
        }
    };
    if !deferred {
        let cx = exec_context(session, seq, catalog, env);
        let named = |id: Id| ids.as_ref().is_none_or(|ids| ids.contains(&id));
        check_left(Arc::new(cx), named).await?;
    }
    session.block_state.constraints = Arc::new(modes);
    Ok(())
}

/// The deferrable constraints of a name: all of the first schema that has a constraint of it. A
/// unique constraint is known by its index.
fn named(
    catalog: &Catalog,
    path: &SearchPath,
    name: &ObjectName,
    deferred: bool,
) -> Result<Vec<Id>> {
    let parts: Vec<String> =
        name.0.iter().filter_map(|part| part.as_ident().map(braid_sql::fold)).collect();
    let schemas: Vec<String> = match parts.as_slice() {
        [_] => {
            let user = |schema: &String| {
                if schema == "$user" { path.user.clone() } else { schema.clone() }
            };
            path.schemas.iter().map(user).collect()
        }
        [schema, _] => vec![schema.clone()],
        [database, schema, _] if *database == path.database_name => vec![schema.clone()],
        _ => {
            let message =
                format!("cross-database references are not implemented: {}", parts.join("."));
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
    };
    let wanted = parts.last().cloned().unwrap_or_default();
    for schema in &schemas {
        let Some(found) = catalog.names().schema(path.database, schema) else {
            if parts.len() > 1 {
                let message = format!("schema \"{schema}\" does not exist");
                return Err(Error::new(SqlState::InvalidSchemaName, message));
            }
            continue;
        };
        let tables =
            catalog.tables().in_database(path.database).filter(|table| table.schema == found.id);
        let with: Vec<&Arc<Table>> = tables.filter(|table| has(table, &wanted)).collect();
        if with.is_empty() {
            continue;
        }
        let keys: Vec<Id> =
            with.iter().flat_map(|table| deferrable_named(table, &wanted)).collect();
        let all = with.iter().map(|table| constraints_named(table, &wanted)).sum::<usize>();
        if keys.len() < all && deferred {
            let message = format!("constraint \"{wanted}\" is not deferrable");
            return Err(Error::new(SqlState::WrongObjectType, message));
        }
        return Ok(with_parts(catalog, keys));
    }
    let message = format!("constraint \"{}\" does not exist", parts.join("."));
    Err(Error::new(SqlState::UndefinedObject, message))
}

/// Constraints with those that partitions have of them: rows are checked by the partition's own.
fn with_parts(catalog: &Catalog, mut ids: Vec<Id>) -> Vec<Id> {
    let mut next = 0;
    while let Some(id) = ids.get(next).copied() {
        next += 1;
        let indexes = catalog.tables().iter().flat_map(|table| &table.indexes);
        let parts: Vec<Id> =
            indexes.filter(|index| index.part_of == Some(id)).map(|index| index.id).collect();
        ids.extend(parts);
    }
    ids
}

/// The deferrable constraints of this name that a table has.
fn deferrable_named<'t>(table: &'t Table, name: &'t str) -> impl Iterator<Item = Id> + 't {
    let foreign = table.foreign_keys.iter().filter(move |key| key.name == name && key.deferrable);
    let unique = table.indexes.iter().filter(move |index| index.name == name && index.deferrable);
    let triggers = constraint_triggers(table, name).filter(|found| found.deferrable);
    let keys = foreign.map(|key| key.id).chain(unique.map(|index| index.id));
    keys.chain(triggers.map(|found| found.id))
}

/// The constraint triggers of this name that a table has.
fn constraint_triggers<'t>(
    table: &'t Table,
    name: &'t str,
) -> impl Iterator<Item = &'t TriggerConstraint> {
    let named = table.triggers.iter().filter(move |trigger| trigger.name == name);
    named.filter_map(|trigger| trigger.constraint.as_ref())
}

fn has(table: &Table, name: &str) -> bool {
    constraints_named(table, name) > 0
}

fn constraints_named(table: &Table, name: &str) -> usize {
    let keys = table.foreign_keys.iter().filter(|key| key.name == name).count();
    let checks = table.checks.iter().filter(|check| check.name == name).count();
    let indexes = table.all_indexes().filter(|i| i.constraint.is_some() && i.name == name);
    keys + checks + indexes.count() + constraint_triggers(table, name).count()
}
