//! REPLICA IDENTITY and CLUSTER ON: what dumps and other programs ask for. Only the catalog
//! shows it.

use std::sync::Arc;

use braid_catalog::{Index, Relation, ReplicaIdentity, Table};
use braid_sql::ast::{Ident, ReplicaIdentityClause};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::partitions::indexes::shown_indexes;

/// `REPLICA IDENTITY …`
pub(crate) fn set_replica_identity(
    cx: &mut DdlContext<'_>,
    table: &Arc<Table>,
    clause: &ReplicaIdentityClause,
) -> Result<()> {
    let replica_identity = match clause {
        ReplicaIdentityClause::Default => ReplicaIdentity::Default,
        ReplicaIdentityClause::Full => ReplicaIdentity::Full,
        ReplicaIdentityClause::Nothing => ReplicaIdentity::Nothing,
        ReplicaIdentityClause::Index(name) => {
            let index = index_of(cx, table, &fold(name))?;
            check_identity(table, index)?;
            ReplicaIdentity::Index(index.number)
        }
    };
    cx.draft()?.put(Table { replica_identity, ..Table::clone(table) });
    Ok(())
}

/// `CLUSTER ON index`, or `SET WITHOUT CLUSTER`.
pub(crate) fn cluster_on(
    cx: &mut DdlContext<'_>,
    table: &Arc<Table>,
    index: Option<&Ident>,
) -> Result<()> {
    let refused = |message: String| Err(Error::new(SqlState::FeatureNotSupported, message));
    let of_partitioned = "cannot mark index clustered in partitioned table";
    let clustered_on = match index {
        None if table.partitioning.is_some() => return refused(of_partitioned.to_owned()),
        None => None,
        Some(name) => {
            let index = index_of(cx, table, &fold(name))?;
            let name = &index.name;
            if index.predicate.is_some() {
                return refused(format!("cannot cluster on partial index \"{name}\""));
            }
            if index.is_hash || index.is_inverted() {
                return refused(format!(
                    "cannot cluster on index \"{name}\" because access method does not support \
                     clustering"
                ));
            }
            if table.partitioning.is_some() {
                return refused(of_partitioned.to_owned());
            }
            Some(index.number)
        }
    };
    cx.draft()?.put(Table { clustered_on, ..Table::clone(table) });
    Ok(())
}

/// The index of a table by its name.
fn index_of<'t>(cx: &DdlContext<'_>, table: &'t Table, name: &str) -> Result<&'t Index> {
    if let Some(index) = shown_indexes(table).find(|index| index.name == name) {
        return Ok(index);
    }
    let catalog = cx.catalog();
    let found = catalog.names().find(table.schema, name);
    let other = found.and_then(|named| catalog.names().relation_of(named));
    Err(match other {
        Some(Relation::Index(..)) => {
            let message = format!("\"{name}\" is not an index for table \"{}\"", table.name);
            Error::new(SqlState::WrongObjectType, message)
        }
        Some(_) => Error::new(SqlState::WrongObjectType, format!("\"{name}\" is not an index")),
        None => {
            let message = format!("index \"{name}\" for table \"{}\" does not exist", table.name);
            Error::new(SqlState::UndefinedObject, message)
        }
    })
}

/// 42809 or 0A000 for an index that cannot identify rows.
fn check_identity(table: &Table, index: &Index) -> Result<()> {
    let name = &index.name;
    let column = |id| table.column(id);
    let refused = |state, kind: &str| {
        let message = format!("cannot use {kind} index \"{name}\" as replica identity");
        Err(Error::new(state, message))
    };
    if !index.declares_unique() {
        return refused(SqlState::WrongObjectType, "non-unique");
    }
    if index.deferrable {
        return refused(SqlState::FeatureNotSupported, "non-immediate");
    }
    let mut columns = index.keys.iter().filter_map(|key| column(key.column));
    if columns.clone().any(|column| column.is_key_expr) {
        return refused(SqlState::FeatureNotSupported, "expression");
    }
    if index.predicate.is_some() {
        return refused(SqlState::FeatureNotSupported, "partial");
    }
    match columns.find(|column| column.nullable) {
        None => Ok(()),
        Some(column) => {
            let message = format!(
                "index \"{name}\" cannot be used as replica identity because column \"{}\" is \
                 nullable",
                column.name
            );
            Err(Error::new(SqlState::WrongObjectType, message))
        }
    }
}
