//! `PARTITION BY`: the strategy and the keys of a partitioned table.

use std::sync::Arc;

use braid_catalog::{KeyPart, PartitionKey, PartitionStrategy, Partitioning, Table};
use braid_codec::key::is_orderable;
use braid_sql::ast::{IndexKey, PartitionBy};
use braid_sql::fold;
use braid_types::hashing::has_partition_hash;
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::lookup::is_system_column;
use crate::table::columns::refuse_icu;
use crate::table::expr_text::{columns_used, written};
use crate::table::exprs::{bind_expr, stored_expr};
use crate::table::key_classes::key_collation;

/// PostgreSQL's limit.
const KEYS_MAX: usize = 32;

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidObjectDefinition, message.into())
}

/// How a table is partitioned, as written.
pub(crate) fn partitioning(
    cx: &DdlContext<'_>,
    table: &Table,
    by: &PartitionBy,
) -> Result<Partitioning> {
    let strategy = match fold(&by.strategy).as_str() {
        "range" => PartitionStrategy::Range,
        "list" => PartitionStrategy::List,
        "hash" => PartitionStrategy::Hash,
        other => {
            let message = format!("unrecognized partitioning strategy \"{other}\"");
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
    };
    if by.keys.len() > KEYS_MAX {
        let message = format!("cannot partition using more than {KEYS_MAX} columns");
        return Err(Error::new(SqlState::TooManyColumns, message));
    }
    if strategy == PartitionStrategy::List && by.keys.len() > 1 {
        let message = "cannot use \"list\" partition strategy with more than one column";
        return Err(invalid(message));
    }
    let mut keys = Vec::with_capacity(by.keys.len());
    for key in &by.keys {
        keys.push(partition_key(cx, table, strategy, key)?);
    }
    Ok(Partitioning { strategy, keys, partitions: Vec::new() })
}

fn partition_key(
    cx: &DdlContext<'_>,
    table: &Table,
    strategy: PartitionStrategy,
    key: &IndexKey,
) -> Result<PartitionKey> {
    if let Some(class) = &key.opclass {
        return Err(Error::unsupported(format_args!(
            "the operator class {class} of a partition key"
        )));
    }
    let (part, own) = match key.column() {
        Some(column) => {
            let name = fold(column);
            let Some(found) = table.visible_columns().find(|known| known.name == name) else {
                if is_system_column(&name) {
                    let message = format!("cannot use system column \"{name}\" in partition key");
                    return Err(invalid(message).position(braid_sql::offset_of(column.span)));
                }
                let message = format!("column \"{name}\" named in partition key does not exist");
                return Err(Error::new(SqlState::UndefinedColumn, message)
                    .position(braid_sql::offset_of(column.span)));
            };
            if found.generated.is_some() {
                return Err(invalid("cannot use generated column in partition key")
                    .detail(format!("Column \"{name}\" is a generated column."))
                    .position(braid_sql::offset_of(column.span)));
            }
            (KeyPart::Column(found.id), found.collation.clone())
        }
        None => {
            let part = expression_key(cx, table, key)?;
            let own = match &part {
                KeyPart::Expr(expr, _) => {
                    let shape = Arc::new(table.clone());
                    cx.plan(|context| braid_plan::expr_collation(context, &shape, expr))?
                }
                KeyPart::Column(_) => None,
            };
            (part, own)
        }
    };
    let ty = PartitionKey { part: part.clone(), collation: None }.ty(table)?;
    check_type(strategy, &ty)?;
    let collation = key_collation(cx, key.collation.as_ref(), &ty, own.as_deref())?;
    refuse_icu(cx, collation.as_deref().or(own.as_deref()), "a partition key")?;
    Ok(PartitionKey { part, collation })
}

fn expression_key(cx: &DdlContext<'_>, table: &Table, key: &IndexKey) -> Result<KeyPart> {
    let text = key.expr.to_string();
    let shape = Arc::new(table.clone());
    let bound = bind_expr(cx, &shape, &written(&text), None, "partition key expressions")?;
    let used = columns_used(table, &written(&text));
    if used.iter().any(|id| table.column(*id).is_some_and(|column| column.generated.is_some())) {
        return Err(invalid("cannot use generated column in partition key"));
    }
    if !bound.is_immutable() {
        let message = "functions in partition key expression must be marked IMMUTABLE";
        return Err(invalid(message));
    }
    if used.is_empty() {
        return Err(invalid("cannot use constant expression as partition key"));
    }
    let ty = match bound.ty() {
        SqlType::Unknown => SqlType::Text,
        ty => ty,
    };
    let stored = stored_expr(cx, &text, Some(table), None)?;
    if !stored.is_identified() {
        return Err(Error::unsupported(format_args!("partitions by {text}")));
    }
    Ok(KeyPart::Expr(stored, ty))
}

/// 42704 for a type without the order or the hash that a strategy needs.
fn check_type(strategy: PartitionStrategy, ty: &SqlType) -> Result<()> {
    let (method, fits) = match strategy {
        PartitionStrategy::Hash => ("hash", has_partition_hash(ty)),
        _ => ("btree", is_orderable(ty)),
    };
    if fits {
        return Ok(());
    }
    let message = format!(
        "data type {} has no default operator class for access method \"{method}\"",
        ty.display_name()
    );
    Err(Error::new(SqlState::UndefinedObject, message).hint(format!(
        "You must specify a {method} operator class or define a default {method} operator class \
         for the data type."
    )))
}
